//! The message and kind of every error about the contents of a file.

use npymap::{DType, Error, ErrorKind, Header, Order, layout::Layout, npy::HeaderText};

use crate::errors::assert_error;
use crate::support::{here, npy, raw};

#[track_caller]
fn bad_format<T>(result: Result<T, Error>, text: &str) {
    assert_error(result, ErrorKind::Corrupt, text);
}

/// Asserts an error about a caller's text or argument, not about a file.
#[track_caller]
fn bad_input<T>(result: Result<T, Error>, text: &str) {
    assert_error(result, ErrorKind::InvalidInput, text);
}

#[track_caller]
fn bad_header(text: &str, error: &str) {
    bad_format(Header::parse(&raw(text, b"")), error);
}

#[track_caller]
fn bad_dtype(text: &str, error: &str) {
    bad_input(text.parse::<DType>(), error);
}

#[test]
fn magic_guesses_the_file_type() {
    for (bytes, found) in [
        (&b""[..], r#"b"", expected b"\x93NUMPY": it is empty"#),
        (
            b"PK\x03\x04rest",
            r#"b"PK\x03\x04re", expected b"\x93NUMPY": it is a zip archive, open an .npz file with `Npz` or `open_any`"#,
        ),
        (b"\x80\x04\x95", r#"b"\x80\x04\x95", expected b"\x93NUMPY": it is a Python pickle"#),
        (
            b"~TenBin~",
            r#"b"~TenBi", expected b"\x93NUMPY": it is a webdataset .ten file, open it with `Ten` or `open_any`"#,
        ),
        (b"\x89HDF\r\n\x1a\n", r#"b"\x89HDF\r\n", expected b"\x93NUMPY": it is an HDF5 file"#),
        (
            b"\x1f\x8b\x08",
            r#"b"\x1f\x8b\x08", expected b"\x93NUMPY": it is compressed with gzip, decompress it first"#,
        ),
        (
            b"\"text\"",
            r#"b"\"text\"", expected b"\x93NUMPY", open raw elements with `OpenOptions::raw`"#,
        ),
    ] {
        let kind = if bytes.is_empty() { ErrorKind::Truncated } else { ErrorKind::Corrupt };
        assert_error(Header::parse(bytes), kind, &format!("starts with {found}"));
    }
}

#[test]
fn version_is_one_of_numpys() {
    assert_error(
        Header::parse(b"\x93NUMPY\x04\x01\0\0"),
        ErrorKind::Unsupported,
        "format version 4.1, expected 1.0, 2.0 or 3.0",
    );
}

#[test]
fn eof_counts_bytes() {
    for (bytes, text) in [
        (&b"\x93NUM"[..], "ends inside the magic and version: found 4 of 8 bytes"),
        (b"\x93NUMPY\x01\x00\x76", "ends inside the header length: found 9 of 10 bytes"),
        (b"\x93NUMPY\x02\x00\x76", "ends inside the header length: found 9 of 12 bytes"),
        (b"\x93NUMPY\x01\x00\x76\x00{", "ends inside the header: found 1 of 118 bytes"),
    ] {
        assert_error(Header::parse(bytes), ErrorKind::Truncated, text);
        assert_error(Header::read(bytes), ErrorKind::Truncated, text);
    }
}

#[test]
fn header_limit_explains_how_to_raise_it() {
    let bytes = npy("<f8", &[3], Order::C, &[0; 24]);
    assert_error(
        HeaderText::parse(&bytes, 100),
        ErrorKind::LimitExceeded,
        "the header has 118 characters, but the limit is 100: raise it with `max_header_len` if you trust the file",
    );
}

#[test]
fn utf8_names_the_position() {
    let mut bytes = raw("{'descr': 'é'}", b"");
    bytes.splice(6..10, [3, 0, 15, 0, 0, 0]);
    let at = bytes.iter().position(|&byte| byte == 0xc3).unwrap();
    bytes[at + 1] = b'x';
    bad_format(
        Header::parse(&bytes),
        "the header is not valid UTF-8 at byte 11, as version 3.0 requires",
    );
}

#[test]
fn syntax_names_the_token_and_the_position() {
    bad_header("[]\n", "at character 0: found `[]\\n`, expected the header's dictionary, `{`");
    bad_header("{'descr': <f8", "at character 10: found `<f8`, expected a Python literal");
    bad_header("{'a': 1 'b'", "at character 8: found `'b'`, expected `,` or `}`");
    bad_header("{'shape': (1, ", "at character 14: found the end, expected a Python literal");
    bad_header("{} {}", "at character 3: found `{}`, expected the end");
    bad_header(
        "{'shape': (np.int64(3),)}",
        "at character 11: found `np.int64(3),`, expected a plain integer (NumPy 2 writes shapes of NumPy integers this way, and cannot read them)",
    );
    bad_dtype("[('a', '<f8']", "at character 12: found `]`, expected `,` or `)`");
}

#[test]
fn keys_are_exactly_three() {
    let expected = "expected exactly 'descr', 'fortran_order' and 'shape'";
    bad_header("{}", &format!("the header's keys are none, {expected}"));
    bad_header(
        "{'shape': (), 'descr': '<f8', 'x': None}",
        &format!("the header's keys are 'descr', 'shape', 'x', {expected}"),
    );
}

/// A header's text with these values.
fn values(descr: &str, fortran_order: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': {fortran_order}, 'shape': {shape}}}")
}

#[test]
fn header_names_the_key() {
    for (text, error) in [
        (
            values("5", "False", "()"),
            "`descr` is `5`, expected a type string such as '<f8', or a list of fields",
        ),
        (
            values("('<f8', (3,))", "False", "()"),
            "`descr` is `('<f8', (3,))`, expected a type without a shape of its own: put its axes into `shape`",
        ),
        (values("'<f8'", "0", "()"), "`fortran_order` is `0`, expected True or False"),
        (
            values("'<f8'", "True", "(3)"),
            "`shape` is `(3)`, expected a tuple of integers such as (3, 4) or (3,)",
        ),
        (
            values("'<f8'", "True", "[3]"),
            "`shape` is `[3]`, expected a tuple of integers such as (3, 4) or (3,)",
        ),
        (
            values("'<f8'", "True", "(-1,)"),
            "`shape` is `(-1,)`, expected axis lengths of at least 0",
        ),
        (
            values("'<f8'", "True", "(99999999999999999999,)"),
            "`shape` is `(99999999999999999999,)`, expected axis lengths that this machine can address",
        ),
    ] {
        bad_header(&text, error);
    }
}

#[test]
fn dtype_names_what_is_accepted() {
    let large = "elements have at most 2147483647 bytes";
    for (text, error) in [
        ("", "dtype ``: no type given, expected a type string such as '<f8'"),
        ("<f3", "dtype `<f3`: floats have 2, 4, 8 or 16 bytes, as in '<f4'"),
        ("<i3", "dtype `<i3`: integers have 1, 2, 4 or 8 bytes, as in '<i4'"),
        ("<c4", "dtype `<c4`: complex numbers have 8, 16 or 32 bytes, as in '<c8'"),
        ("|b2", "dtype `|b2`: a bool has one byte, '|b1'"),
        ("<M4", "dtype `<M4`: dates and time differences have 8 bytes, as in '<M8[ns]'"),
        ("|S2147483648", &format!("dtype `|S2147483648`: {large}")),
        (
            "i4,f8",
            "dtype `i4,f8`: several types in one string, expected a list such as [('x', '<f4'), ('y', '<f4')]",
        ),
        (
            "what",
            "dtype `what`: NumPy has no such type, expected a type string such as '<f8', '|S10' or '<M8[ns]'",
        ),
        (
            "<M8[fortnight]",
            "dtype `[fortnight]`: unknown unit of time, expected Y, M, W, D, h, m, s, ms, us, ns, ps, fs or as after an optional multiple, as in `[25s]`",
        ),
        (
            "[('a', '<f8'), ('a', '<f4')]",
            "dtype `[…]`: `a` is the name or title of two fields, expected distinct ones",
        ),
        ("[('a', '|V2147483647'), ('b', '|u1')]", &format!("dtype `[…]`: {large}")),
        ("('<f8', (268435456,))", &format!("dtype `('<f8', (268435456,))`: {large}")),
    ] {
        bad_dtype(text, error);
    }
    let no_unit = "dtype `[fortnight]`: unknown unit of time, expected Y, M, W, D, h, m, s, ms, us, ns, ps, fs or as after an optional multiple, as in `[25s]`";
    bad_input("fortnight".parse::<npymap::dtype::Unit>(), no_unit);
}

#[test]
fn dtype_names_the_fields() {
    let dtype: DType = "[('x', '<f4'), ('y', '<f4')]".parse().unwrap();
    assert_error(
        dtype.field("z"),
        ErrorKind::NotFound,
        "dtype `[('x', '<f4'), ('y', '<f4')]`: no field `z`, expected `x`, `y`",
    );
    assert_error(
        DType::of::<f32>().field("z"),
        ErrorKind::NotFound,
        &here("dtype `'<f4'`: has no fields, asked for `z`"),
    );
}

/// A header of a few kilobytes can have dozens of levels, each printed once.
#[test]
fn nested_dtypes_without_a_descr_are_printed() {
    let mut text = "'|i1'".to_owned();
    for _ in 0..60 {
        text = format!(
            "{{'names': ['x', 'y', 'z'], 'formats': ['|i1', '|i1', {text}], 'offsets': [8, 0, 16]}}"
        );
    }
    let dtype: DType = text.parse().unwrap();
    assert_eq!(dtype.to_string().parse::<DType>().unwrap(), dtype);
    let error = Header::new(dtype, &[1], Order::C).unwrap_err();
    assert!(error.to_string().contains("field `y` at byte 0 overlaps"));
}

#[test]
fn dtypes_without_a_descr_are_not_encoded() {
    let overlapping =
        "{'names': ['a', 'b'], 'formats': ['<f8', '<f4'], 'offsets': [0, 4], 'itemsize': 8}";
    bad_input(
        Header::new(overlapping.parse().unwrap(), &[1], Order::C),
        &format!(
            "dtype `{overlapping}`: field `b` at byte 4 overlaps the one before it or is out of order, which a .npy header cannot express: copy the array to a dtype with its fields in order"
        ),
    );
    bad_input(
        Header::new("('<f8', (3,))".parse().unwrap(), &[1], Order::C),
        "dtype `('<f8', (3,))`: the elements of an array cannot be subarrays: append the subarray's axes to the shape",
    );
}

#[test]
fn object_names_an_alternative() {
    assert_error(
        Header::parse(&raw(&values("'|O'", "False", "(3,)"), b"")),
        ErrorKind::Unsupported,
        "dtype '|O' holds Python objects, which are pickled and cannot be mapped: load the array with numpy.load(allow_pickle=True) and save it with a fixed-size dtype",
    );
}

#[test]
fn axes_and_size_have_limits() {
    bad_input(f64_layout(&[1; 65]), "65 axes, NumPy arrays have at most 64");
    bad_header(
        &values("'<f8'", "False", &format!("({})", "1,".repeat(66))),
        "66 axes, NumPy arrays have at most 64",
    );
    bad_input(
        f64_layout(&[usize::MAX / 8]),
        &format!(
            "shape ({},) with elements of 8 bytes exceeds a {}-bit address space",
            usize::MAX / 8,
            usize::BITS
        ),
    );
}

fn f64_layout(shape: &[usize]) -> npymap::Result<Layout> {
    Layout::new(DType::of::<f64>(), shape, Order::C, 0)
}
