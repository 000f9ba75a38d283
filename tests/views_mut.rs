//! Writes through a view go where ndarray's would, and nowhere else: the whole
//! buffer is compared.

use std::fmt::Debug;

use npymap::ndarray::{
    ArrayD, ArrayViewD, Axis, Dimension as _, IxDyn, ShapeBuilder as _, aview1, s,
};
use npymap::{Element, ErrorKind, MappedArray, Value, View, ViewMut, element::InPlace};
use proptest::prelude::*;

use crate::model::{Case, Sample, Spec, Stored, Visitor, mix, specs, visit};
use crate::steps::{Step, is_run, to_standard_layout};
use crate::support::{is_error, rounds};

/// Chooses those steps of a spec that mutable views have; returns them and the
/// positions that they select.
fn plan<T: Sample>(spec: &Spec, stored: &Stored<T>) -> (Vec<Step>, ArrayD<usize>) {
    let mut view = stored.view();
    let mut places = to_standard_layout(&stored.places.view());
    let mut steps = Vec::new();
    for numbers in &spec.steps {
        let Some(step) = Step::choose(numbers, view.shape()) else { continue };
        let writable = !matches!(step, Step::Broadcast(_) | Step::Outer(_));
        let expected = step.of_model(&places, view.itemsize());
        if let (true, Some(expected)) = (writable && !interleaves(&step, &places), expected) {
            view = step.of_view(&view).unwrap();
            places = expected;
            steps.push(step);
        }
    }
    (steps, places)
}

/// Whether the parts of a step interleave in memory.
fn interleaves(step: &Step, places: &ArrayD<usize>) -> bool {
    match step {
        Step::Split { axis, at, .. } => {
            let (low, high) = places.view().split_at(Axis(*axis), *at);
            interleave(&low, &high)
        }
        Step::Chunk { axis, size, .. } => {
            let parts: Vec<_> = places.axis_chunks_iter(Axis(*axis), *size).collect();
            parts.windows(2).any(|pair| interleave(&pair[0], &pair[1]))
        }
        _ => false,
    }
}

/// Whether the positions of two parts overlap, as ranges.
fn interleave(low: &ArrayViewD<'_, usize>, high: &ArrayViewD<'_, usize>) -> bool {
    match (extent(low), extent(high)) {
        (Some(low), Some(high)) => low.1 >= high.0 && high.1 >= low.0,
        _ => false,
    }
}

/// The first and last position of a part.
fn extent(part: &ArrayViewD<'_, usize>) -> Option<(usize, usize)> {
    Some((*part.iter().min()?, *part.iter().max()?))
}

fn view_mut<'a, T: Sample>(
    bytes: &'a mut [u8],
    layout: &npymap::layout::Layout,
    steps: &[Step],
) -> ViewMut<'a, T> {
    let mut view = ViewMut::<T>::from_bytes(bytes, layout).unwrap();
    for step in steps {
        view = step.of_view_mut(view).unwrap().unwrap();
    }
    view
}

/// Writes through a view of a case.
pub(crate) struct Writing<'s>(pub(crate) &'s Spec);

