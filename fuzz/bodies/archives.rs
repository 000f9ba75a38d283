//! Archives of arrays: each member or chunk lies inside the file, and opens or
//! is rejected.

use npymap::npz::NpzOptions;
use npymap::{
    MappedArray, Source,
    any::{AnyFile, Format},
    open_any,
    tar::TarFile,
    ten::{Ten, TenWriteOptions},
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
    assert_eq!(archive.names().len(), archive.members().len());
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

/// Interprets the bytes as a `.ten` file, and writes its arrays again.
pub(crate) fn ten(data: &[u8]) {
    let Ok(ten) = Ten::open(Source::bytes(data.to_vec())) else { return };
    let headers: Vec<_> = ten.headers().take(MAX_MEMBERS).collect();
    for (index, header) in headers.into_iter().enumerate() {
        assert!(ten.data_offset(index).unwrap() <= data.len() as u64);
        let Ok(array) = ten.get(index) else { continue };
        read(&array);
        let mut bytes = Vec::new();
        let options = TenWriteOptions::new().allow_u4(true).infos(&[&header.info]);
        match options.write(&mut bytes, &[&array]) {
            Ok(()) => {
                let again = Ten::open(Source::bytes(bytes)).unwrap();
                assert!(again.headers().eq([header]));
                assert_eq!(again.get(0).unwrap().as_bytes().unwrap(), array.as_bytes().unwrap());
            }
            // More axes and other infos are read than written.
            Err(error) => assert!(header.shape.len() > 9 || error.to_string().contains("info")),
        }
    }
    assert!(ten.get(ten.headers().len()).is_err());
}

/// Interprets the bytes as a tar file.
pub(crate) fn tar(data: &[u8]) {
    let tar = match TarFile::open(Source::bytes(data.to_vec())) {
        Ok(tar) => tar,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for member in tar.members().take(MAX_MEMBERS) {
        let (header, opened) = (member.header(), member.open());
        if let (Ok(array), Ok(Some(header))) = (&opened, &header) {
            // The elements lie inside the member.
            assert!(member.offset() + member.size() <= data.len() as u64);
            assert_eq!((array.dtype(), array.shape()), (&header.dtype, header.shape.as_slice()));
            read(array);
        }
        assert!(opened.is_err() || matches!(header, Ok(Some(_))));
        if let Ok(list) = member.ten() {
            list.headers().take(MAX_MEMBERS).zip(0..).for_each(|(header, index)| {
                assert!(!list.get(index).is_ok_and(|array| array.shape() != header.shape));
            });
        }
        let _ = tar.get(member.name()).map(|array| read(&array));
    }
}

/// Opens the bytes as a file of any format.
pub(crate) fn any(data: &[u8]) {
    let format = Format::recognize(&Source::bytes(data.to_vec())).unwrap();
    let Ok(file) = open_any(Source::bytes(data.to_vec())) else { return };
    let found = match &file {
        AnyFile::Npy(_) => Format::Npy,
        AnyFile::Npz(_) => Format::Npz,
        AnyFile::Ten(_) => Format::Ten,
        AnyFile::Tar(_) => Format::Tar,
        other => panic!("{other:?}"),
    };
    assert_eq!(found, format);
    // The default limit of inflated members is too large here.
    if format == Format::Npz {
        return;
    }
    for member in [None, Some("0"), Some("a"), Some("x"), Some("a.npy")] {
        if let Ok(array) = file.get(member) {
            read(&array);
        }
    }
}

fn read<D: AsRef<[u8]>>(array: &MappedArray<D>) {
    let view = array.dyn_view().unwrap();
    assert_eq!(view.iter().take(100).count(), view.len().min(100));
    if let Some(bytes) = view.as_bytes() {
        assert_eq!(bytes.len(), array.nbytes());
        let _ = bytes.iter().fold(0_u8, |sum, byte| sum ^ byte);
    }
}
