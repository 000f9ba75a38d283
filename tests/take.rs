//! Rows in any order, of arrays from files and in memory.

use std::{fs, slice};

use npymap::ndarray::{Axis, IxDyn, s};
use npymap::{
    ArrayFile, ErrorKind, Le, MappedArray, Order, Result, Value,
    layout::TakeMode,
    loader::{Concat, FieldRows, Ragged, RowSource, Windows},
};

#[cfg(feature = "npz")]
use crate::support::map;
use crate::support::{
    WIDE, directory, file, here, is_error, native, npy, open, open_copy_on_write,
};

fn numbers(count: u32) -> Vec<u8> {
    (0..count).flat_map(u32::to_le_bytes).collect()
}

fn array(shape: &[usize], order: Order) -> MappedArray<Vec<u8>> {
    let count: usize = shape.iter().product();
    MappedArray::from_bytes(npy("<u4", shape, order, &numbers(count as u32))).unwrap()
}

#[test]
fn selections_of_views_equal_ndarrays() {
    let indices = [3, 0, 3, 3, 1];
    for order in [Order::C, Order::F] {
        let array = array(&[4, 5, 6], order);
        let view = array.view::<u32>().unwrap().slice(s![..;-1, .., 1..;1]).unwrap();
        for axis in 0..3 {
            let expected = view.to_ndarray::<IxDyn>().unwrap().select(Axis(axis), &indices);
            assert_eq!(view.select(axis, &indices).unwrap(), expected);
        }
        let expected = view.select(0, &indices).unwrap();
        let mut out = vec![0; expected.len()];
        view.take(&indices, &mut out).unwrap();
        assert!(out.iter().eq(&expected));
        assert_eq!(view.select(1, &[0_usize; 0]).unwrap().shape(), [4, 0, 5]);
        assert!(is_error(
            &view.select(3, &[0]).unwrap_err(),
            ErrorKind::OutOfBounds,
            "axes are numbered from 0"
        ));
    }
}

