//! Rows of a file, copied in any order.

use std::path::Path;

use npymap::{DType, MappedArray, MappedArrayMut, Order, Result, Rows, layout::Layout};

use crate::error::CliError;
use crate::progress::Progress;

/// Opens an array for reading its rows.
pub(crate) fn rows(path: &Path, array: &MappedArray) -> Result<Rows, CliError> {
    array.rows().map_err(CliError::at(path))
}

/// Bytes of a row.
fn nbytes(rows: &Rows) -> usize {
    rows.row_len() * rows.dtype().itemsize()
}

/// An array of some rows, in memory.
pub(crate) fn array(rows: &Rows, indices: &[usize]) -> Result<MappedArray<Vec<u8>>> {
    let mut shape = rows.shape().to_vec();
    if let Some(first) = shape.first_mut() {
        *first = indices.len();
    }
    let layout = Layout::new(rows.dtype().clone(), &shape, Order::C, 0)?;
    let mut bytes = vec![0; layout.nbytes()];
    rows.take_bytes(indices, &mut bytes)?;
    MappedArray::from_parts(bytes, layout)
}

/// Bytes of memory for the index of a row: with its place, by itself, and
/// checked.
const INDEX: usize = 4 * size_of::<usize>();

/// How many rows fit into memory twice, as they are read and as they are
/// written, with the indices that order them.
fn rows_at_once(memory: usize, row: usize) -> usize {
    (memory / row.saturating_mul(2).saturating_add(INDEX)).max(1)
}

/// Writes rows one after another into a new array, with so many bytes in
/// memory at once.
///
/// Rows of a block are read in the order of the file, so that a page that
/// holds several of them is read once.
pub(crate) fn write(
    rows: &Rows,
    mut indices: impl Iterator<Item = usize>,
    to: MappedArrayMut,
    memory: usize,
) -> Result<()> {
    let size = nbytes(rows);
    if size == 0 {
        // There may be any number of rows, and nothing to write for them.
        return to.close();
    }
    let bytes = Layout::new(DType::of::<u8>(), &[to.nbytes()], Order::C, 0)?;
    let mut to = MappedArray::from_parts(to.into_data(), bytes)?;
    let mut progress = Progress::new(to.nbytes());
    let room = rows_at_once(memory, size);
    let (mut sorted, mut block) = (Vec::new(), Vec::new());
    let mut at = 0;
    loop {
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(room.min(rows.len()));
        order.extend(indices.by_ref().take(room).zip(0..));
        if order.is_empty() {
            return to.close();
        }
        order.sort_unstable();
        let from: Vec<usize> = order.iter().map(|(row, _)| *row).collect();
        sorted.resize(from.len() * size, 0);
        block.resize(from.len() * size, 0);
        rows.take_bytes(&from, &mut sorted)?;
        for (row, (_, place)) in sorted.chunks_exact(size).zip(&order) {
            let place = block.get_mut(place * size..(place + 1) * size).unwrap_or_default();
            place.copy_from_slice(row);
        }
        to.write_elements(&[at], &block)?;
        at += block.len();
        progress.add(block.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_of_short_rows_count_as_memory() {
        for row in [1, 2, 8, 4096, 1 << 20] {
            let count = rows_at_once(64 << 20, row);
            assert!(count * (2 * row + INDEX) <= 64 << 20 && count > 0, "{row}: {count}");
        }
        assert_eq!((rows_at_once(100, 1 << 20), rows_at_once(100, usize::MAX)), (1, 1));
    }
}
