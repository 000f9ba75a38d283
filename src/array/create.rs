//! Creates `.npy` files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::{MappedArray, MappedArrayMut, Place, RawSpec, replace, with_path_in_errors};
use crate::dtype::DType;
use crate::error::{IoContext as _, Result, SystemError};
use crate::kernel::PAGE;
use crate::layout::Order;
use crate::npy::{Header, Version};
use crate::source::atomic::AtomicFile;
use crate::source::lock::Locking;
use crate::source::map::MapMut;
use crate::source::mode::Mode;
use crate::source::{Source, file, platform};

/// Options for creating an array.
///
/// The byte order comes from the dtype. To change it, use
/// [`DType::with_byte_order`].
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
#[expect(clippy::struct_excessive_bools, reason = "each is a separate option")]
pub struct CreateOptions {
    pub(crate) order: Order,
    version: Option<Version>,
    pub(crate) overwrite: bool,
    discard_trailing: bool,
    sparse: bool,
    page_aligned: bool,
    /// The offset of raw elements. Returns `None` for a `.npy`.
    pub(crate) raw: Option<u64>,
}

/// In files written by NumPy, elements start at a multiple of this.
const LINE: usize = 64;

impl CreateOptions {
    /// Returns the defaults: C order, the lowest version that can encode the
    /// header, and no overwriting.
    #[inline]
    pub fn new() -> CreateOptions {
        CreateOptions::default()
    }

    /// Sets which axis varies fastest.
    #[inline]
    pub fn order(self, order: Order) -> CreateOptions {
        CreateOptions { order, ..self }
    }

    /// Sets the version of the format. Creation fails if it cannot encode the header.
    #[inline]
    pub fn version(self, version: Version) -> CreateOptions {
        CreateOptions { version: Some(version), ..self }
    }

    /// Reserves no space on the disk until elements are written. If the disk is
    /// full, a store then causes a signal instead of an error at creation;
    /// [`ElementWriter::write`](super::ElementWriter::write) still returns an error.
    #[inline]
    pub fn sparse(self, sparse: bool) -> CreateOptions {
        CreateOptions { sparse, ..self }
    }

    /// Pads the header so that the elements start at byte 4096 (or a multiple,
    /// if the header is longer) instead of 128 or another multiple of 64. If
    /// the length of a row divides the page size, each row is then in one page
    /// instead of two. NumPy reads such files normally; cnpy and programs
    /// derived from it do not, since they read at most 256 bytes of a header.
    #[inline]
    pub fn page_aligned(self, page_aligned: bool) -> CreateOptions {
        CreateOptions { page_aligned, ..self }
    }

