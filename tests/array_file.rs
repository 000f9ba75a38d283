//! Arrays that are read instead of mapped.

use std::fs::{self, File};

use npymap::{
    ArrayFile, ErrorKind, MappedArray, OpenOptions, Order, RowSource as _, Source, array::RawSpec,
};

use crate::support::{directory, file, is_error, npy, open, quick, thorough};

/// A file of shape `(40, 3, 1000)`, and its numbers.
fn numbers(directory: &tempfile::TempDir, order: Order) -> std::path::PathBuf {
    let bytes: Vec<u8> = (0..120_000_u32).flat_map(u32::to_le_bytes).collect();
    file(directory, "a.npy", &npy("<u4", &[40, 3, 1000], order, &bytes))
}

#[test]
fn rows_equal_those_of_the_map() {
    let directory = directory();
    for order in [Order::C, Order::F] {
        let path = numbers(&directory, order);
        let array = open(&path).unwrap();
        let (all, read) = (array.view::<u32>().unwrap(), ArrayFile::open(&path).unwrap());
        assert_eq!((read.shape(), read.dtype()), (array.shape(), array.dtype()));
        assert_eq!(read.read().unwrap().view::<u32>().unwrap().to_vec(), all.to_vec());
        for rows in [0..40, 0..0, 7..8, 38..40, 5..30] {
            let some = read.rows(rows.clone()).unwrap();
            assert_eq!(some.shape(), [rows.len(), 3, 1000]);
            let expected = all.slice(npymap::ndarray::s![rows, .., ..]).unwrap();
            assert_eq!(some.view::<u32>().unwrap().to_vec(), expected.to_vec());
        }
        let taken = read.select_rows(&[39, 0, 0, 12, 13, 2]).unwrap();
        let expected = all
            .to_ndarray::<npymap::ndarray::IxDyn>()
            .unwrap()
            .select(npymap::ndarray::Axis(0), &[39, 0, 0, 12, 13, 2]);
        assert_eq!(
            taken.view::<u32>().unwrap().to_ndarray::<npymap::ndarray::IxDyn>().unwrap(),
            expected
        );
        assert_eq!(read.get::<u32>([39, 2, 999]).unwrap(), all.at([39, 2, 999]));
        assert_eq!(read.rows(1..=2).unwrap().shape(), [2, 3, 1000]);
        assert_eq!(read.select_rows(&[]).unwrap().shape(), [0, 3, 1000]);
    }
}

#[test]
fn missing_rows_are_an_error() {
    let directory = directory();
    let read = ArrayFile::open(numbers(&directory, Order::C)).unwrap();
    for rows in [0..41, 41..41, 50..60] {
        let error = read.rows(rows).unwrap_err();
        assert!(
            is_error(&error, ErrorKind::OutOfBounds, "is out of bounds for axis 0 of shape"),
            "{error}"
        );
    }
    assert!(is_error(
        &read.select_rows(&[40]).unwrap_err(),
        ErrorKind::OutOfBounds,
        "is out of bounds for "
    ));
    assert!(is_error(
        &read.get::<u32>([40, 0, 0]).unwrap_err(),
        ErrorKind::OutOfBounds,
        "is out of bounds for "
    ));
    assert!(is_error(
        &read.get::<u32>([0, 0]).unwrap_err(),
        ErrorKind::OutOfBounds,
        "is out of bounds for "
    ));
    assert!(is_error(
        &read.get::<f32>([0, 0, 0]).unwrap_err(),
        ErrorKind::DTypeMismatch,
        "asked for"
    ));
    let path = file(&directory, "0d.npy", &npy("<u2", &[], Order::C, &[5, 0]));
    let scalar = ArrayFile::open(&path).unwrap();
    assert_eq!(scalar.get::<u16>([]).unwrap(), 5);
    assert!(is_error(
        &scalar.rows(..).unwrap_err(),
        ErrorKind::OutOfBounds,
        "axes are numbered from 0"
    ));
}

#[test]
fn empty_and_unusual_arrays_are_read() {
    let directory = directory();
    for (descr, shape) in [("<f8", &[0, 3][..]), ("<f8", &[3, 0]), ("|V0", &[3, 2]), ("|S3", &[2])]
    {
        for order in [Order::C, Order::F] {
            let path = file(&directory, "a.npy", &npy(descr, shape, order, b"abcdef"));
            let read = ArrayFile::open(&path).unwrap();
            assert_eq!(read.rows(..).unwrap().shape(), shape);
            assert_eq!(read.rows(1.min(shape[0])..).unwrap().shape()[1..], shape[1..]);
            assert_eq!((read.len(), read.is_empty()), (shape.iter().product(), shape.contains(&0)));
            let rows: Vec<usize> = (0..shape[0]).rev().chain(0..shape[0]).collect();
            let selected = read.select_rows(&rows).unwrap();
            assert_eq!((selected.shape()[0], &selected.shape()[1..]), (rows.len(), &shape[1..]));
        }
    }
    let path = file(&directory, "a.npy", &npy("<f8", &[], Order::C, &[0; 8]));
    for rows in [&[][..], &[0]] {
        let error = ArrayFile::open(&path).unwrap().select_rows(rows).unwrap_err();
        assert!(
            is_error(&error, ErrorKind::OutOfBounds, "axis 0 is out of bounds for shape ()"),
            "{error}"
        );
    }
}

