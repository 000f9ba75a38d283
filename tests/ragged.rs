//! Rows of different lengths.

use std::path::{Path, PathBuf};

use npymap::{
    Appender, CreateOptions, DType, Element, ErrorKind, MappedArray, OpenOptions, Order, Value,
    bytemuck,
    element::{Casting, Number},
    loader::{Ragged, RaggedAppender, RowSource},
    source::Locking,
};

use crate::support::{directory, file, here, is_error, npy, open};

fn paths(directory: &tempfile::TempDir) -> [PathBuf; 2] {
    ["data.npy", "offsets.npy"].map(|name| directory.path().join(name))
}

fn read([data, offsets]: &[PathBuf; 2]) -> Ragged {
    Ragged::new(open(data).unwrap().rows().unwrap(), open(offsets).unwrap().rows().unwrap())
        .unwrap()
}

/// Row `n` has `n % 7` elements, all equal to `n`.
fn row(n: usize) -> Vec<u16> {
    vec![n as u16; n % 7]
}

/// Rows cast to the type of `out`.
fn take_padded_as<U: Number + bytemuck::Pod>(
    ragged: &Ragged,
    indices: &[usize],
    out: &mut [U],
    width: usize,
    pad: U,
) -> npymap::Result<Vec<usize>> {
    let (out, pad) = (bytemuck::cast_slice_mut(out), bytemuck::bytes_of(&pad));
    let dtype = DType::of::<U>();
    ragged.take_padded_bytes_as(indices, out, width, pad, &dtype, Casting::SameKind)
}

fn written(paths: &[PathBuf; 2], rows: usize) {
    let options = CreateOptions::new();
    let mut to =
        RaggedAppender::create(&paths[0], &paths[1], &DType::of::<u16>(), &[], &options).unwrap();
    (0..rows).for_each(|n| to.append_slice(&row(n)).unwrap());
    assert_eq!(to.rows(), rows);
    to.close().unwrap();
}

#[test]
fn rows_are_read_packed_and_padded() {
    let directory = directory();
    let paths = paths(&directory);
    written(&paths, 1000);
    let ragged = read(&paths);
    assert_eq!((ragged.row_count(), ragged.dtype().to_string()), (1000, here("'<u2'")));
    assert!((0..1000).all(|n| get::<u16>(&ragged, n).unwrap() == row(n)));
    let indices: Vec<usize> = (0..100).map(|i| i * 77 % 1000).collect();
    let mut packed = vec![9_u16; 5];
    let offsets = ragged.take_vec(&indices, &mut packed).unwrap();
    assert_eq!(packed, indices.iter().flat_map(|&n| row(n)).collect::<Vec<_>>());
    assert!(offsets.windows(2).zip(&indices).all(|(ends, n)| ends[1] - ends[0] == n % 7));
    for width in [0, 1, 4, 9] {
        let mut out = vec![7; width * 100];
        let lengths = ragged.take_padded(&indices, &mut out, width, &0).unwrap();
        assert!(lengths.iter().zip(&indices).all(|(len, n)| *len == n % 7));
        for (own, &n) in out.chunks_exact(width.max(1)).zip(&indices) {
            let mut expected = row(n);
            expected.resize(width, 0);
            assert_eq!(own, expected);
        }
    }
    assert!(is_error(
        &get::<u16>(&ragged, 1000).unwrap_err(),
        ErrorKind::OutOfBounds,
        "is out of bounds for "
    ));
    assert!(is_error(&get::<i8>(&ragged, 3).unwrap_err(), ErrorKind::DTypeMismatch, "asked for"));
    assert!(ragged.take_padded(&[1], &mut [0; 3], 2, &0_u16).is_err());
}

