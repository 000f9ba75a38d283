//! Stores text into elements, and elements as text.

use super::{DynView, DynViewMut};
use crate::dtype::{DType, Kind};
use crate::element::value::{Value, is_finite_text};
use crate::element::{Element as _, decode_points, trim_nuls};
use crate::error::invariant::{Invariant, PAIRED};
use crate::error::{Error, Result};

/// Stores text in another encoding or length. Only ASCII can be converted between
/// bytes and code points, as in NumPy.
#[inline]
pub(super) fn store_text(to: &mut DynViewMut<'_>, from: &DynView<'_>, exact: bool) -> Result<()> {
    let (own, other) = (to.dtype().clone(), from.dtype().clone());
    let changes_encoding = own.kind() != other.kind();
    let mut elements = code_points(from).into_iter();
    let width = width(&own);
    to.try_for_each_in_c_order(|_, bytes| {
        let points = elements.next().invariant(PAIRED);
        if changes_encoding && points.iter().any(|&point| point >= 0x80) {
            return Err(unfit_text(&points, format!("ASCII that fits {own}")));
        }
        if exact && points.len() > bytes.len() / width {
            return Err(unfit_text(&points, format!("a value that {own} can hold exactly")));
        }
        store_points(&own, bytes, points.iter().copied())
    })
}

/// The size of a character, in bytes.
#[inline]
fn width(dtype: &DType) -> usize {
    if dtype.kind() == Kind::Unicode { 4 } else { 1 }
}

/// Stores characters over an element of text, and cuts those that do not fit.
fn store_points(
    dtype: &DType,
    element: &mut [u8],
    points: impl Iterator<Item = u32>,
) -> Result<()> {
    element.fill(0);
    for (to, point) in element.chunks_exact_mut(width(dtype)).zip(points) {
        match to {
            [byte] => *byte = u8::try_from(point).unwrap_or(b'?'),
            to => point.encode(&dtype.byte_order(), to)?,
        }
    }
    Ok(())
}

#[inline]
fn unfit_text(points: &[u32], expected: String) -> Error {
    let chars = points.iter().map(|&point| char::from_u32(point));
    let text: String = chars.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    Error::invalid_value(format_args!("'{text}'"), expected)
}

/// The code points of each text, or its bytes, without trailing NULs.
#[inline]
fn code_points(from: &DynView<'_>) -> Vec<Vec<u32>> {
    let elements = from.element_bytes();
    if from.dtype().kind() == Kind::Bytes {
        return elements.map(|e| trim_nuls(e).iter().copied().map(u32::from).collect()).collect();
    }
    elements.map(|e| decode_points(from.dtype().byte_order(), e).collect()).collect()
}

/// Parses text, and stores the values. Exact results may be the nearest numbers
/// to decimal fractions.
#[inline]
pub(super) fn parse_text(to: &mut DynViewMut<'_>, from: &DynView<'_>, exact: bool) -> Result<()> {
    let mut elements = code_points(from).into_iter();
    to.try_for_each_in_c_order(|dtype, bytes| {
        let points = elements.next().invariant(PAIRED);
        let text: Option<String> = points.iter().map(|&point| char::from_u32(point)).collect();
        // A date in quotes is one of a record.
        let text = text.filter(|text| !text.contains(['\'', '"']));
        let text = text.ok_or_else(|| {
            unfit_text(&points, format!("valid Unicode without quotes, for {dtype}"))
        })?;
        let value = Value::parse_unbounded(&text, dtype)?;
        if exact && !keeps_number(&text, &value) {
            return Err(unfit_text(&points, format!("a value that {dtype} can hold exactly")));
        }
        value.encode(dtype, bytes)
    })
}

/// Returns whether a float has all digits of a text that is an integer, and is finite if
/// another text is.
#[inline]
fn keeps_number(text: &str, value: &Value) -> bool {
    let is_exact = matches!(value, Value::Bool(_) | Value::Int(_) | Value::UInt(_));
    let (false, Some(number)) = (is_exact, value.as_complex()) else { return true };
    let digits = text.trim().trim_start_matches(['+', '-']);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let exact = format!("{:.0}", number.re.abs());
        return exact.trim_start_matches('0') == digits.trim_start_matches('0');
    }
    number.re.is_finite() && number.im.is_finite() || !is_finite_text(digits)
}

/// Stores numbers and dates as text, formatted as by NumPy. Dates are never cut.
#[inline]
pub(super) fn format_text(to: &mut DynViewMut<'_>, from: &DynView<'_>, exact: bool) -> Result<()> {
    let is_date = from.dtype().kind() == Kind::DateTime;
    let mut values = from.to_vec().into_iter();
    to.try_for_each_in_c_order(|dtype, bytes| {
        let text = values.next().invariant(PAIRED).to_string();
        let length = text.len();
        if (exact || is_date) && length > bytes.len() / width(dtype) {
            let expected = if is_date {
                format!("text of at least {length} characters, not {dtype}")
            } else {
                format!("a value that {dtype} can hold exactly")
            };
            return Err(Error::invalid_value(text, expected));
        }
        store_points(dtype, bytes, text.bytes().map(u32::from))
    })
}
