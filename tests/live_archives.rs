//! We read archives that NumPy writes; NumPy, Python's zipfile and unzip read
//! ours.

use std::fs;
use std::io::Write as _;

use npymap::npz::{Compression, Npz, NpzWriter};
use npymap::{MappedArray, Order};
use serde_json::{Value, json};

use crate::oracle::{Oracle, hex};
use crate::support::{Raw, directory, map};

/// The properties of an array that are compared.
fn contents<D: AsRef<[u8]>>(array: &MappedArray<D>) -> Value {
    let layout = array.layout();
    let elements = array.view::<Raw>().unwrap();
    json!({
        "descr": array.dtype().to_string(),
        "fortran_order": layout.is_f_contiguous() && !layout.is_c_contiguous(),
        "shape": array.shape(),
        "bytes": elements.iter().map(|element| hex(&element.0)).collect::<String>(),
    })
}

#[test]
fn archives_are_exchanged_both_ways() {
    let Some(mut numpy) = Oracle::start("archives.py") else { return };
    let directory = directory();
    let files = numpy.ask(&json!(["savez", directory.path(), 20_240_229, 40]));
    let (mut stored, mut deflated) = (0, 0);
    for file in files.as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        let npz = map(path).and_then(Npz::open).unwrap();
        npz.members().try_for_each(|member| member.verify()).unwrap();
        let arrays = || npz.members().filter(|member| member.header().unwrap().is_some());
        let found: Vec<_> = arrays()
            .map(|member| json!([member.name(), contents(&member.open().unwrap())]))
            .collect();
        assert_eq!(Value::from(found), file["members"], "{path}");
        let count = if file["stored"] == true { &mut stored } else { &mut deflated };
        *count += npz.members().len();

        for (at, compression) in [Compression::Stored, Compression::Deflated(6)].iter().enumerate()
        {
            let copy = format!("{path}.{at}");
            let mut writer = NpzWriter::create(&copy).unwrap();
            writer.compression(*compression);
            for member in arrays() {
                writer.write(member.name(), &member.open().unwrap()).unwrap();
            }
            writer.finish().unwrap();
            assert_eq!(numpy.ask(&json!(["load", copy])), file["members"], "{copy}");
        }
    }
    assert!(stored > 25 && deflated > 25, "{stored} {deflated}");
}

#[test]
fn streamed_members_equal_numpys() {
    let Some(mut numpy) = Oracle::start("archives.py") else { return };
    let directory = directory();
    let path = directory.path().join("x.npz");
    let mut writer = NpzWriter::create(&path).unwrap();
    let mut filled = writer.begin("filled", &"<f4".parse().unwrap(), &[2, 2], Order::F).unwrap();
    filled.write_all(&[[0; 4], [0; 4], 1_f32.to_le_bytes(), [0; 4]].concat()).unwrap();
    filled.finish().unwrap();
    writer.page_aligned(true);
    let member = writer.begin("größe", &"|S3".parse().unwrap(), &[0, 4], Order::C).unwrap();
    member.finish().unwrap();
    writer.finish().unwrap();
    assert!(fs::read(&path).unwrap().starts_with(b"PK\x03\x04"));
    let expected = json!([
        ["filled", {
            "descr": "'<f4'", "fortran_order": true, "shape": [2, 2],
            "bytes": "000000000000803f0000000000000000",
        }],
        ["größe", { "descr": "'|S3'", "fortran_order": false, "shape": [0, 4], "bytes": "" }],
    ]);
    assert_eq!(numpy.ask(&json!(["load", path])), expected);
}
