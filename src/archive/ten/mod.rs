//! Lists of arrays in webdataset's format: `.ten` files.
//!
//! A file is a list of arrays. Each array consists of two chunks: its header, and
//! its elements in C order, little-endian. The functions have the names of those
//! in `webdataset.tenbin`, except for `load`, which is [`Ten::open`].
//!
//! | webdataset | here |
//! |---|---|
//! | `save`, `write`, `encode_buffer`, `encode_list` with `infos` | [`TenWriteOptions`] |
//! | `load` | [`Ten::open`] |
//! | `read(stream, n)` | [`read`] |
//! | `decode_buffer`, `decode_list`, `decode_chunks` | [`decode_buffer`], [`decode_list`], [`decode_chunks`] |
//! | `encode_chunks`, `write_chunk`, `read_chunk` | [`encode_chunks`], [`write_chunk`], [`read_chunk`] |
//! | `encode_header`, `decode_header` | [`TenHeader`] |
//! | `infos=False`, `True`, a list | ignore [`NamedArray::info`], use it, [`check_infos`] |
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

use crate::error::{ArchiveError, Result, excerpt, plural};

/// Checks that the arrays have the required infos, in this order: webdataset's
/// `check_infos` with a list.
///
/// # Errors
///
/// [`Damaged`](crate::ErrorKind::Damaged) when an info or the number of infos
/// differs.
///
/// # Examples
///
/// ```
/// use npymap::ten;
///
/// let arrays = ten::read(&[][..], 2)?;
/// let infos: Vec<_> = arrays.iter().map(|array| array.info.as_str()).collect();
/// assert!(ten::check_infos(&infos, &["img", "cls"]).is_err());
/// # Ok::<(), npymap::Error>(())
/// ```
pub fn check_infos(found: &[impl AsRef<str>], required: &[impl AsRef<str>]) -> Result<()> {
    for (index, (found, required)) in found.iter().zip(required).enumerate() {
        if found.as_ref() != required.as_ref() {
            let (found, required) = (excerpt(found.as_ref()), excerpt(required.as_ref()));
            let found = format!("array {index} has the info `{found}`, required `{required}`");
            return damaged(found, "expected the required infos");
        }
    }
    if found.len() != required.len() {
        let arrays = plural(found.len(), "array", "arrays");
        let infos = plural(required.len(), "required info", "required infos");
        let found = format!("{arrays} and {infos}");
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

/// Returns whether the path has an extension that webdataset accepts.
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
