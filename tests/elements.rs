//! Values that each element type decodes and rejects, beyond the random tests.

use crate::support::is_error;
use npymap::dtype::Kind;
use npymap::half::bf16;
use npymap::{
    ByteOrder, DType, Element, ErrorKind, Le, Order, Value, View, ViewMut,
    element::{Bool, Bytes, DateTime64, Text, Ticks, TimeDelta64, Typed as _},
    layout::Layout,
};

fn decoded<T: Element>(dtype: &str, bytes: &[u8]) -> T {
    let layout = Layout::new(dtype.parse().unwrap(), &[], Order::C, 0).unwrap();
    View::from_bytes(bytes, &layout).unwrap().at([])
}

fn encoded<T: Element>(dtype: &DType, value: T) -> npymap::Result<Vec<u8>> {
    let layout = Layout::new(dtype.clone(), &[], Order::C, 0).unwrap();
    let mut bytes = vec![0xaa; dtype.itemsize()];
    ViewMut::from_bytes(&mut bytes, &layout).unwrap().set([], value)?;
    Ok(bytes)
}

fn fits<T: Element>(dtype: &str) -> bool {
    match T::codec(&dtype.parse().unwrap()) {
        Ok(_) => true,
        Err(error) => {
            assert!(is_error(&error, ErrorKind::DTypeMismatch, "asked for"), "{error}");
            false
        }
    }
}

#[test]
fn any_nonzero_byte_is_true() {
    for byte in 0..=255 {
        assert_eq!(decoded::<bool>("|b1", &[byte]), byte != 0);
        assert_eq!(decoded::<Bool>("|b1", &[byte]).get(), byte != 0);
    }
}

#[test]
fn text_ends_at_its_last_character() {
    assert_eq!(decoded::<String>("|S4", b"a\0b\0"), "a\0b");
    assert_eq!(decoded::<String>("|S3", b"a\xffb"), "a\u{fffd}b");
    assert_eq!(decoded::<String>(">U2", &[0, 1, 0xf6, 0, 0, 0, 0, 0]), "😀");
    assert_eq!(decoded::<String>("<U1", &[0, 0xd8, 0, 0]), "\u{fffd}");
    assert_eq!(decoded::<String>("<U0", &[]), "");
}

/// Readers take NULs at the end as padding, so they would be lost.
#[test]
fn text_that_ends_in_nul_is_rejected_wherever_it_comes_from() {
    let text = "ab\0".to_owned();
    for dtype in ["|S3", "|S5", "<U3", ">U4"] {
        let dtype: DType = dtype.parse().unwrap();
        let value = match dtype.kind() {
            Kind::Bytes => Value::Bytes(text.clone().into_bytes()),
            _ => Value::Text(text.clone()),
        };
        let record = Value::Record(vec![value.clone()]);
        let pair = DType::packed([("a", dtype.clone())]).unwrap();
        for refused in [
            encoded(&dtype, text.clone()).map(drop),
            encoded(&dtype, value).map(drop),
            encoded(&pair, record).map(drop),
            Value::parse("ab\0", &dtype).map(drop),
            Value::parse(r"'ab\x00'", &dtype).map(drop),
            Value::parse(r"('ab\x00',)", &pair).map(drop),
            "ab\0".parse::<Bytes<4>>().map(drop),
            "ab\0".parse::<Text<4>>().map(drop),
            Bytes::<3>::new(b"ab\0").map(drop),
        ] {
            let error = refused.unwrap_err();
            let expected = r"'ab\0' ends in NUL: expected text that does not";
            assert!(is_error(&error, ErrorKind::InvalidValue, expected), "{error}");
        }
        assert!(encoded(&dtype, "\0b".to_owned()).is_ok(), "{dtype}");
        assert_eq!(decoded::<String>(&dtype.to_string(), &vec![0; dtype.itemsize()]), "");
    }
}

#[test]
fn text_that_is_too_long_is_rejected_and_not_stored() {
    for (dtype, fit, long) in
        [("|S3", "aé", "éé"), ("<U2", "😀é", "abc"), ("|S0", "", "a"), (">U0", "", "a")]
    {
        let dtype: DType = dtype.parse().unwrap();
        let layout = Layout::new(dtype.clone(), &[3], Order::C, 0).unwrap();
        let mut bytes = vec![7; layout.nbytes()];
        let mut view = ViewMut::<String>::from_bytes(&mut bytes, &layout).unwrap();
        for refused in [view.fill(&long.to_owned()), view.set([1], long.to_owned())] {
            assert!(is_error(&refused.unwrap_err(), ErrorKind::InvalidValue, "expected"));
        }
        assert!(bytes.iter().all(|&byte| byte == 7));
        assert!(encoded(&dtype, fit.to_owned()).is_ok());
        // A subarray's elements have a size.
        let Ok(pair) = DType::array(dtype, &[2]) else { continue };
        let values = [fit, long].map(str::to_owned);
        assert!(encoded(&pair, values).is_err(), "{pair}");
    }
}

