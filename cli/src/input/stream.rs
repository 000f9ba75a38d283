//! Inputs that cannot be mapped: standard input (`-`), pipes, devices and process
//! substitutions. They are copied to a temporary file without a name, so that
//! they need no memory and can be read in any order.
//!
//! A stream may be endless, so its first bytes are looked at before the others are
//! copied. What is not a file of arrays ends there, a `.npy` soon after its elements,
//! a `.ten` at what is not a chunk and a tar file at its end. A zip archive has its
//! directory at the end, so it is copied whole.

use crate::input::lengths::{to_u64, to_usize};
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use npymap::any::Format;
use npymap::array::RawSpec;
use npymap::npy::HeaderText;
use npymap::source::ReadAt;
use npymap::{MappedArray, OpenOptions, Source, tar::TarFile, ten::Ten};

use crate::input::progress::Progress;
use crate::input::{header_len, platform};

/// The bytes of a stream that are copied between two updates of the progress.
const PART: u64 = 4 << 20;

/// How much of what follows the elements of a `.npy` is copied, so that it is noticed.
const TRAILING: u64 = 1 << 20;

/// The name of standard input and standard output in arguments.
pub(crate) const STANDARD: &str = "-";

/// Returns whether a path stands for standard input or standard output. A file
/// of that name is `./-`.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD
}

/// Returns whether a path is standard input or output, a pipe or a device. As an output, it
/// gets no report.
pub(crate) fn is_output(path: &Path) -> bool {
    is_standard(path) || platform::is_stream(path)
}

/// The streams that were read already: each can be read only once, and the same
/// name may be opened again.
static COPIES: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());

/// What is expected in a stream, which decides how much of it is copied.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    /// A file of arrays, of which only the first is needed unless all are.
    Arrays { takes_all: bool },
    /// At most this many bytes of any kind.
    Bytes(u64),
}

impl Content {
    /// Bytes up to the end of the stream.
    pub(crate) const ALL: Content = Content::Bytes(u64::MAX);
}

/// Returns an open file with the contents of a stream, or `None` if `path` is a
/// file that can be mapped, or cannot be opened.
///
/// Standard input that is redirected from a file is not copied.
pub(crate) fn open(path: &Path, content: Content) -> io::Result<Option<File>> {
    if !is_output(path) {
        return Ok(None);
    }
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, copy)) = copies.iter().find(|(known, _)| known == path) {
        return copy.try_clone().map(Some);
    }
    let redirected = if is_standard(path) { redirected_file() } else { None };
    let file = match redirected {
        Some(file) => file,
        None => copy(PartialCopy::of_stream(path)?, content)?,
    };
    copies.push((path.to_owned(), file.try_clone()?));
    Ok(Some(file))
}

/// A stream that is read step by step, and copied to a temporary file.
pub(crate) struct PartialCopy {
    path: PathBuf,
    from: File,
    to: File,
    /// The bytes that were read.
    len: u64,
    progress: Progress,
}

/// Starts to copy a stream. `None` if `path` is something else or cannot be opened, or if
/// the stream was copied already.
pub(crate) fn begin(path: &Path) -> io::Result<Option<PartialCopy>> {
    if !is_output(path) {
        return Ok(None);
    }
    let copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    let is_copied = copies.iter().any(|(known, _)| known == path);
    if is_copied || is_standard(path) && redirected_file().is_some() {
        return Ok(None);
    }
    PartialCopy::of_stream(path).map(Some)
}

/// The array of a `.npy` in a stream, which is read as far as elements are used. `None` if
/// `path` is a file, or a stream of something else: that is copied, and can be opened by its
/// path.
pub(crate) fn array(path: &Path) -> npymap::Result<Option<MappedArray>> {
    let Some(mut copy) = begin(path)? else { return Ok(None) };
    let header = HeaderText::read(&mut copy, header_len::max()).and_then(|text| text.header());
    let Ok(header) = header else {
        copy.finish(Content::Arrays { takes_all: false })?;
        return Ok(None);
    };
    let raw = RawSpec::new(header.dtype).shape(&header.shape).order(header.order);
    let raw = raw.offset(to_u64(header.data_offset));
    let source = Source::from_read_at(Growing::of(copy))?.into_read_only().on_demand();
    OpenOptions::new().raw(raw).open(source).map(Some)
}

