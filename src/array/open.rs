//! Opens arrays in files: header by one read, elements by one map.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::raw::{self, RawSpec};
use super::{CreateOptions, MappedArray, MappedArrayMut, Origin};
use crate::error::{RequestError, Result};
use crate::npy::{Header, HeaderText, MAX_HEADER_LEN};
use crate::source::file;
use crate::source::lock::{self, Locking};
use crate::source::map::{Map, MapMut};
use crate::source::mode::Mode;
use crate::source::pages::Mapping;
use crate::source::platform::{Advice, Stat};

/// How to open an array. Setters return it; verbs end it.
///
/// Each verb takes a path; those named `*_file` take an open file, whose
/// position doesn't matter and which can be closed after. Where an array starts
/// ([`at`](OpenOptions::at)), that it has no header ([`raw`](OpenOptions::raw))
/// and how it will be used ([`advice`](OpenOptions::advice)) are about files;
/// those that read a stream start where that stands.
///
/// # Examples
///
/// ```
/// use npymap::OpenOptions;
///
/// let header = OpenOptions::new().max_header_len(1_000_000).header("data/penguins.npy")?;
/// assert_eq!(header.shape, [342, 4]);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    pub(crate) max_header_len: usize,
    /// Where in the file it is taken to start.
    pub(crate) at: u64,
    pub(crate) raw: Option<RawSpec>,
    advice: Advice,
    /// `None` leaves it to the function that opens.
    locking: Option<Locking>,
}

/// An array opened in a mode known at run time.
#[derive(Debug)]
pub enum Opened {
    /// Mode `r`.
    ReadOnly(MappedArray),
    /// Modes `r+` and `c`.
    Writable(MappedArrayMut),
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            max_header_len: MAX_HEADER_LEN,
            at: 0,
            raw: None,
            advice: Advice::Normal,
            locking: None,
        }
    }
}

impl OpenOptions {
    /// The defaults: headers of at most 10,000 characters, as in NumPy.
    #[must_use]
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Allows longer headers, as tables of hundreds of columns have; NumPy's
    /// `max_header_size`. Reading one takes time and memory in proportion.
    pub fn max_header_len(&mut self, characters: usize) -> &mut OpenOptions {
        self.max_header_len = characters;
        self
    }

    /// Opens the `.npy` that starts at this byte of a file: one of
    /// [several](OpenOptions::walk), or one inside another format. Offsets of
    /// raw binary count from here.
    pub fn at(&mut self, offset: u64) -> &mut OpenOptions {
        self.at = offset;
        self
    }

    /// Opens raw binary, without a header: `numpy.memmap`.
    pub fn raw(&mut self, raw: RawSpec) -> &mut OpenOptions {
        self.raw = Some(raw);
        self
    }

    /// True when the array is to be found elsewhere than at the start, or by
    /// other means than a header.
    pub(crate) fn is_placed(&self) -> bool {
        self.at > 0 || self.raw.is_some()
    }

