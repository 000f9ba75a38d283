//! Structs as tuples: fields by position.

use super::fast_path::{FastPath, sealed::SealedFastPath};
use super::field_codec::FieldCodec;
use super::{Element, short_name, type_mismatch};
use crate::dtype::DType;
use crate::error::Result;

/// The codec of the field at `position`.
fn field_codec<T: Element>(dtype: &DType, position: usize) -> Result<FieldCodec<T::Codec>> {
    let field =
        dtype.fields().get(position).ok_or_else(|| type_mismatch(dtype, short_name::<T>()))?;
    FieldCodec::new::<T>(&field.dtype, Some(field.offset))
}

/// Whether the field at `position` has the kind of a declared one.
fn has_kind<T: Element>(stored: &DType, declared: &DType, position: usize) -> bool {
    let fields = stored.fields().get(position).zip(declared.fields().get(position));
    fields.is_some_and(|(stored, declared)| {
        T::fast_path().has_kinds_of(&stored.dtype, &declared.dtype)
    })
}

/// No fast path, but fields are found by position.
#[derive(Debug)]
struct TupleFastPath;

impl SealedFastPath for TupleFastPath {}

macro_rules! tuple {
    ($count:literal: $($type:ident $position:tt),*) => {
        impl<$($type: Element),*> Element for ($($type,)*) {
            type Codec = (usize, ($(FieldCodec<$type::Codec>,)*));

            fn codec(dtype: &DType) -> Result<Self::Codec> {
                if dtype.fields().len() != $count {
                    return Err(type_mismatch(dtype, short_name::<Self>()));
                }
                Ok((dtype.itemsize(), ($(field_codec::<$type>(dtype, $position)?,)*)))
            }

            fn itemsize(codec: &Self::Codec) -> usize {
                codec.0
            }

            fn decode((_, fields): &Self::Codec, bytes: &[u8]) -> Self {
                ($(fields.$position.decode::<$type>(bytes),)*)
            }

            fn encode(&self, (_, fields): &Self::Codec, bytes: &mut [u8]) -> Result<()> {
                $(fields.$position.encode::<$type>(&self.$position, bytes)?;)*
                Ok(())
            }

            fn fast_path() -> impl FastPath<Self> {
                TupleFastPath
            }
        }

        impl<$($type: Element),*> FastPath<($($type,)*)> for TupleFastPath {
            fn has_kinds_of(&self, stored: &DType, declared: &DType) -> bool {
                $(has_kind::<$type>(stored, declared, $position))&&*
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
