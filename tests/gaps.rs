//! Writing elements keeps their bytes that belong to no field, or to fields that
//! the value does not have.

use npymap::element::Casting;
use npymap::{MappedArray, MappedArrayMut};

const FIELDS: &str = "[('a', '<i2'), ('b', '<i2'), ('c', '<i2')]";

fn threes(rows: usize, first: i16) -> MappedArrayMut {
    let mut array = MappedArray::anonymous(&FIELDS.parse().unwrap(), &[rows]).unwrap();
    let row = (first, first + 1, first + 2);
    array.view_mut::<(i16, i16, i16)>().unwrap().fill(&row).unwrap();
    array
}

fn is_all<T: npymap::Element + PartialEq>(array: &MappedArrayMut, expected: &T) -> bool {
    array.view::<T>().unwrap().iter().all(|row| row == *expected)
}

#[test]
fn assigning_fields_keeps_the_others() {
    for rows in [1, 7, 200_000] {
        let from = threes(rows, 10);
        let fields = from.dyn_view().unwrap().fields(&["a", "c"]).unwrap();
        let mut to = threes(rows, 1);
        let mut view = to.dyn_view_mut().unwrap().into_fields(&["a", "c"]).unwrap();
        view.assign_as(&fields, Casting::No).unwrap();
        assert!(is_all(&to, &(10_i16, 2_i16, 12_i16)), "{rows}");
        let mut view = to.dyn_view_mut().unwrap().into_fields(&["c", "a"]).unwrap();
        view.assign_as(&fields, Casting::Safe).unwrap();
        assert!(is_all(&to, &(12_i16, 2_i16, 10_i16)), "by position: {rows}");
    }
}

#[cfg(feature = "rayon")]
#[test]
fn assigning_fields_in_parallel_keeps_the_others() {
    let from = threes(300_000, 10);
    let fields = from.dyn_view().unwrap().fields(&["a", "c"]).unwrap();
    let mut to = threes(300_000, 1);
    let mut view = to.dyn_view_mut().unwrap().into_fields(&["a", "c"]).unwrap();
    view.par_assign_as(&fields, Casting::No).unwrap();
    assert!(is_all(&to, &(10_i16, 2_i16, 12_i16)));
}