impl PartialCopy {
    /// Starts to copy standard input, a pipe or a device.
    fn of_stream(path: &Path) -> io::Result<PartialCopy> {
        let from = if is_standard(path) { platform::standard_input() } else { File::open(path) }?;
        let to = tempfile::tempfile().map_err(|error| explain(&error))?;
        Ok(PartialCopy { path: path.to_owned(), from, to, len: 0, progress: Progress::of_stream() })
    }

    /// Reads until the copy has `len` bytes, or the stream ends.
    fn fill(&mut self, len: u64) -> io::Result<()> {
        // Other readers of the file may have moved its position.
        self.to.seek(SeekFrom::Start(self.len))?;
        while self.len < len {
            let part = PART.min(len - self.len);
            let copied = io::copy(&mut (&self.from).take(part), &mut self.to);
            let copied = copied.map_err(|error| explain(&error))?;
            if copied == 0 {
                break;
            }
            self.len += copied;
            self.progress.add(to_usize(copied));
        }
        Ok(())
    }

    /// Copies what `content` needs, so that the stream can be opened.
    pub(crate) fn finish(self, content: Content) -> io::Result<()> {
        let path = self.path.clone();
        let file = copy(self, content)?;
        let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
        copies.push((path, file));
        Ok(())
    }
}

/// Copies the bytes that it reads.
impl Read for PartialCopy {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.to.write_all(buffer.split_at(n).0).map_err(|error| explain(&error))?;
        self.len += to_u64(n);
        Ok(n)
    }
}

/// The file that standard input is redirected from.
fn redirected_file() -> Option<File> {
    let mut file = platform::standard_input().ok()?;
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    let is_at_start = is_file && file.stream_position().is_ok_and(|position| position == 0);
    is_at_start.then_some(file)
}

/// Copies as much of a stream as `content` needs.
fn copy(stream: PartialCopy, content: Content) -> io::Result<File> {
    let growing = Growing::of(stream);
    let len = match content {
        Content::Arrays { takes_all } => growing.needed_len(takes_all)?,
        Content::Bytes(len) => len,
    };
    let (stream, failure) = &mut *growing.lock();
    if let Some(failure) = failure.take() {
        return Err(failure);
    }
    stream.fill(len)?;
    stream.to.rewind()?;
    stream.to.try_clone()
}

/// A stream that is copied as far as it is read, and why that failed.
#[derive(Clone)]
struct Growing(Arc<Mutex<(PartialCopy, Option<io::Error>)>>);

impl Growing {
    fn of(stream: PartialCopy) -> Growing {
        Growing(Arc::new(Mutex::new((stream, None))))
    }

    fn lock(&self) -> MutexGuard<'_, (PartialCopy, Option<io::Error>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many bytes of a stream its headers need. Those of archives are read, which
    /// copies everything before them. Errors in them are found again by who opens the copy.
    fn needed_len(&self, takes_all: bool) -> npymap::Result<u64> {
        let source = Source::from_read_at(self.clone())?;
        Ok(match Format::recognize(&source)? {
            Format::Npz => u64::MAX,
            Format::Ten => {
                let _ = Ten::open(source);
                0
            }
            Format::Tar => {
                let _ = TarFile::open(source);
                0
            }
            _ => {
                let arrays = header_len::options().walk(source)?;
                let count = if takes_all { usize::MAX } else { 1 };
                let last = arrays.take(count).map_while(npymap::Result::ok).last();
                last.map_or(0, |last| last.end + TRAILING)
            }
        })
    }
}

impl ReadAt for Growing {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let (stream, failure) = &mut *self.lock();
        let len = to_u64(buffer.len());
        if let Err(error) = stream.fill(offset + len) {
            let told = io::Error::new(error.kind(), error.to_string());
            *failure = Some(error);
            return Err(told);
        }
        stream.to.read_at(buffer, offset)
    }

    /// The length of a stream is not known.
    fn size(&self) -> io::Result<u64> {
        Ok(i64::MAX.unsigned_abs())
    }

    /// What was read, which is all of a stream that ended: for errors.
    fn current_size(&self) -> io::Result<u64> {
        Ok(self.lock().0.len)
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
