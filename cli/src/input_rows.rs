//! Arrays whose elements go behind those of another.

use std::path::Path;

use npymap::{ByteOrder, DType, MappedArray, Order, view::DynView};

use crate::array_path::ArrayPath;
use crate::error::CliError;
use crate::open;
use crate::{archive_output, text};

/// Rows of a file, as another file will store them.
pub(crate) struct InputRows {
    array: MappedArray,
    /// The byte order of the file they are for; `None` keeps their own.
    byte_order: Option<ByteOrder>,
    /// How many there are.
    pub(crate) count: usize,
}

/// What rows have to be.
pub(crate) struct RowSpec<'a> {
    /// The file they are for.
    pub(crate) path: &'a Path,
    pub(crate) dtype: &'a DType,
    /// With any length along `axis`.
    pub(crate) shape: &'a [usize],
    pub(crate) axis: usize,
}

impl RowSpec<'_> {
    /// Opens a file and checks that it has such rows; one without the axis
    /// they are counted on is one.
    pub(crate) fn open(
        &self,
        place: &ArrayPath,
        max_header_len: usize,
    ) -> Result<InputRows, CliError> {
        let path = place.name();
        let array = open::array(place, max_header_len).map_err(CliError::at(path))?;
        let differs = |what: String| CliError::Differs { path: path.to_owned(), what };
        let is_same = array.dtype() == self.dtype;
        let byte_order = byte_order_between(array.dtype(), self.dtype).filter(|_| !is_same);
        if byte_order.is_none() && !is_same {
            let other = self.path.display();
            return Err(differs(format!(
                "dtype {}, but {other} has {}",
                array.dtype(),
                self.dtype
            )));
        }
        let shape = array.shape();
        let others = without(self.shape, self.axis);
        let count = if shape == others {
            Some(1)
        } else if shape.len() == self.shape.len() && without(shape, self.axis) == others {
            shape.get(self.axis).copied()
        } else {
            None
        };
        let Some(count) = count else { return Err(self.other_shape(place, shape)) };
        Ok(InputRows { array, byte_order, count })
    }

    /// Says that an array has another shape than is wanted.
    pub(crate) fn other_shape(&self, place: &ArrayPath, shape: &[usize]) -> CliError {
        let (found, other, own) =
            (text::shape(shape), self.path.display(), text::shape(self.shape));
        let what = format!("shape {found}, but {other} has {own}");
        CliError::Differs { path: place.name().to_owned(), what }
    }
}

impl InputRows {
    /// Hands out their bytes in this order of axes.
    pub(crate) fn blocks(
        &self,
        order: Order,
        done: &mut dyn FnMut(&[u8]) -> npymap::Result<()>,
    ) -> npymap::Result<()> {
        archive_output::in_order(&self.array, order, self.byte_order)?.try_for_each(done)
    }

    pub(crate) fn view(&self) -> npymap::Result<DynView<'_>> {
        self.array.dyn_view()
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// Their bytes.
    pub(crate) fn nbytes(&self) -> usize {
        self.array.nbytes()
    }
}

/// All of the files, or why one of them won't do.
pub(crate) fn all(
    wanted: &RowSpec<'_>,
    places: &[ArrayPath],
    max_header_len: usize,
) -> Result<Vec<InputRows>, CliError> {
    places.iter().map(|place| wanted.open(place, max_header_len)).collect()
}

/// The byte order that makes one dtype another.
fn byte_order_between(from: &DType, to: &DType) -> Option<ByteOrder> {
    let orders = [ByteOrder::Little, ByteOrder::Big];
    orders.into_iter().find(|&order| from.with_byte_order(order) == *to)
}

fn without(shape: &[usize], axis: usize) -> Vec<usize> {
    let others = shape.iter().enumerate().filter(|(at, _)| *at != axis);
    others.map(|(_, &dim)| dim).collect()
}
