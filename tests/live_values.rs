//! Values print as NumPy's scalars do, and parse as the same values.

use npymap::{DType, Element as _, Value, dtype::Kind};
use serde_json::json;

use crate::oracle::{Oracle, hex};
use crate::support::unhex;

/// Whether NumPy's text identifies one value of the element.
fn identifies_value(value: &Value, dtype: &DType) -> bool {
    let numbers = match value {
        Value::F16(value) => !value.is_nan(),
        Value::F32(value) => !value.is_nan(),
        Value::F64(value) => !value.is_nan(),
        Value::C64(value) => !value.re.is_nan() && !value.im.is_nan(),
        Value::C128(value) => !value.re.is_nan() && !value.im.is_nan(),
        Value::Text(text) => !text.trim_start().starts_with(['\'', '"']),
        _ => true,
    };
    // NumPy prints differences as counts of their own unit, and floats in
    // records in shortened form.
    numbers && !matches!(dtype.kind(), Kind::TimeDelta | Kind::Struct)
}

#[test]
fn values_print_as_in_numpy_and_are_parsed_back() {
    let Some(mut numpy) = Oracle::start("views.py") else { return };
    let cases = numpy.ask(&json!(["values", 20_240_229, 500]));
    let (mut printed, mut parsed, mut wrong) = (0, 0, Vec::new());
    for case in cases.as_array().unwrap() {
        let dtype: DType = case["descr"].as_str().unwrap().parse().unwrap();
        let (bytes, text) =
            (unhex(case["bytes"].as_str().unwrap()), case["text"].as_str().unwrap());
        let value = Value::decode(&dtype, &bytes);
        if value.to_string() != text {
            wrong.push(format!("{dtype}: {value} is NumPy's {text}"));
        }
        printed += 1;
        if identifies_value(&value, &dtype) {
            let again = Value::parse(text, &dtype);
            let mut stored = vec![0; bytes.len()];
            match again.and_then(|again| again.encode(&dtype, &mut stored)) {
                Ok(()) if stored == bytes => parsed += 1,
                Ok(()) => wrong.push(format!("{dtype}: {text} as {} from {case}", hex(&stored))),
                Err(error) => wrong.push(format!("{dtype}: {error} from {case}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {printed}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(printed > 3000 && parsed > 2000, "{printed} {parsed}");
}
