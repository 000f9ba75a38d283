//! Rows as bytes, cast to dtypes that are known only at run time.

use npymap::{
    ArrayFile, DType, ErrorKind, MappedArray, Order,
    element::Casting,
    loader::{Concat, FieldRows, RowSource},
};

use crate::support::{directory, file, here, is_error, native, npy, open};

const INDICES: [usize; 7] = [4, 0, 4, 299, 17, 100, 299];

/// Rows of the whole array cast to another dtype.
fn cast(array: &MappedArray, to: &DType, indices: &[usize]) -> Vec<u8> {
    let mut all = MappedArray::zeros(to, array.shape()).unwrap();
    let mut view = all.dyn_view_mut().unwrap();
    view.assign_as(&array.dyn_view().unwrap(), Casting::Unsafe).unwrap();
    let rows = all.into_read_only().unwrap().into_rows().unwrap();
    let mut out = vec![0; indices.len() * rows.row_len() * to.itemsize()];
    rows.take_bytes(indices, &mut out).unwrap();
    out
}

fn take(rows: &impl RowSource, to: &DType, indices: &[usize]) -> Vec<u8> {
    let nbytes = indices.len() * rows.row_len() * to.itemsize();
    // The output is unaligned, then aligned.
    let mut out = vec![7; nbytes + 8];
    let start = out.as_ptr().align_offset(8) + 1;
    for start in [start, start - 1] {
        let place = out.get_mut(start..start + nbytes).unwrap();
        rows.take_bytes_as(indices, place, to, Casting::Unsafe).unwrap();
        assert_eq!(place, take_again(rows, to, indices), "alignment {start}");
    }
    take_again(rows, to, indices)
}

fn take_again(rows: &impl RowSource, to: &DType, indices: &[usize]) -> Vec<u8> {
    let mut out = vec![9; indices.len() * rows.row_len() * to.itemsize()];
    rows.take_bytes_as(indices, &mut out, to, Casting::Unsafe).unwrap();
    out
}

#[test]
fn rows_of_every_source_are_cast_as_the_whole_array() {
    let directory = directory();
    let elements: Vec<u8> = (0..300 * 3 * 2 * 8).map(|i| (i * 37 % 61) as u8).collect();
    for (descr, size) in [("<u2", 2), (">i4", 4), ("<f8", 8), ("|S3", 3), ("|b1", 1), (">M8[s]", 8)]
    {
        for order in [Order::C, Order::F] {
            let text: Vec<u8> = elements.iter().map(|byte| b'0' + byte % 2).collect();
            let bytes = if descr == "|S3" { &text } else { &elements };
            let bytes = bytes.get(..300 * 6 * size).unwrap();
            let path = file(&directory, "a.npy", &npy(descr, &[300, 3, 2], order, bytes));
            let array = open(&path).unwrap();
            for to in ["<f4", ">f4", "<i8", "<f8", "|u1", ">u2", "<c8", "|S40", descr] {
                if descr == ">M8[s]" && !["|S40", "<i8", descr].contains(&to) {
                    continue;
                }
                let to = to.parse().unwrap();
                let expected = cast(&array, &to, &INDICES);
                let what = format!("{descr} in {order:?} to {to}");
                assert_eq!(take(&array.rows().unwrap(), &to, &INDICES), expected, "{what}");
                let read = ArrayFile::open(&path).unwrap();
                assert_eq!(take(&read, &to, &INDICES), expected, "{what}");
                let concat = Concat::new([open(&path).unwrap(), open(&path).unwrap()]).unwrap();
                let second = INDICES.map(|row| row + 300);
                assert_eq!(take(&concat, &to, &second), expected, "{what}");
                let windows = array.rows().unwrap().windows(2).unwrap();
                let pairs: Vec<usize> =
                    INDICES.iter().flat_map(|&i| [i.min(298), i.min(298) + 1]).collect();
                let starts = INDICES.map(|row| row.min(298));
                assert_eq!(take(&windows, &to, &starts), cast(&array, &to, &pairs), "{what}");
            }
        }
    }
}

#[test]
fn rows_longer_than_a_block_are_cast() {
    let directory = directory();
    let elements: Vec<u8> =
        (0..2 * 3 * 20_000_u32).flat_map(|n| (n as u16).to_le_bytes()).collect();
    for order in [Order::C, Order::F] {
        let path = file(&directory, "a.npy", &npy("<u2", &[3, 20_000, 2], order, &elements));
        let array = open(path).unwrap();
        for to in ["<f4", ">i4", "|S5"] {
            let to = to.parse().unwrap();
            let expected = cast(&array, &to, &[2, 0, 2]);
            assert!(take(&array.rows().unwrap(), &to, &[2, 0, 2]) == expected, "{to}");
        }
    }
}

