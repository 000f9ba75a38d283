//! Sums equal those of the stored values in any layout.

use npymap::ndarray::{ArrayD, Axis, IxDyn, SliceInfoElem};
use npymap::{DType, MappedArray, Order, element::Real, layout::Layout};

use crate::support::quick;

/// An array that repeats the numbers from 0 to 99, and the same numbers as
/// doubles.
fn counted<T: Real>(
    descr: &str,
    shape: &[usize],
    value: fn(u8) -> T,
) -> (MappedArray<Vec<u8>>, ArrayD<f64>) {
    let layout = Layout::new(descr.parse::<DType>().unwrap(), shape, Order::C, 0).unwrap();
    let mut array = MappedArray::from_parts(vec![0; layout.nbytes()], layout).unwrap();
    let values: Vec<T> = (0..100).cycle().take(array.len()).map(value).collect();
    array.view_mut::<T>().unwrap().copy_from_slice(&values).unwrap();
    let model = values.iter().map(|value| value.to_f64()).collect();
    (array, ArrayD::from_shape_vec(IxDyn(shape), model).unwrap())
}

fn sums_are_the_models<T: Real>(descr: &str, value: fn(u8) -> T) {
    let shape = match descr {
        // Along the first axis, more sums than the library makes at a time.
        ">f8" => [7, 17, 490],
        _ if quick() => [7, 5, 130],
        _ => [13, 17, 130],
    };
    let (array, model) = counted(descr, &shape, value);
    let view = array.view::<T>().unwrap();
    let whole = slice(0, None, 1);
    let slices = [
        [whole; 3],
        [slice(0, None, -1); 3],
        [slice(0, None, -1), slice(1, None, 2), slice(0, None, -3)],
        [slice(3, Some(3), 1), whole, whole],
        [slice(5, Some(6), 1), whole, slice(0, None, 64)],
    ];
    for slice in slices {
        for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let ours = view.slice(slice).unwrap().permuted_axes(&axes).unwrap();
            let theirs = model.slice(slice.as_slice()).permuted_axes(axes.as_slice());
            assert_eq!(ours.sum(), theirs.sum(), "{descr} {axes:?}");
            for axis in 0..3 {
                let expected = theirs.sum_axis(Axis(axis));
                assert_eq!(ours.sum_axis(axis).unwrap(), expected, "{descr} {axes:?} {axis}");
            }
            assert!(ours.sum_axis(3).is_err());
        }
    }
}

fn slice(start: isize, end: Option<isize>, step: isize) -> SliceInfoElem {
    SliceInfoElem::Slice { start, end, step }
}

#[test]
fn sums_of_any_type_order_and_stride_equal_the_model() {
    sums_are_the_models("|b1", |value| value % 2 == 1);
    sums_are_the_models("|i1", |value| value as i8 - 50);
    sums_are_the_models("<u2", u16::from);
    sums_are_the_models(">u2", u16::from);
    sums_are_the_models("<i8", |value| i64::from(value) - 50);
    sums_are_the_models(">f2", |value| npymap::half::f16::from_f32(value.into()));
    sums_are_the_models("<f4", f32::from);
    sums_are_the_models(">f4", f32::from);
    sums_are_the_models("<f8", f64::from);
    sums_are_the_models(">f8", f64::from);
}

#[test]
fn sums_of_a_field_of_records_equal_the_model() {
    let dtype: DType = "[('a', '|u1'), ('x', '>f4'), ('b', '<i8', (2,))]".parse().unwrap();
    let layout = Layout::new(dtype, &[50_000], Order::C, 0).unwrap();
    let mut array = MappedArray::from_parts(vec![0; layout.nbytes()], layout).unwrap();
    let mut field =
        array.dyn_view_mut().unwrap().into_field("x").unwrap().into_view::<f32>().unwrap();
    for i in 0..50_000_u16 {
        field.set(usize::from(i), f32::from(i)).unwrap();
    }
    let field = array.dyn_view().unwrap().field("x").unwrap().view::<f32>().unwrap();
    assert_eq!(field.sum(), 49_999.0 * 25_000.0);
    assert_eq!(field.sum_axis(0).unwrap()[IxDyn(&[])], 49_999.0 * 25_000.0);
}

#[test]
fn a_sum_of_single_floats_does_not_stick() {
    // Adding 1 to 2^24 does not change it.
    let (first, ones) = if quick() { (16_777_216_f32, 200_000) } else { (1.0, 19_999_999) };
    let elements = [first.to_le_bytes().to_vec(), 1_f32.to_le_bytes().repeat(ones)].concat();
    let layout = Layout::new("<f4".parse().unwrap(), &[ones + 1], Order::C, 0).unwrap();
    let array = MappedArray::from_parts(elements, layout).unwrap();
    assert_eq!(array.view::<f32>().unwrap().sum(), f64::from(first) + ones as f64);
}

#[test]
fn sums_of_other_types_are_none() {
    let (mut array, _) = counted("<f8", &[100_000], f64::from);
    array.view_mut::<f64>().unwrap().set(77_777, f64::NAN).unwrap();
    assert!(array.view::<f64>().unwrap().sum().is_nan());
    array.view_mut::<f64>().unwrap().set(77_777, f64::INFINITY).unwrap();
    assert_eq!(array.view::<f64>().unwrap().sum(), f64::INFINITY);
    let none = MappedArray::zeros(&"<f8".parse().unwrap(), &[0, 3]).unwrap();
    assert_eq!(none.view::<f64>().unwrap().sum(), 0.0);
    assert_eq!(none.view::<f64>().unwrap().sum_axis(0).unwrap(), ArrayD::<f64>::zeros(IxDyn(&[3])));
    assert!(none.view::<f64>().unwrap().sum_axis(1).unwrap().is_empty());
}
