//! Writing a view to part of a file stores what assigning it to a view does.

use npymap::element::Casting;
use npymap::ndarray::{SliceInfoElem, s};
use npymap::{DType, ErrorKind, MappedArray, MappedArrayMut, Order};

use crate::support::{directory, file, is_error, npy, open, open_copy_on_write, open_mut};

/// An array in memory of the numbers from 0.
fn numbers(dtype: &str, shape: &[usize]) -> MappedArrayMut {
    let mut from = MappedArray::zeros(&DType::of::<f64>(), shape).unwrap();
    for (at, number) in from.as_slice_mut::<f64>().unwrap().iter_mut().enumerate() {
        *number = at as f64;
    }
    let mut to = MappedArray::zeros(&dtype.parse().unwrap(), shape).unwrap();
    to.dyn_view_mut().unwrap().assign_as(&from.dyn_view().unwrap(), Casting::Unsafe).unwrap();
    to
}

#[test]
fn all_orders_slices_and_dtypes_store_what_an_assignment_stores() {
    let directory = directory();
    let shape = [40, 300];
    let slices: [Vec<SliceInfoElem>; 6] = [
        s![.., ..].as_ref().to_vec(),
        s![3..5, ..].as_ref().to_vec(),
        s![..;-2, ..;3].as_ref().to_vec(),
        s![.., 7].as_ref().to_vec(),
        s![1..1, ..].as_ref().to_vec(),
        s![5, 2..;-1].as_ref().to_vec(),
    ];
    for order in [Order::C, Order::F] {
        for dtype in ["<f4", ">f4", "<i2", ">u8"] {
            let size = dtype.parse::<DType>().unwrap().itemsize();
            let bytes = npy(&format!("'{dtype}'"), &shape, order, &vec![1; 12_000 * size]);
            for slice in &slices {
                for from_dtype in ["<f4", ">i2", "<f8"] {
                    let path = file(&directory, "a.npy", &bytes);
                    let mut expected = open_copy_on_write(&path).unwrap();
                    let mut array = open_mut(&path).unwrap();
                    let len =
                        array.dyn_view().unwrap().slice(slice).unwrap().shape().last().copied();
                    for from_shape in [vec![], vec![1], vec![len.unwrap()]] {
                        let from = numbers(from_dtype, &from_shape);
                        let view = expected.dyn_view_mut().unwrap();
                        let mut view = view.slice(slice).unwrap();
                        let count = view.len();
                        view.assign_as(&from.dyn_view().unwrap(), Casting::Unsafe).unwrap();
                        let from = from.dyn_view().unwrap();
                        let written =
                            array.write_slice(slice, None, &from, Casting::Unsafe).unwrap();
                        assert_eq!(written, count);
                        assert_eq!(
                            array.as_bytes().unwrap(),
                            expected.as_bytes().unwrap(),
                            "{dtype} {order:?} {slice:?} {from_dtype}"
                        );
                    }
                    drop(array);
                    assert_eq!(
                        open(&path).unwrap().as_bytes().unwrap(),
                        expected.as_bytes().unwrap()
                    );
                }
            }
        }
    }
}

#[test]
fn a_field_is_written_and_the_others_are_kept() {
    let directory = directory();
    let dtype = "[('a', 'u1'), ('b', '<u2', (2,))]";
    let path = file(&directory, "a.npy", &npy(dtype, &[3], Order::C, &[9; 15]));
    let mut array = open_mut(&path).unwrap();
    let from = numbers("u1", &[2, 2]);
    array.write_slice(s![1..], Some("b"), &from.dyn_view().unwrap(), Casting::SameValue).unwrap();
    assert_eq!(array.as_bytes().unwrap(), [9, 9, 9, 9, 9, 9, 0, 0, 1, 0, 9, 2, 0, 3, 0]);
}

#[test]
fn nothing_is_written_unless_shapes_and_dtypes_suit() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("'<u2'", &[3], Order::C, &[9; 6]));
    let mut array = open_mut(&path).unwrap();
    let pair = numbers("u1", &[2]);
    let error = array.write_slice(s![..], None, &pair.dyn_view().unwrap(), Casting::SameKind);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ShapeMismatch);
    let floats = numbers("f8", &[3]);
    let error = array.write_slice(s![..], None, &floats.dyn_view().unwrap(), Casting::SameKind);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::DTypeMismatch);
    let one = numbers("u2", &[]);
    let error = array.write_slice(s![5], None, &one.dyn_view().unwrap(), Casting::Equiv);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::OutOfBounds);
    assert_eq!(array.as_bytes().unwrap(), [9; 6]);
    let mut private = open_copy_on_write(&path).unwrap();
    let error = private.write_slice(s![0], None, &one.dyn_view().unwrap(), Casting::Equiv);
    assert!(is_error(&error.unwrap_err(), ErrorKind::InvalidInput, "a.npy: "), "no file");
}