#[test]
fn types_match_only_their_dtypes_in_any_byte_order() {
    assert!(fits::<i16>("<i2") && fits::<i16>(">i2"));
    assert!(!fits::<i16>("<u2") && !fits::<i16>("<i4") && !fits::<i16>("<f2"));
    assert!(fits::<Ticks>("<M8[D]") && fits::<Ticks>(">m8") && !fits::<i64>("<M8[D]"));
    assert!(fits::<bf16>("|V2") && !fits::<bf16>("<f2") && !fits::<bf16>("|V4"));
    assert!(fits::<Le<u16>>("<u2") && !fits::<Le<u16>>(">u2") && fits::<Le<u8>>("|u1"));
    assert!(fits::<bool>("|b1") && !fits::<u8>("|b1") && !fits::<bool>("|u1"));
    assert!(fits::<String>("|S3") && fits::<String>("<U3") && !fits::<String>("|V3"));
    assert!(fits::<[u8; 12]>("<U3") && fits::<[u8; 4]>("<f4") && !fits::<[u8; 3]>("<f4"));
    assert!(fits::<(u8,)>("[('a', '|u1')]") && !fits::<(u8,)>("|u1"));
    assert!(!fits::<(u8,)>("[('a', '|u1'), ('b', '|u1')]"));
    assert!(!fits::<(u8, u16)>("[('a', '|u1')]") && !fits::<(i8,)>("[('a', '|u1')]"));
}

#[test]
fn subarrays_are_nested_arrays() {
    assert!(<[f32; 2]>::codec(&subarray("<f4", &[2])).is_ok());
    assert!(<[[f32; 3]; 2]>::codec(&subarray("<f4", &[2, 3])).is_ok());
    assert!(<[[f32; 2]; 3]>::codec(&subarray("<f4", &[2, 3])).is_err());
    assert!(<[f32; 6]>::codec(&subarray("<f4", &[2, 3])).is_err());
    assert!(<[f32; 2]>::codec(&subarray("<f4", &[2, 3])).is_err());
    assert!(<[f32; 1]>::codec(&f32::dtype()).is_err());
    assert!(<[u8; 24]>::codec(&subarray("<f4", &[2, 3])).is_ok());
}

fn subarray(base: &str, shape: &[usize]) -> DType {
    DType::array(base.parse().unwrap(), shape).unwrap()
}

#[test]
fn arrays_of_tuples_and_text_keep_padding() {
    let dtype: DType = "[('a', '|u1'), ('', '|V2'), ('b', '|u1')]".parse().unwrap();
    assert_eq!(encoded(&dtype, (1_u8, 2_u8)).unwrap(), [1, 0xaa, 0xaa, 2]);
    let layout = Layout::new(dtype, &[2], Order::C, 0).unwrap();
    let mut bytes = *b"abcdefgh";
    ViewMut::<(u8, u8)>::from_bytes(&mut bytes, &layout).unwrap().fill(&(b'1', b'2')).unwrap();
    assert_eq!(&bytes, b"1bc21fg2");
}

#[test]
fn nat_in_records_and_subarrays_is_parsed_as_it_is_printed() {
    for dtype in ["[('a', '<m8[s]')]", "('<m8[s]', (2,))", "[('a', '<M8[s]')]", "('<m8', (1,))"] {
        let dtype: DType = dtype.parse().unwrap();
        let bytes = [0, 0, 0, 0, 0, 0, 0, 0x80].repeat(dtype.itemsize() / 8);
        let value = Value::decode(&dtype, &bytes);
        assert!(value.to_string().contains("'NaT'"), "{value}");
        assert_eq!(Value::parse(&value.to_string(), &dtype).unwrap(), value);
    }
}

#[test]
fn arrays_are_suggested_for_subarrays() {
    for (dtype, works) in [
        ("('<f8', (2,))", "[f64; 2]"),
        ("('<i2', (2, 3))", "[[i16; 3]; 2]"),
        ("('|S3', (2,))", "[[u8; 3]; 2]"),
    ] {
        let dtype: DType = dtype.parse().unwrap();
        let dtype = dtype.with_byte_order(ByteOrder::NATIVE);
        let error = f64::codec(&dtype).unwrap_err();
        assert!(is_error(&error, ErrorKind::DTypeMismatch, &format!("use `{works}`")), "{error}");
    }
    <[f64; 2]>::codec(&"('=f8', (2,))".parse().unwrap()).unwrap();
    <[[u8; 3]; 2]>::codec(&"('|S3', (2,))".parse().unwrap()).unwrap();
}

#[test]
fn nat_without_a_unit_is_stored_in_any() {
    let nat = [0, 0, 0, 0, 0, 0, 0, 0x80];
    for dtype in ["<M8[D]", "<M8[25s]", "<M8"].map(|dtype| dtype.parse().unwrap()) {
        assert_eq!(encoded(&dtype, DateTime64::NAT).unwrap(), nat);
        assert_eq!(encoded(&dtype, "NaT".parse::<DateTime64>().unwrap()).unwrap(), nat);
        assert_eq!(encoded(&dtype, Value::DateTime(Ticks::NAT, None)).unwrap(), nat);
    }
    for dtype in ["<m8[D]", "<m8[M]", "<m8"].map(|dtype| dtype.parse().unwrap()) {
        assert_eq!(encoded(&dtype, TimeDelta64::NAT).unwrap(), nat);
        assert_eq!(encoded(&dtype, Value::TimeDelta(Ticks::NAT, None)).unwrap(), nat);
    }
    let days = "<M8[D]".parse().unwrap();
    for (ticks, unit) in [(Ticks(0), None), (Ticks::NAT, Some("s".parse().unwrap()))] {
        encoded(&days, DateTime64 { ticks, unit }).unwrap_err();
        encoded(&days, Value::DateTime(ticks, unit)).unwrap_err();
    }
}
