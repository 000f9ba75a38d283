//! Text of fixed length, borrowed in place.
#![expect(clippy::multiple_bound_locations, reason = "bytemuck's derive adds one")]

use std::fmt;
use std::str::FromStr;

use bytemuck::{Pod, Zeroable};

use super::fast_path::{FastPath, plain_element};
use super::{Be, Element, InPlace, Le, Typed, trim_nuls, type_mismatch};
use crate::dtype::{ByteOrder, DType, Kind, MAX_ITEMSIZE};
use crate::error::{DTypeError, Error, Result, excerpt};

/// An element of dtype `|SN`: bytes without their trailing NULs.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, element::Bytes};
///
/// let mut codes = MappedArray::zeros(&"|S4".parse()?, &[2])?;
/// codes.as_slice_mut::<Bytes<4>>()?[1] = "EGLL".parse()?;
/// let codes = codes.as_slice::<Bytes<4>>()?;
/// assert_eq!((codes[0].as_str()?, codes[1].as_str()?), ("", "EGLL"));
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub struct Bytes<const N: usize>([u8; N]);

impl<const N: usize> Bytes<N> {
    /// Stores `bytes`, padded with NULs.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if there are
    /// more than `N`, or the last is NUL.
    pub fn new(bytes: &[u8]) -> Result<Bytes<N>> {
        let mut stored = [0; N];
        store_bytes(bytes, &mut stored)?;
        Ok(Bytes(stored))
    }

    /// Returns the bytes without trailing NULs, as NumPy reads them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        trim_nuls(&self.0)
    }

    /// Returns the bytes as text.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if they are not UTF-8.
    pub fn as_str(&self) -> Result<&str> {
        as_utf8(self.as_bytes())
    }
}

/// Bytes as text. The error shows the bytes.
#[inline]
fn as_utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| {
        let value = format!("b\"{}\"", excerpt(&bytes.escape_ascii().to_string()));
        DTypeError::Stored { value, expected: "UTF-8".to_owned() }.into()
    })
}

/// Stores bytes as an element of dtype `S`, padded with NULs.
#[inline]
pub(super) fn store_bytes(bytes: &[u8], to: &mut [u8]) -> Result<()> {
    check_bytes(bytes, to.len())?;
    to.fill(0);
    to.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    Ok(())
}

/// Returns an error for bytes that an element of dtype `S` with room for `room` would not
/// give back.
#[inline]
pub(super) fn check_bytes(bytes: &[u8], room: usize) -> Result<()> {
    if bytes.len() > room || bytes.ends_with(b"\0") {
        return Err(unfit(&String::from_utf8_lossy(bytes), bytes.len(), room, "bytes"));
    }
    Ok(())
}

/// Like `check_bytes`, for dtype `U` and characters.
#[inline]
pub(super) fn check_text(text: &str, room: usize) -> Result<()> {
    let length = text.chars().count();
    if length > room || text.ends_with('\0') {
        return Err(unfit(text, length, room, "characters"));
    }
    Ok(())
}

/// The error for text that has `length` bytes or characters (`unit`), where at most `room`
/// fit, or that ends in NUL.
#[inline]
fn unfit(text: &str, length: usize, room: usize, unit: &str) -> Error {
    let text = excerpt(text);
    let (value, expected) = if length > room {
        (format!("'{text}' has {length} {unit}"), format!("at most {room} {unit}"))
    } else {
        let expected = "text that does not: NULs at the end are padding, which readers remove";
        (format!("'{text}' ends in NUL"), expected.to_owned())
    };
    DTypeError::Value { value, expected }.into()
}

impl<const N: usize> FromStr for Bytes<N> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Bytes<N>> {
        Bytes::new(text.as_bytes())
    }
}

impl<const N: usize> Default for Bytes<N> {
    fn default() -> Bytes<N> {
        Bytes([0; N])
    }
}

impl<const N: usize> PartialEq for Bytes<N> {
    fn eq(&self, other: &Bytes<N>) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl<const N: usize> Eq for Bytes<N> {}

impl<const N: usize> fmt::Debug for Bytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.as_bytes().escape_ascii())
    }
}

/// Invalid UTF-8 is shown as U+FFFD.
impl<const N: usize> fmt::Display for Bytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

impl<const N: usize> Typed for Bytes<N> {
    fn dtype() -> DType {
        const { assert!(N <= MAX_ITEMSIZE, "elements have at most 2147483647 bytes") };
        DType::new_scalar(Kind::Bytes, ByteOrder::NotApplicable, N)
    }
}

