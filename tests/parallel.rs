//! Parallel iterators yield what sequential ones do.

use npymap::rayon::ThreadPoolBuilder;
use npymap::rayon::prelude::*;
use npymap::{DType, Element, MappedArray, View};

use crate::model::Sample;

/// Checks the parallel iterators over a view with these elements in C order.
pub(crate) fn iterates<T: Sample>(view: &View<'_, T>, all: &[T], seed: u64) {
    // Splits into up to eight parts, or as many as there are elements.
    let most = if all.len() < 64 { 1 } else { all.len() / 8 };
    assert_eq!(view.par_iter().len(), all.len());
    assert_eq!(view.par_iter().with_max_len(most).collect::<Vec<_>>(), all);
    assert!(
        view.clone().into_par_iter().with_max_len(most).rev().eq(all.par_iter().rev().cloned())
    );
    let from = seed as usize % (all.len() + 1);
    let pairs = view.par_iter().skip(from).enumerate().with_max_len(most);
    assert!(pairs.all(|(i, value)| value == all[from + i]));

    let rows: Vec<_> = view.outer_iter().map(|row| row.to_vec()).collect();
    let parallel = view.outer_iter().into_par_iter().with_max_len(1).map(|row| row.to_vec());
    assert!(parallel.eq(rows));
    let axis = seed as usize % view.ndim().max(1);
    let Ok(chunks) = view.axis_chunks(axis, 2) else { return };
    let parts: Vec<_> =
        chunks.clone().map(|chunk| (chunk.shape().to_vec(), chunk.to_vec())).collect();
    let parallel = chunks.into_par_iter().with_max_len(1).rev();
    let parallel = parallel.map(|chunk| (chunk.shape().to_vec(), chunk.to_vec()));
    assert!(parallel.rev().eq(parts));
}

#[test]
fn any_number_of_threads_gives_the_same_elements_in_the_same_order() {
    let mut array = MappedArray::anonymous(&">f4".parse().unwrap(), &[100, 70]).unwrap();
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
        let mut array = MappedArray::anonymous(&order.parse().unwrap(), &[50, 3]).unwrap();
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
    let single = MappedArray::anonymous(&DType::of::<u8>(), &[]).unwrap();
    assert_eq!(counts(&single.view::<u8>().unwrap()), (1, 0));
    let empty = MappedArray::anonymous(&DType::of::<u8>(), &[3, 0]).unwrap();
    assert_eq!(counts(&empty.view::<u8>().unwrap()), (0, 3));
    assert_eq!(counts(&empty.view::<u8>().unwrap().t()), (0, 0));
}

/// The numbers of elements and of rows.
fn counts<T: Element + Send>(view: &View<'_, T>) -> (usize, usize) {
    (view.par_iter().count(), view.outer_iter().into_par_iter().count())
}
