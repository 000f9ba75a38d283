//! Unique records, which are kept until their number is known.

use std::io::{Read as _, Seek as _};

use npymap::{DType, MappedArrayMut, Result};
use tempfile::SpooledTempFile;

use crate::input::array_bytes::ArrayBytes;
use crate::input::lengths::{to_u64, to_usize};
use crate::input::memory;
use crate::sort::blocks::BLOCK;
use crate::sort::records::{COUNT, Records};

/// The unique records of an array, with the number of times that each occurs.
pub(crate) struct Unique<'a> {
    records: Records<'a>,
    file: SpooledTempFile,
    count: usize,
}

impl<'a> Unique<'a> {
    /// The records that a file has collected.
    pub(super) fn new(records: Records<'a>, mut file: SpooledTempFile) -> Result<Unique<'a>> {
        let count = to_usize(file.stream_position()? / to_u64(records.size + COUNT));
        Ok(Unique { records, file, count })
    }

    /// The dtype and shape of an array of these records, or of structs of a `value` and
    /// its `count`.
    pub(crate) fn dtype_and_shape(&self, with_counts: bool) -> Result<(DType, Vec<usize>)> {
        self.records.dtype_and_shape(self.count, with_counts)
    }

    /// Writes the records to a new array.
    pub(crate) fn write(mut self, to: MappedArrayMut, with_counts: bool) -> Result<()> {
        let mut to = ArrayBytes::new(to)?;
        let size = self.records.size + COUNT;
        let kept = if with_counts { size } else { self.records.size };
        if kept == 0 || self.count == 0 {
            return to.close();
        }
        self.file.rewind()?;
        let mut block = memory::zeros((BLOCK / size).max(1).min(self.count) * size)?;
        let mut values = memory::with_capacity(block.len())?;
        let mut left = self.count;
        while left > 0 {
            // All of them were written to the file.
            block.truncate(left * size);
            self.file.read_exact(&mut block)?;
            left -= block.len() / size;
            values.clear();
            let records = block.chunks_exact(size).filter_map(|record| record.get(..kept));
            records.for_each(|record| values.extend_from_slice(record));
            to.push(&values)?;
        }
        to.close()
    }
}
