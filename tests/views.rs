//! Everything that is read through a view, after any changes of its geometry,
//! equals what ndarray reads from the stored values.

use std::collections::BTreeMap;

use npymap::ndarray::{ArrayD, Axis, Dimension as _, IxDyn, SliceInfoElem, s};
use npymap::view::Iter;
use npymap::{DType, ErrorKind, Le, MappedArray, Order, View, element::InPlace, layout::Layout};
use proptest::prelude::*;

use crate::model::{Case, Sample, Spec, Stored, Visitor, specs, visit};
use crate::steps::{Step, is_affine, is_run, to_standard_layout};
use crate::support::{foreign, is_error, rounds, slices};

/// Applies changes to a view and its model.
fn changed<'a, T: Sample>(
    spec: &Spec,
    stored: &Stored<T>,
    view: View<'a, T>,
) -> (View<'a, T>, ArrayD<usize>) {
    let (mut view, mut places) = (view, to_standard_layout(&stored.places.view()));
    for numbers in &spec.steps {
        let Some(step) = Step::choose(numbers, view.shape()) else { continue };
        let expected = step.of_model(&places, view.itemsize());
        match (step.of_view(&view), expected) {
            (Ok(next), Some(expected)) if expected.len() < 5000 => {
                assert_eq!(next.shape(), expected.shape(), "{step:?}");
                (view, places) = (next, expected);
            }
            (Ok(_), Some(_)) => {}
            (Err(error), None) => assert!(is_error(&error, ErrorKind::ShapeMismatch, "in place")),
            (found, expected) => panic!("{step:?}: {found:?}, model: {expected:?}"),
        }
    }
    (view, places)
}

fn reads_elements<T: Sample>(view: &View<'_, T>, expected: &ArrayD<T>) {
    assert_eq!(view.ndim(), expected.ndim());
    assert_eq!((view.len(), view.is_empty()), (expected.len(), expected.is_empty()));
    for (index, value) in expected.indexed_iter() {
        assert_eq!(view.get(index.slice()).as_ref(), Some(value));
        assert_eq!(&view.at(index.slice()), value);
        match *index.slice() {
            [i] => assert_eq!(view.get(i).as_ref(), Some(value)),
            [i, j] => assert_eq!(&view.at([i, j]), value),
            _ => {}
        }
    }
    let zeros = vec![0; view.ndim() + 1];
    assert_eq!(view.get(zeros.as_slice()), None);
    assert_eq!(view.get([0; 65]), None);
    for (axis, &dim) in view.shape().iter().enumerate() {
        for outside in [dim, usize::MAX] {
            let mut index = vec![0; view.ndim()];
            index[axis] = outside;
            assert_eq!(view.get(index.as_slice()), None);
        }
    }
}

fn iterates<T: Sample>(view: &View<'_, T>, expected: &ArrayD<T>, seed: u64) {
    let all: Vec<T> = expected.iter().cloned().collect();
    assert_eq!(view.iter().collect::<Vec<_>>(), all);
    let mut looped = Vec::new();
    for value in view {
        looped.push(value);
    }
    assert_eq!(looped, all);
    let taken = seed as usize % (all.len() + 1);
    let mut iter = view.iter();
    assert_eq!(iter.by_ref().take(taken).collect::<Vec<_>>(), all[..taken]);
    assert_eq!(iter.len(), all.len() - taken);
    assert_eq!(iter.size_hint(), (iter.len(), Some(iter.len())));
    let clone = iter.clone();
    let folded = iter.fold(Vec::new(), |mut folded, value| {
        folded.push(value);
        folded
    });
    assert_eq!(folded, all[taken..]);
    assert_eq!(clone.collect::<Vec<_>>(), folded);
    let mut spent = view.iter();
    spent.by_ref().for_each(drop);
    assert_eq!((spent.next(), spent.len()), (None, 0));
    assert_eq!(spent.fold(0, |n, _| n + 1), 0);

    ends(view.clone().into_iter(), &all, seed);
    #[cfg(feature = "rayon")]
    crate::parallel::iterates(view, &all, seed);

    assert_eq!(view.indexed_iter().len(), all.len());
    let indexed = expected.indexed_iter().map(|(i, value)| (i, value.clone()));
    assert!(view.indexed_iter().eq(indexed));
}

