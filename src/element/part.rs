//! A part of a struct: where it lies, and how to read it.

use super::fast::FastPath as _;
use super::{Element, item, item_mut};
use crate::dtype::DType;
use crate::error::Result;

/// One field: where it lies, and how to read it.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Part<C> {
    /// Bytes from the start of the struct; `None` for padding, which no field
    /// stands for.
    offset: Option<usize>,
    codec: C,
}

impl<C> Part<C> {
    /// The part that `dtype` says at a byte.
    pub(crate) fn of<T: Element<Codec = C>>(
        dtype: &DType,
        offset: Option<usize>,
    ) -> Result<Part<C>> {
        Ok(Part { offset, codec: T::codec(dtype)? })
    }

    pub(crate) fn codec(&self) -> &C {
        &self.codec
    }

    /// Reads it from the bytes of the struct.
    #[must_use]
    pub fn decode<T: Element<Codec = C>>(&self, bytes: &[u8]) -> T {
        let size = T::itemsize(&self.codec);
        match (self.offset, T::fast_path().padding()) {
            (None, Some(padding)) => padding,
            (offset, _) => {
                let own = offset.map_or(&[][..], |offset| item(bytes, offset..offset + size));
                T::decode(&self.codec, own)
            }
        }
    }

    /// Writes it into the bytes of the struct.
    ///
    /// # Errors
    ///
    /// When it doesn't fit.
    pub fn encode<T: Element<Codec = C>>(&self, value: &T, bytes: &mut [u8]) -> Result<()> {
        let size = T::itemsize(&self.codec);
        let Some(offset) = self.offset else { return Ok(()) };
        value.encode(&self.codec, item_mut(bytes, offset..offset + size))
    }
}
