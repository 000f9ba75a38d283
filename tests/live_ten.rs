//! webdataset's files are read, and written again byte for byte.

use std::fs;

use npymap::MappedArray;
use npymap::ten::{Ten, TenWriteOptions};
use npymap::write::Save;
use serde_json::{Value, json};

use crate::oracle::{Oracle, hex};
use crate::support::{Raw, directory, map};

fn contents<D: AsRef<[u8]>>(array: &MappedArray<D>) -> Value {
    let elements = array.view::<Raw>().unwrap();
    json!({
        "descr": array.dtype().to_string(),
        "fortran_order": false,
        "shape": array.shape(),
        "bytes": elements.iter().map(|element| hex(&element.0)).collect::<String>(),
    })
}

#[test]
fn files_are_exchanged_both_ways() {
    let Some(mut numpy) = Oracle::start("archives.py") else { return };
    if numpy.ask(&json!(["has_webdataset"])) != true {
        let required = std::env::var("NPYMAP_REQUIRE_NUMPY").is_ok_and(|value| value == "1");
        assert!(!required, "no webdataset to ask");
        eprintln!("nothing was tested, there is no webdataset to ask");
        return;
    }
    let directory = directory();
    let files = numpy.ask(&json!(["ten_saved", directory.path(), 20_240_229, 60]));
    let mut arrays = 0;
    for file in files.as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        let ten = map(path).and_then(Ten::open).unwrap();
        let found = (0..ten.headers().len()).map(|at| ten.get(at).unwrap()).collect::<Vec<_>>();
        let infos: Vec<_> = ten.headers().map(|header| header.info.as_str()).collect();
        let named = infos.iter().zip(&found).map(|(info, array)| json!([info, contents(array)]));
        assert_eq!(Value::from(named.collect::<Vec<_>>()), file["arrays"], "{path}");
        let bytes = fs::read(path).unwrap();

        let tensors: Vec<&dyn Save> = found.iter().map(|array| array as &dyn Save).collect();
        let options = TenWriteOptions::new();
        let options = if infos.is_empty() { options } else { options.infos(&infos) };
        let copy = format!("{path}.again.ten");
        options.save(&copy, &tensors).unwrap();
        assert!(fs::read(&copy).unwrap() == bytes, "{path}");
        assert_eq!(numpy.ask(&json!(["ten_load", copy])), file["arrays"], "{path}");
        arrays += found.len();
    }
    assert!(arrays > 80, "{arrays}");
}
