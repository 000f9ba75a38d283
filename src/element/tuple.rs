//! Structs as tuples, by position.

use super::{Element, short_name, unfit};
use crate::dtype::DType;
use crate::error::Result;

/// One field: where it lies, and how to read it.
#[derive(Clone, Debug)]
pub struct Part<C> {
    offset: usize,
    codec: C,
}

impl<C> Part<C> {
    fn of<T: Element<Codec = C>>(dtype: &DType, position: usize) -> Result<Part<C>> {
        let field = dtype.fields().get(position).ok_or_else(|| unfit(dtype, short_name::<T>()))?;
        Ok(Part { offset: field.offset, codec: T::codec(&field.dtype)? })
    }

    fn decode<T: Element<Codec = C>>(&self, bytes: &[u8]) -> T {
        let end = self.offset + T::itemsize(&self.codec);
        T::decode(&self.codec, bytes.get(self.offset..end).unwrap_or_default())
    }

    fn encode<T: Element<Codec = C>>(&self, value: &T, bytes: &mut [u8]) -> Result<()> {
        let end = self.offset + T::itemsize(&self.codec);
        value.encode(&self.codec, bytes.get_mut(self.offset..end).unwrap_or_default())
    }
}

macro_rules! tuple {
    ($count:literal: $($type:ident $position:tt),*) => {
        impl<$($type: Element),*> Element for ($($type,)*) {
            type Codec = (usize, ($(Part<$type::Codec>,)*));

            fn codec(dtype: &DType) -> Result<Self::Codec> {
                if dtype.fields().len() != $count {
                    return Err(unfit(dtype, short_name::<Self>()));
                }
                Ok((dtype.itemsize(), ($(Part::of::<$type>(dtype, $position)?,)*)))
            }

            fn itemsize(codec: &Self::Codec) -> usize {
                codec.0
            }

            fn decode((_, parts): &Self::Codec, bytes: &[u8]) -> Self {
                ($(parts.$position.decode::<$type>(bytes),)*)
            }

            fn encode(&self, (_, parts): &Self::Codec, bytes: &mut [u8]) -> Result<()> {
                $(parts.$position.encode::<$type>(&self.$position, bytes)?;)*
                Ok(())
            }
        }
    };
}

tuple!(1: A 0);
tuple!(2: A 0, B 1);
tuple!(3: A 0, B 1, C 2);
tuple!(4: A 0, B 1, C 2, D 3);
tuple!(5: A 0, B 1, C 2, D 3, E 4);
tuple!(6: A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(7: A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuple!(9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuple!(10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuple!(11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuple!(12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
