//! Opens `.npy` files: header by one read, elements by one map.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use super::{MappedArray, MappedArrayMut, Origin};
use crate::error::{Category, ErrorKind, Result};
use crate::file;
use crate::layout::Layout;
use crate::map::{Map, MapMut};
use crate::mode::Mode;
use crate::npy::{Header, HeaderText, MAX_HEADER_LEN, Preamble};

/// Enough for any header without many fields.
const FIRST_READ: usize = 1024;
const FIRST_READ_END: u64 = 1024;

/// How often a header that makes no sense is looked at again.
const LOOKS: usize = 3;

/// How to open an array. Setters return it; verbs end it.
///
/// Each verb takes a path; those named `*_file` take an open file, whose
/// position doesn't matter and which can be closed after.
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
        OpenOptions { max_header_len: MAX_HEADER_LEN }
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

    /// Reads the header and checks all that opening would, without mapping.
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open`], but for [`ErrorKind::Map`].
    pub fn header(&self, path: impl AsRef<Path>) -> Result<Header> {
        let found = |path: &Path| {
            let (file, len) = file::open(path, false)?;
            Ok(self.find(&file, len)?.0)
        };
        on(path.as_ref(), found)
    }

    /// Reads the header's text as it stands in the file, good or bad.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`], and those of [`HeaderText::read`].
    pub fn header_text(&self, path: impl AsRef<Path>) -> Result<HeaderText<'static>> {
        let text = |path: &Path| {
            let (file, _) = file::open(path, false)?;
            HeaderText::read(Rest { file: &file, at: 0 }, self.max_header_len)
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
            let (file, len) = file::open(path, false)?;
            // SAFETY: asks for the same promises.
            self.array(&file, len, Some(path), Mode::ReadOnly, |offset, len| unsafe {
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
        self.array(file, file::len(file)?, None, Mode::ReadOnly, |offset, len| unsafe {
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
            let (file, len) = file::open(path, true)?;
            // SAFETY: asks for the same promises.
            self.array(&file, len, Some(path), Mode::ReadWrite, |offset, len| unsafe {
                MapMut::shared(&file, offset, len)
            })
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
        self.array(file, file::len(file)?, None, Mode::ReadWrite, |offset, len| unsafe {
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
            let (file, len) = file::open(path, false)?;
            // SAFETY: asks for the same promises.
            self.array(&file, len, Some(path), Mode::CopyOnWrite, |offset, len| unsafe {
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
        self.array(file, file::len(file)?, None, Mode::CopyOnWrite, |offset, len| unsafe {
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
    /// As [`MappedArray::open`], and [`ErrorKind::CreateMode`] for `w+`, which
    /// needs more: see [`MappedArray::create`].
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
            Mode::Create => on(path.as_ref(), |_| Err(ErrorKind::CreateMode.into())),
        }
    }

    /// Opens a file that the system promises never to change.
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open_immutable`].
    pub fn open_immutable(&self, path: impl AsRef<Path>) -> Result<MappedArray> {
        let opened = |path: &Path| {
            let (file, len) = file::open(path, false)?;
            self.array(&file, len, Some(path), Mode::ReadOnly, |offset, len| {
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
        self.array(file, file::len(file)?, None, Mode::ReadOnly, |offset, len| {
            Map::immutable(file, offset, len)
        })
    }

    /// Copies an array into page-aligned memory of its own; safe, since no
    /// other process can reach it.
    ///
    /// # Errors
    ///
    /// As [`MappedArray::open`]. A file that gets shorter meanwhile is an
    /// [`ErrorKind::ShortFile`], not a fault.
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
            let (file, len) = file::open(path, false)?;
            self.copy(&file, len, Some(path))
        };
        on(path.as_ref(), read)
    }

    /// As [`read`](OpenOptions::read), for an open file.
    ///
    /// # Errors
    ///
    /// As [`read`](OpenOptions::read).
    pub fn read_file(&self, file: &File) -> Result<MappedArrayMut> {
        self.copy(file, file::len(file)?, None)
    }

    fn copy(&self, file: &File, len: u64, path: Option<&Path>) -> Result<MappedArrayMut> {
        let (header, layout) = self.find(file, len)?;
        let offset = offset(&header);
        let needed = layout.nbytes();
        let mut data = MapMut::anonymous(needed)?;
        let found = file::read_at(file, data.as_mut(), offset)
            .map_err(ErrorKind::io("read the elements"))?;
        if found < needed {
            return Err(short_file(offset, needed, offset + u64::try_from(found).unwrap_or(0)));
        }
        Ok(MappedArray { layout: layout.at(0), data, origin: Origin::new(path, None, &header) })
    }

    /// Reads the header, then maps the elements alone.
    fn array<D>(
        &self,
        file: &File,
        len: u64,
        path: Option<&Path>,
        mode: Mode,
        map: impl FnOnce(u64, usize) -> Result<D>,
    ) -> Result<MappedArray<D>> {
        let (header, layout) = self.find(file, len)?;
        let data = map(offset(&header), layout.nbytes())?;
        let origin = Origin::new(path, Some(mode), &header);
        Ok(MappedArray { layout: layout.at(0), data, origin })
    }

    /// Reads the header of a file of `len` bytes and finds all elements there.
    ///
    /// Who adds rows meanwhile writes first behind the elements and then to
    /// the header, so one that doesn't fit the file is looked at again.
    pub(crate) fn find(&self, file: &File, len: u64) -> Result<(Header, Layout)> {
        let mut found = self.look(file, len);
        for _ in 0..LOOKS {
            match &found {
                Err(error) if error.category() == Category::Format => {
                    found = self.look(file, file::len(file)?);
                }
                _ => break,
            }
        }
        found
    }

    fn look(&self, file: &File, len: u64) -> Result<(Header, Layout)> {
        let header = self.read_header(file, len)?;
        let layout = header.layout()?;
        match u64::try_from(layout.end()) {
            Ok(end) if end <= len => Ok((header, layout)),
            _ => Err(short_file(offset(&header), layout.nbytes(), len)),
        }
    }

    /// Reads the header, with one call unless it is long, then with two.
    pub(crate) fn read_header(&self, file: &File, len: u64) -> Result<Header> {
        let mut first = [0; FIRST_READ];
        let filled = read_at(file, &mut first, 0)?;
        let start = first.get(..filled).unwrap_or_default();
        let preamble = Preamble::parse(start)?;
        let end = usize::try_from(preamble.data_offset()).unwrap_or(usize::MAX);
        if end <= filled || filled < FIRST_READ || preamble.exceeds(self.max_header_len) {
            return HeaderText::parse(start, self.max_header_len)?.header();
        }
        let mut whole = start.to_vec();
        whole.resize(end.min(usize::try_from(len).unwrap_or(usize::MAX)), 0);
        let rest = whole.get_mut(FIRST_READ..).unwrap_or_default();
        let found = FIRST_READ + read_at(file, rest, FIRST_READ_END)?;
        HeaderText::parse(whole.get(..found).unwrap_or_default(), self.max_header_len)?.header()
    }
}

/// Reads part of the header.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> Result<usize> {
    file::read_at(file, buffer, offset).map_err(ErrorKind::io("read the header"))
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

pub(crate) fn offset(header: &Header) -> u64 {
    u64::try_from(header.data_offset).unwrap_or(u64::MAX)
}

fn short_file(offset: u64, nbytes: usize, found: u64) -> crate::Error {
    let needed = u64::try_from(nbytes).unwrap_or(u64::MAX).saturating_add(offset);
    ErrorKind::ShortFile { needed, found }.into()
}