#[test]
fn padded_rows_are_cast() {
    let directory = directory();
    let paths = paths(&directory);
    written(&paths, 1000);
    let ragged = read(&paths);
    let indices: Vec<usize> = (0..100).map(|i| i * 77 % 1000).collect();
    for width in [0, 1, 4, 9] {
        let mut out = vec![7_i64; width * 100];
        let lengths = take_padded_as(&ragged, &indices, &mut out, width, -100).unwrap();
        assert!(lengths.iter().zip(&indices).all(|(len, n)| *len == n % 7));
        for (own, &n) in out.chunks_exact(width.max(1)).zip(&indices) {
            let mut expected: Vec<i64> = row(n).into_iter().map(i64::from).collect();
            expected.resize(width, -100);
            assert_eq!(own, expected);
        }
    }
    let mut halves = [0.0_f32; 8];
    take_padded_as(&ragged, &[1, 6], &mut halves, 4, f32::INFINITY).unwrap();
    assert_eq!(halves[..2], [1.0, f32::INFINITY]);
    let (boolean, casting) = (DType::of::<bool>(), Casting::SameKind);
    let error = ragged.take_padded_bytes_as(&[1], &mut [0; 2], 2, &[1], &boolean, casting);
    let error = error.unwrap_err();
    assert!(is_error(&error, ErrorKind::DTypeMismatch, "with casting `same_kind`"), "{error}");
    let error = take_padded_as(&ragged, &[1], &mut [0_i64; 3], 2, 0).unwrap_err();
    assert!(
        is_error(&error, ErrorKind::ShapeMismatch, "expected 16 values, one per element, found 24"),
        "{error}"
    );
}

#[test]
fn padded_text_is_not_cast() {
    let directory = directory();
    let paths = paths(&directory);
    let (options, dtype) = (CreateOptions::new(), "<U3".parse().unwrap());
    let to = RaggedAppender::create(&paths[0], &paths[1], &dtype, &[], &options).unwrap();
    to.close().unwrap();
    let error = take_padded_as(&read(&paths), &[], &mut [0.0_f64; 0], 0, 0.0).unwrap_err();
    assert!(is_error(&error, ErrorKind::DTypeMismatch, "cannot cast '<U3'"), "{error}");
}

#[test]
fn elements_may_have_axes_and_text() {
    let directory = directory();
    let paths = paths(&directory);
    let (options, dtype) = (CreateOptions::new(), "<U3".parse().unwrap());
    let mut to = RaggedAppender::create(&paths[0], &paths[1], &dtype, &[2], &options).unwrap();
    to.append_slice(&["a", "b", "c", "d"].map(str::to_owned)).unwrap();
    to.append_slice(&["e", "f"].map(str::to_owned)).unwrap();
    drop(to);
    let ragged = read(&paths);
    let mut packed = Vec::<String>::new();
    let offsets = ragged.take_vec(&[1, 0], &mut packed).unwrap();
    assert_eq!((packed.concat(), offsets), ("efabcd".to_owned(), vec![0, 1, 3]));
}

/// One row.
fn get<T: Element>(ragged: &Ragged, row: usize) -> npymap::Result<Vec<T>> {
    let mut out = Vec::new();
    ragged.take_vec(&[row], &mut out)?;
    Ok(out)
}

#[test]
fn rows_are_appended_to_existing_files() {
    let directory = directory();
    let paths = paths(&directory);
    written(&paths, 10);
    let mut more = OpenOptions::new().append_ragged(&paths[0], &paths[1]).unwrap();
    assert_eq!(more.rows(), 10);
    (10..20).for_each(|n| more.append_slice(&row(n)).unwrap());
    more.close().unwrap();
    let ragged = read(&paths);
    assert!(ragged.row_count() == 20 && (0..20).all(|n| get::<u16>(&ragged, n).unwrap() == row(n)));
}

fn append<T: npymap::Element>(path: &Path, values: &[T]) {
    let mut to = Appender::open(path).unwrap();
    to.append_slice(values).unwrap();
    to.close().unwrap();
}

#[test]
fn leftovers_of_a_killed_writer_are_removed() {
    let directory = directory();
    let paths = paths(&directory);
    for (elements, offsets) in [(&[1_u16, 2][..], &[][..]), (&[], &[90_i64, 95]), (&[1], &[33, 90])]
    {
        for path in &paths {
            std::fs::remove_file(path).ok();
        }
        written(&paths, 10);
        append(&paths[0], elements);
        append(&paths[1], offsets);
        refused(&paths, ErrorKind::Corrupt, "belong together, or to `recover` them");
        let mut more = RaggedAppender::recover(&paths[0], &paths[1]).unwrap();
        let before = more.rows();
        assert_eq!(before, 10, "{offsets:?}");
        more.append_slice(&row(13)).unwrap();
        more.close().unwrap();
        let ragged = read(&paths);
        assert!((0..10).all(|n| get::<u16>(&ragged, n).unwrap() == row(n)));
        assert_eq!(get::<u16>(&ragged, before).unwrap(), row(13));
    }
}

