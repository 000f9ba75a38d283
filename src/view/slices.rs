//! NumPy's index notation as text: `2, ::3, ..., -1`.

use std::num::{IntErrorKind, ParseIntError};

use ndarray::SliceInfoElem;

use crate::dtype::literal::tuple;
use crate::error::{Result, ShapeError, excerpt};

/// What NumPy's notation selects of a shape, for
/// [`View::slice`](crate::View::slice).
///
/// Indices, slices with steps, `...` and `None` (or `newaxis`) are understood.
/// Slices are clipped to the axis as NumPy's are; ndarray's `s![]` panics
/// there, and counts negative steps from the other end.
///
/// # Examples
///
/// ```
/// use npymap::Indices;
///
/// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
/// let table = penguins.view::<f64>()?;
/// let some = table.slice(Indices::parse("300:1000:10, ::-1", table.shape())?);
/// assert_eq!(some.shape(), [5, 4]);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indices(Vec<SliceInfoElem>);

impl AsRef<[SliceInfoElem]> for Indices {
    fn as_ref(&self) -> &[SliceInfoElem] {
        &self.0
    }
}

impl Indices {
    /// Reads `text` and resolves it against a shape. Parentheses around it mean
    /// nothing, as in Python; `[]` is NumPy's empty list, which selects no
    /// element of the first axis. Other lists make copies in NumPy: for those,
    /// see [`View::select`](crate::View::select).
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for text that is not an
    /// index, [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for an index out
    /// of range, [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for too many
    /// axes.
    pub fn parse(text: &str, shape: &[usize]) -> Result<Indices> {
        let inner = enclosed(text, '(', ')').unwrap_or(text).trim();
        match enclosed(inner, '[', ']') {
            Some("") => return nothing(shape),
            Some(_) => return Err(ShapeError::Notation { found: excerpt(inner) }.into()),
            None => {}
        }
        let listed = inner.strip_suffix(',').unwrap_or(inner);
        let items: Vec<&str> =
            if inner.is_empty() { Vec::new() } else { listed.split(',').map(str::trim).collect() };
        let refused = |item: &str| ShapeError::Notation { found: excerpt(item) };
        let named =
            items.iter().filter(|item| !matches!(**item, "..." | "None" | "newaxis")).count();
        let unnamed = shape.len().checked_sub(named);
        let Some(mut unnamed) = unnamed else {
            return Err(ShapeError::Axis { asked: named - 1, shape: tuple(shape) }.into());
        };
        let mut rest = shape.iter().copied().enumerate();
        let mut elements = Vec::new();
        let mut ellipses = 0;
        for item in items {
            match item {
                "..." if ellipses == 0 => {
                    ellipses += 1;
                    elements.extend(rest.by_ref().take(unnamed).map(|_| WHOLE));
                    unnamed = 0;
                }
                "None" | "newaxis" => elements.push(SliceInfoElem::NewAxis),
                _ => {
                    let (axis, dim) = rest.next().ok_or_else(|| refused(item))?;
                    let element = one(item, dim).ok_or_else(|| refused(item))?;
                    elements.push(in_range(element, axis, dim, shape)?);
                }
            }
        }
        Ok(Indices(elements))
    }
}

/// The trimmed text between two brackets.
fn enclosed(text: &str, open: char, close: char) -> Option<&str> {
    text.trim().strip_prefix(open)?.strip_suffix(close).map(str::trim)
}

/// `[]` selects none of the first axis, as NumPy's empty list of indices.
fn nothing(shape: &[usize]) -> Result<Indices> {
    if shape.is_empty() {
        return Err(ShapeError::Axis { asked: 0, shape: tuple(shape) }.into());
    }
    Ok(Indices(vec![SliceInfoElem::Slice { start: 0, end: Some(0), step: 1 }]))
}

const WHOLE: SliceInfoElem = SliceInfoElem::Slice { start: 0, end: None, step: 1 };

/// Reads `5`, `-1`, `2:8`, `::-1`.
fn one(item: &str, dim: usize) -> Option<SliceInfoElem> {
    let mut parts = item.split(':').map(str::trim);
    let first = parts.next()?;
    let Some(end) = parts.next() else { return first.parse().ok().map(SliceInfoElem::Index) };
    let step = parts.next().unwrap_or("");
    let bound = |text: &str| if text.is_empty() { Some(None) } else { clamped(text).map(Some) };
    let (start, end, step) = (bound(first)?, bound(end)?, bound(step)?.unwrap_or(1));
    if parts.next().is_some() || step == 0 {
        return None;
    }
    Some(clipped(start, end, step, isize::try_from(dim).ok()?))
}

/// Reads a bound or step; as all are clipped, too large ones may be any that
/// are large.
fn clamped(text: &str) -> Option<isize> {
    text.parse().map_or_else(
        |error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => Some(isize::MAX),
            IntErrorKind::NegOverflow => Some(-isize::MAX),
            _ => None,
        },
        Some,
    )
}

/// Python's `slice.indices`, as ndarray says the same elements.
fn clipped(start: Option<isize>, end: Option<isize>, step: isize, dim: isize) -> SliceInfoElem {
    let (lowest, highest) = if step > 0 { (0, dim) } else { (-1, dim - 1) };
    let clip = |bound: isize| {
        let bound = if bound < 0 { bound.saturating_add(dim) } else { bound };
        bound.clamp(lowest, highest)
    };
    let (low, high) = if step > 0 {
        (start.map_or(0, clip), end.map_or(dim, clip))
    } else {
        (end.map_or(-1, clip) + 1, start.map_or(dim - 1, clip) + 1)
    };
    SliceInfoElem::Slice { start: low, end: Some(high.max(low)), step }
}

fn in_range(
    element: SliceInfoElem,
    axis: usize,
    dim: usize,
    shape: &[usize],
) -> Result<SliceInfoElem> {
    let SliceInfoElem::Index(index) = element else { return Ok(element) };
    let at = if index < 0 { dim.checked_add_signed(index) } else { Some(index.unsigned_abs()) };
    match at {
        Some(at) if at < dim => Ok(element),
        _ => Err(ShapeError::Index { axis, asked: index.to_string(), shape: tuple(shape) }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notation_is_pythons() {
        let slice = |start, end, step| SliceInfoElem::Slice { start, end: Some(end), step };
        let parse = |text, shape: &[usize]| Indices::parse(text, shape).map(|indices| indices.0);
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
        assert_eq!(
            parse(" ( None, 1,) ", &[3]).unwrap(),
            [SliceInfoElem::NewAxis, SliceInfoElem::Index(1)]
        );
        assert_eq!(parse("()", &[3]).unwrap(), []);
        assert_eq!(parse("", &[]).unwrap(), []);
        assert_eq!(parse("[ ]", &[3, 2]).unwrap(), [slice(0, 0, 1)]);
        assert!(parse("[]", &[]).is_err());
        for text in [
            "3", "-4", "1, 1", "x", "::0", "1:2:3:4", "..., ...", "1.0", ", ,", "1,,", "[1]",
            "[0, 1]", "([0])", "(1", "((1))",
        ] {
            assert!(parse(text, &[3]).is_err(), "{text}");
        }
    }
}