#[test]
fn fields_are_cast_and_structs_field_by_field() {
    let directory = directory();
    let elements: Vec<u8> = (0..10 * 6).collect();
    let descr = "[('a', '<u2'), ('b', '>u2', (2,))]";
    let path = file(&directory, "a.npy", &npy(descr, &[10], Order::C, &elements));
    let array = open(&path).unwrap();
    let rows = array.rows().unwrap();
    let fields = FieldRows::new(ArrayFile::open(&path).unwrap(), "b").unwrap();
    for to in ["<f4", ">i4"] {
        let to = to.parse().unwrap();
        let field = rows.field("b").unwrap();
        assert_eq!(field.shape(), [10, 2]);
        let expected = take(&field, &to, &[9, 3]);
        assert_eq!(take(&fields, &to, &[9, 3]), expected);
        let numbers = field.take_array::<u16>(&[9, 3]).unwrap();
        let mut floats = MappedArray::zeros(&to, &[4]).unwrap();
        let mut view = floats.dyn_view_mut().unwrap();
        let values = numbers.iter().map(|n| npymap::Value::parse(&n.to_string(), &to).unwrap());
        values.enumerate().for_each(|(i, value)| view.set(i, value).unwrap());
        assert_eq!(floats.into_data().as_ref(), expected);
    }
    let to = "[('x', '<f4'), ('y', '<i8', (2,))]".parse().unwrap();
    assert_eq!(take(&rows, &to, &[9, 3, 0]), cast(&array, &to, &[9, 3, 0]));
}

#[test]
fn casts_that_are_not_allowed_are_errors_before_anything_is_written() {
    let mut array = MappedArray::zeros(&native("f8").parse().unwrap(), &[5, 2]).unwrap();
    array.as_slice_mut::<f64>().unwrap()[3] = 0.5;
    let rows = array.into_read_only().unwrap().rows().unwrap();
    let mut out = [7; 64];
    let mut error = |to: &str, casting, len: usize| {
        let to = to.parse().unwrap();
        rows.take_bytes_as(&[1, 0], &mut out[..len], &to, casting).unwrap_err()
    };
    let kind = ErrorKind::DTypeMismatch;
    for (to, casting, message) in [
        (native("f4"), Casting::Safe, "casting `safe`: allow it with casting `same_kind`"),
        (native("i8"), Casting::SameKind, "casting `same_kind`: allow it with casting `unsafe`"),
        (
            format!("('{}', (2,))", native("f8")),
            Casting::Unsafe,
            "cast to the dtype of its elements",
        ),
    ] {
        let error = error(&to, casting, 16);
        assert!(is_error(&error, kind, message), "{error}");
    }
    let error = error("<i4", Casting::Unsafe, 15);
    assert!(
        is_error(&error, ErrorKind::ShapeMismatch, "expected an output of 16 bytes, found 15"),
        "{error}"
    );
    assert_eq!(out, [7; 64]);
    let mut out = [7; 16];
    let outside = rows.take_bytes_as(&[1, 5], &mut out, &"<i4".parse().unwrap(), Casting::Unsafe);
    assert_eq!(outside.unwrap_err().kind(), ErrorKind::OutOfBounds);
    assert_eq!(out, [7; 16]);
    let changed =
        rows.take_bytes_as(&[0, 1], &mut out, &native("i4").parse().unwrap(), Casting::SameValue);
    let changed = changed.unwrap_err();
    assert_eq!(changed.kind(), ErrorKind::InvalidValue, "{changed}");

    let error = rows.take_as(&[0], &mut [0_i64; 2]).unwrap_err().to_string();
    let expected = "cannot cast '<f8' to '<i8' with casting `same_kind`: use `take_bytes_as` with casting `unsafe`";
    assert_eq!(error, here(expected));
}

#[test]
fn elements_of_no_bytes_are_cast() {
    let array = MappedArray::zeros(&"|S0".parse().unwrap(), &[5, 2]).unwrap();
    let rows = array.into_read_only().unwrap().rows().unwrap();
    let mut out = [7; 2 * 2 * 3];
    rows.take_bytes_as(&[4, 0], &mut out, &"|S3".parse().unwrap(), Casting::Unsafe).unwrap();
    assert_eq!(out, [0; 12]);
    rows.take_bytes_as(&[4, 0], &mut [], &"|V0".parse().unwrap(), Casting::Unsafe).unwrap();
}

#[test]
fn rows_of_a_part_of_a_file_have_its_map() {
    let directory = directory();
    let elements: Vec<u8> = (0..200).collect();
    let path = file(&directory, "a.npy", &npy("|u1", &[50, 4], Order::C, &elements));
    let array = open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let rows = array.row_range(10..30).unwrap().into_rows().unwrap();
    drop(array);
    assert_eq!(rows.shape(), [20, 4]);
    assert_eq!(
        take(&rows, &"|u1".parse().unwrap(), &[19, 0]),
        [116, 117, 118, 119, 40, 41, 42, 43]
    );
    let array = MappedArray::zeros(&"<u2".parse().unwrap(), &[]).unwrap();
    let error = array.into_read_only().unwrap().into_rows().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfBounds);
}

#[test]
fn an_output_of_another_length_is_refused_in_bytes() {
    let array = MappedArray::zeros(&"<f8".parse().unwrap(), &[4, 2]).unwrap();
    let rows = array.into_read_only().unwrap().rows().unwrap();
    let expected = "expected an output of 32 bytes, found 31";
    let error = rows.take_bytes(&[1, 0], &mut [0; 31]).unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, expected), "{error}");
    let error = rows.read_ranges(&[1..2, 0..1], &mut [0; 31]).unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, expected), "{error}");
    let to = "<f4".parse().unwrap();
    let error = rows.take_bytes_as(&[1, 0], &mut [0; 17], &to, Casting::SameKind).unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, "16 bytes, found 17"), "{error}");
}
