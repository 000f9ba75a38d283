//! The parser of all headers: any Python dictionary with the three keys, with the
//! limits that NumPy sets.

use crate::dtype::literal::Reader;
use crate::dtype::{DType, Kind, parse_descr};
use crate::error::{HeaderError, Result, excerpt};
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
            "fortran_order" => {
                let read = |reader: &mut Reader<'_>| Ok(read_order(reader));
                order = Some(read_value("fortran_order", &mut reader, read)?);
            }
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
                dtype.map(|_| "'descr'"),
                order.map(|_| "'fortran_order'"),
                shape.map(|_| "'shape'"),
            ];
            let known = known.into_iter().flatten().map(str::to_owned);
            let keys: Vec<_> = known.chain(others).collect();
            let found = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
            Err(HeaderError::Keys { found }.into())
        }
    }
}

/// A value, or the kind of value that is expected instead.
type OfKind<T> = Result<T, &'static str>;

/// Reads one value. Fails only if it is not a literal at all: an invalid value fails only if
/// it is the last value of its key.
fn read_value<T>(
    key: &'static str,
    reader: &mut Reader<'_>,
    read: impl Fn(&mut Reader<'_>) -> Result<OfKind<T>>,
) -> Result<Result<T>> {
    let mut start = *reader;
    let found = read(reader);
    if let Ok(Ok(value)) = found {
        return Ok(Ok(value));
    }
    let text = start.skip_value()?;
    *reader = start;
    Ok(found.and_then(|value| {
        value.map_err(|expected| HeaderError::Value { key, found: excerpt(text), expected }.into())
    }))
}

#[inline]
fn read_descr(reader: &mut Reader<'_>) -> Result<OfKind<DType>> {
    if !matches!(reader.peek(), Some(b'\'' | b'"' | b'u' | b'U' | b'[' | b'(' | b'{')) {
        return Ok(Err("a type string such as '<f8', or a list of fields"));
    }
    let dtype = parse_descr(reader)?;
    if dtype.kind() == Kind::Subarray {
        return Ok(Err("a type without a shape of its own: put its axes into `shape`"));
    }
    Ok(Ok(dtype))
}

#[inline]
fn read_order(reader: &mut Reader<'_>) -> OfKind<Order> {
    match reader.name() {
        "True" => Ok(Order::F),
        "False" => Ok(Order::C),
        _ => Err("True or False"),
    }
}

#[inline]
fn read_shape(reader: &mut Reader<'_>) -> Result<OfKind<Vec<usize>>> {
    const TUPLE: &str = "a tuple of integers such as (3, 4) or (3,)";
    let Some(mut items) = reader.open(b'(')? else { return Ok(Err(TUPLE)) };
    let mut shape = Vec::new();
    while reader.next_item(&mut items)? {
        if !matches!(reader.peek(), Some(b'0'..=b'9' | b'-' | b'+')) {
            return Ok(Err(TUPLE));
        }
        let dim = reader.integer()?;
        match isize::try_from(dim).map(usize::try_from) {
            Ok(Ok(dim)) => shape.push(dim),
            Err(_) if dim > 0 => return Ok(Err("axis lengths that this machine can address")),
            _ => return Ok(Err("axis lengths of at least 0")),
        }
    }
    check_ndim(shape.len())?;
    Ok(if items.is_tuple() { Ok(shape) } else { Err(TUPLE) })
}
