//! Values of any dtype, for types known only at run time.

mod columns;
mod date;
mod digits;
mod parse;
mod print;
#[cfg(feature = "serde")]
mod serialize;
pub(crate) mod units;

pub(crate) use date::parse_date;
pub(crate) use parse::is_finite_text;
pub(crate) use print::{date_text, difference_text};
#[cfg(feature = "serde")]
pub use serialize::NamedValue;

use half::f16;
use num_complex::Complex;

use crate::dtype::{DType, Field, Kind, Unit};
use crate::element::cast::nearest_half;
use crate::element::date::fits_unit;
use crate::element::strings::store_bytes;
use crate::element::{Element, Ticks, item, item_mut, trim_nuls};
use crate::error::{Error, Result, excerpt};

/// An element of any dtype, for types known only at run time.
///
/// It prints as `print(a[i])` does in NumPy, and [`parse`](Value::parse) reads it
/// from text.
///
/// # Examples
///
/// ```
/// use npymap::{DType, MappedArray, Value};
///
/// let dtype: DType = "[('when', '<M8[D]'), ('name', '<U4'), ('x', '<f4')]".parse()?;
/// let mut array = MappedArray::zeros(&dtype, &[1])?;
/// let value = Value::parse("('2020-02-29', 'abc', 0.1)", &dtype)?;
/// array.dyn_view_mut()?.set(0, value)?;
/// assert_eq!(array.dyn_view()?.at(0).to_string(), "('2020-02-29', 'abc', 0.1)");
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// `b1`
    Bool(bool),
    /// `i1` … `i8`
    Int(i64),
    /// `u1` … `u8`
    UInt(u64),
    /// `f2`
    F16(f16),
    /// `f4`
    F32(f32),
    /// `f8`
    F64(f64),
    /// `c8`
    C64(Complex<f32>),
    /// `c16`
    C128(Complex<f64>),
    /// `S`, without trailing NULs
    Bytes(Vec<u8>),
    /// `U`, without trailing NULs
    Text(String),
    /// `V`, and long doubles: the stored bytes
    Void(Vec<u8>),
    /// `M8`, with its unit
    DateTime(Ticks, Option<Unit>),
    /// `m8`, with its unit
    TimeDelta(Ticks, Option<Unit>),
    /// A struct's fields
    Record(Vec<Value>),
    /// A subarray along its first axis
    Array(Vec<Value>),
}

impl Element for Value {
    type Codec = DType;

    #[inline]
    fn codec(dtype: &DType) -> Result<DType> {
        Ok(dtype.clone())
    }

    #[inline]
    fn itemsize(dtype: &DType) -> usize {
        dtype.itemsize()
    }

    #[inline]
    fn decode(dtype: &DType, bytes: &[u8]) -> Value {
        let order = &dtype.byte_order();
        match (dtype.kind(), dtype.itemsize()) {
            (Kind::Bool, _) => Value::Bool(bool::decode(&(), bytes)),
            (Kind::Int, 1) => Value::Int(i8::decode(order, bytes).into()),
            (Kind::Int, 2) => Value::Int(i16::decode(order, bytes).into()),
            (Kind::Int, 4) => Value::Int(i32::decode(order, bytes).into()),
            (Kind::Int, _) => Value::Int(i64::decode(order, bytes)),
            (Kind::UInt, 1) => Value::UInt(u8::decode(order, bytes).into()),
            (Kind::UInt, 2) => Value::UInt(u16::decode(order, bytes).into()),
            (Kind::UInt, 4) => Value::UInt(u32::decode(order, bytes).into()),
            (Kind::UInt, _) => Value::UInt(u64::decode(order, bytes)),
            (Kind::Float, 2) => Value::F16(f16::decode(order, bytes)),
            (Kind::Float, 4) => Value::F32(f32::decode(order, bytes)),
            (Kind::Float, 8) => Value::F64(f64::decode(order, bytes)),
            (Kind::Complex, 8) => Value::C64(Complex::decode(order, bytes)),
            (Kind::Complex, 16) => Value::C128(Complex::decode(order, bytes)),
            (Kind::DateTime, _) => Value::DateTime(Ticks::decode(order, bytes), dtype.unit()),
            (Kind::TimeDelta, _) => Value::TimeDelta(Ticks::decode(order, bytes), dtype.unit()),
            (Kind::Bytes, _) => Value::Bytes(trim_nuls(bytes).to_vec()),
            (Kind::Unicode, _) => match String::codec(dtype) {
                Ok(text) => Value::Text(String::decode(&text, bytes)),
                Err(_) => Value::Void(bytes.to_vec()),
            },
            (Kind::Struct, _) => {
                let fields = dtype.fields().iter();
                let decode =
                    |field: &Field| Value::decode(&field.dtype, item(bytes, field.range()));
                Value::Record(fields.map(decode).collect())
            }
            (Kind::Subarray, _) => match nonempty_subarray(dtype) {
                Some((base, shape)) => decode_nested(base, shape, bytes),
                None => Value::Array(Vec::new()),
            },
            (Kind::Float | Kind::Complex | Kind::Void, _) => Value::Void(bytes.to_vec()),
        }
    }

