//! Creates `.npy` files.

use std::fs::File;
use std::path::Path;

use super::{MappedArray, MappedArrayMut, Place, RawSpec, with_path_in_errors};
use crate::dtype::DType;
use crate::error::{Result, SystemError};
use crate::layout::Order;
use crate::npy::{Header, Version};
use crate::source::atomic::AtomicFile;
use crate::source::map::MapMut;
use crate::source::mode::Mode;
use crate::source::{Source, file, platform};

/// How to create an array. Setters take the options and return them. The byte
/// order is the dtype's: see [`DType::with_byte_order`].
///
/// # Examples
///
/// ```
/// use npymap::{CreateOptions, Order, npy::Version};
///
/// let options = CreateOptions::new().order(Order::F).version(Version::V2);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct CreateOptions {
    order: Order,
    version: Option<Version>,
    overwrite: bool,
    sparse: bool,
    page_aligned: bool,
    /// Where the elements of raw binary start; `None` for a `.npy`.
    raw: Option<u64>,
}

/// Where page-aligned elements start, or at a multiple of it.
const PAGE: usize = 4096;

/// Where NumPy's elements start, or at a multiple of it.
const LINE: usize = 64;

impl CreateOptions {
    /// The defaults: C order, the first version that holds the header, and no
    /// file replaced.
    pub fn new() -> CreateOptions {
        CreateOptions::default()
    }

    /// Which axis varies fastest.
    pub fn order(self, order: Order) -> CreateOptions {
        CreateOptions { order, ..self }
    }

    /// The version of the format; never exchanged for another.
    pub fn version(self, version: Version) -> CreateOptions {
        CreateOptions { version: Some(version), ..self }
    }

    /// Reserves no space: a file of zeros takes none on the disk until it is
    /// written to, and a full disk is a fault at a store instead of an error
    /// at creation. [`write_elements`](MappedArray::write_elements) tells it
    /// as an error there too.
    pub fn sparse(self, sparse: bool) -> CreateOptions {
        CreateOptions { sparse, ..self }
    }

    /// Pads the header so that the elements start at byte 4096 (at a multiple
    /// of that if the header is longer) instead of 128 or another multiple of
    /// 64. Rows whose length divides a page's then lie in one page, not in
    /// two. NumPy reads such files as any other.
    pub fn page_aligned(self, page_aligned: bool) -> CreateOptions {
        CreateOptions { page_aligned, ..self }
    }

    /// Writes no header: raw binary, whose elements start at byte `offset`, as
    /// `numpy.memmap` with mode `w+` makes it. Version and alignment are then
    /// not used.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, DType, MappedArray};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("new.bin");
    /// let (dtype, options) = ("<i2".parse()?, CreateOptions::new().raw(1));
    /// // SAFETY: nobody else knows of the file yet.
    /// let mut array = unsafe { MappedArray::create(&path, &dtype, &[3, 4], &options)? };
    /// array.view_mut::<i16>()?.set([2, 3], 7)?;
    /// array.close()?;
    /// assert_eq!(std::fs::read(&path)?[1 + 22..], [7, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn raw(self, offset: u64) -> CreateOptions {
        CreateOptions { raw: Some(offset), ..self }
    }

    /// Lets the new file take the place of one that exists. That one isn't
    /// touched: who has it mapped or open keeps it. On Windows it is then an
    /// error, and nothing is replaced.
    pub fn overwrite(self, overwrite: bool) -> CreateOptions {
        CreateOptions { overwrite, ..self }
    }

    /// Makes an empty file, open for reading and writing, one of zeros. Use
    /// this when you name the file yourself, or leave it unnamed; open it
    /// afterwards as any other. On an error the file is incomplete.
    ///
    /// # Errors
    ///
    /// As [`MappedArray::create`]; [`AlreadyExists`](crate::ErrorKind::AlreadyExists) when the file is not
    /// empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, DType, MappedArray, Source};
    ///
    /// let file = tempfile::tempfile()?;
    /// CreateOptions::new().initialize(&file, &DType::of::<u16>(), &[3])?;
    /// // SAFETY: the file has no name that others could open it by.
    /// let mut array = MappedArray::from_source(unsafe { Source::map_mut_file(file)? })?;
    /// array.as_slice_mut::<u16>()?[2] = 7;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn initialize(&self, file: &File, dtype: &DType, shape: &[usize]) -> Result<()> {
        let plan = self.plan_file(dtype, shape)?;
        if file::len(file)? > 0 {
            return Err(SystemError::Exists.into());
        }
        plan.write(file)
    }
}

