//! Inputs that cannot be mapped: standard input (`-`), pipes and process
//! substitutions. They are copied to a temporary file without a name, so that
//! they need no memory and can be read in any order.

use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::input::progress::Progress;
use crate::input::url;
use crate::input::{platform, remote};

/// The bytes of a stream that are copied between two updates of the progress.
const PART: u64 = 4 << 20;

/// The name of standard input and standard output in arguments.
pub(crate) const STANDARD: &str = "-";

/// Returns whether a path stands for standard input or standard output. A file
/// of that name is `./-`.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD
}

/// Returns whether a new file is standard output or a pipe, which gets no report.
pub(crate) fn is_output(path: &Path) -> bool {
    is_standard(path) || platform::is_stream(path)
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

/// A stream that is read step by step, and copied to a temporary file.
pub(crate) struct PartialCopy {
    path: PathBuf,
    from: Box<dyn Read>,
    to: File,
    /// The bytes that were read.
    len: u64,
}

/// Starts to copy a stream or a URL. `None` if `path` is a file that can be mapped or
/// cannot be opened, or if the stream was copied already.
pub(crate) fn begin(path: &Path) -> io::Result<Option<PartialCopy>> {
    // Elsewhere, the zeros after a part would take space on the disk.
    if cfg!(not(unix)) {
        return Ok(None);
    }
    if let Some(reader) = remote::reader(path)? {
        return new_copy(path, Box::new(reader)).map(Some);
    }
    if !is_standard(path) && !platform::is_stream(path) {
        return Ok(None);
    }
    let copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    if copies.iter().any(|(known, _)| known == path) {
        return Ok(None);
    }
    let from: Box<dyn Read> = if !is_standard(path) {
        Box::new(File::open(path)?)
    } else if redirected_file().is_some() {
        return Ok(None);
    } else {
        Box::new(io::stdin().lock())
    };
    new_copy(path, from).map(Some)
}

fn new_copy(path: &Path, from: Box<dyn Read>) -> io::Result<PartialCopy> {
    let to = tempfile::tempfile().map_err(|error| explain(&error))?;
    Ok(PartialCopy { path: path.to_owned(), from, to, len: 0 })
}

impl PartialCopy {
    /// Reads until the copy has `len` bytes, or the stream ends.
    pub(crate) fn fill(&mut self, len: u64) -> io::Result<()> {
        let missing = len.saturating_sub(self.len);
        io::copy(&mut self.by_ref().take(missing), &mut io::sink()).map(drop)
    }

    /// The bytes that were read.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Adds zeros to the copy, which take no space, up to this length.
    pub(crate) fn extend(&mut self, len: u64) -> io::Result<()> {
        if self.to.metadata()?.len() < len { self.to.set_len(len) } else { Ok(()) }
    }

    pub(crate) fn file(&self) -> io::Result<File> {
        self.to.try_clone()
    }

    /// Copies the rest, so that the stream can be opened. URLs can be opened anyway.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if url::is_url(&self.path) {
            return Ok(());
        }
        self.to.set_len(self.len)?;
        copy_rest(&mut self.from, &mut self.to)?;
        let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
        copies.push((self.path, self.to));
        Ok(())
    }
}

/// Copies the bytes that it reads.
impl Read for PartialCopy {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.to.write_all(buffer.get(..n).unwrap_or_default()).map_err(|error| explain(&error))?;
        self.len += u64::try_from(n).unwrap_or(0);
        Ok(n)
    }
}

/// Standard input itself, if it is a file that was not read yet, otherwise a
/// copy.
fn standard_input() -> io::Result<File> {
    redirected_file().map_or_else(|| copy(io::stdin().lock()), Ok)
}

/// The file that standard input is redirected from.
fn redirected_file() -> Option<File> {
    let mut file = platform::standard_input()?;
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    let is_at_start = is_file && file.stream_position().is_ok_and(|position| position == 0);
    is_at_start.then_some(file)
}

fn copy(mut from: impl Read) -> io::Result<File> {
    let mut to = tempfile::tempfile().map_err(|error| explain(&error))?;
    copy_rest(&mut from, &mut to)?;
    Ok(to)
}

/// Appends the rest of a stream to a file, and shows how much was read.
fn copy_rest(from: &mut impl Read, to: &mut File) -> io::Result<()> {
    let mut progress = Progress::of_stream();
    loop {
        let part = io::copy(&mut from.by_ref().take(PART), to).map_err(|error| explain(&error))?;
        progress.add(usize::try_from(part).unwrap_or(usize::MAX));
        if part == 0 {
            return to.rewind();
        }
    }
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
