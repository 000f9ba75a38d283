//! Type strings (`<f8`, `|S10`, `>M8[25s]`) and NumPy's alternative names for
//! scalar types, as NumPy 2.4 on x86-64 Linux reads them.

use std::fmt;

use super::{ByteOrder, Kind, ScalarType, Unit};
use crate::error::{DTypeError, Error, Result, excerpt};

/// NumPy's largest element in bytes: the maximum of a C `int`.
pub(crate) const MAX_ITEMSIZE: usize = 0x7fff_ffff;

/// Type strings without a byte order, the letters that stand for them, with or without
/// one, and the names that stand for them.
const NAMES: [(&str, &str, &str); 23] = [
    ("b1", "?", "bool bool_"),
    ("i1", "b", "int8 byte"),
    ("u1", "B", "uint8 ubyte"),
    ("i2", "h", "int16 short"),
    ("u2", "H", "uint16 ushort"),
    ("i4", "i", "int32 intc"),
    ("u4", "I", "uint32 uintc"),
    ("i8", "l n p q", "int64 int int_ intp long longlong"),
    ("u8", "L N P Q", "uint64 uint uintp ulong ulonglong"),
    ("f2", "e", "float16 half"),
    ("f4", "f", "float32 single"),
    ("f8", "d", "float64 float double"),
    ("f16", "g", "float128 longdouble"),
    ("c8", "F", "complex64 csingle"),
    ("c16", "D", "complex128 complex cdouble"),
    ("c32", "G", "complex256 clongdouble"),
    ("M8", "", "datetime64"),
    ("m8", "", "timedelta64"),
    ("S1", "c", ""),
    ("S0", "S", "bytes bytes_ a"),
    ("U0", "U", "str str_ unicode"),
    ("V0", "V", "void"),
    ("O8", "O", "object object_"),
];

/// Reads a type string. Without `<` or `>` the byte order is native.
pub(crate) fn parse(text: &str) -> Result<ScalarType> {
    let (order, code) = match text.split_at_checked(1) {
        Some(("<", code)) => (Some(ByteOrder::Little), code),
        Some((">", code)) => (Some(ByteOrder::Big), code),
        Some(("=" | "|", code)) => (Some(ByteOrder::NATIVE), code),
        _ => (None, text),
    };
    let is_sized = code.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    let short = if is_sized { code } else { find(code, order.is_none()).unwrap_or(code) };
    parse_sized(short, order.unwrap_or(ByteOrder::NATIVE)).map_err(|kind| match kind {
        TypestrError::Object => DTypeError::Object { descr: excerpt(text) }.into(),
        TypestrError::Unit(error) => error,
        TypestrError::Unknown => unknown_type(text, code),
    })
}

#[inline]
fn find(code: &str, allow_names: bool) -> Option<&'static str> {
    let is_in = |words: &str| words.split_whitespace().any(|word| word == code);
    let mut rows = NAMES.iter();
    let row = rows.find(|(_, letters, names)| is_in(letters) || (allow_names && is_in(names)));
    row.map(|(short, ..)| *short)
}

enum TypestrError {
    Unknown,
    Object,
    Unit(Error),
}

/// Reads a letter and a size: `f8`, `S10`, `M8[ns]`.
#[inline]
fn parse_sized(short: &str, order: ByteOrder) -> Result<ScalarType, TypestrError> {
    let (letter, digits) = short.as_bytes().split_first().ok_or(TypestrError::Unknown)?;
    if matches!(letter, b'M' | b'm' | b'd' | b't') {
        let (kind, metadata) = split_date(short).ok_or(TypestrError::Unknown)?;
        return Ok(ScalarType { kind, order, itemsize: 8, unit: parse_unit(metadata)? });
    }
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(TypestrError::Unknown);
    }
    let size = if let [digit] = digits {
        usize::from(digit - b'0')
    } else {
        let size = short.get(1..).and_then(|digits| digits.parse().ok());
        size.ok_or(TypestrError::Unknown)?
    };
    let (kind, itemsize) = match (letter, size) {
        (b'b', 1) => (Kind::Bool, 1),
        (b'i', 1 | 2 | 4 | 8) => (Kind::Int, size),
        (b'u', 1 | 2 | 4 | 8) => (Kind::UInt, size),
        (b'f', 2 | 4 | 8 | 16) => (Kind::Float, size),
        (b'c', 8 | 16 | 32) => (Kind::Complex, size),
        (b'S' | b'a', 0..=MAX_ITEMSIZE) => (Kind::Bytes, size),
        (b'U', 0..=0x1fff_ffff) => (Kind::Unicode, 4 * size),
        (b'V', 0..=MAX_ITEMSIZE) => (Kind::Void, size),
        (b'O', _) => return Err(TypestrError::Object),
        _ => return Err(TypestrError::Unknown),
    };
    Ok(ScalarType { kind, order: effective_order(kind, itemsize, order), itemsize, unit: None })
}