impl Writing<'_> {
    /// Writes through a view and through the model, and compares all bytes.
    fn same<T: Sample>(
        &self,
        case: &Case<T>,
        write: impl FnOnce(ViewMut<'_, T>),
        model: impl Fn(&ArrayD<T>) -> ArrayD<T>,
    ) {
        let mut write = Some(write);
        self.compare(case, &mut |view| write.take().unwrap()(view), &model);
    }

    /// As [`same`](Writing::same), but compiled only once for each type.
    fn compare<T: Sample>(
        &self,
        case: &Case<T>,
        write: &mut dyn FnMut(ViewMut<'_, T>),
        model: &dyn Fn(&ArrayD<T>) -> ArrayD<T>,
    ) {
        let mut stored = Stored::new(case, self.0);
        let (steps, places) = plan(self.0, &stored);
        let mut written = Stored::new(case, self.0);
        let layout = written.layout.clone();
        let view = view_mut::<T>(written.bytes_mut(), &layout, &steps);
        assert_eq!((view.shape(), view.ndim()), (places.shape(), places.ndim()));
        assert_eq!((view.len(), view.is_empty()), (places.len(), places.is_empty()));
        assert!(format!("{view:?}").starts_with("ViewMut"));
        write(view);
        let values = model(&stored.at(&places));
        for (&place, value) in places.iter().zip(&values) {
            stored.write(case, place, value);
        }
        assert_eq!(written.bytes(), stored.bytes());
    }

    /// An element that the array did not have, the same each time.
    fn fresh<T: Sample>(&self, case: &Case<T>, n: usize) -> T {
        let Writing(spec) = self;
        (case.sample)(mix(!spec.seed, n))
    }

    fn check<T: Sample>(&self, case: &Case<T>) {
        let Writing(spec) = self;
        let (_, places) = plan(spec, &Stored::new(case, spec));
        let shape = places.shape();
        let all: Vec<T> = (0..places.len()).map(|n| self.fresh(case, n)).collect();
        let array = ArrayD::from_shape_vec(shape, all.clone()).unwrap();

        self.same(
            case,
            |mut view| view.fill(&self.fresh(case, 1)).unwrap(),
            |old| old.map(|_| self.fresh(case, 1)),
        );
        self.same(case, |mut view| view.copy_from_slice(&all).unwrap(), |_| array.clone());
        self.same(
            case,
            |mut view| {
                for (index, value) in array.indexed_iter() {
                    view.set(index.slice(), value.clone()).unwrap();
                }
                let mut outside = view.shape().to_vec();
                outside.push(0);
                assert!(view.set(outside.as_slice(), self.fresh(case, 0)).is_err());
                outside.pop();
                assert_eq!(
                    view.set(outside.as_slice(), self.fresh(case, 0)).is_err(),
                    view.ndim() > 0 || {
                        view.set(&[][..], array.first().unwrap().clone()).unwrap();
                        false
                    }
                );
            },
            |_| array.clone(),
        );
        // Iteration is in memory order, so the model sorts.
        let mut order: Vec<usize> = places.iter().copied().collect();
        order.sort_unstable();
        let mut calls = 0;
        self.same(
            case,
            |mut view| {
                view.map_inplace(|_| {
                    calls += 1;
                    self.fresh(case, calls - 1)
                })
                .unwrap();
            },
            |_| places.map(|place| self.fresh(case, order.binary_search(place).unwrap())),
        );
        let mut seen = Vec::new();
        self.same(
            case,
            |mut view| {
                view.map_inplace(|old| {
                    seen.push(old.clone());
                    old
                })
                .unwrap();
            },
            Clone::clone,
        );
        // Elements of zero bytes are not iterated over.
        let has_bytes = case.dtype.itemsize() > 0;
        assert_eq!(seen.len(), if has_bytes { places.len() } else { 0 });
        self.copies(case, &array);
        self.assigns(case, &array);
    }

    fn copies<T: Sample>(&self, case: &Case<T>, array: &ArrayD<T>) {
        let sample = (case.sample)(3);
        let mut fortran = ArrayD::from_elem(IxDyn(array.shape()).f(), sample.clone());
        fortran.assign(array);
        let mut reversed = array.clone();
        (0..array.ndim()).for_each(|axis| reversed.invert_axis(Axis(axis)));
        self.same(case, |mut view| view.copy_from(array.view()).unwrap(), |_| array.clone());
        self.same(case, |mut view| view.copy_from(fortran.view()).unwrap(), |_| array.clone());
        self.same(case, |mut view| view.copy_from(reversed.view()).unwrap(), |_| reversed.clone());
        self.same(
            case,
            |mut view| {
                let long = vec![sample.clone(); view.len() + 1];
                let error = view.copy_from_slice(&long).unwrap_err();
                assert!(is_error(
                    &error,
                    ErrorKind::ShapeMismatch,
                    &format!("expected {} value", view.len())
                ));
                let other = ArrayD::from_elem(IxDyn(&vec![1; view.ndim() + 1]), sample.clone());
                let error = view.copy_from(other.view()).unwrap_err();
                assert!(is_error(&error, ErrorKind::ShapeMismatch, "cannot be broadcast to"));
            },
            Clone::clone,
        );
    }

    /// Assigns a view of the same type whose axes are broadcast.
    fn assigns<T: Sample>(&self, case: &Case<T>, array: &ArrayD<T>) {
        let shape: Vec<usize> = array
            .shape()
            .iter()
            .enumerate()
            .map(|(axis, &dim)| if (self.0.seed >> axis) & 1 == 1 { 1 } else { dim })
            .skip((self.0.seed >> 6) as usize % 2)
            .collect();
        let spec = Spec { shape, seed: self.0.seed ^ 5, lead: self.0.lead + 1, ..self.0.clone() };
        let from = Stored::new(case, &spec);
        let view: View<'_, T> = from.view();
        let values = from.at(&from.places);
        self.same(
            case,
            |mut to| to.assign(&view).unwrap(),
            |_| values.broadcast(array.shape()).unwrap().to_owned(),
        );
    }

    /// Splits an axis, if its parts do not interleave, and writes to each part.
    fn parts<T: Sample>(&self, case: &Case<T>) {
        let Writing(spec) = self;
        let (_, places) = plan(spec, &Stored::new(case, spec));
        for axis in 0..places.ndim() {
            let dim = places.shape()[axis];
            let at = spec.seed as usize % (dim + 1);
            let values = [(case.sample)(11), (case.sample)(12)];
            let split = Step::Split { axis, at, high: false };
            let refused = interleaves(&split, &places);
            self.same(
                case,
                |view| match view.split_at(axis, at) {
                    Ok((mut low, mut high)) => {
                        assert!(!refused);
                        assert_eq!((low.shape()[axis], high.shape()[axis]), (at, dim - at));
                        low.fill(&values[0]).unwrap();
                        high.fill(&values[1]).unwrap();
                    }
                    Err(error) => {
                        assert!(
                            refused
                                && is_error(
                                    &error,
                                    ErrorKind::ShapeMismatch,
                                    "interleave in memory"
                                )
                        );
                    }
                },
                |old| {
                    let mut new = old.clone();
                    if !refused {
                        let (mut low, mut high) = new.view_mut().split_at(Axis(axis), at);
                        low.fill(values[0].clone());
                        high.fill(values[1].clone());
                    }
                    new
                },
            );
            let size = 1 + spec.seed as usize % 3;
            let chunk = Step::Chunk { axis, size, nth: 0 };
            let refused = interleaves(&chunk, &places);
            self.same(
                case,
                |view| match view.axis_chunks(axis, size) {
                    Ok(parts) => {
                        assert!(!refused);
                        for (number, mut part) in parts.into_iter().enumerate() {
                            part.fill(&(case.sample)(number as u64)).unwrap();
                        }
                    }
                    Err(error) => {
                        assert!(
                            refused
                                && is_error(
                                    &error,
                                    ErrorKind::ShapeMismatch,
                                    "interleave in memory"
                                )
                        );
                    }
                },
                |old| {
                    let mut new = old.clone();
                    let parts = new.axis_chunks_iter_mut(Axis(axis), size);
                    for (number, mut part) in parts.enumerate().filter(|_| !refused) {
                        part.fill((case.sample)(number as u64));
                    }
                    new
                },
            );
        }
    }
}

impl Visitor for Writing<'_> {
    fn decoded<T: Sample>(&mut self, case: &Case<T>) {
        self.check(case);
        if case.dtype.itemsize() > 0 {
            self.parts(case);
        }
    }

    fn in_place<T: Sample + InPlace>(&mut self, case: &Case<T>) {
        self.decoded(case);
        let stored = Stored::new(case, self.0);
        let (_, places) = plan(self.0, &stored);
        let exact = size_of::<T>() == 0 || (case.exact)(stored.big);
        let is_aligned = places.is_empty()
            || size_of::<T>() == 0
            || stored.layout.offset() % align_of::<T>() == 0;
        let value = (case.sample)(21);
        let lent = exact && is_aligned;
        let run = lent && (size_of::<T>() == 0 || is_run(&places));
        self.same(
            case,
            |view| match view.into_slice() {
                Ok(slice) => {
                    assert!(run);
                    slice.fill(value);
                }
                Err(error) => assert!(!run, "{error}"),
            },
            |old| if run { old.map(|_| value) } else { old.clone() },
        );
        self.same(
            case,
            |view| match view.into_ndarray::<IxDyn>() {
                Ok(mut array) => {
                    assert!(lent);
                    assert_eq!(array, stored.at(&places));
                    array.fill(value);
                }
                Err(error) => assert!(!lent, "{error}"),
            },
            |old| if lent { old.map(|_| value) } else { old.clone() },
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(1500), failure_persistence: None, ..Default::default() })]

    #[test]
    fn views_write_to_the_same_elements_as_ndarray(spec in specs()) {
        visit(spec.case, &mut Writing(&spec));
    }
}

