//! NumPy's index notation as text: `2, ::3, ..., -1`.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

use ndarray::SliceInfoElem;

use crate::dtype::literal::tuple;
use crate::error::invariant::Invariant;
use crate::error::{Error, Result, ShapeError, excerpt};
use crate::layout::check_ndim;

/// An index in NumPy's notation, such as `'-1, ::2'`, for example from a
/// command line.
///
/// It supports what you write in `a[…]`: integers, slices with steps, `...`, `None`
/// (or `newaxis`) and one list of integers. A dot and a field path may follow, as in
/// `5.pos.z`, and a name alone is a field of all elements. Parsed text is resolved
/// against the shape of each array it is used for.
///
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
/// let index: IndexExpr = "300:1000:10, ::-1".parse()?;
/// let some = table.slice(index.resolve(table.shape())?.slices)?;
/// assert_eq!(some.shape(), [5, 4]);
///
/// let index: IndexExpr = ":, [3, -1].pos".parse()?;
/// assert_eq!(index.field(), Some("pos"));
/// let list = index.resolve(&[10, 4])?.list.expect("it has one");
/// assert_eq!((list.axis, list.indices), (1, vec![3, 3]));
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexExpr {
    items: Vec<Item>,
    field: Option<String>,
}

/// One of the items between the commas of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Index(isize),
    Slice { start: Option<isize>, end: Option<isize>, step: isize },
    Ellipsis,
    NewAxis,
    List(Vec<isize>),
}

/// An [`IndexExpr`] for an array with a known shape.
/// [`resolve`](IndexExpr::resolve) returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolvedIndex {
    /// The slices, for [`View::slice`](crate::View::slice). A list is a whole
    /// axis in them.
    pub slices: Vec<SliceInfoElem>,
    /// The list, if there is one.
    pub list: Option<IndexList>,
}

/// A list of integers in [`IndexExpr`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexList {
    /// The integers, counted from the first index of the axis.
    pub indices: Vec<usize>,
    /// The axis of the sliced array that they select from.
    pub axis: usize,
    /// The axis where NumPy puts the selected elements: the same one, or the first
    /// if a slice separates the list from an integer.
    pub target: usize,
}

impl FromStr for IndexExpr {
    type Err = Error;

    /// Parses an index, and the field after it, whose names are not checked.
    /// Enclosing parentheses are ignored, as in Python.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) for text that
    /// is not an index, or that has several lists.
    #[inline]
    fn from_str(text: &str) -> Result<IndexExpr> {
        let (index, field) = split_field(text);
        Ok(IndexExpr { items: parse_items(index)?, field: field.map(str::to_owned) })
    }
}

impl IndexExpr {
    /// Returns the path of the field after the index, such as `pos.z`, or a list of names.
    #[must_use]
    #[inline]
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// Returns the same index without its field.
    #[must_use]
    #[inline]
    pub fn without_field(&self) -> IndexExpr {
        IndexExpr { items: self.items.clone(), field: None }
    }

    /// Returns whether a single selected element is an array without axes in NumPy,
    /// not a scalar: by `...`, or without any index.
    #[must_use]
    #[inline]
    pub fn keeps_array(&self) -> bool {
        self.items.is_empty() || self.items.contains(&Item::Ellipsis)
    }

    /// Resolves the index against a shape.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) if an index is out
    /// of range, or there are too many axes, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the selection would have
    /// more than 64.
    #[inline]
    pub fn resolve(&self, shape: &[usize]) -> Result<ResolvedIndex> {
        let is_of_axis = |item: &&Item| !matches!(item, Item::Ellipsis | Item::NewAxis);
        let indexed = self.items.iter().filter(is_of_axis).count();
        // The axes that `...` stands for.
        let Some(elided) = shape.len().checked_sub(indexed) else {
            return Err(ShapeError::Axis { asked: indexed - 1, shape: tuple(shape) }.into());
        };
        let (mut slices, mut list, mut axis) = (Vec::new(), None, 0);
        for item in &self.items {
            match item {
                Item::Ellipsis => {
                    slices.extend(std::iter::repeat_n(WHOLE, elided));
                    axis += elided;
                    continue;
                }
                Item::NewAxis => {
                    slices.push(SliceInfoElem::NewAxis);
                    continue;
                }
                Item::Index(index) => {
                    from_first(*index, axis, shape)?;
                    slices.push(SliceInfoElem::Index(*index));
                }
                Item::Slice { start, end, step } => {
                    let dim = shape.get(axis).and_then(|&dim| isize::try_from(dim).ok());
                    slices.push(clip_slice(*start, *end, *step, dim.unwrap_or(isize::MAX)));
                }
                Item::List(indices) => {
                    let indices = indices.iter().map(|&index| from_first(index, axis, shape));
                    let indices = indices.collect::<Result<_>>()?;
                    let axis = slices.iter().filter(|element| !element.is_index()).count();
                    let target = if self.is_list_separate() { 0 } else { axis };
                    list = Some(IndexList { indices, axis, target });
                    slices.push(WHOLE);
                }
            }
            axis += 1;
        }
        let indices = slices.iter().filter(|element| element.is_index()).count();
        let found = slices.len() - indices + (shape.len() - axis);
        check_ndim(found)?;
        Ok(ResolvedIndex { slices, list })
    }

