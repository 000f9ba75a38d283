//! NumPy's index notation as text: `2, ::3, ..., -1`.

use std::num::{IntErrorKind, ParseIntError};

use ndarray::SliceInfoElem;

use crate::dtype::MAX_NDIM;
use crate::dtype::literal::tuple;
use crate::error::{Result, ShapeError, excerpt};

/// A selection in NumPy's index notation, resolved against a shape, for
/// [`View::slice`](crate::View::slice).
///
/// Indices, slices with steps, `...` and `None` (or `newaxis`) are supported.
/// Slices are clipped to the axis as in NumPy. ndarray's `s![]` panics in that
/// case, and counts negative steps from the other end.
///
/// # Examples
///
/// ```
/// use npymap::IndexExpr;
///
/// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
/// let table = penguins.view::<f64>()?;
/// let some = table.slice(IndexExpr::parse("300:1000:10, ::-1", table.shape())?);
/// assert_eq!(some.shape(), [5, 4]);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexExpr(Vec<SliceInfoElem>);

impl AsRef<[SliceInfoElem]> for IndexExpr {
    #[inline]
    fn as_ref(&self) -> &[SliceInfoElem] {
        &self.0
    }
}

impl IndexExpr {
    /// Parses `text` and resolves it against a shape. Enclosing parentheses are
    /// ignored, as in Python. `[]` is NumPy's empty list, which selects no
    /// element of the first axis. For other lists, which make copies in NumPy,
    /// see [`View::select`](crate::View::select).
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) for text that
    /// is not an index. Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds)
    /// if an index is out of range, or there are too many axes.
    #[inline]
    pub fn parse(text: &str, shape: &[usize]) -> Result<IndexExpr> {
        let inner = enclosed(text, '(', ')').unwrap_or(text).trim();
        match enclosed(inner, '[', ']') {
            Some("") => return empty_selection(shape),
            Some(_) => return Err(ShapeError::Notation { found: excerpt(inner) }.into()),
            None => {}
        }
        let listed = inner.strip_suffix(',').unwrap_or(inner);
        let items: Vec<&str> =
            if inner.is_empty() { Vec::new() } else { listed.split(',').map(item).collect() };
        let indexed =
            items.iter().filter(|item| !matches!(**item, "..." | "None" | "newaxis")).count();
        // The axes that `...` stands for.
        let Some(mut elided) = shape.len().checked_sub(indexed) else {
            return Err(ShapeError::Axis { asked: indexed - 1, shape: tuple(shape) }.into());
        };
        let mut rest = shape.iter().copied().enumerate();
        let mut elements = Vec::new();
        let mut ellipses = 0;
        for item in items {
            match item {
                "..." if ellipses == 0 => {
                    ellipses += 1;
                    elements.extend(rest.by_ref().take(elided).map(|_| WHOLE));
                    elided = 0;
                }
                "None" | "newaxis" => elements.push(SliceInfoElem::NewAxis),
                _ => {
                    let (axis, dim) = rest.next().ok_or_else(|| not_an_index(item))?;
                    let element = parse_item(item, dim).ok_or_else(|| not_an_index(item))?;
                    elements.push(check_index(element, axis, dim, shape)?);
                }
            }
        }
        let is_index = |element: &&SliceInfoElem| matches!(element, SliceInfoElem::Index(_));
        let indices = elements.iter().filter(is_index).count();
        let found = elements.len() - indices + rest.len();
        if found > MAX_NDIM {
            return Err(ShapeError::Axes { found }.into());
        }
        Ok(IndexExpr(elements))
    }
}

/// An item without spaces. `...` has a name in NumPy.
#[inline]
fn item(text: &str) -> &str {
    let text = text.trim();
    if text == "Ellipsis" { "..." } else { text }
}

#[inline]
fn not_an_index(item: &str) -> ShapeError {
    ShapeError::Notation { found: excerpt(item) }
}

/// The trimmed text between two brackets.
#[inline]
fn enclosed(text: &str, open: char, close: char) -> Option<&str> {
    text.trim().strip_prefix(open)?.strip_suffix(close).map(str::trim)
}

/// The selection of `[]`: no element of the first axis.
#[inline]
fn empty_selection(shape: &[usize]) -> Result<IndexExpr> {
    if shape.is_empty() {
        return Err(ShapeError::Axis { asked: 0, shape: tuple(shape) }.into());
    }
    Ok(IndexExpr(vec![SliceInfoElem::Slice { start: 0, end: Some(0), step: 1 }]))
}

const WHOLE: SliceInfoElem = SliceInfoElem::Slice { start: 0, end: None, step: 1 };

/// Parses `5`, `-1`, `2:8`, `::-1`.
#[inline]
fn parse_item(item: &str, dim: usize) -> Option<SliceInfoElem> {
    let mut parts = item.split(':').map(str::trim);
    let first = parts.next()?;
    let Some(end) = parts.next() else { return parse_saturating(first).map(SliceInfoElem::Index) };
    let step = parts.next().unwrap_or("");
    let (start, end) = (parse_bound(first)?, parse_bound(end)?);
    let step = parse_bound(step)?.unwrap_or(1);
    if parts.next().is_some() || step == 0 {
        return None;
    }
    Some(clip_slice(start, end, step, isize::try_from(dim).ok()?))
}