/// Taking elements from both ends and skipping some equals doing so with a
/// vector's iterator.
fn ends<T: Sample>(iter: Iter<'_, T>, all: &[T], seed: u64) {
    let (mut iter, mut model) = (iter, all.iter().cloned());
    assert!(iter.clone().rev().eq(model.clone().rev()));
    assert_eq!((iter.clone().last(), iter.clone().count()), (model.clone().last(), model.len()));
    let mut choices = seed;
    while model.len() > 0 {
        choices = choices.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(seed | 1);
        // Mostly a few, sometimes more than there are.
        let n = ((choices >> 40) as usize % (model.len() + 2)) >> (choices >> 60);
        let (taken, expected) = match choices >> 33 & 3 {
            0 => (iter.next(), model.next()),
            1 => (iter.next_back(), model.next_back()),
            2 => (iter.nth(n), model.nth(n)),
            _ => (iter.nth_back(n), model.nth_back(n)),
        };
        assert_eq!((taken, iter.len()), (expected, model.len()));
        if (choices >> 36) % 8 == 0 {
            assert_eq!(iter.clone().collect::<Vec<_>>(), model.clone().collect::<Vec<_>>());
            assert_eq!(iter.clone().fold(0, |n, _| n + 1), model.len());
        }
    }
    assert_eq!((iter.next(), iter.next_back(), iter.nth(1), iter.nth_back(0)), Default::default());
}

/// Blocks are in memory order, which is the order of the positions.
fn blocks<T: Sample>(view: &View<'_, T>, places: &ArrayD<usize>, stored: &Stored<T>) {
    let mut order: Vec<usize> = places.iter().copied().collect();
    order.sort_unstable();
    let expected: Vec<T> = order.iter().map(|&place| stored.values[place].clone()).collect();
    let mut found = Vec::new();
    let mut blocks = view.blocks();
    while let Some(block) = blocks.next() {
        assert!(!block.is_empty());
        found.extend_from_slice(block);
    }
    assert!(blocks.next().is_none());
    assert_eq!(found, expected);
}

fn copies<T: Sample>(view: &View<'_, T>, expected: &ArrayD<T>, other: &T) {
    let all: Vec<T> = expected.iter().cloned().collect();
    assert_eq!(view.to_vec(), all);
    assert_eq!(&view.to_ndarray::<IxDyn>().unwrap(), expected);
    let mut out = vec![other.clone(); all.len()];
    view.copy_to_slice(&mut out).unwrap();
    assert_eq!(out, all);
    out.push(other.clone());
    let error = view.copy_to_slice(&mut out).unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, &format!("expected {} value", all.len())));
}

fn bytes<T: Sample>(view: &View<'_, T>, places: &ArrayD<usize>, stored: &Stored<T>) {
    let size = stored.layout.dtype().itemsize();
    assert_eq!(view.itemsize(), size);
    let run = is_run(places).then(|| {
        let start = stored.layout.offset() + places.first().copied().unwrap_or(0) * size;
        &stored.bytes()[start..start + places.len() * size]
    });
    // Elements of zero bytes are always contiguous.
    if size > 0 {
        assert_eq!(view.as_bytes(), run);
        let line = places.to_shape(places.len()).unwrap().to_owned().into_dyn();
        assert_eq!(view.reshape(&[view.len()]).is_ok(), is_affine(&line));
    }
}

/// Asserts that an error of borrowing is about the alignment or the dtype,
/// whichever is wrong.
fn assert_dtype_error(error: &npymap::Error, is_aligned: bool, exact: bool) {
    assert!(is_error(error, ErrorKind::DTypeMismatch, "asked for"), "{error}");
    let misplaced = error.to_string().contains("are not aligned");
    assert!(if misplaced { !is_aligned } else { !exact }, "{error}");
}

