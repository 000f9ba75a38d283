//! The header, which describes the array in a file.

use std::io::Read;

use super::MAX_HEADER_LEN;
use super::plain::{self, HeaderValues};
use super::preamble::{Preamble, Version};
use super::text::{self, HeaderText};
use crate::dtype::literal::Reader;
use crate::dtype::{DType, Kind, MAX_NDIM, parse_descr};
use crate::error::invariant::to_usize_saturating;
use crate::error::{Error, HeaderError, Result, ShapeError, excerpt};
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
    /// [`Damaged`](crate::ErrorKind::Damaged),
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for Python objects.
    pub fn header(&self) -> Result<Header> {
        let text = self.as_str();
        let (values, has_longs) = match plain::parse(text.as_bytes()) {
            Some(values) => (values, false),
            None => parse_dictionary(text, self.preamble().version() != Version::V3)
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
    /// Those of [`HeaderText::parse`] and [`HeaderText::header`].
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
    /// Those of [`HeaderText::read`] and [`HeaderText::header`].
    pub fn read(from: impl Read) -> Result<Header> {
        HeaderText::read(from, MAX_HEADER_LEN)?.header()
    }

    /// The layout of the elements in the file.
    ///
    /// # Errors
    ///
    /// Those of [`Layout::new`].
    pub fn layout(&self) -> Result<Layout> {
        Layout::new(self.dtype.clone(), &self.shape, self.order, self.data_offset)
    }

    /// Parses the header at the start of a buffer whose preamble was parsed
    /// already, of at most `max_len` characters.
    pub(crate) fn parse_after(preamble: Preamble, bytes: &[u8], max_len: usize) -> Result<Header> {
        let text = text::text_bytes(preamble, bytes, max_len)?;
        match plain::parse(text).filter(|_| text.len() <= max_len) {
            Some(values) => Ok(Header::from_values(preamble, values)),
            None => HeaderText::decode(preamble, text, max_len)?.header(),
        }
    }

    fn from_values(preamble: Preamble, (dtype, order, shape): HeaderValues) -> Header {
        let data_offset = to_usize_saturating(preamble.data_offset());
        let (version, has_long_integers) = (preamble.version(), false);
        Header { dtype, shape, order, version, data_offset, has_long_integers }
    }
}

/// Parses the header's dictionary, and returns whether integers have the suffix
/// `L`. If a key occurs twice, only the last value counts, and the first may be of
/// the wrong kind.
pub(super) fn parse_dictionary(text: &str, longs: bool) -> Result<(HeaderValues, bool)> {
    let mut reader = Reader::new(text, longs);
    let Some(mut items) = reader.open(b'{')? else {
        return Err(reader.error("the header's dictionary, `{`"));
    };
    let (mut dtype, mut order, mut shape) = (None, None, None);
    let mut others = Vec::new();
    while reader.next_item(&mut items)? {
        let key = reader.string()?;
        reader.expect(b':', "`:`")?;
        match &*key {
            "descr" => dtype = Some(read_value("descr", &mut reader, read_descr)?),
            "fortran_order" => order = Some(read_value("fortran_order", &mut reader, read_order)?),
            "shape" => shape = Some(read_value("shape", &mut reader, read_shape)?),
            _ => {
                reader.skip_value()?;
                others.push(format!("'{}'", excerpt(&key)));
            }
        }
    }
    reader.end()?;
    match (dtype, order, shape) {
        (Some(dtype), Some(order), Some(shape)) if others.is_empty() => {
            let values = (dtype.into_result()?, order.into_result()?, shape.into_result()?);
            Ok((values, reader.has_longs()))
        }
        (dtype, order, shape) => {
            let known = [
                (dtype.is_some(), "descr"),
                (order.is_some(), "fortran_order"),
                (shape.is_some(), "shape"),
            ];
            let known = known
                .into_iter()
                .filter(|(is_present, _)| *is_present)
                .map(|(_, key)| format!("'{key}'"));
            let keys: Vec<_> = known.chain(others).collect();
            let found = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
            Err(HeaderError::Keys { found }.into())
        }
    }
}

/// The reason why a value is invalid.
enum InvalidValue {
    /// The value is not of the expected kind, which this describes.
    WrongKind(&'static str),
    /// A part of the value is invalid.
    Inside(Error),
}

impl From<Error> for InvalidValue {
    fn from(error: Error) -> InvalidValue {
        InvalidValue::Inside(error)
    }
}

/// The value of a key. An invalid one is an error only if it is the last value
/// of its key.
enum KeyValue<T> {
    Valid(T),
    Invalid(Error),
}

impl<T> KeyValue<T> {
    fn into_result(self) -> Result<T> {
        match self {
            KeyValue::Valid(value) => Ok(value),
            KeyValue::Invalid(error) => Err(error),
        }
    }
}

/// Reads one value. Fails only if it is not a literal at all.
fn read_value<T>(
    key: &'static str,
    reader: &mut Reader<'_>,
    read: impl Fn(&mut Reader<'_>) -> Result<T, InvalidValue>,
) -> Result<KeyValue<T>> {
    let mut start = *reader;
    let invalid = match read(reader) {
        Ok(value) => return Ok(KeyValue::Valid(value)),
        Err(invalid) => invalid,
    };
    let text = start.skip_value()?;
    *reader = start;
    Ok(KeyValue::Invalid(match invalid {
        InvalidValue::WrongKind(expected) => {
            HeaderError::Value { key, found: excerpt(text), expected }.into()
        }
        InvalidValue::Inside(error) => error,
    }))
}

fn read_descr(reader: &mut Reader<'_>) -> Result<DType, InvalidValue> {
    if !matches!(reader.peek(), Some(b'\'' | b'"' | b'u' | b'U' | b'[' | b'(' | b'{')) {
        return Err(InvalidValue::WrongKind("a type string such as '<f8', or a list of fields"));
    }
    let dtype = parse_descr(reader)?;
    if dtype.kind() == Kind::Subarray {
        return Err(InvalidValue::WrongKind(
            "a type without a shape of its own: put its axes into `shape`",
        ));
    }
    Ok(dtype)
}

fn read_order(reader: &mut Reader<'_>) -> Result<Order, InvalidValue> {
    match reader.name() {
        "True" => Ok(Order::F),
        "False" => Ok(Order::C),
        _ => Err(InvalidValue::WrongKind("True or False")),
    }
}

fn read_shape(reader: &mut Reader<'_>) -> Result<Vec<usize>, InvalidValue> {
    const TUPLE: InvalidValue =
        InvalidValue::WrongKind("a tuple of integers such as (3, 4) or (3,)");
    let Some(mut items) = reader.open(b'(')? else { return Err(TUPLE) };
    let mut shape = Vec::new();
    while reader.next_item(&mut items)? {
        if !matches!(reader.peek(), Some(b'0'..=b'9' | b'-' | b'+')) {
            return Err(TUPLE);
        }
        let dim = reader.integer()?;
        match isize::try_from(dim).map(usize::try_from) {
            Ok(Ok(dim)) => shape.push(dim),
            Err(_) if dim > 0 => {
                return Err(InvalidValue::WrongKind("axis lengths that this machine can address"));
            }
            _ => return Err(InvalidValue::WrongKind("axis lengths of at least 0")),
        }
    }
    if shape.len() > MAX_NDIM {
        return Err(Error::from(ShapeError::Axes { found: shape.len() }).into());
    }
    if items.is_tuple() { Ok(shape) } else { Err(TUPLE) }
}