    /// Returns whether there are other items between the list and an integer. NumPy
    /// calls both advanced.
    #[inline]
    fn is_list_separate(&self) -> bool {
        let is_advanced = |item: &Item| matches!(item, Item::Index(_) | Item::List(_));
        let mut items = self.items.iter().skip_while(|item| !is_advanced(item));
        let after = items.find(|item| !is_advanced(item));
        after.is_some() && items.any(is_advanced)
    }
}

/// The names that NumPy's notation has.
const NAMES: [&str; 3] = ["None", "newaxis", "Ellipsis"];

/// Splits at the first dot that is not part of an ellipsis. A name alone is a
/// field of all elements.
#[inline]
fn split_field(text: &str) -> (&str, Option<&str>) {
    let is_in_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = text.split(|c| !is_in_name(c)).next().unwrap_or("");
    if name.starts_with(|c: char| is_in_name(c) && !c.is_numeric()) && !NAMES.contains(&name) {
        return ("", Some(text));
    }
    let mut start = 0;
    while let Some(dot) = text.get(start..).and_then(|rest| rest.find('.')) {
        let (index, rest) = text.split_at(start + dot);
        if !rest.starts_with("...") {
            return (index, rest.get(1..));
        }
        start += dot + 3;
    }
    (text, None)
}

#[inline]
fn parse_items(text: &str) -> Result<Vec<Item>> {
    let inner = enclosed(text, '(', ')').unwrap_or(text).trim();
    let mut items = Vec::new();
    for part in split_items(inner) {
        let item = parse_item(part.trim()).ok_or_else(|| not_an_index(part.trim()))?;
        match item {
            Item::Ellipsis if items.contains(&item) => return Err(not_an_index("...").into()),
            Item::List(_) if items.iter().any(|item| matches!(item, Item::List(_))) => {
                return Err(ShapeError::Lists { found: excerpt(inner) }.into());
            }
            _ => items.push(item),
        }
    }
    Ok(items)
}

