//! A selection of an array's elements: `5, ::2.pos.z`.

use std::convert::Infallible;
use std::str::FromStr;

use npymap::array::{Outline, Window};
use npymap::ndarray::SliceInfoElem;
use npymap::view::{DynView, ResolvedIndex};
use npymap::{Error, ErrorKind, IndexExpr, MappedArray, Result, element::Casting};

use crate::input::lengths::{to_isize, with_length};
use crate::input::row_blocks::WHOLE;
use crate::select::cast;
use crate::select::fields::Fields;
use crate::select::origins::{AxisIndices, AxisOrigin, Origins};

/// An index in NumPy's notation, followed by a field path or a list of names, or
/// these alone; or what is wrong with the text, which is an error about each file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexArg(std::result::Result<IndexExpr, String>);

impl Default for IndexArg {
    /// Selects all elements.
    fn default() -> IndexArg {
        IndexArg(Ok(IndexExpr::default()))
    }
}

impl FromStr for IndexArg {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<IndexArg, Infallible> {
        Ok(IndexArg(text.parse().map_err(|error: Error| error.to_string())))
    }
}

/// Selected elements: a part of the file, or in memory if a list selects rows or they are
/// remote.
pub(crate) enum Selected<'a> {
    Part(Outline<'a>),
    Read(Window<'a>),
    /// A copy, or other values in a temporary array.
    Own(Box<MappedArray>),
}

impl Selected<'_> {
    pub(crate) fn outline(&self) -> Outline<'_> {
        match self {
            Selected::Part(part) => part.clone(),
            Selected::Read(window) => window.view().into(),
            Selected::Own(array) => array.outline(),
        }
    }

    /// The array of the outline: its windows are read from it. `file` if it is a part of that.
    pub(crate) fn array<'a>(&'a self, file: &'a MappedArray) -> &'a MappedArray {
        if let Selected::Own(array) = self { array } else { file }
    }
}

impl IndexArg {
    /// The index that an argument may be where file names are expected.
    pub(crate) fn recognize(text: &str) -> Option<IndexArg> {
        let index: IndexArg = text.parse().ok()?;
        let is_path = text.contains("./") || matches!(text, "-" | "." | "..");
        let is_index = text.starts_with(|c: char| c.is_ascii_digit() || "-:[(.".contains(c))
            || text.starts_with("None")
            || text.starts_with("Ellipsis")
            || text.starts_with("newaxis")
            // Names of files have an extension or directories.
            || index.field() == Some(text) && !text.contains(['.', '/', '\\', ':', '[']);
        // Not the field of an index.
        let is_file = [".npy", ".npz", ".ten", ".tar"].iter().any(|end| {
            let name = text.strip_suffix(end).unwrap_or("");
            !name.is_empty() && !name.contains([':', ',', '[', '('])
        });
        (is_index && !is_path && !is_file).then_some(index)
    }

    fn resolve(&self, shape: &[usize]) -> Result<ResolvedIndex> {
        match &self.0 {
            Ok(indices) => indices.resolve(shape),
            Err(text) => Err(Error::new(ErrorKind::InvalidInput, text.clone())),
        }
    }

    /// The index without its field.
    pub(crate) fn without_field(&self) -> IndexArg {
        IndexArg(self.0.as_ref().map(IndexExpr::without_field).map_err(String::clone))
    }

