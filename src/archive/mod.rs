//! Files of several arrays: `.npz`, `.ten` and tar.

pub mod any;
mod entries;
#[cfg(feature = "npz")]
pub mod npz;
#[cfg(feature = "tar")]
pub mod tar;
pub mod ten;
