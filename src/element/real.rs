//! Numbers that have an order.

use half::{bf16, f16};

use super::total::{self, STREAMS};
use super::{Element, chunks};
use crate::dtype::ByteOrder;

/// Numbers with an order and a nearest `f64`: booleans, integers and floats.
/// Sealed.
pub trait Real: Element + Copy + PartialOrd + sealed::Sealed {
    /// The nearest `f64`.
    fn to_f64(self) -> f64;

    /// Sums up elements `stride` bytes apart in each stream; all have as many.
    #[doc(hidden)]
    fn sums(codec: &Self::Codec, streams: [&[u8]; STREAMS], stride: usize) -> [f64; STREAMS] {
        let sum = |piece: &[u8]| Self::decode(codec, piece).to_f64();
        streams.map(|bytes| chunks(bytes, stride, Self::itemsize(codec)).map(sum).sum())
    }

    /// Adds to each sum the elements above it, which lie together in each row.
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
    pub trait Sealed {}
}

impl sealed::Sealed for bool {}

impl Real for bool {
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
}

macro_rules! real {
    ($($type:ty, $value:ident => $wide:expr;)*) => {$(
        impl sealed::Sealed for $type {}

        impl Real for $type {
            #[inline]
            fn to_f64(self) -> f64 {
                let $value = self;
                $wide
            }

            fn sums(
                order: &ByteOrder,
                streams: [&[u8]; STREAMS],
                stride: usize,
            ) -> [f64; STREAMS] {
                total::sums::<$type>(*order, streams, stride)
            }

            fn add_rows(order: &ByteOrder, rows: &[&[u8]], sums: &mut [f64]) {
                total::add_rows::<$type>(*order, rows, sums);
            }
        }
    )*};
}

real! {
    i8, value => f64::from(value);
    i16, value => f64::from(value);
    i32, value => f64::from(value);
    i64, value => nearest(&value);
    u8, value => f64::from(value);
    u16, value => f64::from(value);
    u32, value => f64::from(value);
    u64, value => nearest(&value);
    f16, value => value.into();
    bf16, value => value.into();
    f32, value => f64::from(value);
    f64, value => value;
}

fn nearest(value: &impl num_traits::ToPrimitive) -> f64 {
    value.to_f64().unwrap_or(f64::NAN)
}
