//! Sets what an INDEX selects of an array, or of the rows that satisfy a condition: NumPy's
//! `a[numpy.flatnonzero(mask)[rows], …] = value`.

use std::ops::Range;
use std::path::Path;

use npymap::array::Outline;
use npymap::ndarray::SliceInfoElem;
use npymap::{Error, MappedArray, Order, Result, element::Casting, layout::Layout};

use crate::input::lengths::to_isize;
use crate::input::row_blocks::{element, index as index_of};
use crate::select::edited::Edited;
use crate::select::filter::Filter;
use crate::select::matching::whole_rows;
use crate::select::new_value::{NewValue, Target};
use crate::select::selection::IndexArg;

/// Sets the elements that an index selects, of the rows that satisfy a condition if there is
/// one, and returns their number. Nothing is written if `value` does not fit them.
pub(crate) fn set(
    path: &Path,
    edited: &mut Edited,
    (index, filter): (&IndexArg, Option<&Filter>),
    value: &NewValue,
    casting: Casting,
) -> Result<usize> {
    let all = edited.stored.outline();
    let dims = all.shape().to_vec();
    let leading = filter.map_or(0, |filter| filter.leading(all.dtype(), all.ndim()));
    let (leading, inner) = dims.split_at(leading);
    let (mut blocks, mut count, mut shape) = (1, 0, dims.clone());
    if let Some(filter) = filter {
        let rows = whole_rows((path, &edited.stored), &all, filter)?;
        (blocks, count) = (rows.blocks.len(), rows.count()?);
        shape = std::iter::once(count).chain(inner.iter().copied()).collect();
    }
    let parts = index.parts(&shape)?;
    let shape = match filter {
        Some(_) => selected_shape(&all, leading.len(), &shape, index)?,
        None => index.shape(&all)?,
    };
    let values = value.broadcast(&shape, !shape.is_empty() || index.keeps_array())?;
    let (mut set, mut done, mut progress) = (0, 0, edited.progress(&shape));
    for block in 0..blocks {
        // What was written decides about no other row.
        let numbers = match filter {
            Some(filter) => {
                let all = edited.stored.outline();
                Some(whole_rows((path, &edited.stored), &all, filter)?.numbers(block)?.0)
            }
            None => None,
        };
        for (number, part) in parts.indices.iter().enumerate() {
            let values = match (&values, parts.list_axis) {
                (Some(values), Some(axis)) => Some(values.index_axis(axis, number)?),
                (values, _) => values.clone(),
            };
            let mut write = |part: &[SliceInfoElem], values: Option<&Outline<'_>>| {
                let target = Target { part, field: index.field() };
                set += edited.write((value, values), &target, casting, &mut progress)?;
                Ok::<_, Error>(())
            };
            let Some(numbers) = &numbers else {
                write(part, values.as_ref())?;
                continue;
            };
            let part = Part::new(part, count);
            for run in part.runs(numbers, done, leading) {
                let own = values.as_ref().map(|values| values.slice(part.values(&run)));
                write(&part.target(&run), own.transpose()?.as_ref())?;
            }
        }
        done += numbers.map_or(0, |numbers| numbers.len());
    }
    Ok(set)
}

/// The shape of what the index selects of rows that match, which have this shape together.
/// One row is taken for all of them, so that none is copied.
fn selected_shape(
    all: &Outline<'_>,
    leading: usize,
    shape: &[usize],
    index: &IndexArg,
) -> Result<Vec<usize>> {
    if shape.first() == Some(&0) {
        let none = Layout::new(all.dtype().clone(), shape, Order::C, 0)?;
        return index.shape(&MappedArray::from_parts(Vec::new(), none)?.dyn_view()?.into());
    }
    let mut row = vec![SliceInfoElem::Index(0); leading];
    row.push(SliceInfoElem::NewAxis);
    index.shape(&all.slice(row)?.broadcast(shape)?)
}

/// A part of an index of the rows that match.
struct Part<'a> {
    /// How many new axes are before the rows.
    new_axes: usize,
    rows: Range<usize>,
    /// Negative from the end of `rows`.
    step: isize,
    /// Whether `rows` are a single index, not an axis.
    is_single: bool,
    /// What is selected of each row.
    inner: &'a [SliceInfoElem],
}

/// Rows that are next to each other, in the array and in the selection.
struct Run {
    /// The index of the first in the array, along the axes that enumerate rows.
    index: Vec<usize>,
    /// The position of the first in the selection.
    position: usize,
    len: usize,
}

impl<'a> Part<'a> {
    fn new(part: &'a [SliceInfoElem], count: usize) -> Part<'a> {
        let is_new = |element: &&SliceInfoElem| matches!(element, SliceInfoElem::NewAxis);
        let new_axes = part.iter().take_while(is_new).count();
        let at = |at: isize| usize::try_from(at).ok().or_else(|| count.checked_add_signed(at));
        let at = |index| at(index).unwrap_or(count);
        let (rows, step) = match part.get(new_axes) {
            Some(&SliceInfoElem::Index(index)) => (at(index)..at(index) + 1, 1),
            Some(&SliceInfoElem::Slice { start, end, step }) => {
                (at(start)..end.map_or(count, at), step)
            }
            _ => (0..count, 1),
        };
        let is_single = part.get(new_axes).is_some_and(SliceInfoElem::is_index);
        let inner = part.get(new_axes + 1..).unwrap_or_default();
        Part { new_axes, rows, step, is_single, inner }
    }

    /// The rows that are selected of those with these numbers, which are some of the rows that
    /// match, after `before` others.
    fn runs(&self, numbers: &[usize], before: usize, leading: &[usize]) -> Vec<Run> {
        let step = self.step.unsigned_abs();
        let selected = numbers.iter().zip(before..).filter(|(_, at)| self.rows.contains(at));
        let selected = selected.map(|(&number, at)| {
            (number, if self.step < 0 { self.rows.end - 1 - at } else { at - self.rows.start })
        });
        let selected = selected.filter(|(_, distance)| distance.is_multiple_of(step));
        let selected = selected.map(|(number, distance)| (number, distance / step));
        let selected: Vec<(usize, usize)> = selected.collect();
        let last = leading.last().copied().unwrap_or(1).max(1);
        let is_next = |a: &(usize, usize), b: &(usize, usize)| {
            (a.0 + 1, a.1 + 1) == *b && !b.0.is_multiple_of(last)
        };
        let runs = selected.chunk_by(is_next).filter_map(|run| {
            let &(number, position) = run.first()?;
            Some(Run { index: index_of(leading, number), position, len: run.len() })
        });
        runs.collect()
    }

    /// What is selected of a run, in the array.
    fn target(&self, run: &Run) -> Vec<SliceInfoElem> {
        let mut slices = vec![SliceInfoElem::NewAxis; self.new_axes];
        if let Some((&last, outer)) = run.index.split_last() {
            slices.extend(outer.iter().map(|&at| SliceInfoElem::Index(to_isize(at))));
            let single = SliceInfoElem::Index(to_isize(last));
            slices.push(if self.is_single { single } else { element(last..last + run.len) });
        }
        slices.extend(self.inner);
        slices
    }

    /// The values of a run, among those of the part.
    fn values(&self, run: &Run) -> Vec<SliceInfoElem> {
        if self.is_single {
            return Vec::new();
        }
        let mut slices = vec![element(0..1); self.new_axes];
        slices.push(element(run.position..run.position + run.len));
        slices
    }
}
