//! Reading and writing one field of a struct.

use super::fast_path::FastPath as _;
use super::{Element, item, item_mut};
use crate::dtype::DType;
use crate::error::Result;

/// Where a field is in its struct, and the codec of its elements.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct FieldCodec<C> {
    /// Bytes from the start of the struct. Returns `None` for a
    /// [`Pad`](super::Pad), which has no field in the dtype.
    offset: Option<usize>,
    pub(crate) codec: C,
}

impl<C> FieldCodec<C> {
    /// The codec of a field of dtype `dtype`, at `offset` in its struct.
    pub(crate) fn new<T: Element<Codec = C>>(
        dtype: &DType,
        offset: Option<usize>,
    ) -> Result<FieldCodec<C>> {
        Ok(FieldCodec { offset, codec: T::codec(dtype)? })
    }

    /// Reads the field from the bytes of the struct.
    #[must_use]
    pub fn decode<T: Element<Codec = C>>(&self, bytes: &[u8]) -> T {
        let size = T::itemsize(&self.codec);
        match (self.offset, T::fast_path().padding()) {
            (None, Some(padding)) => padding,
            (offset, _) => {
                let field = offset.map_or(&[][..], |offset| item(bytes, offset..offset + size));
                T::decode(&self.codec, field)
            }
        }
    }

    /// Writes the field to the bytes of the struct.
    ///
    /// # Errors
    ///
    /// When the value does not fit the field.
    pub fn encode<T: Element<Codec = C>>(&self, value: &T, bytes: &mut [u8]) -> Result<()> {
        let size = T::itemsize(&self.codec);
        let Some(offset) = self.offset else { return Ok(()) };
        value.encode(&self.codec, item_mut(bytes, offset..offset + size))
    }
}
