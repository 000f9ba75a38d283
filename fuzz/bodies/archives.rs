//! Archives of arrays: each member or chunk lies inside the file, and opens or
//! is rejected.

use npymap::npz::NpzOptions;
use npymap::{
    MappedArray, Source,
    ten::{Ten, TenHeader},
};

/// The number of members that are opened.
const MAX_MEMBERS: usize = 16;

/// Interprets the bytes as an `.npz` archive.
pub(crate) fn npz(data: &[u8]) {
    let options = NpzOptions::new().max_inflated(1 << 20);
    let archive = match options.open(Source::bytes(data.to_vec())) {
        Ok(archive) => archive,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(archive.names().len(), archive.len());
    for member in archive.members().take(MAX_MEMBERS) {
        let (header, offset) = (member.header(), member.data_offset());
        let verified = member.verify();
        let opened = member.open();
        if let Ok(Some(offset)) = offset {
            assert!(offset <= data.len() as u64);
        }
        if let (Ok(array), Ok(Some(header))) = (&opened, header) {
            assert_eq!((array.dtype(), array.shape()), (&header.dtype, header.shape.as_slice()));
        }
        match (opened, member.open()) {
            (Ok(array), Ok(reopened)) => {
                assert_eq!(array.layout(), reopened.layout());
                read(&array);
            }
            (Err(first), Err(second)) => assert_eq!(first.to_string(), second.to_string()),
            (first, second) => panic!("{:?}, {:?}", first.err(), second.err()),
        }
        let _ = (verified, archive.get(member.name()).is_ok());
    }
}

/// Interprets the bytes as a `.ten` file, and as the header of one array.
pub(crate) fn ten(data: &[u8]) {
    if let Ok(header) = TenHeader::decode(data) {
        let decoded = TenHeader::decode(&header.encode());
        assert_eq!(decoded.unwrap(), header);
    }
    let Ok(ten) = Ten::open(Source::bytes(data.to_vec())) else { return };
    assert_eq!((ten.headers().len(), ten.infos().len()), (ten.len(), ten.len()));
    for index in 0..ten.len().min(MAX_MEMBERS) {
        assert!(ten.data_offset(index).unwrap() <= data.len() as u64);
        if let Ok(array) = ten.get(index) {
            read(&array);
        }
    }
    assert!(ten.get(ten.len()).is_err());
}

fn read<D: AsRef<[u8]>>(array: &MappedArray<D>) {
    let view = array.dyn_view().unwrap();
    assert_eq!(view.iter().take(100).count(), view.len().min(100));
    if let Some(bytes) = view.as_bytes() {
        assert_eq!(bytes.len(), array.nbytes());
        let _ = bytes.iter().fold(0_u8, |sum, byte| sum ^ byte);
    }
}
