//! A selection of an array's elements: `5, ::2.pos.z`.

use std::convert::Infallible;
use std::str::FromStr;

use npymap::ndarray::SliceInfoElem;
use npymap::{
    Error, ErrorKind, IndexExpr, MappedArray, MappedArrayMut, Result, element::Casting,
    view::DynView,
};

use crate::select::cast;
use crate::select::fields::Fields;
use crate::select::origins::{AxisIndices, AxisOrigin, Origins};

/// An index in NumPy's notation, followed by a field path or a list of names, or
/// these alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexArg {
    index: String,
    field: Option<String>,
}

impl FromStr for IndexArg {
    type Err = Infallible;

    /// Splits at the first dot that is not part of an ellipsis. A name alone is a
    /// field of all elements.
    fn from_str(text: &str) -> Result<IndexArg, Infallible> {
        if starts_with_name(text) {
            return Ok(IndexArg { index: String::new(), field: Some(text.to_owned()) });
        }
        let mut dots = text.match_indices('.').map(|(at, _)| at);
        let mut rest = 0;
        let dot = dots.find(|&at| {
            let is_ellipsis = at >= rest && text.get(at..).is_some_and(|t| t.starts_with("..."));
            if is_ellipsis {
                rest = at + 3;
            }
            at >= rest
        });
        let parts = dot.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)));
        let (index, field) = parts.map_or((text, None), |(index, field)| (index, Some(field)));
        Ok(IndexArg { index: index.to_owned(), field: field.map(str::to_owned) })
    }
}

/// Returns whether a text starts with the name of a field, and not with a name that
/// NumPy's notation has.
fn starts_with_name(text: &str) -> bool {
    let is_in_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = text.split(|c| !is_in_name(c)).next().unwrap_or("");
    name.starts_with(|c: char| is_in_name(c) && !c.is_numeric())
        && !["None", "newaxis", "Ellipsis"].contains(&name)
}

/// Selected elements: a view of the file, or a copy if a list selects rows.
pub(crate) enum Selected<'a> {
    View(DynView<'a>),
    Copy(Box<MappedArrayMut>),
}

impl Selected<'_> {
    pub(crate) fn view(&self) -> Result<DynView<'_>> {
        match self {
            Selected::View(view) => Ok(view.clone()),
            Selected::Copy(copy) => copy.dyn_view(),
        }
    }
}

impl IndexArg {
    /// The index that an argument may be where file names are expected.
    pub(crate) fn recognize(text: &str) -> Option<IndexArg> {
        let is_path = text.contains("./") || matches!(text, "-" | "." | "..");
        let is_index = text.starts_with(|c: char| c.is_ascii_digit() || "-:[(.".contains(c))
            || text.starts_with("None")
            || text.starts_with("Ellipsis")
            || text.starts_with("newaxis")
            // Names of files have an extension or directories.
            || starts_with_name(text) && !text.contains(['.', '/', '\\', ':', '[']);
        // Not the field of an index.
        let is_file = [".npy", ".npz", ".ten", ".tar"].iter().any(|end| {
            let name = text.strip_suffix(end).unwrap_or("");
            !name.is_empty() && !name.contains([':', ',', '[', '('])
        });
        if is_index && !is_path && !is_file { text.parse().ok() } else { None }
    }

    /// The index without its field.
    pub(crate) fn without_field(&self) -> IndexArg {
        IndexArg { index: self.index.clone(), field: None }
    }

