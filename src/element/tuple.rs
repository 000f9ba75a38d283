//! Structs as tuples, by position.

use super::part::Part;
use super::{Element, short_name, unfit};
use crate::dtype::DType;
use crate::error::Result;

/// The field at a position.
fn part<T: Element>(dtype: &DType, position: usize) -> Result<Part<T::Codec>> {
    let field = dtype.fields().get(position).ok_or_else(|| unfit(dtype, short_name::<T>()))?;
    Part::of::<T>(&field.dtype, Some(field.offset))
}

macro_rules! tuple {
    ($count:literal: $($type:ident $position:tt),*) => {
        impl<$($type: Element),*> Element for ($($type,)*) {
            type Codec = (usize, ($(Part<$type::Codec>,)*));

            fn codec(dtype: &DType) -> Result<Self::Codec> {
                if dtype.fields().len() != $count {
                    return Err(unfit(dtype, short_name::<Self>()));
                }
                Ok((dtype.itemsize(), ($(part::<$type>(dtype, $position)?,)*)))
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