/// Returns the bytes of both files after an error of `append_ragged`.
fn refused(paths: &[PathBuf; 2], kind: ErrorKind, text: &str) {
    let before = paths.each_ref().map(|path| std::fs::read(path).unwrap());
    let error = OpenOptions::new().append_ragged(&paths[0], &paths[1]).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().ends_with(text), "{error}");
    assert_eq!(before, paths.each_ref().map(|path| std::fs::read(path).unwrap()));
}

#[test]
fn files_that_are_not_data_and_offsets_are_not_changed() {
    let directory = directory();
    let paths = paths(&directory);
    let mut numbers: Vec<u8> = (0..100_i64).rev().flat_map(i64::to_le_bytes).collect();
    file(&directory, "data.npy", &npy("<i8", &[100], Order::C, &numbers));
    for (descr, shape, offsets, kind, text) in [
        ("<f8", &[3][..], &[0, 1, 2][..], ErrorKind::DTypeMismatch, ""),
        ("<i4", &[3], &[0, 1], ErrorKind::DTypeMismatch, ""),
        ("<i8", &[1, 2], &[0, 1], ErrorKind::ShapeMismatch, "expected rows of shape (*,)"),
        ("<i8", &[], &[0], ErrorKind::ShapeMismatch, "rows need at least one axis"),
        (
            "<i8",
            &[0],
            &[],
            ErrorKind::Corrupt,
            "no offsets of 100 elements: expected 0, the offset of the first one",
        ),
        ("<i8", &[4], &[5000, 1, 2, 3], ErrorKind::Corrupt, "offset 0 is 5000: expected 0"),
        ("<i8", &[3], &[-1, 1, 2], ErrorKind::Corrupt, "offset 0 is -1: expected 0"),
        ("<i8", &[3], &[0, 3, 2], ErrorKind::Corrupt, "offset 2 is 2: expected at least 3"),
        ("<i8", &[4], &[0, 500, 3, 5], ErrorKind::Corrupt, "offset 2 is 3: expected at least 500"),
    ] {
        write_offsets(&directory, descr, shape, offsets);
        refused(&paths, kind, text);
    }
    // Neither are rows and bytes that the headers do not count.
    numbers.extend([1; 9]);
    file(&directory, "data.npy", &npy("<i8", &[100], Order::C, &numbers));
    write_offsets(&directory, "<i8", &[3], &[0, 3, 2, 4]);
    refused(&paths, ErrorKind::Corrupt, "offset 2 is 2: expected at least 3");
    // The two files in the wrong order.
    write_offsets(&directory, "<i8", &[3], &[0, 40, 100]);
    let swapped = [paths[1].clone(), paths[0].clone()];
    refused(&swapped, ErrorKind::Corrupt, "offset 0 is 99: expected 0");
}

#[test]
fn files_that_do_not_belong_together_are_not_changed() {
    let directory = directory();
    let long = paths(&directory);
    written(&long, 100);
    let short = ["short.npy", "short_offsets.npy"].map(|name| directory.path().join(name));
    written(&short, 3);
    for (data, offsets) in [(&long[0], &short[1]), (&short[0], &long[1])] {
        let text = "expected files that belong together, or to `recover` them";
        refused(&[data.clone(), offsets.clone()], ErrorKind::Corrupt, text);
    }
    // Bytes that the headers do not count may be removed.
    for path in &short {
        let mut bytes = std::fs::read(path).unwrap();
        bytes.extend([1; 9]);
        std::fs::write(path, bytes).unwrap();
    }
    assert_eq!(OpenOptions::new().append_ragged(&short[0], &short[1]).unwrap().rows(), 3);
}

