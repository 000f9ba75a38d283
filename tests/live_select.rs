//! Masks select what NumPy's select, axes are reduced to what NumPy's are, and
//! dtypes have NumPy's names.

use npymap::element::{MinMax, Real, Ticks};
use npymap::ndarray::{ArrayD, IxDyn, s};
use npymap::{DType, Element, ErrorKind, Indices, MappedArray, Result, View, with_type};
use serde_json::{Value, json};

use crate::oracle::{Oracle, hex};
use crate::support::{Raw, directory, open};

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
    let mut array = MappedArray::anonymous(&"|b1".parse().unwrap(), mask.shape()).unwrap();
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
            let indices = stored.argwhere(|is_true| is_true);
            assert_eq!(indices.shape(), [numbers(&case["flat"]).len(), dims.len()], "{what}");
            let rows: Vec<Vec<usize>> = indices.outer_iter().map(|row| row.to_vec()).collect();
            assert_eq!(json!(rows), case["indices"], "{what}");
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
    let mut array = MappedArray::anonymous(&descr.parse().unwrap(), &[2, 2]).unwrap();
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

/// Compares an array, each value as one or two numbers, with NumPy's.
fn same_numbers<T>(
    ours: &Result<ArrayD<T>>,
    numpys: &Value,
    what: &str,
    parts: fn(&T) -> Vec<f64>,
) {
    let (Ok(ours), None) = (ours, numpys["error"].as_str()) else {
        assert!(ours.is_err() && numpys["error"].is_string(), "{what}: {numpys}");
        return;
    };
    assert_eq!(json!(ours.shape()), numpys["shape"], "{what}");
    let numbers: Vec<f64> = ours.iter().flat_map(parts).collect();
    let expected = numpys["numbers"].as_array().unwrap();
    assert_eq!(numbers.len(), expected.len(), "{what}");
    for (number, expected) in numbers.iter().zip(expected) {
        let expected: f64 = expected.as_str().unwrap().parse().unwrap();
        let is_same = *number == expected || number.is_nan() && expected.is_nan();
        let is_close = (number - expected).abs() <= 1e-12 * expected.abs().max(1.0);
        assert!(is_same || is_close, "{what}: {number}, NumPy: {expected}");
    }
}

fn same_extremes<T: MinMax>(
    view: &View<'_, T>,
    case: &Value,
    what: &str,
    parts: fn(&T) -> Vec<f64>,
) {
    let axis = case["axis"].as_u64().unwrap() as usize;
    same_numbers(&view.min_axis(axis), &case["min"], &format!("min {what}"), parts);
    same_numbers(&view.max_axis(axis), &case["max"], &format!("max {what}"), parts);
}

fn same_means<T: Real>(view: &View<'_, T>, case: &Value, what: &str) {
    let axis = case["axis"].as_u64().unwrap() as usize;
    let ddof = case["ddof"].as_f64().unwrap();
    same_numbers(&view.mean_axis(axis), &case["mean"], &format!("mean {what}"), |x| vec![*x]);
    same_numbers(&view.std_axis(axis, ddof), &case["std"], &format!("std {what}"), |x| vec![*x]);
}

#[test]
fn axes_are_reduced_as_in_numpy() {
    let Some(mut numpy) = Oracle::start("selections.py") else { return };
    let directory = directory();
    let mut reduced = 0;
    for file in numpy.ask(&json!(["reductions", directory.path(), SEED, 120])).as_array().unwrap() {
        let array = open(file["path"].as_str().unwrap()).unwrap();
        for case in file["cases"].as_array().unwrap() {
            let index = Indices::parse(case["slice"].as_str().unwrap(), array.shape()).unwrap();
            let what = format!("{} of {} {:?}", case["slice"], array.dtype(), array.shape());
            let what = format!("{what} along {}, ddof {}", case["axis"], case["ddof"]);
            with_type!(array.dtype(), real T => {
                let view = array.view::<T>().unwrap().slice(index);
                same_extremes(&view, case, &what, |x| vec![x.to_f64()]);
                same_means(&view, case, &what);
            }, _ => with_type!(array.dtype(), complex T => {
                let view = array.view::<T>().unwrap().slice(index);
                same_extremes(&view, case, &what, |z| vec![z.re.to_f64(), z.im.to_f64()]);
            }, _ => {
                let view = array.view::<Ticks>().unwrap().slice(index);
                same_extremes(&view, case, &what, |ticks| vec![ticks.0 as f64]);
            }));
            reduced += 1;
        }
    }
    assert!(reduced > 800, "{reduced}");
}

#[test]
fn the_extreme_of_complex_numbers_is_the_first_nan() {
    use npymap::num_complex::Complex;
    let mut array = MappedArray::anonymous(&"<c16".parse().unwrap(), &[2, 100]).unwrap();
    let mut values: Vec<_> = (0..200).map(|i| Complex::new(f64::from(i), 0.0)).collect();
    for at in [40, 65, 96, 131, 132, 164] {
        values[at].im = f64::NAN;
    }
    array.view_mut::<Complex<f64>>().unwrap().copy_from_slice(&values).unwrap();
    let view = array.view::<Complex<f64>>().unwrap();
    for extremes in [view.min_axis(1).unwrap(), view.max_axis(1).unwrap()] {
        assert_eq!(extremes.mapv(|value| value.re).into_raw_vec_and_offset().0, [40.0, 131.0]);
    }
    let reversed = view.try_slice(s![.., ..;-1]).unwrap().max_axis(1).unwrap();
    assert_eq!(reversed.mapv(|value| value.re).into_raw_vec_and_offset().0, [96.0, 164.0]);
}

#[test]
fn dates_have_extremes_with_their_unit() {
    use npymap::element::DateTime64;
    let mut days = MappedArray::anonymous(&">M8[D]".parse().unwrap(), &[2, 2]).unwrap();
    let counts = [Ticks(3), Ticks(-5), Ticks(7), Ticks::NAT];
    days.view_mut::<Ticks>().unwrap().copy_from_slice(&counts).unwrap();
    let view = days.view::<DateTime64>().unwrap();

    assert_eq!(texts(&view.max_axis(0).unwrap()), ["1970-01-08", "NaT"]);
    assert_eq!(texts(&view.min_axis(1).unwrap()), ["1969-12-27", "NaT"]);
}

fn texts(dates: &ArrayD<npymap::element::DateTime64>) -> Vec<String> {
    dates.iter().map(ToString::to_string).collect()
}
