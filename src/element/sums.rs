//! Sums of numbers where they lie.
#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for AVX2")]

use std::marker::PhantomData;

use super::Real;
use super::scalar::Scalar;
use crate::dtype::ByteOrder;
use crate::error::invariant::Invariant;
use crate::kernel::{Job, run};

/// How many places are read in turn. One alone doesn't keep the memory busy:
/// eight read nearly twice as fast.
pub(crate) const STREAMS: usize = 8;

/// As many sums for each stream, so that no addition waits for another.
const LANES: usize = 4;

/// How many rows are best added at once.
pub(crate) const ROW_BLOCK: usize = 4;

/// Sums up elements `stride` bytes apart in each of the streams, of which all
/// have as many.
pub(super) fn sums<T: Scalar + Real>(
    order: ByteOrder,
    streams: [&[u8]; STREAMS],
    stride: usize,
) -> [f64; STREAMS] {
    match (order, stride == size_of::<T>()) {
        (ByteOrder::Big, true) => run(Together::new(streams, T::from_be)),
        (_, true) => run(Together::new(streams, T::from_le)),
        (ByteOrder::Big, false) => {
            run(Apart { streams, stride, read: T::from_be, value: PhantomData })
        }
        (_, false) => run(Apart { streams, stride, read: T::from_le, value: PhantomData }),
    }
}

/// Adds to each sum the elements above it, which lie together in each row;
/// fastest for four rows.
pub(super) fn add_rows<T: Scalar + Real>(order: ByteOrder, rows: &[&[u8]], sums: &mut [f64]) {
    match order {
        ByteOrder::Big => run(Rows { above: rows, sums, read: T::from_be, value: PhantomData }),
        _ => run(Rows { above: rows, sums, read: T::from_le, value: PhantomData }),
    }
}

struct Together<'a, T: Scalar, R> {
    streams: [&'a [[T::ByteArray; LANES]]; STREAMS],
    rests: [&'a [T::ByteArray]; STREAMS],
    read: R,
}

impl<'a, T: Scalar, R> Together<'a, T, R> {
    fn new(streams: [&'a [u8]; STREAMS], read: R) -> Self {
        let split = |bytes: &'a [u8]| {
            let whole = bytes.len() - bytes.len() % size_of::<[T::ByteArray; LANES]>();
            bytes.split_at(whole)
        };
        Together {
            streams: streams.map(|bytes| {
                bytemuck::try_cast_slice(split(bytes).0).invariant("elements are whole")
            }),
            rests: streams.map(|bytes| {
                bytemuck::try_cast_slice(split(bytes).1).invariant("elements are whole")
            }),
            read,
        }
    }
}

impl<T: Scalar + Real, R: Fn(T::ByteArray) -> T> Job for Together<'_, T, R> {
    type Output = [f64; STREAMS];

    #[inline(always)]
    fn run(self) -> [f64; STREAMS] {
        let mut sums = [[0.0; LANES]; STREAMS];
        let count =
            self.streams.iter().map(|stream| stream.len()).min().invariant("there are streams");
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

struct Apart<'a, T, R> {
    streams: [&'a [u8]; STREAMS],
    stride: usize,
    read: R,
    value: PhantomData<T>,
}

impl<T: Scalar + Real, R: Fn(T::ByteArray) -> T> Job for Apart<'_, T, R> {
    type Output = [f64; STREAMS];

    #[inline(always)]
    fn run(self) -> [f64; STREAMS] {
        let mut sums = [0.0; STREAMS];
        let longest =
            self.streams.iter().map(|stream| stream.len()).max().invariant("there are streams");
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

struct Rows<'a, T, R> {
    above: &'a [&'a [u8]],
    sums: &'a mut [f64],
    read: R,
    value: PhantomData<T>,
}

impl<'a, T: Scalar + Real, R: Fn(T::ByteArray) -> T> Job for Rows<'a, T, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let elements = |row: &'a [u8]| -> &'a [T::ByteArray] {
            bytemuck::try_cast_slice(row).invariant("elements are whole")
        };
        let value = |stored: &T::ByteArray| (self.read)(*stored).to_f64();
        if let [a, b, c, d] = *self.above {
            let [a, b, c, d] = [a, b, c, d].map(elements);
            for ((((sum, a), b), c), d) in self.sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *sum += (value(a) + value(b)) + (value(c) + value(d));
            }
        } else {
            for row in self.above {
                for (sum, element) in self.sums.iter_mut().zip(elements(row)) {
                    *sum += value(element);
                }
            }
        }
    }
}
