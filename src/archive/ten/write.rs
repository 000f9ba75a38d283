//! Writes lists of arrays, byte for byte as webdataset does.

use std::io::Write;
use std::path::Path;

use ndarray::{ArrayRef, Dimension, LayoutRef};

use super::chunk::{WRITE_CHUNK, write_chunk, write_padding, write_prefix};
use super::header::{TenHeader, is_u4};
use super::{check_extension, misuse};
use crate::array::{InParts, MappedArray, WriteMode, with_path_in_errors, write_file};
use crate::dtype::{ByteOrder, DType};
use crate::element::fast_path::FastPath as _;
use crate::element::{Element, Typed};
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{DTypeError, IoContext as _, Result, SystemError, plural};
use crate::view::DynView;
use crate::write::BLOCK;

/// An array that can be written to a `.ten` file: a [`MappedArray`] or an
/// ndarray array of numbers, in any byte order and memory order. This trait is
/// sealed.
///
/// # Examples
///
/// ```
/// use npymap::ndarray::arr1;
/// use npymap::ten::{TenWriteOptions, WriteTensor};
///
/// let (image, label) = (arr1(&[0.5_f32, 1.5]), arr1(&[7_i64]));
/// let sample: [&dyn WriteTensor; 2] = [&image, &label];
/// let mut bytes = Vec::new();
/// TenWriteOptions::new().write(&mut bytes, &sample)?;
/// assert!(bytes.starts_with(b"~TenBin~"));
/// # Ok::<(), npymap::Error>(())
/// ```
pub trait WriteTensor: private::SealedTensor {
    /// The dtype of the elements.
    fn dtype(&self) -> DType;

    /// The length of each axis.
    fn shape(&self) -> &[usize];

    /// Writes all elements in C order, little-endian.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if the writer fails.
    fn write_elements(&self, to: &mut dyn Write) -> Result<()>;
}

mod private {
    pub trait SealedTensor {}
    impl<D: AsRef<[u8]>> SealedTensor for super::MappedArray<D> {}
    impl SealedTensor for super::InParts<'_> {}
    impl<T: super::Element + super::Typed, D: super::Dimension> SealedTensor for super::ArrayRef<T, D> {}
    impl<T: super::Element + super::Typed, D: super::Dimension> SealedTensor for ndarray::Array<T, D> {}
}

impl<D: AsRef<[u8]>> WriteTensor for MappedArray<D> {
    fn dtype(&self) -> DType {
        self.layout().dtype().clone()
    }

    fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    fn write_elements(&self, to: &mut dyn Write) -> Result<()> {
        write_view(&self.dyn_view()?, to).map_err(SystemError::of_map(self.path()))
    }
}

impl WriteTensor for InParts<'_> {
    #[inline]
    fn dtype(&self) -> DType {
        self.0.dtype().clone()
    }

    #[inline]
    fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    #[inline]
    fn write_elements(&self, to: &mut dyn Write) -> Result<()> {
        let written = self.0.for_each_window(&self.0.outline(), |part| write_view(part, to));
        written.map_err(SystemError::of_map(self.0.path()))
    }
}

/// Writes elements in C order.
#[inline]
fn write_view(view: &DynView<'_>, to: &mut dyn Write) -> Result<()> {
    let blocks = view.byte_blocks().byte_order(ByteOrder::Little);
    blocks.try_for_each(|block| to.write_all(block)).context(WRITE_CHUNK)
}

impl<T: Element + Typed, D: Dimension> WriteTensor for ArrayRef<T, D> {
    fn dtype(&self) -> DType {
        T::dtype()
    }

    fn shape(&self) -> &[usize] {
        let layout: &LayoutRef<T, D> = self;
        layout.shape()
    }

