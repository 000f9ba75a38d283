//! Reading, writing and borrowing many elements at once.

use bytemuck::allocation::try_zeroed_vec;
use bytemuck::{Pod, Zeroable};

use super::{Element, InPlace, subarray_codec};
use crate::dtype::{DType, Kind};
use crate::error::{Error, Result, memory, plural};
use crate::kernel::ElementFormat;

/// Operations on many elements of type `T` at once. Sealed: types choose one of
/// the implementations here with [`Element::fast_path`].
pub trait FastPath<T: Element>: sealed::SealedFastPath {
    /// Returns a value, if the type is padding, which has no field in the
    /// dtype.
    fn padding(&self) -> Option<T> {
        None
    }

    /// Returns whether stored elements are values of this type, regardless of
    /// their address.
    fn is_exact(&self, _: &T::Codec) -> bool {
        false
    }

    /// Returns why stored elements are not values of this type, if the reason
    /// is more specific than their byte order.
    fn mismatch(&self, _: &T::Codec) -> Option<Error> {
        None
    }

    /// Borrows contiguous elements if they are exact and aligned.
    fn borrow<'a>(&self, _: &T::Codec, _: &'a [u8]) -> Option<&'a [T]> {
        None
    }

    /// Returns the stored form of `values`, if they have it in memory.
    fn bytes_of<'a>(&self, _: &T::Codec, _: &'a [T]) -> Option<&'a [u8]> {
        None
    }

    /// Returns the format to copy stored bytes with and the memory of `values`
    /// to copy them to, if any bytes are valid values.
    fn copy_target<'a>(
        &self,
        _: &T::Codec,
        _: &'a mut [T],
    ) -> Option<(ElementFormat, &'a mut [u8])> {
        None
    }

    /// Returns whether encoding a value can't fail.
    #[inline]
    fn always_fits(&self, _: &T::Codec) -> bool {
        false
    }

    /// Returns zeros without touching the memory, if bytes that are 0 are valid
    /// values.
    fn zeros(&self, _: usize) -> Option<Vec<T>> {
        None
    }

    /// Replaces contiguous elements in bulk. Returns false if the type does not
    /// support this.
    fn map_run(&self, _: &T::Codec, _: &mut [u8], _: &mut impl FnMut(T) -> T) -> bool {
        false
    }

    /// Returns the codec for elements `[T; len]`.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if elements of
    /// `dtype` are not arrays of `len` elements of `T`.
    fn array_codec(&self, dtype: &DType, len: usize) -> Result<T::Codec> {
        subarray_codec::<T>(dtype, len)
    }

    /// Returns whether a stored dtype has the same kind and unit as a declared
    /// dtype. Items of subarrays must have them too, and so must fields, which
    /// are found by name.
    fn has_kinds_of(&self, stored: &DType, declared: &DType) -> bool {
        has_kinds_of(stored, declared)
    }

    /// Returns the name of the type that can borrow the bytes as they are, at any address.
    fn exact_name(&self, _: &T::Codec) -> String {
        format!("[u8; {}]", size_of::<T>())
    }
}

/// Like [`FastPath::has_kinds_of`], of a record.
#[inline]
fn has_kinds_of(stored: &DType, declared: &DType) -> bool {
    let Some((stored, declared)) = items(stored, declared) else { return false };
    (stored.kind(), stored.unit()) == (declared.kind(), declared.unit())
        && declared.fields().iter().all(|field| {
            let found = stored.field(field.name());
            found.ok().is_none_or(|found| has_kinds_of(&found.dtype, &field.dtype))
        })
}

/// The items of two subarrays, or two unchanged dtypes.
#[inline]
pub(super) fn items<'d>(stored: &'d DType, declared: &'d DType) -> Option<(&'d DType, &'d DType)> {
    #[inline]
    fn items(dtype: &DType) -> &DType {
        dtype.subarray().map_or(dtype, |(base, _)| items(base))
    }
    let are_alike = stored.subarray().is_some() == declared.subarray().is_some();
    are_alike.then(|| (items(stored), items(declared)))
}

/// The stored form of values, if their bytes in memory are that. Bytes of a
/// value that are in no field, such as [`Pad`](super::Pad), are not its stored
/// form.
pub(crate) fn stored_bytes<'a, T: Element>(
    codec: &T::Codec,
    dtype: &DType,
    values: &'a [T],
) -> Result<Option<&'a [u8]>> {
    let bytes = T::fast_path().bytes_of(codec, values);
    let has_parts = matches!(dtype.kind(), Kind::Struct | Kind::Subarray);
    match values.first() {
        Some(first) if has_parts && bytes.is_some() => {
            let is_whole = writes_all_bytes(first, codec, dtype.itemsize())?;
            Ok(if is_whole { bytes } else { None })
        }
        _ => Ok(bytes),
    }
}