    /// Selects elements of an array, of which `all` is the outline. They are not read yet,
    /// unless they are listed or at a URL.
    pub(crate) fn select<'a>(
        &self,
        array: &'a MappedArray,
        all: &Outline<'a>,
    ) -> Result<Selected<'a>> {
        match self.outline(array, all)? {
            Selected::Part(part) if array.is_remote() => array.window(&part).map(Selected::Read),
            selected => Ok(selected),
        }
    }

    /// As [`select`](IndexArg::select), but elements at a URL are read only if they are
    /// listed.
    pub(crate) fn outline<'a>(
        &self,
        array: &MappedArray,
        all: &Outline<'a>,
    ) -> Result<Selected<'a>> {
        self.select_by(all, |whole, axis, indices| array.window_at(whole, axis, indices))
    }

    /// Selects elements of a view.
    pub(crate) fn select_loaded<'a>(&self, all: &DynView<'a>) -> Result<Selected<'a>> {
        self.select_by(&all.clone().into(), |_, _, _| Ok(None))
    }

    /// Selects elements. `read` brings those at some indices of an axis into memory, unless
    /// they are there.
    fn select_by<'a>(
        &self,
        all: &Outline<'a>,
        read: impl FnOnce(&Outline<'a>, usize, &[usize]) -> Result<Option<Window<'static>>>,
    ) -> Result<Selected<'a>> {
        let ResolvedIndex { slices, list, .. } = self.resolve(all.shape())?;
        let view = all.slice(slices)?;
        let Some(list) = list else { return Ok(Selected::Part(self.select_field(view)?)) };
        let whole = self.select_field(move_axis(&view, list.axis, list.target)?)?;
        if let Some(window) = read(&whole, list.target, &list.indices)? {
            return Ok(Selected::Read(window));
        }
        let copy = copy_rows(&whole.view()?, list.target, &list.indices)?;
        Ok(Selected::Own(Box::new(copy)))
    }

    /// The selected parts of an array to write to.
    pub(crate) fn parts(&self, shape: &[usize]) -> Result<Parts> {
        let ResolvedIndex { slices, list, .. } = self.resolve(shape)?;
        let Some(list) = list else { return Ok(Parts { indices: vec![slices], list_axis: None }) };
        let with_list = |element| {
            let mut slices = slices.clone();
            let mut kept = slices.iter_mut().filter(|element| !element.is_index());
            kept.nth(list.axis).into_iter().for_each(|axis| *axis = element);
            slices
        };
        if list.indices.is_empty() {
            let none = SliceInfoElem::Slice { start: 0, end: Some(0), step: 1 };
            return Ok(Parts { indices: vec![with_list(none)], list_axis: None });
        }
        let rows = list.indices.iter().map(|&row| to_isize(row));
        let indices = rows.map(|row| with_list(SliceInfoElem::Index(row))).collect();
        Ok(Parts { indices, list_axis: Some(list.target) })
    }

    /// The shape of the selection, whose elements are not read.
    pub(crate) fn shape(&self, all: &Outline<'_>) -> Result<Vec<usize>> {
        let parts = self.parts(all.shape())?;
        let Some(part) = parts.indices.first() else { return Ok(Vec::new()) };
        let mut shape = self.select_field(all.slice(part)?)?.shape().to_vec();
        if let Some(axis) = parts.list_axis {
            shape.insert(axis.min(shape.len()), parts.indices.len());
        }
        Ok(shape)
    }

    /// The indices, along each axis of the selection, of the array's axis. Those
    /// of a subarray come after them.
    pub(crate) fn axis_indices(&self, shape: &[usize]) -> Result<Vec<AxisIndices>> {
        let Origins { axes, list } = self.origins(shape)?;
        let kept = axes.into_iter().filter_map(|axis| match axis {
            AxisOrigin::Fixed(_) => None,
            AxisOrigin::New => Some(AxisIndices::Slice { start: 0, step: 1 }),
            AxisOrigin::Axis(axis) => Some(axis),
        });
        let mut kept: Vec<_> = kept.collect();
        if let Some((to, from)) = list.filter(|(_, from)| *from < kept.len()) {
            let axis = kept.remove(from);
            kept.insert(to.min(kept.len()), axis);
        }
        Ok(kept)
    }

    /// Returns whether a single element is selected as an array without axes: by `...`, or
    /// as all of an array without axes.
    pub(crate) fn keeps_array(&self) -> bool {
        self.0.as_ref().is_ok_and(IndexExpr::keeps_array)
    }

    /// Returns whether all indices of the first axis are selected in order, whatever their
    /// number, as the first axis of the selection: `:, 3`. An index that does not suit
    /// the other axes is rejected when it is used.
    pub(crate) fn keeps_rows(&self, inner: &[usize]) -> bool {
        let shape = any_rows(inner);
        match self.first_slice(&shape) {
            Some(SliceInfoElem::Slice { start: 0, end, step: 1 }) => {
                end.is_none_or(|end| usize::try_from(end).ok() == shape.first().copied())
            }
            Some(_) => false,
            None => self.resolve(&shape).is_err(),
        }
    }

    /// The axis of the selection along the first axis of the array; `None` if a single
    /// index of it is selected.
    pub(crate) fn row_axis(&self, inner: &[usize]) -> Option<usize> {
        let Origins { axes, list } = self.origins(&any_rows(inner)).ok()?;
        let is_new = |axis: &&AxisOrigin| matches!(axis, AxisOrigin::New);
        let at = axes.iter().take_while(is_new).count();
        if matches!(axes.get(at), Some(AxisOrigin::Fixed(_))) {
            return None;
        }
        Some(match list {
            Some((to, from)) if from == at => to,
            Some((to, from)) if from > at && to <= at => at + 1,
            _ => at,
        })
    }

    /// Returns whether rows that are appended come after those of the selection, which stay
    /// the same: it starts at a row counted from the first one, and goes up.
    pub(crate) fn grows_at_its_end(&self, shape: &[usize]) -> bool {
        // Longer than any index in the text.
        const ROWS: usize = isize::MAX.unsigned_abs() / 2;
        let first = |rows: usize| match self.first_slice(&with_length(shape, 0, rows))? {
            SliceInfoElem::Slice { start, step: 1.., .. } => Some(start),
            _ => None,
        };
        self.without_field() == IndexArg::default()
            || first(ROWS).is_some_and(|start| first(ROWS + 1) == Some(start))
    }

    /// The indices in the array of those of the selection.
    pub(crate) fn origins(&self, shape: &[usize]) -> Result<Origins> {
        let ResolvedIndex { slices, list, .. } = self.resolve(shape)?;
        let mut lens = shape.iter();
        let mut axes = Vec::new();
        for element in slices {
            let len = match element {
                SliceInfoElem::NewAxis => 0,
                _ => *lens.next().expect("each other element has an axis"),
            };
            axes.push(match element {
                SliceInfoElem::NewAxis => AxisOrigin::New,
                SliceInfoElem::Index(at) => {
                    let at = usize::try_from(at).ok().or_else(|| len.checked_add_signed(at));
                    AxisOrigin::Fixed(at.expect("the index is in range"))
                }
                SliceInfoElem::Slice { start, end, step } => {
                    // ndarray counts negative steps from the end, which is 0 if there are none.
                    let last = |end: isize| end.max(1) - 1;
                    let start = if step < 0 { end.map_or(start, last) } else { start };
                    let start = usize::try_from(start).expect("it was resolved");
                    AxisOrigin::Axis(AxisIndices::Slice { start, step })
                }
            });
        }
        let whole = AxisOrigin::Axis(AxisIndices::Slice { start: 0, step: 1 });
        axes.extend(lens.map(|_| whole.clone()));
        let Some(list) = list else { return Ok(Origins { axes, list: None }) };
        let mut kept = axes.iter_mut().filter(|axis| !matches!(axis, AxisOrigin::Fixed(_)));
        if let Some(axis) = kept.nth(list.axis) {
            *axis = AxisOrigin::Axis(AxisIndices::List(list.indices));
        }
        Ok(Origins { axes, list: Some((list.target, list.axis)) })
    }

    /// How the first axis is selected, unless by a list; `None` also if there is none.
    fn first_slice(&self, shape: &[usize]) -> Option<SliceInfoElem> {
        let resolved = self.resolve(shape).ok().filter(|_| !shape.is_empty())?;
        let is_moved = resolved.list.is_some_and(|list| list.target == 0);
        if is_moved { None } else { Some(resolved.slices.first().copied().unwrap_or(WHOLE)) }
    }

    /// The field, if one is named.
    pub(crate) fn field(&self) -> Option<&str> {
        self.0.as_ref().ok().and_then(IndexExpr::field)
    }

    /// The fields that are named, of elements as in `all`; all if none is.
    pub(crate) fn fields(&self, all: &Outline<'_>) -> Fields {
        Fields::parse(self.field(), all)
    }

    fn select_field<'a>(&self, view: Outline<'a>) -> Result<Outline<'a>> {
        self.fields(&view).select(view)
    }
}

