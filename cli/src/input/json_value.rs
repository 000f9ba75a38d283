//! Elements as JSON.

use std::fmt;

use npymap::{DType, Value, element::Ticks};
use serde::{Serialize, Serializer};

/// A value of a dtype as JSON. JSON has no bytes, NaN or complex numbers; dates
/// are strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonValue<'a>(pub(crate) &'a Value, pub(crate) &'a DType);

impl Serialize for JsonValue<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let JsonValue(value, dtype) = *self;
        match value {
            Value::Bool(value) => to.serialize_bool(*value),
            Value::Int(value) => to.serialize_i64(*value),
            Value::UInt(value) => to.serialize_u64(*value),
            Value::F64(value) if value.is_finite() => to.serialize_f64(*value),
            Value::F16(_) | Value::F32(_) | Value::F64(_) => number(value, to),
            Value::C64(value) => {
                to.collect_seq([value.re, value.im].map(|part| JsonScalar(Value::F32(part))))
            }
            Value::C128(value) => {
                to.collect_seq([value.re, value.im].map(|part| JsonScalar(Value::F64(part))))
            }
            Value::Bytes(bytes) | Value::Void(bytes) => to.collect_str(&Latin1(bytes)),
            Value::Text(text) => to.serialize_str(text),
            Value::DateTime(Ticks::NAT, _) | Value::TimeDelta(Ticks::NAT, _) => to.serialize_none(),
            Value::TimeDelta(ticks, _) => to.serialize_i64(ticks.0),
            Value::Record(values) => {
                let fields = dtype.fields().iter().zip(values);
                to.collect_map(
                    fields.map(|(field, value)| (field.name(), JsonValue(value, &field.dtype))),
                )
            }
            Value::Array(values) => {
                let base = dtype.subarray().map_or(dtype, |(base, _)| base);
                to.collect_seq(values.iter().map(|value| JsonValue(value, base)))
            }
            _ => to.collect_str(value),
        }
    }
}

/// A number, a date or a time difference as JSON.
#[derive(Clone, Debug)]
pub(crate) struct JsonScalar(pub(crate) Value);

impl JsonScalar {
    pub(crate) fn float(number: Option<f64>) -> Option<JsonScalar> {
        number.map(|number| JsonScalar(Value::F64(number)))
    }
}

impl Serialize for JsonScalar {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        JsonValue(&self.0, &DType::of::<u8>()).serialize(to)
    }
}

/// A float with the fewest digits that identify it, or `nan` or `inf` as a
/// string.
fn number<S: Serializer>(value: &Value, to: S) -> Result<S::Ok, S::Error> {
    let text = value.to_string();
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => to.serialize_f64(number),
        _ => to.serialize_str(&text),
    }
}

/// Bytes as characters of the same code points.
struct Latin1<'a>(&'a [u8]);

impl fmt::Display for Latin1<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chunks(4096).try_for_each(|bytes| {
            f.write_str(&bytes.iter().copied().map(char::from).collect::<String>())
        })
    }
}