/// Returns whether encoding the value writes every byte of an element, with no
/// gaps or other fields left unchanged.
pub(crate) fn writes_all_bytes<T: Element>(
    value: &T,
    codec: &T::Codec,
    size: usize,
) -> Result<bool> {
    let (mut zeros, mut ones) = (memory::zeros(size)?, memory::zeros(size)?);
    ones.fill(0xff);
    value.encode(codec, &mut zeros)?;
    value.encode(codec, &mut ones)?;
    Ok(zeros == ones)
}

/// A vector of zeros.
///
/// # Panics
///
/// When there is not enough memory.
pub(super) fn zeroed_vec<T: Zeroable>(len: usize) -> Vec<T> {
    try_zeroed_vec(len).unwrap_or_else(|()| {
        panic!(
            "not enough memory for {len} elements of {}",
            plural(size_of::<T>(), "byte", "bytes")
        )
    })
}

pub(super) mod sealed {
    pub trait SealedFastPath {}
}

/// No fast path: elements are decoded in turn.
#[derive(Debug)]
pub(super) struct NoFastPath;

impl sealed::SealedFastPath for NoFastPath {}

impl<T: Element> FastPath<T> for NoFastPath {}

/// Implements [`Element`] for a type whose bytes are those of its dtypes: which `$fits`
/// recognizes.
macro_rules! plain_element {
    ([$($generics:tt)*] $Type:ty, $dtype:ident => $fits:expr, $name:expr) => {
        impl<$($generics)*> Element for $Type {
            type Codec = ();

            #[inline]
            fn codec($dtype: &DType) -> Result<()> {
                if $fits { Ok(()) } else { Err(type_mismatch($dtype, $name)) }
            }

            #[inline]
            fn itemsize((): &()) -> usize {
                size_of::<Self>()
            }

            #[inline]
            fn decode((): &(), bytes: &[u8]) -> Self {
                // A placeholder has no bytes.
                bytemuck::try_pod_read_unaligned(bytes)
                    .unwrap_or_else(|_| bytemuck::Zeroable::zeroed())
            }

            #[inline]
            fn encode(&self, (): &(), bytes: &mut [u8]) -> Result<()> {
                let own = bytemuck::bytes_of(self);
                bytes.iter_mut().zip(own).for_each(|(to, from)| *to = *from);
                Ok(())
            }

            #[inline]
            fn fast_path() -> impl FastPath<Self> {
                super::record::StoredFastPath
            }
        }

        impl<$($generics)*> InPlace for $Type {}
    };
}
pub(super) use plain_element;

/// The fast path of a newtype around `U`: that of `U`. `derive(Element)` chooses
/// it for `#[repr(transparent)]`.
#[derive(Debug)]
pub struct NewtypeFastPath<U>(std::marker::PhantomData<U>);

impl<U> Default for NewtypeFastPath<U> {
    fn default() -> NewtypeFastPath<U> {
        NewtypeFastPath(std::marker::PhantomData)
    }
}

impl<U> sealed::SealedFastPath for NewtypeFastPath<U> {}

impl<T, U> FastPath<T> for NewtypeFastPath<U>
where
    T: Element<Codec = U::Codec> + Pod,
    U: InPlace,
{
    fn is_exact(&self, codec: &U::Codec) -> bool {
        U::fast_path().is_exact(codec)
    }

    fn mismatch(&self, codec: &U::Codec) -> Option<Error> {
        U::fast_path().mismatch(codec)
    }

    fn borrow<'a>(&self, codec: &U::Codec, bytes: &'a [u8]) -> Option<&'a [T]> {
        bytemuck::try_cast_slice(U::fast_path().borrow(codec, bytes)?).ok()
    }

    fn bytes_of<'a>(&self, codec: &U::Codec, values: &'a [T]) -> Option<&'a [u8]> {
        U::fast_path().bytes_of(codec, bytemuck::try_cast_slice(values).ok()?)
    }

    fn copy_target<'a>(
        &self,
        codec: &U::Codec,
        values: &'a mut [T],
    ) -> Option<(ElementFormat, &'a mut [u8])> {
        U::fast_path().copy_target(codec, bytemuck::try_cast_slice_mut(values).ok()?)
    }

    #[inline]
    fn always_fits(&self, codec: &U::Codec) -> bool {
        U::fast_path().always_fits(codec)
    }

    fn zeros(&self, len: usize) -> Option<Vec<T>> {
        bytemuck::try_cast_vec(U::fast_path().zeros(len)?).ok()
    }

    fn map_run(&self, codec: &U::Codec, bytes: &mut [u8], f: &mut impl FnMut(T) -> T) -> bool {
        U::fast_path()
            .map_run(codec, bytes, &mut |value: U| bytemuck::cast(f(bytemuck::cast(value))))
    }

    fn array_codec(&self, dtype: &DType, len: usize) -> Result<U::Codec> {
        U::fast_path().array_codec(dtype, len)
    }

    fn has_kinds_of(&self, stored: &DType, declared: &DType) -> bool {
        U::fast_path().has_kinds_of(stored, declared)
    }

    fn exact_name(&self, codec: &U::Codec) -> String {
        U::fast_path().exact_name(codec)
    }
}