    /// Selects elements of an array.
    pub(crate) fn select<'a>(&self, all: &DynView<'a>) -> Result<Selected<'a>> {
        let Some(list) = List::parse(&self.index, all.shape())? else {
            let view = all.try_slice(IndexExpr::parse(&self.index, all.shape())?)?;
            return Ok(Selected::View(self.select_field(view)?));
        };
        let whole = all.try_slice(IndexExpr::parse(&list.with_list_replaced(":"), all.shape())?)?;
        let (from, to) = list.result_axes(all.ndim());
        let whole = self.select_field(move_axis(&whole, from, to)?)?;
        copy_rows(&whole, to, &list.rows).map(|copy| Selected::Copy(Box::new(copy)))
    }

    /// The selected parts of an array to write to.
    pub(crate) fn parts(&self, shape: &[usize]) -> Result<Parts> {
        let (texts, list_axis) = match List::parse(&self.index, shape)? {
            None => (vec![self.index.clone()], None),
            Some(list) if list.rows.is_empty() => (vec![list.with_list_replaced("0:0")], None),
            Some(list) => {
                let rows = list.rows.iter();
                let texts = rows.map(|row| list.with_list_replaced(&row.to_string())).collect();
                (texts, Some(list.result_axes(shape.len()).1))
            }
        };
        let indices = texts.iter().map(|text| IndexExpr::parse(text, shape));
        Ok(Parts { indices: indices.collect::<Result<_>>()?, list_axis })
    }

    /// The shape of the selection, whose elements are not read.
    pub(crate) fn shape(&self, all: &DynView<'_>) -> Result<Vec<usize>> {
        let parts = self.parts(all.shape())?;
        let Some(part) = parts.indices.first() else { return Ok(Vec::new()) };
        let mut shape = self.select_field(all.try_slice(part)?)?.shape().to_vec();
        if let Some(axis) = parts.list_axis {
            shape.insert(axis.min(shape.len()), parts.indices.len());
        }
        Ok(shape)
    }

    /// The indices, along each axis of the selection, of the array's axis. Those
    /// of a subarray come after them.
    pub(crate) fn axis_indices(&self, shape: &[usize]) -> Result<Vec<AxisIndices>> {
        let Some(list) = List::parse(&self.index, shape)? else {
            return Ok(axis_indices(&IndexExpr::parse(&self.index, shape)?));
        };
        let mut axes = axis_indices(&IndexExpr::parse(&list.with_list_replaced(":"), shape)?);
        let (from, to) = list.result_axes(shape.len());
        if from < axes.len() {
            axes.remove(from);
        }
        axes.insert(to.min(axes.len()), AxisIndices::List(list.rows));
        Ok(axes)
    }

    /// Returns whether a single element is selected as an array without axes: by `...`, or
    /// as all of an array without axes.
    pub(crate) fn keeps_array(&self) -> bool {
        let has_dots = ["...", "Ellipsis"].iter().any(|dots| self.index.contains(dots));
        has_dots || matches!(self.index.trim(), "" | "()")
    }

    /// Returns whether rows that are appended come after those of the selection, which stay
    /// the same: it starts at a row counted from the first one, and goes up.
    pub(crate) fn grows_at_its_end(&self, shape: &[usize]) -> bool {
        // Longer than any index in the text.
        const ROWS: usize = isize::MAX.unsigned_abs() / 2;
        let first = |rows: usize| {
            let mut shape = shape.to_vec();
            *shape.first_mut()? = rows;
            match *IndexExpr::parse(&self.index, &shape).ok()?.as_ref().first()? {
                SliceInfoElem::Slice { start, step: 1.., .. } => Some(start),
                _ => None,
            }
        };
        self.index.trim().is_empty()
            || first(ROWS).is_some_and(|start| first(ROWS + 1) == Some(start))
    }

    /// The indices in the array of those of the selection.
    pub(crate) fn origins(&self, shape: &[usize]) -> Result<Origins> {
        let list = List::parse(&self.index, shape)?;
        let text = list.as_ref().map_or_else(|| self.index.clone(), |l| l.with_list_replaced(":"));
        let indices = IndexExpr::parse(&text, shape)?;
        let mut lens = shape.iter();
        let mut axes = Vec::new();
        for element in indices.as_ref() {
            let len = match element {
                SliceInfoElem::NewAxis => 0,
                _ => lens.next().copied().unwrap_or(0),
            };
            axes.push(match *element {
                SliceInfoElem::NewAxis => AxisOrigin::New,
                SliceInfoElem::Index(at) => {
                    let at = usize::try_from(at).ok().or_else(|| len.checked_add_signed(at));
                    AxisOrigin::Fixed(at.unwrap_or(0))
                }
                slice @ SliceInfoElem::Slice { .. } => AxisOrigin::Axis(slice_indices(slice)),
            });
        }
        let Some(list) = list else { return Ok(Origins { axes, list: None }) };
        let (from, to) = list.result_axes(shape.len());
        let mut kept = axes.iter_mut().filter(|axis| !matches!(axis, AxisOrigin::Fixed(_)));
        if let Some(axis) = kept.nth(from) {
            *axis = AxisOrigin::Axis(AxisIndices::List(list.rows));
        }
        Ok(Origins { axes, list: Some((to, from)) })
    }

    /// How many indices of the first axis have to be known to print the first
    /// `count` rows of the selection; `None` if that is not obvious.
    pub(crate) fn needed_rows(&self, shape: &[usize], count: usize) -> Option<usize> {
        let all = shape.first().copied()?;
        if self.index.is_empty() {
            return Some(count.min(all));
        }
        if split_items(&self.index).iter().any(|item| item.starts_with('[')) {
            return None;
        }
        let indices = IndexExpr::parse(&self.index, shape).ok()?;
        let needed = match *indices.as_ref().first()? {
            SliceInfoElem::Index(at) => usize::try_from(at).ok()?.saturating_add(1),
            SliceInfoElem::Slice { start, end, step: step @ 1.. } => {
                let step = usize::try_from(step).ok()?;
                let start = usize::try_from(start).ok()?;
                let end = end.and_then(|end| usize::try_from(end).ok()).unwrap_or(all);
                start.saturating_add(count.saturating_mul(step)).min(end)
            }
            SliceInfoElem::Slice { end: Some(end), .. } => usize::try_from(end).ok()?,
            _ => return None,
        };
        Some(needed.min(all))
    }

    /// A range of the first axis that has all selected elements; `None` if that is
    /// not obvious.
    #[cfg(feature = "remote")]
    pub(crate) fn row_range(&self, shape: &[usize]) -> Option<std::ops::Range<usize>> {
        let all = shape.first().copied()?;
        if self.index.is_empty() {
            return Some(0..all);
        }
        if split_items(&self.index).iter().any(|item| item.starts_with('[')) {
            return None;
        }
        let indices = IndexExpr::parse(&self.index, shape).ok()?;
        let [start, end] = match *indices.as_ref().first()? {
            SliceInfoElem::Index(at) => [at, at.checked_add(1)?],
            SliceInfoElem::Slice { start, end: Some(end), .. } => [start, end],
            _ => return None,
        };
        let [start, end] = [usize::try_from(start).ok()?, usize::try_from(end).ok()?];
        (start <= end && end <= all).then_some(start..end)
    }

    /// The field, if one is named.
    pub(crate) fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// The fields that are named, of elements as in `all`; all if none is.
    pub(crate) fn fields(&self, all: &DynView<'_>) -> Fields {
        Fields::parse(self.field(), all)
    }

    fn select_field<'a>(&self, view: DynView<'a>) -> Result<DynView<'a>> {
        self.fields(&view).select(view)
    }
}