#[test]
fn rows_equal_those_of_the_view() {
    let directory = directory();
    for order in [Order::C, Order::F] {
        let path = file(&directory, "a.npy", &npy("<u4", &[1000, 3, 7], order, &numbers(21_000)));
        let array = open(&path).unwrap();
        let rows = array.rows().unwrap();
        assert_eq!((rows.row_count(), rows.row_len()), (1000, 21));
        let indices: Vec<usize> = (0..300).map(|i| i * 7919 % 1000).collect();
        let expected = array.view::<u32>().unwrap().select(0, &indices).unwrap();
        for _ in 0..3 {
            assert_eq!(rows.take_array::<u32>(&indices).unwrap(), expected);
        }
        let mut halves = vec![0.0; expected.len()];
        rows.take_with(&indices, &mut halves, |x: u32| f64::from(x) / 2.0).unwrap();
        assert!(halves.iter().zip(&expected).all(|(half, whole)| 2.0 * half == f64::from(*whole)));
        rows.prefetch(&indices).unwrap();
        let mut bytes = vec![0; 4 * expected.len()];
        ArrayFile::open(&path).unwrap().take(&indices, &mut halves).unwrap_err();
        rows.take_bytes(&indices, &mut bytes).unwrap();
        assert_eq!(bytes, expected.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
    }
}

#[test]
fn invalid_indices_are_errors_before_anything_is_written() {
    let rows = MappedArray::zeros(&native("u2").parse().unwrap(), &[5, 2]).unwrap();
    let rows = rows.into_read_only().unwrap().rows().unwrap();
    let mut out = [7_u16; 4];
    assert_eq!(
        error_text(rows.take(&[0, 5], &mut out)),
        "index 5 is out of bounds for axis 0 of shape (5, 2)"
    );
    assert_eq!(
        error_text(rows.take(&[-1, 0], &mut out)),
        "index -1 is out of bounds for axis 0 of shape (5, 2)"
    );
    let far = error_text(rows.take(&[0, u64::MAX], &mut out));
    assert_eq!(far, format!("index {} is out of bounds for axis 0 of shape (5, 2)", u64::MAX));
    assert_eq!(
        error_text(rows.take(&[0], &mut out)),
        "expected 2 values, one per element, found 4"
    );
    assert_eq!(
        error_text(rows.take(&[0, 1], &mut [0_i32; 4])),
        here("stored as '<u2', asked for `i32`: use `u16`")
    );
    assert_eq!(
        error_text(rows.windows(6).map(drop)),
        "window length 6 is out of bounds for axis 0 of shape (5, 2)"
    );
    assert_eq!(
        error_text(rows.windows(2).unwrap().take_as(&[4], &mut out)),
        "index 4 is out of bounds for axis 0 of shape (4, 2, 2)"
    );
    assert_eq!(
        error_text(rows.take_as(&[0], &mut [false; 2])),
        here(
            "cannot cast '<u2' to '|b1' with casting `same_kind`: use `take_bytes_as` with casting `unsafe`"
        )
    );
    assert_eq!(out, [7; 4]);
    rows.take(&TakeMode::Wrap.resolve(&[-1, 7], rows.row_count()).unwrap(), &mut out).unwrap();
    assert_eq!(out, [0; 4]);
    assert_eq!(TakeMode::FromEnd.resolve(&[-5, -1, 0, 4], 5).unwrap(), [0, 4, 0, 4]);
    for (index, dim) in [(-6_i64, 5), (5, 5), (i64::MIN, 5), (0, 0), (-1, 0)] {
        assert!(TakeMode::FromEnd.resolve(&[index], dim).is_err());
    }
    let none: [usize; 0] = [];
    assert!(TakeMode::Wrap.resolve(&none, 0).unwrap().is_empty());
    assert!(TakeMode::Wrap.resolve(&[0], 0).is_err() && TakeMode::Clip.resolve(&[0], 0).is_err());
    rows.take::<u16>(&none, &mut []).unwrap();
}

fn error_text(result: Result<()>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn arrays_without_axes_have_no_rows() {
    let array = MappedArray::zeros(&"<u2".parse().unwrap(), &[]).unwrap();
    let error = array.into_read_only().unwrap().rows().unwrap_err();
    assert!(is_error(&error, ErrorKind::OutOfBounds, "axes are numbered from 0"));
}

#[test]
fn rows_of_no_bytes_are_rows() {
    for (descr, shape) in [("|S0", [3, 2]), ("<u4", [3, 0]), ("<u4", [0, 3])] {
        let array = MappedArray::zeros(&descr.parse().unwrap(), &shape).unwrap();
        let rows = array.into_read_only().unwrap().rows().unwrap();
        let indices = vec![0; rows.row_count().min(2)];
        let taken = rows.take_array::<npymap::Value>(&indices).unwrap();
        assert_eq!(taken.shape(), [indices.len(), shape[1]]);
        rows.take_bytes(&indices, &mut []).unwrap_or_else(|_| {
            assert_eq!(descr, "<u4");
        });
    }
}

#[test]
fn rows_that_are_no_array_are_an_error() {
    let largest = usize::try_from(isize::MAX).unwrap() / 2 + 1;
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[1, 0, largest], Order::C, &[]));
    let rows = open(&path).unwrap().rows().unwrap();
    assert_eq!(rows.take_array::<u8>(&[0]).unwrap().shape(), [1, 0, largest]);
    for error in [
        rows.take_array::<u8>(&[0, 0]).unwrap_err(),
        rows.take_vec(&[0, 0], &mut vec![1_u8]).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
}

#[test]
fn rows_outlive_the_array_and_the_name_of_its_file() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("<u4", &[10], Order::C, &numbers(10)));
    let array = open(&path).unwrap();
    let before = array.rows().unwrap();
    fs::remove_file(&path).unwrap();
    file(&directory, "a.npy", &npy("<u4", &[10], Order::C, &[0; 40]));
    let after = array.rows().unwrap();
    drop(array);
    for rows in [before, after] {
        assert_eq!(rows.take_array::<u32>(&[9, 1]).unwrap().into_raw_vec_and_offset().0, [9, 1]);
    }
}

#[test]
fn rows_of_a_private_map_include_its_stores() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("<u4", &[10], Order::C, &numbers(10)));
    let mut array = open_copy_on_write(&path).unwrap();
    array.as_slice_mut::<Le<u32>>().unwrap()[3] = 77.into();
    let rows = array.into_read_only().unwrap().rows().unwrap();
    assert_eq!(rows.take_array::<u32>(&[3, 4]).unwrap().into_raw_vec_and_offset().0, [77, 4]);
}

