//! The header, which describes the array in a file, and how most headers are
//! parsed. `dictionary.rs` parses the others.

use std::io::Read;

use super::MAX_HEADER_LEN;
use super::dictionary::{self, HeaderValues};
use super::preamble::{Preamble, Version};
use super::text::{self, HeaderText};
use crate::dtype::{DType, MAX_NDIM, parse_typestr};
use crate::error::invariant::to_usize_saturating;
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};

/// The header of a `.npy` file.
///
/// # Examples
///
/// ```
/// use npymap::{DType, Header, Order};
///
/// let header = Header::read(std::fs::File::open("data/penguins.npy")?)?;
/// assert_eq!(header.dtype, "<f8".parse::<DType>()?);
/// assert_eq!((header.shape.as_slice(), header.order), (&[342, 4][..], Order::C));
/// assert_eq!(header.data_offset, 128);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The dtype of the elements.
    pub dtype: DType,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// The order of the elements.
    pub order: Order,
    /// The version of the format.
    pub version: Version,
    /// The number of bytes before the first element.
    pub data_offset: usize,
    /// Whether integers have the suffix `L`, as in the shape `(10L,)` that NumPy
    /// writes under Python 2. Under Python 3, NumPy warns when it reads them.
    pub has_long_integers: bool,
}

impl HeaderText<'_> {
    /// Parses the text.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the text is not a
    /// valid header, and [`Unsupported`](crate::ErrorKind::Unsupported) for
    /// Python objects.
    #[inline]
    pub fn header(&self) -> Result<Header> {
        let text = self.as_str();
        let (values, has_longs) = match parse_plain(text.as_bytes()) {
            Some(values) => (values, false),
            None => dictionary::parse(text, self.preamble().version() != Version::V3)
                .map_err(Error::treat_as_damage)?,
        };
        let header = Header::from_values(self.preamble(), values);
        Ok(Header { has_long_integers: has_longs, ..header })
    }
}

impl Header {
    /// Parses the header at the start of a buffer, of at most 10,000
    /// characters.
    ///
    /// For longer headers, use [`HeaderText::parse`].
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if this is not a valid
    /// `.npy` header, [`Unsupported`](crate::ErrorKind::Unsupported) for an
    /// unknown version or Python objects,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if it is longer than
    /// 10,000 characters, and [`Truncated`](crate::ErrorKind::Truncated) if it
    /// is incomplete.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        HeaderText::parse(bytes, MAX_HEADER_LEN)?.header()
    }

    /// Reads a header of at most 10,000 characters, leaving the reader at the
    /// first element.
    ///
    /// For longer headers, use [`HeaderText::read`].
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if this is not a valid
    /// `.npy` header, [`Unsupported`](crate::ErrorKind::Unsupported) for an
    /// unknown version or Python objects,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if it is longer than
    /// 10,000 characters, and [`Truncated`](crate::ErrorKind::Truncated) if it
    /// is incomplete. Returns [`Io`](crate::ErrorKind::Io) if the reader fails.
    pub fn read(from: impl Read) -> Result<Header> {
        HeaderText::read(from, MAX_HEADER_LEN)?.header()
    }

    /// Returns the layout of the elements in the file.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if there are
    /// more than 64 axes, or if the number of elements or the offset of their
    /// end exceeds `isize::MAX`.
    #[inline]
    pub fn layout(&self) -> Result<Layout> {
        Layout::new(self.dtype.clone(), &self.shape, self.order, self.data_offset)
    }

    /// Parses the header at the start of a buffer, after its preamble, of at
    /// most `max_len` characters.
    #[inline]
    pub(crate) fn parse_after(preamble: Preamble, bytes: &[u8], max_len: usize) -> Result<Header> {
        let text = text::text_bytes(preamble, bytes, max_len)?;
        match parse_plain(text) {
            Some(values) if text.len() <= max_len => Ok(Header::from_values(preamble, values)),
            _ => HeaderText::decode(preamble, text, max_len)?.header(),
        }
    }

    #[inline]
    fn from_values(preamble: Preamble, (dtype, order, shape): HeaderValues) -> Header {
        let data_offset = to_usize_saturating(preamble.data_offset());
        let (version, has_long_integers) = (preamble.version(), false);
        Header { dtype, shape, order, version, data_offset, has_long_integers }
    }
}

