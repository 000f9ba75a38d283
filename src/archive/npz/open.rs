//! How an archive is opened.

use std::fmt;
use std::sync::Arc;

use super::Npz;
use super::directory::{self, DirectoryEntry};
use crate::archive::names::NameIndex;
use crate::error::{RequestError, Result};
use crate::npy::MAX_HEADER_LEN;
use crate::source::Source;
use crate::source::mode::Mode;
use crate::source::pages::Mapping;

/// What one deflated member may take of memory unless more is allowed, in
/// bytes: 16 GiB.
const MAX_INFLATED: u64 = 16 << 30;

/// How to open an archive. Setters take the options and return them.
///
/// # Examples
///
/// ```no_run
/// use npymap::{Source, npz::NpzOptions};
///
/// let npz = NpzOptions::new().max_inflated(1 << 40).open(Source::read("huge.npz")?)?;
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct NpzOptions {
    pub(super) max_header_len: usize,
    pub(super) max_inflated: u64,
    pub(super) told: ProgressCallback,
}

/// How far a member is read and, if it is deflated, inflated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberProgress<'a> {
    /// Its name without `.npy`.
    pub member: &'a str,
    /// The bytes of it that are done.
    pub done: u64,
    /// The bytes that it is.
    pub size: u64,
}

/// Who is told how far members are.
#[derive(Clone, Default)]
pub(super) struct ProgressCallback(Option<Arc<Tell>>);

type Tell = dyn Fn(MemberProgress<'_>) + Send + Sync;

impl ProgressCallback {
    pub(super) fn tell(&self, unpacked: MemberProgress<'_>) {
        if let ProgressCallback(Some(told)) = self {
            told(unpacked);
        }
    }
}

impl fmt::Debug for ProgressCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "told" } else { "nobody" })
    }
}

impl Default for NpzOptions {
    fn default() -> NpzOptions {
        NpzOptions {
            max_header_len: MAX_HEADER_LEN,
            max_inflated: MAX_INFLATED,
            told: ProgressCallback::default(),
        }
    }
}

impl NpzOptions {
    /// The defaults: headers of at most 10,000 characters, as in NumPy, and
    /// deflated members of at most 16 GiB.
    pub fn new() -> NpzOptions {
        NpzOptions::default()
    }

    /// Allows longer headers, as
    /// [`OpenOptions::max_header_len`](crate::OpenOptions::max_header_len).
    pub fn max_header_len(self, characters: usize) -> NpzOptions {
        NpzOptions { max_header_len: characters, ..self }
    }

    /// The memory that one deflated member may take, in bytes: a small file
    /// can hold a thousand times its size.
    pub fn max_inflated(self, bytes: u64) -> NpzOptions {
        NpzOptions { max_inflated: bytes, ..self }
    }

    /// Tells how far members are while they are inflated, copied or verified:
    /// after each 256 KiB at most, on the thread that does it. Members that
    /// are mapped have nothing to tell.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use npymap::Source;
    /// use npymap::npz::{NpzOptions, savez_compressed};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npz");
    /// savez_compressed(&path, &[("a", &npymap::ndarray::Array1::<f64>::zeros(1_000_000))])?;
    ///
    /// let done = Arc::new(AtomicU64::new(0));
    /// let seen = Arc::clone(&done);
    /// let options = NpzOptions::new()
    ///     .progress(move |unpacked| seen.store(unpacked.done, Ordering::Relaxed));
    /// options.open(Source::read(&path)?)?.get("a")?;
    /// assert_eq!(done.load(Ordering::Relaxed), 8_000_128); // with its header
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn progress(self, told: impl Fn(MemberProgress<'_>) + Send + Sync + 'static) -> NpzOptions {
        NpzOptions { told: ProgressCallback(Some(Arc::new(told))), ..self }
    }

    /// Opens the archive that a source holds.
    ///
    /// # Errors
    ///
    /// As [`Npz::open`].
    pub fn open<D: Mapping>(&self, source: Source<D>) -> Result<Npz<D>> {
        let entries = source.storage().add_path_on_err(open_entries(&source))?;
        Ok(Npz { source, entries, index: NameIndex::default(), options: self.clone() })
    }
}

fn open_entries<D: Mapping>(source: &Source<D>) -> Result<Vec<DirectoryEntry>> {
    if source.mode() == Some(Mode::ReadWrite) {
        let value = "an archive mapped read-write".to_owned();
        let expected = "`Source::map`, or a copy-on-write source, because a store would not \
                        change the checksum of its member"
            .to_owned();
        return Err(RequestError::Argument { found: value, expected }.into());
    }
    directory::read(source.storage())
}