#[test]
fn windows_are_sliding_window_views() {
    let array = MappedArray::zeros(&">u2".parse().unwrap(), &[50, 2]).unwrap();
    let mut array = array;
    array.view_mut::<u16>().unwrap().copy_from_slice(&(0..100).collect::<Vec<_>>()).unwrap();
    let rows = array.into_read_only().unwrap().rows().unwrap();
    let windows = rows.windows(3).unwrap();
    assert_eq!((windows.shape(), windows.row_count(), windows.row_len()), (&[48, 3, 2][..], 48, 6));
    let taken = windows.take_array::<u16>(&[47, 0]).unwrap();
    assert_eq!(taken.shape(), [2, 3, 2]);
    assert!(taken.iter().copied().eq((94..100).chain(0..6)));
    // Windows of windows have another axis.
    let pairs = windows.windows(2).unwrap();
    assert_eq!(pairs.shape(), [47, 2, 3, 2]);
    let taken = pairs.take_array::<u16>(&[46]).unwrap();
    assert!(taken.iter().copied().eq((92..98).chain(94..100)));
    assert_eq!(rows.windows(0).unwrap().shape(), [51, 0, 2]);
    assert!(rows.windows(51).is_err());
    assert!(rows.windows(usize::MAX).is_err());
    let mut many = rows.windows(1).unwrap();
    for _ in 3..64 {
        many = many.windows(1).unwrap();
    }
    assert!(is_error(
        &many.windows(1).unwrap_err(),
        ErrorKind::InvalidInput,
        "NumPy arrays have at most 64"
    ));
}

/// Booleans have no buffer of zeros, so blocks of them are decoded one after another into
/// a list that grows.
#[test]
fn rows_of_booleans_longer_than_a_block_are_converted() {
    let dir = directory();
    for order in [Order::C, Order::F] {
        let stored: Vec<u8> = match order {
            Order::C => (0..3 * LONG).map(|i| boolean(i / LONG, i % LONG).into()).collect(),
            Order::F => (0..3 * LONG).map(|i| boolean(i % 3, i / 3).into()).collect(),
        };
        let path = file(&dir, "a.npy", &npy("|b1", &[3, LONG], order, &stored));
        let rows = open(&path).unwrap().into_rows().unwrap();
        let mut out = vec![0_u8; 2 * LONG];
        rows.take_with(&[2, 0], &mut out, |x: bool| 5 * u8::from(x)).unwrap();
        let expected = [2, 0].into_iter().flat_map(|row| (0..LONG).map(move |i| boolean(row, i)));
        assert!(out.into_iter().eq(expected.map(|x| 5 * u8::from(x))));
    }
}

/// The length of a row of more than one block.
const LONG: usize = 20_000;

fn boolean(row: usize, column: usize) -> bool {
    (row * LONG + column) % 7 < 3
}

