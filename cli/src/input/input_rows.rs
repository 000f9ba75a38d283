//! Arrays whose rows are written to another array.

use std::path::Path;

use npymap::{
    ByteOrder, DType, ErrorKind, MappedArray, Order,
    view::{ByteBlocks, DynView},
};

use crate::input::array_path::ArrayPath;
use crate::input::error::{CliError, VANISHED};
use crate::input::input_args::InputOptions;
use crate::input::{platform, text};

/// Rows of a file, to be written to another one.
pub(crate) struct InputRows {
    array: MappedArray,
    /// The byte order to convert to; `None` keeps that of the file.
    byte_order: Option<ByteOrder>,
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
        let array = options.whole().array(input).map_err(CliError::with_path(path))?;
        let same_dtype = array.dtype() == self.dtype;
        let byte_order = byte_order_between(array.dtype(), self.dtype).filter(|_| !same_dtype);
        if byte_order.is_none() && !same_dtype {
            let other = self.path.display();
            let what = format!("dtype {}, but {other} has {}", array.dtype(), self.dtype);
            return Err(CliError::Mismatch { path: path.to_owned(), what });
        }
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
        Ok(InputRows { array, byte_order, count })
    }

    /// The error for an array of another shape.
    pub(crate) fn shape_error(&self, input: &ArrayPath, shape: &[usize]) -> CliError {
        let (found, other, own) =
            (text::shape(shape), self.path.display(), text::shape(self.shape));
        let what = format!("shape {found}, but {other} has {own}");
        CliError::Mismatch { path: input.name().to_owned(), what }
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
        byte_blocks(&self.array, order, self.byte_order)?.try_for_each(|block| {
            visit(block).map_err(|error| match (self.array.path(), error.io_error()) {
                (Some(path), Some(source)) if platform::is_fault(source) => {
                    npymap::Error::new(ErrorKind::Changed, VANISHED).with_path(path)
                }
                _ => error,
            })
        })
    }

    pub(crate) fn view(&self) -> npymap::Result<DynView<'_>> {
        self.array.dyn_view()
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// The size of all rows, in bytes.
    pub(crate) fn nbytes(&self) -> usize {
        self.array.nbytes()
    }
}

/// Opens all inputs, or returns the error of the first that does not match.
pub(crate) fn open_all(
    spec: &RowSpec<'_>,
    inputs: &[ArrayPath],
    options: InputOptions<'_>,
) -> Result<Vec<InputRows>, CliError> {
    inputs.iter().map(|input| spec.open(input, options)).collect()
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

/// The bytes of all elements in a memory order, and in a byte order if one is
/// given.
pub(crate) fn byte_blocks(
    array: &MappedArray,
    order: Order,
    bytes: Option<ByteOrder>,
) -> npymap::Result<ByteBlocks<'_>> {
    let view = array.dyn_view()?;
    let blocks = match order {
        Order::C => view.byte_blocks(),
        Order::F => view.t().byte_blocks(),
    };
    Ok(match bytes {
        Some(bytes) => blocks.byte_order(bytes),
        None => blocks,
    })
}
