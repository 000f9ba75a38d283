//! Serializes values with serde.

use serde::ser::{Serialize, Serializer};

use super::Value;
use crate::dtype::DType;
use crate::element::Ticks;

impl Value {
    /// Returns a wrapper that serializes this value, an element of `dtype`, like
    /// the value itself, except that records are maps from field names to values.
    ///
    /// Parts of the value that do not match `dtype` are serialized without names.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, Value};
    ///
    /// let dtype: DType = "[('name', '<U4'), ('pos', [('x', '<f4'), ('y', '<f4')])]".parse()?;
    /// let value = Value::parse("('ab', (0.5, 2))", &dtype)?;
    /// let json = serde_json::to_string(&value.with_names(&dtype))?;
    /// assert_eq!(json, r#"{"name":"ab","pos":{"x":0.5,"y":2.0}}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn with_names<'a>(&'a self, dtype: &'a DType) -> NamedValue<'a> {
        NamedValue { value: self, dtype }
    }
}

/// A value that serializes records as maps, made by [`Value::with_names`].
#[derive(Clone, Copy, Debug)]
pub struct NamedValue<'a> {
    value: &'a Value,
    dtype: &'a DType,
}

impl Serialize for NamedValue<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let NamedValue { value, dtype } = *self;
        match value {
            Value::Record(values) if values.len() == dtype.fields().len() => {
                let fields = dtype.fields().iter().zip(values);
                to.collect_map(
                    fields.map(|(field, value)| (field.name(), value.with_names(&field.dtype))),
                )
            }
            Value::Array(values) => {
                let base = dtype.subarray().map_or(dtype, |(base, _)| base);
                to.collect_seq(values.iter().map(|value| value.with_names(base)))
            }
            _ => value.serialize(to),
        }
    }
}

/// Serializes numbers as numbers, complex numbers as pairs, text and dates as
/// strings, bytes as bytes, time differences as counts, `NaT` as none, records
/// and subarrays as sequences. [`with_names`](Value::with_names) gives records
/// as maps.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Bool(value) => to.serialize_bool(*value),
            Value::Int(value) => to.serialize_i64(*value),
            Value::UInt(value) => to.serialize_u64(*value),
            Value::F16(value) => to.serialize_f32(value.to_f32()),
            Value::F32(value) => to.serialize_f32(*value),
            Value::F64(value) => to.serialize_f64(*value),
            Value::C64(value) => [value.re, value.im].serialize(to),
            Value::C128(value) => [value.re, value.im].serialize(to),
            Value::Bytes(bytes) | Value::Void(bytes) => to.serialize_bytes(bytes),
            Value::Text(text) => to.serialize_str(text),
            Value::DateTime(Ticks::NAT, _) | Value::TimeDelta(Ticks::NAT, _) => to.serialize_none(),
            Value::DateTime(..) => to.collect_str(self),
            Value::TimeDelta(Ticks(count), _) => to.serialize_i64(*count),
            Value::Record(values) | Value::Array(values) => values.serialize(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_serialize_to_json() {
        let dtype: DType =
            "[('x', '<f8'), ('z', '<c8'), ('t', '<M8[D]'), ('d', '<m8[s]'), ('s', '<U2'), ('a', '|u1', (2,))]"
                .parse()
                .unwrap();
        let value = Value::parse("(0.5, 1+2j, 2020-02-29, NaT, 'ab', [1, 2])", &dtype).unwrap();
        let json = serde_json::to_string(&value).unwrap();
        assert_eq!(json, r#"[0.5,[1.0,2.0],"2020-02-29",null,"ab",[1,2]]"#);
    }

    #[test]
    fn records_in_subarrays_serialize_with_names() {
        let dtype: DType =
            "[('a', [('x', '<f4'), ('y', '|S2')], (2, 1)), ('', '|b1')]".parse().unwrap();
        let value = Value::parse("([[(1, b'a')], [(2, b'b')]], True)", &dtype).unwrap();
        let json = serde_json::to_string(&value.with_names(&dtype)).unwrap();
        assert_eq!(json, r#"{"a":[[{"x":1.0,"y":[97]}],[{"x":2.0,"y":[98]}]],"":true}"#);

        let other = DType::of::<f64>();
        let json = serde_json::to_string(&value.with_names(&other)).unwrap();
        assert_eq!(json, serde_json::to_string(&value).unwrap());
    }
}
