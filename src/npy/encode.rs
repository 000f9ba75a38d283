//! Writes headers, byte for byte as NumPy 2.4 does.

use std::io::Write;

use super::header::Header;
use super::preamble::{MAGIC, Version};
use crate::dtype::{DType, Kind, descr_text};
use crate::error::{ErrorKind, Result};
use crate::layout::Order;
use crate::literal::tuple;

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
    /// [`ErrorKind::DType`] when fields overlap or are out of order, or the
    /// dtype is a subarray; those of
    /// [`Layout::new`](crate::Layout::new).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, Header, Order, Version};
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
    /// [`ErrorKind::DType`] when no descr says the dtype;
    /// [`ErrorKind::Encode`] when the given version can't hold the header.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, Header, Order, Version};
    ///
    /// let header = Header::new(DType::of::<f32>(), &[3, 4], Order::C)?;
    /// let encoded = header.encode(Some(Version::V2))?;
    /// assert_eq!((encoded.version, encoded.bytes.len()), (Version::V2, 128));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn encode(&self, version: Option<Version>) -> Result<Encoded> {
        let text = self.text()?;
        let version = version.unwrap_or_else(|| choose(&text));
        let too_long =
            || ErrorKind::Encode { asked: version, reason: "it is too long", works: Version::V2 };
        let text = if version == Version::V3 { text.into_bytes() } else { latin1(&text, version)? };
        let header_len = padded(text.len(), version);
        if header_len > version.max_len() {
            return Err(too_long().into());
        }
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
        Ok(Encoded { version, bytes })
    }

    /// Writes what [`encode`](Header::encode) gives and returns the version.
    ///
    /// # Errors
    ///
    /// Those of [`encode`](Header::encode), before anything is written;
    /// [`ErrorKind::Io`] when the writer fails.
    pub fn write(&self, mut to: impl Write, version: Option<Version>) -> Result<Version> {
        let encoded = self.encode(version)?;
        to.write_all(&encoded.bytes).map_err(ErrorKind::io("write the header"))?;
        Ok(encoded.version)
    }

    /// The dictionary and the room for the growing axis.
    fn text(&self) -> Result<String> {
        let descr = descr_text(&self.dtype)?;
        if self.dtype.kind() == Kind::Subarray {
            let reason =
                "an array's elements are no subarrays: add its axes to the shape".to_owned();
            return Err(ErrorKind::DType { descr, reason }.into());
        }
        let (fortran_order, growing) = match self.order {
            Order::C => ("False", self.shape.first()),
            Order::F => ("True", self.shape.last()),
        };
        let shape = tuple(&self.shape);
        let mut text =
            format!("{{'descr': {descr}, 'fortran_order': {fortran_order}, 'shape': {shape}, }}");
        if let Some(dim) = growing {
            text.extend(std::iter::repeat_n(' ', GROWTH.saturating_sub(dim.to_string().len())));
        }
        Ok(text)
    }
}

/// The first version that holds a text.
fn choose(text: &str) -> Version {
    if text.chars().any(|c| u32::from(c) > 0xff) {
        Version::V3
    } else if padded(text.chars().count(), Version::V1) <= Version::V1.max_len() {
        Version::V1
    } else {
        Version::V2
    }
}

/// The length of a text of `len` bytes with newline and padding, which is
/// never empty.
fn padded(len: usize, version: Version) -> usize {
    let end = version.text_offset() + len + 1;
    len + 1 + ALIGN - end % ALIGN
}

fn latin1(text: &str, asked: Version) -> Result<Vec<u8>> {
    let refused = |_| {
        ErrorKind::Encode { asked, reason: "a field name is not latin-1", works: Version::V3 }
            .into()
    };
    text.chars().map(|c| u8::try_from(u32::from(c)).map_err(refused)).collect()
}
