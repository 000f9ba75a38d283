//! The parts of an array that have statistics of their own: its fields, or the
//! columns along an axis.

use std::iter;
use std::ops::Range;
use std::path::Path;

use npymap::MappedArray;
use npymap::array::Outline;
use npymap::ndarray::SliceInfoElem;
use npymap::view::DynView;

use crate::input::error::CliError;
use crate::input::lengths::{part, to_isize};
use crate::input::row_blocks::{self, WHOLE};
use crate::select::leaf_fields;
use crate::stats::scan::{Answer, Ignored, Task};
use crate::stats::tiles;

/// The maximum number of columns: more would not be useful, and might not fit into
/// memory.
const MAX_COLUMNS: usize = 1 << 16;

/// The columns of selected elements, in order.
pub(crate) struct Columns<'a> {
    pub(crate) array: &'a MappedArray,
    all: Outline<'a>,
    /// The fields that are not structs themselves.
    leaves: Vec<(String, Outline<'a>)>,
    axis: Option<usize>,
    /// The ranges of the array's bytes outside the holes of a sparse file, whose elements are
    /// zero and need not be read.
    stored: Vec<Range<usize>>,
}

/// A column, or the part of one in a tile.
pub(crate) struct Column<'v> {
    /// Its position among all columns.
    pub(crate) number: usize,
    /// The name of its field; empty for dtypes without fields.
    pub(crate) field: &'v str,
    /// Its index, with `None` for the axis along which it lies; `None` if
    /// columns are fields only.
    pub(crate) index: Option<Vec<Option<usize>>>,
    pub(crate) part: Outline<'v>,
    /// All elements are zero, and reading them is not necessary.
    pub(crate) is_hole: bool,
}

impl Column<'_> {
    /// Calls `compute` with the elements. If all are zero, it gets only one of them, and
    /// `repeat` its result and their number.
    pub(crate) fn compute<T>(
        &self,
        compute: impl FnOnce(&DynView<'_>) -> npymap::Result<T>,
        repeat: impl FnOnce(T, usize) -> T,
    ) -> npymap::Result<T> {
        if !self.is_hole {
            return compute(&self.part.view()?);
        }
        let count = self.part.len();
        Ok(repeat(tiles::with_zeros(self.part.dtype(), count.min(1), compute)?, count))
    }
}

