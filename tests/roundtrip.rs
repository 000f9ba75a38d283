//! Everything that is written reads back the same, and no text makes the reader
//! panic.

use std::io::{self, Read};

use npymap::{
    DType, ErrorKind, Header, Order,
    dtype::Kind,
    npy::{HeaderText, MAX_HEADER_LEN, Version},
};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::Union;

use crate::support::{is_error, rounds};

const CODES: [&str; 28] = [
    "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f16", "c8", "c16",
    "c32", "M8", "m8", "S1", "S17", "U1", "U33", "V1", "V2", "V129", "S0", "U0", "V0",
];

const UNITS: [&str; 13] = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];

fn order() -> impl Strategy<Value = Order> {
    select(vec![Order::C, Order::F])
}

fn version() -> impl Strategy<Value = Option<Version>> {
    select(vec![None, Some(Version::V1), Some(Version::V2), Some(Version::V3)])
}

/// Scalars of all kinds, sizes, orders and units.
fn scalar() -> impl Strategy<Value = DType> {
    let plain = (select(vec!['<', '>', '|', '=']), select(&CODES[..]))
        .prop_map(|(order, code)| format!("{order}{code}"));
    let date = (select(vec!["<M8", ">M8", "<m8", ">m8"]), 0..i32::MAX, select(&UNITS[..]))
        .prop_map(|(date, multiple, unit)| match multiple % 3 {
            0 => format!("{date}[{unit}]"),
            _ => format!("{date}[{multiple}{unit}]"),
        });
    prop_oneof![3 => plain, 1 => date].prop_map(|text| text.parse().unwrap())
}

/// Characters that are hard to quote, and arbitrary ones.
fn name() -> impl Strategy<Value = String> {
    let hard =
        "'\"\\\n\r\t\0\x1b\x7f\u{80}\u{a0}\u{ad}éÿĀ整😀\u{2028}\u{e000}\u{fffd}()[]{},: uLx0";
    let hard: Vec<_> = hard.chars().collect();
    let character = prop_oneof![2 => select(hard), 1 => "[a-z]".prop_map(|c| c.chars().next().unwrap()), 1 => any::<char>()];
    prop::collection::vec(character, 0..6).prop_map(String::from_iter)
}

/// Fields with different names. Unnamed fields of bytes and subarrays are
/// padding.
fn fields(parts: Vec<(String, DType)>) -> Vec<(String, DType)> {
    let mut fields: Vec<(String, DType)> = Vec::new();
    for (name, dtype) in parts {
        let padding = name.is_empty() && matches!(dtype.kind(), Kind::Void | Kind::Subarray);
        if !padding && fields.iter().all(|(known, _)| *known != name) {
            fields.push((name, dtype));
        }
    }
    fields
}

/// The fields of a struct.
fn parts(dtypes: impl Strategy<Value = DType>) -> impl Strategy<Value = Vec<(String, DType)>> {
    prop::collection::vec((name(), dtypes), 0..6).prop_map(fields)
}

/// Fields as the constructors of [`DType`] take them.
fn borrowed(parts: &[(String, DType)]) -> impl Iterator<Item = (&str, DType)> {
    parts.iter().map(|(name, dtype)| (name.as_str(), dtype.clone()))
}

fn dtype() -> impl Strategy<Value = DType> {
    scalar().prop_recursive(3, 24, 6, |inner| {
        let packed =
            parts(inner.clone()).prop_map(|parts| DType::packed(borrowed(&parts)).unwrap());
        let aligned =
            parts(inner.clone()).prop_map(|parts| DType::aligned(borrowed(&parts)).unwrap());
        let shape = prop::collection::vec(0_usize..4, 1..4);
        let array = (inner.clone(), shape).prop_filter_map("sized", |(base, shape)| {
            let sized = base.itemsize() > 0 || base.kind() == Kind::Struct;
            sized.then(|| DType::array(base, &shape).unwrap())
        });
        Union::new_weighted(vec![(2, packed.boxed()), (2, aligned.boxed()), (1, array.boxed())])
    })
}

/// A dtype that an array can have.
fn element() -> impl Strategy<Value = DType> {
    dtype().prop_filter("cannot be subarrays", |dtype| dtype.kind() != Kind::Subarray)
}

fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        4 => prop::collection::vec(0_usize..100, 0..6),
        1 => prop::collection::vec(1_usize..1 << 24, 0..3),
        1 => (0_usize..=64).prop_map(|ndim| vec![1; ndim]),
    ]
}

