//! The errors of views.

use crate::support::{refused, slices};
use npymap::ndarray::{Array0, Array1, Axis, IxDyn, s};
use npymap::{DType, ErrorKind, MappedArray, MappedArrayMut, Order, View, layout::Layout};

fn grid(shape: &[usize]) -> MappedArrayMut {
    MappedArray::zeros(&"<i2".parse().unwrap(), shape).unwrap()
}

#[test]
fn errors_name_indices_out_of_bounds_and_their_axis() {
    let mut grid = grid(&[3, 4]);
    let view = grid.view::<i16>().unwrap();
    refused(view.index_axis(1, 4), "index 4 is out of bounds for axis 1 of shape (3, 4)");
    refused(view.slice(s![-4, ..]), "index -4 is out of bounds for axis 0 of shape (3, 4)");
    refused(view.slice(s![.., 2..5]), "range 2..5 is out of bounds for axis 1 of shape (3, 4)");
    refused(view.slice(s![4.., ..]), "range 4.. is out of bounds for axis 0 of shape (3, 4)");
    let still = npymap::ndarray::SliceInfoElem::Slice { start: 0, end: None, step: 0 };
    refused(view.slice([still]), "step 0 is out of bounds for axis 0 of shape (3, 4)");
    refused(view.split_at(0, 4), "index 4 is out of bounds for axis 0 of shape (3, 4)");
    refused(
        view.axis_chunks(1, 0).map(drop),
        "chunk length 0 is out of bounds for axis 1 of shape (3, 4)",
    );
    refused(slices("0, 4", &[3, 4]), "index 4 is out of bounds for axis 1 of shape (3, 4)");
    let view = grid.view_mut::<i16>().unwrap();
    refused(view.index_axis(0, 3), "index 3 is out of bounds for axis 0 of shape (3, 4)");
}

#[test]
fn errors_name_missing_axes() {
    let grid = grid(&[3, 4]);
    let view = grid.view::<i16>().unwrap();
    refused(
        view.index_axis(2, 0),
        "axis 2 is out of bounds for shape (3, 4): axes are numbered from 0",
    );
    refused(
        view.slice(s![0, 0, 0]),
        "axis 2 is out of bounds for shape (3, 4): axes are numbered from 0",
    );
    refused(
        view.split_at(9, 0),
        "axis 9 is out of bounds for shape (3, 4): axes are numbered from 0",
    );
    refused(
        view.axis_chunks(2, 1).map(drop),
        "axis 2 is out of bounds for shape (3, 4): axes are numbered from 0",
    );
    refused(
        slices(":, :, 0", &[3, 4]),
        "axis 2 is out of bounds for shape (3, 4): axes are numbered from 0",
    );
    for axes in [&[0][..], &[0, 0], &[0, 1, 2], &[1, 2]] {
        let asked = match axes {
            [0] => "(0,)",
            [0, 0] => "(0, 0)",
            [0, ..] => "(0, 1, 2)",
            _ => "(1, 2)",
        };
        refused(view.permuted_axes(axes), &format!("axes {asked} are not a permutation of 0..2"));
    }
}

#[test]
fn errors_name_shapes_that_do_not_fit() {
    let mut grid = grid(&[3, 4]);
    let view = grid.view::<i16>().unwrap();
    refused(
        view.reshape(&[5]),
        "cannot reshape (3, 4) to (5,) in place: the numbers of elements differ",
    );
    refused(
        view.t().reshape(&[12]),
        "cannot reshape (4, 3) to (12,) in place: strides cannot express it, copy the elements first",
    );
    let broadcast = "shape (3, 4) cannot be broadcast to (4, 3): counted from the last, axes must have equal lengths or length 1";
    refused(view.broadcast(&[4, 3]), broadcast);
    let other = self::grid(&[3, 4]);
    let mut view = grid.view_mut::<i16>().unwrap().permuted_axes(&[1, 0]).unwrap();
    refused(view.assign(&other.view::<i16>().unwrap()), broadcast);
    refused(
        view.copy_from(Array1::zeros(12).view()),
        "shape (12,) cannot be broadcast to (4, 3): counted from the last, axes must have equal lengths or length 1",
    );
    refused(view.copy_from_slice(&[0; 11]), "expected 12 values, one per element, found 11");
    refused(
        other.view::<i16>().unwrap().copy_to_slice(&mut [0; 13]),
        "expected 12 values, one per element, found 13",
    );
}

#[test]
fn errors_name_elements_out_of_bounds() {
    let mut grid = grid(&[3, 4]);
    let mut view = grid.view_mut::<i16>().unwrap();
    refused(view.set([3, 0], 1), "index (3, 0) is out of bounds for shape (3, 4)");
    refused(view.set(2, 1), "index (2,) is out of bounds for shape (3, 4)");
    refused(view.set([0, 0, 0], 1), "index (0, 0, 0) is out of bounds for shape (3, 4)");
}