#[test]
fn offsets_that_a_loss_of_power_left_are_removed() {
    let directory = directory();
    let paths = paths(&directory);
    file(&directory, "data.npy", &npy("<u2", &[6], Order::C, &[1; 12]));
    // The header counts two; the others were written, but not to the disk.
    for tail in [&[0_i64, 0][..], &[4, 0], &[4, -7, 9], &[4, 5000, 3]] {
        let numbers: Vec<u8> = [0, 2].iter().chain(tail).flat_map(|n| n.to_le_bytes()).collect();
        file(&directory, "offsets.npy", &npy("<i8", &[2], Order::C, &numbers));
        let known = if tail[0] == 4 { 3 } else { 2 };
        let to = RaggedAppender::recover(&paths[0], &paths[1]).unwrap();
        assert_eq!(to.rows(), known - 1);
        to.close().unwrap();
        let ragged = read(&paths);
        assert_eq!(get::<u16>(&ragged, 0).unwrap(), [257; 2]);
        drop(ragged);
        file(&directory, "data.npy", &npy("<u2", &[6], Order::C, &[1; 12]));
    }
}

#[test]
fn zeros_that_a_loss_of_power_left_are_no_rows() {
    let directory = directory();
    let paths = paths(&directory);
    let options = CreateOptions::new();
    let empty = RaggedAppender::create(&paths[0], &paths[1], &DType::of::<u16>(), &[], &options);
    empty.unwrap().close().unwrap();
    let mut bytes = std::fs::read(&paths[1]).unwrap();
    bytes.resize(bytes.len() + 800, 0);
    file(&directory, "offsets.npy", &bytes);
    let mut appender = OpenOptions::new().append_ragged(&paths[0], &paths[1]).unwrap();
    assert_eq!(appender.rows(), 0);
    // Empty rows that were flushed stay.
    (0..3).for_each(|_| appender.append_slice::<u16>(&[]).unwrap());
    appender.close().unwrap();
    assert_eq!(OpenOptions::new().append_ragged(&paths[0], &paths[1]).unwrap().rows(), 3);
}

