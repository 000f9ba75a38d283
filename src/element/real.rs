//! Real numbers: booleans, integers and floats.

use half::{bf16, f16};

use super::sums::{self, STREAMS};
use super::{Element, chunks};
use crate::dtype::ByteOrder;

/// Real numbers, which have a nearest `f64`: booleans, integers and floats.
/// Sealed.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, Result, element::Real};
///
/// /// The difference between the largest and the smallest number.
/// fn range<T: Real>(array: &MappedArray) -> Result<Option<f64>> {
///     let stats = array.view::<T>()?.stats();
///     Ok(stats.max.zip(stats.min).map(|(max, min)| max.to_f64() - min.to_f64()))
/// }
///
/// let penguins = MappedArray::load("data/penguins.npy")?.into_read_only()?;
/// assert_eq!(range::<f64>(&penguins)?, Some(6286.9));
/// # Ok::<(), npymap::Error>(())
/// ```
pub trait Real: Element + Copy + PartialOrd + Send + Sync + sealed::SealedReal {
    /// Returns the nearest `f64`.
    fn to_f64(self) -> f64;

    /// Whether all values are integers, so that [`halves`](Real::halves) applies.
    #[doc(hidden)]
    const IS_INTEGER: bool;

    /// Returns the lower 32 bits of an integer and the rest. Summed separately,
    /// they don't overflow before 2³¹ elements.
    #[doc(hidden)]
    fn halves(self) -> (i64, i64);

    /// Sums the elements of each stream, which start `stride` bytes apart. All
    /// streams have the same number of elements.
    #[doc(hidden)]
    fn sums(codec: &Self::Codec, streams: [&[u8]; STREAMS], stride: usize) -> [f64; STREAMS] {
        streams.map(|bytes| {
            let elements = chunks(bytes, stride, Self::itemsize(codec));
            elements.map(|element| Self::decode(codec, element).to_f64()).sum()
        })
    }

    /// Adds to each sum the elements in its column of `rows`, which are
    /// contiguous.
    #[doc(hidden)]
    fn add_rows(codec: &Self::Codec, rows: &[&[u8]], sums: &mut [f64]) {
        for row in rows {
            let elements = row.chunks_exact(Self::itemsize(codec));
            for (sum, element) in sums.iter_mut().zip(elements) {
                *sum += Self::decode(codec, element).to_f64();
            }
        }
    }
}

mod sealed {
    pub trait SealedReal {}
}

impl sealed::SealedReal for bool {}

impl Real for bool {
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }

    const IS_INTEGER: bool = true;

    #[inline]
    fn halves(self) -> (i64, i64) {
        (self.into(), 0)
    }
}

macro_rules! real {
    ($($type:ty, $value:ident => $wide:expr, $is_integer:literal $halves:expr;)*) => {$(
        impl sealed::SealedReal for $type {}

        impl Real for $type {
            #[inline]
            fn to_f64(self) -> f64 {
                let $value = self;
                $wide
            }

            const IS_INTEGER: bool = $is_integer;

            #[inline]
            fn halves(self) -> (i64, i64) {
                #[allow(unused, reason = "not used for floats")]
                let $value = self;
                $halves
            }

            // Compiled by crates that use it, for the types that they use: the
            // loops are large, and there is a version for each processor.
            #[inline]
            fn sums(
                order: &ByteOrder,
                streams: [&[u8]; STREAMS],
                stride: usize,
            ) -> [f64; STREAMS] {
                sums::sums::<$type>(*order, streams, stride)
            }

            #[inline]
            fn add_rows(order: &ByteOrder, rows: &[&[u8]], sums: &mut [f64]) {
                sums::add_rows::<$type>(*order, rows, sums);
            }
        }
    )*};
}

/// Masks the lower 32 bits.
const LOW: i64 = 0xffff_ffff;

real! {
    i8, value => f64::from(value), true (value.into(), 0);
    i16, value => f64::from(value), true (value.into(), 0);
    i32, value => f64::from(value), true (value.into(), 0);
    i64, value => nearest(&value), true (value & LOW, value >> 32);
    u8, value => f64::from(value), true (value.into(), 0);
    u16, value => f64::from(value), true (value.into(), 0);
    u32, value => f64::from(value), true (value.into(), 0);
    u64, value => nearest(&value), true (bytemuck::cast(value & LOW.unsigned_abs()), bytemuck::cast(value >> 32));
    f16, value => value.into(), false (0, 0);
    bf16, value => value.into(), false (0, 0);
    f32, value => f64::from(value), false (0, 0);
    f64, value => value, false (0, 0);
}

fn nearest(value: &impl num_traits::ToPrimitive) -> f64 {
    value.to_f64().unwrap_or(f64::NAN)
}