#[test]
#[should_panic(expected = "index [3, 0] is out of bounds for shape [3, 4]")]
fn at_panics_outside() {
    let _ = grid(&[3, 4]).view::<i16>().unwrap().at([3, 0]);
}

#[test]
fn interleaved_parts_are_rejected() {
    let mut grid = grid(&[3, 4]);
    refused(
        grid.view_mut::<i16>().unwrap().split_at(1, 2),
        "parts along axis 1 of shape (3, 4) interleave in memory: split along the slowest axis",
    );
    refused(
        grid.view_mut::<i16>().unwrap().permuted_axes(&[1, 0]).unwrap().axis_chunks(0, 1),
        "parts along axis 0 of shape (4, 3) interleave in memory: split along the slowest axis",
    );
    assert!(
        grid.view_mut::<i16>().unwrap().permuted_axes(&[1, 0]).unwrap().axis_chunks(1, 1).is_ok()
    );
}

#[test]
fn errors_name_strides_that_ndarray_cannot_express() {
    let mut grid = grid(&[3, 4]);
    let layout = Layout::new(DType::of::<u8>(), &[6], Order::C, 0).unwrap();
    let bytes = [0_u8; 6];
    let view = View::<u8>::from_bytes(&bytes, &layout).unwrap();
    assert!(view.broadcast(&[2, 6]).unwrap().as_ndarray::<IxDyn>().is_ok());
    refused(
        grid.view::<i16>().unwrap().as_ndarray::<npymap::ndarray::Ix1>(),
        "shape (3, 4) has 2 axes, asked for 1: use `Ix2`, or `IxDyn` for any number",
    );
    refused(
        grid.view_mut::<i16>().unwrap().permuted_axes(&[1, 0]).unwrap().into_slice(),
        "elements of shape (4, 3) are in Fortran order, a slice needs C order: use `as_ndarray`",
    );
}

#[test]
fn errors_name_how_many_values_fit() {
    let layout = Layout::new("|S2".parse().unwrap(), &[1], Order::C, 0).unwrap();
    let mut bytes = [0; 2];
    let mut view = npymap::ViewMut::<String>::from_bytes(&mut bytes, &layout).unwrap();
    refused(view.set(0, "été".to_owned()), "'été' has 5 bytes: expected at most 2 bytes");
    let layout = Layout::new("<U2".parse().unwrap(), &[1], Order::C, 0).unwrap();
    let mut bytes = [0; 8];
    let mut view = npymap::ViewMut::<String>::from_bytes(&mut bytes, &layout).unwrap();
    refused(view.fill(&"été".to_owned()), "'été' has 3 characters: expected at most 2 characters");
}

#[test]
fn errors_name_text_that_is_not_an_index() {
    let expected = "expected an integer, a slice such as `2:8:2`, `...` or `None`";
    for (text, item) in
        [("::0", "::0"), ("1:2:3:4", "1:2:3:4"), ("..., ...", "..."), ("0,,", ""), (",", "")]
    {
        refused(slices(text, &[3, 4]), &format!("`{item}` is not an index: {expected}"));
    }
}

#[test]
fn errors_name_the_shapes_of_masks_that_do_not_fit() {
    let grid = grid(&[3, 4]);
    let view = grid.view::<i16>().unwrap();
    refused(
        view.select_mask(&[true; 4]),
        "a mask of shape (4,) for an array of shape (3, 4): expected the lengths of its first axes",
    );
    // It is not read: that would take 4 GiB.
    let one = Array0::from_elem((), true);
    refused(
        view.select_mask(&one.broadcast(1 << 29).unwrap()),
        "a mask of shape (536870912,) for an array of shape (3, 4): expected the lengths of its first axes",
    );
    refused(
        view.compress(0, &Array1::from_elem(3, true).into_dyn().insert_axis(Axis(0))),
        "a mask of shape (1, 3) for an array of shape (3, 4): expected one axis: use `select_mask` for more",
    );
    refused(
        view.compress(1, &[false, false, false, false, true]),
        "index 4 is out of bounds for axis 1 of shape (3, 4)",
    );
    refused(
        view.compress(2, &[true]),
        "axis 2 is out of bounds for shape (3, 4): axes are numbered from 0",
    );
}

#[test]
fn sums_of_nothing_are_limited() {
    let array = grid(&[0, 1 << 20]);
    assert_eq!(array.view::<i16>().unwrap().sum_axis(0).unwrap().sum(), 0.0);
    let array = grid(&[0, (1 << 20) + 1]);
    let view = array.view::<i16>().unwrap();
    let expected = "shape (0, 1048577) has no elements along axis 0, and at most 1048576 sums of \
                    none are computed: select fewer elements of the other axes";
    let error = view.sum_axis(0).unwrap_err();
    assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::LimitExceeded, expected));
    assert!(view.sum_axis(1).unwrap().is_empty());
    refused(
        view.sum_axis(2),
        "axis 2 is out of bounds for shape (0, 1048577): axes are numbered from 0",
    );
}
