//! Copies the rows of a file in any order.

use std::path::Path;

use npymap::{MappedArray, MappedArrayMut, Order, Result, RowSource, layout::Layout};

use crate::input::array_bytes;
use crate::input::error::{At as _, CliError};
use crate::input::lengths::{part, with_length};
use crate::input::memory;
use crate::input::parallel;
use crate::input::progress::Progress;

/// The rows of an array.
pub(crate) type ArrayRows = Box<dyn RowSource>;

/// Opens an array for reading its rows: if it is mapped on demand, they are read.
pub(crate) fn open(path: &Path, array: &MappedArray) -> Result<ArrayRows, CliError> {
    let file = if array.ndim() > 0 { array.to_file().at(path)? } else { None };
    match file {
        Some(file) => Ok(Box::new(file)),
        None => Ok(Box::new(array.rows().at(path)?)),
    }
}

/// The size of a row, in bytes.
pub(crate) fn row_size(rows: &ArrayRows) -> usize {
    rows.row_len() * rows.dtype().itemsize()
}

/// Copies some rows to an array in memory.
pub(crate) fn take(rows: &ArrayRows, indices: &[usize]) -> Result<MappedArray<Vec<u8>>> {
    let shape = with_length(rows.shape(), 0, indices.len());
    let layout = Layout::new(rows.dtype().clone(), &shape, Order::C, 0)?;
    let mut bytes = memory::zeros(layout.nbytes())?;
    rows.take_bytes(indices, &mut bytes)?;
    MappedArray::from_parts(bytes, layout)
}

/// Bytes of memory for the index of a row: with its position, by itself, and as
/// checked by the library.
const INDEX: usize = 4 * size_of::<usize>();

/// How many rows fit into memory, with the indices that order them.
fn rows_per_block(memory: usize, row: usize) -> usize {
    // Both are lengths in memory, of at most 63 bits.
    (memory / (row + INDEX)).max(1)
}

/// How many bytes of rows are written at a time.
const PART: usize = 1 << 20;

/// Writes the rows with these indices to a new array, using about `memory`
/// bytes.
///
/// The rows of a block are read in the order of the file, so that a page that
/// contains several of them is read once. They are written on several threads.
pub(crate) fn write(
    rows: &ArrayRows,
    mut indices: impl Iterator<Item = usize>,
    to: MappedArrayMut,
    memory: usize,
) -> Result<()> {
    let size = row_size(rows);
    if size == 0 {
        // There may be any number of zero-size rows, and nothing to write.
        return to.close();
    }
    let mut to = array_bytes::as_bytes(to)?;
    let mut progress = Progress::new(to.nbytes());
    let room = rows_per_block(memory, size);
    let step = (PART / size).max(1);
    let mut sorted = Vec::new();
    let mut written = 0;
    let writer = to.element_writer()?;
    loop {
        let mut order: Vec<(usize, usize)> = memory::with_capacity(room.min(rows.row_count()))?;
        order.extend(indices.by_ref().take(room).zip(0..));
        if order.is_empty() {
            return to.close();
        }
        order.sort_unstable();
        let mut from: Vec<usize> = memory::with_capacity(order.len())?;
        from.extend(order.iter().map(|(row, _)| *row));
        if sorted.is_empty() {
            // No later block is longer.
            sorted = memory::zeros(from.len() * size)?;
        }
        sorted.truncate(from.len() * size);
        rows.take_bytes(&from, &mut sorted)?;
        // Where the row of each position is.
        for (at, (_, position)) in order.iter().enumerate() {
            if let Some(from) = from.get_mut(*position) {
                *from = at;
            }
        }
        drop(order);
        let row = |at: &usize| part(&sorted, at * size..(at + 1) * size);
        parallel::in_order(
            0..from.len().div_ceil(step),
            |number| {
                let first = number * step;
                let rows_of_part = part(&from, first..from.len().min(first + step));
                let mut block;
                let rows = if let [at] = rows_of_part {
                    row(at)
                } else {
                    block = memory::with_capacity(rows_of_part.len() * size)?;
                    for at in rows_of_part {
                        block.extend_from_slice(row(at));
                    }
                    &block
                };
                writer.write(&[written + first * size], rows)?;
                Ok::<_, npymap::Error>(rows.len())
            },
            |nbytes| {
                progress.add(nbytes);
                Ok(())
            },
        )?;
        written += sorted.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_of_short_rows_count_as_memory() {
        const LONGEST: usize = isize::MAX.unsigned_abs();
        for row in [1, 2, 8, 4096, 1 << 20] {
            let count = rows_per_block(64 << 20, row);
            assert!(count * (row + INDEX) <= 64 << 20 && count > 0, "{row}: {count}");
        }
        assert_eq!((rows_per_block(100, 1 << 20), rows_per_block(100, LONGEST)), (1, 1));
    }
}
