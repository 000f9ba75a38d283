//! Numbers: what is known of them, and the numbers themselves in place.
#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for AVX2")]

use std::any::TypeId;
use std::fmt::Debug;
use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};
use num_complex::Complex;

use super::fast_path::{FastPath, sealed::SealedFastPath};
use super::{Element, InPlace, Typed, subarray_codec, type_mismatch};
use crate::dtype::{ByteOrder, DType, Kind};
use crate::error::Result;
use crate::error::invariant::Invariant;
use crate::kernel::{self, ElementFormat, Job};

/// A number, or a date's count: what [`Le`](super::Le) and [`Be`](super::Be)
/// stand for. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number of npymap: use `u64` for `usize`, `i64` for `isize`",
    label = "not a number with a byte order"
)]
pub trait Scalar:
    InPlace + Element<Codec = ByteOrder> + Debug + PartialEq + Send + Sync + sealed::SealedScalar
{
    /// Its bytes, `[u8; N]`.
    type ByteArray: Pod + Debug;

    /// The name to ask for it by.
    #[doc(hidden)]
    const NAME: &'static str;

    /// Bytes of the numbers it is made of.
    #[doc(hidden)]
    const NUMBER: usize = size_of::<Self>();

    /// True if a dtype is this number, in whatever byte order.
    #[doc(hidden)]
    fn is(dtype: &DType) -> bool;

    /// The number whose least significant byte stands first.
    #[doc(hidden)]
    fn from_le(bytes: Self::ByteArray) -> Self;

    /// The number whose most significant byte stands first.
    #[doc(hidden)]
    fn from_be(bytes: Self::ByteArray) -> Self;

    /// Its bytes, the least significant one first.
    #[doc(hidden)]
    fn to_le(self) -> Self::ByteArray;

    /// Its bytes, the most significant one first.
    #[doc(hidden)]
    fn to_be(self) -> Self::ByteArray;
}

mod sealed {
    pub trait SealedScalar {}
}

/// A date's or time difference's stored count, without its unit.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, element::Ticks};
///
/// let mut dates = MappedArray::anonymous(&"<M8[D]".parse()?, &[2])?;
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

/// What `dtype` must be for a number, byte order apart.
fn is_kind(dtype: &DType, kind: Kind, itemsize: usize) -> bool {
    dtype.kind() == kind && dtype.itemsize() == itemsize
}

/// The dtype of a number in this machine's byte order.
fn native(kind: Kind, itemsize: usize) -> DType {
    let order = if itemsize == 1 { ByteOrder::NotApplicable } else { ByteOrder::NATIVE };
    DType::new_scalar(kind, order, itemsize)
}

impl Ticks {
    fn from_le_bytes(bytes: [u8; 8]) -> Ticks {
        Ticks(i64::from_le_bytes(bytes))
    }

    fn from_be_bytes(bytes: [u8; 8]) -> Ticks {
        Ticks(i64::from_be_bytes(bytes))
    }

    fn to_le_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    fn to_be_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

/// Converts bytes to a number. Wrong lengths, which a layout rules out, give
/// zero.
#[inline]
pub(super) fn read<T: Scalar>(order: ByteOrder, bytes: &[u8]) -> T {
    let Ok(bytes) = bytemuck::try_pod_read_unaligned::<T::ByteArray>(bytes) else {
        return T::zeroed();
    };
    if order == ByteOrder::Big { T::from_be(bytes) } else { T::from_le(bytes) }
}

pub(super) fn write<T: Scalar>(value: T, order: ByteOrder, bytes: &mut [u8]) {
    let stored = if order == ByteOrder::Big { value.to_be() } else { value.to_le() };
    let stored = bytemuck::bytes_of(&stored);
    if bytes.len() == stored.len() {
        bytes.copy_from_slice(stored);
    }
}

/// Every number is an element, of a codec that is its byte order. Not one
/// implementation for all `T: Scalar`: of another type the compiler would
/// then say that it is not a `Scalar`, and not what it can be.
macro_rules! element {
    ($($type:ty),*) => {$(
        impl Element for $type {
            /// Bytes that have no order, of `bf16` over void, count as
            /// little-endian.
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
                ScalarPath
            }
        }

        impl InPlace for $type {}
    )*};
}

element!(i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Ticks);
element!(Complex<f32>, Complex<f64>);

/// Numbers are borrowed in this machine's byte order, and swapped many at once
/// from the other.
#[derive(Debug)]
struct ScalarPath;

impl SealedFastPath for ScalarPath {}

impl<T: Scalar> FastPath<T> for ScalarPath {
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

    fn zeros(&self, len: usize) -> Option<Vec<T>> {
        let mut zeros = bytemuck::zeroed_vec(len);
        kernel::prefer_large_pages(bytemuck::cast_slice_mut(&mut zeros));
        Some(zeros)
    }

    fn map_run(&self, order: &ByteOrder, bytes: &mut [u8], f: &mut impl FnMut(T) -> T) -> bool {
        match order {
            ByteOrder::Big => kernel::run(Map {
                bytes,
                read: T::from_be,
                write: T::to_be,
                f,
                values: PhantomData,
            }),
            _ => kernel::run(Map {
                bytes,
                read: T::from_le,
                write: T::to_le,
                f,
                values: PhantomData,
            }),
        }
        true
    }

    fn array_codec(&self, dtype: &DType, len: usize) -> Result<ByteOrder> {
        // The bytes of anything are an array of bytes.
        if TypeId::of::<T>() == TypeId::of::<u8>() && dtype.itemsize() == len {
            return Ok(ByteOrder::NotApplicable);
        }
        subarray_codec::<T>(dtype, len)
    }

    fn exact_name(&self, order: &ByteOrder) -> String {
        format!("{}<{}>", if *order == ByteOrder::Big { "Be" } else { "Le" }, T::NAME)
    }

    fn unaligned_name(&self) -> String {
        format!("{}<{}>", if cfg!(target_endian = "big") { "Be" } else { "Le" }, T::NAME)
    }
}

fn is_exact<T: Scalar>(order: ByteOrder) -> bool {
    FastPath::<T>::is_exact(&ScalarPath, &order)
}

/// Replaces numbers that lie together.
struct Map<'a, T, R, W, F> {
    bytes: &'a mut [u8],
    read: R,
    write: W,
    f: &'a mut F,
    values: PhantomData<T>,
}

impl<T, R, W, F> Job for Map<'_, T, R, W, F>
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
            bytemuck::try_cast_slice_mut(self.bytes).invariant("elements are whole");
        for stored in values {
            *stored = (self.write)((self.f)((self.read)(*stored)));
        }
    }
}