/// Takes the same rows by every method of a source.
fn all_methods(rows: &impl RowSource, expected: &[u32]) {
    let indices = [7_u8, 0, 7, 3];
    let expected: Vec<u32> = indices
        .iter()
        .flat_map(|&row| expected.chunks(rows.row_len()).nth(row.into()).unwrap())
        .copied()
        .collect();
    let mut out = vec![0; expected.len()];
    rows.take(&indices, &mut out).unwrap();
    assert_eq!(out, expected);
    let mut wide = vec![0_i64; expected.len()];
    rows.take_as(&indices, &mut wide).unwrap();
    assert!(wide.iter().zip(&expected).all(|(&wide, &own)| wide == i64::from(own)));
    let mut halves = vec![0.0; expected.len()];
    rows.take_with(&indices, &mut halves, |x: u32| f64::from(x) / 2.0).unwrap();
    assert!(halves.iter().zip(&expected).all(|(half, &own)| 2.0 * half == f64::from(own)));
    whole_rows(rows, &indices, &expected);
    let mut bytes = vec![0; 4 * expected.len()];
    rows.take_bytes(&indices, &mut bytes).unwrap();
    assert_eq!(bytes, expected.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
    let ranges = indices.map(|row| usize::from(row)..usize::from(row) + 1);
    let mut read = vec![0; bytes.len()];
    rows.read_ranges(&ranges, &mut read).unwrap();
    assert_eq!(read, bytes);
    let mut reused = vec![1; 3];
    rows.take_vec(&indices, &mut reused).unwrap();
    assert_eq!(reused, expected);
    let array = rows.take_array::<u32>(&indices).unwrap();
    assert_eq!(array.shape(), [&[4], &rows.shape()[1..]].concat());
    assert!(array.iter().eq(&expected));
    let values = rows.take_array::<Value>(&indices).unwrap();
    assert!(
        values.iter().eq(expected
            .iter()
            .map(|&x| Value::UInt(x.into()))
            .collect::<Vec<_>>()
            .iter())
    );
    assert!(is_error(
        &rows.take(&[rows.row_count()], &mut out[..1]).unwrap_err(),
        ErrorKind::OutOfBounds,
        "is out of bounds for "
    ));
    assert!(is_error(
        &rows.take(&[0], &mut out[..1]).unwrap_err(),
        ErrorKind::ShapeMismatch,
        "one per element, found 1"
    ));
    assert!(is_error(
        &rows.take(&[0], &mut [0_i8]).unwrap_err(),
        ErrorKind::DTypeMismatch,
        "asked for"
    ));
    assert!(is_error(
        &rows.take_as(&[0], &mut [false]).unwrap_err(),
        ErrorKind::DTypeMismatch,
        "cannot cast"
    ));
}

/// Converts whole rows: to their sum and first element, and to nothing.
fn whole_rows(rows: &impl RowSource, indices: &[u8], expected: &[u32]) {
    let mut out = vec![0_u64; 2 * indices.len()];
    rows.take_rows_with(indices, &mut out, 2, |row: &[u32], out: &mut [u64]| {
        out[0] += row.iter().map(|&x| u64::from(x)).sum::<u64>();
        out[1] += u64::from(row[0]);
    })
    .unwrap();
    let rows_expected = expected.chunks(rows.row_len());
    let sums =
        rows_expected.flat_map(|row| [row.iter().map(|&x| u64::from(x)).sum(), u64::from(row[0])]);
    assert!(sums.eq(out.iter().copied()));
    let texts = &mut vec![String::new(); indices.len()];
    rows.take_rows_with(indices, texts, 1, |row: &[Value], out| {
        out[0] = row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    })
    .unwrap();
    let all: Vec<String> = expected.iter().map(ToString::to_string).collect();
    assert_eq!(texts.join(" "), all.join(" "));
    let calls = std::cell::Cell::new(0);
    rows.take_rows_with(indices, &mut [0_u8; 0], 0, |_: &[u32], _| calls.set(calls.get() + 1))
        .unwrap();
    assert_eq!(calls.get(), indices.len());
    let error = rows.take_rows_with(indices, &mut out, 1, |_: &[u32], _| {}).unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, "one per element, found"), "{error}");
    let error = rows.take_rows_with(indices, &mut out, 2, |_: &[i8], _| {}).unwrap_err();
    assert!(is_error(&error, ErrorKind::DTypeMismatch, "asked for"), "{error}");
}

/// A source that has only the methods that are required.
struct Required<S>(S);

impl<S: RowSource> RowSource for Required<S> {
    fn dtype(&self) -> &npymap::DType {
        self.0.dtype()
    }

    fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    fn read_ranges(&self, ranges: &[std::ops::Range<usize>], out: &mut [u8]) -> Result<()> {
        self.0.read_ranges(ranges, out)
    }
}

/// Takes rows from a source, and from those made of it.
fn all_forms(rows: &(impl RowSource + Sync), expected: &[u32]) {
    all_methods(rows, expected);
    all_methods(&(rows as &dyn RowSource), expected);
    let shared: std::sync::Arc<dyn RowSource + Sync> = std::sync::Arc::new(rows);
    all_methods(&shared, expected);
    all_methods(&Box::new(Required(rows)), expected);
    for len in [0, 1, 2, 5, rows.row_count()] {
        all_windows(rows, expected, len);
        all_windows(&Required(rows), expected, len);
    }
    assert_eq!(
        rows.windows(rows.row_count() + 1).err().unwrap().message().to_string(),
        Required(rows).windows(rows.row_count() + 1).err().unwrap().to_string()
    );
    for ranges in [[0..rows.row_count() + 1, 0..0], [usize::MAX..usize::MAX, 0..1]] {
        let error = rows.read_ranges(&ranges, &mut []).unwrap_err();
        assert!(is_error(&error, ErrorKind::OutOfBounds, "is out of bounds for "), "{error}");
    }
    let error = rows.read_ranges(&[0..2, 1..2], &mut [0; 3]).unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, ", found 3"), "{error}");
}

