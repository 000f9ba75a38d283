//! Headers that announce more than any file can hold are rejected, or handled
//! without using time or memory.

use std::fmt::Write as _;

use npymap::{
    DType, ErrorKind, MappedArray, OpenOptions, Order, Value, element::Casting, ndarray::IxDyn,
    view::DynView,
};

use crate::support::{is_error, raw, text};

/// The maximum length of a subarray's axis in NumPy.
const MOST: &str = "2147483647";

fn file(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    raw(&text(descr, shape, Order::C, 10_000), elements)
}

fn fortran(descr: &str, shape: &str) -> Vec<u8> {
    raw(&text(descr, shape, Order::F, 118), &[])
}

/// A subarray with these axes whose elements have zero bytes.
fn nothing(axes: &str) -> String {
    format!("[('a', [('b', '|S0')], ({axes},))]")
}

#[test]
fn subarrays_have_at_most_as_many_elements_as_in_numpy() {
    for (axes, is_read) in [
        (MOST, true),
        ("65536, 32767", true),
        ("65536, 32768", false),
        ("2147483648", false),
        ("2147483647, 2147483647", false),
        ("0, 2147483647, 2147483647", true),
        ("2147483647, 2147483647, 0", true),
        (&[MOST; 64].join(", "), false),
    ] {
        assert_eq!(nothing(axes).parse::<DType>().is_ok(), is_read, "{axes}");
    }
}

#[test]
fn fields_with_too_many_elements_are_rejected() {
    let nested = format!("[('a', [('c', [('b', '|S0')], ({MOST},))], ({MOST},))]");
    for (descr, shape) in [
        (nothing(MOST), &*format!("({}, 2)", 1_usize << (usize::BITS / 2))),
        (nothing("2147483647, 2147483647, 2147483647, 0"), "(1,)"),
        (nothing("0, 2147483647, 2147483647"), "(0, 4)"),
    ] {
        let bytes = file(&descr, shape, &[]);
        let array = MappedArray::from_bytes(&bytes).unwrap();
        let error = array.dyn_view().unwrap().field("a").unwrap_err();
        assert!(
            is_error(&error, ErrorKind::InvalidInput, "-bit address space"),
            "{descr} {shape}: {error}"
        );
        assert!(array.dyn_view().unwrap().getfield(&array.dtype().fields()[0].dtype, 0).is_err());
    }
    if usize::BITS < 64 {
        return;
    }
    let bytes = file(&nested, "(4,)", &[]);
    let array = MappedArray::from_bytes(&bytes).unwrap();
    assert_eq!(array.dyn_view().unwrap().field("a").unwrap().shape(), [4, 2_147_483_647]);
    assert!(is_error(
        &array.dyn_view().unwrap().field("a.c").unwrap_err(),
        ErrorKind::InvalidInput,
        "-bit address space"
    ));
}

#[test]
fn fields_have_at_most_as_many_axes_as_arrays() {
    let mut shape = String::new();
    (0..62).for_each(|_| write!(shape, "1, ").unwrap());
    for (axes, is_there) in [("1, 1", true), ("1, 1, 1", false)] {
        let bytes = file(&format!("[('a', '|u1', ({axes}))]"), &format!("({shape})"), &[5]);
        let array = MappedArray::from_bytes(&bytes).unwrap();
        match array.dyn_view().unwrap().field("a") {
            Ok(field) => assert!(is_there && field.ndim() == 64),
            Err(error) => {
                assert!(
                    !is_there
                        && is_error(
                            &error,
                            ErrorKind::InvalidInput,
                            "65 axes, NumPy arrays have at most 64"
                        )
                );
            }
        }
    }
}

/// Changes the geometry in every way; all counts are right.
fn call_geometry_methods(view: &DynView<'_>) {
    assert_eq!(view.t().len(), view.len());
    assert_eq!(view.t().t().shape(), view.shape());
}

