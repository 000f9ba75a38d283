//! Fields of records equal NumPy's when read and written, in every layout that
//! NumPy writes; so do views of elements as another dtype.

use npymap::{
    ByteOrder, DType, Element, MappedArray, Value, view::DynView, view::DynViewMut, with_type,
};
use serde_json::{Value as Json, json};

use crate::oracle::{Oracle, hex};
use crate::support::{directory, open, open_mut};

const SEED: u32 = 20_240_229;

fn path_of(field: &Json) -> String {
    let names = field["path"].as_array().unwrap().iter();
    names.map(|name| name.as_str().unwrap()).collect::<Vec<_>>().join(".")
}

/// Reverses the elements of a field, in C order.
fn reverse<T: Element + Clone>(view: DynViewMut<'_>) {
    let mut view = view.into_view::<T>().unwrap();
    let mut values = view.as_view().to_vec();
    values.reverse();
    view.copy_from_slice(&values).unwrap();
}

#[test]
fn fields_are_read_and_written_as_by_numpy_in_every_layout() {
    let Some(mut numpy) = Oracle::start("records.py") else { return };
    let directory = directory();
    let files = numpy.ask(&json!(["structs", directory.path(), SEED]));
    let mut edited = 0;
    for file in files.as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        let array = open(path).unwrap();
        for field in file["fields"].as_array().unwrap() {
            let view = array.dyn_view().unwrap().field(&path_of(field)).unwrap();
            let what = format!("{} of {}", path_of(field), array.dtype());
            assert_eq!(json!(view.shape()), field["shape"], "{what}");
            let bytes: Vec<u8> = view.element_bytes().flatten().copied().collect();
            assert_eq!(hex(&bytes), field["bytes"].as_str().unwrap(), "{what}");
            assert_eq!(view.dtype(), &field["descr"].as_str().unwrap().parse().unwrap(), "{what}");
        }
        drop(array);
        let mut array = open_mut(path).unwrap();
        for (number, field) in file["fields"].as_array().unwrap().iter().enumerate() {
            let view = array.dyn_view_mut().unwrap().into_field(&path_of(field)).unwrap();
            let dtype = view.dtype().clone();
            if number % 2 == 0 {
                with_type!(dtype, any T => reverse::<T>(view), _ => reverse::<Value>(view));
            } else {
                reverse::<Value>(view);
            }
            edited += 1;
        }
        array.close().unwrap();
        assert_eq!(numpy.ask(&json!(["is_expected", path])), true, "{file}");
    }
    assert!(edited > 200, "{edited}");
}

/// The shape, the bytes and the dtype of a view.
fn parts(view: &DynView<'_>) -> (Vec<usize>, String, DType) {
    let bytes: Vec<u8> = view.element_bytes().flatten().copied().collect();
    (view.shape().to_vec(), hex(&bytes), view.dtype().clone())
}

#[test]
fn views_as_another_dtype_equal_numpys() {
    let Some(mut numpy) = Oracle::start("records.py") else { return };
    let directory = directory();
    let mut counts = std::collections::BTreeMap::new();
    let files = numpy.ask(&json!(["recasts", directory.path(), SEED, 400]));
    for file in files.as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        for case in file["cases"].as_array().unwrap() {
            let mut array = MappedArray::load(path).unwrap();
            let what = format!("{case} of {} {:?}", array.dtype(), array.byte_strides());
            let mut view = array.dyn_view_mut().unwrap();
            if case["transposed"] == true {
                let axes: Vec<usize> = (0..view.ndim()).rev().collect();
                view = view.permuted_axes(&axes).unwrap();
            }
            let dtype: DType = case["descr"].as_str().unwrap().parse().unwrap();
            let offset = usize::try_from(case["offset"].as_u64().unwrap()).unwrap();
            let kind = case["do"].as_str().unwrap();
            let ours = match kind {
                "view" => {
                    let lent = view.as_view().view_as(&dtype).map(|lent| parts(&lent));
                    let ours = view.view_as(&dtype).map(|ours| parts(&ours.as_view()));
                    assert_eq!(lent.as_ref().ok(), ours.as_ref().ok(), "{what}");
                    ours
                }
                "getfield" => {
                    let ours = view.as_view().getfield(&dtype, offset);
                    ours.map(|ours| parts(&ours))
                }
                "newbyteorder" => {
                    let big = view.dtype().with_byte_order(ByteOrder::Big);
                    view.view_as(&big).map(|ours| parts(&ours.as_view()))
                }
                "real" => Ok(parts(&view.as_view().real())),
                "imag" => view.as_view().imag().map(|ours| parts(&ours)),
                other => panic!("{other}"),
            };
            let (done, refused): &mut (i32, i32) = counts.entry(kind.to_owned()).or_default();
            match (ours, case["error"].as_str()) {
                (Ok((shape, bytes, dtype)), None) => {
                    assert_eq!(json!(shape), case["shape"], "{what}");
                    assert_eq!(bytes, case["bytes"].as_str().unwrap(), "{what}");
                    assert_eq!(dtype, case["dtype"].as_str().unwrap().parse().unwrap(), "{what}");
                    *done += 1;
                }
                (Err(error), Some(_)) => {
                    assert!(error.to_string().contains(" cannot be viewed as "), "{error}");
                    *refused += 1;
                }
                (ours, _) => panic!("{what}: {ours:?}"),
            }
        }
    }
    assert!(counts.len() == 5 && counts.values().all(|(done, _)| *done > 30), "{counts:?}");
    assert!(counts["view"].1 > 100 && counts["getfield"].1 > 50, "{counts:?}");
}