    /// Writes raw binary without a header, with elements that start at byte
    /// `offset`, as `numpy.memmap` does in mode `w+`. Version and alignment are
    /// then ignored.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, DType};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("new.bin");
    /// let (dtype, options) = ("<i2".parse()?, CreateOptions::new().raw(1));
    /// // SAFETY: no other process knows of the file yet.
    /// let mut array = unsafe { options.create(&path, &dtype, &[3, 4])? };
    /// array.view_mut::<i16>()?.set([2, 3], 7)?;
    /// array.close()?;
    /// assert_eq!(std::fs::read(&path)?[1 + 22..], [7, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn raw(self, offset: u64) -> CreateOptions {
        CreateOptions { raw: Some(offset), ..self }
    }

    /// Allows the new file to replace an existing one. The old file is not
    /// changed: processes that have it mapped or open keep it. On Windows, creation
    /// fails in that case, and nothing is replaced.
    ///
    /// A `.npy` file with bytes after its elements is not replaced, because they may be
    /// rows that [`recover`](crate::write::RecoverOptions::recover) keeps: that is
    /// [`Corrupt`](crate::ErrorKind::Corrupt), unless
    /// [`discard_trailing`](CreateOptions::discard_trailing) is set.
    #[inline]
    pub fn overwrite(self, overwrite: bool) -> CreateOptions {
        CreateOptions { overwrite, ..self }
    }

    /// With [`overwrite`](CreateOptions::overwrite), drops whatever follows the
    /// elements of the previous file: rows of a writer that died, or another
    /// array.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Write as _;
    ///
    /// use npymap::{CreateOptions, ErrorKind};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("penguins.npy");
    /// std::fs::copy("data/penguins.npy", &path)?;
    /// // A writer dies while it appends a row of 32 bytes.
    /// std::fs::File::options().append(true).open(&path)?.write_all(&[0; 32])?;
    ///
    /// let (options, dtype) = (CreateOptions::new().overwrite(true), "u1".parse()?);
    /// // SAFETY: no other process knows of the file.
    /// unsafe {
    ///     let refused = options.create(&path, &dtype, &[2]);
    ///     assert_eq!(refused.unwrap_err().kind(), ErrorKind::Corrupt);
    ///     options.discard_trailing(true).create(&path, &dtype, &[2])?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn discard_trailing(self, discard: bool) -> CreateOptions {
        CreateOptions { discard_trailing: discard, ..self }
    }

    /// Initializes an empty file, which must be open for reading and writing, as an
    /// array of zeros. Use this when you name the file yourself, or leave it
    /// unnamed, and open it afterwards. On an error the file is incomplete.
    ///
    /// # Errors
    ///
    /// Returns [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the file is
    /// not empty, [`InvalidInput`](crate::ErrorKind::InvalidInput) if a descr
    /// cannot express the dtype, if the version cannot hold the header, or if the
    /// array has more than 64 axes or is larger than the address space. These
    /// errors leave the file unchanged. Returns [`Io`](crate::ErrorKind::Io) if
    /// writing fails, for example because the disk is full.
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
    #[inline]
    pub fn initialize(&self, file: &File, dtype: &DType, shape: &[usize]) -> Result<()> {
        let plan = self.plan_file(dtype, shape)?;
        if file::len(file)? > 0 {
            return Err(SystemError::Exists.into());
        }
        plan.write(file)
    }

    /// Creates a file, and opens the source that `map` returns for it.
    pub(super) fn create_with(
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
            let name = Arc::from(&*new.target);
            let (file, new) = if platform::CAN_RENAME_MAPPED_FILES {
                (new.file().try_clone().context("create")?, Some(new))
            } else {
                (new.finish()?, None)
            };
            let mut array = plan.open(map(file)?, path)?;
            array.origin.new_name = Some(name);
            new.map(AtomicFile::finish).transpose()?;
            Ok(array)
        })
    }

    /// Checks the arguments and plans a new file, with or without a header.
    #[inline]
    pub(crate) fn plan_file(&self, dtype: &DType, shape: &[usize]) -> Result<Plan> {
        let Some(offset) = self.raw else { return self.plan(dtype, shape).map(|(_, plan)| plan) };
        let raw = RawSpec::new(dtype.clone()).shape(shape).order(self.order).offset(offset);
        Ok(Plan { head: Vec::new(), place: raw.place(0, 0)?, sparse: self.sparse })
    }

    /// Checks the arguments and plans a new `.npy` file.
    #[inline]
    pub(crate) fn plan(&self, dtype: &DType, shape: &[usize]) -> Result<(Header, Plan)> {
        let mut header = Header::new(dtype.clone(), shape, self.order)?;
        let align = if self.page_aligned { PAGE } else { LINE };
        let encoded = header.encode_aligned(self.version, align)?;
        header.version = encoded.version;
        header.data_offset = encoded.bytes.len();
        let place = Place::from_header(header.clone(), 0)?;
        Ok((header, Plan { head: encoded.bytes, place, sparse: self.sparse }))
    }

    /// Starts a new file that is given the name `path` when it is finished.
    #[inline]
    pub(crate) fn begin(&self, path: &Path) -> Result<AtomicFile> {
        replace::begin(path, self.overwrite, self.discard_trailing)
    }

    /// Like [`begin`](CreateOptions::begin), but an existing file is locked
    /// until it is replaced.
    #[inline]
    pub(crate) fn begin_locked(&self, path: &Path) -> Result<AtomicFile> {
        if self.overwrite {
            replace::begin_locked(path, Locking::Try, self.discard_trailing)
        } else {
            self.begin(path)
        }
    }
}

/// The contents of a new file.
pub(crate) struct Plan {
    /// The bytes of the header.
    pub(crate) head: Vec<u8>,
    place: Place,
    sparse: bool,
}

impl Plan {
    /// Writes the header and zeros to an empty file.
    #[inline]
    pub(crate) fn write(&self, file: &File) -> Result<()> {
        let end = self.place.end()?;
        file::write_at(file, &self.head, 0).context("write the header")?;
        let result = if self.sparse { file.set_len(end) } else { file::reserve(file, end) };
        result.context("reserve space")
    }

    /// Maps the elements of the file, which has or will have this path.
    #[inline]
    fn open(self, mut source: Source<MapMut>, path: &Path) -> Result<MappedArrayMut> {
        source.storage.path = Some(Arc::from(path));
        let data = source.obtain(self.place.offset, self.place.layout.nbytes())?;
        let mut array = MappedArray::from_place(&source, data, self.place, None);
        array.origin.mode = Some(Mode::Create);
        Ok(array)
    }
}
