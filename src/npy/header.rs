//! The header: what the array in a file is.

use std::io::Read;

use super::MAX_HEADER_LEN;
use super::preamble::{Preamble, Version};
use super::text::HeaderText;
use crate::dtype::{DType, Kind, parse_descr};
use crate::error::{ErrorKind, Result, excerpt};
use crate::layout::{Layout, MAX_NDIM, Order};
use crate::literal::Reader;

/// What the header of a `.npy` file says.
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
    /// What each element is.
    pub dtype: DType,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// Which axis varies fastest.
    pub order: Order,
    /// The version of the format.
    pub version: Version,
    /// Bytes before the first element.
    pub data_offset: usize,
}

impl Header {
    /// Reads the header a buffer starts with, of at most 10,000 characters.
    ///
    /// For longer ones see [`HeaderText::parse`].
    ///
    /// # Errors
    ///
    /// Those of [`HeaderText::parse`] and [`HeaderText::header`].
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        HeaderText::parse(bytes, MAX_HEADER_LEN)?.header()
    }

    /// Reads a header of at most 10,000 characters; the reader is left at the
    /// first element.
    ///
    /// For longer ones see [`HeaderText::read`].
    ///
    /// # Errors
    ///
    /// Those of [`HeaderText::read`] and [`HeaderText::header`].
    pub fn read(from: impl Read) -> Result<Header> {
        HeaderText::read(from, MAX_HEADER_LEN)?.header()
    }

    /// Where the elements lie in the file.
    ///
    /// # Errors
    ///
    /// Those of [`Layout::new`].
    pub fn layout(&self) -> Result<Layout> {
        Layout::new(self.dtype.clone(), &self.shape, self.order, self.data_offset)
    }

    pub(super) fn from_text(preamble: Preamble, text: &str) -> Result<Header> {
        let version = preamble.version();
        let values = Values::read(text, version != Version::V3)?;
        let reader = |value| Reader::new(value, version != Version::V3);
        let dtype = descr(values.descr, reader(values.descr))?;
        let shape = shape(values.shape, reader(values.shape))?;
        let order = order(values.order)?;
        let data_offset = usize::try_from(preamble.data_offset()).unwrap_or(usize::MAX);
        Ok(Header { dtype, shape, order, version, data_offset })
    }
}

/// The texts of the three values; of a key that stands twice, the last.
struct Values<'a> {
    descr: &'a str,
    order: &'a str,
    shape: &'a str,
}

impl<'a> Values<'a> {
    fn read(text: &'a str, longs: bool) -> Result<Values<'a>> {
        let mut reader = Reader::new(text, longs);
        let Some(mut items) = reader.open(b'{') else {
            return Err(reader.error("the header's dictionary, `{`"));
        };
        let (mut descr, mut order, mut shape) = (None, None, None);
        let mut keys = Vec::new();
        while reader.next_item(&mut items)? {
            let key = reader.string()?;
            reader.expect(b':', "`:`")?;
            let value = Some(reader.skip_value()?);
            match &*key {
                "descr" => descr = value,
                "fortran_order" => order = value,
                "shape" => shape = value,
                _ => keys.push(excerpt(&key)),
            }
        }
        reader.end()?;
        match (descr, order, shape) {
            (Some(descr), Some(order), Some(shape)) if keys.is_empty() => {
                Ok(Values { descr, order, shape })
            }
            _ => {
                let known = [(descr, "descr"), (order, "fortran_order"), (shape, "shape")];
                keys.splice(
                    ..0,
                    known
                        .iter()
                        .filter(|(value, _)| value.is_some())
                        .map(|(_, key)| (*key).to_owned()),
                );
                let quoted: Vec<_> = keys.iter().map(|key| format!("'{key}'")).collect();
                let found = if quoted.is_empty() { "none".to_owned() } else { quoted.join(", ") };
                Err(ErrorKind::Keys { found }.into())
            }
        }
    }
}

fn descr(text: &str, mut reader: Reader<'_>) -> Result<DType> {
    let refused = |expected| ErrorKind::Header { key: "descr", found: excerpt(text), expected };
    if !text.starts_with(['\'', '"', 'u', 'U', '[', '(', '{']) {
        return Err(refused("a type string such as '<f8', or a list of fields").into());
    }
    let dtype = parse_descr(&mut reader)?;
    if dtype.kind() == Kind::Subarray {
        return Err(
            refused("a type without a shape of its own: its axes belong into `shape`").into()
        );
    }
    Ok(dtype)
}

fn order(text: &str) -> Result<Order> {
    match text {
        "True" => Ok(Order::F),
        "False" => Ok(Order::C),
        _ => Err(ErrorKind::Header {
            key: "fortran_order",
            found: excerpt(text),
            expected: "True or False",
        }
        .into()),
    }
}

fn shape(text: &str, mut reader: Reader<'_>) -> Result<Vec<usize>> {
    let refused =
        |expected| ErrorKind::Header { key: "shape", found: excerpt(text), expected }.into();
    let tuple = "a tuple of integers such as (3, 4) or (3,)";
    let Some(mut items) = reader.open(b'(') else { return Err(refused(tuple)) };
    let mut shape = Vec::new();
    while reader.next_item(&mut items)? {
        if !matches!(reader.peek(), Some(b'0'..=b'9' | b'-' | b'+')) {
            return Err(refused(tuple));
        }
        let dim = reader.integer()?;
        match usize::try_from(dim) {
            Ok(dim) => shape.push(dim),
            Err(_) if dim < 0 => return Err(refused("axes of no negative length")),
            Err(_) => return Err(refused("axes that this machine can address")),
        }
        if items.count() > MAX_NDIM {
            let found = text.matches(',').count() + 1;
            return Err(ErrorKind::Axes { found }.into());
        }
    }
    if items.is_tuple() { Ok(shape) } else { Err(refused(tuple)) }
}