    fn write_elements(&self, to: &mut dyn Write) -> Result<()> {
        let dtype = T::dtype();
        let codec = T::codec(&dtype)?;
        let is_big = dtype.byte_order() == ByteOrder::Big;
        let slice = if is_big { None } else { self.as_slice() };
        if let Some(bytes) = slice.and_then(|slice| T::fast_path().bytes_of(&codec, slice)) {
            return to.write_all(bytes).context(WRITE_CHUNK);
        }
        let size = dtype.itemsize();
        let mut block = Vec::with_capacity(BLOCK);
        for value in self {
            let start = block.len();
            block.resize(start + size, 0);
            let number = block.get_mut(start..).invariant(IN_BUFFER);
            value.encode(&codec, number)?;
            if is_big {
                number.reverse();
            }
            if block.len() >= BLOCK {
                to.write_all(&block).context(WRITE_CHUNK)?;
                block.clear();
            }
        }
        to.write_all(&block).context(WRITE_CHUNK)
    }
}

impl<T: Element + Typed, D: Dimension> WriteTensor for ndarray::Array<T, D> {
    fn dtype(&self) -> DType {
        T::dtype()
    }

    fn shape(&self) -> &[usize] {
        let layout: &LayoutRef<T, D> = self;
        layout.shape()
    }

    fn write_elements(&self, to: &mut dyn Write) -> Result<()> {
        let array: &ArrayRef<T, D> = self;
        WriteTensor::write_elements(array, to)
    }
}

/// Options for writing lists of arrays. Setters take the options and return
/// them.
///
/// # Examples
///
/// ```
/// use npymap::Source;
/// use npymap::ndarray::{arr1, arr2};
/// use npymap::ten::{Ten, TenWriteOptions};
///
/// let (image, class) = (arr2(&[[0.5_f32, 1.0], [0.0, 0.25]]), arr1(&[7_i64]));
/// let mut bytes = Vec::new();
/// TenWriteOptions::new().infos(&["img", "cls"]).write(&mut bytes, &[&image, &class])?;
/// let ten = Ten::open(Source::bytes(bytes))?;
/// assert_eq!(ten.get(ten.position("cls")?)?.shape(), [1]);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct TenWriteOptions {
    infos: Option<Vec<String>>,
    u4: bool,
    any_extension: bool,
    mode: WriteMode,
}

impl TenWriteOptions {
    /// Returns the defaults: infos are empty, dtypes that webdataset can't read
    /// are rejected, and the extension must be `.ten` or `.tb`.
    #[inline]
    pub fn new() -> TenWriteOptions {
        TenWriteOptions::default()
    }

    /// Sets the infos, or names, of the arrays: one for all of them, or one for
    /// each.
    pub fn infos(self, infos: &[impl AsRef<str>]) -> TenWriteOptions {
        let infos = infos.iter().map(|info| info.as_ref().to_owned()).collect();
        TenWriteOptions { infos: Some(infos), ..self }
    }

    /// Allows arrays of `u4`. **webdataset can't read the file then**, because
    /// its table of types misspells `uint32`. This crate can.
    #[inline]
    pub fn allow_u4(self, allow: bool) -> TenWriteOptions {
        TenWriteOptions { u4: allow, ..self }
    }

    /// Accepts extensions other than `.ten` and `.tb`: webdataset's `nocheck`.
    #[inline]
    pub fn any_extension(self, any: bool) -> TenWriteOptions {
        TenWriteOptions { any_extension: any, ..self }
    }

    /// Syncs the file and its directory to the disk.
    #[inline]
    pub fn sync(self, sync: bool) -> TenWriteOptions {
        TenWriteOptions { mode: WriteMode { sync, ..self.mode }, ..self }
    }

    /// Replaces also a `.npy` file with bytes after its elements, which are an error
    /// otherwise: [`recover`](crate::write::recover) may keep them as rows.
    #[inline]
    pub fn discard_trailing(self, discard: bool) -> TenWriteOptions {
        TenWriteOptions { mode: WriteMode { discards: discard, ..self.mode }, ..self }
    }