    /// Takes the exclusive lock on files that are opened to be written by path:
    /// by [`open_mut`](OpenOptions::open_mut), which takes none unless this is
    /// set, and by [`append`](OpenOptions::append), for which
    /// [`Locking::Try`] is the default. After locking, the path still leads to
    /// the file that was opened.
    ///
    /// The lock is held as long as the array or appender lives. It is of its
    /// own opening of the file: asking for another lock on the same file, even
    /// in this process, waits or fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{ErrorKind, Locking, OpenOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("penguins.npy");
    /// std::fs::copy("data/penguins.npy", &path)?;
    /// let mut options = OpenOptions::new();
    /// options.locking(Locking::Try);
    /// // SAFETY: nobody else knows of the file.
    /// let array = unsafe { options.open_mut(&path)? };
    /// assert_eq!(options.append(&path).unwrap_err().kind(), ErrorKind::Locked);
    /// drop(array);
    /// options.append(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn locking(&mut self, locking: Locking) -> &mut OpenOptions {
        self.locking = Some(locking);
        self
    }

    /// The locking of functions that lock by default.
    pub(crate) fn locking_or_try(&self) -> Locking {
        self.locking.unwrap_or(Locking::Try)
    }

    /// Tells the system how the elements will be used, as
    /// [`MappedArray::advise`] does; [`Advice::Normal`] otherwise.
    pub fn advice(&mut self, advice: Advice) -> &mut OpenOptions {
        self.advice = advice;
        self
    }

    /// Reads the header and checks all that opening would, without mapping.
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open`], but for [`Io`](crate::ErrorKind::Io).
    pub fn header(&self, path: impl AsRef<Path>) -> Result<Header> {
        let found = |path: &Path| {
            let (file, stat) = file::open(path, false)?;
            self.whole_header(&file, stat.len)
        };
        on(path.as_ref(), found)
    }

    /// Reads the header's text as it stands in the file, good or bad.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io), and those of [`HeaderText::read`].
    pub fn header_text(&self, path: impl AsRef<Path>) -> Result<HeaderText<'static>> {
        let text = |path: &Path| {
            let (file, _) = file::open(path, false)?;
            HeaderText::read(Rest { file: &file, at: self.at }, self.max_header_len)
                .map_err(|error| error.inside(self.at))
        };
        on(path.as_ref(), text)
    }

    /// Opens read-only.
    ///
    /// # Safety
    ///
    /// As [`MappedArray::open`].
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open`].
    pub unsafe fn open(&self, path: impl AsRef<Path>) -> Result<MappedArray> {
        let opened = |path: &Path| {
            let (file, stat) = file::open(path, false)?;
            // SAFETY: asks for the same promises.
            self.array(&file, stat, Some(path), Mode::ReadOnly, |offset, len| unsafe {
                Map::new(&file, offset, len)
            })
        };
        on(path.as_ref(), opened)
    }

    /// Opens a file read-only.
    ///
    /// # Safety
    ///
    /// As [`MappedArray::open`].
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open`].
    pub unsafe fn open_file(&self, file: &File) -> Result<MappedArray> {
        // SAFETY: asks for the same promises.
        self.array(file, file::stat(file)?, None, Mode::ReadOnly, |offset, len| unsafe {
            Map::new(file, offset, len)
        })
    }

    /// Opens read-write.
    ///
    /// # Safety
    ///
    /// As [`MappedArray::open_mut`].
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open`].
    pub unsafe fn open_mut(&self, path: impl AsRef<Path>) -> Result<MappedArrayMut> {
        let opened = |path: &Path| {
            let locking = self.locking.unwrap_or(Locking::Off);
            let (file, stat, lock) = lock::open_to_write(path, locking)?;
            // SAFETY: asks for the same promises.
            let mut array =
                self.array(&file, stat, Some(path), Mode::ReadWrite, |offset, len| unsafe {
                    MapMut::shared(&file, offset, len)
                })?;
            array.origin.lock = lock.map(Arc::new);
            Ok(array)
        };
        on(path.as_ref(), opened)
    }

    /// Opens a file read-write; it must have been opened so.
    ///
    /// # Safety
    ///
    /// As [`MappedArray::open_mut`].
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open`].
    pub unsafe fn open_mut_file(&self, file: &File) -> Result<MappedArrayMut> {
        // SAFETY: asks for the same promises.
        self.array(file, file::stat(file)?, None, Mode::ReadWrite, |offset, len| unsafe {
            MapMut::shared(file, offset, len)
        })
    }

    /// Opens copy-on-write.
    ///
    /// # Safety
    ///
    /// As [`MappedArray::open`].
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open`].
    pub unsafe fn open_copy_on_write(&self, path: impl AsRef<Path>) -> Result<MappedArrayMut> {
        let opened = |path: &Path| {
            let (file, stat) = file::open(path, false)?;
            // SAFETY: asks for the same promises.
            self.array(&file, stat, Some(path), Mode::CopyOnWrite, |offset, len| unsafe {
                MapMut::private(&file, offset, len)
            })
        };
        on(path.as_ref(), opened)
    }

    /// Opens a file copy-on-write; it needn't be writable.
    ///
    /// # Safety
    ///
    /// As [`MappedArray::open`].
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open`].
    pub unsafe fn open_copy_on_write_file(&self, file: &File) -> Result<MappedArrayMut> {
        // SAFETY: asks for the same promises.
        self.array(file, file::stat(file)?, None, Mode::CopyOnWrite, |offset, len| unsafe {
            MapMut::private(file, offset, len)
        })
    }

    /// Opens in a mode known at run time.
    ///
    /// # Safety
    ///
    /// As the verb for that mode.
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open`], and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for `w+`, which needs
    /// more: see [`MappedArray::create`]. Raw binary with a shape has all it
    /// needs, and is made as by [`MappedArray::create_raw`], unless a file is
    /// there.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{OpenOptions, Opened};
    ///
    /// // SAFETY: nobody changes or truncates the file meanwhile.
    /// let opened = unsafe { OpenOptions::new().open_mode("c".parse()?, "data/penguins.npy")? };
    /// let Opened::Writable(mut penguins) = opened else { panic!() };
    /// penguins.as_slice_mut::<f64>()?[3] = 0.0;
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub unsafe fn open_mode(&self, mode: Mode, path: impl AsRef<Path>) -> Result<Opened> {
        match mode {
            // SAFETY: asks for the same promises.
            Mode::ReadOnly => unsafe { self.open(path) }.map(Opened::ReadOnly),
            // SAFETY: asks for the same promises.
            Mode::ReadWrite => unsafe { self.open_mut(path) }.map(Opened::Writable),
            // SAFETY: asks for the same promises.
            Mode::CopyOnWrite => unsafe { self.open_copy_on_write(path) }.map(Opened::Writable),
            Mode::Create => on(path.as_ref(), |path| match &self.raw {
                // SAFETY: asks for the same promises.
                Some(raw) => unsafe { raw::create(path, raw, self.at, &CreateOptions::new()) }
                    .map(Opened::Writable),
                None => Err(RequestError::CreateMode.into()),
            }),
        }
    }

    /// Opens a file that the system promises never to change.
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open_immutable`].
    pub fn open_immutable(&self, path: impl AsRef<Path>) -> Result<MappedArray> {
        let opened = |path: &Path| {
            let (file, stat) = file::open(path, false)?;
            self.array(&file, stat, Some(path), Mode::ReadOnly, |offset, len| {
                Map::immutable(&file, offset, len)
            })
        };
        on(path.as_ref(), opened)
    }

    /// As [`open_immutable`](OpenOptions::open_immutable), for an open file.
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open_immutable`].
    pub fn open_immutable_file(&self, file: &File) -> Result<MappedArray> {
        self.array(file, file::stat(file)?, None, Mode::ReadOnly, |offset, len| {
            Map::immutable(file, offset, len)
        })
    }

    /// Copies an array into page-aligned memory of its own; safe, since no
    /// other process can reach it.
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open`]. A file that gets shorter meanwhile is an
    /// [`Truncated`](crate::ErrorKind::Truncated), not a fault.
    ///
    /// # Examples
    ///
    /// ```
    /// let penguins = npymap::OpenOptions::new().read("data/penguins.npy")?;
    /// assert_eq!(penguins.as_slice::<f64>()?[3], 3750.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn read(&self, path: impl AsRef<Path>) -> Result<MappedArrayMut> {
        let read = |path: &Path| {
            let (file, stat) = file::open(path, false)?;
            self.copy(&file, stat.len, Some(path))
        };
        on(path.as_ref(), read)
    }

    /// As [`read`](OpenOptions::read), for an open file.
    ///
    /// # Errors
    ///
    /// As [`read`](OpenOptions::read).
    pub fn read_file(&self, file: &File) -> Result<MappedArrayMut> {
        self.copy(file, file::stat(file)?.len, None)
    }

    fn copy(&self, file: &File, len: u64, path: Option<&Path>) -> Result<MappedArrayMut> {
        let place = self.place(file, len)?;
        let mut data = MapMut::anonymous(place.layout.nbytes())?;
        file::read_elements(file, data.as_mut(), place.offset)?;
        let origin = Origin::new(path, None, &place);
        Ok(MappedArray { layout: place.layout, data, origin })
    }

    /// Finds the elements, then maps them alone.
    fn array<D: Mapping>(
        &self,
        file: &File,
        stat: Stat,
        path: Option<&Path>,
        mode: Mode,
        map: impl FnOnce(u64, usize) -> Result<D>,
    ) -> Result<MappedArray<D>> {
        let place = match mode {
            Mode::ReadWrite => self.place_mut(file, stat.len),
            _ => self.place(file, stat.len),
        }?;
        let data = map(place.offset, place.layout.nbytes())?;
        if self.advice != Advice::Normal {
            data.advise(0..place.layout.nbytes(), self.advice)?;
        }
        let mut origin = Origin::new(path, Some(mode), &place);
        origin.id = stat.id;
        Ok(MappedArray { layout: place.layout, data, origin })
    }
}

/// Reads a file from its start, whatever its own position.
pub(crate) struct Rest<'a> {
    pub(crate) file: &'a File,
    pub(crate) at: u64,
}

impl std::io::Read for Rest<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = file::read_at(self.file, buffer, self.at)?;
        self.at += u64::try_from(n).unwrap_or(0);
        Ok(n)
    }
}

/// Runs `f` on a path and names it in the error.
pub(crate) fn on<T>(path: &Path, f: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    f(path).map_err(|error| error.at(path))
}
