//! When two elements count as equal, and how far apart numbers are.

use npymap::{DType, Value, dtype::Kind};

/// How far apart two numbers, real or complex, may be to count as equal:
/// `|a - b| <= absolute + relative * |b|`, as in `numpy.isclose`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
}

impl Tolerance {
    /// Returns whether two values are equal. NaN equals NaN, and a complex number
    /// is NaN if one of its parts is.
    pub(crate) fn equal_values(self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Record(a), Value::Record(b)) | (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.equal_values(a, b))
            }
            _ => match (parts(a), parts(b)) {
                (Some(a), Some(b)) => self.equal_complex(a, b),
                _ => a == b,
            },
        }
    }

    fn equal_complex(self, a: Parts, b: Parts) -> bool {
        if a.is_nan() || b.is_nan() {
            return a.is_nan() && b.is_nan();
        }
        let distance = a.distance(b);
        distance <= 0.0 || (b.is_finite() && self.contains(distance, b.magnitude()))
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
        b.is_finite() && self.contains(distance.abs(), b.abs())
    }

    fn contains(self, distance: f64, magnitude: f64) -> bool {
        distance <= self.absolute + self.relative * magnitude
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
#[derive(Clone, Copy, Debug)]
struct Parts {
    real: NumericValue,
    imag: NumericValue,
}

impl Parts {
    fn is_nan(self) -> bool {
        self.real.to_f64().is_nan() || self.imag.to_f64().is_nan()
    }

    fn is_finite(self) -> bool {
        self.real.to_f64().is_finite() && self.imag.to_f64().is_finite()
    }

    fn magnitude(self) -> f64 {
        f64::hypot(self.real.to_f64(), self.imag.to_f64())
    }

    /// The distance in the complex plane, NaN if a part is.
    fn distance(self, other: Parts) -> f64 {
        let [real, imag] = [difference(self.real, other.real), difference(self.imag, other.imag)];
        // `hypot` of NaN and an infinity is infinite.
        if real.is_nan() || imag.is_nan() { f64::NAN } else { f64::hypot(real, imag) }
    }
}

fn parts(value: &Value) -> Option<Parts> {
    let (real, imag) = match value {
        Value::C64(value) => {
            (NumericValue::Float(value.re.into()), NumericValue::Float(value.im.into()))
        }
        Value::C128(value) => (NumericValue::Float(value.re), NumericValue::Float(value.im)),
        _ => (real_number(value)?, NumericValue::Integer(0)),
    };
    Some(Parts { real, imag })
}

fn real_number(value: &Value) -> Option<NumericValue> {
    Some(match value {
        Value::Bool(value) => NumericValue::Integer((*value).into()),
        Value::Int(value) => NumericValue::Integer((*value).into()),
        Value::UInt(value) => NumericValue::Integer((*value).into()),
        Value::F16(value) => NumericValue::Float(f64::from(*value)),
        Value::F32(value) => NumericValue::Float((*value).into()),
        Value::F64(value) => NumericValue::Float(*value),
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
    parts(a).zip(parts(b)).map(|(a, b)| a.distance(b))
}

/// The difference of two numbers; zero for equal infinities.
pub(crate) fn difference(a: NumericValue, b: NumericValue) -> f64 {
    if a.to_f64().is_infinite() && a.to_f64().total_cmp(&b.to_f64()).is_eq() {
        return 0.0;
    }
    a.minus(b)
}