    /// Writes arrays to a file, which is renamed to `path` once it is complete:
    /// webdataset's `save`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the format does
    /// not support the dtype, the array has more than 9 axes, or an info is not
    /// ASCII or longer than 8 bytes, if the number of infos is neither one nor the
    /// number of arrays, or for `u4` unless it is allowed, or if the extension is
    /// not `.ten` or `.tb`. Returns [`NotFound`](crate::ErrorKind::NotFound) if the
    /// directory of `path` does not exist. These are checked before a file is
    /// created. Returns [`Io`](crate::ErrorKind::Io) if writing fails, and an
    /// existing file is then unchanged. Returns
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if bytes follow the elements of the
    /// `.npy` file that would be replaced, unless they are
    /// [discarded](TenWriteOptions::discard_trailing).
    pub fn save(&self, path: impl AsRef<Path>, arrays: &[&dyn WriteTensor]) -> Result<()> {
        with_path_in_errors(path.as_ref(), |path| {
            if !self.any_extension {
                check_extension(path)?;
            }
            let headers = self.headers(arrays)?;
            write_file(path, self.mode, |file, _| write_all(file, &headers, arrays))
        })
    }

    /// Writes arrays to any writer, such as a vector: webdataset's `write` and
    /// `encode_buffer`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the format
    /// does not support the dtype, the array has more than 9 axes, or an info
    /// is not ASCII or longer than 8 bytes, if the number of infos is neither
    /// one nor the number of arrays, or for `u4` unless it is allowed. These
    /// errors come before any output. Returns [`Io`](crate::ErrorKind::Io) if
    /// the writer fails.
    pub fn write(&self, to: impl Write, arrays: &[&dyn WriteTensor]) -> Result<()> {
        write_all(to, &self.headers(arrays)?, arrays)
    }

    /// Checks the arrays and infos, and returns the headers.
    #[inline]
    fn headers(&self, arrays: &[&dyn WriteTensor]) -> Result<Vec<TenHeader>> {
        let none = [String::new()];
        let infos = self.infos.as_deref().unwrap_or(&none);
        if infos.len() != 1 && infos.len() != arrays.len() {
            return misuse(
                format!(
                    "{} for {}",
                    plural(infos.len(), "info", "infos"),
                    plural(arrays.len(), "array", "arrays")
                ),
                "expected one for all, or one each",
            );
        }
        let headers = arrays.iter().zip(infos.iter().cycle()).map(|(array, info)| {
            let header = TenHeader::new(&array.dtype(), array.shape(), info)?;
            if is_u4(&header.dtype) && !self.u4 {
                let (descr, reason) = (header.dtype.to_string(), NO_U4.to_owned());
                return Err(DTypeError::Invalid { descr, reason }.into());
            }
            Ok(header)
        });
        headers.collect()
    }
}

const NO_U4: &str =
    "webdataset can't read u4: store i8 or u8, or allow it with `TenWriteOptions::allow_u4`";

/// Writes arrays to a file with the extension `.ten` or `.tb`. See
/// [`TenWriteOptions::save`].
///
/// # Errors
///
/// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the format does
/// not support the dtype, the array has more than 9 axes, or an info is not
/// ASCII or longer than 8 bytes, for `u4`, or if the extension is not `.ten` or
/// `.tb`. Returns [`NotFound`](crate::ErrorKind::NotFound) if the directory of
/// `path` does not exist, and [`Io`](crate::ErrorKind::Io) if writing fails. An
/// existing file is then unchanged.
///
/// # Examples
///
/// ```
/// use npymap::{Source, ndarray::arr1, ten};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("sample.ten");
/// ten::save(&path, &[&arr1(&[0.5_f32, 1.5]), &arr1(&[7_i64])])?;
/// assert_eq!(ten::Ten::open(Source::open(&path)?)?.headers().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save(path: impl AsRef<Path>, arrays: &[&dyn WriteTensor]) -> Result<()> {
    TenWriteOptions::new().save(path, arrays)
}

fn write_all(mut to: impl Write, headers: &[TenHeader], arrays: &[&dyn WriteTensor]) -> Result<()> {
    for (header, array) in headers.iter().zip(arrays) {
        write_chunk(&mut to, &header.encode()?)?;
        let nbytes = header.layout()?.nbytes();
        write_prefix(&mut to, nbytes)?;
        array.write_elements(&mut to)?;
        write_padding(&mut to, nbytes)?;
    }
    to.flush().context(WRITE_CHUNK)
}