/// Splits `M8[ns]` and `datetime64[ns]` before the bracket.
#[inline]
fn split_date(short: &str) -> Option<(Kind, &str)> {
    let names = [
        ("M8", Kind::DateTime),
        ("m8", Kind::TimeDelta),
        ("datetime64", Kind::DateTime),
        ("timedelta64", Kind::TimeDelta),
    ];
    match (short, short.split_at_checked(1)) {
        ("M", _) => Some((Kind::DateTime, "")),
        ("m", _) => Some((Kind::TimeDelta, "")),
        (_, Some(("M", size))) if is_padded_eight(size) => Some((Kind::DateTime, "")),
        (_, Some(("m", size))) if is_padded_eight(size) => Some((Kind::TimeDelta, "")),
        _ => names
            .into_iter()
            .find_map(|(name, kind)| short.strip_prefix(name).map(|metadata| (kind, metadata))),
    }
}

/// True for the size 8 with leading zeros, which cannot have a unit after it.
#[inline]
fn is_padded_eight(size: &str) -> bool {
    size.starts_with('0') && size.trim_start_matches('0') == "8"
}

#[inline]
fn parse_unit(metadata: &str) -> Result<Option<Unit>, TypestrError> {
    if metadata.is_empty() {
        return Ok(None);
    }
    let inner = metadata
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .ok_or(TypestrError::Unknown)?;
    match inner.strip_suffix("generic") {
        Some("") => Ok(None),
        // The multiple is checked like that of any unit, and then ignored.
        Some(multiple) if multiple.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{multiple}s").parse::<Unit>().map(|_| None).map_err(TypestrError::Unit)
        }
        _ => inner.parse().map(Some).map_err(TypestrError::Unit),
    }
}

/// The byte order, or `NotApplicable` for bytes and single-byte numbers.
#[inline]
fn effective_order(kind: Kind, itemsize: usize, order: ByteOrder) -> ByteOrder {
    match kind {
        Kind::Bytes | Kind::Void => ByteOrder::NotApplicable,
        Kind::Unicode => order,
        _ if itemsize == 1 => ByteOrder::NotApplicable,
        _ => order,
    }
}

#[inline]
fn unknown_type(text: &str, code: &str) -> Error {
    let reason = match code.as_bytes() {
        [] => "no type given, expected a type string such as '<f8'",
        _ if text.contains(',') => {
            "several types in one string, expected a list such as [('x', '<f4'), ('y', '<f4')]"
        }
        [b'f' | b'F', b'0'..=b'9', ..] => "floats have 2, 4, 8 or 16 bytes, as in '<f4'",
        [b'i' | b'u', b'0'..=b'9', ..] => "integers have 1, 2, 4 or 8 bytes, as in '<i4'",
        [b'c', b'0'..=b'9', ..] => "complex numbers have 8, 16 or 32 bytes, as in '<c8'",
        [b'b', b'0'..=b'9', ..] => "a bool has one byte, '|b1'",
        [b'M' | b'm', b'0'..=b'9', ..] => {
            "dates and time differences have 8 bytes, as in '<M8[ns]'"
        }
        [b'S' | b'U' | b'V', b'0'..=b'9', ..] => "elements have at most 2147483647 bytes",
        [b'T', ..] => {
            "StringDType cannot be stored in place: use text of a fixed length, as in '<U10'"
        }
        _ => "NumPy has no such type, expected a type string such as '<f8', '|S10' or '<M8[ns]'",
    };
    DTypeError::Invalid { descr: excerpt(text), reason: reason.to_owned() }.into()
}

impl fmt::Display for ScalarType {
    /// Prints NumPy's `dtype.str`.
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (letter, _) = self.kind.texts();
        let size = self.itemsize / if self.kind == Kind::Unicode { 4 } else { 1 };
        let order = match self.order {
            ByteOrder::Little => '<',
            ByteOrder::Big => '>',
            ByteOrder::NotApplicable => '|',
        };
        write!(f, "{order}{letter}{size}")?;
        match self.unit {
            Some(unit) => write!(f, "[{unit}]"),
            None => Ok(()),
        }
    }
}