#[test]
fn the_largest_empty_views_take_no_time() {
    let most = isize::MAX.unsigned_abs() / 2 + 1;
    let doubles = most / 8;
    let subarrays = if usize::BITS < 64 { 1 } else { 1 << 30 };
    for bytes in [
        file("'|V0'", &format!("({most},)"), &[]),
        file("'|S0'", &format!("({}, 1024)", most / 1024), &[]),
        file("[]", "(1000000000,)", &[]),
        file("'<f8'", &format!("(0, {doubles})"), &[]),
        file("'<f8'", &format!("({doubles}, 0)"), &[]),
        fortran("'<f8'", &format!("({doubles}, 0)")),
        file(&nothing("65536, 32767"), &format!("({subarrays},)"), &[]),
    ] {
        let array = MappedArray::from_bytes(&bytes).unwrap();
        let view = array.dyn_view().unwrap();
        call_geometry_methods(&view);
        let mut copy = bytes.clone();
        let mut to = MappedArray::from_bytes(copy.as_mut_slice()).unwrap();
        to.dyn_view_mut().unwrap().assign_as(&view, Casting::SameValue).unwrap();
        if let Ok(numbers) = array.view::<f64>() {
            assert!(numbers.sum().abs() < 1.0);
            let empty = array.shape().iter().position(|&dim| dim == 0).unwrap();
            let error = numbers.sum_axis(empty).unwrap_err();
            assert!(is_error(&error, ErrorKind::LimitExceeded, "sums of none"));
        }
        if array.is_empty() {
            assert_eq!(view.to_vec(), []);
            assert_eq!(view.iter().next(), None);
        } else if array.len() > 1 {
            let read =
                OpenOptions::new().read_ndarray_from::<Value, IxDyn>(bytes.as_slice()).unwrap_err();
            assert!(is_error(&read, ErrorKind::LimitExceeded, "zero-size elements"), "{read}");
        }
    }
}

#[test]
fn views_broadcast_to_too_many_elements_are_rejected() {
    let bytes = file("'|u1'", "(1, 1)", &[7]);
    let array = MappedArray::from_bytes(&bytes).unwrap();
    let view = array.dyn_view().unwrap();
    let most = usize::MAX >> 1;
    for shape in [[most, 2], [usize::MAX, 1]] {
        assert!(is_error(
            &view.broadcast(&shape).unwrap_err(),
            ErrorKind::ShapeMismatch,
            "cannot be broadcast to"
        ));
    }
    call_geometry_methods(&view.broadcast(&[most, 1]).unwrap());
    let none = file("'<f8'", "(0, 1, 1)", &[]);
    let none = MappedArray::from_bytes(&none).unwrap();
    assert!(none.dyn_view().unwrap().broadcast(&[0, most, most]).is_err());
    let wide = file("'<f8'", "(1,)", &[0; 8]);
    let wide = MappedArray::from_bytes(&wide).unwrap();
    let wide = wide.dyn_view().unwrap().broadcast(&[most / 2, 1]).unwrap();
    let error = wide.view_as(&"|u1".parse().unwrap()).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "-bit address space"), "{error}");
}

#[test]
fn deep_nesting_is_read_or_rejected() {
    for depth in [1, 60, 98, 99, 100, 150, 1000] {
        let nested = (0..depth).fold("'<f8'".to_owned(), |inner, _| format!("[('a', {inner})]"));
        match nested.parse::<DType>() {
            Ok(dtype) => {
                assert_eq!(dtype.to_string(), nested);
                assert_eq!(Value::parse(&format!("{dtype}"), &dtype).ok(), None);
                let path = vec!["a"; depth].join(".");
                let bytes = file(&nested, "(1,)", &[0; 8]);
                let array = MappedArray::from_bytes(&bytes).unwrap();
                assert_eq!(
                    array.dyn_view().unwrap().field(&path).unwrap().view::<f64>().unwrap().to_vec(),
                    [0.0]
                );
            }
            Err(error) => assert!(depth > 99, "{depth}: {error}"),
        }
    }
}

#[test]
fn arrays_of_no_bytes_are_borrowed_from_larger_buffers() {
    let bytes = file("'|u1'", "(2, 3)", &[7; 6]);
    let array = MappedArray::from_bytes(&bytes).unwrap();
    let none = array.dyn_view().unwrap().getfield(&"|S0".parse().unwrap(), 1).unwrap();
    let none = none.view::<[u8; 0]>().unwrap();
    assert_eq!(none.as_ndarray::<IxDyn>().unwrap().shape(), [2, 3]);
    assert_eq!(none.t().as_ndarray::<IxDyn>().unwrap().shape(), [3, 2]);
    assert_eq!(none.to_vec(), [[0; 0]; 6]);
}