/// Parts of an array that are written one after another.
pub(crate) struct Parts {
    /// One part, or one for each integer of a list.
    pub(crate) indices: Vec<IndexExpr>,
    /// The axis of the selection that the parts are along, if a list selects
    /// them.
    pub(crate) list_axis: Option<usize>,
}

/// The indices along each axis that remains.
fn axis_indices(indices: &IndexExpr) -> Vec<AxisIndices> {
    let axes = indices.as_ref().iter();
    axes.filter(|element| !element.is_index()).map(|&element| slice_indices(element)).collect()
}

/// The indices along an axis that remains, or is new.
fn slice_indices(element: SliceInfoElem) -> AxisIndices {
    let (start, step) = match element {
        // ndarray counts negative steps from the end.
        SliceInfoElem::Slice { end: Some(end), step, .. } if step < 0 => (end - 1, step),
        SliceInfoElem::Slice { start, step, .. } => (start, step),
        SliceInfoElem::NewAxis | SliceInfoElem::Index(_) => (0, 1),
    };
    AxisIndices::Slice { start: usize::try_from(start).unwrap_or(0), step }
}

/// An index with a list of integers: `:, [1, 3], 0`.
struct List {
    items: Vec<String>,
    /// The position of the list among the items.
    position: usize,
    /// The integers of the list, counted from the start of the axis.
    rows: Vec<usize>,
}