/// Elements can be borrowed exactly when they are in place as `T` needs them.
fn check_borrows<T: Sample + InPlace>(
    view: &View<'_, T>,
    places: &ArrayD<usize>,
    stored: &Stored<T>,
    exact: bool,
) {
    let size = size_of::<T>();
    let expected = stored.at(places);
    let is_aligned = places.is_empty() || stored.layout.offset() % align_of::<T>() == 0;
    let lendable = size == 0 || exact && is_aligned;
    match view.as_slice() {
        Ok(slice) => {
            assert!(lendable && (size == 0 || is_run(places)));
            assert!(slice.iter().eq(&expected));
        }
        Err(error) if is_error(&error, ErrorKind::ShapeMismatch, "in Fortran order") => {
            assert!(!is_run(places));
        }
        Err(error) => assert_dtype_error(&error, is_aligned, exact),
    }
    match view.as_ndarray::<IxDyn>() {
        Ok(array) => {
            assert!(lendable);
            assert_eq!(array, expected);
        }
        Err(error) => {
            assert!(!lendable, "{error}: {view:?}");
            assert_dtype_error(&error, is_aligned, exact);
        }
    }
}

/// Reads through a view of a case.
pub(crate) struct Reading<'s>(pub(crate) &'s Spec);

impl Reading<'_> {
    fn check<T: Sample>(&self, case: &Case<T>) -> (Stored<T>, ArrayD<usize>) {
        let Reading(spec) = self;
        let stored = Stored::new(case, spec);
        let (view, places) = changed(spec, &stored, stored.view());
        let expected = stored.at(&places);
        reads_elements(&view, &expected);
        iterates(&view, &expected, spec.seed);
        blocks(&view, &places, &stored);
        copies(&view, &expected, &(case.sample)(1));
        bytes(&view, &places, &stored);
        assert!(format!("{view:?}").starts_with("View"));
        (stored, places)
    }
}

impl Visitor for Reading<'_> {
    fn decoded<T: Sample>(&mut self, case: &Case<T>) {
        self.check(case);
    }

    fn in_place<T: Sample + InPlace>(&mut self, case: &Case<T>) {
        let (stored, places) = self.check(case);
        let (view, _) = changed(self.0, &stored, stored.view());
        check_borrows(&view, &places, &stored, (case.exact)(stored.big));
    }
}

/// The elements that Python's `range(dim)[text]` selects.
fn python(dim: usize, start: Option<isize>, end: Option<isize>, step: isize) -> Vec<usize> {
    let length = dim as isize;
    let (mut at, end) = if step > 0 {
        (
            start.map_or(0, |bound| wrap(length, bound)).max(0),
            end.map_or(length, |bound| wrap(length, bound)).min(length),
        )
    } else {
        (
            start.map_or(length - 1, |bound| wrap(length, bound)).min(length - 1),
            end.map_or(-1, |end| wrap(length, end).max(-1)),
        )
    };
    let mut selected = Vec::new();
    while if step > 0 { at < end } else { at > end } {
        selected.push(at as usize);
        at += step;
    }
    selected
}

fn wrap(length: isize, bound: isize) -> isize {
    if bound < 0 { bound + length } else { bound }
}

/// An index of one axis in NumPy's notation: the text, what it selects, and
/// whether the axis remains.
type Item = (String, Vec<usize>, bool);

fn notation(dim: usize) -> impl Strategy<Value = Item> {
    let step = prop_oneof![Just(None), prop::option::of(prop_oneof![-4_isize..0, 1_isize..5])];
    let slice =
        (bound(), bound(), step, any::<bool>()).prop_map(move |(start, end, step, space)| {
            let mut text = format!("{}:{}", bound_text(start), bound_text(end));
            if let Some(step) = step {
                text = [text, step.to_string()].join(":");
            }
            let text = if space { format!(" {} ", text.replace(':', " : ")) } else { text };
            (text, python(dim, start, end, step.unwrap_or(1)), true)
        });
    let index = (0..dim.max(1), any::<bool>()).prop_map(move |(at, negative)| {
        let said = if negative { at as isize - dim as isize } else { at as isize };
        (said.to_string(), vec![at], false)
    });
    if dim == 0 { slice.boxed() } else { prop_oneof![3 => slice, 1 => index].boxed() }
}

