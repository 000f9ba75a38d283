//! Writing elements keeps their bytes that belong to no field, or to fields that
//! the value does not have.

use std::fs::{self, File};
use std::path::Path;

use npymap::element::Casting;
use npymap::ndarray::s;
use npymap::view::DynView;
use npymap::{MappedArray, MappedArrayMut, OpenOptions, Value, array::RawSpec};

use crate::support::{directory, file, map_mut_file, quick};

const FIELDS: &str = "[('a', '<i2'), ('b', '<i2'), ('c', '<i2')]";

/// Bytes 0, 3, 6 and 7 belong to no field, and the field `b` has a gap itself.
const GAPS: &str = "{'names': ['a', 'b'], 'formats': ['<u2', ([('', '|V1'), ('x', '|u1')], (1,))], 'offsets': [1, 4], 'itemsize': 8}";

/// What elements of 9s become when `a` and `x` are set to 1 and 2.
const WRITTEN: [u8; 8] = [9, 1, 0, 9, 9, 2, 9, 9];

/// More elements than a block of writes has, in selections of more writes than are
/// made instead of stores.
const LEN: usize = 140_000;

fn threes(rows: usize, first: i16) -> MappedArrayMut {
    let mut array = MappedArray::zeros(&FIELDS.parse().unwrap(), &[rows]).unwrap();
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
        let some = fields.dtype().clone();
        let mut view = to.dyn_view_mut().unwrap().view_as(&some).unwrap();
        view.assign_as(&fields, Casting::No).unwrap();
        assert!(is_all(&to, &(10_i16, 2_i16, 12_i16)), "{rows}");
        let turned = to.dyn_view().unwrap().fields(&["c", "a"]).unwrap().dtype().clone();
        let mut view = to.dyn_view_mut().unwrap().view_as(&turned).unwrap();
        view.assign_as(&fields, Casting::Safe).unwrap();
        assert!(is_all(&to, &(12_i16, 2_i16, 10_i16)), "by position: {rows}");
    }
}

#[cfg(feature = "derive")]
#[test]
fn a_subset_keeps_the_other_fields_of_a_file() {
    #[derive(npymap::Record)]
    #[record(subset)]
    struct Subset {
        c: i16,
    }
    let directory = directory();
    for fill in [true, false] {
        let rows = threes(LEN, 1);
        let rows = crate::support::npy(FIELDS, &[LEN], npymap::Order::C, rows.as_bytes().unwrap());
        let mut array = crate::support::open_mut(file(&directory, "a.npy", &rows)).unwrap();
        if fill {
            array.write_fill_slice([], None, &Subset { c: 5 }).unwrap();
        } else {
            let rows: Vec<Subset> = (0..LEN).map(|_| Subset { c: 5 }).collect();
            array.element_writer().unwrap().write(&[0], &rows).unwrap();
        }
        assert!(is_all(&array, &(1_i16, 2_i16, 5_i16)));
        array.element_writer().unwrap().write(&[1], &[Subset { c: 6 }]).unwrap();
        let rows = array.view::<(i16, i16, i16)>().unwrap().slice(s![..3]).unwrap().to_vec();
        assert_eq!(rows, [(1, 2, 5), (1, 2, 6), (1, 2, 5)]);
    }
}

/// Records of `a` and `x` in memory, with zeros in their gaps.
fn record(dtype: &str) -> MappedArrayMut {
    let mut array = MappedArray::zeros(&dtype.parse().unwrap(), &[1]).unwrap();
    array.dyn_view_mut().unwrap().set(0, value()).unwrap();
    array
}

fn value() -> Value {
    let x = Value::Record(vec![Value::UInt(2)]);
    Value::Record(vec![Value::UInt(1), Value::Array(vec![x])])
}

/// Maps a file of elements with gaps and no header.
fn open_raw(path: &Path) -> MappedArrayMut {
    let opened = File::options().read(true).write(true).open(path).unwrap();
    let options = OpenOptions::new().raw(RawSpec::new(GAPS.parse().unwrap()));
    options.open(map_mut_file(&opened).unwrap()).unwrap()
}

