//! Lists of arrays in webdataset's format: `.ten` files.
//!
//! A file is a list of arrays. Each array consists of two chunks: its header, and
//! its elements in C order, little-endian.
//!
//! | webdataset | here |
//! |---|---|
//! | `load`, `decode_buffer`, `read` | [`Ten::open`] a file or bytes |
//! | `save`, `write`, `encode_buffer` | [`TenWriteOptions`] |
//! | `infos` | [`TenHeader::info`], [`TenWriteOptions::infos`] |
//! | `nocheck` | opening checks no extension, and [`TenWriteOptions::write`] has none |

mod chunk;
mod header;
mod open;
mod read;
mod write;

use std::path::Path;

pub use header::TenHeader;
pub use open::Ten;
pub use write::TenWriteOptions;

use crate::error::{ArchiveError, Result};

fn damaged<T>(found: String, expected: &'static str) -> Result<T> {
    Err(ArchiveError::damaged(found, expected))
}

fn misuse<T>(found: String, expected: &'static str) -> Result<T> {
    Err(ArchiveError::misuse(found, expected))
}

/// Returns whether the path has an extension that webdataset accepts.
#[inline]
pub(crate) fn has_extension(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ten" || extension == "tb")
}
