//! Tar files with extension records.

use tar::{Builder, EntryType, Header};

use crate::tars::npy;

/// The header of an extension record of this length, without its contents.
pub(crate) fn extended(kind: u8, len: u64) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::new(kind));
    header.set_size(len);
    header.set_cksum();
    header.as_bytes().to_vec()
}

/// A tar file of one `.npy` that these pax records rename.
pub(crate) fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    add_pax(&mut builder, records);
    append(&mut builder, "made-up", &npy());
    builder.into_inner().unwrap()
}

fn add_pax(builder: &mut Builder<Vec<u8>>, records: &[(&str, &str)]) {
    let records = records.iter().map(|(key, value)| (*key, value.as_bytes()));
    builder.append_pax_extensions(records).unwrap();
}

fn append(builder: &mut Builder<Vec<u8>>, name: &str, data: &[u8]) {
    let mut header = Header::new_ustar();
    header.set_size(u64::try_from(data.len()).unwrap());
    builder.append_data(&mut header, name, data).unwrap();
}

/// Tar files of a sparse `a.npy` of 4096 bytes and a complete `b.npy`, in each
/// format that GNU tar has for sparse members.
pub(crate) fn sparse() -> Vec<(&'static str, Vec<u8>)> {
    // Only its first 512 bytes are stored.
    let mut data = npy();
    data.resize(512, 0);
    let v00 = [
        ("GNU.sparse.size", "4096"),
        ("GNU.sparse.numblocks", "1"),
        ("GNU.sparse.offset", "0"),
        ("GNU.sparse.numbytes", "512"),
    ];
    let v01 = [
        ("GNU.sparse.size", "4096"),
        ("GNU.sparse.numblocks", "1"),
        ("GNU.sparse.map", "0,512"),
        ("GNU.sparse.name", "a.npy"),
    ];
    let v10 = [
        ("GNU.sparse.major", "1"),
        ("GNU.sparse.minor", "0"),
        ("GNU.sparse.name", "a.npy"),
        ("GNU.sparse.realsize", "4096"),
    ];
    let mut with_map = b"1\n0\n512\n".to_vec();
    with_map.resize(512, 0);
    with_map.extend_from_slice(&data);
    vec![
        ("0.0", with_pax(&v00, "a.npy", &data)),
        ("0.1", with_pax(&v01, "GNUSparseFile.1/a.npy", &data)),
        ("1.0", with_pax(&v10, "GNUSparseFile.1/a.npy", &with_map)),
        ("old", old_sparse(&data)),
    ]
}

fn with_pax(records: &[(&str, &str)], name: &str, data: &[u8]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    add_pax(&mut builder, records);
    append(&mut builder, name, data);
    append(&mut builder, "b.npy", &npy());
    builder.into_inner().unwrap()
}

/// The format before pax, whose map continues in another block.
fn old_sparse(data: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_path("a.npy").unwrap();
    header.set_entry_type(EntryType::GNUSparse);
    header.set_size(u64::try_from(data.len()).unwrap());
    let gnu = header.as_gnu_mut().unwrap();
    gnu.sparse[0].offset.copy_from_slice(b"00000000000\0");
    gnu.sparse[0].numbytes.copy_from_slice(b"00000001000\0");
    gnu.realsize.copy_from_slice(b"00000010000\0");
    gnu.isextended = [1];
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend([0; 512]);
    bytes.extend_from_slice(data);
    let mut builder = Builder::new(Vec::new());
    append(&mut builder, "b.npy", &npy());
    bytes.extend(builder.into_inner().unwrap());
    bytes
}