/// The longest padding that NumPy writes for a scalar dtype.
const PADDING: &[u8] = b"                                                                                                                                ";

/// Parses `{'descr': '…', 'fortran_order': …, 'shape': (…), }` and padding, as
/// NumPy writes for scalar dtypes. Returns `None` for any other header.
///
/// Most files have such a header. Matching it literally takes a third of the
/// instructions of the general parser and, after the kernel calls of opening a
/// file have cooled the branch predictors, a quarter of the time. See
/// `benches/`. All other headers go to the general parser, and a test checks
/// that both agree.
#[inline]
fn parse_plain(text: &[u8]) -> Option<HeaderValues> {
    let rest = text.strip_prefix(b"{'descr': '")?;
    let (typestr, rest) = rest.split_at_checked(rest.iter().position(|&b| b == b'\'')?)?;
    let rest = rest.strip_prefix(b"', 'fortran_order': ")?;
    let (order, rest) = match rest.strip_prefix(b"False, 'shape': (") {
        Some(rest) => (Order::C, rest),
        None => (Order::F, rest.strip_prefix(b"True, 'shape': (")?),
    };
    let (shape, rest) = parse_shape(rest)?;
    let padding = rest.strip_prefix(b"), }")?.strip_suffix(b"\n")?;
    if PADDING.get(..padding.len())? != padding || typestr.contains(&b'\\') {
        return None;
    }
    // Other characters depend on the version.
    let typestr = std::str::from_utf8(typestr).ok().filter(|typestr| typestr.is_ascii())?;
    Some((parse_typestr(typestr).ok()?.into(), order, shape))
}

/// Parses `3, 4`, `3,` or nothing.
#[inline]
fn parse_shape(text: &[u8]) -> Option<(Vec<usize>, &[u8])> {
    let mut shape = Vec::with_capacity(4);
    let mut rest = text;
    while !at_end(rest) {
        let (dim, after) = parse_dim(rest)?;
        if shape.len() == MAX_NDIM {
            return None;
        }
        shape.push(dim);
        rest = match after.strip_prefix(b", ") {
            Some(next) => Some(next).filter(|next| next.first().is_some_and(u8::is_ascii_digit)),
            None if shape.len() == 1 => after.strip_prefix(b",").filter(|rest| at_end(rest)),
            None => Some(after).filter(|after| at_end(after)),
        }?;
    }
    Some((shape, rest))
}

/// Parses the length of an axis, without leading zeros.
#[inline]
fn parse_dim(text: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_isize;
    let mut rest = text;
    while let Some((digit @ b'0'..=b'9', after)) = rest.split_first() {
        value = value.checked_mul(10)?.checked_add(isize::from(digit - b'0'))?;
        rest = after;
    }
    let digits = text.len() - rest.len();
    let is_canonical = digits == 1 || (digits > 1 && text.first() != Some(&b'0'));
    if is_canonical { Some((value.unsigned_abs(), rest)) } else { None }
}

/// Whether the closing parenthesis is next.
#[inline]
fn at_end(text: &[u8]) -> bool {
    text.first() == Some(&b')')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parsers_agree() {
        for dtype in ["<f8", "|b1", ">U7", "<M8[25s]", "|V0"] {
            for (order, shape) in
                [("False", "()"), ("True", "(3,)"), ("False", "(3, 4)"), ("True", "(0, 1, 12)")]
            {
                let text = format!(
                    "{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}   \n"
                );
                let ((dtype, order, shape), _) = dictionary::parse(&text, true).unwrap();
                assert_eq!(parse_plain(text.as_bytes()), Some((dtype, order, shape)), "{text}");
            }
        }
    }

    #[test]
    fn other_headers_are_left_to_the_general_parser() {
        for text in [
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,4), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, ), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4,), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (03, 4), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (,), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3L,), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } x\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808,), }\n",
            "{'descr': '|O', 'fortran_order': False, 'shape': (3, 4), }\n",
            "{'descr': '<f\\x38', 'fortran_order': False, 'shape': (3, 4), }\n",
            "{'descr': '<M8[μs]', 'fortran_order': False, 'shape': (3, 4), }\n",
        ] {
            assert_eq!(parse_plain(text.as_bytes()), None, "{text}");
        }
    }
}
