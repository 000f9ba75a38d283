//! The parser of all headers: any Python dictionary with the three keys, with the
//! limits that NumPy sets.

use crate::dtype::literal::Reader;
use crate::dtype::{DType, Kind, parse_descr};
use crate::error::{Error, HeaderError, Result, excerpt};
use crate::layout::{Order, check_ndim};

/// The values of the three keys.
pub(super) type HeaderValues = (DType, Order, Vec<usize>);

/// Parses the header's dictionary, and returns whether integers have the suffix
/// `L`. If a key occurs twice, only the last value counts, and the first may be of
/// the wrong kind.
#[inline]
pub(super) fn parse(text: &str, longs: bool) -> Result<(HeaderValues, bool)> {
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
            Ok(((dtype?, order?, shape?), reader.has_longs()))
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
    #[inline]
    fn from(error: Error) -> InvalidValue {
        InvalidValue::Inside(error)
    }
}

/// Reads one value. Fails only if it is not a literal at all: an invalid value fails only if
/// it is the last value of its key.
fn read_value<T>(
    key: &'static str,
    reader: &mut Reader<'_>,
    read: impl Fn(&mut Reader<'_>) -> Result<T, InvalidValue>,
) -> Result<Result<T>> {
    let mut start = *reader;
    let invalid = match read(reader) {
        Ok(value) => return Ok(Ok(value)),
        Err(invalid) => invalid,
    };
    let text = start.skip_value()?;
    *reader = start;
    Ok(Err(match invalid {
        InvalidValue::WrongKind(expected) => {
            HeaderError::Value { key, found: excerpt(text), expected }.into()
        }
        InvalidValue::Inside(error) => error,
    }))
}

#[inline]
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

#[inline]
fn read_order(reader: &mut Reader<'_>) -> Result<Order, InvalidValue> {
    match reader.name() {
        "True" => Ok(Order::F),
        "False" => Ok(Order::C),
        _ => Err(InvalidValue::WrongKind("True or False")),
    }
}

#[inline]
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
    check_ndim(shape.len())?;
    if items.is_tuple() { Ok(shape) } else { Err(TUPLE) }
}