/// Compares all windows of a length, and windows of these, with slices.
fn all_windows(rows: &impl RowSource, expected: &[u32], len: usize) {
    let each = rows.row_len();
    let windows = rows.windows(len).unwrap();
    let starts: Vec<usize> = (0..=rows.row_count() - len).rev().collect();
    let own = starts.iter().flat_map(|&start| &expected[start * each..(start + len) * each]);
    let own: Vec<u32> = own.copied().collect();
    let taken = windows.take_array::<u32>(&starts).unwrap();
    assert_eq!(taken.shape(), [&[starts.len(), len], &rows.shape()[1..]].concat());
    assert!(taken.iter().eq(&own));
    let mut wide = vec![0_i64; own.len()];
    windows.take_as(&starts, &mut wide).unwrap();
    assert!(wide.iter().zip(&own).all(|(&wide, &own)| wide == i64::from(own)));
    let mut bytes = vec![0; 4 * own.len()];
    windows.take_bytes(&starts, &mut bytes).unwrap();
    assert!(bytes.chunks(4).eq(own.iter().map(|x| x.to_le_bytes())));
    if let Ok(pairs) = windows.windows(2) {
        let last = pairs.row_count() - 1;
        let taken = pairs.take_array::<u32>(&[last, 0]).unwrap();
        let ends = [last, last + 1, 0, 1];
        let own = ends.iter().flat_map(|&start| &expected[start * each..(start + len) * each]);
        assert!(taken.iter().eq(own));
    }
}

#[test]
fn every_source_of_rows_has_the_same_methods() {
    let directory = directory();
    for order in [Order::C, Order::F] {
        let elements = numbers(8 * 3 * 2);
        let path = file(&directory, "a.npy", &npy("<u4", &[8, 3, 2], order, &elements));
        let array = open(&path).unwrap();
        let expected = array.view::<u32>().unwrap().to_vec();
        let (rows, read) = (array.rows().unwrap(), ArrayFile::open(&path).unwrap());
        all_forms(&rows, &expected);
        all_forms(&read, &expected);
        let none = file(&directory, "none.npy", &npy("<u4", &[0, 3, 2], order, &[]));
        let parts = [&none, &path, &none, &path, &none].map(|path| open(path).unwrap());
        let concat = Concat::new(parts).unwrap();
        all_forms(&concat, &[&expected[..], &expected].concat());
    }
    let path = file(&directory, "a.npy", &npy("<u4", &[10, 2], Order::C, &numbers(20)));
    let expected: Vec<u32> = (0..8).flat_map(|row| 2 * row..2 * row + 6).collect();
    all_methods(&open(&path).unwrap().rows().unwrap().windows(3).unwrap(), &expected);
    all_methods(&ArrayFile::open(&path).unwrap().windows(3).unwrap(), &expected);
    let halves = Concat::new([open(&path).unwrap(), open(&path).unwrap()]).unwrap();
    all_methods(&halves.windows(3).unwrap(), &expected);
}