fn bound_text(bound: Option<isize>) -> String {
    bound.map_or(String::new(), |bound| bound.to_string())
}

fn bound() -> impl Strategy<Value = Option<isize>> {
    prop::option::of(-9_isize..10)
}

fn notations() -> impl Strategy<Value = (Vec<usize>, Vec<Item>, bool, usize)> {
    prop::collection::vec(0_usize..7, 0..4).prop_flat_map(|shape| {
        let texts: Vec<_> = shape.iter().map(|&dim| notation(dim)).collect();
        (Just(shape), texts, any::<bool>(), 0_usize..8)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(3000), failure_persistence: None, ..Default::default() })]

    #[test]
    fn views_read_the_same_elements_as_ndarray(spec in specs()) {
        visit(spec.case, &mut Reading(&spec));
    }

    #[test]
    fn notation_selects_the_same_elements_as_python((shape, items, parentheses, extra) in notations()) {
        let count = shape.iter().product();
        let model = ArrayD::from_shape_vec(shape.as_slice(), (0_u16..).take(count).collect()).unwrap();
        let mut texts: Vec<String> = items.iter().map(|(text, ..)| text.clone()).collect();
        let mut kept: Vec<Option<usize>> =
            items.iter().map(|(_, selected, stays)| stays.then_some(selected.len())).collect();
        let mut selected: Vec<Vec<usize>> =
            items.iter().map(|(_, selected, _)| selected.clone()).collect();
        // Omit the last axes, or replace the middle ones by an ellipsis.
        if extra < 3 {
            let from = extra.min(texts.len());
            let to = (from + 1).min(texts.len());
            let dots = if extra == 2 { texts.len() } else { to };
            for axis in from..dots {
                selected[axis] = (0..shape[axis]).collect();
                kept[axis] = Some(shape[axis]);
            }
            texts.splice(from..dots, ["...".to_owned()]);
        }
        let mut expected_shape: Vec<usize> = kept.into_iter().flatten().collect();
        if extra == 5 {
            texts.insert(0, "None".to_owned());
            expected_shape.insert(0, 1);
        }
        let mut text = texts.join(", ");
        if extra == 6 && !text.is_empty() {
            text.push(',');
        }
        if parentheses {
            text = format!(" ({text})");
        }
        let mut expected = model;
        for (axis, selected) in selected.iter().enumerate() {
            expected = expected.select(Axis(axis), selected);
        }
        let bytes: Vec<u8> = (0_u16..).take(count).flat_map(u16::to_ne_bytes).collect();
        let layout = Layout::new(DType::of::<u16>(), &shape, Order::C, 0).unwrap();
        let view = View::<u16>::from_bytes(&bytes, &layout).unwrap();
        let indices = slices(&text, &shape).unwrap();
        let view = view.slice(&indices).unwrap();
        prop_assert_eq!(view.shape(), expected_shape);
        prop_assert_eq!(view.to_vec(), expected.iter().copied().collect::<Vec<_>>());
    }

    #[test]
    fn no_index_causes_a_panic(
        shape in prop::collection::vec(0_usize..5, 0..4),
        numbers in any::<[isize; 3]>(),
        small in prop::array::uniform3(-6_isize..7),
        kinds in any::<[u8; 4]>(),
        text in prop::collection::vec(prop::sample::select(b"-0123456789:, .[]N".as_slice()), 0..12),
    ) {
        let bytes = [0; 2 * 64];
        let layout = Layout::new(DType::of::<Le<u16>>(), &shape, Order::C, 0).unwrap();
        let view = View::<Le<u16>>::from_bytes(&bytes, &layout).unwrap();
        let info: Vec<SliceInfoElem> = kinds.iter().map(|kind| {
            let [a, b, c] = if kind / 4 % 2 == 0 { small } else { numbers };
            match kind % 4 {
                0 => SliceInfoElem::Index(a),
                1 => SliceInfoElem::NewAxis,
                2 => SliceInfoElem::Slice { start: a, end: Some(b), step: c },
                _ => SliceInfoElem::Slice { start: b, end: None, step: c },
            }
        }).take(usize::from(kinds[0]) % 5).collect();
        if let Ok(sliced) = view.slice(&info) {
            prop_assert_eq!(sliced.to_vec().len(), sliced.len());
            prop_assert!(sliced.as_ndarray::<IxDyn>().is_ok());
            let again = sliced.t().slice(&info);
            prop_assert!(again.is_err() || again.is_ok_and(|view| view.to_vec().len() == view.len()));
        }
        let [a, b, c] = numbers.map(isize::unsigned_abs);
        let _ = (view.index_axis(a, b), view.split_at(a, b), view.permuted_axes(&[a, b]));
        let _ = (view.index_axis(a % 4, b % 6), view.split_at(a % 4, b % 6));
        let _ = (view.reshape(&[a, b, c]), view.broadcast(&[a, b, c]));
        let _ = (view.axis_chunks(a, b).is_ok(), view.axis_chunks(a % 4, c).is_ok());
        if let Ok(indices) = slices(std::str::from_utf8(&text).unwrap(), &shape) {
            prop_assert!(view.slice(indices).is_ok());
        }
    }
}

