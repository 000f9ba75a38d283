//! The records to sort: the rows of an array, or its elements.

use std::ops::Range;

use npymap::{DType, MappedArray, Order, Result, array::Outline, layout::Layout};

use crate::input::row_blocks::RowBlocks;

/// The bytes of a count that follows a record.
pub(super) const COUNT: usize = size_of::<u64>();

/// What is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// The rows along the first axis.
    Row,
    /// The elements, whatever the axes.
    Element,
}

/// The records of an array, in C order.
pub(crate) struct Records<'a> {
    array: &'a MappedArray,
    /// What is sorted of it.
    pub(super) part: Outline<'a>,
    /// The axes that enumerate them.
    leading: usize,
    pub(super) dtype: DType,
    /// The shape of a record.
    pub(super) inner: Vec<usize>,
    /// The size of a record, in bytes.
    pub(super) size: usize,
}

impl<'a> Records<'a> {
    pub(super) fn new(array: &'a MappedArray, part: Outline<'a>, unit: Unit) -> Records<'a> {
        let leading = if unit == Unit::Row { 1.min(part.ndim()) } else { part.ndim() };
        let inner = part.shape().split_at(leading).1.to_vec();
        let dtype = part.dtype().clone();
        let size = inner.iter().product::<usize>() * dtype.itemsize();
        Records { array, part, leading, dtype, inner, size }
    }

    fn dims(&self) -> &[usize] {
        self.part.shape().split_at(self.leading).0
    }

    /// The number of records.
    pub(super) fn count(&self) -> usize {
        self.dims().iter().product()
    }

    /// The size of all records, in bytes.
    pub(super) fn nbytes(&self) -> usize {
        self.part.nbytes()
    }

    /// Splits the records into blocks of at most this many.
    pub(super) fn blocks(&self, most: usize) -> RowBlocks {
        RowBlocks::of_size(self.dims(), self.size, self.size * most)
    }

    /// A block, and the numbers of its records.
    pub(super) fn block(
        &self,
        blocks: &RowBlocks,
        number: usize,
    ) -> Result<(Outline<'a>, Range<usize>)> {
        let (slice, rows) = blocks.slice(number, self.part.ndim());
        Ok((self.part.slice(slice)?, rows))
    }

    /// Calls `visit` with a block's records as bytes, part by part.
    pub(super) fn read(&self, block: &Outline<'_>, visit: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.array.for_each_window(block, |window| {
            window.byte_blocks().try_for_each(|part| {
                visit(part);
                Ok(())
            })
        })
    }

    /// Some records as an array, with counts after each if `is_counted`.
    pub(super) fn array<'b>(
        &self,
        bytes: &'b [u8],
        is_counted: bool,
    ) -> Result<MappedArray<&'b [u8]>> {
        let size = self.size + if is_counted { COUNT } else { 0 };
        let (dtype, shape) = self.dtype_and_shape(bytes.len() / size.max(1), is_counted)?;
        MappedArray::from_parts(bytes, Layout::new(dtype, &shape, Order::C, 0)?)
    }

    /// The dtype and shape of an array of some records, or of structs of a `value` and its
    /// `count`: NumPy's name for what `unique_counts` returns.
    pub(super) fn dtype_and_shape(
        &self,
        count: usize,
        is_counted: bool,
    ) -> Result<(DType, Vec<usize>)> {
        if !is_counted {
            return Ok((self.dtype.clone(), [&[count], self.inner.as_slice()].concat()));
        }
        let value = DType::array(self.dtype.clone(), &self.inner)?;
        Ok((DType::packed([(VALUE, value), (COUNTS, "<i8".parse()?)])?, vec![count]))
    }
}

/// The names of the fields of counted records.
pub(super) const VALUE: &str = "value";
const COUNTS: &str = "count";
