//! When two elements count as equal, and how far apart numbers are.

use npymap::{ByteOrder, DType, Element as _, Value, dtype::Kind};

use crate::input::lengths::part;
use crate::input::promotion::is_number;
use crate::input::text::code_points;
use crate::select::filter::Number;

/// How far apart two numbers, real or complex, may be to count as equal:
/// `|a - b| <= absolute + relative * |b|`, as in `numpy.isclose`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
}

impl Tolerance {
    /// Returns whether two elements, whose dtypes are [`comparable`], are equal. Text is
    /// compared by code points, because values show those that are not valid Unicode as
    /// U+FFFD, and long doubles without their padding.
    pub(crate) fn equal_elements(self, a: Stored<'_>, b: Stored<'_>) -> bool {
        match a.dtype.kind() {
            Kind::Struct => {
                let mut fields = a.dtype.fields().iter().zip(b.dtype.fields());
                fields.all(|(x, y)| {
                    let (x, y) = (a.part(&x.dtype, x.offset), b.part(&y.dtype, y.offset));
                    self.equal_elements(x, y)
                })
            }
            Kind::Subarray => a.items().zip(b.items()).all(|(a, b)| self.equal_elements(a, b)),
            Kind::Unicode => code_points(a.dtype, a.bytes) == code_points(b.dtype, b.bytes),
            _ if is_extended(a.dtype) => {
                let [nan, other_nan] = [a, b].map(|x| x.long_doubles().any(LongDouble::is_nan));
                if nan || other_nan {
                    nan && other_nan
                } else {
                    a.long_doubles().eq(b.long_doubles())
                }
            }
            _ => self.equal_values(&a.value(), &b.value()),
        }
    }

    /// Returns whether two values are equal. NaN equals NaN, and a complex number
    /// is NaN if one of its parts is.
    pub(crate) fn equal_values(self, a: &Value, b: &Value) -> bool {
        match (parts(a), parts(b)) {
            (Some(a), Some(b)) => self.equal_complex(a, b),
            _ => a == b,
        }
    }

    fn equal_complex(self, a: Parts, b: Parts) -> bool {
        let distance = a.distance(b);
        (a.is_nan() && b.is_nan())
            || distance <= 0.0
            || (b.is_finite() && distance <= self.bound(b.magnitude()))
    }

    /// Returns whether two numbers of this distance are equal.
    pub(crate) fn equal_numbers(self, a: Number, b: Number, distance: f64) -> bool {
        let (a, b) = (a.to_f64(), b.to_f64());
        (a.is_nan() && b.is_nan())
            || distance <= 0.0
            || (b.is_finite() && distance <= self.bound(b.abs()))
    }

    /// The largest distance. Infinity times zero is NaN: then only equal numbers are
    /// close, as in NumPy.
    pub(crate) fn bound(self, magnitude: f64) -> f64 {
        (self.absolute + self.relative * magnitude).max(0.0)
    }
}

/// An element as it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored<'a> {
    pub(crate) dtype: &'a DType,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Stored<'a> {
    fn value(self) -> Value {
        Value::decode(self.dtype, self.bytes)
    }

    /// A field, or an item of a subarray.
    fn part(self, dtype: &'a DType, offset: usize) -> Stored<'a> {
        let bytes = part(self.bytes, offset..offset + dtype.itemsize());
        Stored { dtype, bytes }
    }

    /// The items of a subarray.
    fn items(self) -> impl Iterator<Item = Stored<'a>> {
        let dtype = self.dtype.subarray().map_or(self.dtype, |(base, _)| base);
        self.bytes.chunks_exact(dtype.itemsize().max(1)).map(|bytes| Stored { dtype, bytes })
    }

    /// The parts of a long double, or of a complex one.
    fn long_doubles(self) -> impl Iterator<Item = LongDouble> {
        let order = self.dtype.byte_order();
        self.bytes.as_chunks().0.iter().map(move |bytes| LongDouble::new(order, *bytes))
    }
}

/// The bits of a long double, without the sign of a zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LongDouble(u128);

impl LongDouble {
    /// How many there are: on x86, NumPy leaves the bytes after them as they were.
    const BITS: u32 = if cfg!(any(target_arch = "x86", target_arch = "x86_64")) { 80 } else { 128 };

    /// Those of infinity. The first bit of a mantissa is stored only on x86.
    const INFINITY: u128 = if Self::BITS == 80 { 0xffff << 63 } else { 0x7fff << 112 };

    /// All bits but the sign.
    const MAGNITUDE: u128 = u128::MAX >> (129 - Self::BITS);

    fn new(order: ByteOrder, bytes: [u8; 16]) -> LongDouble {
        let bits = match order {
            ByteOrder::Big => u128::from_be_bytes(bytes),
            _ => u128::from_le_bytes(bytes),
        };
        let bits = bits & (u128::MAX >> (128 - Self::BITS));
        LongDouble(if bits & Self::MAGNITUDE == 0 { 0 } else { bits })
    }

    fn is_nan(self) -> bool {
        self.0 & Self::MAGNITUDE > Self::INFINITY
    }
}

impl Number {
    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "rounded once")]
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// The number as an integer, if it is one and far from overflowing 128
    /// bits.
    #[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it is whole")]
    fn integer(self) -> Option<i128> {
        match self {
            Number::Int(value) => Some(value),
            Number::Float(value) if value.abs() < 1e36 && value.fract() == 0.0 => {
                Some(value as i128)
            }
            Number::Float(_) => None,
        }
    }

    /// The difference, rounded once.
    fn minus(self, other: Number) -> f64 {
        match (self.integer(), other.integer()) {
            (Some(a), Some(b)) => Number::Int(a - b).to_f64(),
            _ => self.to_f64() - other.to_f64(),
        }
    }
}

/// The real and imaginary parts of a number.
#[derive(Clone, Copy, Debug)]
struct Parts {
    real: Number,
    imag: Number,
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
        Value::C64(value) => (Number::Float(value.re.into()), Number::Float(value.im.into())),
        Value::C128(value) => (Number::Float(value.re), Number::Float(value.im)),
        _ => (real_number(value)?, Number::Int(0)),
    };
    Some(Parts { real, imag })
}

fn real_number(value: &Value) -> Option<Number> {
    Some(match value {
        Value::Bool(value) => Number::Int((*value).into()),
        Value::Int(value) => Number::Int((*value).into()),
        Value::UInt(value) => Number::Int((*value).into()),
        Value::F16(value) => Number::Float(f64::from(*value)),
        Value::F32(value) => Number::Float((*value).into()),
        Value::F64(value) => Number::Float(*value),
        _ => return None,
    })
}

/// Returns whether elements of two dtypes can be equal at all.
pub(crate) fn comparable(a: &DType, b: &DType) -> bool {
    match (a.kind(), b.kind()) {
        _ if is_extended(a) || is_extended(b) => {
            (a.kind(), a.itemsize()) == (b.kind(), b.itemsize())
        }
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

/// Returns whether the elements of a dtype are numbers that have distances.
pub(crate) fn has_distances(dtype: &DType) -> bool {
    is_number(dtype.kind()) && !is_extended(dtype)
}

/// Returns whether a dtype has more precision than `f64`, so that its values
/// can be compared by their bits only.
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
pub(crate) fn difference(a: Number, b: Number) -> f64 {
    if a.to_f64().is_infinite() && a.to_f64().total_cmp(&b.to_f64()).is_eq() {
        return 0.0;
    }
    a.minus(b)
}
