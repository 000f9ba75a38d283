//! Values as text.

use npymap::{DType, Element as _, Value, dtype::Kind};

use super::Source;

const DTYPES: [&str; 24] = [
    "|b1",
    "|i1",
    "<i8",
    ">u2",
    "<u8",
    "<f2",
    "<f4",
    ">f8",
    "<c8",
    "<c16",
    "|S5",
    "<U4",
    ">U2",
    "|V3",
    "<M8[D]",
    "<M8[25as]",
    "<M8[Y]",
    "<M8",
    "<m8[ns]",
    "<m8[7W]",
    "[('a', '<i2'), ('b', '|S3'), ('c', '<f8', (2,))]",
    "('<u2', (2, 2))",
    "<f16",
    "[('t', '<M8[us]'), ('u', '<U2')]",
];

/// The first byte chooses a dtype; the others are an element of it, and text.
pub(crate) fn value(data: &[u8]) {
    let mut source = Source::new(data);
    let dtype: DType = DTYPES[source.below(DTYPES.len())].parse().unwrap();
    let mut element = vec![0; dtype.itemsize()];
    element.iter_mut().zip(source.rest()).for_each(|(to, from)| *to = *from);
    let printed = Value::decode(&dtype, &element).to_string();
    match Value::parse(&printed, &dtype) {
        Ok(_) if is_quoted(&printed, &dtype) => {}
        Ok(value) => assert_eq!(stored(&value, &dtype), printed, "{dtype}"),
        Err(error) => assert!(!is_exact(&dtype), "{dtype} {printed:?}: {error}"),
    }
    if let Ok(value) = Value::parse(&String::from_utf8_lossy(source.rest()), &dtype) {
        // Trailing NULs are lost, as in NumPy, so the first text may differ.
        let text = stored(&value, &dtype);
        let again = Value::parse(&text, &dtype).map(|value| stored(&value, &dtype));
        assert!(
            again.is_err() || is_quoted(&text, &dtype) || again.unwrap() == text,
            "{dtype} {text}"
        );
    }
}

/// True for text that starts with a quotation mark itself: parsing removes it.
fn is_quoted(text: &str, dtype: &DType) -> bool {
    dtype.kind() == Kind::Unicode && text.trim_start().starts_with(['\'', '"'])
}

/// Stores a value and returns the text of the element.
fn stored(value: &Value, dtype: &DType) -> String {
    let mut element = vec![0xaa; dtype.itemsize()];
    value.encode(dtype, &mut element).unwrap_or_else(|error| panic!("{dtype} {value}: {error}"));
    Value::decode(dtype, &element).to_string()
}

/// True if every printed value can be parsed.
fn is_exact(dtype: &DType) -> bool {
    matches!(dtype.kind(), Kind::Bool | Kind::Int | Kind::UInt | Kind::Float | Kind::Complex)
        && dtype.itemsize() <= 8
}
