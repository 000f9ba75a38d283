//! Arrays whose rows are written to another array.

use std::path::Path;

use npymap::{ByteOrder, DType, ErrorKind, MappedArray, Order, element::Casting, view::DynView};

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError, VANISHED};
use crate::input::input_args::InputOptions;
use crate::input::lengths::first_len;
use crate::input::promotion::promote;
use crate::input::{platform, text};

/// Rows of a file, to be written to another one.
pub(crate) struct InputRows {
    /// Of which parts are brought into memory.
    pub(crate) array: MappedArray,
    /// The dtype that they are written with, and how they are cast to it.
    dtype: DType,
    pub(crate) casting: Casting,
    /// The number of rows.
    pub(crate) count: usize,
}

/// The dtype and shape that rows must have.
pub(crate) struct RowSpec<'a> {
    /// The file that has them.
    pub(crate) path: &'a Path,
    pub(crate) dtype: &'a DType,
    /// The length along `axis` may differ.
    pub(crate) shape: &'a [usize],
    pub(crate) axis: usize,
    /// How other dtypes are cast to this one.
    pub(crate) casting: Option<Casting>,
}

impl RowSpec<'_> {
    /// Opens an array and checks its dtype and shape. An array without the axis
    /// is a single row.
    pub(crate) fn open(
        &self,
        input: &ArrayPath,
        options: InputOptions<'_>,
    ) -> Result<InputRows, CliError> {
        let path = input.name();
        let array = options.whole().array(input).at(path)?;
        let (own, dtype) = (array.dtype(), self.dtype);
        let casting = if own == dtype || byte_order_between(own, dtype).is_some() {
            Casting::Equiv
        } else {
            let allowed = self.casting.filter(|&casting| own.can_cast(dtype, casting));
            allowed.ok_or_else(|| self.dtype_error(path, own))?
        };
        let shape = array.shape();
        let others = remove_axis(self.shape, self.axis);
        let count = if shape == others {
            Some(1)
        } else if shape.len() == self.shape.len() && remove_axis(shape, self.axis) == others {
            shape.get(self.axis).copied()
        } else {
            None
        };
        let Some(count) = count else { return Err(self.shape_error(input, shape)) };
        Ok(InputRows { array, dtype: dtype.clone(), casting, count })
    }

    /// The error for an array of another dtype, which names the option that casts it.
    fn dtype_error(&self, path: &Path, found: &DType) -> CliError {
        let own = self.dtype;
        let advice = match promote(found, own) {
            Some(both) if byte_order_between(&both, own).is_some() => ": --promote casts it".into(),
            Some(both) => format!(
                ": --dtype casts it if no value changes, and `npymap concat --promote` joins both \
                 as {both}"
            ),
            None => String::new(),
        };
        let what = format!("dtype {found}, but {} has {own}{advice}", self.path.display());
        CliError::mismatch(path, what)
    }

    /// The error for an array of another shape.
    pub(crate) fn shape_error(&self, input: &ArrayPath, shape: &[usize]) -> CliError {
        let (found, other, own) =
            (text::shape(shape), self.path.display(), text::shape(self.shape));
        let what = format!("shape {found}, but {other} has {own}");
        CliError::mismatch(input.name(), what)
    }
}

impl InputRows {
    /// Calls `visit` with the bytes of the rows, block by block, in the given
    /// memory order.
    pub(crate) fn blocks(
        &self,
        order: Order,
        visit: &mut dyn FnMut(&[u8]) -> npymap::Result<()>,
    ) -> npymap::Result<()> {
        let mut visit = |block: &[u8]| {
            visit(block).map_err(|error| match (self.array.path(), error.io_error()) {
                (Some(path), Some(source)) if platform::is_fault(source) => {
                    npymap::Error::new(ErrorKind::Changed, VANISHED).with_path(path)
                }
                _ => error,
            })
        };
        byte_blocks(&self.array, order, (&self.dtype, self.casting), &mut visit)
    }
}