#[test]
fn mutable_rows_equal_immutable_ones() {
    let mut grid = MappedArray::zeros(&">i2".parse().unwrap(), &[4, 3]).unwrap();
    let values: Vec<i16> = (0..12).collect();
    grid.view_mut::<i16>().unwrap().copy_from_slice(&values).unwrap();
    let expected: Vec<Vec<i16>> =
        grid.view::<i16>().unwrap().outer_iter().map(|row| row.to_vec()).collect();
    assert_eq!(rows(grid.view_mut().unwrap()), expected);
    let mut reversed = rows(grid.view_mut::<i16>().unwrap().slice(s![..;-1, ..]).unwrap());
    reversed.reverse();
    assert_eq!(reversed, expected);
    let view = grid.view_mut::<i16>().unwrap();
    assert!(view.permuted_axes(&[1, 0]).unwrap().outer_iter().is_err());
    let mut single = MappedArray::zeros(&">i2".parse().unwrap(), &[]).unwrap();
    assert_eq!(single.view_mut::<i16>().unwrap().outer_iter().unwrap().len(), 0);
}

#[test]
fn mutable_rows_are_taken_from_both_ends() {
    let mut grid = MappedArray::zeros(&">i2".parse().unwrap(), &[6, 2]).unwrap();
    let mut rows = grid.view_mut::<i16>().unwrap().outer_iter().unwrap();
    rows.next_back().unwrap().fill(&5).unwrap();
    rows.nth(1).unwrap().fill(&1).unwrap();
    rows.next().unwrap().fill(&2).unwrap();
    assert_eq!((rows.len(), rows.size_hint()), (2, (2, Some(2))));
    assert_eq!(format!("{rows:?}"), "OuterIterMut { left: 2, .. }");
    rows.last().unwrap().fill(&4).unwrap();
    assert_eq!(grid.view::<i16>().unwrap().to_vec(), [0, 0, 1, 1, 2, 2, 0, 0, 4, 4, 5, 5]);
    let mut rows = grid.view_mut::<i16>().unwrap().outer_iter().unwrap();
    assert!(rows.nth(6).is_none() && rows.next().is_none() && rows.next_back().is_none());
    assert_eq!(grid.view_mut::<i16>().unwrap().outer_iter().unwrap().count(), 6);
}

