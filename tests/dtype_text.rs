//! `np.dtype` accepts dtypes as serialized by serde.

use npymap::{DType, ErrorKind, MappedArray};
use serde_json::{Value, json};

use crate::oracle::Oracle;

const DTYPES: [&str; 14] = [
    "<f4",
    ">f8",
    "|u1",
    "|S3",
    "<U5",
    "<M8[25us]",
    "|V7",
    "('<f4', (2, 3))",
    "[('x', '<f8'), ('pos', '<f4', (3,)), ('name', '<U8')]",
    "[(('a title', 'x'), '<f8'), ('y', [('z', '>i2'), ('', '|V2'), ('w', '|b1')])]",
    "[('x', '|u1'), ('', '|V7'), ('y', '<f8')]",
    "[('', '|V4'), ('x', '<f4'), ('', '|V8')]",
    "{'names': ['b', 'a'], 'formats': ['<f4', '<u8'], 'offsets': [8, 0], 'itemsize': 16}",
    "('<f4', (2,))",
];

fn written(dtype: &DType) -> String {
    serde_json::to_value(dtype).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn simple_dtypes_are_serialized_as_type_strings() {
    for text in ["<f4", ">f8", "|u1", "<M8[25us]", "|S3"] {
        assert_eq!(written(&text.parse().unwrap()), text);
    }
    let padded: DType = "[('x', '|u1'), ('', '|V7'), ('y', '<f8')]".parse().unwrap();
    assert_eq!(
        written(&padded),
        "{'names': ['x', 'y'], 'formats': ['|u1', '<f8'], 'offsets': [0, 8], 'itemsize': 16}"
    );
}

#[test]
fn serialized_and_quoted_dtypes_are_deserialized() {
    for text in DTYPES {
        let dtype: DType = text.parse().unwrap();
        assert_eq!(deserialized(written(&dtype)), dtype, "{text}");
        assert_eq!(deserialized(dtype.to_string()), dtype, "{text}");
    }
}

fn deserialized(text: String) -> DType {
    serde_json::from_value::<DType>(Value::String(text)).unwrap()
}

#[test]
fn live_numpy_accepts_dtypes_serialized_by_serde() {
    let Some(mut numpy) = Oracle::start("oracle.py") else { return };
    let dtypes = DTYPES.map(|text| text.parse::<DType>().unwrap());
    let texts = dtypes.each_ref().map(written);
    let answers = numpy.ask(&json!(["dtypes", texts]));
    for (dtype, answer) in dtypes.iter().zip(answers.as_array().unwrap()) {
        let fields: Vec<_> =
            dtype.fields().iter().map(|field| json!([field.name(), field.offset])).collect();
        assert_eq!(answer["itemsize"], json!(dtype.itemsize()), "{dtype}");
        assert_eq!(answer["fields"], json!(fields), "{dtype}");
        let shape = dtype.subarray().map_or(&[][..], |(_, shape)| shape);
        assert_eq!(answer["shape"], json!(shape), "{dtype}");
        if let Some(descr) = answer["descr"].as_str() {
            assert_eq!(descr.parse::<DType>().unwrap(), *dtype);
        }
    }
}

fn select(dtype: &DType, fields: &[&str]) -> npymap::Result<DType> {
    Ok(MappedArray::zeros(dtype, &[])?.dyn_view()?.fields(fields)?.dtype().clone())
}

/// `np.dtype(…)[['x']].alignment` is 1.
#[test]
fn selected_fields_are_not_aligned() {
    let aligned = DType::aligned([("a", DType::of::<u8>()), ("x", DType::of::<f64>())]).unwrap();
    let selected = select(&aligned, &["x"]).unwrap();
    assert_eq!((aligned.alignment(), selected.alignment(), selected.itemsize()), (8, 1, 16));
}

/// As in Python, escapes of characters are none in bytes.
#[test]
fn bytes_have_the_escapes_of_bytes() {
    use npymap::element::Value;

    let dtype: DType = "|S8".parse().unwrap();
    for (text, expected) in [
        (r"b'\u0041'", &br"\u0041"[..]),
        (r"b'\\u41'", br"\u41"),
        (r"b'\N{A}'", br"\N{A}"),
        (r"b'\x41\n\101\''", b"A\nA'"),
        (r"b'\777'", b"\xff"),
    ] {
        assert_eq!(Value::parse(text, &dtype).unwrap(), Value::Bytes(expected.to_vec()), "{text}");
    }
    assert!(Value::parse("b'é'", &dtype).is_err());
    for text in ["bank", "b\\x00", "b", "b   ", "abc"] {
        let error = Value::parse(text, &"|V3".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains(r"expected bytes such as b'\x00'"), "{error}");
    }
}

/// As Python's `repr` writes them, and as JSON does.
#[test]
fn dates_may_be_in_either_quotes() {
    use npymap::element::Value;

    let parse = |text: &str, dtype: &str| Value::parse(text, &dtype.parse().unwrap());
    for (text, dtype) in [("2020-02-29", "<M8[D]"), ("NaT", "<M8[D]"), ("NaT", "<m8[s]")] {
        let expected = parse(text, dtype).unwrap();
        for quote in ["'", "\""] {
            assert_eq!(parse(&format!("{quote}{text}{quote}"), dtype).unwrap(), expected);
            assert!(parse(&format!("{quote}{text}"), dtype).is_err());
        }
        assert!(parse(&format!("'{text}\""), dtype).is_err());
    }
}

#[test]
fn numbers_do_not_become_infinite() {
    use npymap::element::Value;

    for (text, dtype, is_kept) in [
        ("65519.9", "<f2", true),
        ("65520", "<f2", false),
        ("-1e39", ">f4", false),
        ("1e400", "<f8", false),
        ("1e400j", "<c16", false),
        ("1e39", "<c8", false),
        ("-Infinity", "<f4", true),
        ("inf+nanj", "<c8", true),
        ("[1e39, 0]", "('<f4', (2,))", false),
        ("(1e39,)", "[('x', '<f8')]", true),
    ] {
        let value = Value::parse(text, &dtype.parse().unwrap());
        assert_eq!(value.is_ok(), is_kept, "{text} {dtype}: {value:?}");
    }
}

#[test]
fn nested_fields_are_selected_by_their_paths() {
    let text = "[('t', '<f4'), ('pos', [('x', '<i4'), ('z', '<i4', (2,))]), ('pos.x', '|u1')]";
    let dtype: DType = text.parse().unwrap();
    let selected = select(&dtype, &["pos.z", "t", "pos.x"]).unwrap();
    let fields = selected.fields().iter().map(|field| (field.name(), field.offset));
    // A field of that name precedes a path.
    assert_eq!(fields.collect::<Vec<_>>(), [("pos.z", 8), ("t", 0), ("pos.x", 16)]);
    assert_eq!(selected.itemsize(), dtype.itemsize());
    let error = select(&dtype, &["t", "pos.y"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().ends_with("no field `y`, expected `x`, `z`"), "{error}");
    let subarray: DType = "[('p', [('z', '<i4')], (3,))]".parse().unwrap();
    let error = select(&subarray, &["p.z"]).unwrap_err();
    assert!(error.to_string().ends_with("has no fields, asked for `z`"), "{error}");
}