impl List {
    /// Parses an index; `None` if it has no list.
    fn parse(text: &str, shape: &[usize]) -> Result<Option<List>> {
        let items = split_items(text);
        let Some(position) = items.iter().position(|item| item.starts_with('[')) else {
            return Ok(None);
        };
        if items.iter().filter(|item| item.starts_with('[')).count() > 1 {
            let text = format!("`{text}` has several lists: an index can have one, of integers");
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let mut list = List { items, position, rows: Vec::new() };
        // Rejects all other errors.
        IndexExpr::parse(&list.with_list_replaced(":"), shape)?;
        let item = list.items.get(position).map_or("", String::as_str);
        let inner = item.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let inner = inner.unwrap_or(item).trim();
        let numbers = inner.strip_suffix(',').unwrap_or(inner).split(',').map(str::trim);
        let numbers = numbers.filter(|_| !inner.is_empty());
        list.rows = numbers.map(|number| list.parse_row(number, shape)).collect::<Result<_>>()?;
        Ok(Some(list))
    }

    /// Parses one of the integers.
    fn parse_row(&self, number: &str, shape: &[usize]) -> Result<usize> {
        // Rejects indices out of range.
        IndexExpr::parse(&self.with_list_replaced(number), shape)?;
        let Ok(row) = number.parse::<isize>() else {
            let item = self.items.get(self.position).map_or("", String::as_str);
            return IndexExpr::parse(&format!("[{item}]"), shape).map(|_| 0);
        };
        let dim = shape.get(self.axis(shape.len())).copied().unwrap_or(0);
        Ok(if row < 0 { dim.wrapping_add_signed(row) } else { row.unsigned_abs() })
    }

    /// The index with the list replaced by another item.
    fn with_list_replaced(&self, other: &str) -> String {
        let mut items = self.items.clone();
        if let Some(item) = items.get_mut(self.position) {
            other.clone_into(item);
        }
        items.join(", ")
    }

    /// The items before the list.
    fn items_before(&self) -> &[String] {
        self.items.get(..self.position).unwrap_or_default()
    }

    /// The number of axes that `...` covers among `ndim`.
    fn ellipsis_len(&self, ndim: usize) -> usize {
        let indexed =
            self.items.iter().filter(|item| !["...", "None", "newaxis"].contains(&item.as_str()));
        ndim.saturating_sub(indexed.count())
    }

    /// The axis of the array that the list indexes.
    fn axis(&self, ndim: usize) -> usize {
        self.items_before()
            .iter()
            .map(|item| match item.as_str() {
                "..." => self.ellipsis_len(ndim),
                "None" | "newaxis" => 0,
                _ => 1,
            })
            .sum()
    }

    /// The axis of the list in the result when a `:` replaces it, and the axis
    /// where NumPy puts it: the first one, if slices separate the list from an
    /// integer.
    fn result_axes(&self, ndim: usize) -> (usize, usize) {
        let axis = self
            .items_before()
            .iter()
            .map(|item| match item.as_str() {
                "..." => self.ellipsis_len(ndim),
                item => usize::from(item.parse::<isize>().is_err()),
            })
            .sum();
        let first = self.items.iter().position(|item| is_advanced(item)).unwrap_or(0);
        let last = self.items.iter().rposition(|item| is_advanced(item)).unwrap_or(0);
        let together =
            self.items.get(first..=last).unwrap_or_default().iter().all(|item| is_advanced(item));
        (axis, if together { axis } else { 0 })
    }
}

/// Returns whether an item is a list or an integer. NumPy calls an index with a
/// list, and the integers in it, advanced.
fn is_advanced(item: &str) -> bool {
    item.starts_with('[') || item.parse::<isize>().is_ok()
}

/// The items of an index between its commas. Lists are single items.
fn split_items(text: &str) -> Vec<String> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let mut depth = 0_usize;
    let mut items = vec![String::new()];
    for c in inner.unwrap_or(text).chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match items.last_mut() {
            Some(item) if c != ',' || depth > 0 => item.push(c),
            _ => items.push(String::new()),
        }
    }
    if items.len() > 1 && items.last().is_some_and(|item| item.trim().is_empty()) {
        items.pop();
    }
    let items = items.iter().map(|item| item.trim());
    items.map(|item| if item == "Ellipsis" { "..." } else { item }.to_owned()).collect()
}