/// Parses a bound or step, which may be omitted. Numbers that overflow saturate,
/// since bounds are clipped to the axis.
#[expect(clippy::option_option, reason = "`None` is an error, `Some(None)` an omitted bound")]
#[inline]
fn parse_bound(text: &str) -> Option<Option<isize>> {
    if text.is_empty() {
        return Some(None);
    }
    parse_saturating(text).map(|bound| Some(bound.max(-isize::MAX)))
}

#[inline]
fn parse_saturating(text: &str) -> Option<isize> {
    let number = text.parse().or_else(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => Ok(isize::MAX),
        IntErrorKind::NegOverflow => Ok(isize::MIN),
        _ => Err(error),
    });
    number.ok()
}

/// Python's `slice.indices`, converted to the slice of ndarray that selects the
/// same elements.
#[inline]
fn clip_slice(start: Option<isize>, end: Option<isize>, step: isize, dim: isize) -> SliceInfoElem {
    let (lowest, highest) = if step > 0 { (0, dim) } else { (-1, dim - 1) };
    let [start, end] = [start, end].map(|bound| {
        let bound = bound?;
        let bound = if bound < 0 { bound.saturating_add(dim) } else { bound };
        Some(bound.clamp(lowest, highest))
    });
    let (low, high) = if step > 0 {
        (start.unwrap_or(0), end.unwrap_or(dim))
    } else {
        (end.unwrap_or(-1) + 1, start.unwrap_or(dim - 1) + 1)
    };
    SliceInfoElem::Slice { start: low, end: Some(high.max(low)), step }
}

/// Returns `element`, unless it is an index outside the axis.
#[inline]
fn check_index(
    element: SliceInfoElem,
    axis: usize,
    dim: usize,
    shape: &[usize],
) -> Result<SliceInfoElem> {
    let SliceInfoElem::Index(index) = element else { return Ok(element) };
    let at = if index < 0 { dim.checked_add_signed(index) } else { Some(index.unsigned_abs()) };
    match at {
        Some(at) if at < dim => Ok(element),
        _ => {
            Err(ShapeError::Index { axis, asked: format!("index {index}"), shape: tuple(shape) }
                .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(start: isize, end: isize, step: isize) -> SliceInfoElem {
        SliceInfoElem::Slice { start, end: Some(end), step }
    }

    fn parse(text: &str, shape: &[usize]) -> Result<Vec<SliceInfoElem>> {
        IndexExpr::parse(text, shape).map(|indices| indices.0)
    }

    #[test]
    fn index_notation_is_that_of_python() {
        assert_eq!(
            parse("2, ::3, -1", &[5, 9, 2]).unwrap(),
            [SliceInfoElem::Index(2), slice(0, 9, 3), SliceInfoElem::Index(-1)]
        );
        assert_eq!(parse("::-1", &[5]).unwrap(), [slice(0, 5, -1)]);
        assert_eq!(parse("5:2:-1", &[9]).unwrap(), [slice(3, 6, -1)]);
        assert_eq!(parse("-100:100", &[9]).unwrap(), [slice(0, 9, 1)]);
        let huge = "99999999999999999999";
        let text = format!("-{huge}:{huge}:{huge}");
        assert_eq!(parse(&text, &[9]).unwrap(), [slice(0, 9, isize::MAX)]);
        assert_eq!(parse("7:3", &[9]).unwrap(), [slice(7, 7, 1)]);
        assert_eq!(parse("..., 0", &[2, 3, 4]).unwrap(), [WHOLE, WHOLE, SliceInfoElem::Index(0)]);
        assert_eq!(parse("Ellipsis, 0", &[2, 3]).unwrap(), [WHOLE, SliceInfoElem::Index(0)]);
        assert_eq!(
            parse(" ( None, 1,) ", &[3]).unwrap(),
            [SliceInfoElem::NewAxis, SliceInfoElem::Index(1)]
        );
        assert_eq!(parse("()", &[3]).unwrap(), []);
        assert_eq!(parse("", &[]).unwrap(), []);
        assert_eq!(parse("[ ]", &[3, 2]).unwrap(), [slice(0, 0, 1)]);
        assert!(parse("[]", &[]).is_err());
        // As many axes as arrays have, and one more.
        let axes = vec!["None"; 64].join(",");
        assert_eq!(parse(&format!("{axes}, 0"), &[3]).unwrap().len(), 65);
        assert!(parse(&axes, &[3]).is_err());
        for index in [huge.to_owned(), format!("-{huge}"), isize::MIN.to_string()] {
            let error = parse(&index, &[isize::MAX.unsigned_abs()]).unwrap_err();
            assert_eq!(error.kind(), crate::error::ErrorKind::OutOfBounds, "{index}");
        }
        for text in [
            "3", "-4", "1, 1", "x", "::0", "1:2:3:4", "..., ...", "1.0", ", ,", "1,,", "[1]",
            "[0, 1]", "([0])", "(1", "((1))",
        ] {
            assert!(parse(text, &[3]).is_err(), "{text}");
        }
    }
}
