//! Compares arrays element by element, equal bytes at the speed of memory.

use crate::input::lengths::{to_u64, to_usize};

use npymap::array::Outline;
use npymap::view::{Blocks, DynView};
use npymap::{MappedArray, Result, Value, View, element::Real, with_type};

use crate::input::row_blocks::{self, RowBlocks};
use crate::select::filter::Number;
use crate::stats::summary::joined;
use crate::stats::tiles;
use crate::stats::tolerance::{Stored, Tolerance, difference, distance, has_distances};

/// Bytes compared at a time.
const BLOCK: usize = 1 << 18;

/// Numbers compared at a time.
const CHUNK: usize = 2048;

/// Sums that the processor adds up at the same time.
const LANES: usize = 8;

/// A pair of elements that differ.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) index: Vec<usize>,
    pub(crate) a: Value,
    pub(crate) b: Value,
}

/// The differences between the elements of two arrays.
#[derive(Debug)]
pub(crate) struct Comparison {
    tolerance: Tolerance,
    /// How many pairs to keep.
    limit: usize,
    /// The number of pairs that differ.
    pub(crate) count: usize,
    /// The first pairs in C order, or in memory order if both arrays are in
    /// Fortran order.
    pub(crate) first: Vec<Pair>,
    /// The largest distance between two numbers that differ.
    pub(crate) largest: Option<f64>,
    distances: Distances,
}

impl Comparison {
    /// Compares the elements of two arrays of the same shape, on several threads.
    pub(crate) fn compute(
        arrays: [&MappedArray; 2],
        tolerance: Tolerance,
        limit: usize,
    ) -> Result<Comparison> {
        let [first, second] = arrays;
        let (a, b) = (&first.outline(), &second.outline());
        let mut comparison = Comparison::new(tolerance, limit, a);
        // There may be too many zero-size elements to iterate over.
        if a.is_empty() || (a.itemsize() == 0 && b.itemsize() == 0) {
            return Ok(comparison);
        }
        tiles::process(
            a,
            |tile| {
                let mut part = Comparison::new(tolerance, limit, a);
                let own = first.window(&tile.part)?;
                let other = second.window(&tile.same_part(b)?)?;
                part.compare_tile(&own.view(), &other.view(), &tile.origin)?;
                Ok(part)
            },
            |part| comparison.merge(part),
        )?;
        Ok(comparison)
    }

    /// The mean of the distances of all pairs of numbers without NaN; `None`
    /// without such pairs.
    pub(crate) fn mean(&self) -> Option<f64> {
        self.distances.mean_of(self.distances.sum)
    }

    /// The square root of the mean of their squares.
    pub(crate) fn rms(&self) -> Option<f64> {
        self.distances.mean_of(self.distances.squares).map(f64::sqrt)
    }

    fn new(tolerance: Tolerance, limit: usize, all: &Outline<'_>) -> Comparison {
        let distances =
            Distances { are_numbers: has_distances(all.dtype()), ..Distances::default() };
        Comparison { tolerance, limit, count: 0, first: Vec::new(), largest: None, distances }
    }

    /// Adds the differences of the next tile.
    fn merge(&mut self, other: Comparison) {
        self.count += other.count;
        let room = self.limit - self.first.len();
        self.first.extend(other.first.into_iter().take(room));
        self.note_largest(other.largest);
        self.distances.add(other.distances);
    }

    /// Compares tiles that start at this index of the arrays.
    fn compare_tile(&mut self, a: &DynView<'_>, b: &DynView<'_>, origin: &[usize]) -> Result<()> {
        if is_fortran(a) && is_fortran(b) {
            self.compare_blocks(&a.t(), &b.t())?;
            self.first.iter_mut().for_each(|pair| pair.index.reverse());
        } else {
            self.compare_blocks(a, b)?;
        }
        for pair in &mut self.first {
            pair.index.iter_mut().zip(origin).for_each(|(at, origin)| *at += origin);
        }
        Ok(())
    }

