//! Serializes values with serde.

use serde::ser::{Serialize, Serializer};

use super::Value;
use crate::element::Ticks;

/// Serializes numbers as numbers, complex numbers as pairs, text and dates as
/// strings, bytes as bytes, time differences as counts, `NaT` as none, records
/// and subarrays as sequences.
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
    use crate::dtype::DType;

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
}
