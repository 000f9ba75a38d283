//! Lists and tar files of arrays for the tests that read them.

use npymap::ndarray::{arr1, arr2};
use npymap::ten::TenWriteOptions;
use tar::{Builder, EntryType, Header};

/// A `.npy` with two axes.
pub(crate) fn npy() -> Vec<u8> {
    let mut bytes = Vec::new();
    npymap::WriteOptions::new().write_to(&mut bytes, &arr2(&[[0.5_f32, 1.5], [2.5, 3.5]])).unwrap();
    bytes
}

/// A `.ten` with two arrays.
pub(crate) fn ten() -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = TenWriteOptions::new().infos(&["x", "y"]);
    options.write(&mut bytes, &[&arr1(&[1_u8, 2]), &arr1(&[0.5_f64])]).unwrap();
    bytes
}

/// A tar file of arrays and other members, some with equal names.
pub(crate) fn shard() -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    let long = format!("{}/deep.npy", "folder".repeat(30));
    for (name, data) in [
        ("000000.npy", npy()),
        ("000000.ten", ten()),
        ("000000.txt", b"text".to_vec()),
        (&long, npy()),
        ("empty.ten", vec![]),
        ("000000.npy", ten()),
        ("000000.npy", npy()),
    ] {
        let mut header = Header::new_gnu();
        header.set_size(u64::try_from(data.len()).unwrap());
        header.set_cksum();
        builder.append_data(&mut header, name, data.as_slice()).unwrap();
    }
    let mut folder = Header::new_gnu();
    folder.set_entry_type(EntryType::Directory);
    folder.set_size(0);
    builder.append_data(&mut folder, "folder/", &[][..]).unwrap();
    builder.into_inner().unwrap()
}