impl<'a> Columns<'a> {
    /// The columns of `all`, which are elements of `array` or of a copy.
    pub(crate) fn new(
        array: &'a MappedArray,
        all: &Outline<'a>,
        axis: Option<usize>,
    ) -> npymap::Result<Columns<'a>> {
        if let Some(axis) = axis {
            // Fails if the axis is out of range.
            all.split_at(axis, 0)?;
        }
        let leaves = leaf_fields::find_real(all)?;
        // If the holes are not known, everything is read.
        let stored = array.stored_ranges();
        let stored = stored.unwrap_or_else(|_| iter::once(0..array.nbytes()).collect());
        Ok(Columns { array, all: all.clone(), leaves, axis, stored })
    }

    /// Returns whether elements are contiguous and inside a hole.
    fn is_hole(&self, part: &Outline<'_>) -> bool {
        let Some(own) = self.array.byte_range(part) else { return false };
        let next = self.stored.partition_point(|range| range.end <= own.start);
        self.stored.get(next).is_none_or(|range| range.start >= own.end)
    }

    /// The number of columns.
    pub(crate) fn len(&self) -> usize {
        let columns = self.leaves.iter().map(|(_, leaf)| count(leaf.shape(), self.axis));
        // It is only compared, and fields without bytes may have any number.
        columns.fold(0, usize::saturating_add)
    }

    /// Rejects too many columns.
    pub(crate) fn check_count(&self, path: &Path, axis: usize) -> Result<(), CliError> {
        let count = self.len();
        if count <= MAX_COLUMNS {
            return Ok(());
        }
        let text = format!(
            "axis {axis} leaves {count} columns, and at most {MAX_COLUMNS} are summarized: select fewer with INDEX"
        );
        Err(CliError::rejected(path, text))
    }

    /// The results of `work` for each column, whose elements need not be in memory.
    pub(crate) fn each<T>(
        &self,
        work: impl Fn(&Column<'_>) -> npymap::Result<T>,
    ) -> npymap::Result<Vec<T>> {
        let results = self.work_on(&self.leaves, (&[], false), &work)?;
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }

    /// Calls `work` with each part of each column, on several threads, and
    /// `merge` with the column's number and the result, always in the same
    /// order.
    pub(crate) fn pass<T: Send>(
        &self,
        work: impl Fn(&Column<'_>) -> npymap::Result<T> + Sync,
        mut merge: impl FnMut(usize, T),
    ) -> npymap::Result<()> {
        tiles::process(
            &self.all,
            |tile| {
                let is_hole = self.is_hole(&tile.part);
                let window = (!is_hole).then(|| self.array.window(&tile.part)).transpose()?;
                let own = window.as_ref().map(|window| window.view().into());
                let leaves = leaf_fields::find_real(own.as_ref().unwrap_or(&tile.part))?;
                self.work_on(&leaves, (&tile.origin, is_hole), &work)
            },
            |results| results.into_iter().for_each(|(number, result)| merge(number, result)),
        )
    }

    fn work_on<T>(
        &self,
        leaves: &[(String, Outline<'_>)],
        (origin, is_hole): (&[usize], bool),
        work: &impl Fn(&Column<'_>) -> npymap::Result<T>,
    ) -> npymap::Result<Vec<(usize, T)>> {
        let (mut first, mut results) = (0, Vec::new());
        for ((field, whole), (_, leaf)) in self.leaves.iter().zip(leaves) {
            for number in 0..count(leaf.shape(), self.axis) {
                let index = self.axis.map(|axis| index(leaf.shape(), axis, number));
                let own =
                    index.as_deref().map_or(0, |index| column_number(index, origin, whole.shape()));
                let part = column_part(leaf, index.as_deref())?;
                let column = Column { number: first + own, field, index, part, is_hole };
                results.push((column.number, work(&column)?));
            }
            first += count(whole.shape(), self.axis);
        }
        Ok(results)
    }

    /// The results of tasks, each about the column of a number, in one pass. The
    /// tasks are in the order of the columns.
    pub(crate) fn answers(
        &self,
        tasks: &[(usize, Task)],
        ignored: Ignored,
    ) -> npymap::Result<Vec<Answer>> {
        let mut answers: Vec<_> = tasks.iter().map(|(_, task)| task.empty()).collect();
        self.pass(
            |column| {
                let own = part(tasks, of_column(tasks, column.number));
                let results = own.iter().map(|(_, task)| {
                    column.compute(|view| task.compute(view, ignored), Answer::repeated)
                });
                results.collect::<npymap::Result<Vec<_>>>()
            },
            |number, results| {
                let own = answers.get_mut(of_column(tasks, number)).expect("tasks have answers");
                own.iter_mut().zip(results).for_each(|(answer, result)| answer.merge(result));
            },
        )?;
        Ok(answers)
    }
}

/// The tasks about a column.
fn of_column(tasks: &[(usize, Task)], number: usize) -> Range<usize> {
    let start = tasks.partition_point(|(column, _)| *column < number);
    start..tasks.partition_point(|(column, _)| *column <= number)
}

/// The number of columns along an axis.
fn count(shape: &[usize], axis: Option<usize>) -> usize {
    let Some(axis) = axis else { return 1 };
    let kept = shape.iter().enumerate().filter(|(other, _)| *other != axis);
    kept.map(|(_, dim)| dim).product()
}

/// The index of the `number`th column, in C order.
fn index(shape: &[usize], axis: usize, number: usize) -> Vec<Option<usize>> {
    let mut kept = shape.to_vec();
    kept.remove(axis);
    let mut index: Vec<_> = row_blocks::index(&kept, number).into_iter().map(Some).collect();
    index.insert(axis, None);
    index
}

/// The number of a column in the whole array, given its index relative to
/// `origin`.
fn column_number(index: &[Option<usize>], origin: &[usize], shape: &[usize]) -> usize {
    let origins = origin.iter().copied().chain(iter::repeat(0));
    let axes = index.iter().zip(shape).zip(origins);
    axes.fold(0, |number, ((at, dim), origin)| match at {
        Some(at) => number * dim + origin + at,
        None => number,
    })
}

/// The column at an index, or all of them.
fn column_part<'a>(
    leaf: &Outline<'a>,
    index: Option<&[Option<usize>]>,
) -> npymap::Result<Outline<'a>> {
    let Some(index) = index else { return Ok(leaf.clone()) };
    let element = |at: &Option<usize>| at.map_or(WHOLE, |at| SliceInfoElem::Index(to_isize(at)));
    leaf.slice(index.iter().map(element).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_tiles_are_numbered_as_in_the_whole_array() {
        let shape = [2, 3, 4];
        for axis in 0..3 {
            for number in 0..count(&shape, Some(axis)) {
                let index = index(&shape, axis, number);
                assert_eq!(index.get(axis), Some(&None));
                assert_eq!(column_number(&index, &[0, 0, 0], &shape), number);
            }
        }
        // The column at (1, 1) of a tile that starts at (0, 1, 2).
        assert_eq!(column_number(&[None, Some(1), Some(1)], &[0, 1, 2], &shape), 11);
    }
}
