//! How an archive is opened.
#![allow(unsafe_code)]

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::{Npz, directory};
use crate::archive::names::NameIndex;
use crate::array::on;
use crate::error::Result;
use crate::npy::MAX_HEADER_LEN;
use crate::source::Source;

/// What one deflated member may take of memory unless more is allowed, in
/// bytes: 16 GiB.
const MAX_INFLATED: u64 = 16 << 30;

/// How to open an archive. Setters return it; verbs end it.
///
/// # Examples
///
/// ```no_run
/// use npymap::npz::NpzOptions;
///
/// let npz = NpzOptions::new().max_inflated(1 << 40).read("huge.npz")?;
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NpzOptions {
    pub(super) max_header_len: usize,
    pub(super) max_inflated: u64,
    pub(super) told: Told,
}

/// How far a member is read and, if it is deflated, inflated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unpacked<'a> {
    /// Its name without `.npy`.
    pub member: &'a str,
    /// The bytes of it that are done.
    pub done: u64,
    /// The bytes that it is.
    pub size: u64,
}

/// Who is told how far members are.
#[derive(Clone, Default)]
pub(super) struct Told(Option<Arc<Tell>>);

type Tell = dyn Fn(Unpacked<'_>) + Send + Sync;

impl Told {
    pub(super) fn tell(&self, unpacked: Unpacked<'_>) {
        if let Told(Some(told)) = self {
            told(unpacked);
        }
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "told" } else { "nobody" })
    }
}

impl Default for NpzOptions {
    fn default() -> NpzOptions {
        NpzOptions {
            max_header_len: MAX_HEADER_LEN,
            max_inflated: MAX_INFLATED,
            told: Told::default(),
        }
    }
}

impl NpzOptions {
    /// The defaults: headers of at most 10,000 characters, as in NumPy, and
    /// deflated members of at most 16 GiB.
    #[must_use]
    pub fn new() -> NpzOptions {
        NpzOptions::default()
    }

    /// Allows longer headers, as
    /// [`OpenOptions::max_header_len`](crate::OpenOptions::max_header_len).
    pub fn max_header_len(&mut self, characters: usize) -> &mut NpzOptions {
        self.max_header_len = characters;
        self
    }

    /// The memory that one deflated member may take, in bytes: a small file
    /// can hold a thousand times its size.
    pub fn max_inflated(&mut self, bytes: u64) -> &mut NpzOptions {
        self.max_inflated = bytes;
        self
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
    /// use npymap::npz::{NpzOptions, savez_compressed};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("a.npz");
    /// savez_compressed(&path, &[("a", &npymap::ndarray::Array1::<f64>::zeros(1_000_000))])?;
    ///
    /// let done = Arc::new(AtomicU64::new(0));
    /// let seen = Arc::clone(&done);
    /// let mut options = NpzOptions::new();
    /// options.progress(move |unpacked| seen.store(unpacked.done, Ordering::Relaxed));
    /// options.read(&path)?.get("a")?;
    /// assert_eq!(done.load(Ordering::Relaxed), 8_000_128); // with its header
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn progress(
        &mut self,
        told: impl Fn(Unpacked<'_>) + Send + Sync + 'static,
    ) -> &mut NpzOptions {
        self.told = Told(Some(Arc::new(told)));
        self
    }

    /// Opens an archive whose stored members are mapped.
    ///
    /// # Safety
    ///
    /// As [`Npz::open`].
    ///
    /// # Errors
    ///
    /// As [`Npz::open`].
    pub unsafe fn open(&self, path: impl AsRef<Path>) -> Result<Npz> {
        // SAFETY: asks for the same promises.
        on(path.as_ref(), |path| self.of(unsafe { Source::mapped(path, false) }?))
    }

    /// Opens an archive whose members are copied when they are asked for.
    ///
    /// # Errors
    ///
    /// As [`Npz::open`].
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Npz> {
        on(path.as_ref(), |path| self.of(Source::read(path)?))
    }

    /// Uses the archive that stands in `bytes`.
    ///
    /// # Errors
    ///
    /// As [`Npz::open`].
    pub fn from_bytes(&self, bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Npz> {
        self.of(Source::memory(Arc::new(bytes)))
    }

    fn of(&self, source: Source) -> Result<Npz> {
        let entries = directory::read(&source)?;
        Ok(Npz { source, entries, index: NameIndex::default(), options: self.clone() })
    }
}
