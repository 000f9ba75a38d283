//! What an INDEX selects of the rows that satisfy a condition, as if the array had no
//! others: NumPy's `a[mask][INDEX]`.

use std::path::Path;

use npymap::array::Outline;
use npymap::{CreateOptions, DType, MappedArray, Result, element::Casting};

use crate::input::error::{At as _, CliError};
use crate::input::open::Temporary;
use crate::select::fields::Fields;
use crate::select::filter::Filter;
use crate::select::limits;
use crate::select::origins::AxisIndices;
use crate::select::rows::{RowSelection, SomeRows};
use crate::select::selection::IndexArg;

/// Calls `process` with the selected rows of an array. `names` are fields of the selection.
pub(crate) fn with_rows<T>(
    path: &Path,
    array: &MappedArray,
    (index, names): (&IndexArg, &[String]),
    filter: Option<&Filter>,
    process: impl FnOnce(&RowSelection<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let all = array.outline();
    let (own, fields) = match names {
        [] => (index.without_field(), index.fields(&all)),
        names => (index.clone(), Fields(names.to_vec())),
    };
    let copy;
    let (array, all, is_single) = match filter {
        None => (array, all, false),
        Some(filter) => {
            let (rows, is_selected) = matching((path, array), &all, filter, (&own, &fields))?;
            if is_selected {
                return process(&rows);
            }
            copy = copy_rows(&rows)?;
            (&copy, copy.outline(), own.row_axis(inner(&all, filter)) != Some(0))
        }
    };
    let selected = own.select(array, &all).at(path)?;
    let mut rows = RowSelection::all(path, Some(array), selected.outline(), fields).at(path)?;
    rows.is_single = is_single;
    process(&rows)
}

/// The rows that satisfy a condition, in a temporary array, because memory does not limit
/// their number, and what is left to select of them. Without a condition, the array.
pub(crate) fn copy_matching(
    path: &Path,
    array: MappedArray,
    index: Option<&IndexArg>,
    filter: Option<&Filter>,
) -> Result<(MappedArray, Option<IndexArg>), CliError> {
    let Some(filter) = filter else { return Ok((array, index.cloned())) };
    let all = array.outline();
    let index = index.cloned().unwrap_or_default();
    let selection = (&index.without_field(), &index.fields(&all));
    let (rows, is_selected) = matching((path, &array), &all, filter, selection)?;
    Ok((copy_rows(&rows)?, (!is_selected).then_some(index)))
}

/// The rows that satisfy a condition, and whether they are what the index selects of them:
/// otherwise, it is still to be applied to a copy of them.
fn matching<'a>(
    (path, array): (&'a Path, &'a MappedArray),
    all: &Outline<'a>,
    filter: &'a Filter,
    (index, fields): (&IndexArg, &Fields),
) -> Result<(RowSelection<'a>, bool), CliError> {
    limits::check_count(path, all.itemsize(), all.len())?;
    let is_selected = index.keeps_rows(inner(all, filter));
    let (own, fields) = if is_selected {
        (index.clone(), fields.clone())
    } else {
        (IndexArg::default(), Fields::default())
    };
    let rows = RowSelection::new((path, Some(array)), all.clone(), Some(filter), own, fields);
    Ok((rows.at(path)?, is_selected))
}

/// Calls `print` with an array, the elements that are selected of it, the indices that they
/// have in the array, and whether there are more rows. Of rows that satisfy a condition,
/// there may only be those that are shown; where several axes enumerate them, they are
/// numbered consecutively.
pub(crate) fn with_table(
    path: &Path,
    (array, all): (&MappedArray, &Outline<'_>),
    index: &IndexArg,
    filter: Option<&Filter>,
    shown: impl FnOnce(&RowSelection<'_>) -> Result<SomeRows>,
    print: impl FnOnce(&MappedArray, Outline<'_>, Vec<AxisIndices>, bool) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let Some(filter) = filter else {
        let axes = index.axis_indices(all.shape()).at(path)?;
        let selected = index.outline(array, all).at(path)?;
        return print(array, selected.outline(), axes, false);
    };
    let selection = (&index.without_field(), &index.fields(all));
    let (rows, is_selected) = matching((path, array), all, filter, selection)?;
    let (copy, some);
    let (array, rows, numbers, has_more) = if is_selected {
        some = shown(&rows).at(path)?;
        (array, some.array.dyn_view().at(path)?.into(), some.numbers, some.has_more)
    } else {
        let mut numbers = Vec::new();
        let found = rows.each_match(|of_block| {
            numbers.extend(of_block);
            Ok(())
        });
        found.at(path)?;
        copy = copy_rows(&rows)?;
        (&copy, copy.outline(), numbers, false)
    };
    let mut axes = index.axis_indices(rows.shape()).at(path)?;
    let selected = index.outline(array, &rows).at(path)?;
    let part = selected.outline();
    if let Some(of_rows) = index.row_axis(inner(all, filter))
        && let (Some(rows), Some(&len)) = (axes.get_mut(of_rows), part.shape().get(of_rows))
    {
        let found = (0..len).filter_map(|at| numbers.get(rows.at(at)).copied());
        *rows = AxisIndices::List(found.collect());
    }
    print(array, part, axes, has_more)
}

/// Returns whether an index selects all rows that satisfy the condition, in order.
pub(crate) fn keeps_rows(all: &Outline<'_>, index: &IndexArg, filter: &Filter) -> bool {
    index.keeps_rows(inner(all, filter))
}

/// How many rows an index of the first axis has.
pub(crate) fn rows_per_index(all: &Outline<'_>, filter: &Filter) -> usize {
    all.shape().iter().take(filter.leading(all.dtype(), all.ndim())).skip(1).product()
}

/// The lengths of the axes of a row.
fn inner<'v>(all: &'v Outline<'_>, filter: &Filter) -> &'v [usize] {
    all.shape().split_at(filter.leading(all.dtype(), all.ndim())).1
}

/// The whole rows that satisfy a condition.
pub(crate) fn whole_rows<'a>(
    (path, array): (&'a Path, &'a MappedArray),
    all: &Outline<'a>,
    filter: &'a Filter,
) -> Result<RowSelection<'a>> {
    let (index, fields) = (IndexArg::default(), Fields::default());
    RowSelection::new((path, Some(array)), all.clone(), Some(filter), index, fields)
}

/// Copies selected rows to a temporary array.
pub(crate) fn copy_rows(rows: &RowSelection<'_>) -> Result<MappedArray, CliError> {
    let (dtype, shape) = rows.dtype_and_shape().at(rows.path)?;
    copy_as(rows, &dtype, &shape, Casting::Equiv)
}

/// As [`copy_rows`], cast to a dtype.
pub(crate) fn copy_as(
    rows: &RowSelection<'_>,
    dtype: &DType,
    shape: &[usize],
    casting: Casting,
) -> Result<MappedArray, CliError> {
    let path = rows.path;
    let file = Temporary::new().map_err(CliError::io(path, "create a copy of"))?;
    rows.write(file.create(dtype, shape, &CreateOptions::new()).at(path)?, path, casting)?;
    file.open().at(path)
}