#[test]
fn bytes_are_written_in_memory_order() {
    let dtype = "[('id', '>u2'), ('flag', '|b1')]".parse().unwrap();
    let mut array = MappedArray::zeros(&dtype, &[3]).unwrap();
    array.as_bytes_mut().unwrap()[3..5].copy_from_slice(&[1, 2]);
    let ids = array.dyn_view().unwrap().field("id").unwrap().view::<u16>().unwrap().to_vec();
    assert_eq!(ids, [0, 0x0102, 0]);
    assert_eq!(array.as_bytes().unwrap(), [0, 0, 0, 1, 2, 0, 0, 0, 0]);
    let mut empty = MappedArray::zeros(&dtype, &[0, 2]).unwrap();
    assert!(empty.as_bytes_mut().unwrap().is_empty());
}

/// Stores values into three elements `old`, one of which does not fit.
fn store_unfit<T: Element + Clone + PartialEq + Debug>(dtype: &str, old: &T, new: &T, unfit: &T) {
    let mut array = MappedArray::zeros(&dtype.parse().unwrap(), &[3]).unwrap();
    let mut view = array.view_mut::<T>().unwrap();
    view.fill(old).unwrap();
    view.fill(unfit).unwrap_err();
    let error = view.set(1, unfit.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    assert_eq!(view.as_view().to_vec(), [old, old, old].map(Clone::clone));
    let values = [new, unfit, new].map(Clone::clone);
    view.copy_from_slice(&values).unwrap_err();
    assert_eq!(view.as_view().to_vec(), [new, old, old].map(Clone::clone));
    view.reborrow().slice(s![..;-1]).unwrap().copy_from(aview1(&values)).unwrap_err();
    assert_eq!(view.as_view().to_vec(), [new, old, new].map(Clone::clone));
    view.map_inplace(|_| unfit.clone()).unwrap_err();
    assert_eq!(view.as_view().to_vec(), [new, old, new].map(Clone::clone));
}

#[test]
fn an_element_that_does_not_fit_leaves_the_old_one() {
    let record = |id, flag| Value::Record(vec![Value::Int(id), Value::Int(flag)]);
    let dtype = "[('id', '<i4'), ('flag', 'i1')]";
    store_unfit(dtype, &record(7, 8), &record(1, 2), &record(77, 1000));
    let names = |first: &str, last: &str| [first.to_owned(), last.to_owned()];
    let dtype = "[('names', '<U20', (2,))]";
    let unfit = "x".repeat(21);
    store_unfit(dtype, &(names("a", "b"),), &(names("c", "d"),), &(names("e", &unfit),));
}

fn rows(view: ViewMut<'_, i16>) -> Vec<Vec<i16>> {
    view.outer_iter().unwrap().map(|row| row.as_view().to_vec()).collect()
}