    /// Encodes a value of the dtype's kind. Only floats can lose precision.
    /// Other values must fit exactly.
    #[inline]
    fn encode(&self, dtype: &DType, bytes: &mut [u8]) -> Result<()> {
        let (order, misfit) = (&dtype.byte_order(), || self.misfit(dtype));
        match (self, dtype.kind(), dtype.itemsize()) {
            (_, Kind::Bool, _) => self.as_bool().ok_or_else(misfit)?.encode(&(), bytes),
            (_, Kind::Int, 1) => self.to_integer::<i8>(dtype)?.encode(order, bytes),
            (_, Kind::Int, 2) => self.to_integer::<i16>(dtype)?.encode(order, bytes),
            (_, Kind::Int, 4) => self.to_integer::<i32>(dtype)?.encode(order, bytes),
            (_, Kind::Int, _) => self.to_integer::<i64>(dtype)?.encode(order, bytes),
            (_, Kind::UInt, 1) => self.to_integer::<u8>(dtype)?.encode(order, bytes),
            (_, Kind::UInt, 2) => self.to_integer::<u16>(dtype)?.encode(order, bytes),
            (_, Kind::UInt, 4) => self.to_integer::<u32>(dtype)?.encode(order, bytes),
            (_, Kind::UInt, _) => self.to_integer::<u64>(dtype)?.encode(order, bytes),
            (Value::F16(value), Kind::Float, 2) => value.encode(order, bytes),
            (_, Kind::Float, 2) => {
                nearest_half(self.as_f64().ok_or_else(misfit)?).encode(order, bytes)
            }
            (Value::F32(value), Kind::Float, 4) => value.encode(order, bytes),
            (_, Kind::Float, 4) => to_f32(self.as_f64().ok_or_else(misfit)?).encode(order, bytes),
            (_, Kind::Float, 8) => self.as_f64().ok_or_else(misfit)?.encode(order, bytes),
            (Value::C64(value), Kind::Complex, 8) => value.encode(order, bytes),
            (_, Kind::Complex, 8) => {
                let value = self.as_complex().ok_or_else(misfit)?;
                Complex::new(to_f32(value.re), to_f32(value.im)).encode(order, bytes)
            }
            (_, Kind::Complex, 16) => self.as_complex().ok_or_else(misfit)?.encode(order, bytes),
            (Value::DateTime(ticks, unit), Kind::DateTime, _)
            | (Value::TimeDelta(ticks, unit), Kind::TimeDelta, _)
                if fits_unit(*ticks, *unit, dtype.unit()) =>
            {
                ticks.encode(order, bytes)
            }
            (Value::Text(text), Kind::Unicode, _) => text.encode(&String::codec(dtype)?, bytes),
            (Value::Bytes(stored), Kind::Bytes, _) => store_bytes(stored, bytes),
            (Value::Record(values), Kind::Struct, _) if values.len() == dtype.fields().len() => {
                let mut fields = dtype.fields().iter().zip(values);
                fields.try_for_each(|(field, value)| {
                    value.encode(&field.dtype, item_mut(bytes, field.range()))
                })
            }
            (Value::Array(values), Kind::Subarray, _) => match nonempty_subarray(dtype) {
                Some((base, shape)) => self.encode_nested(base, shape, bytes),
                None if values.is_empty() => Ok(()),
                None => Err(misfit()),
            },
            (Value::Void(stored), Kind::Float | Kind::Complex | Kind::Void, _)
                if stored.len() == bytes.len() =>
            {
                bytes.copy_from_slice(stored);
                Ok(())
            }
            _ => Err(misfit()),
        }
    }
}

