//! Files of several arrays: `.npz`, `.ten` and tar.

pub(crate) mod any;
#[cfg(feature = "npz")]
pub mod npz;
#[cfg(feature = "tar")]
pub(crate) mod shard;
pub mod ten;