plain_element!([const N: usize] Bytes<N>, dtype => {
    dtype.kind() == Kind::Bytes && dtype.itemsize() == N
}, format!("Bytes<{N}>"));

/// A stored code point: [`Le<u32>`] or [`Be<u32>`]. Sealed.
pub trait CodePoint: InPlace + sealed::SealedCodePoint {
    /// The byte order.
    #[doc(hidden)]
    const ORDER: ByteOrder;

    #[doc(hidden)]
    fn from_point(point: u32) -> Self;

    #[doc(hidden)]
    fn to_point(self) -> u32;
}

mod sealed {
    pub trait SealedCodePoint {}
}

macro_rules! code_point {
    ($type:ident, $order:ident) => {
        impl sealed::SealedCodePoint for $type<u32> {}

        impl CodePoint for $type<u32> {
            const ORDER: ByteOrder = ByteOrder::$order;

            fn from_point(point: u32) -> Self {
                $type::new(point)
            }

            fn to_point(self) -> u32 {
                self.get()
            }
        }
    };
}

code_point!(Le, Little);
code_point!(Be, Big);

/// An element of dtype `<UN`: text without its trailing NULs. For `>UN`, use
/// `Text<N, Be<u32>>`.
///
/// Stored numbers may be invalid as code points: [`to_text`](Text::to_text)
/// rejects them, and printing shows U+FFFD.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, element::Text};
///
/// let mut names = MappedArray::zeros(&"<U3".parse()?, &[2])?;
/// names.as_slice_mut::<Text<3>>()?[1] = "añ".parse()?;
/// assert_eq!(names.as_slice::<Text<3>>()?[1].to_text()?, "añ");
/// assert!("four".parse::<Text<3>>().is_err());
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub struct Text<const N: usize, P: CodePoint = Le<u32>>([P; N]);

impl<const N: usize, P: CodePoint> Text<N, P> {
    /// The code points without trailing NULs, as NumPy reads them.
    fn points(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        let length = self.0.iter().rposition(|point| point.to_point() != 0);
        self.0.iter().take(length.map_or(0, |last| last + 1)).map(|point| point.to_point())
    }

    /// Returns the text.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if a number is not a code
    /// point.
    pub fn to_text(&self) -> Result<String> {
        self.points().map(to_char).collect()
    }
}

/// The character of a code point.
#[inline]
fn to_char(point: u32) -> Result<char> {
    char::from_u32(point).ok_or_else(|| {
        let expected = "a Unicode code point".to_owned();
        DTypeError::Stored { value: format!("U+{point:04X}"), expected }.into()
    })
}

/// The character of a code point, or U+FFFD if it is invalid.
#[inline]
pub(super) fn to_char_lossy(point: u32) -> char {
    char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER)
}

impl<const N: usize, P: CodePoint> FromStr for Text<N, P> {
    type Err = Error;

    /// Rejects text of more than `N` characters, and text that ends in NUL.
    fn from_str(text: &str) -> Result<Text<N, P>> {
        check_text(text, N)?;
        let mut stored = Text::default();
        for (to, c) in stored.0.iter_mut().zip(text.chars()) {
            *to = P::from_point(c.into());
        }
        Ok(stored)
    }
}

impl<const N: usize, P: CodePoint> Default for Text<N, P> {
    fn default() -> Text<N, P> {
        Text([P::zeroed(); N])
    }
}

impl<const N: usize, P: CodePoint> PartialEq for Text<N, P> {
    fn eq(&self, other: &Text<N, P>) -> bool {
        self.points().eq(other.points())
    }
}

impl<const N: usize, P: CodePoint> Eq for Text<N, P> {}

impl<const N: usize, P: CodePoint> fmt::Debug for Text<N, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl<const N: usize, P: CodePoint> fmt::Display for Text<N, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.points().map(to_char_lossy).collect::<String>())
    }
}

impl<const N: usize, P: CodePoint> Typed for Text<N, P> {
    fn dtype() -> DType {
        const { assert!(N <= MAX_ITEMSIZE / 4, "elements have at most 2147483647 bytes") };
        DType::new_scalar(Kind::Unicode, P::ORDER, 4 * N)
    }
}

plain_element!([const N: usize, P: CodePoint] Text<N, P>, dtype => {
    *dtype == Self::dtype()
}, super::short_name::<Self>());
