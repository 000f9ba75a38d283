//! Parallel iterators yield what sequential ones do.

use std::ops::Range;

use npymap::element::{Casting, Real};
use npymap::layout::Layout;
use npymap::ndarray::{ArrayD, s};
use npymap::rayon::iter::plumbing::{Producer, ProducerCallback};
use npymap::rayon::prelude::*;
use npymap::rayon::{self, ThreadPoolBuilder};
use npymap::{DType, Element, ErrorKind, MappedArray, Order, View};

use crate::model::Sample;
use crate::support::{is_error, quick};

/// Checks the parallel iterators over a view with these elements in C order.
pub(crate) fn iterates<T: Sample>(view: &View<'_, T>, all: &[T], seed: u64) {
    // Splits into about eight parts, or into single elements.
    let most = if all.len() < 64 { 1 } else { all.len() / 8 };
    let at = seed as usize % (all.len() + 1);
    assert_eq!((view.par_iter().len(), view.par_iter().opt_len()), (all.len(), Some(all.len())));
    distribute(view.par_iter(), at, most, &|i, value| assert_eq!(value, all[i]));
    distribute(view.clone().into_par_iter(), at, most, &|i, value| assert_eq!(value, all[i]));

    let rows: Vec<_> = view.outer_iter().map(|row| row.to_vec()).collect();
    let parallel = view.outer_iter().into_par_iter();
    assert_eq!(parallel.len(), rows.len());
    distribute(parallel, at % (rows.len() + 1), 1, &|i, row| assert_eq!(row.to_vec(), rows[i]));
    let axis = seed as usize % view.ndim().max(1);
    let Ok(chunks) = view.axis_chunks(axis, 2) else { return };
    let parts: Vec<_> =
        chunks.clone().map(|chunk| (chunk.shape().to_vec(), chunk.to_vec())).collect();
    let parallel = chunks.into_par_iter();
    assert_eq!(parallel.len(), parts.len());
    distribute(parallel, at % (parts.len() + 1), 1, &|i, chunk| {
        assert_eq!((chunk.shape().to_vec(), chunk.to_vec()), parts[i]);
    });
}

/// Splits an iterator at `at`, and then in halves of at most `most` items, which threads
/// pass to `check` with their positions, in both directions.
fn distribute<I: IndexedParallelIterator>(
    iter: I,
    at: usize,
    most: usize,
    check: &(impl Fn(usize, I::Item) + Sync),
) {
    let len = iter.len();
    iter.with_producer(Distribute { len, at, most, check });
}

/// What [`distribute`] does with the producer of an iterator.
struct Distribute<'c, F> {
    len: usize,
    at: usize,
    most: usize,
    check: &'c F,
}

impl<T, F: Fn(usize, T) + Sync> ProducerCallback<T> for Distribute<'_, F> {
    type Output = ();

    fn callback<P: Producer<Item = T>>(self, producer: P) {
        let Distribute { len, at, most, check } = self;
        let (before, after) = Box::new(Checked { producer, check }).split(at);
        both((before, 0..at), (after, at..len), most);
    }
}

/// A part of a parallel iterator. Its type is erased, so that the code that threads
/// share is compiled once and not for each type of element.
trait Part: Send {
    fn split<'p>(self: Box<Self>, index: usize) -> (Box<dyn Part + 'p>, Box<dyn Part + 'p>)
    where
        Self: 'p;

    /// Checks that the items are those at these positions.
    fn check(self: Box<Self>, positions: Range<usize>);
}

struct Checked<'c, P, F> {
    producer: P,
    check: &'c F,
}

impl<P: Producer, F: Fn(usize, P::Item) + Sync> Part for Checked<'_, P, F> {
    fn split<'p>(self: Box<Self>, index: usize) -> (Box<dyn Part + 'p>, Box<dyn Part + 'p>)
    where
        Self: 'p,
    {
        let Checked { producer, check } = *self;
        let (low, high) = producer.split_at(index);
        (Box::new(Checked { producer: low, check }), Box::new(Checked { producer: high, check }))
    }

    fn check(self: Box<Self>, positions: Range<usize>) {
        let items = self.producer.into_iter();
        assert_eq!(items.len(), positions.len());
        let pairs: &mut dyn Iterator<Item = (usize, P::Item)> = if positions.start % 2 == 0 {
            &mut positions.clone().zip(items)
        } else {
            &mut positions.clone().zip(items).rev()
        };
        let mut count = 0;
        for (position, item) in pairs {
            (self.check)(position, item);
            count += 1;
        }
        assert_eq!(count, positions.len());
    }
}

/// A part with items at these positions.
type Placed<'p> = (Box<dyn Part + 'p>, Range<usize>);