impl Value {
    /// Encodes a subarray axis by axis.
    #[inline]
    fn encode_nested(&self, base: &DType, shape: &[usize], bytes: &mut [u8]) -> Result<()> {
        let (Some((&first, rest)), false) = (shape.split_first(), bytes.is_empty()) else {
            return self.encode(base, bytes);
        };
        let size = (bytes.len() / first).max(1);
        match self {
            Value::Array(values) if values.len() == first => values
                .iter()
                .zip(bytes.chunks_exact_mut(size))
                .try_for_each(|(value, bytes)| value.encode_nested(base, rest, bytes)),
            _ => Err(self.misfit(&DType::array(base.clone(), shape)?)),
        }
    }

    /// The error for a value that does not fit the dtype.
    #[inline]
    fn misfit(&self, dtype: &DType) -> Error {
        let value = excerpt(&self.to_string());
        Error::invalid_value(value, format_args!("a value that fits {dtype}"))
    }

    #[inline]
    fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            Value::Int(0) | Value::UInt(0) => Some(false),
            Value::Int(1) | Value::UInt(1) => Some(true),
            _ => None,
        }
    }

    fn to_integer<T: TryFrom<i128>>(&self, dtype: &DType) -> Result<T> {
        let value = match self {
            Value::Bool(value) => Some(i128::from(*value)),
            Value::Int(value) => Some(i128::from(*value)),
            Value::UInt(value) => Some(i128::from(*value)),
            _ => None,
        };
        value.and_then(|value| T::try_from(value).ok()).ok_or_else(|| self.misfit(dtype))
    }

    /// Returns the nearest `f64`. Returns `None` if the value is not a real
    /// number.
    #[must_use]
    #[inline]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Bool(value) => Some(f64::from(u8::from(*value))),
            Value::Int(value) => num_traits::ToPrimitive::to_f64(value),
            Value::UInt(value) => num_traits::ToPrimitive::to_f64(value),
            Value::F16(value) => Some(value.to_f64()),
            Value::F32(value) => Some(f64::from(*value)),
            Value::F64(value) => Some(*value),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn as_complex(&self) -> Option<Complex<f64>> {
        match self {
            Value::C64(value) => Some(Complex::new(value.re.into(), value.im.into())),
            Value::C128(value) => Some(*value),
            _ => Some(Complex::new(self.as_f64()?, 0.0)),
        }
    }
}

/// The nearest `f32`, or infinity if it is too large, as NumPy casts.
#[inline]
fn to_f32(value: f64) -> f32 {
    num_traits::ToPrimitive::to_f32(&value).unwrap_or(f32::NAN)
}

/// The base dtype and shape of a subarray. Returns `None` if it has no bytes.
/// Such a subarray is decoded as empty, because a file can claim that it has
/// any number of items.
#[inline]
fn nonempty_subarray(dtype: &DType) -> Option<(&DType, &[usize])> {
    if dtype.itemsize() > 0 { dtype.subarray() } else { None }
}

/// Decodes a subarray axis by axis.
#[inline]
fn decode_nested(base: &DType, shape: &[usize], bytes: &[u8]) -> Value {
    let (Some((&first, rest)), false) = (shape.split_first(), bytes.is_empty()) else {
        return Value::decode(base, bytes);
    };
    let items = bytes.chunks_exact((bytes.len() / first).max(1));
    Value::Array(items.map(|bytes| decode_nested(base, rest, bytes)).collect())
}