#[test]
fn a_truncated_file_is_an_error() {
    let directory = directory();
    let path = numbers(&directory, Order::C);
    let read = ArrayFile::open(&path).unwrap();
    read.check_unchanged().unwrap();
    File::options().write(true).open(&path).unwrap().set_len(128 + 12_000 * 20 + 5).unwrap();
    assert_eq!(read.rows(..20).unwrap().shape(), [20, 3, 1000]);
    for error in [
        read.rows(20..21).unwrap_err(),
        read.select_rows(&[0, 30]).unwrap_err(),
        read.get::<u32>([39, 0, 0]).unwrap_err(),
        read.read().unwrap_err(),
        read.check_unchanged().unwrap_err(),
        MappedArray::load(&path).unwrap_err(),
    ] {
        assert!(is_error(&error, ErrorKind::Truncated, "the elements end at byte"), "{error}");
        assert_eq!(error.path(), Some(&*path));
    }
}

#[test]
fn files_that_grow_are_reloaded_and_replaced_ones_detected() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[3], Order::C, b"abc"));
    let mut read = ArrayFile::open(&path).unwrap();
    fs::write(&path, npy("|u1", &[5], Order::C, b"abcde")).unwrap();
    assert_eq!(read.shape(), [3]);
    read.reload().unwrap();
    assert_eq!(read.rows(..).unwrap().as_slice::<u8>().unwrap(), b"abcde");
    fs::write(&path, b"no array").unwrap();
    assert!(read.reload().is_err());
    assert_eq!(read.shape(), [5]);

    fs::write(&path, npy("|u1", &[5], Order::C, b"abcde")).unwrap();
    fs::remove_file(&path).unwrap();
    // On other systems, an open file keeps its name until it is closed.
    if cfg!(unix) {
        assert!(is_error(&read.check_unchanged().unwrap_err(), ErrorKind::NotFound, "cannot open"));
        file(&directory, "a.npy", &npy("|u1", &[5], Order::C, b"other"));
        assert!(is_error(
            &read.check_unchanged().unwrap_err(),
            ErrorKind::Changed,
            "was replaced by another file"
        ));
    }
}

#[test]
fn raw_binary_and_open_files_are_read() {
    let directory = directory();
    let path = file(&directory, "a.bin", &(0..=255).collect::<Vec<u8>>());
    let options = OpenOptions::new()
        .raw(RawSpec::new(">u2".parse().unwrap()).shape(&[5, 2]).offset(3).order(Order::F));
    let read =
        ArrayFile::new(Source::from_file(File::open(&path).unwrap()).unwrap(), options).unwrap();
    assert_eq!((read.path(), read.data_offset()), (None, 3));
    let rows = read.rows(1..3).unwrap();
    assert_eq!(rows.view::<u16>().unwrap().to_vec(), [0x0506, 0x0f10, 0x0708, 0x1112]);
    read.check_unchanged().unwrap();
    assert!(ArrayFile::open(&path).is_err());
}

#[test]
fn rows_and_windows_are_taken_as_through_a_map() {
    let directory = directory();
    for (descr, order) in [("<u2", Order::C), (">u2", Order::C), (">u2", Order::F)] {
        let bytes: Vec<u8> = (0..=255).collect();
        let path = file(&directory, "a.npy", &npy(descr, &[16, 2, 4], order, &bytes));
        let array = open(&path).unwrap();
        let (rows, read) = (array.rows().unwrap(), ArrayFile::open(&path).unwrap());
        for indices in [&[15, 0, 0, 7][..], &[], &[3]] {
            let mut taken = [vec![0.0_f32; 8 * indices.len()], vec![0.0; 8 * indices.len()]];
            rows.take_as(indices, &mut taken[0]).unwrap();
            read.take_as(indices, &mut taken[1]).unwrap();
            assert_eq!(taken[0], taken[1], "{descr} {order:?} {indices:?}");
            let mut same = vec![0_u16; 8 * indices.len()];
            read.take(indices, &mut same).unwrap();
            assert!(same.iter().zip(&taken[1]).all(|(&own, &cast)| f32::from(own) == cast));
        }
        for (starts, len) in [(&[0, 5, 5][..], 3), (&[13], 3), (&[0], 16), (&[16, 0], 0), (&[], 4)]
        {
            let mut taken = [vec![0_i64; 8 * len * starts.len()], vec![0; 8 * len * starts.len()]];
            rows.windows(len).unwrap().take_as(starts, &mut taken[0]).unwrap();
            read.windows(len).unwrap().take_as(starts, &mut taken[1]).unwrap();
            assert_eq!(taken[0], taken[1], "{descr} {order:?} {starts:?} {len}");
        }
        for (starts, len, room) in
            [(&[14][..], 3, 24), (&[0], 17, 136), (&[0], 2, 15), (&[-17], 1, 8)]
        {
            let (mut one, mut other) = (vec![7_u32; room], vec![7_u32; room]);
            let mapped =
                error_message(rows.windows(len).and_then(|all| all.take_as(starts, &mut one)));
            let result = read.windows(len).and_then(|all| all.take_as(starts, &mut other));
            assert_eq!(error_message(result), mapped);
            assert!(other.iter().all(|&value| value == 7));
        }
        let error = read.take_as(&[0], &mut [false; 8]).unwrap_err();
        assert_eq!(error_message(rows.take_as(&[0], &mut [false; 8])), error.message().to_string());
        drop((rows, array));
        File::options().write(true).open(&path).unwrap().set_len(200).unwrap();
        let error = read.windows(2).unwrap().take_as(&[14], &mut [0_u32; 16]).unwrap_err();
        assert!(is_error(&error, ErrorKind::Truncated, "the elements end at byte"), "{error}");
    }
}