/// Checks two parts, perhaps on two threads.
fn both(low: Placed<'_>, high: Placed<'_>, most: usize) {
    rayon::join(|| halves(low, most), || halves(high, most));
}

/// Checks a part, one half of it on another thread if it has more than `most` items.
fn halves((part, items): Placed<'_>, most: usize) {
    if items.len() <= most {
        return part.check(items);
    }
    let middle = items.start + items.len() / 2;
    let (low, high) = part.split(items.len() / 2);
    both((low, items.start..middle), (high, middle..items.end), most);
}

#[test]
fn any_number_of_threads_gives_the_same_elements_in_the_same_order() {
    let mut array = MappedArray::zeros(&">f4".parse().unwrap(), &[100, 70]).unwrap();
    let values: Vec<f32> = (0_u16..7000).map(f32::from).collect();
    array.view_mut::<f32>().unwrap().copy_from_slice(&values).unwrap();
    let view = array.view::<f32>().unwrap().t();
    for threads in [1, 2, 3, 8] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let parallel: Vec<f32> = pool.install(|| view.par_iter().map(|x| x + 1.0).collect());
        assert!(parallel.into_iter().eq(view.iter().map(|x| x + 1.0)));
    }
}

#[test]
fn mutable_rows_and_chunks_are_written_in_parallel() {
    for order in ["<i4", ">i4"] {
        let mut array = MappedArray::zeros(&order.parse().unwrap(), &[50, 3]).unwrap();
        let rows = array.view_mut::<i32>().unwrap().outer_iter().unwrap().into_par_iter();
        assert_eq!(rows.len(), 50);
        let numbered = rows.with_max_len(1).zip(0..50_i32);
        numbered.for_each(|(mut row, number)| row.fill(&number).unwrap());
        let expected: Vec<i32> = (0..150).map(|i| i / 3).collect();
        assert_eq!(array.view::<i32>().unwrap().to_vec(), expected);

        let chunks = array.view_mut::<i32>().unwrap().axis_chunks(0, 7).unwrap();
        chunks.into_par_iter().for_each(|mut chunk| chunk.map_inplace(|x| -x).unwrap());
        assert!(array.view::<i32>().unwrap().iter().eq(expected.iter().map(|x| -x)));
    }
}

#[test]
fn views_without_axes_or_elements_are_iterated_in_parallel() {
    let single = MappedArray::zeros(&DType::of::<u8>(), &[]).unwrap();
    assert_eq!(counts(&single.view::<u8>().unwrap()), (1, 0));
    let empty = MappedArray::zeros(&DType::of::<u8>(), &[3, 0]).unwrap();
    assert_eq!(counts(&empty.view::<u8>().unwrap()), (0, 3));
    assert_eq!(counts(&empty.view::<u8>().unwrap().t()), (0, 0));
}

/// The numbers of elements and of rows.
fn counts<T: Element + Send>(view: &View<'_, T>) -> (usize, usize) {
    (view.par_iter().count(), view.outer_iter().into_par_iter().count())
}

/// Calls `test` with pools of several sizes.
fn with_threads(test: impl Fn() + Sync) {
    for &threads in if quick() { &[3][..] } else { &[1, 3] } {
        ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&test);
    }
}

/// Every second of the views that a 3-d array has in common layouts, from the first or the
/// second one on: the others take as long, and are those of another array.
fn layouts<'a, T: Element>(view: &View<'a, T>, first: usize) -> Vec<View<'a, T>> {
    let &[planes, rows, columns] = view.shape() else { panic!("three axes") };
    let layouts = [
        view.clone(),
        view.t(),
        view.permuted_axes(&[1, 0, 2]).unwrap(),
        view.slice(s![..;-1, .., ..;-1]).unwrap(),
        view.slice(s![.., 1.., ..;3]).unwrap(),
        view.slice(s![.., .., ..2]).unwrap(),
        view.slice(s![.., .., 1..]).unwrap(),
        view.slice(s![0, ..3, ..]).unwrap().broadcast(&[9, 3, columns]).unwrap(),
        view.slice(s![.., .., ..1]).unwrap().broadcast(&[planes, rows, 50]).unwrap(),
        view.slice(s![..0, .., ..]).unwrap(),
        view.slice(s![1, 2, 3]).unwrap(),
    ];
    layouts.into_iter().skip(first).step_by(if quick() { 3 } else { 2 }).collect()
}

/// Sums and statistics, as text that differs if any bit does.
fn totals<T: Real + std::fmt::Debug>(view: &View<'_, T>, parallel: bool) -> String {
    let (sum, stats) =
        if parallel { (view.par_sum(), view.par_stats()) } else { (view.sum(), view.stats()) };
    format!("{:x} {stats:?}", sum.to_bits())
}