#[test]
fn both_files_are_created_or_neither() {
    let directory = directory();
    let paths = paths(&directory);
    written(&paths, 10);
    let before = std::fs::read(&paths[0]).unwrap();
    let missing = directory.path().join("missing/offsets.npy");
    let same = directory.path().join("./data.npy");
    let overwrite = CreateOptions::new().overwrite(true);
    let create = |data: &Path, offsets: &Path, options: &CreateOptions| {
        RaggedAppender::create(data, offsets, &DType::of::<u16>(), &[], options)
    };
    for (offsets, kind) in [(&missing, ErrorKind::NotFound), (&same, ErrorKind::InvalidInput)] {
        assert_eq!(create(&paths[0], offsets, &overwrite).unwrap_err().kind(), kind);
        assert_eq!(std::fs::read(&paths[0]).unwrap(), before);
    }
    let missing = ["1/a.npy", "2/a.npy"].map(|path| directory.path().join(path));
    let error = create(&missing[0], &missing[1], &overwrite).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let new = directory.path().join("new.npy");
    let error = create(&new, &paths[1], &CreateOptions::new()).unwrap_err();
    assert!(error.kind() == ErrorKind::AlreadyExists && !new.exists(), "{error}");
    assert_eq!(create(&new, &new, &overwrite).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(!new.exists());
    create(&paths[0], &paths[1], &overwrite).unwrap().close().unwrap();
    assert_eq!(read(&paths).row_count(), 0);
}

#[test]
fn invalid_offsets_are_errors() {
    let directory = directory();
    let paths = paths(&directory);
    file(&directory, "data.npy", &npy("<u2", &[4], Order::C, &[0; 8]));
    write_offsets(&directory, "<i8", &[4], &[0, 5, 2, -1]);
    let ragged = read(&paths);
    for (row, range) in [(0, "from 0 to 5"), (1, "from 5 to 2"), (2, "from 2 to -1")] {
        let error = get::<u16>(&ragged, row).unwrap_err().to_string();
        assert_eq!(error, format!("row {row} {range}: expected increasing offsets, up to 4"));
    }
    drop(ragged);
    for (descr, shape, count) in [("<f8", &[2][..], 2), ("<i8", &[1, 2], 2), ("<i8", &[0], 0)] {
        write_offsets(&directory, descr, shape, &vec![0; count]);
        let [data, offsets] =
            [&paths[0], &paths[1]].map(|path| open(path).unwrap().rows().unwrap());
        let error = Ragged::new(data, offsets).unwrap_err().to_string();
        assert!(error.ends_with("expected one axis of integers, one more than the number of rows"));
    }
}

fn write_offsets(directory: &tempfile::TempDir, descr: &str, shape: &[usize], numbers: &[i64]) {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    file(directory, "offsets.npy", &npy(descr, shape, Order::C, &bytes));
}

#[test]
fn a_rejected_row_is_not_kept() {
    let directory = directory();
    let paths = paths(&directory);
    let options = CreateOptions::new();
    let mut to =
        RaggedAppender::create(&paths[0], &paths[1], &DType::of::<u16>(), &[], &options).unwrap();
    let offsets = std::fs::File::options().write(true).open(&paths[1]).unwrap();
    let len = offsets.metadata().unwrap().len();
    // Offsets can't be written to a file that another writer extended.
    offsets.set_len(len + 1).unwrap();
    let mut refused = 0;
    for n in 0..10_000 {
        if to.append_slice(&row(n)).is_err() {
            refused += 1;
            assert_eq!(to.rows(), n);
            offsets.set_len(len).unwrap();
            to.append_slice(&row(n)).unwrap();
        }
        assert_eq!(to.rows(), n + 1);
    }
    assert_eq!(refused, 1);
    to.close().unwrap();
    let ragged = read(&paths);
    assert_eq!(ragged.row_count(), 10_000);
    assert!((0..10_000).all(|n| get::<u16>(&ragged, n).unwrap() == row(n)));
}

#[test]
fn rows_that_were_not_written_do_not_appear_later() {
    let directory = directory();
    let paths = paths(&directory);
    written(&paths, 3);
    let mut to = OpenOptions::new().append_ragged(&paths[0], &paths[1]).unwrap();
    let offsets = std::fs::File::options().write(true).open(&paths[1]).unwrap();
    let len = offsets.metadata().unwrap().len();
    to.append_slice(&row(5)).unwrap();
    offsets.set_len(len + 1).unwrap();
    assert!(to.flush().is_err());
    offsets.set_len(len).unwrap();
    drop(to);
    assert_eq!(read(&paths).row_count(), 3);
    assert!(OpenOptions::new().append_ragged(&paths[0], &paths[1]).is_err());
    let mut to = RaggedAppender::recover(&paths[0], &paths[1]).unwrap();
    to.append_slice(&row(6)).unwrap();
    to.close().unwrap();
    let ragged = read(&paths);
    assert_eq!((ragged.row_count(), get::<u16>(&ragged, 3).unwrap()), (4, row(6)));
    drop(ragged);
    // All are written if the appender is used again.
    let mut to = OpenOptions::new().append_ragged(&paths[0], &paths[1]).unwrap();
    let len = offsets.metadata().unwrap().len();
    to.append_slice(&row(4)).unwrap();
    offsets.set_len(len + 1).unwrap();
    assert!(to.flush().is_err());
    offsets.set_len(len).unwrap();
    to.append_slice(&row(5)).unwrap();
    drop(to);
    let ragged = read(&paths);
    assert_eq!((ragged.row_count(), get::<u16>(&ragged, 5).unwrap()), (6, row(5)));
}

#[test]
fn bytes_of_rows_are_those_of_the_elements() {
    let directory = directory();
    let paths = paths(&directory);
    let (dtype, options) = (">u2".parse().unwrap(), CreateOptions::new());
    let mut to = RaggedAppender::create(&paths[0], &paths[1], &dtype, &[2], &options).unwrap();
    assert_eq!((to.dtype(), to.item_shape()), (&dtype, &[2][..]));
    for n in 0..40 {
        let row: Vec<u8> =
            row(n).iter().flat_map(|x| [x.to_be_bytes(), [0, 7]]).flatten().collect();
        to.append_bytes(&row).unwrap();
    }
    assert_eq!(to.append_bytes(&[0; 3]).unwrap_err().kind(), ErrorKind::ShapeMismatch);
    assert_eq!(to.rows(), 40);
    to.close().unwrap();

    let ragged = read(&paths);
    let indices = [39_usize, 0, 5, 13, 39];
    let (mut bytes, mut values) = (vec![1; 3], Vec::<u16>::new());
    let offsets = ragged.take_bytes(&indices, &mut bytes).unwrap();
    assert_eq!(offsets, ragged.take_vec(&indices, &mut values).unwrap());
    assert_eq!(bytes, values.iter().flat_map(|x| x.to_be_bytes()).collect::<Vec<u8>>());
    assert_eq!(ragged.take_bytes(&[0_usize; 0], &mut bytes).unwrap(), [0]);
    assert!(bytes.is_empty());
    assert_eq!(ragged.take_bytes(&[40], &mut bytes).unwrap_err().kind(), ErrorKind::OutOfBounds);

    for width in [0, 1, 4, 9] {
        let mut floats = vec![0.0_f64; 5 * width * 2];
        let lengths = take_padded_as(&ragged, &indices, &mut floats, width, -100.0).unwrap();
        for (to, casting) in
            [("<f4", Casting::SameKind), (">f8", Casting::Safe), ("|i1", Casting::Unsafe)]
        {
            let dtype: DType = to.parse().unwrap();
            let mut pad = MappedArray::zeros(&dtype, &[5 * width * 2 + 1]).unwrap();
            let mut view = pad.dyn_view_mut().unwrap();
            for (i, &value) in [-100.0].iter().chain(&floats).enumerate() {
                view.set(i, Value::parse(&value.to_string(), &dtype).unwrap()).unwrap();
            }
            let expected = pad.into_data().as_ref().to_vec();
            let (pad, expected) = expected.split_at(dtype.itemsize());
            let mut out = vec![7; expected.len()];
            let found =
                ragged.take_padded_bytes_as(&indices, &mut out, width, pad, &dtype, casting);
            assert_eq!(found.unwrap(), lengths);
            assert_eq!(out, expected, "{to}, width {width}");
        }
    }
    let mut own = [7; 2 * 2 * 2 * 2];
    let lengths = ragged.take_padded_bytes_as(&[1, 0], &mut own, 2, &[1, 2], &dtype, Casting::No);
    assert_eq!(lengths.unwrap(), [1, 0]);
    assert_eq!(own, [0, 1, 0, 7, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn padding_and_casts_that_do_not_fit_are_errors() {
    let directory = directory();
    let paths = paths(&directory);
    written(&paths, 3);
    let ragged = read(&paths);
    let mut out = [7; 8];
    let mut error = |to: &str, casting, pad: &[u8]| {
        let to = to.parse().unwrap();
        ragged.take_padded_bytes_as(&[1, 2], &mut out, 2, pad, &to, casting).unwrap_err()
    };
    let message = "padding of 1 bytes: expected one element of '<u2', 2 bytes";
    assert!(is_error(&error("<u2", Casting::Equiv, &[0]), ErrorKind::InvalidInput, message));
    let message = "allow it with casting `same_kind`";
    assert!(is_error(&error("|u1", Casting::Safe, &[0]), ErrorKind::DTypeMismatch, message));
    let shape = error("<u4", Casting::Safe, &[0; 4]);
    assert!(
        is_error(&shape, ErrorKind::ShapeMismatch, "expected 16 values, one per element, found 8"),
        "{shape}"
    );
    assert_eq!(out, [7; 8]);
}

#[test]
fn padded_rows_are_a_source_of_rows() {
    let directory = directory();
    let paths = paths(&directory);
    written(&paths, 1000);
    let ragged = read(&paths);
    let indices: Vec<usize> = (0..100).map(|i| i * 77 % 1000).collect();
    for width in [0, 1, 4, 9] {
        let padded = ragged.padded(width, &-100_i64).unwrap();
        assert_eq!(padded.shape(), [1000, width]);
        let mut expected = vec![0_i64; width * 100];
        take_padded_as(&ragged, &indices, &mut expected, width, -100).unwrap();
        let source: Box<dyn RowSource> = Box::new(padded.clone());
        let mut out = vec![7_i64; width * 100];
        source.take_as(&indices, &mut out).unwrap();
        assert_eq!(out, expected);
        assert!(source.take_as(&[1000], &mut out[..width]).is_err());
        assert_eq!(padded.take_array::<i64>(&indices).unwrap().shape(), [100, width]);
        // Windows of padded rows overlap.
        let windows = padded.windows(3).unwrap();
        let mut out = vec![0_i64; 2 * 3 * width];
        windows.take(&[997, 5], &mut out).unwrap();
        let rows = [997, 998, 999, 5, 6, 7];
        take_padded_as(&ragged, &rows, &mut expected[..6 * width], width, -100).unwrap();
        assert_eq!(out, expected[..6 * width]);
    }
    // Axes after the first are kept.
    let directory = self::directory();
    let paths = self::paths(&directory);
    let options = CreateOptions::new();
    let dtype = DType::of::<u8>();
    let mut to = RaggedAppender::create(&paths[0], &paths[1], &dtype, &[2], &options).unwrap();
    to.append_bytes(&[1; 2]).unwrap();
    to.append_bytes(&[]).unwrap();
    to.close().unwrap();
    let ragged = read(&paths);
    let padded = ragged.padded(2, &9_u8).unwrap();
    assert_eq!(padded.shape(), [2, 2, 2]);
    let mut out = [0; 8];
    padded.take_bytes(&[1, 0], &mut out).unwrap();
    assert_eq!(out, [9, 9, 9, 9, 1, 1, 9, 9]);
    let huge = ragged.padded(usize::MAX, &9_u8).unwrap_err();
    assert_eq!(huge.kind(), ErrorKind::InvalidInput, "{huge}");
    assert_eq!(ragged.padded(2, &false).unwrap_err().kind(), ErrorKind::DTypeMismatch);
}

#[test]
fn files_are_opened_or_created() {
    let directory = directory();
    let [data, offsets] = paths(&directory);
    let (dtype, new, options) = (DType::of::<u8>(), CreateOptions::new(), OpenOptions::new());
    let open = || options.append_or_create_ragged(&data, &offsets, &dtype, &[], &new);
    for rows in [1, 2] {
        let mut to = open().unwrap();
        to.append_slice(b"text").unwrap();
        assert_eq!(to.rows(), rows);
        if cfg!(unix) {
            assert_eq!(open().unwrap_err().kind(), ErrorKind::Locked);
        }
    }
    for (dtype, row, kind) in
        [("<u2", &[][..], ErrorKind::DTypeMismatch), ("|u1", &[2], ErrorKind::ShapeMismatch)]
    {
        let dtype = dtype.parse().unwrap();
        let error =
            options.append_or_create_ragged(&data, &offsets, &dtype, row, &new).unwrap_err();
        assert_eq!((error.kind(), error.path()), (kind, Some(&*data)), "{error}");
    }
    assert_eq!(options.append_ragged(&data, &offsets).unwrap().rows(), 2);
    let error = options.append_or_create_ragged(&data, &data, &dtype, &[], &new).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "expected two files"), "{error}");
    // Rows without their offsets, or offsets without rows, are of something else.
    std::fs::rename(&offsets, directory.path().join("o")).unwrap();
    assert_eq!(open().unwrap_err().kind(), ErrorKind::NotFound);
    std::fs::rename(directory.path().join("o"), &offsets).unwrap();
    std::fs::rename(&data, directory.path().join("d")).unwrap();
    let error = open().unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::AlreadyExists, Some(&*offsets)));
    assert_eq!(crate::support::names(directory.path()), ["d", "offsets.npy"]);
}