/// Reads one byte at a time and is interrupted before each.
struct Slow<'a> {
    bytes: &'a [u8],
    interrupted: bool,
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = buffer.len().min(1);
        self.bytes.read(&mut buffer[..len])
    }
}

/// The header for a dtype and shape, unless the array would be too large.
fn header(dtype: DType, shape: &[usize], order: Order) -> Option<Header> {
    match Header::new(dtype, shape, order) {
        Ok(header) => Some(header),
        Err(error) if is_error(&error, ErrorKind::InvalidInput, "-bit address space") => None,
        Err(error) => panic!("{error}"),
    }
}

fn parse(bytes: &[u8]) -> Header {
    HeaderText::parse(bytes, usize::MAX).unwrap().header().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(256), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dtypes_print_as_text_that_parses_back(dtype in dtype()) {
        let text = dtype.to_string();
        let read: DType = text.parse().unwrap();
        prop_assert_eq!(&read, &dtype, "{}", text);
        prop_assert_eq!(read.itemsize(), dtype.itemsize());
        prop_assert_eq!(read.to_string(), text);
    }

    #[test]
    fn headers_are_read_as_they_were_written(
        (dtype, shape, order, version) in (element(), shape(), order(), version())
    ) {
        let Some(mut header) = header(dtype, &shape, order) else { return Ok(()) };
        let encoded = match header.encode(version) {
            Ok(encoded) => encoded,
            Err(error) => {
                let encoded = header.encode(None).unwrap();
                let works = format!("use {}", encoded.version);
                prop_assert!(error.to_string().contains(&works), "{}", error);
                encoded
            }
        };
        prop_assert!(version.is_some() || encoded.version == header.version);
        header.version = encoded.version;
        header.data_offset = encoded.bytes.len();
        prop_assert_eq!(header.data_offset % 64, 0);
        prop_assert_eq!(parse(&encoded.bytes), header);
    }

    #[test]
    fn readers_are_left_at_the_first_element(
        (dtype, shape, order) in (element(), shape(), order())
    ) {
        let Some(header) = header(dtype, &shape, order) else { return Ok(()) };
        let mut bytes = header.encode(None).unwrap().bytes;
        bytes.extend(b"elements");
        let mut slow = Slow { bytes: &bytes, interrupted: false };
        let text = HeaderText::read(&mut slow, usize::MAX).unwrap();
        prop_assert_eq!(text.header().unwrap(), header);
        prop_assert_eq!(slow.bytes, b"elements");
        prop_assert_eq!(text, HeaderText::parse(&bytes, usize::MAX).unwrap());
    }

    #[test]
    fn growing_an_array_keeps_the_length_of_the_header(
        (dtype, more) in (element(), 1_usize..1 << 20)
    ) {
        for (one, grown, order) in
            [([1, 2], [more, 2], Order::C), ([2, 1], [2, more], Order::F)]
        {
            let Some(grown) = header(dtype.clone(), &grown, order) else { continue };
            let one = header(dtype.clone(), &one, order).unwrap();
            prop_assert_eq!(one.data_offset, grown.data_offset);
        }
    }

    #[test]
    fn fields_are_placed_as_in_c_or_packed(
        parts in prop::collection::vec((name(), dtype()), 1..8).prop_map(fields)
    ) {
        let packed = DType::packed(borrowed(&parts)).unwrap();
        let sum: usize = parts.iter().map(|(_, dtype)| dtype.itemsize()).sum();
        prop_assert_eq!(packed.itemsize(), sum);
        let aligned = DType::aligned(borrowed(&parts)).unwrap();
        prop_assert_eq!(aligned.itemsize() % aligned.alignment(), 0);
        for field in aligned.fields() {
            prop_assert_eq!(field.offset % field.dtype.alignment(), 0);
            prop_assert_eq!(aligned.field(field.name()).unwrap(), field);
        }
    }

    #[test]
    fn any_text_is_parsed_as_a_dtype_or_rejected(
        text in r#"[\[\](){}'"<>|=,: \\x0-9a-zA-Z]{0,40}"#
    ) {
        check_dtype_round_trip(&text);
    }

    #[test]
    fn any_descr_is_parsed_as_a_dtype_or_rejected(
        parts in prop::collection::vec(select(PIECES), 0..16)
    ) {
        check_dtype_round_trip(&parts.concat());
    }

    #[test]
    fn any_bytes_are_parsed_as_a_header_or_rejected(
        (version, text) in (1_u8..=3, prop::collection::vec(any::<u8>(), 0..200))
    ) {
        let len = u8::try_from(text.len()).unwrap();
        let len = if version == 1 { &[len, 0][..] } else { &[len, 0, 0, 0] };
        let bytes = [&b"\x93NUMPY"[..], &[version, 0], len, &text].concat();
        check_header_round_trip(&bytes);
    }

    #[test]
    fn damaged_headers_are_parsed_as_others_or_rejected(
        (dtype, shape, order, version, edits) in (
            element(),
            shape(),
            order(),
            version(),
            prop::collection::vec((any::<Index>(), select(PIECES), 0_usize..4), 1..6),
        )
    ) {
        let Some(header) = header(dtype, &shape, order) else { return Ok(()) };
        let Ok(encoded) = header.encode(version) else { return Ok(()) };
        let mut bytes = encoded.bytes;
        for (at, piece, removed) in edits {
            let at = at.index(bytes.len());
            let end = (at + removed).min(bytes.len());
            bytes.splice(at..end, piece.bytes());
        }
        check_header_round_trip(&bytes);
    }
}

