//! Buffers whose length a file or an option decides: not enough memory for one is an
//! error.

use std::io;

use super::{Result, SystemError};

/// Grows or shortens a buffer.
pub(crate) fn resize<T: Clone + Default>(buffer: &mut Vec<T>, len: usize) -> Result<()> {
    if let Some(more) = len.checked_sub(buffer.len()) {
        buffer.try_reserve(more).map_err(|_| out_of_memory::<T>(len))?;
    }
    buffer.resize(len, T::default());
    Ok(())
}

/// A buffer of zeros.
#[inline]
pub(crate) fn zeros(len: usize) -> Result<Vec<u8>> {
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| out_of_memory::<u8>(len))
}

/// An empty vector with room for `count` elements.
pub(crate) fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(count).map_err(|_| out_of_memory::<T>(count))?;
    Ok(elements)
}

/// The error when there is no memory for `count` elements.
pub(crate) fn out_of_memory<T>(count: usize) -> super::Error {
    let len = count.saturating_mul(size_of::<T>());
    SystemError::map("allocate", len, io::ErrorKind::OutOfMemory.into())
}