/// The bytes of a row of an array, whose elements are in C order then.
fn row_bytes(all: &[u8], shape: &[usize], order: Order, size: usize, row: usize) -> Vec<u8> {
    let (count, [_, one, two]) = (shape.iter().product::<usize>(), [shape[0], shape[1], shape[2]]);
    let place = |i, j| match order {
        Order::C => (row * one + i) * two + j,
        Order::F => row + shape[0] * (i + one * j),
    };
    let places = (0..one).flat_map(|i| (0..two).map(move |j| place(i, j)));
    assert_eq!(all.len(), count * size);
    places.flat_map(|at| all[at * size..(at + 1) * size].to_vec()).collect()
}

#[test]
fn many_rows_in_any_order_have_the_bytes_of_the_file() {
    let directory = directory();
    let record = "[('a', '|u1'), ('b', '>u4')]";
    let dtypes =
        [(">u2", 2), ("|S3", 3), (record, 5), ("|u1", 1), ("<u4", 4), ("<U2", 8), ("<c16", 16)];
    let shapes = [
        ([3000, 1, 5], Order::C),
        ([3000, 1, 5], Order::F),
        ([300, 3, 40], Order::C),
        ([300, 3, 40], Order::F),
        ([40, 300, 2], Order::F),
    ];
    let count = if quick() { 2 } else { dtypes.len() };
    for (number, (descr, size)) in dtypes.into_iter().take(count).enumerate() {
        // Each dtype with two of the shapes, and the first one with all of them.
        let step = if number == 0 || thorough() { 1 } else { 3 };
        for (shape, order) in shapes.into_iter().cycle().skip(number).take(5).step_by(step) {
            let len = shape.iter().product::<usize>() * size;
            let bytes: Vec<u8> = (0..len).map(|at| (at * 31 % 251) as u8).collect();
            let path = file(&directory, "a.npy", &npy(descr, &shape, order, &bytes));
            let (read, array) = (ArrayFile::open(&path).unwrap(), open(&path).unwrap());
            let rows: Vec<usize> = (0..250).map(|i| i * i * 7 % (shape[0] - 2)).collect();
            let each: Vec<Vec<u8>> =
                (0..shape[0]).map(|row| row_bytes(&bytes, &shape, order, size, row)).collect();
            let expected: Vec<u8> = rows.iter().flat_map(|&row| each[row].clone()).collect();
            let context = format!("{descr} {shape:?} {order:?}");

            let mut taken = vec![0; expected.len()];
            read.take_bytes(&rows, &mut taken).unwrap();
            assert!(taken == expected, "{context}");
            taken.fill(0);
            array.rows().unwrap().take_bytes(&rows, &mut taken).unwrap();
            assert!(taken == expected, "mapped {context}");
            let selected = read.select_rows(&rows).unwrap();
            let selected = selected.dyn_view().unwrap();
            assert!(selected.element_bytes().flatten().eq(&expected), "selected {context}");

            if descr == ">u2" {
                let numbers = |bytes: &[u8]| u16::from_be_bytes([bytes[0], bytes[1]]);
                let expected: Vec<u16> = expected.chunks_exact(2).map(numbers).collect();
                let (mut same, mut cast) = (vec![0_u16; expected.len()], vec![0.0; expected.len()]);
                array.rows().unwrap().take(&rows, &mut same).unwrap();
                assert!(same == expected, "decoded {context}");
                array.rows().unwrap().take_as(&rows, &mut cast).unwrap();
                let cast = cast.iter().map(|&number: &f64| number as u16);
                assert!(cast.eq(expected), "cast {context}");
            }

            let windows: Vec<u8> =
                rows.iter().flat_map(|&row| each[row..row + 3].concat()).collect();
            let mut taken = vec![0; windows.len()];
            read.windows(3).unwrap().take_bytes(&rows, &mut taken).unwrap();
            assert!(taken == windows, "windows {context}");
        }
    }
}

fn error_message(result: npymap::Result<()>) -> String {
    result.unwrap_err().message().to_string()
}