type Write = fn(&mut MappedArrayMut, &DynView<'_>) -> npymap::Result<()>;

/// Every way to write every other element, or all of them.
const WRITES: [(usize, Write); 9] = [
    (1, |array, _| array.view_mut::<Value>()?.fill(&value())),
    (1, |array, from| array.dyn_view_mut()?.assign(from)),
    (1, |array, from| array.dyn_view_mut()?.assign_as(from, Casting::Unsafe)),
    (1, |array, _| array.write_fill_slice([], None, &value()).map(drop)),
    (1, |array, _| array.element_writer()?.write(&[], &vec![value(); LEN])),
    (1, |array, from| array.write_slice(s![..], None, from, Casting::Unsafe).map(drop)),
    (2, |array, from| array.write_slice(s![..;2], None, from, Casting::Unsafe).map(drop)),
    (100, |array, from| array.write_slice(s![..;100], None, from, Casting::Unsafe).map(drop)),
    (2, |array, _| array.write_fill_slice(s![..;2], None, &value()).map(drop)),
];

#[test]
fn bytes_that_belong_to_no_field_are_kept() {
    let directory = directory();
    let swapped = "[('a', '>u2'), ('b', [('x', '|u1')], (1,))]";
    for (number, (step, write)) in WRITES.into_iter().enumerate() {
        for from in [GAPS, swapped].into_iter().take(if quick() { 1 } else { 2 }) {
            // `assign` takes only elements of one dtype.
            let from = record(if number == 1 { GAPS } else { from });
            let path = file(&directory, "a.bin", &vec![9; LEN * 8]);
            let mut array = open_raw(&path);
            write(&mut array, &from.dyn_view().unwrap()).unwrap();
            drop(array);
            let bytes = fs::read(&path).unwrap();
            let expected = [&WRITTEN[..], &vec![9; 8 * (step - 1)]].concat().repeat(LEN / step);
            let differs = || bytes.iter().zip(&expected).position(|(found, byte)| found != byte);
            assert!(bytes == expected, "way {number}, byte {:?}", differs());
        }
    }
}

#[test]
fn the_bytes_of_whole_elements_are_written() {
    let directory = directory();
    let mut array = open_raw(&file(&directory, "a.bin", &[9; 24]));
    array.element_writer().unwrap().write(&[1], &[[7_u8; 8]]).unwrap();
    assert_eq!(array.as_bytes().unwrap(), [[9; 8], [7; 8], [9; 8]].concat());
}

/// Dtypes with a gap whose other fields have too many items, or axes, for a view.
const EXTREME: [&str; 3] = [
    "[('a', [('x', '|u1'), ('', '|V1')], (2147483647, 2147483647, 2147483647, 0)), ('b', '|u1'), ('', '|V1')]",
    "[('a', '<f4', (2147483647, 2147483647, 2147483647, 0)), ('b', '|u1'), ('', '|V1')]",
    "[('a', '|u1', (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)), ('b', '|u1'), ('', '|V1')]",
];

#[test]
fn elements_of_one_dtype_are_copied_whatever_their_fields_are() {
    for dtype in EXTREME {
        let dtype: npymap::DType = dtype.parse().unwrap();
        let size = dtype.itemsize();
        let raw = format!("|V{size}").parse().unwrap();
        let arrays = [1_u8, 9].map(|byte| {
            let mut array = MappedArray::zeros(&dtype, &[2, 2]).unwrap();
            let mut bytes = array.dyn_view_mut().unwrap().view_as(&raw).unwrap();
            bytes.fill(&Value::Void(vec![byte; size])).unwrap();
            array
        });
        let [from, mut to] = arrays;
        let transposed = from.dyn_view().unwrap().permuted_axes(&[1, 0]).unwrap();
        to.dyn_view_mut().unwrap().assign_as(&transposed, Casting::No).unwrap();
        let mut expected = vec![1; size];
        expected[size - 1] = 9;
        assert_eq!(to.as_bytes().unwrap(), expected.repeat(4), "{dtype}");
    }
}
