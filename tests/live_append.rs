//! NumPy reads the file after every append, and npy-append-array and npymap
//! continue each other's files.

use std::fs;

use npymap::ndarray::{Array2, ArrayD, array};
use npymap::{
    Appender, OpenOptions, WriteOptions,
    write::{RecoverOptions, resize},
};
use serde_json::{Value, json};

use crate::oracle::Oracle;
use crate::support::{Raw, directory, header_with};

fn read(path: &str) -> ArrayD<Raw> {
    OpenOptions::new().read_ndarray(path).unwrap()
}

fn texts(values: &Value) -> Vec<&str> {
    values.as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect()
}

#[test]
fn numpy_reads_the_file_after_every_append() {
    let Some(mut numpy) = Oracle::start("grow.py") else { return };
    let directory = directory();
    let cases = numpy.ask(&json!(["parts", directory.path(), 60, 20_240_229]));
    let cases = cases.as_array().unwrap();
    assert!(cases.len() > 20, "{}", cases.len());
    for case in cases {
        let paths = texts(&case["paths"]);
        let (path, parts) = paths.split_first().unwrap();
        let steps = case["steps"].as_array().unwrap();
        let mut appender = Appender::open(path).unwrap();
        for (part, step) in parts.iter().zip(&steps[1..]) {
            appender.append(&read(part)).unwrap();
            appender.flush().unwrap();
            assert_eq!(numpy.ask(&json!(["loaded", path])), json!([step, step]), "{path}");
        }
        appender.close().unwrap();
        let whole = fs::read(case["whole"].as_str().unwrap()).unwrap();
        assert!(fs::read(path).unwrap() == whole, "{path}");
    }
}

#[test]
fn files_are_continued_by_other_writers() {
    let Some(mut numpy) = Oracle::start("grow.py") else { return };
    let directory = directory();
    let (log, rows) = (path_in(&directory, "log.npy"), path_in(&directory, "rows.npy"));
    WriteOptions::new().write(&rows, &array![[1.5_f32, 2.5]]).unwrap();
    if numpy.ask(&json!(["create", log, rows])) == json!(false) {
        return eprintln!("nothing was tested, there is no npy-append-array");
    }
    for count in 2..=130 {
        if count % 2 == 0 {
            Appender::open(&log).unwrap().append_slice(&[count as f32, 2.5]).unwrap();
        } else {
            assert_eq!(numpy.ask(&json!(["append", log, rows])), json!(true));
        }
        let header = header_with(&OpenOptions::new(), &log).unwrap();
        assert_eq!((header.shape, header.data_offset), (vec![count, 2], 128));
    }
    let table: Array2<f32> = OpenOptions::new().read_ndarray(&log).unwrap();
    assert_eq!(
        table,
        Array2::from_shape_fn((130, 2), |(r, c)| if c == 1 { 2.5 } else { first_value(r) })
    );
}

fn first_value(row: usize) -> f32 {
    if row % 2 == 0 { 1.5 } else { row as f32 + 1.0 }
}

fn path_in(directory: &tempfile::TempDir, name: &str) -> String {
    directory.path().join(name).to_str().unwrap().to_owned()
}

#[test]
fn numpy_reads_resized_and_recovered_files() {
    let Some(mut numpy) = Oracle::start("grow.py") else { return };
    let directory = directory();
    let path = directory.path().join("a.npy");
    WriteOptions::new().write(&path, &Array2::<f64>::zeros((9, 2))).unwrap();
    for rows in [10, 1000, 3, 0, 1] {
        resize(&path, rows).unwrap();
        assert_eq!(loaded_shape(&mut numpy, &path), json!([rows, 2]));
    }
    let bytes = fs::read(&path).unwrap();
    for (len, rows) in [(128, 0), (143, 0), (144, 1), (160, 2), (175, 2), (3333, 200)] {
        let mut bytes = bytes.clone();
        bytes.resize(len, 0);
        fs::write(&path, &bytes).unwrap();
        RecoverOptions::new().recover(&path).unwrap();
        assert_eq!(loaded_shape(&mut numpy, &path), json!([rows, 2]));
    }
}

fn loaded_shape(numpy: &mut Oracle, path: &std::path::Path) -> serde_json::Value {
    numpy.ask(&json!(["loaded", path]))[1][0].clone()
}
