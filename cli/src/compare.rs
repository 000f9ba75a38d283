//! Compares arrays element by element, equal bytes at the speed of memory.

use std::cmp::Ordering;

use npymap::{DType, Result, Value, dtype::Field, element::Real, view::DynView, with_type};

use crate::progress::Progress;

/// Bytes that are compared at once.
const BLOCK: usize = 1 << 18;

/// How far apart two numbers may be and still be equal:
/// `|a - b| <= absolute + relative * |b|`, as in `numpy.isclose`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
}

impl Tolerance {
    /// Whether two values are equal. NaN is equal to NaN.
    fn equal(self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Record(a), Value::Record(b)) | (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.equal(a, b))
            }
            _ => match (parts(a), parts(b)) {
                (Some(a), Some(b)) => self.numbers(a.0, b.0) && self.numbers(a.1, b.1),
                _ => a == b,
            },
        }
    }

    fn numbers(self, a: NumericValue, b: NumericValue) -> bool {
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

    /// The integer it is, if it is one that 128 bits hold with ease.
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

/// The real and imaginary part of a number.
fn parts(value: &Value) -> Option<(NumericValue, NumericValue)> {
    let zero = NumericValue::Integer(0);
    let real = |value| (NumericValue::Float(value), zero);
    Some(match value {
        Value::Bool(value) => (NumericValue::Integer((*value).into()), zero),
        Value::Int(value) => (NumericValue::Integer((*value).into()), zero),
        Value::UInt(value) => (NumericValue::Integer((*value).into()), zero),
        Value::F16(value) => real(f64::from(*value)),
        Value::F32(value) => real((*value).into()),
        Value::F64(value) => real(*value),
        Value::C64(value) => {
            (NumericValue::Float(value.re.into()), NumericValue::Float(value.im.into()))
        }
        Value::C128(value) => (NumericValue::Float(value.re), NumericValue::Float(value.im)),
        _ => return None,
    })
}

/// Whether elements of two dtypes can be equal at all.
pub(crate) fn comparable(a: &DType, b: &DType) -> bool {
    use npymap::dtype::Kind as K;
    let is_number = |kind| matches!(kind, K::Bool | K::Int | K::UInt | K::Float | K::Complex);
    let is_long = |dtype: &DType| match dtype.kind() {
        K::Float => dtype.itemsize() > 8,
        K::Complex => dtype.itemsize() > 16,
        _ => false,
    };
    match (a.kind(), b.kind()) {
        _ if is_long(a) || is_long(b) => a == b,
        (K::Struct, K::Struct) => {
            let same =
                |(a, b): (&Field, &Field)| a.name() == b.name() && comparable(&a.dtype, &b.dtype);
            a.fields().len() == b.fields().len() && a.fields().iter().zip(b.fields()).all(same)
        }
        (K::Subarray, K::Subarray) => match (a.subarray(), b.subarray()) {
            (Some((a, shape)), Some((b, other))) => shape == other && comparable(a, b),
            _ => false,
        },
        (K::DateTime, K::DateTime) | (K::TimeDelta, K::TimeDelta) => a.unit() == b.unit(),
        (a, b) => a == b || (is_number(a) && is_number(b)),
    }
}

/// One pair of elements that differ.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) index: Vec<usize>,
    pub(crate) a: Value,
    pub(crate) b: Value,
}

/// What differs between the elements of two arrays.
#[derive(Debug)]
pub(crate) struct Comparison {
    tolerance: Tolerance,
    /// How many pairs are kept.
    limit: usize,
    pub(crate) count: usize,
    /// The first of them, in C order; in the order of memory of two arrays in
    /// Fortran order.
    pub(crate) first: Vec<Pair>,
    /// The largest distance of two numbers.
    pub(crate) largest: Option<f64>,
}

impl Comparison {
    /// Compares the elements of two views of the same shape.
    pub(crate) fn of(
        a: &DynView<'_>,
        b: &DynView<'_>,
        tolerance: Tolerance,
        limit: usize,
    ) -> Result<Comparison> {
        let mut found = Comparison { tolerance, limit, count: 0, first: Vec::new(), largest: None };
        // Of elements of no bytes there may be more than can be counted through.
        if a.is_empty() || (a.itemsize() == 0 && b.itemsize() == 0) {
            return Ok(found);
        }
        let mut progress = Progress::new(a.len().saturating_mul(a.itemsize()));
        let is_fortran =
            |view: &DynView<'_>| view.as_bytes().is_none() && view.t().as_bytes().is_some();
        if is_fortran(a) && is_fortran(b) {
            found.parts(&a.t(), &b.t(), &[], &mut progress)?;
            found.first.iter_mut().for_each(|pair| pair.index.reverse());
        } else {
            found.parts(a, b, &[], &mut progress)?;
        }
        Ok(found)
    }

