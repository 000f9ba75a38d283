//! Masks select what NumPy's select, axes are summed as NumPy's are, and
//! dtypes have NumPy's names.

use npymap::ndarray::{ArrayD, Dimension as _, IxDyn};
use npymap::{DType, Element, ErrorKind, MappedArray, Result, with_type};
use serde_json::{Value, json};

use crate::oracle::{Oracle, hex};
use crate::support::{Raw, directory, open, slices};

const SEED: u32 = 20_240_229;

fn numbers(list: &Value) -> Vec<usize> {
    list.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect()
}

fn flags(list: &Value) -> Vec<bool> {
    list.as_array().unwrap().iter().map(|flag| flag.as_bool().unwrap()).collect()
}

/// Compares a selection with NumPy's, and returns whether both exist.
fn equals_numpys(ours: Result<ArrayD<Raw>>, numpys: &Value, what: &str) -> bool {
    match (ours, numpys["error"].as_str()) {
        (Ok(ours), None) => {
            assert_eq!(json!(ours.shape()), numpys["shape"], "{what}");
            let bytes: Vec<u8> = ours.iter().flat_map(|element| element.0.clone()).collect();
            assert_eq!(hex(&bytes), numpys["bytes"].as_str().unwrap(), "{what}");
            true
        }
        (Err(_), Some(_)) => false,
        (ours, numpys) => panic!("{what}: {:?}, NumPy: {numpys:?}", ours.map(|array| array.len())),
    }
}

fn is_error_of<T>(result: &Result<T>, kind: ErrorKind) -> bool {
    result.as_ref().is_err_and(|error| error.kind() == kind)
}

/// A file's worth of booleans of any shape, for masks that are views.
fn stored_mask(mask: &ArrayD<bool>) -> MappedArray<npymap::source::MapMut> {
    let mut array = MappedArray::zeros(&"|b1".parse().unwrap(), mask.shape()).unwrap();
    let flags: Vec<bool> = mask.iter().copied().collect();
    array.view_mut::<bool>().unwrap().copy_from_slice(&flags).unwrap();
    array
}

#[test]
fn masks_select_as_in_numpy() {
    let Some(mut numpy) = Oracle::start("selections.py") else { return };
    let directory = directory();
    let (mut selected, mut refused, mut scattered) = (0, 0, 0);
    for file in numpy.ask(&json!(["masks", directory.path(), SEED, 250])).as_array().unwrap() {
        let array = open(file["path"].as_str().unwrap()).unwrap();
        for case in file["cases"].as_array().unwrap() {
            let view = array.view::<Raw>().unwrap().permuted_axes(&numbers(&case["axes"])).unwrap();
            let what = format!("{case} of {:?} {:?}", array.dtype(), array.shape());
            let dims = numbers(&case["dims"]);
            let mask = ArrayD::from_shape_vec(IxDyn(&dims), flags(&case["mask"])).unwrap();
            let stored = stored_mask(&mask);
            let stored = stored.view::<bool>().unwrap();
            if equals_numpys(view.select_mask(&mask), &case["selected"], &what) {
                selected += 1;
                scattered += usize::from(dims.len() > 1 && view.as_bytes().is_none());
            } else {
                refused += 1;
            }
            equals_numpys(view.select_mask(&stored), &case["selected"], &what);
            assert_eq!(stored.flatnonzero(|is_true| is_true), numbers(&case["flat"]), "{what}");
            let found = stored.indexed_iter().filter(|(_, is_true)| *is_true);
            let indices: Vec<Vec<usize>> = found.map(|(index, _)| index.slice().to_vec()).collect();
            assert_eq!(json!(indices), case["indices"], "{what}");
            if let Some(axis) = case["axis"].as_u64() {
                let line = flags(&case["line"]);
                let ours = view.compress(axis as usize, line.as_slice());
                // NumPy checks no index if another axis is empty.
                if !(view.is_empty() && is_error_of(&ours, ErrorKind::OutOfBounds)) {
                    equals_numpys(ours, &case["compressed"], &what);
                }
            }
        }
    }
    assert!(selected > 700 && refused > 20 && scattered > 50, "{selected} {refused} {scattered}");
}

#[test]
fn masks_select_decoded_and_borrowed_elements() {
    check_selection::<f32>("<f4", &[1.5, 3.5]);
    check_selection::<f32>(">f4", &[1.5, 3.5]);
    check_selection::<bool>("|b1", &[true, false]);
    check_selection::<String>("<U3", &["b".to_owned(), "d".to_owned()]);
}

fn check_selection<T: Element + Clone + PartialEq + std::fmt::Debug>(descr: &str, odd: &[T]) {
    let mut array = MappedArray::zeros(&descr.parse().unwrap(), &[2, 2]).unwrap();
    let mut view = array.view_mut::<T>().unwrap();
    for (row, value) in odd.iter().enumerate() {
        view.set([row, 1], value.clone()).unwrap();
    }
    let view = array.view::<T>().unwrap();
    assert!(view.select_mask(&[false; 2]).unwrap().is_empty());
    let mask = npymap::ndarray::arr2(&[[false, true], [false, true]]);
    assert_eq!(view.select_mask(&mask).unwrap().into_raw_vec_and_offset().0, odd);
    let turned = view.t();
    assert_eq!(turned.select_mask(&mask.t()).unwrap().into_raw_vec_and_offset().0, odd);
}

#[test]
fn dtypes_have_numpys_names() {
    let Some(mut numpy) = Oracle::start("selections.py") else { return };
    let mut seen = std::collections::BTreeSet::new();
    for pair in numpy.ask(&json!(["names", SEED, 500])).as_array().unwrap() {
        let [descr, name] = [&pair[0], &pair[1]].map(|text| text.as_str().unwrap());
        assert_eq!(descr.parse::<DType>().unwrap().name(), name, "{descr}");
        seen.insert(name.to_owned());
    }
    for name in ["bool", "float128", "bytes", "str288", "void", "datetime64[25ns]", "timedelta64"] {
        assert!(seen.contains(name), "{name} {seen:?}");
    }
}

#[test]
fn axes_are_summed_as_in_numpy() {
    let Some(mut numpy) = Oracle::start("selections.py") else { return };
    let directory = directory();
    let mut summed = 0;
    for file in numpy.ask(&json!(["sums", directory.path(), SEED, 120])).as_array().unwrap() {
        let array = open(file["path"].as_str().unwrap()).unwrap();
        for case in file["cases"].as_array().unwrap() {
            let index = slices(case["slice"].as_str().unwrap(), array.shape()).unwrap();
            let axis = case["axis"].as_u64().unwrap() as usize;
            let sums = with_type!(array.dtype(), real T => {
                array.view::<T>().unwrap().slice(index).unwrap().sum_axis(axis).unwrap()
            }, _ => unreachable!("only real numbers are asked for"));
            let what = format!("{case} of {} {:?}", array.dtype(), array.shape());
            assert_eq!(json!(sums.shape()), case["sum"]["shape"], "{what}");
            let expected = case["sum"]["numbers"].as_array().unwrap();
            assert_eq!(sums.len(), expected.len(), "{what}");
            for (sum, expected) in sums.iter().zip(expected) {
                let expected: f64 = expected.as_str().unwrap().parse().unwrap();
                let is_same = *sum == expected || sum.is_nan() && expected.is_nan();
                let is_close = (sum - expected).abs() <= 1e-9 * expected.abs().max(1.0);
                assert!(is_same || is_close, "{what}: {sum}, NumPy: {expected}");
            }
            summed += 1;
        }
    }
    assert!(summed > 500, "{summed}");
}
