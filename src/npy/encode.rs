//! Writes headers, byte for byte as NumPy 2.4 does.

use std::io::Write;

use super::header::Header;
use super::preamble::{MAGIC, Version};
use crate::dtype::literal::tuple;
use crate::dtype::{DType, Kind, descr_text};
use crate::error::{DTypeError, HeaderError, Result, SystemError};
use crate::layout::Order;

/// The elements start at a multiple of this, so that they can be mapped.
const ALIGN: usize = 64;

/// Digits that NumPy keeps room for on the growing axis.
const GROWTH: usize = 21;

/// The bytes of a header, and the version that was chosen for them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Encoded {
    /// The version of the format.
    pub version: Version,
    /// Everything before the first element.
    pub bytes: Vec<u8>,
}

impl Header {
    /// The header of an array that NumPy would write, in the first version
    /// that holds it.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when fields overlap or
    /// are out of order, or the dtype is a subarray; those of
    /// [`Layout::new`](crate::layout::Layout::new).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, Header, Order, npy::Version};
    ///
    /// let header = Header::new(DType::of::<f32>(), &[3, 4], Order::C)?;
    /// assert_eq!((header.version, header.data_offset), (Version::V1, 128));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn new(dtype: DType, shape: &[usize], order: Order) -> Result<Header> {
        let shape = shape.to_vec();
        let mut header = Header { dtype, shape, order, version: Version::V1, data_offset: 0 };
        let encoded = header.encode(None)?;
        header.version = encoded.version;
        header.data_offset = encoded.bytes.len();
        header.layout()?;
        Ok(header)
    }

    /// Everything before the first element, as NumPy writes it: padded to a
    /// multiple of 64 bytes, with room for the growing axis to get longer.
    ///
    /// Without a `version` the first that holds the header is chosen: 1.0, or
    /// 2.0 when it is long, or 3.0 when a name is not latin-1. A given version
    /// is never exchanged for another.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when no descr says the
    /// dtype; [`InvalidInput`](crate::ErrorKind::InvalidInput) when the given
    /// version can't hold the header.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, Header, Order, npy::Version};
    ///
    /// let header = Header::new(DType::of::<f32>(), &[3, 4], Order::C)?;
    /// let encoded = header.encode(Some(Version::V2))?;
    /// assert_eq!((encoded.version, encoded.bytes.len()), (Version::V2, 128));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn encode(&self, version: Option<Version>) -> Result<Encoded> {
        self.encode_aligned(version, ALIGN)
    }

    /// As [`encode`](Header::encode), padded to a multiple of `align` bytes.
    pub(crate) fn encode_aligned(&self, version: Option<Version>, align: usize) -> Result<Encoded> {
        let text = self.text()? + &" ".repeat(self.growth());
        let version = version.unwrap_or_else(|| choose(&text));
        let text = version.bytes(text)?;
        let header_len = padded(text.len(), version, align);
        let bytes = file_start(version, text, header_len)?;
        Ok(Encoded { version, bytes })
    }

    /// Everything before the first element, in the version and of the length
    /// that this header has; `None` when it is too long for that.
    ///
    /// # Errors
    ///
    /// As [`encode`](Header::encode).
    pub(crate) fn encode_in_place(&self) -> Result<Option<Vec<u8>>> {
        let text = self.version.bytes(self.text()?)?;
        match self.data_offset.checked_sub(self.version.text_offset()) {
            Some(header_len) if text.len() < header_len => {
                file_start(self.version, text, header_len).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Writes what [`encode`](Header::encode) gives and returns the version.
    ///
    /// # Errors
    ///
    /// Those of [`encode`](Header::encode), before anything is written;
    /// [`Io`](crate::ErrorKind::Io) when the writer fails.
    pub fn write(&self, mut to: impl Write, version: Option<Version>) -> Result<Version> {
        let encoded = self.encode(version)?;
        to.write_all(&encoded.bytes).map_err(SystemError::io("write the header"))?;
        Ok(encoded.version)
    }

    /// The axis along which rows are added without moving others: the first in
    /// C order, the last in Fortran order; none without axes.
    pub(crate) fn growing_axis(&self) -> Option<usize> {
        let last = self.shape.len().checked_sub(1)?;
        Some(if self.order == Order::C { 0 } else { last })
    }

    /// The room that NumPy keeps for the growing axis to get longer.
    fn growth(&self) -> usize {
        let dim = self.growing_axis().and_then(|axis| self.shape.get(axis));
        dim.map_or(0, |dim| GROWTH.saturating_sub(dim.to_string().len()))
    }

    /// The dictionary.
    fn text(&self) -> Result<String> {
        let descr = descr_text(&self.dtype)?;
        if self.dtype.kind() == Kind::Subarray {
            let reason =
                "the elements of an array cannot be subarrays: append the subarray's axes to the shape".to_owned();
            return Err(DTypeError::Invalid { descr, reason }.into());
        }
        let fortran_order = if self.order == Order::F { "True" } else { "False" };
        let shape = tuple(&self.shape);
        Ok(format!("{{'descr': {descr}, 'fortran_order': {fortran_order}, 'shape': {shape}, }}"))
    }
}

/// Puts magic, version and length before a text, and padding and a newline
/// behind it.
fn file_start(version: Version, text: Vec<u8>, header_len: usize) -> Result<Vec<u8>> {
    let too_long = || HeaderError::Encode {
        asked: version.to_string(),
        reason: "it is too long",
        works: Version::V2.to_string(),
    };
    let mut bytes = Vec::with_capacity(version.text_offset() + header_len);
    bytes.extend(MAGIC);
    bytes.extend([version.major(), version.minor()]);
    if version == Version::V1 {
        bytes.extend(u16::try_from(header_len).map_err(|_| too_long())?.to_le_bytes());
    } else {
        bytes.extend(u32::try_from(header_len).map_err(|_| too_long())?.to_le_bytes());
    }
    bytes.extend(text);
    bytes.resize(version.text_offset() + header_len - 1, b' ');
    bytes.push(b'\n');
    Ok(bytes)
}

/// The first version that holds a text.
fn choose(text: &str) -> Version {
    if text.chars().any(|c| u32::from(c) > 0xff) {
        Version::V3
    } else if padded(text.chars().count(), Version::V1, ALIGN) <= Version::V1.max_len() {
        Version::V1
    } else {
        Version::V2
    }
}

/// The length of a text of `len` bytes with newline and padding, which is
/// never empty.
fn padded(len: usize, version: Version, align: usize) -> usize {
    let end = version.text_offset() + len + 1;
    len + 1 + align - end % align
}

impl Version {
    /// The bytes of a text in this version's encoding.
    fn bytes(self, text: String) -> Result<Vec<u8>> {
        if self == Version::V3 { Ok(text.into_bytes()) } else { latin1(&text, self) }
    }
}

fn latin1(text: &str, asked: Version) -> Result<Vec<u8>> {
    let refused = |_| {
        HeaderError::Encode {
            asked: asked.to_string(),
            reason: "a field name is not Latin-1",
            works: Version::V3.to_string(),
        }
        .into()
    };
    text.chars().map(|c| u8::try_from(u32::from(c)).map_err(refused)).collect()
}