#[test]
fn every_source_of_rows_selects_fields() {
    let directory = directory();
    for order in [Order::C, Order::F] {
        let descr = "[('a', '<u2'), ('b', [('c', '<u4', (2,)), ('d', '|i1')])]";
        let bytes: Vec<u8> = (0..8 * 2 * 11).map(|byte| byte as u8).collect();
        let path = file(&directory, "a.npy", &npy(descr, &[8, 2], order, &bytes));
        let array = open(&path).unwrap();
        let expected =
            array.dyn_view().unwrap().field("b.c").unwrap().view::<u32>().unwrap().to_vec();
        all_forms(&array.rows().unwrap().field("b.c").unwrap(), &expected);
        let read = ArrayFile::open(&path).unwrap();
        all_forms(&read.field("b.c").unwrap(), &expected);
        all_forms(&read.field("b").unwrap().field("c").unwrap(), &expected);
        let concat = Concat::new([open(&path).unwrap(), open(&path).unwrap()]).unwrap();
        let twice = [&expected[..], &expected].concat();
        all_forms(&concat.field("b.c").unwrap(), &twice);
        all_forms(&Required(&concat).field("b.c").unwrap(), &twice);
        let pairs = read.windows(2).unwrap();
        let (own, taken) = (pairs.field("b.c").unwrap(), [6, 0].map(|row| 4 * row));
        assert_eq!(own.shape(), [7, 2, 2, 2]);
        let taken = taken.iter().flat_map(|&start| &expected[start..start + 8]);
        assert!(own.take_array::<u32>(&[6, 0]).unwrap().iter().eq(taken));
        let error = read.field("b.x").unwrap_err();
        assert_eq!(error.path(), Some(&*path));
        assert_eq!(
            error.message().to_string(),
            array.dyn_view().unwrap().field("b.x").unwrap_err().message().to_string()
        );
        assert!(concat.field("x").is_err() && pairs.field("x").is_err());
    }
}

#[test]
fn rows_that_are_read_may_fill_several_blocks() {
    const ROW: usize = 3 << 20;
    let directory = directory();
    let bytes: Vec<u8> = (0..7 * ROW).map(|byte| (byte / ROW * 31 + byte % 251) as u8).collect();
    let path = file(&directory, "a.npy", &npy("|u1", &[7, ROW], Order::C, &bytes));
    let read = ArrayFile::open(&path).unwrap();
    let indices = [6_usize, 0, 3, 3, 5, 1, 2, 4];
    let mut out = vec![0_u8; indices.len() * ROW];
    read.take(&indices, &mut out).unwrap();
    assert!(out.chunks(ROW).eq(indices.map(|row| &bytes[row * ROW..(row + 1) * ROW])));
    let mut sums = [0_u64; 8];
    read.take_rows_with(&indices, &mut sums, 1, |row: &[u8], out| {
        out[0] = row.iter().map(|&byte| u64::from(byte)).sum();
    })
    .unwrap();
    let expected = out.chunks(ROW).map(|row| row.iter().map(|&b| u64::from(b)).sum::<u64>());
    assert!(expected.eq(sums));
}

#[test]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn only_the_pages_of_rows_are_read() {
    use std::io::Write as _;
    if !crate::support::is_alone("take::only_the_pages_of_rows_are_read") {
        return;
    }
    let directory = directory();
    let path = directory.path().join("sparse.npy");
    let (count, nbytes) = (1 << 20, 4096);
    let header = npymap::Header::new("|u1".parse().unwrap(), &[count, nbytes], Order::C).unwrap();
    let mut sparse = fs::File::create(&path).unwrap();
    let header = header.encode(None).unwrap().bytes;
    sparse.write_all(&header).unwrap();
    sparse.set_len((header.len() + count * nbytes) as u64).unwrap();
    let rows = open(&path).unwrap().rows().unwrap();
    let before = resident_file_bytes();
    let mut out = vec![1_u8; 256 * nbytes];
    for batch in 0..8 {
        let indices: Vec<usize> = (0..256).map(|i| (batch * 256 + i) * 7_654_321 % count).collect();
        rows.take(&indices, &mut out).unwrap();
        assert!(out.iter().all(|byte| *byte == 0));
    }
    // Each row spans two pages.
    let touched = 8 * 256 * 2 * nbytes;
    assert!(
        resident_file_bytes() - before.min(resident_file_bytes()) <= touched * 5 / 4 + (16 << 20)
    );
}

fn resident_file_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssFile:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

#[test]
#[cfg(feature = "npz")]
fn members_of_archives_have_rows() {
    let directory = directory();
    let path = directory.path().join("a.npz");
    let own = npymap::ndarray::Array::from_shape_fn((50, 3), |(i, j)| (3 * i + j) as f64);
    let other = npymap::ndarray::arr2(&[[-1.0], [-2.0]]);
    let mut writer = npymap::npz::NpzWriter::create(&path).unwrap();
    writer.write("other", &other).unwrap();
    writer.write("own", &own).unwrap();
    writer.finish().unwrap();
    let archive = map(&path).and_then(npymap::Npz::open).unwrap();
    let rows = archive.get("own").unwrap().rows().unwrap();
    let taken = rows.take_array::<f64>(&[49, 7]).unwrap();
    assert_eq!(taken.into_raw_vec_and_offset().0, [147.0, 148.0, 149.0, 21.0, 22.0, 23.0]);
}

