//! Options for opening an archive.

use std::fmt;
#[cfg(feature = "tar")]
use std::io;
#[cfg(feature = "tar")]
use std::ops::Range;
use std::sync::Arc;

use super::directory;
use super::{Npz, modified};
use crate::error::{RequestError, Result};
use crate::npy::MAX_HEADER_LEN;
use crate::source::Source;
use crate::source::mode::Mode;
use crate::source::pages::Mapping;
#[cfg(feature = "tar")]
use crate::source::ranges;
#[cfg(feature = "tar")]
use crate::source::storage::{ReadAt, Storage};

/// The default of [`NpzOptions::max_inflated`]: 16 GiB.
const MAX_INFLATED: u64 = 16 << 30;

/// Options for opening an archive.
///
/// # Examples
///
/// ```no_run
/// use npymap::{Source, npz::NpzOptions};
///
/// let npz = NpzOptions::new().max_inflated(1 << 40).open(Source::open("huge.npz")?)?;
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct NpzOptions {
    pub(super) max_header_len: usize,
    pub(super) max_inflated: u64,
    pub(super) progress: ProgressCallback,
}

/// How much of a member has been read and, if it is deflated, inflated, or how much has been
/// written.
///
/// # Examples
///
/// ```
/// use npymap::npz::{MemberProgress, NpzOptions};
///
/// fn report(progress: MemberProgress<'_>) {
///     eprintln!("{}: {} of {} bytes", progress.member, progress.done, progress.size);
/// }
///
/// let options = NpzOptions::new().progress(report);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberProgress<'a> {
    /// The name of the member, without `.npy`.
    pub member: &'a str,
    /// The number of bytes that have been read or written.
    pub done: u64,
    /// The size of the member in bytes, or what it takes in the archive if it is copied from
    /// another one.
    pub size: u64,
}

/// The caller's function that receives progress reports, if there is one.
#[derive(Clone, Default)]
pub(super) struct ProgressCallback(Option<Arc<ProgressFn>>);

/// Gets no reports.
pub(super) static SILENT: ProgressCallback = ProgressCallback(None);

type ProgressFn = dyn Fn(MemberProgress<'_>) + Send + Sync;

impl ProgressCallback {
    #[inline]
    pub(super) fn report(&self, progress: MemberProgress<'_>) {
        if let ProgressCallback(Some(report)) = self {
            report(progress);
        }
    }
}

impl fmt::Debug for ProgressCallback {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Some(_)" } else { "None" })
    }
}

impl Default for NpzOptions {
    #[inline]
    fn default() -> NpzOptions {
        NpzOptions {
            max_header_len: MAX_HEADER_LEN,
            max_inflated: MAX_INFLATED,
            progress: ProgressCallback::default(),
        }
    }
}

impl NpzOptions {
    /// Returns the defaults: headers of at most 10,000 characters, as in NumPy,
    /// and deflated members of at most 16 GiB.
    #[inline]
    pub fn new() -> NpzOptions {
        NpzOptions::default()
    }

    /// Allows longer headers, like
    /// [`OpenOptions::max_header_len`](crate::OpenOptions::max_header_len).
    #[inline]
    pub fn max_header_len(self, characters: usize) -> NpzOptions {
        NpzOptions { max_header_len: characters, ..self }
    }

    /// Limits the memory for one deflated member, in bytes. A small file can
    /// inflate to a thousand times its size.
    #[inline]
    pub fn max_inflated(self, bytes: u64) -> NpzOptions {
        NpzOptions { max_inflated: bytes, ..self }
    }

    /// Calls `report` while members are inflated, copied or verified, or written by an
    /// [`update`](NpzOptions::update): at least once every 256 KiB, on the thread that does
    /// the work. It is not called for mapped members.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use npymap::Source;
    /// use npymap::npz::{Compression, NpzOptions, NpzWriter};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npz");
    /// let zeros = npymap::ndarray::Array1::<f64>::zeros(1_000_000);
    /// let mut writer = NpzWriter::create(&path)?;
    /// writer.compression(Compression::Deflated(6)).write("a", &zeros)?;
    /// writer.finish()?;
    ///
    /// let done = Arc::new(AtomicU64::new(0));
    /// let reported = Arc::clone(&done);
    /// let options = NpzOptions::new()
    ///     .progress(move |progress| reported.store(progress.done, Ordering::Relaxed));
    /// options.open(Source::open(&path)?)?.get("a")?;
    /// assert_eq!(done.load(Ordering::Relaxed), 8_000_128); // including the header
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn progress(
        self,
        report: impl Fn(MemberProgress<'_>) + Send + Sync + 'static,
    ) -> NpzOptions {
        NpzOptions { progress: ProgressCallback(Some(Arc::new(report))), ..self }
    }

    /// Opens an archive.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the source is not a
    /// zip archive or is damaged,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if it is
    /// [`Source::map_mut`](crate::Source::map_mut), because a store would not
    /// update a member's checksum, and [`Io`](crate::ErrorKind::Io) if it
    /// cannot be read.
    pub fn open<D: Mapping>(&self, source: Source<D>) -> Result<Npz<D>> {
        let modified = modified(source.storage());
        let storage = source.storage();
        let entries = reject_writable(&source).and_then(|()| directory::read(storage));
        let entries = storage.add_path_on_err(entries)?;
        Ok(Npz::new(Arc::new(source), entries, self, modified))
    }

    /// Opens the archive in a range of a source.
    #[cfg(feature = "tar")]
    pub(crate) fn open_range<D: Mapping>(
        &self,
        source: Arc<Source<D>>,
        start: u64,
        len: u64,
    ) -> Result<Npz<D>> {
        reject_writable(&source)?;
        let modified = modified(source.storage());
        let part = Part { source: Arc::clone(&source), range: start..start + len };
        let mut entries = directory::read(&Storage::from_reader(Arc::new(part), len))?;
        for entry in &mut entries {
            // The start may be any number, and then nothing is there.
            entry.start = entry.start.min(len) + start;
            entry.limit = entry.limit.min(len) + start;
        }
        Ok(Npz::new(source, entries, self, modified))
    }
}

/// The bytes in a range of a source.
#[cfg(feature = "tar")]
struct Part<D> {
    source: Arc<Source<D>>,
    range: Range<u64>,
}

#[cfg(feature = "tar")]
impl<D> ReadAt for Part<D> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.source.storage().read_part(&self.range, buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(ranges::len(&self.range))
    }
}

/// Rejects archives with writable arrays.
pub(super) fn reject_writable<D: Mapping>(source: &Source<D>) -> Result<()> {
    if source.mode() != Some(Mode::ReadWrite) {
        return Ok(());
    }
    let found = "an archive mapped read-write";
    let expected = "`Source::map`, or a copy-on-write source, because a store would not \
                    update the checksum of its member";
    Err(RequestError::Call { found, expected }.into())
}