/// The shape of more rows than any text numbers.
fn any_rows(inner: &[usize]) -> Vec<usize> {
    std::iter::once(isize::MAX.unsigned_abs()).chain(inner.iter().copied()).collect()
}

/// Parts of an array that are written one after another.
pub(crate) struct Parts {
    /// One part, or one for each integer of a list.
    pub(crate) indices: Vec<Vec<SliceInfoElem>>,
    /// The axis of the selection that the parts are along, if a list selects
    /// them.
    pub(crate) list_axis: Option<usize>,
}

/// Moves an axis to another position.
fn move_axis<'a>(view: &Outline<'a>, from: usize, to: usize) -> Result<Outline<'a>> {
    let mut axes: Vec<usize> = (0..view.ndim()).filter(|&axis| axis != from).collect();
    axes.insert(to.min(axes.len()), from);
    view.permuted_axes(&axes)
}

/// Copies some rows along an axis to memory.
fn copy_rows(from: &DynView<'_>, axis: usize, rows: &[usize]) -> Result<MappedArray> {
    let mut copy = MappedArray::zeros(from.dtype(), &with_length(from.shape(), axis, rows.len()))?;
    let mut to = copy.dyn_view_mut()?;
    for (position, &row) in rows.iter().enumerate() {
        let from = from.index_axis(axis, row)?;
        cast::copy_whole(to.reborrow().index_axis(axis, position)?, &from, Casting::Unsafe)?;
    }
    copy.into_read_only()
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
}
