//! Writes lists of arrays, byte for byte as webdataset does.

use std::io::{self, Write};
use std::path::Path;

use super::chunk::{WRITE_CHUNK, write_chunk, write_padding, write_prefix};
use super::header::TenHeader;
use super::{has_extension, misuse};
use crate::array::{WriteMode, with_path_in_errors, write_file};
use crate::dtype::{ByteOrder, DType};
use crate::element::Le;
use crate::error::{DTypeError, IoContext as _, Result, plural};
use crate::layout::Order;
use crate::npy::Header;
use crate::write::{BLOCK, Save};

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
}

impl TenWriteOptions {
    /// Returns the defaults: infos are empty, and dtypes that webdataset can't
    /// read are rejected.
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

    /// Writes arrays to a file, which is renamed to `path` once it is complete:
    /// webdataset's `save`. For another extension or a synced file,
    /// [`write`](TenWriteOptions::write) to an
    /// [`AtomicFile`](crate::source::AtomicFile).
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
    /// `.npy` file that would be replaced.
    pub fn save(&self, path: impl AsRef<Path>, arrays: &[&dyn Save]) -> Result<()> {
        with_path_in_errors(path.as_ref(), |path| {
            if !has_extension(path) {
                let found = "the name ends neither in .ten nor in .tb".to_owned();
                return misuse(found, "rename it, webdataset refuses others");
            }
            let headers = self.headers(arrays)?;
            write_file(path, WriteMode::default(), |file, _| write_all(file, &headers, arrays))
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
    pub fn write(&self, to: impl Write, arrays: &[&dyn Save]) -> Result<()> {
        write_all(to, &self.headers(arrays)?, arrays)
    }

    /// Checks the arrays and infos, and returns the headers.
    #[inline]
    fn headers(&self, arrays: &[&dyn Save]) -> Result<Vec<TenHeader>> {
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
            let Header { dtype, shape, .. } = array.header()?;
            let header = TenHeader::new(&dtype, &shape, info)?;
            if header.dtype == DType::of::<Le<u32>>() && !self.u4 {
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

fn write_all(mut to: impl Write, headers: &[TenHeader], arrays: &[&dyn Save]) -> Result<()> {
    for (header, array) in headers.iter().zip(arrays) {
        write_chunk(&mut to, &header.encode()?)?;
        let nbytes = header.layout()?.nbytes();
        write_prefix(&mut to, nbytes)?;
        let size = header.dtype.itemsize();
        match array.header()?.dtype.byte_order() {
            ByteOrder::Big => array.write_elements(Order::C, &mut Swapped { to: &mut to, size })?,
            _ => array.write_elements(Order::C, &mut to)?,
        }
        write_padding(&mut to, nbytes)?;
    }
    to.flush().context(WRITE_CHUNK)
}

/// Writes numbers of `size` bytes, of which each call gets whole ones, in the other byte order.
struct Swapped<W> {
    to: W,
    size: usize,
}

impl<W: Write> Write for Swapped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut block = bytes.get(..BLOCK).unwrap_or(bytes).to_vec();
        block.chunks_exact_mut(self.size).for_each(<[u8]>::reverse);
        self.to.write_all(&block)?;
        Ok(block.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
