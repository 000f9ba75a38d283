//! When two elements count as equal, and how far apart numbers are.

use npymap::{DType, Value, dtype::Kind};

/// How far apart two numbers may be to count as equal: `|a - b| <= absolute +
/// relative * |b|`, as in `numpy.isclose`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
}

impl Tolerance {
    /// Returns whether two values are equal. NaN equals NaN.
    pub(crate) fn equal_values(self, a: &Value, b: &Value) -> bool {
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

    pub(crate) fn equal_numbers(self, a: NumericValue, b: NumericValue) -> bool {
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
pub(crate) enum NumericValue {
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

pub(crate) fn is_number(kind: Kind) -> bool {
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

/// The distance between two numbers.
pub(crate) fn distance(a: &Value, b: &Value) -> Option<f64> {
    let ((a_real, a_imag), (b_real, b_imag)) = parts(a).zip(parts(b))?;
    Some(f64::hypot(difference(a_real, b_real), difference(a_imag, b_imag)))
}

/// The difference of two numbers; zero for equal infinities.
pub(crate) fn difference(a: NumericValue, b: NumericValue) -> f64 {
    if a.to_f64().is_infinite() && a.to_f64().total_cmp(&b.to_f64()).is_eq() {
        return 0.0;
    }
    a.minus(b)
}