    /// Compares block by block.
    fn compare_blocks(&mut self, a: &DynView<'_>, b: &DynView<'_>) -> Result<()> {
        let blocks = RowBlocks::of_size(a.shape(), a.itemsize(), BLOCK);
        for number in 0..blocks.len() {
            let (slice, elements) = blocks.slice(number, a.ndim());
            let (own, other) = (a.slice(&slice)?, b.slice(&slice)?);
            let (shape, start) = (a.shape(), elements.start);
            self.compare_block(&Block { a: &own, b: &other, shape, start })?;
        }
        Ok(())
    }

    /// Compares the elements of a block.
    fn compare_block(&mut self, block: &Block<'_, '_>) -> Result<()> {
        let Block { a, b, .. } = *block;
        let same_type = a.dtype() == b.dtype();
        let bytes = a.as_bytes().zip(b.as_bytes());
        if same_type && bytes.is_some_and(|(a, b)| a == b) {
            self.distances.count += a.len() - count_nan(a)?;
            return Ok(());
        }
        if same_type {
            with_type!(a.dtype(), integer T => {
                // Doubles have all integers of 32 bits.
                let is_fast = bytes.is_some() && a.itemsize() <= 4;
                let views = (a.view::<T>()?, b.view::<T>()?);
                self.compare_views(block, views, is_fast, |x| Number::Int(x.into()));
                return Ok(());
            }, _ => {});
            with_type!(a.dtype(), float T => {
                let views = (a.view::<T>()?, b.view::<T>()?);
                let number = |x: T| Number::Float(x.to_f64());
                self.compare_views(block, views, bytes.is_some(), number);
                return Ok(());
            }, _ => {});
        }
        if self.distances.are_numbers {
            for (number, (x, y)) in a.iter().zip(b.iter()).enumerate() {
                let is_equal = self.tolerance.equal_values(&x, &y);
                self.record(block, number, is_equal, distance(&x, &y));
            }
            return Ok(());
        }
        for (number, (x, y)) in a.element_bytes().zip(b.element_bytes()).enumerate() {
            let x = Stored { dtype: a.dtype(), bytes: x };
            let y = Stored { dtype: b.dtype(), bytes: y };
            let is_equal = self.tolerance.equal_elements(x, y);
            self.record(block, number, is_equal, None);
        }
        Ok(())
    }

    /// Compares the elements of views; as doubles, many at a time, if `is_fast`.
    fn compare_views<T: Real>(
        &mut self,
        block: &Block<'_, '_>,
        (a, b): (View<'_, T>, View<'_, T>),
        is_fast: bool,
        number: impl Fn(T) -> Number,
    ) {
        if is_fast {
            return self.compare_slices(block, a.blocks(), b.blocks());
        }
        for (at, (x, y)) in a.iter().zip(b.iter()).enumerate() {
            self.compare_numbers(block, at, number(x), number(y));
        }
    }

    /// Compares the elements of contiguous views.
    fn compare_slices<T: Real>(
        &mut self,
        block: &Block<'_, '_>,
        mut a: Blocks<'_, T>,
        mut b: Blocks<'_, T>,
    ) {
        let (mut left, mut right): (&[T], &[T]) = (&[], &[]);
        let mut number = 0;
        loop {
            if left.is_empty() {
                left = a.next().unwrap_or_default();
            }
            if right.is_empty() {
                right = b.next().unwrap_or_default();
            }
            // Blocks of arrays with different alignments have different lengths.
            let count = left.len().min(right.len()).min(CHUNK);
            let (Some((x, left_rest)), Some((y, right_rest))) =
                (left.split_at_checked(count), right.split_at_checked(count))
            else {
                return;
            };
            if count == 0 {
                return;
            }
            if !self.compare_finite(x, y) {
                for (at, (x, y)) in x.iter().zip(y).enumerate() {
                    let (x, y) = (Number::Float(x.to_f64()), Number::Float(y.to_f64()));
                    self.compare_numbers(block, number + at, x, y);
                }
            }
            (left, right, number) = (left_rest, right_rest, number + count);
        }
    }

