//! Writes headers that equal NumPy 2.4's byte for byte.

use super::header::Header;
use super::preamble::{MAGIC, Version};
use crate::dtype::literal::tuple;
use crate::dtype::{DType, Kind, descr_text};
use crate::error::{DTypeError, HeaderError, Result};
use crate::layout::Order;

/// The alignment of the elements in the file, so that they can be mapped.
const ALIGN: usize = 64;

/// The number of digits that NumPy reserves for the length of the growing axis.
const GROWTH: usize = 21;

/// The bytes of a header and its format version.
///
/// # Examples
///
/// ```
/// use npymap::{DType, Header, Order, npy::Version};
///
/// let encoded = Header::new(DType::of::<f32>(), &[3, 4], Order::C)?.encode(None)?;
/// assert_eq!((encoded.version, encoded.bytes.len()), (Version::V1, 128));
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Encoded {
    /// The version of the format.
    pub version: Version,
    /// All bytes before the first element.
    pub bytes: Vec<u8>,
}

impl Header {
    /// Returns the header that NumPy would write for an array, in the lowest
    /// version that can hold it.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if fields
    /// overlap or are out of order, if the dtype is a subarray, or if the array
    /// has more than 64 axes or is larger than the address space.
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
    #[inline]
    pub fn new(dtype: DType, shape: &[usize], order: Order) -> Result<Header> {
        let shape = shape.to_vec();
        let (version, data_offset, has_long_integers) = (Version::V1, 0, false);
        let mut header = Header { dtype, shape, order, version, data_offset, has_long_integers };
        let encoded = header.encode(None)?;
        header.version = encoded.version;
        header.data_offset = encoded.bytes.len();
        header.layout()?;
        Ok(header)
    }

    /// Encodes all bytes before the first element as NumPy does: padded to a
    /// multiple of 64 bytes, with room for the growing axis to get longer.
    ///
    /// Without a `version`, the lowest that can hold the header is chosen: 1.0,
    /// or 2.0 for a long header, or 3.0 if a name is not Latin-1. An explicit
    /// version is never replaced by another.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a descr
    /// cannot express the dtype, or the version cannot hold the header.
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
    #[inline]
    pub fn encode(&self, version: Option<Version>) -> Result<Encoded> {
        self.encode_aligned(version, ALIGN)
    }

    /// Like [`encode`](Header::encode), but padded to a multiple of `align`
    /// bytes.
    #[inline]
    pub(crate) fn encode_aligned(&self, version: Option<Version>, align: usize) -> Result<Encoded> {
        let text = self.text()? + &" ".repeat(self.growth());
        let version = version.unwrap_or_else(|| lowest_version(&text));
        let text = version.encode_text(text)?;
        let header_len = padded_len(text.len(), version, align);
        let bytes = file_start(version, text, header_len)?;
        Ok(Encoded { version, bytes })
    }

    /// Encodes all bytes before the first element, with the version and length of
    /// the header in its file, so that they can overwrite it. Returns `None` if they
    /// do not fit.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a descr
    /// cannot express the dtype, or the version cannot hold the header.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, Header};
    ///
    /// let file = std::fs::read("data/penguins.npy")?;
    /// let mut header = Header::parse(&file)?;
    /// (header.dtype, header.shape) = (DType::of::<i64>(), vec![684, 2]);
    /// let bytes = header.encode_in_place()?.expect("other numbers need no more room");
    /// assert_eq!((bytes.len(), Header::parse(&bytes)?), (128, header));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn encode_in_place(&self) -> Result<Option<Vec<u8>>> {
        let text = self.version.encode_text(self.text()?)?;
        match self.data_offset.checked_sub(self.version.text_offset()) {
            Some(header_len) if text.len() < header_len => {
                file_start(self.version, text, header_len).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The axis for appending rows without moving existing rows: the first in C
    /// order, the last in Fortran order, and `None` without axes.
    #[inline]
    pub(crate) fn growing_axis(&self) -> Option<usize> {
        let last = self.shape.len().checked_sub(1)?;
        Some(if self.order == Order::C { 0 } else { last })
    }

    /// The number of bytes that NumPy reserves for more digits of the growing
    /// axis.
    #[inline]
    fn growth(&self) -> usize {
        let dim = self.growing_axis().and_then(|axis| self.shape.get(axis));
        dim.map_or(0, |dim| GROWTH - dim.to_string().len())
    }

    /// The header's dictionary.
    #[inline]
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

/// Adds magic, version and length before a text, and padding and a newline
/// after it.
#[inline]
fn file_start(version: Version, text: Vec<u8>, header_len: usize) -> Result<Vec<u8>> {
    let too_long = || unencodable(version, "it is too long", Version::V2);
    let mut bytes = MAGIC.to_vec();
    bytes.extend([version.major(), 0]);
    if version == Version::V1 {
        bytes.extend(u16::try_from(header_len).map_err(|_| too_long())?.to_le_bytes());
    } else {
        bytes.extend(u32::try_from(header_len).map_err(|_| too_long())?.to_le_bytes());
    }
    bytes.try_reserve_exact(header_len).map_err(|_| too_long())?;
    bytes.extend(text);
    bytes.resize(version.text_offset() + header_len - 1, b' ');
    bytes.push(b'\n');
    Ok(bytes)
}

#[inline]
fn unencodable(asked: Version, reason: &'static str, works: Version) -> HeaderError {
    HeaderError::Encode { asked: asked.to_string(), reason, works: works.to_string() }
}

/// The lowest version that can hold a text.
#[inline]
fn lowest_version(text: &str) -> Version {
    if text.chars().any(|c| u32::from(c) > 0xff) {
        Version::V3
    } else if u16::try_from(padded_len(text.chars().count(), Version::V1, ALIGN)).is_ok() {
        Version::V1
    } else {
        Version::V2
    }
}

/// The length of a text with newline and padding, if it has `len` bytes. There
/// is always padding.
#[inline]
fn padded_len(len: usize, version: Version, align: usize) -> usize {
    let end = version.text_offset() + len + 1;
    len + 1 + align - end % align
}

impl Version {
    /// Encodes a text as this version does.
    #[inline]
    fn encode_text(self, text: String) -> Result<Vec<u8>> {
        if self == Version::V3 {
            return Ok(text.into_bytes());
        }
        let latin1: Option<_> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
        let reason = "a field name is not Latin-1";
        latin1.ok_or_else(|| unencodable(self, reason, Version::V3).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_too_long_for_its_version_is_refused() {
        let mut header = Header::new(DType::of::<f32>(), &[3], Order::C).unwrap();
        for version in [Version::V1, Version::V2, Version::V3] {
            (header.version, header.data_offset) = (version, usize::MAX);
            let error = header.encode_in_place().unwrap_err().to_string();
            assert!(error.contains("too long"), "{error}");
        }
    }
}
