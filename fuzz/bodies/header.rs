//! Headers and dtypes: parsing and printing round-trip.

use npymap::{
    DType, Header,
    npy::{HeaderText, Version},
};

const VERSIONS: [Option<Version>; 4] =
    [None, Some(Version::V1), Some(Version::V2), Some(Version::V3)];

/// Interprets the bytes as a complete header, and as the text of a header of
/// each version.
pub(crate) fn header(data: &[u8]) {
    if let Ok(text) = HeaderText::parse(data, 1 << 20) {
        assert_encodes(&text);
    }
    for version in 1..=3 {
        let mut file = b"\x93NUMPY".to_vec();
        file.extend([version, 0]);
        let len = data.len().min(if version == 1 { 0xffff } else { 1 << 20 });
        let wire = u32::try_from(len).unwrap().to_le_bytes();
        file.extend(&wire[..if version == 1 { 2 } else { 4 }]);
        file.extend(&data[..len]);
        if let Ok(text) = HeaderText::parse(&file, 1 << 20) {
            assert_encodes(&text);
        }
    }
}

/// Asserts that the header, encoded in each version, reads the same.
fn assert_encodes(text: &HeaderText<'_>) {
    let header = match text.header() {
        Ok(header) => header,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let _ = header.layout();
    assert_prints(&header.dtype);
    for version in VERSIONS {
        if let Ok(encoded) = header.encode(version) {
            let parsed = HeaderText::parse(&encoded.bytes, usize::MAX).unwrap();
            let read = parsed.header().unwrap();
            assert_eq!(read.data_offset, encoded.bytes.len());
            assert_eq!(read.data_offset % 64, 0);
            assert_eq!(
                (&read.dtype, &read.shape, read.order),
                (&header.dtype, &header.shape, header.order)
            );
            let same = Header::read(&*encoded.bytes);
            assert!(same.is_err() || same.unwrap() == read);
        }
    }
}

/// Interprets the bytes as the text of a dtype.
pub(crate) fn dtype(data: &[u8]) {
    if let Ok(dtype) = String::from_utf8_lossy(data).parse::<DType>() {
        assert_prints(&dtype);
    }
}

/// Asserts that the dtype's text parses as the same dtype.
fn assert_prints(dtype: &DType) {
    let text = dtype.to_string();
    let read: DType = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(read, *dtype, "{text}");
    assert_eq!(read.to_string(), text);
    assert_sound(dtype);
}

/// Asserts that fields lie inside the dtype and are found by name.
fn assert_sound(dtype: &DType) {
    for field in dtype.fields() {
        assert!(field.offset + field.dtype.itemsize() <= dtype.itemsize(), "{dtype}");
        assert_eq!(dtype.field(field.name()).unwrap(), field);
        assert_sound(&field.dtype);
    }
    if let Some((base, shape)) = dtype.subarray() {
        assert_eq!(
            shape.iter().fold(base.itemsize(), |n, dim| n.saturating_mul(*dim)),
            dtype.itemsize()
        );
        assert_sound(base);
    }
}