/// An array of numbers of many magnitudes and both signs, cast to a dtype.
fn numbers(dtype: &DType, shape: &[usize], offset: usize) -> MappedArray<Vec<u8>> {
    let mut state = 1_u64;
    let random = std::iter::repeat_with(|| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as f64 / 1e3 * 2_f64.powi((state >> 59) as i32 - 16) - 4e3
    });
    let layout = Layout::new(DType::of::<f64>(), shape, Order::C, 0).unwrap();
    let mut wide = MappedArray::from_parts(vec![0; layout.nbytes()], layout).unwrap();
    let values: Vec<f64> = random.take(wide.len()).collect();
    wide.view_mut::<f64>().unwrap().copy_from_slice(&values).unwrap();
    let layout = Layout::new(dtype.clone(), shape, Order::C, offset).unwrap();
    let mut array =
        MappedArray::from_parts(vec![0; layout.offset() + layout.nbytes()], layout).unwrap();
    let mut view = array.dyn_view_mut().unwrap();
    view.assign_as(&wide.dyn_view().unwrap(), Casting::Unsafe).unwrap();
    array
}

fn sums_and_statistics_are_the_same<T: Real + std::fmt::Debug>(dtype: &str, columns: usize) {
    // Only numbers that are stored as they are in memory can be aligned, and borrowed.
    let aligned = dtype.starts_with('<').then_some(([2, 4, columns], 0));
    for (shape, offset) in [([3, 7, 33], 0), ([2, 4, columns], 1)].into_iter().chain(aligned) {
        let array = numbers(&dtype.parse().unwrap(), &shape, offset);
        for view in layouts(&array.view::<T>().unwrap(), offset) {
            let expected = totals(&view, false);
            with_threads(|| assert_eq!(totals(&view, true), expected, "{dtype}: {view:?}"));
        }
    }
}

#[test]
fn sums_and_statistics_are_the_same_for_any_number_of_threads() {
    // The last axis makes most views large enough for several threads.
    sums_and_statistics_are_the_same::<f32>("<f4", 17_001);
    if quick() {
        return;
    }
    sums_and_statistics_are_the_same::<f64>(">f8", 9_001);
    sums_and_statistics_are_the_same::<i8>("|i1", 66_001);
    sums_and_statistics_are_the_same::<i64>(">i8", 9_001);
    sums_and_statistics_are_the_same::<bool>("|b1", 99);
}

/// The bits of the sums along an axis.
fn axis_sums<T: Real>(view: &View<'_, T>, axis: usize, par: bool) -> ArrayD<u64> {
    let sums = if par { view.par_sum_axis(axis) } else { view.sum_axis(axis) };
    sums.unwrap().mapv(f64::to_bits)
}

fn axis_sums_are_the_same<T: Real + PartialEq>(dtype: &str, shape: [usize; 3], first: usize) {
    let array = numbers(&dtype.parse().unwrap(), &shape, 1);
    for view in layouts(&array.view::<T>().unwrap(), first) {
        for axis in 0..view.ndim() {
            let expected = axis_sums(&view, axis, false);
            with_threads(|| {
                assert!(axis_sums(&view, axis, true) == expected, "{view:?} {axis}");
            });
        }
    }
}

#[test]
fn totals_along_an_axis_are_the_same_for_any_number_of_threads() {
    // Few long lines are folded in parts, many lines are distributed.
    axis_sums_are_the_same::<f32>("<f4", [2, 7, 5], 0);
    // Without the first of the last axis, they are just large enough for threads.
    axis_sums_are_the_same::<f64>(">f8", [3, 4, 5_600], 1);
    if quick() {
        return;
    }
    axis_sums_are_the_same::<i64>("<i8", [4_501, 3, 6], 0);
    axis_sums_are_the_same::<f64>(">f8", [5, 1_701, 9], 1);
}

#[test]
fn few_long_lines_are_folded_in_parts() {
    use npymap::ndarray::{Axis, Ix2};

    let shapes = [([360_001, 3], 0), ([3, 360_001], 1)];
    for (shape, axis) in shapes.into_iter().take(if quick() { 1 } else { 2 }) {
        let array = numbers(&">f8".parse().unwrap(), &shape, 0);
        let view = array.view::<f64>().unwrap();
        let expected = axis_sums(&view, axis, false);
        with_threads(|| assert!(axis_sums(&view, axis, true) == expected, "{axis}"));
        let model = view.to_ndarray::<Ix2>().unwrap();
        let error = view.sum_axis(axis).unwrap() - model.sum_axis(Axis(axis)).into_dyn();
        let scale = model.mapv(f64::abs).sum_axis(Axis(axis)).into_dyn();
        assert!((error / scale).iter().all(|error| error.abs() < 1e-12));
    }
}

