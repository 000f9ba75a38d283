//! Compares arrays element by element, equal bytes at the speed of memory.

use std::cmp::Ordering;

use npymap::{DType, Result, Value, dtype::Kind, element::Real, view::DynView, with_type};

use crate::progress::Progress;

/// Bytes compared at a time.
const BLOCK: usize = 1 << 18;

/// How far apart two numbers may be to count as equal: `|a - b| <= absolute +
/// relative * |b|`, as in `numpy.isclose`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
}

impl Tolerance {
    /// Returns whether two values are equal. NaN equals NaN.
    fn equal_values(self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Record(a), Value::Record(b)) | (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.equal_values(a, b))
            }
            _ => match (parts(a), parts(b)) {
                (Some(a), Some(b)) => self.equal_numbers(a.0, b.0) && self.equal_numbers(a.1, b.1),
                _ => a == b,
            },
        }
    }

    fn equal_numbers(self, a: NumericValue, b: NumericValue) -> bool {
        let (NumericValue::Float(x), NumericValue::Float(y)) = (a, b) else {
            return match (a.integer(), b.integer()) {
                (Some(x), Some(y)) => x == y || self.allows(a.minus(b), b),
                _ => self.allows(a.minus(b), b),
            };
        };
        x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()) || self.allows(x - y, b)
    }

    fn allows(self, distance: f64, b: NumericValue) -> bool {
        let b = b.to_f64();
        b.is_finite() && distance.abs() <= self.absolute + self.relative * b.abs()
    }
}

/// A number, exact if it is an integer.
#[derive(Clone, Copy, Debug)]
enum NumericValue {
    Integer(i128),
    Float(f64),
}

impl NumericValue {
    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "near enough")]
    fn to_f64(self) -> f64 {
        match self {
            NumericValue::Integer(value) => value as f64,
            NumericValue::Float(value) => value,
        }
    }

    /// The number as an integer, if it is one and far from overflowing 128
    /// bits.
    #[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it is whole")]
    fn integer(self) -> Option<i128> {
        match self {
            NumericValue::Integer(value) => Some(value),
            NumericValue::Float(value) if value.abs() < 1e36 && value.fract() == 0.0 => {
                Some(value as i128)
            }
            NumericValue::Float(_) => None,
        }
    }

    /// The difference, rounded once.
    fn minus(self, other: NumericValue) -> f64 {
        match (self.integer(), other.integer()) {
            (Some(a), Some(b)) => NumericValue::Integer(a - b).to_f64(),
            _ => self.to_f64() - other.to_f64(),
        }
    }
}

/// The real and imaginary parts of a number.
fn parts(value: &Value) -> Option<(NumericValue, NumericValue)> {
    let zero = NumericValue::Integer(0);
    Some(match value {
        Value::Bool(value) => (NumericValue::Integer((*value).into()), zero),
        Value::Int(value) => (NumericValue::Integer((*value).into()), zero),
        Value::UInt(value) => (NumericValue::Integer((*value).into()), zero),
        Value::F16(value) => (NumericValue::Float(f64::from(*value)), zero),
        Value::F32(value) => (NumericValue::Float((*value).into()), zero),
        Value::F64(value) => (NumericValue::Float(*value), zero),
        Value::C64(value) => {
            (NumericValue::Float(value.re.into()), NumericValue::Float(value.im.into()))
        }
        Value::C128(value) => (NumericValue::Float(value.re), NumericValue::Float(value.im)),
        _ => return None,
    })
}

/// Returns whether elements of two dtypes can be equal at all.
pub(crate) fn comparable(a: &DType, b: &DType) -> bool {
    match (a.kind(), b.kind()) {
        _ if is_extended(a) || is_extended(b) => a == b,
        (Kind::Struct, Kind::Struct) => {
            a.fields().len() == b.fields().len()
                && a.fields()
                    .iter()
                    .zip(b.fields())
                    .all(|(a, b)| a.name() == b.name() && comparable(&a.dtype, &b.dtype))
        }
        (Kind::Subarray, Kind::Subarray) => match (a.subarray(), b.subarray()) {
            (Some((a, shape)), Some((b, other))) => shape == other && comparable(a, b),
            _ => false,
        },
        (Kind::DateTime, Kind::DateTime) | (Kind::TimeDelta, Kind::TimeDelta) => {
            a.unit() == b.unit()
        }
        (a, b) => a == b || (is_number(a) && is_number(b)),
    }
}

fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Bool | Kind::Int | Kind::UInt | Kind::Float | Kind::Complex)
}

/// Returns whether a dtype has more precision than `f64`, so that its values
/// can be compared by their bytes only.
fn is_extended(dtype: &DType) -> bool {
    match dtype.kind() {
        Kind::Float => dtype.itemsize() > 8,
        Kind::Complex => dtype.itemsize() > 16,
        _ => false,
    }
}

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
    /// The largest distance between two numbers.
    pub(crate) largest: Option<f64>,
}

impl Comparison {
    /// Compares the elements of two views of the same shape.
    pub(crate) fn compute(
        a: &DynView<'_>,
        b: &DynView<'_>,
        tolerance: Tolerance,
        limit: usize,
    ) -> Result<Comparison> {
        let mut comparison =
            Comparison { tolerance, limit, count: 0, first: Vec::new(), largest: None };
        // There may be too many zero-size elements to iterate over.
        if a.is_empty() || (a.itemsize() == 0 && b.itemsize() == 0) {
            return Ok(comparison);
        }
        let mut progress = Progress::new(a.len().saturating_mul(a.itemsize()));
        if is_fortran(a) && is_fortran(b) {
            comparison.compare_blocks(&a.t(), &b.t(), &[], &mut progress)?;
            comparison.first.iter_mut().for_each(|pair| pair.index.reverse());
        } else {
            comparison.compare_blocks(a, b, &[], &mut progress)?;
        }
        Ok(comparison)
    }