#[test]
fn steps_of_zero_are_rejected() {
    let array = MappedArray::zeros(&DType::of::<u16>(), &[3]).unwrap();
    let info = [SliceInfoElem::Slice { start: 0, end: None, step: 0 }];
    assert!(array.view::<u16>().unwrap().slice(info).is_err());
}

#[test]
fn large_views_are_read_in_cache_sized_blocks() {
    let mut array = MappedArray::zeros(&foreign("f4").parse().unwrap(), &[100, 300]).unwrap();
    let values: Vec<f32> = (0_u16..30_000).map(f32::from).collect();
    array.view_mut::<f32>().unwrap().copy_from_slice(&values).unwrap();
    let view = array.view::<f32>().unwrap();
    let (mut sizes, mut found) = (BTreeMap::new(), Vec::new());
    let mut blocks = view.t().blocks();
    while let Some(block) = blocks.next() {
        *sizes.entry(block.len()).or_insert(0) += 1;
        found.extend_from_slice(block);
    }
    assert_eq!(sizes, BTreeMap::from([(30_000 % 2048, 1), (2048, 14)]));
    assert_eq!(found, values);
}

#[test]
fn a_step_past_the_axis_leaves_one_element_to_borrow() {
    let array = MappedArray::zeros(&DType::of::<u16>(), &[3]).unwrap();
    for step in [isize::MAX, isize::MIN] {
        let info = [SliceInfoElem::Slice { start: 0, end: None, step }];
        let one = array.view::<u16>().unwrap().slice(info).unwrap();
        assert_eq!((one.shape(), one.to_vec()), ([1].as_slice(), vec![0]));
        assert_eq!(one.as_ndarray::<IxDyn>().unwrap().len(), 1);
        assert_eq!(one.as_slice().unwrap(), [0]);
    }
}

#[test]
fn empty_views_are_borrowed_at_any_offset() {
    let bytes = [0; 9];
    let layout = Layout::new(DType::of::<u64>(), &[3, 0], Order::C, 1).unwrap();
    let view = View::<u64>::from_bytes(&bytes, &layout).unwrap().index_axis(0, 2).unwrap();
    assert_eq!(view.as_bytes(), Some(&[][..]));
    assert_eq!(view.as_slice().unwrap(), [0_u64; 0]);
    assert!(view.as_ndarray::<IxDyn>().unwrap().is_empty());
}