#[test]
fn any_number_of_zero_sized_elements_takes_no_time() {
    const MANY: usize = WIDE * 4;
    let directory = directory();
    let path = file(&directory, "none.npy", &npy("|V0", &[10, MANY], Order::C, b""));
    let array = open(&path).unwrap();
    let (rows, read) = (array.rows().unwrap(), ArrayFile::open(&path).unwrap());
    rows.take_bytes(&[9, 0], &mut []).unwrap();
    rows.prefetch(&[9, 0]).unwrap();
    let error = rows.take_bytes(&[10], &mut []).unwrap_err();
    assert!(is_error(&error, ErrorKind::OutOfBounds, "is out of bounds for "), "{error}");

    let mut out = vec![[0_u8; 0]; 2 * MANY];
    let concat = Concat::new([open(&path).unwrap()]).unwrap();
    let view = array.view::<[u8; 0]>().unwrap();
    let indices = [9, 0];
    let errors = [
        rows.take(&indices, &mut out).unwrap_err(),
        rows.take_array::<Value>(&indices).unwrap_err(),
        read.take(&indices, &mut out).unwrap_err(),
        concat.take(&indices, &mut out).unwrap_err(),
        concat.take_array::<[u8; 0]>(&indices).unwrap_err(),
        view.take(&indices, &mut out).unwrap_err(),
        array.dyn_view().unwrap().select(0, &indices).unwrap_err(),
    ];
    for error in errors {
        assert!(is_error(&error, ErrorKind::LimitExceeded, "zero-size elements"), "{error}");
    }
    let error = rows.take_array::<f64>(&indices).unwrap_err();
    assert!(is_error(&error, ErrorKind::DTypeMismatch, "asked for"), "{error}");
}

#[test]
fn any_number_of_rows_of_no_bytes_is_read_at_once() {
    const MANY: usize = usize::MAX >> 24;
    let directory = directory();
    let path = file(&directory, "none.npy", &npy("[('a', '|u1')]", &[MANY, 0], Order::C, b""));
    let read = ArrayFile::open(&path).unwrap();
    Windows::new(&read, 2).unwrap().read_ranges(slice::from_ref(&(0..MANY - 1)), &mut []).unwrap();
    FieldRows::new(&read, "a").unwrap().read_ranges(slice::from_ref(&(0..MANY)), &mut []).unwrap();

    let data = file(&directory, "data.npy", &npy("<U3", &[MANY, 0], Order::C, b""));
    let ends = [0, MANY as u64].map(u64::to_le_bytes).concat();
    let offsets = file(&directory, "offsets.npy", &npy("<u8", &[2], Order::C, &ends));
    let [data, offsets] = [data, offsets].map(|path| open(path).unwrap().rows().unwrap());
    let mut out = vec!["before".to_owned()];
    let ends = Ragged::new(data, offsets).unwrap().take_vec(&[0], &mut out).unwrap();
    assert_eq!((out.len(), ends), (0, vec![0, MANY]));
}

#[test]
fn ragged_rows_of_no_bytes_are_limited() {
    const MANY: usize = WIDE * 4;
    let directory = directory();
    let data = file(&directory, "data.npy", &npy("|V0", &[MANY], Order::C, b""));
    let ends = [0, MANY as u64].map(u64::to_le_bytes).concat();
    let offsets = file(&directory, "offsets.npy", &npy("<u8", &[2], Order::C, &ends));
    let [data, offsets] = [data, offsets].map(|path| open(path).unwrap().rows().unwrap());
    let ragged = Ragged::new(data, offsets).unwrap();
    let error = ragged.take_vec::<Value>(&[0], &mut Vec::new()).unwrap_err();
    assert!(is_error(&error, ErrorKind::LimitExceeded, "zero-size elements"), "{error}");
    let mut out = vec![[0_u8; 0]; MANY];
    let error = ragged.take_padded(&[0], &mut out, MANY, &[]).unwrap_err();
    assert!(is_error(&error, ErrorKind::LimitExceeded, "zero-size elements"), "{error}");
}