/// The items between commas outside brackets; one comma at the end is ignored.
#[inline]
fn split_items(text: &str) -> Vec<&str> {
    let (mut items, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth > 0 => depth -= 1,
            ',' if depth == 0 => {
                items.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text.get(start..).invariant("text is split at character boundaries");
    items.extend(Some(last).filter(|last| !last.trim().is_empty()));
    items
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

const WHOLE: SliceInfoElem = SliceInfoElem::Slice { start: 0, end: None, step: 1 };

/// Parses `5`, `-1`, `2:8`, `::-1`, `...`, `None`, `[1, 3]`.
#[inline]
fn parse_item(item: &str) -> Option<Item> {
    match item {
        "..." | "Ellipsis" => return Some(Item::Ellipsis),
        "None" | "newaxis" => return Some(Item::NewAxis),
        _ => {}
    }
    if let Some(list) = enclosed(item, '[', ']') {
        let numbers = split_items(list);
        let numbers = numbers.into_iter().map(|number| parse_saturating(number.trim()));
        return numbers.collect::<Option<_>>().map(Item::List);
    }
    let mut parts = item.split(':').map(str::trim);
    let first = parts.next()?;
    let Some(end) = parts.next() else { return parse_saturating(first).map(Item::Index) };
    let step = parts.next().unwrap_or("");
    let (start, end) = (parse_bound(first)?, parse_bound(end)?);
    let step = parse_bound(step)?.unwrap_or(1);
    if parts.next().is_some() || step == 0 {
        return None;
    }
    Some(Item::Slice { start, end, step })
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
    let clip = |bound: isize| (if bound < 0 { bound + dim } else { bound }).clamp(lowest, highest);
    let (start, end) = (start.map(clip), end.map(clip));
    let (low, high) = if step > 0 {
        (start.unwrap_or(0), end.unwrap_or(dim))
    } else {
        (end.unwrap_or(-1) + 1, start.unwrap_or(dim - 1) + 1)
    };
    SliceInfoElem::Slice { start: low, end: Some(high.max(low)), step }
}

/// The index, counted from the first one of the axis.
#[inline]
fn from_first(index: isize, axis: usize, shape: &[usize]) -> Result<usize> {
    let dim = shape.get(axis).copied().unwrap_or(0);
    let at = if index < 0 { dim.checked_add_signed(index) } else { Some(index.unsigned_abs()) };
    at.filter(|&at| at < dim).ok_or_else(|| {
        ShapeError::Index { axis, asked: format!("index {index}"), shape: tuple(shape) }.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn parse(text: &str, shape: &[usize]) -> Result<Vec<SliceInfoElem>> {
        Ok(text.parse::<IndexExpr>()?.resolve(shape)?.slices)
    }

    fn slice(start: isize, end: isize, step: isize) -> SliceInfoElem {
        SliceInfoElem::Slice { start, end: Some(end), step }
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
        assert!(parse("[]", &[]).is_err());
        // As many axes as arrays have, and one more.
        let axes = vec!["None"; 64].join(",");
        assert_eq!(parse(&format!("{axes}, 0"), &[3]).unwrap().len(), 65);
        assert!(parse(&axes, &[3]).is_err());
        for index in [huge.to_owned(), format!("-{huge}"), isize::MIN.to_string()] {
            let error = parse(&index, &[isize::MAX.unsigned_abs()]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfBounds, "{index}");
        }
        for text in ["3", "-4", "1, 1", "::0", "1:2:3:4", "..., ...", ", ,", "1,,", "(1", "((1))"] {
            assert!(parse(text, &[3]).is_err(), "{text}");
        }
    }

    #[test]
    fn a_field_path_starts_at_the_first_dot_outside_an_ellipsis() {
        for (text, index, field) in [
            ("5", "5", None),
            ("5.pos.z", "5", Some("pos.z")),
            (":10.score", ":10", Some("score")),
            ("..., 0.x", "..., 0", Some("x")),
            ("...", "...", None),
            ("....x", "...", Some("x")),
            ("0, ....x.y", "0, ...", Some("x.y")),
            (".x", "", Some("x")),
            ("", "", None),
            ("5.a...b", "5", Some("a...b")),
            ("..x", "", Some(".x")),
            ("temp", "", Some("temp")),
            ("pos.z", "", Some("pos.z")),
            ("_x, größe", "", Some("_x, größe")),
            ("None2", "", Some("None2")),
            ("None, 0", "None, 0", None),
            ("Ellipsis.x", "Ellipsis", Some("x")),
            (":100.temp,sensor", ":100", Some("temp,sensor")),
        ] {
            assert_eq!(split_field(text), (index, field), "{text}");
            assert_eq!(text.parse::<IndexExpr>().unwrap().field(), field, "{text}");
        }
    }

    #[test]
    fn lists_are_resolved_to_the_axis_where_numpy_puts_them() {
        for (text, indices, axis, target) in [
            ("[2, -1]", vec![2, 2], 0, 0),
            (" ( [ 0 ,],) ", vec![0], 0, 0),
            ("[]", vec![], 0, 0),
            (":, [1]", vec![1], 1, 1),
            ("0, [1]", vec![1], 0, 0),
            ("..., [1], 0", vec![1], 1, 1),
            ("[1], :, 0", vec![1], 0, 0),
            ("0, :, [1, 0]", vec![1, 0], 1, 0),
            (":, None, [1]", vec![1], 2, 2),
            ("0, None, [1]", vec![1], 1, 0),
            ("0, ..., [1]", vec![1], 1, 0),
        ] {
            let resolved = text.parse::<IndexExpr>().unwrap().resolve(&[3, 2, 4]).unwrap();
            assert_eq!(resolved.list, Some(IndexList { indices, axis, target }), "{text}");
        }
        for text in ["[1], [0]", "[x]", "[1", "[1:2]", "[,]", "[[1]]", "1]"] {
            let error = text.parse::<IndexExpr>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text}");
        }
        let index: IndexExpr = "0, [4]".parse().unwrap();
        assert_eq!(index.resolve(&[3, 4]).unwrap_err().kind(), ErrorKind::OutOfBounds);
    }
}