#[test]
fn files_whose_creator_died_in_between_are_completed() {
    let directory = directory();
    let [data, offsets] = paths(&directory);
    let (dtype, new) = (DType::of::<u8>(), CreateOptions::new());
    Appender::create(&data, &dtype, &[], &new).unwrap().close().unwrap();
    for rows in [1, 2] {
        let options = OpenOptions::new();
        let mut to = options.append_or_create_ragged(&data, &offsets, &dtype, &[], &new).unwrap();
        to.append_slice(b"text").unwrap();
        assert_eq!(to.rows(), rows);
        to.close().unwrap();
    }
    assert_eq!(get::<u8>(&read(&[data, offsets]), 1).unwrap(), b"text");
}

#[test]
#[cfg(unix)]
fn appenders_of_ragged_rows_wait_for_each_other() {
    let directory = directory();
    let paths = paths(&directory);
    written(&paths, 3);
    let first = OpenOptions::new().append_ragged(&paths[0], &paths[1]).unwrap();
    let second = std::thread::spawn({
        let [data, offsets] = paths.clone();
        move || {
            OpenOptions::new().locking(Locking::Wait).append_ragged(data, offsets).unwrap().rows()
        }
    });
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(!second.is_finished());
    drop(first);
    assert_eq!(second.join().unwrap(), 3);
}
