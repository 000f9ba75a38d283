//! Files of several arrays: `.npz`, `.ten` and tar.

pub mod any;
mod names;
#[cfg(feature = "npz")]
pub mod npz;
#[cfg(feature = "tar")]
mod pax;
#[cfg(feature = "tar")]
pub mod shard;
#[cfg(feature = "tar")]
mod tar;
pub mod ten;