#[test]
fn a_large_array_is_summed_in_several_batches() {
    // Blocks that are decoded are shorter, so fewer of them are several batches.
    let lens = [("<f4", 4_500_001), (">f4", 1_100_001)];
    for (dtype, len) in lens.into_iter().take(if quick() { 1 } else { 2 }) {
        let array = numbers(&dtype.parse().unwrap(), &[len], 0);
        let view = array.view::<f32>().unwrap();
        let expected = totals(&view, false);
        with_threads(|| assert_eq!(totals(&view, true), expected));
    }
}

#[test]
fn parallel_copies_equal_sequential_ones() {
    for (first, dtype) in ["<f4", ">f4"].into_iter().take(if quick() { 1 } else { 2 }).enumerate() {
        let array = numbers(&dtype.parse().unwrap(), &[5, 70, 801], 1);
        for view in layouts(&array.view::<f32>().unwrap(), first) {
            let expected = view.to_vec();
            with_threads(|| {
                let mut out = vec![-1.0; expected.len()];
                view.par_copy_to_slice(&mut out).unwrap();
                assert_eq!(out, expected, "{view:?}");
            });
            let error = view.par_copy_to_slice(&mut vec![0.0; expected.len() + 1]).unwrap_err();
            assert!(is_error(&error, ErrorKind::ShapeMismatch, "value"));
        }
    }
}

#[test]
fn casts_that_are_refused_store_nothing_and_values_that_change_are_errors() {
    let mut from = MappedArray::zeros(&DType::of::<f64>(), &[1000, 300]).unwrap();
    from.view_mut::<f64>().unwrap().set([700, 1], 0.5).unwrap();
    from.view_mut::<f64>().unwrap().set([999, 1], 0.25).unwrap();
    let mut to = MappedArray::zeros(&DType::of::<i64>(), &[1000, 300]).unwrap();
    to.view_mut::<i64>().unwrap().fill(&7).unwrap();
    let mut view = to.dyn_view_mut().unwrap();
    let error = view.assign_as(&from.dyn_view().unwrap(), Casting::SameKind).unwrap_err();
    assert!(is_error(&error, ErrorKind::DTypeMismatch, "i8"), "{error}");
    let error = view.assign_as(&from.dyn_view().unwrap().t(), Casting::Unsafe).unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, "(300, 1000)"), "{error}");
    assert!(view.as_view().view::<i64>().unwrap().iter().all(|x| x == 7));
    let error = view.assign_as(&from.dyn_view().unwrap(), Casting::SameValue).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidValue, "0.5"), "{error}");

    let values = from.view::<f64>().unwrap();
    with_threads(|| {
        let cast = values.par_to_ndarray_as::<i64, npymap::ndarray::Ix2>(Casting::SameValue);
        assert!(is_error(&cast.unwrap_err(), ErrorKind::InvalidValue, "0.5"));
    });
}

#[test]
fn arrays_of_another_type_are_made_in_parallel() {
    use npymap::ndarray::{Ix2, IxDyn};

    for (first, dtype) in ["<i2", ">i2"].into_iter().take(if quick() { 1 } else { 2 }).enumerate() {
        let array = numbers(&dtype.parse().unwrap(), &[5, 70, 801], 1);
        for view in layouts(&array.view::<i16>().unwrap(), first) {
            let expected = view.to_ndarray_as::<f32, IxDyn>(Casting::Safe).unwrap();
            with_threads(|| {
                let found = view.par_to_ndarray_as::<f32, IxDyn>(Casting::Safe).unwrap();
                assert_eq!(found, expected, "{view:?}");
            });
        }
        let view = array.view::<i16>().unwrap();
        let error = view.par_to_ndarray_as::<f32, Ix2>(Casting::Safe).unwrap_err();
        assert!(is_error(&error, ErrorKind::ShapeMismatch, "3 axes"), "{error}");
        let error = view.par_to_ndarray_as::<u8, IxDyn>(Casting::Safe).unwrap_err();
        assert!(is_error(&error, ErrorKind::DTypeMismatch, "u1"), "{error}");
        let expected = view.to_ndarray_as::<bool, IxDyn>(Casting::Unsafe).unwrap();
        with_threads(|| {
            let found = view.par_to_ndarray_as::<bool, IxDyn>(Casting::Unsafe).unwrap();
            assert_eq!(found, expected);
        });
    }
}
