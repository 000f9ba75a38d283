//! Subarrays as Rust arrays, and any element of `N` bytes as `[u8; N]`.

use std::array;

use bytemuck::Pod;

use super::fast_path::{FastPath, items, sealed::SealedFastPath};
use super::{Element, InPlace, Typed, item, item_mut};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::ElementFormat;

impl<T: Element, const N: usize> Element for [T; N] {
    type Codec = T::Codec;

    fn codec(dtype: &DType) -> Result<T::Codec> {
        T::fast_path().array_codec(dtype, N)
    }

    fn itemsize(codec: &T::Codec) -> usize {
        N * T::itemsize(codec)
    }

    fn decode(codec: &T::Codec, bytes: &[u8]) -> [T; N] {
        let size = T::itemsize(codec);
        array::from_fn(|i| T::decode(codec, item(bytes, i * size..(i + 1) * size)))
    }

    fn encode(&self, codec: &T::Codec, bytes: &mut [u8]) -> Result<()> {
        let size = T::itemsize(codec);
        self.iter().enumerate().try_for_each(|(i, value)| {
            value.encode(codec, item_mut(bytes, i * size..(i + 1) * size))
        })
    }

    fn fast_path() -> impl FastPath<Self> {
        ArrayFastPath
    }
}

/// The fast path of arrays: that of their elements.
#[derive(Debug)]
struct ArrayFastPath;

impl SealedFastPath for ArrayFastPath {}

impl<T: Element, const N: usize> FastPath<[T; N]> for ArrayFastPath {
    fn is_exact(&self, codec: &T::Codec) -> bool {
        T::fast_path().is_exact(codec)
    }

    fn mismatch(&self, codec: &T::Codec) -> Option<Error> {
        T::fast_path().mismatch(codec)
    }

    fn has_kinds_of(&self, stored: &DType, declared: &DType) -> bool {
        let items = items(stored, declared);
        items.is_some_and(|(stored, declared)| T::fast_path().has_kinds_of(stored, declared))
    }

    fn bytes_of<'a>(&self, codec: &T::Codec, values: &'a [[T; N]]) -> Option<&'a [u8]> {
        // Flattening zero-sized arrays can overflow the length.
        if size_of::<[T; N]>() == 0 {
            return None;
        }
        T::fast_path().bytes_of(codec, values.as_flattened())
    }

    fn copy_target<'a>(
        &self,
        codec: &T::Codec,
        values: &'a mut [[T; N]],
    ) -> Option<(ElementFormat, &'a mut [u8])> {
        if size_of::<[T; N]>() == 0 {
            return None;
        }
        let (format, bytes) = T::fast_path().copy_target(codec, values.as_flattened_mut())?;
        Some((ElementFormat { size: N * format.size, ..format }, bytes))
    }

    #[inline]
    fn always_fits(&self, codec: &T::Codec) -> bool {
        T::fast_path().always_fits(codec)
    }

    fn exact_name(&self, codec: &T::Codec) -> String {
        format!("[{}; {N}]", T::fast_path().exact_name(codec))
    }
}

impl<T: InPlace, const N: usize> InPlace for [T; N]
where
    [T; N]: Pod,
{
    fn is_in_place(codec: &T::Codec) -> bool {
        T::is_in_place(codec)
    }
}

/// A subarray. If `T` is also an array, the subarray has an axis for each.
///
/// # Panics
///
/// If the array has more than 2³¹ − 1 bytes, or `T` has none.
impl<T: Typed, const N: usize> Typed for [T; N] {
    fn dtype() -> DType {
        let inner = T::dtype();
        let (base, rest) = inner.subarray().unwrap_or((&inner, &[]));
        let shape: Vec<usize> = std::iter::once(N).chain(rest.iter().copied()).collect();
        match DType::array(base.clone(), &shape) {
            Ok(dtype) => dtype,
            Err(error) => panic!("{error}"),
        }
    }
}