/// The number of all rows; `usize::MAX` for more, which no array can have.
pub(crate) fn count(rows: &[InputRows]) -> usize {
    rows.iter().fold(0, |sum, rows| rows.count.saturating_add(sum))
}

/// The size of all rows that are written, in bytes, as far as it can be counted: for progress.
pub(crate) fn nbytes(rows: &[InputRows]) -> usize {
    let own = |rows: &InputRows| rows.dtype.itemsize().saturating_mul(rows.array.len());
    rows.iter().map(own).fold(0, usize::saturating_add)
}

/// Opens all inputs, or returns the error of the first that does not match.
pub(crate) fn open_all(
    spec: &RowSpec<'_>,
    inputs: &[ArrayPath],
    options: InputOptions<'_>,
) -> Result<Vec<InputRows>, CliError> {
    inputs.iter().map(|input| spec.open(input, options)).collect()
}

/// Bytes that are cast at a time.
const STEP: usize = 16 << 20;

/// Calls `visit` with the bytes of all elements in C order, cast block by block.
fn cast_blocks(
    view: &DynView<'_>,
    dtype: &DType,
    casting: Casting,
    visit: &mut dyn FnMut(&[u8]) -> npymap::Result<()>,
) -> npymap::Result<()> {
    if view.is_empty() || dtype.itemsize() == 0 {
        // Only the dtypes are checked.
        let from = MappedArray::zeros(view.dtype(), &[0])?;
        let mut to = MappedArray::zeros(dtype, &[0])?;
        return to.dyn_view_mut()?.assign_as(&from.dyn_view()?, casting);
    }
    let rows = first_len(view.shape());
    // A dtype may be of any size.
    let row = (view.len() / rows).saturating_mul(view.itemsize().max(dtype.itemsize()));
    if row > STEP && view.ndim() > 1 {
        return view.outer_iter().try_for_each(|row| cast_blocks(&row, dtype, casting, visit));
    }
    let mut block = |block: &DynView<'_>| {
        let mut cast = MappedArray::zeros(dtype, block.shape())?;
        cast.dyn_view_mut()?.assign_as(block, casting)?;
        visit(cast.as_bytes()?)
    };
    if view.ndim() == 0 {
        return block(view);
    }
    view.axis_chunks(0, (STEP / row.max(1)).max(1))?.try_for_each(|part| block(&part))
}

/// The byte order that turns one dtype into the other, if there is one: fields
/// that differ in byte order are not converted one by one.
fn byte_order_between(from: &DType, to: &DType) -> Option<ByteOrder> {
    let orders = [ByteOrder::Little, ByteOrder::Big];
    orders.into_iter().find(|&order| from.with_byte_order(order) == *to)
}

fn remove_axis(shape: &[usize], axis: usize) -> Vec<usize> {
    let others = shape.iter().enumerate().filter(|(at, _)| *at != axis);
    others.map(|(_, &dim)| dim).collect()
}

/// Calls `visit` with the bytes that all elements have in a dtype, in a memory order, block by
/// block.
pub(crate) fn byte_blocks(
    array: &MappedArray,
    order: Order,
    (dtype, casting): (&DType, Casting),
    visit: &mut dyn FnMut(&[u8]) -> npymap::Result<()>,
) -> npymap::Result<()> {
    let is_same = array.dtype() == dtype;
    let bytes = byte_order_between(array.dtype(), dtype);
    each_block(array, order, &mut |block| match bytes {
        _ if is_same => block.byte_blocks().try_for_each(&mut *visit),
        Some(bytes) => block.byte_blocks().byte_order(bytes).try_for_each(&mut *visit),
        None => cast_blocks(block, dtype, casting, visit),
    })
}

/// Calls `visit` with parts of all elements, which are in memory meanwhile. Their elements
/// are one after another in this memory order.
pub(crate) fn each_block(
    array: &MappedArray,
    order: Order,
    visit: &mut dyn FnMut(&DynView<'_>) -> npymap::Result<()>,
) -> npymap::Result<()> {
    let all = array.outline();
    let all = if order == Order::F { all.t() } else { all };
    array.for_each_window(&all, visit)
}
