//! Inputs that cannot be mapped: standard input (`-`), pipes and process
//! substitutions. They are copied to a temporary file without a name, so that
//! they need no memory and can be read in any order.

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::platform;

/// The name of standard input and standard output in arguments.
pub(crate) const STANDARD: &str = "-";

/// Returns whether a path stands for standard input or standard output. A file
/// of that name is `./-`.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD
}

/// The streams that were read already: each can be read only once, and the same
/// name may be opened again.
static COPIES: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());

/// Returns an open file with the contents of a stream, or `None` if `path` is a
/// file that can be mapped, or cannot be opened.
///
/// A stream is read to its end. Standard input that is redirected from a file
/// is not copied.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    if !is_standard(path) && !platform::is_stream(path) {
        return Ok(None);
    }
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, copy)) = copies.iter().find(|(known, _)| known == path) {
        return copy.try_clone().map(Some);
    }
    let file = if is_standard(path) { standard_input()? } else { copy(File::open(path)?)? };
    copies.push((path.to_owned(), file.try_clone()?));
    Ok(Some(file))
}

/// Standard input itself, if it is a file that was not read yet, otherwise a
/// copy.
fn standard_input() -> io::Result<File> {
    if let Some(mut file) = platform::standard_input()
        && file.metadata().is_ok_and(|metadata| metadata.is_file())
        && file.stream_position().is_ok_and(|position| position == 0)
    {
        return Ok(file);
    }
    copy(io::stdin().lock())
}

fn copy(mut from: impl Read) -> io::Result<File> {
    let mut to = tempfile::tempfile().map_err(|error| explain(&error))?;
    io::copy(&mut from, &mut to).map_err(|error| explain(&error))?;
    to.rewind()?;
    Ok(to)
}

/// Says where the copy is written: another disk may have more space.
fn explain(error: &io::Error) -> io::Error {
    let directory = std::env::temp_dir();
    let text = format!(
        "cannot copy the stream to {}: {error}: set TMPDIR to a directory with more space",
        directory.display()
    );
    io::Error::new(error.kind(), text)
}
