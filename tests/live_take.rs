//! `take` selects what NumPy's fancy indexing selects, on the same files.

use npymap::ndarray::ArrayD;
use npymap::{
    ArrayFile, Element, ErrorKind, Result, RowSource as _, Rows, element::Number, layout::TakeMode,
    with_type,
};
use serde_json::{Value, json};

use crate::oracle::{Oracle, hex};
use crate::support::{Raw, directory, is_error, open};

const SEED: u32 = 20_240_229;

fn integers(list: &Value) -> Vec<i64> {
    list.as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect()
}

fn mode(name: &Value) -> TakeMode {
    match name.as_str().unwrap() {
        "raise" => TakeMode::Raise,
        "from_end" => TakeMode::FromEnd,
        "wrap" => TakeMode::Wrap,
        _ => TakeMode::Clip,
    }
}

fn bytes(elements: &ArrayD<Raw>) -> String {
    hex(&elements.iter().flat_map(|element| element.0.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn indices_along_any_axis_select_as_in_numpy() {
    let Some(mut numpy) = Oracle::start("take.py") else { return };
    let directory = directory();
    let (mut done, mut refused, mut fields) = (0, 0, 0);
    for file in numpy.ask(&json!(["takes", directory.path(), SEED, 250])).as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        let array = open(path).unwrap();
        let (view, rows) = (array.view::<Raw>().unwrap(), array.rows().unwrap());
        let read = ArrayFile::open(path).unwrap();
        for case in file["cases"].as_array().unwrap() {
            let axis = case["axis"].as_u64().unwrap() as usize;
            let indices =
                mode(&case["mode"]).resolve(&integers(&case["indices"]), view.shape()[axis]);
            let what = format!("{case} of {:?} {:?}", array.dtype(), array.shape());
            let Some(expected) = case["bytes"].as_str() else {
                assert!(
                    is_error(
                        &indices.unwrap_err(),
                        ErrorKind::OutOfBounds,
                        "is out of bounds for "
                    ),
                    "{what}"
                );
                refused += 1;
                continue;
            };
            let indices = indices.expect(&what);
            let ours = view.select(axis, &indices).expect(&what);
            assert_eq!(json!(ours.shape()), case["shape"], "{what}");
            assert_eq!(bytes(&ours), expected, "{what}");
            done += 1;
            if axis == 0 {
                assert_eq!(bytes(&rows.take_array(&indices).unwrap()), expected, "{what}");
                let mut out = vec![0; expected.len() / 2];
                rows.take_bytes(&indices, &mut out).unwrap();
                assert_eq!(hex(&out), expected, "{what}");
                let mut out = vec![Raw(Vec::new()); ours.len()];
                read.take(&indices, &mut out).unwrap();
                assert_eq!(out, ours.into_raw_vec_and_offset().0, "{what}");
            }
        }
        let keys = file["field"].as_array().unwrap().iter().map(|key| key.as_str().unwrap());
        let keys: Vec<&str> = keys.collect();
        if let (Some(expected), false) = (file["taken"]["bytes"].as_str(), keys.is_empty()) {
            let field = rows.field(&keys.join(".")).unwrap();
            let ours = field.take_array::<Raw>(&integers(&file["rows"])).unwrap();
            assert_eq!(bytes(&ours), expected, "{file}");
            fields += 1;
        }
    }
    assert!(done > 500 && refused > 50 && fields > 30, "{done} {refused} {fields}");
}

fn windows<U: Number>(rows: &Rows, starts: &[i64], len: usize) -> Result<Vec<U>> {
    let each = len * rows.row_len();
    let mut out =
        vec![U::decode(&U::codec(&U::dtype())?, &[0; 16][..size_of::<U>()]); each * starts.len()];
    rows.windows(len)?.take_as(starts, &mut out)?;
    Ok(out)
}

fn encoded<U: Element>(values: &[U], codec: &U::Codec) -> String {
    let mut bytes = vec![0; U::itemsize(codec)];
    values
        .iter()
        .map(|value: &U| {
            value.encode(codec, &mut bytes).unwrap();
            hex(&bytes)
        })
        .collect()
}

#[test]
fn windows_cast_to_other_types_equal_numpys() {
    let Some(mut numpy) = Oracle::start("take.py") else { return };
    let directory = directory();
    let (mut done, mut refused) = (0, 0);
    for case in numpy.ask(&json!(["casts", directory.path(), SEED, 600])).as_array().unwrap() {
        let rows = open(case["path"].as_str().unwrap()).unwrap().rows().unwrap();
        let to: npymap::DType = case["to"].as_str().unwrap().parse().unwrap();
        let (starts, len) = (integers(&case["starts"]), case["len"].as_u64().unwrap() as usize);
        with_type!(to, number U => match (windows::<U>(&rows, &starts, len), case["bytes"].as_str()) {
            (Ok(ours), Some(expected)) => {
                assert_eq!(encoded(&ours, &U::codec(&to).unwrap()), expected, "{case}");
                done += 1;
            }
            (Err(_), None) => refused += 1,
            (ours, _) => panic!("{case}: {:?}", ours.map(|ours| ours.len())),
        }, _ => unreachable!());
    }
    assert!(done > 150 && refused > 100, "{done} {refused}");
}
