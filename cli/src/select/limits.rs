//! Limits on what is printed that takes no space in a file.

use std::path::Path;

use crate::input::error::CliError;

/// The limit on zero-size elements, and on rows without elements, that are printed:
/// a header can claim any number.
const MAX_ZERO_SIZED: usize = 1 << 20;

/// Rejects more zero-size elements than that.
pub(crate) fn check_count(path: &Path, itemsize: usize, count: usize) -> Result<(), CliError> {
    check_limit(path, "zero-size elements", if itemsize == 0 { count } else { 0 })
}

/// Rejects more rows without elements than that.
pub(crate) fn check_empty_rows(path: &Path, count: usize) -> Result<(), CliError> {
    check_limit(path, "rows without elements", count)
}

fn check_limit(path: &Path, what: &str, count: usize) -> Result<(), CliError> {
    if count <= MAX_ZERO_SIZED {
        return Ok(());
    }
    let text = format!(
        "{count} {what} were requested, and at most {MAX_ZERO_SIZED} are printed: select fewer"
    );
    Err(CliError::rejected(path, text))
}