    /// Compares finite numbers, in lanes that the processor computes at the same
    /// time. Returns `false`, and does nothing, if a number is not finite or if
    /// pairs that differ are to be kept.
    fn compare_finite<T: Real>(&mut self, a: &[T], b: &[T]) -> bool {
        let tolerance = self.tolerance;
        let (mut sums, mut squares, mut largest) =
            ([0.0_f64; LANES], [0.0_f64; LANES], [0.0_f64; LANES]);
        let (mut counts, mut magnitudes) = ([0_u32; LANES], [0.0_f64; LANES]);
        for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
            let lanes = sums.iter_mut().zip(&mut squares).zip(&mut largest).zip(&mut counts);
            let lanes = lanes.zip(&mut magnitudes).zip(a.iter().zip(b));
            for (((((sum, squares), largest), count), magnitude), (x, y)) in lanes {
                let (x, y) = (x.to_f64(), y.to_f64());
                let distance = (x - y).abs();
                let differs = distance > tolerance.bound(y.abs());
                *sum += distance;
                *squares += distance * distance;
                *count += u32::from(differs);
                *largest = if differs && distance > *largest { distance } else { *largest };
                // Zero times an infinity is NaN, and so is everything added to it.
                *magnitude += x * 0.0 + y * 0.0;
            }
        }
        let differing: u32 = counts.iter().sum();
        if magnitudes.iter().any(|sum| sum.is_nan())
            || (differing > 0 && self.first.len() < self.limit)
        {
            return false;
        }
        self.count += to_usize(differing.into());
        let most = largest.iter().copied().fold(0.0, f64::max);
        self.note_largest((differing > 0).then_some(most));
        self.distances.count += a.len();
        self.distances.sum += sums.iter().sum::<f64>();
        self.distances.squares += squares.iter().sum::<f64>();
        true
    }

    fn compare_numbers(&mut self, block: &Block<'_, '_>, number: usize, x: Number, y: Number) {
        let distance = difference(x, y).abs();
        let is_equal = self.tolerance.equal_numbers(x, y, distance);
        self.record(block, number, is_equal, Some(distance));
    }

    /// Records the `number`th elements of a block.
    fn record(
        &mut self,
        block: &Block<'_, '_>,
        number: usize,
        is_equal: bool,
        distance: Option<f64>,
    ) {
        let distance = distance.filter(|distance| !distance.is_nan());
        if let Some(distance) = distance {
            self.distances.count += 1;
            self.distances.sum += distance;
            self.distances.squares += distance * distance;
        }
        if is_equal {
            return;
        }
        self.count += 1;
        if self.first.len() < self.limit {
            self.first.push(block.pair(number));
        }
        self.note_largest(distance);
    }

    fn note_largest(&mut self, distance: Option<f64>) {
        self.largest = joined(self.largest, distance, f64::max);
    }
}

/// The number of elements of a contiguous view that are NaN.
#[expect(clippy::eq_op, clippy::float_cmp, reason = "only NaN differs from itself")]
fn count_nan(view: &DynView<'_>) -> Result<usize> {
    let mut count = 0;
    with_type!(view.dtype(), number T => {
        let mut blocks = view.view::<T>()?.blocks();
        while let Some(block) = blocks.next() {
            count += block.iter().filter(|x| x != x).count();
        }
    }, _ => {});
    Ok(count)
}

/// The distances of pairs of numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Distances {
    are_numbers: bool,
    /// The number of pairs.
    count: usize,
    sum: f64,
    squares: f64,
}

impl Distances {
    fn mean_of(self, sum: f64) -> Option<f64> {
        (self.are_numbers && self.count > 0).then(|| sum / to_u64(self.count).to_f64())
    }

    fn add(&mut self, other: Distances) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

/// Parts of two arrays at the same place.
struct Block<'v, 'a> {
    a: &'v DynView<'a>,
    b: &'v DynView<'a>,
    /// The shape of the views that the block is part of.
    shape: &'v [usize],
    /// The number of the block's first element in them.
    start: usize,
}

impl Block<'_, '_> {
    /// The `number`th elements, with their index in the whole arrays.
    fn pair(&self, number: usize) -> Pair {
        let index = row_blocks::index(self.shape, self.start + number);
        let inner = row_blocks::index(self.a.shape(), number);
        Pair { index, a: self.a.at(inner.as_slice()), b: self.b.at(inner.as_slice()) }
    }
}

/// Returns whether a view is contiguous in Fortran order only.
fn is_fortran(view: &DynView<'_>) -> bool {
    view.as_bytes().is_none() && view.t().as_bytes().is_some()
}
