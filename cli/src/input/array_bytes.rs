//! The elements of a new array as bytes, which can be written whatever their dtype is.

use npymap::array::{CopyOptions, CopySource};
use npymap::{DType, MappedArrayMut, Order, Result, layout::Layout};

use crate::input::progress::Progress;

/// Writes the elements of a new array in the order of the file.
pub(crate) struct ArrayBytes {
    array: MappedArrayMut,
    written: usize,
}

impl ArrayBytes {
    pub(crate) fn new(array: MappedArrayMut) -> Result<ArrayBytes> {
        Ok(ArrayBytes { array: as_bytes(array)?, written: 0 })
    }

    /// Leaves out the first bytes, which stay zeros.
    pub(crate) fn skipping(self, start: usize) -> ArrayBytes {
        ArrayBytes { written: start, ..self }
    }

    /// Writes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if !bytes.is_empty() {
            self.array.element_writer()?.write(&[self.written], bytes)?;
        }
        self.written += bytes.len();
        Ok(())
    }

    pub(crate) fn close(self) -> Result<()> {
        self.array.close()
    }
}

/// Writes all elements of a new array, with progress.
pub(crate) fn fill(
    mut to: MappedArrayMut,
    from: &impl CopySource,
    options: &CopyOptions,
) -> Result<()> {
    let mut progress = Progress::new(to.nbytes());
    to.write_array(from, options, |bytes| progress.add(bytes))?;
    to.close()
}

/// Reinterprets an array as bytes.
pub(crate) fn as_bytes(array: MappedArrayMut) -> Result<MappedArrayMut> {
    let bytes = Layout::new(DType::of::<u8>(), &[array.nbytes()], Order::C, 0)?;
    array.with_layout(bytes)
}
