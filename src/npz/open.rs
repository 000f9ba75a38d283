//! How an archive is opened.
#![allow(unsafe_code)]

use std::path::Path;
use std::sync::Arc;

use super::{Npz, directory};
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
}

impl Default for NpzOptions {
    fn default() -> NpzOptions {
        NpzOptions { max_header_len: MAX_HEADER_LEN, max_inflated: MAX_INFLATED }
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
        let (archive, entries) = directory::read(source)?;
        Ok(Npz { archive, entries, options: self.clone() })
    }
}