impl CreateOptions {
    /// Creates a file and opens it with the source that `map` makes of it.
    pub(super) fn create(
        &self,
        path: &Path,
        dtype: &DType,
        shape: &[usize],
        map: impl FnOnce(File) -> Result<Source<MapMut>>,
    ) -> Result<MappedArrayMut> {
        with_path_in_errors(path, |path| {
            let plan = self.plan_file(dtype, shape)?;
            let new = self.begin(path)?;
            plan.write(new.file())?;
            let (file, new) = if platform::CAN_RENAME_MAPPED_FILES {
                (new.file().try_clone().map_err(SystemError::io("create"))?, Some(new))
            } else {
                (new.finish()?, None)
            };
            let array = plan.open(map(file)?, path)?;
            new.map(AtomicFile::finish).transpose()?;
            Ok(array)
        })
    }

    /// A new file of any kind, all arguments checked.
    fn plan_file(&self, dtype: &DType, shape: &[usize]) -> Result<Plan> {
        let Some(offset) = self.raw else { return self.plan(dtype, shape).map(|(_, plan)| plan) };
        let raw = RawSpec::new(dtype.clone()).shape(shape).order(self.order).offset(offset);
        Ok(Plan { head: Vec::new(), place: raw.place(0, 0)?, sparse: self.sparse })
    }

    /// A new `.npy`, all arguments checked.
    pub(crate) fn plan(&self, dtype: &DType, shape: &[usize]) -> Result<(Header, Plan)> {
        let mut header = Header::new(dtype.clone(), shape, self.order)?;
        let align = if self.page_aligned { PAGE } else { LINE };
        let encoded = header.encode_aligned(self.version, align)?;
        header.version = encoded.version;
        header.data_offset = encoded.bytes.len();
        let place = Place::from_header(&header, 0)?;
        Ok((header, Plan { head: encoded.bytes, place, sparse: self.sparse }))
    }

    /// Whether the last axis is the slowest, and so the growing one.
    pub(crate) fn is_fortran(&self) -> bool {
        self.order == Order::F
    }

    /// Whether there is to be no header.
    pub(crate) fn is_raw(&self) -> bool {
        self.raw.is_some()
    }

    /// Begins to put a new file in the place of what is at `path`.
    pub(crate) fn begin(&self, path: &Path) -> Result<AtomicFile> {
        AtomicFile::new(path, self.overwrite)
    }
}

/// What a new file will hold.
pub(crate) struct Plan {
    /// The bytes of the header.
    pub(crate) head: Vec<u8>,
    place: Place,
    sparse: bool,
}

impl Plan {
    /// Makes a header and zeros of an empty file.
    pub(crate) fn write(&self, file: &File) -> Result<()> {
        let end = self.place.end().ok_or_else(|| self.place.too_large())?;
        file::write_at(file, &self.head, 0).map_err(SystemError::io("write the header"))?;
        let done = if self.sparse { file.set_len(end) } else { file::reserve(file, end) };
        done.map_err(SystemError::io("reserve space"))
    }

    /// Maps the elements of a file that was made, which has or gets this path.
    fn open(self, source: Source<MapMut>, path: &Path) -> Result<MappedArrayMut> {
        let source = source.with_path(path);
        let data = source.obtain(self.place.offset, self.place.layout.nbytes())?;
        let mut array = MappedArray::from_place(&source, data, self.place, None);
        array.origin.mode = Some(Mode::Create);
        Ok(array)
    }
}