    /// Compares block by block; `outer` is the index of these views in the
    /// whole arrays.
    fn compare_blocks(
        &mut self,
        a: &DynView<'_>,
        b: &DynView<'_>,
        outer: &[usize],
        progress: &mut Progress,
    ) -> Result<()> {
        let row = a.len().checked_div(a.shape().first().copied().unwrap_or(0)).unwrap_or(0);
        let row = row.saturating_mul(a.itemsize().max(1));
        if a.ndim() > 1 && row > BLOCK {
            for (i, (a, b)) in a.outer_iter().zip(b.outer_iter()).enumerate() {
                self.compare_blocks(&a, &b, &[outer, &[i]].concat(), progress)?;
            }
            return Ok(());
        }
        if a.ndim() == 0 {
            return self.compare_block(&Block { a, b, outer, start: 0 });
        }
        let rows = (BLOCK / row.max(1)).max(1);
        let blocks = a.axis_chunks(0, rows)?.zip(b.axis_chunks(0, rows)?);
        for (number, (a, b)) in blocks.enumerate() {
            self.compare_block(&Block { a: &a, b: &b, outer, start: number * rows })?;
            progress.add(a.len() * a.itemsize());
        }
        Ok(())
    }

    /// Compares the elements of a block.
    fn compare_block(&mut self, block: &Block<'_, '_>) -> Result<()> {
        let Block { a, b, .. } = *block;
        let same_type = a.dtype() == b.dtype();
        if same_type && a.as_bytes().zip(b.as_bytes()).is_some_and(|(a, b)| a == b) {
            return Ok(());
        }
        if same_type {
            with_type!(a.dtype(), integer T => {
                let (a, b) = (a.view::<T>()?, b.view::<T>()?);
                let pairs = a.iter().zip(b.iter()).enumerate();
                for (number, (x, y)) in pairs.filter(|(_, (x, y))| x != y) {
                    let (x, y) = (NumericValue::Integer(x.into()), NumericValue::Integer(y.into()));
                    if !self.tolerance.equal_numbers(x, y) {
                        self.record(block, number, Some(x.minus(y)));
                    }
                }
                return Ok(());
            }, _ => {});
            with_type!(a.dtype(), float T => {
                let (a, b) = (a.view::<T>()?, b.view::<T>()?);
                let pairs = a.iter().zip(b.iter()).enumerate();
                for (number, (x, y)) in pairs.filter(|(_, (x, y))| x.partial_cmp(y) != Some(Ordering::Equal)) {
                    let (x, y) = (NumericValue::Float(x.to_f64()), NumericValue::Float(y.to_f64()));
                    if !self.tolerance.equal_numbers(x, y) {
                        self.record(block, number, Some(x.minus(y)));
                    }
                }
                return Ok(());
            }, _ => {});
        }
        for (number, (x, y)) in a.iter().zip(b.iter()).enumerate() {
            if !self.tolerance.equal_values(&x, &y) {
                self.record(block, number, distance(&x, &y));
            }
        }
        Ok(())
    }

    /// Records that the `number`th elements of a block differ.
    fn record(&mut self, block: &Block<'_, '_>, number: usize, distance: Option<f64>) {
        self.count += 1;
        if self.first.len() < self.limit {
            self.first.push(block.pair(number));
        }
        if let Some(distance) = distance.map(f64::abs).filter(|distance| !distance.is_nan()) {
            self.largest = Some(self.largest.map_or(distance, |largest| largest.max(distance)));
        }
    }
}

/// Parts of two arrays at the same place.
struct Block<'v, 'a> {
    a: &'v DynView<'a>,
    b: &'v DynView<'a>,
    /// The index of the views that the block is part of.
    outer: &'v [usize],
    /// Where the block starts along their first axis.
    start: usize,
}

impl Block<'_, '_> {
    /// The `number`th elements, with their index in the whole arrays.
    fn pair(&self, number: usize) -> Pair {
        let inner = unravel_index(number, self.a.shape());
        let mut index = [self.outer, &inner].concat();
        if let Some(first) = index.get_mut(self.outer.len()) {
            *first += self.start;
        }
        Pair { index, a: self.a.at(inner.as_slice()), b: self.b.at(inner.as_slice()) }
    }
}

/// The distance between two numbers.
fn distance(a: &Value, b: &Value) -> Option<f64> {
    let ((a_real, a_imag), (b_real, b_imag)) = parts(a).zip(parts(b))?;
    Some(f64::hypot(a_real.minus(b_real), a_imag.minus(b_imag)))
}

/// Returns whether a view is contiguous in Fortran order only.
fn is_fortran(view: &DynView<'_>) -> bool {
    view.as_bytes().is_none() && view.t().as_bytes().is_some()
}

/// The index of the `number`th element in C order.
fn unravel_index(number: usize, shape: &[usize]) -> Vec<usize> {
    let mut number = number;
    let mut index = shape.to_vec();
    for i in index.iter_mut().rev() {
        let dim = (*i).max(1);
        *i = number % dim;
        number /= dim;
    }
    index
}
