//! Sums of stored numbers, without decoding them to a buffer.
#![expect(clippy::inline_always, reason = "only inlined code is compiled for AVX2")]

use std::marker::PhantomData;

use bytemuck::Pod;

use super::Real;
use super::scalar::Scalar;
use crate::dtype::ByteOrder;
use crate::error::invariant::Invariant;
use crate::kernel::{Job, run};

/// The number of places in memory that are read alternately. Reading one
/// stream doesn't saturate memory: eight are nearly twice as fast.
pub(crate) const STREAMS: usize = 8;

/// The number of partial sums per stream, so that no addition waits for the
/// previous one.
const LANES: usize = 4;

/// The number of rows that [`add_rows`] adds fastest.
pub(crate) const ROW_BLOCK: usize = 4;

/// Sums the elements of each stream, which start `stride` bytes apart. All
/// streams have the same number of elements.
pub(super) fn sums<T: Scalar + Real>(
    order: ByteOrder,
    streams: [&[u8]; STREAMS],
    stride: usize,
) -> [f64; STREAMS] {
    match (order, stride == size_of::<T>()) {
        (ByteOrder::Big, true) => run(ContiguousSums::new(streams, T::from_be)),
        (_, true) => run(ContiguousSums::new(streams, T::from_le)),
        (ByteOrder::Big, false) => {
            run(StridedSums { streams, stride, read: T::from_be, value: PhantomData })
        }
        (_, false) => run(StridedSums { streams, stride, read: T::from_le, value: PhantomData }),
    }
}

/// Adds to each sum the elements in its column of `rows`, which are contiguous;
/// fastest for [`ROW_BLOCK`] rows.
pub(super) fn add_rows<T: Scalar + Real>(order: ByteOrder, rows: &[&[u8]], sums: &mut [f64]) {
    match order {
        ByteOrder::Big => run(RowSums { rows, sums, read: T::from_be, value: PhantomData }),
        _ => run(RowSums { rows, sums, read: T::from_le, value: PhantomData }),
    }
}

/// Sums contiguous elements, [`LANES`] at a time.
struct ContiguousSums<'a, T: Scalar, R> {
    streams: [&'a [[T::ByteArray; LANES]]; STREAMS],
    rests: [&'a [T::ByteArray]; STREAMS],
    read: R,
}

impl<'a, T: Scalar, R> ContiguousSums<'a, T, R> {
    fn new(streams: [&'a [u8]; STREAMS], read: R) -> Self {
        let lanes = size_of::<[T::ByteArray; LANES]>();
        let parts = streams.map(|bytes| bytes.split_at(bytes.len() - bytes.len() % lanes));
        ContiguousSums {
            streams: parts.map(|(whole, _)| cast_bytes(whole)),
            rests: parts.map(|(_, rest)| cast_bytes(rest)),
            read,
        }
    }
}

/// Casts bytes to arrays of bytes with an alignment of 1.
#[inline(always)]
fn cast_bytes<B: Pod>(bytes: &[u8]) -> &[B] {
    bytemuck::try_cast_slice(bytes).invariant("the bytes hold whole elements")
}

impl<T: Scalar + Real, R: Fn(T::ByteArray) -> T> Job for ContiguousSums<'_, T, R> {
    type Output = [f64; STREAMS];

    #[inline(always)]
    fn run(self) -> [f64; STREAMS] {
        let mut sums = [[0.0; LANES]; STREAMS];
        let count =
            self.streams.iter().map(|stream| stream.len()).min().invariant("STREAMS is not 0");
        for i in 0..count {
            for (lanes, stream) in sums.iter_mut().zip(self.streams) {
                let Some(elements) = stream.get(i) else { continue };
                for (lane, element) in lanes.iter_mut().zip(elements) {
                    *lane += (self.read)(*element).to_f64();
                }
            }
        }
        let mut totals = sums.map(|lanes| lanes.iter().sum());
        for (total, rest) in totals.iter_mut().zip(self.rests) {
            for element in rest {
                *total += (self.read)(*element).to_f64();
            }
        }
        totals
    }
}

/// Sums elements that start `stride` bytes apart.
struct StridedSums<'a, T, R> {
    streams: [&'a [u8]; STREAMS],
    stride: usize,
    read: R,
    value: PhantomData<T>,
}

impl<T: Scalar + Real, R: Fn(T::ByteArray) -> T> Job for StridedSums<'_, T, R> {
    type Output = [f64; STREAMS];

    #[inline(always)]
    fn run(self) -> [f64; STREAMS] {
        let mut sums = [0.0; STREAMS];
        let longest =
            self.streams.iter().map(|stream| stream.len()).max().invariant("STREAMS is not 0");
        for start in (0..longest).step_by(self.stride) {
            for (sum, stream) in sums.iter_mut().zip(self.streams) {
                let element = stream.get(start..start + size_of::<T>());
                if let Some(Ok(element)) = element.map(bytemuck::try_pod_read_unaligned) {
                    *sum += (self.read)(element).to_f64();
                }
            }
        }
        sums
    }
}

/// Adds rows of contiguous elements to `sums`.
struct RowSums<'a, T, R> {
    rows: &'a [&'a [u8]],
    sums: &'a mut [f64],
    read: R,
    value: PhantomData<T>,
}

impl<T: Scalar + Real, R: Fn(T::ByteArray) -> T> Job for RowSums<'_, T, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let read = self.read;
        if let [a, b, c, d] = *self.rows {
            let [a, b, c, d] = [a, b, c, d].map(cast_bytes::<T::ByteArray>);
            for ((((sum, a), b), c), d) in self.sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *sum += (read(*a).to_f64() + read(*b).to_f64())
                    + (read(*c).to_f64() + read(*d).to_f64());
            }
        } else {
            for row in self.rows {
                for (sum, stored) in self.sums.iter_mut().zip(cast_bytes::<T::ByteArray>(row)) {
                    *sum += read(*stored).to_f64();
                }
            }
        }
    }
}
