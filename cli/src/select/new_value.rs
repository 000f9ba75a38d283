//! The new value of elements: one value, or an array that is broadcast to them.

use npymap::array::{Outline, Window};
use npymap::element::Casting;
use npymap::ndarray::SliceInfoElem;
use npymap::{DType, Error, ErrorKind, MappedArray, MappedArrayMut, Result, Value, dtype::Kind};

/// A new value, as parsed from an argument.
pub(crate) enum NewValue {
    /// One value for every element.
    Scalar(Value),
    /// A list, in memory.
    List(MappedArrayMut),
    /// An array of a file.
    File(MappedArray),
}

/// Arrays up to this size are in memory as long as they are written, in bytes.
const SMALL: usize = 32 << 20;

/// The elements to change.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// Indices of the array.
    pub(crate) part: &'a [SliceInfoElem],
    pub(crate) field: Option<&'a str>,
}

impl NewValue {
    /// Parses a value, or a list in brackets. Text for text is never a list.
    pub(crate) fn parse(text: &str, dtype: &DType) -> Result<NewValue> {
        let is_list = text.trim_start().starts_with('[')
            && !matches!(dtype.kind(), Kind::Unicode | Kind::Bytes | Kind::Subarray);
        if !is_list {
            return Value::parse(text, dtype).map(NewValue::Scalar);
        }
        let mut list = List { shape: Vec::new(), leaves: Vec::new() };
        list.parse(text.trim(), 0)?;
        let values = list.leaves.iter().map(|leaf| Value::parse(leaf, dtype));
        let values = values.collect::<Result<Vec<_>>>()?;
        let mut array = MappedArray::zeros(dtype, &list.shape)?;
        array.dyn_view_mut()?.copy_from_slice(&values)?;
        Ok(NewValue::List(array))
    }

    /// Checks that every element can be cast, so that nothing is written if one
    /// cannot.
    pub(crate) fn check(&self, dtype: &DType, casting: Casting) -> Result<()> {
        let NewValue::File(array) = self else { return Ok(()) };
        // There may be too many elements without bytes to copy.
        if array.dtype() == dtype || array.nbytes() == 0 {
            return Ok(());
        }
        array.for_each_window(&array.outline(), |block| {
            let mut copy = MappedArray::zeros(dtype, block.shape())?;
            copy.dyn_view_mut()?.assign_as(block, casting)
        })
    }

    /// The values of all parts of the selection, broadcast to its shape as NumPy
    /// does it for an assignment; `None` for a single value. An array without axes is set to
    /// an array of one element, a single element only to a number.
    pub(crate) fn broadcast(&self, shape: &[usize], is_array: bool) -> Result<Option<Outline<'_>>> {
        let mut values = match self {
            NewValue::Scalar(_) => return Ok(None),
            NewValue::List(array) => array.dyn_view()?.into(),
            // Which may be broadcast.
            NewValue::File(array) if array.nbytes() <= SMALL => array.dyn_view()?.into(),
            NewValue::File(array) => array.outline(),
        };
        while is_array && values.ndim() > shape.len() && values.shape().first() == Some(&1) {
            values = values.index_axis(0, 0)?;
        }
        values.broadcast(shape).map(Some)
    }

    /// Writes the values to elements, and returns how many there are. `values`
    /// are those of [`broadcast`](NewValue::broadcast) for this part.
    pub(crate) fn write(
        &self,
        array: &mut MappedArrayMut,
        target: &Target<'_>,
        values: Option<&Outline<'_>>,
        casting: Casting,
    ) -> Result<usize> {
        let window = match (self, values) {
            (NewValue::File(file), Some(values)) => Some(file.window(values)?),
            (_, values) => values.map(Outline::view).transpose()?.map(Window::from),
        };
        let values = window.as_ref().map(Window::view);
        match (self, values.as_ref()) {
            (NewValue::Scalar(value), _) => {
                array.write_fill_slice(target.part, target.field, value)
            }
            (_, Some(values)) => array.write_slice(target.part, target.field, values, casting),
            (_, None) => Ok(0),
        }
    }
}

/// The most axes of an array.
const MAX_AXES: usize = 64;

/// A nested list, flattened.
struct List<'a> {
    /// The length of each axis, as of the first list in it.
    shape: Vec<usize>,
    /// The texts of the elements, in C order.
    leaves: Vec<&'a str>,
}

impl<'a> List<'a> {
    /// Adds a list, or an element, at a depth of the nesting.
    fn parse(&mut self, text: &'a str, depth: usize) -> Result<()> {
        let is_first = self.leaves.is_empty();
        if depth > MAX_AXES {
            return Err(invalid(text, "has more than 64 axes"));
        }
        let Some(inner) = text.strip_prefix('[') else {
            if self.shape.len() != depth {
                return Err(invalid(text, "is an element where the others are lists"));
            }
            self.leaves.push(text);
            return Ok(());
        };
        let inner = inner.strip_suffix(']').ok_or_else(|| invalid(text, "lacks a closing `]`"))?;
        let items = split_items(inner).ok_or_else(|| invalid(text, "has unpaired brackets"))?;
        match self.shape.get(depth) {
            None if is_first && self.shape.len() == depth => self.shape.push(items.len()),
            Some(&len) if len == items.len() => {}
            _ => return Err(invalid(text, "differs in length or depth from the lists before it")),
        }
        items.into_iter().try_for_each(|item| self.parse(item, depth + 1))
    }
}

/// The error for a list that is not an array.
fn invalid(text: &str, reason: &str) -> Error {
    let shown: String = text.chars().take(40).collect();
    let dots = if shown.len() < text.len() { "…" } else { "" };
    Error::new(ErrorKind::InvalidValue, format!("`{shown}{dots}` {reason}"))
}

/// The items between the commas of a list, which may contain brackets and
/// quoted text; `None` if these are not paired.
fn split_items(text: &str) -> Option<Vec<&str>> {
    let (mut items, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if let Some(open) = quote {
            let ends = c == open && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            if ends {
                quote = None;
            }
            continue;
        }
        match c {
            '\'' | '"' => quote = Some(c),
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                items.push(text.get(start..at)?.trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text.get(start..)?.trim();
    if !last.is_empty() {
        items.push(last);
    }
    (depth == 0 && quote.is_none()).then_some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape_and_leaves(text: &str) -> (Vec<usize>, Vec<&str>) {
        let mut list = List { shape: Vec::new(), leaves: Vec::new() };
        list.parse(text, 0).unwrap();
        (list.shape, list.leaves)
    }

    #[test]
    fn lists_nest_as_in_python() {
        assert_eq!(shape_and_leaves("[1, 2,]"), (vec![2], vec!["1", "2"]));
        assert_eq!(shape_and_leaves("[[1], [-2]]"), (vec![2, 1], vec!["1", "-2"]));
        assert_eq!(
            shape_and_leaves("[(1, 'a]'), (2, \"b,\\\"\")]"),
            (vec![2], vec!["(1, 'a]')", "(2, \"b,\\\"\")"])
        );
        assert_eq!(shape_and_leaves("[]"), (vec![0], vec![]));
        for text in ["[1", "[1]]", "[[1], 2]", "[1, [2]]", "[[1], [2, 3]]", "['a]", "[(1]"] {
            let mut list = List { shape: Vec::new(), leaves: Vec::new() };
            list.parse(text, 0).unwrap_err();
        }
    }
}