/// Moves an axis to another position.
fn move_axis<'a>(view: &DynView<'a>, from: usize, to: usize) -> Result<DynView<'a>> {
    let mut axes: Vec<usize> = (0..view.ndim()).filter(|&axis| axis != from).collect();
    axes.insert(to.min(axes.len()), from);
    view.permuted_axes(&axes)
}

/// Copies some rows along an axis to memory.
fn copy_rows(from: &DynView<'_>, axis: usize, rows: &[usize]) -> Result<MappedArrayMut> {
    let mut shape = from.shape().to_vec();
    if let Some(dim) = shape.get_mut(axis) {
        *dim = rows.len();
    }
    let mut copy = MappedArray::zeros(from.dtype(), &shape)?;
    let mut to = copy.dyn_view_mut()?;
    for (position, &row) in rows.iter().enumerate() {
        let from = from.index_axis(axis, row)?;
        cast::copy_whole(to.reborrow().index_axis(axis, position)?, &from, Casting::Unsafe)?;
    }
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_distinguished_from_a_file_name() {
        for text in [
            "5",
            "-3:",
            "::2.pos.z",
            "[1, 3]",
            "(0, 1)",
            "...",
            ".pos",
            "None, 0",
            "0:10.ten",
            ".tar",
            "temp",
            "temp, sensor",
        ] {
            assert!(IndexArg::recognize(text).is_some(), "{text}");
        }
        for text in [
            "a.npy", "-", ".", "..", "../5", "./5", "dir/5", "2020.npy", "a/b", "s3://a/b", "a[b]",
            "",
        ] {
            assert_eq!(IndexArg::recognize(text), None, "{text}");
        }
    }

    #[test]
    fn rows_of_a_selection_keep_their_indices() {
        for (text, expected) in [
            ("", Vec::new()),
            ("-3:", vec![vec![7, 8, 9]]),
            ("::-4, 1:", vec![vec![9, 5, 1], vec![1, 2, 3]]),
            ("2, -2:", vec![vec![2, 3]]),
            ("None, [4, 0], 1", vec![vec![0], vec![4, 0]]),
            ("Ellipsis, [3, 0]", vec![vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9], vec![3, 0]]),
            (":, [3, 0]", vec![vec![0, 1], vec![3, 0]]),
        ] {
            let index: IndexArg = text.parse().unwrap();
            let axes = index.axis_indices(&[10, 4]).unwrap();
            for (axis, expected) in axes.iter().zip(&expected) {
                let found: Vec<usize> = (0..expected.len()).map(|at| axis.at(at)).collect();
                assert_eq!(found, *expected, "{text}");
            }
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
            let field = field.map(str::to_owned);
            let expected = IndexArg { index: index.to_owned(), field };
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }
}