    /// Compares part by part; `before` is the index that led to these.
    fn parts(
        &mut self,
        a: &DynView<'_>,
        b: &DynView<'_>,
        before: &[usize],
        progress: &mut Progress,
    ) -> Result<()> {
        let row = a.len().checked_div(a.shape().first().copied().unwrap_or(0)).unwrap_or(0);
        let row = row.saturating_mul(a.itemsize().max(1));
        if a.ndim() > 1 && row > BLOCK {
            for (i, (a, b)) in a.outer_iter().zip(b.outer_iter()).enumerate() {
                self.parts(&a, &b, &[before, &[i]].concat(), progress)?;
            }
            return Ok(());
        }
        if a.ndim() == 0 {
            return self.block(a, b, before, 0);
        }
        let rows = (BLOCK / row.max(1)).max(1);
        let blocks = a.axis_chunks(0, rows)?.zip(b.axis_chunks(0, rows)?);
        for (number, (a, b)) in blocks.enumerate() {
            self.block(&a, &b, before, number * rows)?;
            progress.add(a.len() * a.itemsize());
        }
        Ok(())
    }

    /// Compares a block whose first axis starts at an index.
    fn block(
        &mut self,
        a: &DynView<'_>,
        b: &DynView<'_>,
        before: &[usize],
        start: usize,
    ) -> Result<()> {
        let same_type = a.dtype() == b.dtype();
        if same_type && a.as_bytes().zip(b.as_bytes()).is_some_and(|(a, b)| a == b) {
            return Ok(());
        }
        let tolerance = self.tolerance;
        let mut differ = |number: usize, distance: Option<f64>| {
            let index = unravelled(number, a.shape());
            let pair = || {
                let mut place = [before, &index].concat();
                if let Some(first) = place.get_mut(before.len()) {
                    *first += start;
                }
                Pair { index: place, a: a.at(index.as_slice()), b: b.at(index.as_slice()) }
            };
            self.found(pair, distance);
        };
        if same_type {
            with_type!(a.dtype(), integer T => {
                let (a, b) = (a.view::<T>()?, b.view::<T>()?);
                let pairs = a.iter().zip(b.iter()).enumerate();
                for (number, (x, y)) in pairs.filter(|(_, (x, y))| x != y) {
                    let (x, y) = (NumericValue::Integer(x.into()), NumericValue::Integer(y.into()));
                    if !tolerance.numbers(x, y) {
                        differ(number, Some(x.minus(y)));
                    }
                }
                return Ok(());
            }, _ => {});
            with_type!(a.dtype(), float T => {
                let (a, b) = (a.view::<T>()?, b.view::<T>()?);
                let pairs = a.iter().zip(b.iter()).enumerate();
                for (number, (x, y)) in pairs.filter(|(_, (x, y))| x.partial_cmp(y) != Some(Ordering::Equal)) {
                    let (x, y) = (NumericValue::Float(x.to_f64()), NumericValue::Float(y.to_f64()));
                    if !tolerance.numbers(x, y) {
                        differ(number, Some(x.minus(y)));
                    }
                }
                return Ok(());
            }, _ => {});
        }
        for (number, (x, y)) in a.iter().zip(b.iter()).enumerate() {
            if !tolerance.equal(&x, &y) {
                let distance =
                    |((a, ai), (b, bi)): ((NumericValue, _), (NumericValue, NumericValue))| {
                        f64::hypot(a.minus(b), NumericValue::minus(ai, bi))
                    };
                differ(number, parts(&x).zip(parts(&y)).map(distance));
            }
        }
        Ok(())
    }

    fn found(&mut self, pair: impl FnOnce() -> Pair, distance: Option<f64>) {
        self.count += 1;
        if self.first.len() < self.limit {
            self.first.push(pair());
        }
        if let Some(distance) = distance.map(f64::abs).filter(|distance| !distance.is_nan()) {
            self.largest = Some(self.largest.map_or(distance, |largest| largest.max(distance)));
        }
    }
}

/// The index of the `number`th element in C order.
fn unravelled(number: usize, shape: &[usize]) -> Vec<usize> {
    let mut number = number;
    let mut index = shape.to_vec();
    for i in index.iter_mut().rev() {
        let dim = (*i).max(1);
        *i = number % dim;
        number /= dim;
    }
    index
}