/// The tokens of descrs.
const PIECES: &[&str] = &[
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ", ",
    "'",
    "\"",
    "'a'",
    "'b'",
    "''",
    "'<f8'",
    "'|V4'",
    "'>M8[ns]'",
    "'|S0'",
    "('x', '<i4')",
    "(2, 3)",
    "(3,)",
    "3",
    "-1",
    "0",
    "2147483647",
    "9223372036854775808",
    "'names': ",
    "'formats': ",
    "'offsets': ",
    "'itemsize': ",
    "True",
    "None",
    "\\x00",
    "\\",
    "L",
    " ",
];

/// Text that parses as a dtype prints as text of the same dtype.
fn check_dtype_round_trip(text: &str) {
    let Ok(dtype) = text.parse::<DType>() else { return };
    let again: DType = dtype.to_string().parse().unwrap_or_else(|e| panic!("{text}: {dtype}: {e}"));
    assert_eq!(again, dtype, "{text}");
}

/// A header that is read can be written, and reads back the same.
fn check_header_round_trip(bytes: &[u8]) {
    let Ok(mut header) = Header::parse(bytes) else { return };
    assert_eq!(Header::read(bytes).unwrap(), header);
    if let Err(error) = header.layout() {
        assert!(error.kind() == ErrorKind::InvalidInput, "{error}");
        return;
    }
    let Ok(encoded) = header.encode(None) else { return };
    if encoded.bytes.len() <= MAX_HEADER_LEN {
        (header.version, header.data_offset) = (encoded.version, encoded.bytes.len());
        assert_eq!(Header::parse(&encoded.bytes).unwrap(), header);
    }
}

#[test]
fn titles_and_padding_are_read_as_they_were_written() {
    for descr in [
        "[(('title', 'name'), '<f8')]",
        "[(('', 'name'), '<f8', (2,)), ('', '|V3'), ('b', '|u1'), ('', '|V4')]",
        "[(('a', ''), '|V2')]",
        "[('', '|V8')]",
        "[]",
        "[('a', [('b', [('c', '>U3')], (2, 2))]), ('d', ('<i4', (2,)), (3,))]",
    ] {
        let dtype: DType = descr.parse().unwrap();
        assert_eq!(dtype.to_string(), descr);
        let header = Header::new(dtype, &[2], Order::C).unwrap();
        assert_eq!(parse(&header.encode(None).unwrap().bytes), header);
    }
}

#[test]
fn dictionaries_with_aligned_fields_are_aligned_as_in_numpy() {
    let itemsize = |offsets: &str, more: &str| {
        let columns = "'names': ['a', 'b'], 'formats': ['<f4', '|u1']";
        let text = format!("{{{columns}, 'offsets': {offsets}, 'aligned': True{more}}}");
        text.parse::<DType>().ok().map(|dtype| dtype.itemsize())
    };
    assert_eq!(itemsize("[4, 8]", ""), Some(12));
    assert_eq!(itemsize("[4, 8]", ", 'itemsize': 16"), Some(16));
    assert_eq!(itemsize("[4, 8]", ", 'itemsize': 10"), None);
    assert_eq!(itemsize("[2, 8]", ""), None);
}

#[test]
fn subarrays_are_normalized_as_in_numpy() {
    let f8 = DType::of::<f64>();
    assert_eq!(DType::array(f8.clone(), &[]).unwrap(), f8, "no axes make no subarray");
    for base in ["|S0", "<U0", "|V0"] {
        assert!(DType::array(base.parse().unwrap(), &[3]).is_err(), "{base} has no size");
    }
}
