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
    /// The byte order to convert to; `None` keeps that of the file.
    byte_order: Option<ByteOrder>,
    /// The dtype to cast to.
    cast: Option<(DType, Casting)>,
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
        let same_dtype = array.dtype() == self.dtype;
        let byte_order = byte_order_between(array.dtype(), self.dtype).filter(|_| !same_dtype);
        let is_other = byte_order.is_none() && !same_dtype;
        let cast = self.casting.filter(|&casting| array.dtype().can_cast(self.dtype, casting));
        if is_other && cast.is_none() {
            return Err(self.dtype_error(path, array.dtype()));
        }
        let cast = cast.filter(|_| is_other).map(|casting| (self.dtype.clone(), casting));
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
        Ok(InputRows { array, byte_order, cast, count })
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
        let Some((dtype, casting)) = &self.cast else {
            return byte_blocks(&self.array, order, self.byte_order, &mut visit);
        };
        each_block(&self.array, order, &mut |block| cast_blocks(block, dtype, *casting, &mut visit))
    }

    /// How [`array`](InputRows::array) is cast.
    pub(crate) fn casting(&self) -> Casting {
        self.cast.as_ref().map_or(Casting::Equiv, |(_, casting)| *casting)
    }
}

/// The number of all rows; `usize::MAX` for more, which no array can have.
pub(crate) fn count(rows: &[InputRows]) -> usize {
    rows.iter().fold(0, |sum, rows| rows.count.saturating_add(sum))
}

/// The size of all rows that are written, in bytes, as far as it can be counted: for progress.
pub(crate) fn nbytes(rows: &[InputRows]) -> usize {
    let own = |InputRows { array, cast, .. }: &InputRows| {
        let dtype = cast.as_ref().map_or(array.dtype(), |(dtype, _)| dtype);
        dtype.itemsize().saturating_mul(array.len())
    };
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
        return Ok(());
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

/// Calls `visit` with the bytes of all elements in a memory order, block by block, and in
/// a byte order if one is given.
pub(crate) fn byte_blocks(
    array: &MappedArray,
    order: Order,
    bytes: Option<ByteOrder>,
    visit: &mut dyn FnMut(&[u8]) -> npymap::Result<()>,
) -> npymap::Result<()> {
    each_block(array, order, &mut |block| {
        let blocks = block.byte_blocks();
        let blocks = bytes.map_or(blocks.clone(), |bytes| blocks.byte_order(bytes));
        blocks.try_for_each(&mut *visit)
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
