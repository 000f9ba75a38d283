//! Lists of arrays as webdataset stores them: `.ten` files.
//!
//! A file is a list of arrays; an array is a chunk with its header and a chunk
//! with its elements, in C order, little-endian. See `webdataset.tenbin`, whose
//! functions are here under their names, but for `load`, which is
//! [`Ten::open`].
//!
//! | webdataset | here |
//! |---|---|
//! | `save`, `write`, `encode_buffer`, `encode_list` with `infos` | [`TenWriteOptions`] |
//! | `load` | [`Ten::open`] |
//! | `read(stream, n)` | [`read`] |
//! | `decode_buffer`, `decode_list`, `decode_chunks` | [`decode_buffer`], [`decode_list`], [`decode_chunks`] |
//! | `encode_chunks`, `write_chunk`, `read_chunk` | [`encode_chunks`], [`write_chunk`], [`read_chunk`] |
//! | `encode_header`, `decode_header` | [`TenHeader`] |
//! | `infos=False`, `True`, a list | ignore, look at [`NamedArray::info`], [`check_infos`] |
//! | `check_acceptable_input_type` | [`check_dtypes`] |
//! | `nocheck` | [`TenOptions::any_extension`], [`TenWriteOptions::any_extension`] |

mod chunk;
mod header;
mod open;
mod read;
mod write;

use std::path::Path;

pub use chunk::{decode_chunks, encode_chunks, read_chunk, write_chunk};
pub use header::{TenHeader, check_dtypes};
pub use open::{Ten, TenOptions};
pub use read::{NamedArray, decode_buffer, decode_list, read};
pub use write::{TenWriteOptions, Tensor, encode_buffer, save, write};

use crate::error::{ArchiveError, Result, excerpt};

/// Checks that arrays have these names, in this order: webdataset's
/// `check_infos` with a list.
///
/// # Errors
///
/// [`Damaged`](crate::ErrorKind::Damaged) at the first that differs, or when
/// there are more or fewer.
pub fn check_infos(found: &[impl AsRef<str>], required: &[impl AsRef<str>]) -> Result<()> {
    for (at, (found, required)) in found.iter().zip(required).enumerate() {
        if found.as_ref() != required.as_ref() {
            let (found, required) = (excerpt(found.as_ref()), excerpt(required.as_ref()));
            let found = format!("array {at} has the info `{found}`, required `{required}`");
            return damaged(found, "expected the required infos");
        }
    }
    if found.len() != required.len() {
        let found = format!("{} arrays and {} required infos", found.len(), required.len());
        return damaged(found, "expected equal numbers");
    }
    Ok(())
}

fn damaged<T>(found: String, expected: &'static str) -> Result<T> {
    Err(ArchiveError::damaged(found, expected))
}

fn truncated<T>(found: &str, expected: &'static str) -> Result<T> {
    Err(ArchiveError::truncated(found, expected))
}

fn misuse<T>(found: String, expected: &'static str) -> Result<T> {
    Err(ArchiveError::misuse(found, expected))
}

/// True when a name ends as those that webdataset reads.
pub(crate) fn has_extension(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ten" || extension == "tb")
}

fn check_extension(path: &Path) -> Result<()> {
    if has_extension(path) {
        return Ok(());
    }
    let found = "the name ends neither in .ten nor in .tb".to_owned();
    misuse(found, "rename it, or allow it with `any_extension`")
}
