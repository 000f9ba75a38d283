//! Numbers with a byte order, and their fast path.
#![expect(clippy::inline_always, reason = "only inlined code is compiled for AVX2")]

use std::any::TypeId;
use std::fmt::Debug;
use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};
use num_complex::Complex;

use super::fast_path::{FastPath, sealed::SealedFastPath, zeroed_vec};
use super::{Element, InPlace, Typed, subarray_codec, type_mismatch};
use crate::dtype::{ByteOrder, DType, Kind};
use crate::error::Result;
use crate::error::invariant::Invariant;
use crate::kernel::{self, ElementFormat, Job};

/// A number, or the count of a date: the types that [`Le`](super::Le) and
/// [`Be`](super::Be) can wrap. Sealed.
///
/// # Examples
///
/// ```
/// use npymap::{Be, Le, element::Scalar};
///
/// /// A pair of numbers in both byte orders.
/// fn both<T: Scalar>(number: T) -> (Le<T>, Be<T>) {
///     (number.into(), number.into())
/// }
///
/// let (le, be) = both(1.5_f32);
/// assert_eq!(le.get(), be.get());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number of npymap: use `u64` for `usize`, `i64` for `isize`",
    label = "not a number with a byte order"
)]
pub trait Scalar:
    InPlace + Element<Codec = ByteOrder> + Debug + PartialEq + Send + Sync + sealed::SealedScalar
{
    /// The bytes of the number, such as `[u8; 8]`.
    type ByteArray: Pod + Debug;

    /// The name of the type, for error messages.
    #[doc(hidden)]
    const NAME: &'static str;

    /// The size in bytes of the number, or of each part of a complex number.
    #[doc(hidden)]
    const NUMBER: usize = size_of::<Self>();

    /// Returns whether elements of `dtype` are this number, in any byte order.
    #[doc(hidden)]
    fn is(dtype: &DType) -> bool;

    /// Makes the number from little-endian bytes.
    #[doc(hidden)]
    fn from_le(bytes: Self::ByteArray) -> Self;

    /// Makes the number from big-endian bytes.
    #[doc(hidden)]
    fn from_be(bytes: Self::ByteArray) -> Self;

    /// Returns the number as little-endian bytes.
    #[doc(hidden)]
    fn to_le(self) -> Self::ByteArray;

    /// Returns the number as big-endian bytes.
    #[doc(hidden)]
    fn to_be(self) -> Self::ByteArray;
}

mod sealed {
    pub trait SealedScalar {}
}

/// The stored count of a date or time difference, without its unit.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, element::Ticks};
///
/// let mut dates = MappedArray::zeros(&"<M8[D]".parse()?, &[2])?;
/// dates.as_slice_mut::<Ticks>()?.copy_from_slice(&[Ticks(20_000), Ticks::NAT]);
/// assert_eq!(dates.as_slice::<Ticks>()?[0].0, 20_000);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Pod, Zeroable)]
#[repr(transparent)]
pub struct Ticks(pub i64);

impl Ticks {
    /// NumPy's "not a time".
    pub const NAT: Ticks = Ticks(i64::MIN);
}

macro_rules! scalar {
    ($($type:ty, $name:expr, [u8; $bytes:literal], $is:expr;)*) => {$(
        impl sealed::SealedScalar for $type {}

        impl Scalar for $type {
            type ByteArray = [u8; $bytes];

            const NAME: &'static str = $name;

            fn is(dtype: &DType) -> bool {
                let is: fn(&DType) -> bool = $is;
                is(dtype)
            }

            fn from_le(bytes: [u8; $bytes]) -> $type {
                <$type>::from_le_bytes(bytes)
            }

            fn from_be(bytes: [u8; $bytes]) -> $type {
                <$type>::from_be_bytes(bytes)
            }

            fn to_le(self) -> [u8; $bytes] {
                self.to_le_bytes()
            }

            fn to_be(self) -> [u8; $bytes] {
                self.to_be_bytes()
            }
        }
    )*};
}

macro_rules! number {
    ($($type:ty, $kind:ident, $bytes:literal;)*) => {
        scalar! {$($type, stringify!($type), [u8; $bytes], |dtype| is_kind(dtype, Kind::$kind, $bytes);)*}

        $(impl Typed for $type {
            fn dtype() -> DType {
                native(Kind::$kind, $bytes)
            }
        })*
    };
}

