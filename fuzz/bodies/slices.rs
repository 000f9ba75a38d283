//! Slicing and strides against ndarray, and index notation.

use npymap::ndarray::{ArrayViewD, Axis, IxDyn, SliceInfo, SliceInfoElem};
use npymap::{DType, IndexExpr, Order, View, layout::Layout};

use super::Source;

/// Slices, transposes and reshapes a view of positions and an ndarray in the
/// same way.
pub(crate) fn slices(data: &[u8]) {
    let mut source = Source::new(data);
    let order = if source.byte() % 2 == 0 { Order::C } else { Order::F };
    let shape: Vec<usize> = (0..source.below(5)).map(|_| source.below(6)).collect();
    let count: usize = shape.iter().product();
    let values: Vec<u16> = (0..u16::try_from(count).unwrap()).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let dtype: DType = "<u2".parse().unwrap();
    let layout = Layout::new(dtype, &shape, order, 0).unwrap();
    let mut view = View::<u16>::from_bytes(&bytes, &layout).unwrap();
    let mut model = if order == Order::C {
        ArrayViewD::from_shape(IxDyn(&shape), &values).unwrap()
    } else {
        let reversed: Vec<usize> = shape.iter().rev().copied().collect();
        ArrayViewD::from_shape(IxDyn(&reversed), &values).unwrap().reversed_axes()
    };
    assert_same(&view, &model);
    while !source.is_empty() {
        apply_step(&mut source, &mut view, &mut model);
        assert_same(&view, &model);
    }
}

fn apply_step<'a>(
    source: &mut Source<'_>,
    view: &mut View<'a, u16>,
    model: &mut ArrayViewD<'a, u16>,
) {
    let ndim = view.ndim();
    let axis = source.below(ndim + 1);
    match source.below(7) {
        0 => {
            let mut info: Vec<SliceInfoElem> = (0..ndim).map(|_| slice_element(source)).collect();
            // ndarray needs an element for every axis.
            let added = info.iter().filter(|element| element.is_new_axis()).count();
            let whole = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
            info.extend(std::iter::repeat_n(whole, added));
            let Ok(sliced) = view.slice(&info) else { return };
            let ndim = info.iter().filter(|element| !element.is_index()).count();
            if ndim > 8 {
                return;
            }
            let info = SliceInfo::<_, IxDyn, IxDyn>::try_from(info).unwrap();
            *model = model.clone().slice_move(info);
            *view = sliced;
        }
        1 => {
            *view = view.t();
            *model = model.clone().reversed_axes();
        }
        2 if axis < ndim && view.shape()[axis] > 0 => {
            let index = source.below(view.shape()[axis]);
            *view = view.index_axis(axis, index).unwrap();
            *model = model.clone().index_axis_move(Axis(axis), index);
        }
        3 if axis < ndim => {
            let index = source.below(view.shape()[axis] + 1);
            let (low, high) = view.split_at(axis, index).unwrap();
            let (model_low, model_high) = model.clone().split_at(Axis(axis), index);
            let first = source.byte() % 2 == 0;
            *view = if first { low } else { high };
            *model = if first { model_low } else { model_high };
        }
        4 if ndim > 1 => {
            let mut order: Vec<usize> = (0..ndim).collect();
            order.swap(source.below(ndim), source.below(ndim));
            *view = view.permuted_axes(&order).unwrap();
            *model = model.clone().permuted_axes(IxDyn(&order));
        }
        5 => {
            let mut shape = view.shape().to_vec();
            shape.insert(0, source.below(3));
            let Ok(repeated) = view.broadcast(&shape) else { return };
            // ndarray's broadcast borrows, so it can't replace the model.
            let owned = model.broadcast(IxDyn(&shape)).unwrap();
            assert!(repeated.iter().eq(owned.iter().copied()));
        }
        _ => {
            let count = view.len();
            let rows = source.below(7) + 1;
            let shape = [rows, count / rows];
            let Ok(shaped) = view.reshape(&shape) else { return };
            assert_eq!(count % rows, 0);
            assert!(shaped.iter().eq(model.iter().copied()));
        }
    }
}

fn slice_element(source: &mut Source<'_>) -> SliceInfoElem {
    match source.below(8) {
        0 => SliceInfoElem::Index(source.around(6)),
        1 => SliceInfoElem::NewAxis,
        _ => {
            let start = source.around(6);
            let end = source.around(6);
            let step = source.around(3);
            SliceInfoElem::Slice {
                start,
                end: if end == 0 { None } else { Some(end) },
                step: if step == 0 { 1 } else { step },
            }
        }
    }
}

fn assert_same(view: &View<'_, u16>, model: &ArrayViewD<'_, u16>) {
    assert_eq!(view.shape(), model.shape());
    assert!(view.iter().eq(model.iter().copied()));
    assert_eq!(view.len(), model.len());
    for (index, value) in model.indexed_iter().take(20) {
        assert_eq!(view.get(npymap::ndarray::Dimension::slice(&index)), Some(*value));
    }
    let mut values: Vec<u16> = Vec::new();
    let mut blocks = view.blocks();
    while let Some(block) = blocks.next() {
        values.extend(block);
    }
    values.sort_unstable();
    let mut expected: Vec<u16> = model.iter().copied().collect();
    assert!(view.to_vec() == expected);
    expected.sort_unstable();
    assert_eq!(values, expected);
    let sum: f64 = expected.iter().map(|&value| f64::from(value)).sum();
    assert!((view.sum() - sum).abs() < 1e-9);
}

/// Interprets the bytes as index notation, for some shapes: resolved indices are
/// valid slices, and those of a list are on their axis.
pub(crate) fn index(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let shapes: [&[usize]; 6] = [&[], &[7], &[0], &[3, 4], &[2, 1, 5], &[usize::MAX >> 1]];
    let Ok(index) = text.parse::<IndexExpr>() else { return };
    for shape in shapes {
        let Ok(resolved) = index.resolve(shape) else { continue };
        let layout = Layout::new("|V0".parse().unwrap(), shape, Order::C, 0).unwrap();
        let view = View::<[u8; 0]>::from_bytes(&[], &layout).unwrap();
        let sliced = view.slice(&resolved.slices);
        let sliced = sliced.unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert!(sliced.len() <= view.len());
        if let Some(list) = resolved.list {
            let dim = sliced.shape()[list.axis];
            assert!(
                list.indices.iter().all(|&at| at < dim) && list.target <= list.axis,
                "{text:?}"
            );
        }
    }
}