/// A big-endian array of the numbers from 0, in C order.
fn counted(shape: &[usize]) -> (MappedArray<Vec<u8>>, ArrayD<i32>) {
    let count: usize = shape.iter().product();
    let model = ArrayD::from_shape_vec(shape, (0..count as i32).collect()).unwrap();
    let bytes = model.iter().flat_map(|value| value.to_be_bytes()).collect();
    let layout = Layout::new(">i4".parse().unwrap(), shape, Order::C, 0).unwrap();
    (MappedArray::from_parts(bytes, layout).unwrap(), model)
}

#[test]
fn large_arrays_are_copied_in_any_order_of_axes() {
    let slices = [
        npymap::ndarray::s![.., .., ..],
        npymap::ndarray::s![1..;2, ..;-1, 3..;3],
        npymap::ndarray::s![..;-3, 5.., ..;-1],
    ];
    let (array, model) = counted(&[23, 70, 31]);
    let view = array.view::<i32>().unwrap();
    for slice in slices {
        for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let ours = view.slice(slice).unwrap().permuted_axes(&axes).unwrap();
            let theirs = model.slice(slice).permuted_axes(axes);
            assert_eq!(ours.to_vec(), theirs.iter().copied().collect::<Vec<_>>(), "{axes:?}");
            assert_eq!(ours.to_ndarray::<IxDyn>().unwrap(), theirs.into_dyn(), "{axes:?}");
        }
    }
    let (tall, model) = counted(&[600, 9]);
    let turned = tall.view::<i32>().unwrap().t();
    assert_eq!(turned.to_ndarray::<IxDyn>().unwrap(), model.t());
    let repeated = turned.broadcast(&[8, 9, 600]).unwrap();
    assert_eq!(
        repeated.to_ndarray::<IxDyn>().unwrap(),
        model.t().broadcast(IxDyn(&[8, 9, 600])).unwrap()
    );
}

/// The rows of a grid, the last first, without the first column.
fn grid_rows(from: &npymap::MappedArrayMut) -> npymap::view::OuterIter<'_, i16> {
    from.view::<i16>().unwrap().slice(s![..;-1, 1..]).unwrap().outer_iter()
}

#[test]
fn iterators_outlive_the_view_they_were_made_from() {
    let mut grid = MappedArray::zeros(&">i2".parse().unwrap(), &[3, 4]).unwrap();
    let values: Vec<i16> = (0..12).collect();
    grid.view_mut::<i16>().unwrap().copy_from_slice(&values).unwrap();
    let columns: Vec<_> = {
        let view = grid.view::<i16>().unwrap();
        (0..4).map(|column| view.index_axis(1, column).unwrap().into_iter()).collect()
    };
    assert_eq!(
        columns.into_iter().flatten().collect::<Vec<_>>(),
        grid.view::<i16>().unwrap().t().to_vec()
    );
    let mut rows = grid_rows(&grid);
    assert_eq!(rows.next_back().unwrap().to_vec(), [1, 2, 3]);
    assert_eq!((rows.len(), rows.clone().count()), (2, 2));
    assert_eq!(rows.nth(1).unwrap().to_vec(), [5, 6, 7]);
    assert!(rows.next().is_none() && rows.next_back().is_none());
    let chunks = grid.view::<i16>().unwrap().axis_chunks(1, 3).unwrap();
    let shapes: Vec<_> = chunks.rev().map(|chunk| chunk.shape().to_vec()).collect();
    assert_eq!(shapes, [[3, 1], [3, 3]]);
    let blocks = grid.view::<i16>().unwrap().blocks();
    assert_eq!(format!("{blocks:?}"), "Blocks { left: 12, .. }");
    let indexed = grid.view::<i16>().unwrap().t().indexed_iter().nth(4).unwrap();
    assert_eq!(indexed, (IxDyn(&[1, 1]), 5));
}