number! {
    i8, Int, 1;
    i16, Int, 2;
    i32, Int, 4;
    i64, Int, 8;
    u8, UInt, 1;
    u16, UInt, 2;
    u32, UInt, 4;
    u64, UInt, 8;
    f16, Float, 2;
    f32, Float, 4;
    f64, Float, 8;
}

scalar! {
    bf16, "bf16", [u8; 2], |dtype| is_kind(dtype, Kind::Void, 2);
    Ticks, "Ticks", [u8; 8], |dtype| matches!(dtype.kind(), Kind::DateTime | Kind::TimeDelta);
}

macro_rules! complex {
    ($($part:ty, $name:literal, $bytes:literal;)*) => {$(
        impl sealed::SealedScalar for Complex<$part> {}

        impl Scalar for Complex<$part> {
            type ByteArray = [u8; $bytes];

            const NAME: &'static str = $name;

            const NUMBER: usize = size_of::<$part>();

            fn is(dtype: &DType) -> bool {
                is_kind(dtype, Kind::Complex, $bytes)
            }

            fn from_le(bytes: [u8; $bytes]) -> Complex<$part> {
                let [re, im] = bytemuck::cast(bytes);
                Complex::new(<$part>::from_le_bytes(re), <$part>::from_le_bytes(im))
            }

            fn from_be(bytes: [u8; $bytes]) -> Complex<$part> {
                let [re, im] = bytemuck::cast(bytes);
                Complex::new(<$part>::from_be_bytes(re), <$part>::from_be_bytes(im))
            }

            fn to_le(self) -> [u8; $bytes] {
                bytemuck::cast([self.re.to_le_bytes(), self.im.to_le_bytes()])
            }

            fn to_be(self) -> [u8; $bytes] {
                bytemuck::cast([self.re.to_be_bytes(), self.im.to_be_bytes()])
            }
        }

        impl Typed for Complex<$part> {
            fn dtype() -> DType {
                native(Kind::Complex, $bytes)
            }
        }
    )*};
}

complex! {
    f32, "Complex<f32>", 8;
    f64, "Complex<f64>", 16;
}

/// Returns whether `dtype` has this kind and size, in any byte order.
#[inline]
fn is_kind(dtype: &DType, kind: Kind, itemsize: usize) -> bool {
    dtype.kind() == kind && dtype.itemsize() == itemsize
}

/// The dtype of a number in this machine's byte order.
#[inline]
fn native(kind: Kind, itemsize: usize) -> DType {
    let order = if itemsize == 1 { ByteOrder::NotApplicable } else { ByteOrder::NATIVE };
    DType::new_scalar(kind, order, itemsize)
}

impl Ticks {
    #[inline]
    fn from_le_bytes(bytes: [u8; 8]) -> Ticks {
        Ticks(i64::from_le_bytes(bytes))
    }

    #[inline]
    fn from_be_bytes(bytes: [u8; 8]) -> Ticks {
        Ticks(i64::from_be_bytes(bytes))
    }

    #[inline]
    fn to_le_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

/// Decodes a number. Returns zero if the length is wrong, as it is for
/// placeholders decoded from no bytes.
#[inline]
pub(super) fn read<T: Scalar>(order: ByteOrder, bytes: &[u8]) -> T {
    let Ok(bytes) = bytemuck::try_pod_read_unaligned::<T::ByteArray>(bytes) else {
        return T::zeroed();
    };
    if order == ByteOrder::Big { T::from_be(bytes) } else { T::from_le(bytes) }
}

/// Encodes a number. Writes nothing if the length is wrong.
pub(super) fn write<T: Scalar>(value: T, order: ByteOrder, bytes: &mut [u8]) {
    let stored = if order == ByteOrder::Big { value.to_be() } else { value.to_le() };
    let stored = bytemuck::bytes_of(&stored);
    if bytes.len() == stored.len() {
        bytes.copy_from_slice(stored);
    }
}

/// Implements `Element` for numbers, with the byte order as codec. A generic
/// implementation for all `T: Scalar` would make the compiler report that a
/// type is not a `Scalar`, instead of the message of `Element`.
macro_rules! element {
    ($($type:ty),*) => {$(
        impl Element for $type {
            // Void has no byte order, so `bf16` stored as void is taken as
            // little-endian.
            type Codec = ByteOrder;

            fn codec(dtype: &DType) -> Result<ByteOrder> {
                if <$type>::is(dtype) {
                    Ok(dtype.byte_order())
                } else {
                    Err(type_mismatch(dtype, <$type>::NAME))
                }
            }

            #[inline]
            fn itemsize(_: &ByteOrder) -> usize {
                size_of::<$type>()
            }

            #[inline]
            fn decode(order: &ByteOrder, bytes: &[u8]) -> $type {
                read(*order, bytes)
            }

            #[inline]
            fn encode(&self, order: &ByteOrder, bytes: &mut [u8]) -> Result<()> {
                write(*self, *order, bytes);
                Ok(())
            }

            #[inline]
            fn fast_path() -> impl FastPath<Self> {
                ScalarFastPath
            }
        }

        impl InPlace for $type {}
    )*};
}

element!(i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Ticks);
element!(Complex<f32>, Complex<f64>);

/// The fast path of numbers: borrowed in this machine's byte order, byte-swapped
/// in bulk from the other.
#[derive(Debug)]
struct ScalarFastPath;

impl SealedFastPath for ScalarFastPath {}

impl<T: Scalar> FastPath<T> for ScalarFastPath {
    fn is_exact(&self, order: &ByteOrder) -> bool {
        let order = if *order == ByteOrder::Big { ByteOrder::Big } else { ByteOrder::Little };
        size_of::<T>() == 1 || order == ByteOrder::NATIVE
    }

    fn borrow<'a>(&self, order: &ByteOrder, bytes: &'a [u8]) -> Option<&'a [T]> {
        if is_exact::<T>(*order) { bytemuck::try_cast_slice(bytes).ok() } else { None }
    }

    fn bytes_of<'a>(&self, order: &ByteOrder, values: &'a [T]) -> Option<&'a [u8]> {
        is_exact::<T>(*order).then(|| bytemuck::cast_slice(values))
    }

    fn copy_target<'a>(
        &self,
        order: &ByteOrder,
        values: &'a mut [T],
    ) -> Option<(ElementFormat, &'a mut [u8])> {
        let (size, number) = (size_of::<T>(), T::NUMBER);
        let format = ElementFormat { size, number, swap: !is_exact::<T>(*order) };
        Some((format, bytemuck::cast_slice_mut(values)))
    }

    #[inline]
    fn always_fits(&self, _: &ByteOrder) -> bool {
        true
    }

    fn zeros(&self, len: usize) -> Option<Vec<T>> {
        let mut zeros = zeroed_vec(len);
        kernel::prefer_large_pages(bytemuck::cast_slice_mut(&mut zeros));
        Some(zeros)
    }

    fn map_run(&self, order: &ByteOrder, bytes: &mut [u8], f: &mut impl FnMut(T) -> T) -> bool {
        let values = PhantomData;
        if *order == ByteOrder::Big {
            kernel::run(MapLoop { bytes, read: T::from_be, write: T::to_be, f, values });
        } else {
            kernel::run(MapLoop { bytes, read: T::from_le, write: T::to_le, f, values });
        }
        true
    }

    fn array_codec(&self, dtype: &DType, len: usize) -> Result<ByteOrder> {
        // Any element can be viewed as an array of its bytes.
        if TypeId::of::<T>() == TypeId::of::<u8>() && dtype.itemsize() == len {
            return Ok(ByteOrder::NotApplicable);
        }
        subarray_codec::<T>(dtype, len)
    }

    fn exact_name(&self, order: &ByteOrder) -> String {
        format!("{}<{}>", if *order == ByteOrder::Big { "Be" } else { "Le" }, T::NAME)
    }
}

fn is_exact<T: Scalar>(order: ByteOrder) -> bool {
    FastPath::<T>::is_exact(&ScalarFastPath, &order)
}

/// Replaces contiguous numbers with the results of a function.
struct MapLoop<'a, T, R, W, F> {
    bytes: &'a mut [u8],
    read: R,
    write: W,
    f: &'a mut F,
    values: PhantomData<T>,
}

impl<T, R, W, F> Job for MapLoop<'_, T, R, W, F>
where
    T: Scalar,
    R: Fn(T::ByteArray) -> T,
    W: Fn(T) -> T::ByteArray,
    F: FnMut(T) -> T,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let values: &mut [T::ByteArray] =
            bytemuck::try_cast_slice_mut(self.bytes).invariant("the bytes hold whole elements");
        for stored in values {
            *stored = (self.write)((self.f)((self.read)(*stored)));
        }
    }
}
