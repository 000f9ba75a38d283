//! Rows are appended after the existing ones, and the header is updated
//! afterwards.

use std::fs;

use npymap::ndarray::{Array1, Array2, Ix1, array, aview1};
use npymap::{
    Appender, Be, CreateOptions, DType, ErrorKind, Header, OpenOptions, Order, WriteOptions,
    npy::Version, source::Locking, write::resize,
};

use crate::support::{
    NATIVE, Raw, create, directory, file, header_text_with, header_with, here, is_error, names,
    native, npy, open, raw, text,
};

fn order(order: Order) -> CreateOptions {
    CreateOptions::new().order(order)
}

/// A value in this machine's byte order.
fn native_bytes(value: i16) -> [u8; 2] {
    if NATIVE == '<' { value.to_le_bytes() } else { value.to_be_bytes() }
}

#[test]
fn a_grown_file_equals_one_written_whole() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    for (order, shape) in [(Order::C, [2, 3]), (Order::F, [3, 2])] {
        for buffer in [0, 1, 30, 1 << 16] {
            let mut all = Vec::new();
            let options = self::order(order);
            let mut appender = Appender::create(&path, &DType::of::<i16>(), &[3], &options)
                .unwrap()
                .with_capacity(buffer);
            for i in 0..60_i16 {
                let rows = Array2::from_shape_fn(shape, |(r, c)| i * 100 + (r * 10 + c) as i16);
                let rows =
                    if i % 3 == 0 { rows } else { rows.t().as_standard_layout().t().to_owned() };
                appender.append(&rows).unwrap();
                let in_order = if order == Order::F { rows.t().to_owned() } else { rows };
                all.extend(in_order.iter().flat_map(|v| native_bytes(*v)));
            }
            let last = array![7_i16, 8, 9];
            appender.append(&last).unwrap();
            appender.append_slice(&[1_i16, 2, 3, 4, 5, 6]).unwrap();
            appender.append_bytes(&[1, 2, 3].map(native_bytes).concat()).unwrap();
            let rest = [7, 8, 9, 1, 2, 3, 4, 5, 6, 1, 2, 3_i16];
            all.extend(rest.into_iter().flat_map(native_bytes));
            assert_eq!((appender.rows(), appender.order()), (124, order));
            appender.close().unwrap();
            let shape = if order == Order::C { [124, 3] } else { [3, 124] };
            assert_eq!(
                fs::read(&path).unwrap(),
                npy(&native("i2"), &shape, order, &all),
                "{order:?} {buffer}"
            );
            assert_eq!(names(directory.path()), ["a.npy"]);
            fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn values_are_stored_in_the_dtype_of_the_file() {
    let directory = directory();
    for descr in [">f4", "<f4"] {
        let path = file(&directory, "a.npy", &npy(descr, &[1], Order::C, &[0; 4]));
        let mut appender = Appender::open(&path).unwrap();
        appender.append_slice(&[1.5_f32, 2.5]).unwrap();
        appender.append(&aview1(&[3.5_f32])).unwrap();
        appender.close().unwrap();
        assert_eq!(
            OpenOptions::new().read_ndarray::<f32, _>(&path).unwrap(),
            array![0.0, 1.5, 2.5, 3.5]
        );
    }
    let path = file(&directory, "b.npy", &npy(">f4", &[0], Order::C, &[]));
    Appender::open(&path).unwrap().append_slice(&[Be::new(1.5_f32)]).unwrap();
    assert_eq!(OpenOptions::new().read_ndarray::<f32, _>(&path).unwrap(), array![1.5]);
    let path = file(&directory, "c.npy", &npy("<U3", &[0], Order::C, &[]));
    let mut appender = Appender::open(&path).unwrap();
    appender.append_slice(&["abc".to_owned(), "é".to_owned()]).unwrap();
    let error = appender.append_slice(&["x".to_owned(), "long".to_owned()]).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidValue, "expected"), "{error}");
    assert_eq!(appender.shape(), [2], "all rows or none");
    appender.append_slice(&["z".to_owned()]).unwrap();
    drop(appender);
    assert_eq!(
        OpenOptions::new().read_ndarray::<String, _>(&path).unwrap(),
        array!["abc", "é", "z"]
    );
}

#[test]
fn a_value_that_does_not_fit_undoes_the_append() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("<U2", &[0], Order::C, &[]));
    let mut appender = Appender::open(&path).unwrap();
    appender.append_slice(&["a".to_owned()]).unwrap();
    let mut many = vec!["b".to_owned(); 100_000];
    many.push("too long".to_owned());
    appender.append_slice(&many).unwrap_err();
    assert_eq!(appender.rows(), 1);
    appender.close().unwrap();
    assert_eq!(OpenOptions::new().read_ndarray::<String, _>(&path).unwrap(), array!["a"]);
    assert_eq!(fs::metadata(&path).unwrap().len(), 128 + 8);
}

#[test]
fn rows_of_another_shape_are_rejected() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("<f8", &[0, 2, 3], Order::C, &[]));
    let mut appender = Appender::open(&path).unwrap();
    let expected = "expected rows of shape (*, 2, 3)";
    let error = appender.append(&Array2::<f64>::zeros((3, 2))).unwrap_err();
    assert_wrong_rows(&path, &error, &format!("found (3, 2), {expected}"));
    let error = appender.append(&Array1::<f64>::zeros(6)).unwrap_err();
    assert_wrong_rows(&path, &error, &format!("found (6,), {expected}"));
    let error = appender.append_slice(&[0.0; 7]).unwrap_err();
    assert_wrong_rows(&path, &error, &format!("found 7 values, {expected}"));
    let error = appender.append_bytes(&[0; 47]).unwrap_err();
    assert_wrong_rows(&path, &error, &format!("found 47 bytes, {expected}"));
    let error = appender.append_slice(&[0_f32; 6]).unwrap_err();
    assert!(is_error(&error, ErrorKind::DTypeMismatch, "asked for"), "{error}");
    drop(appender);
    assert_eq!(fs::read(&path).unwrap(), npy("<f8", &[0, 2, 3], Order::C, &[]));
}

fn assert_wrong_rows(path: &std::path::Path, error: &npymap::Error, text: &str) {
    assert!(is_error(error, ErrorKind::ShapeMismatch, "rows of shape"));
    assert_eq!(error.to_string(), format!("{}: {text}", path.display()));
}

#[test]
fn readers_see_flushed_rows_and_keep_their_own() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[2], Order::C, b"ab"));
    let before = open(&path).unwrap();
    let mut appender = Appender::open(&path).unwrap();
    appender.append_slice(b"c").unwrap();
    assert_eq!(open(&path).unwrap().shape(), [2]);
    appender.flush().unwrap();
    assert_eq!(open(&path).unwrap().as_slice::<u8>().unwrap(), b"abc");
    appender.append_slice(b"d").unwrap();
    appender.sync().unwrap();
    assert_eq!(open(&path).unwrap().as_slice::<u8>().unwrap(), b"abcd");
    appender.append_slice(b"e").unwrap();
    drop(appender);
    assert_eq!(open(&path).unwrap().as_slice::<u8>().unwrap(), b"abcde");
    assert_eq!(before.as_slice::<u8>().unwrap(), b"ab");
}

#[test]
fn a_header_without_room_is_extended() {
    let directory = directory();
    // As NumPy 1.13 and other writers leave it: the data at 80, with room for
    // two digits.
    let tight = text("'|u1'", "(7,)", Order::C, 60);
    let path = file(&directory, "a.npy", &raw(&tight, b"0123456"));
    // Windows can't replace a mapped file.
    let before = cfg!(unix).then(|| open(&path).unwrap());
    let mut appender = Appender::open(&path).unwrap().with_capacity(0);
    let room = 60 - 1 - tight.trim_end().len();
    let mut offsets = Vec::new();
    for len in 8..12_000 {
        appender.append_slice(b"x").unwrap();
        if len % 1000 == 0 || len < 20 {
            let header = header_with(&OpenOptions::new(), &path).unwrap();
            assert_eq!(header.shape, [len]);
            offsets.push(header.data_offset);
        }
    }
    drop(appender);
    offsets.dedup();
    assert!(room < 4);
    assert_eq!(offsets, [70, 128], "with room for {room} digits more");
    assert!(before.is_none_or(|before| before.as_slice::<u8>().unwrap() == b"0123456"));
    let elements = [b"0123456".to_vec(), vec![b'x'; 11_992]].concat();
    assert_eq!(fs::read(&path).unwrap(), npy("|u1", &[11_999], Order::C, &elements));
    assert_eq!(names(directory.path()), ["a.npy"]);
}

#[test]
fn headers_by_other_writers_become_numpys() {
    let directory = directory();
    let odd = "{ \"shape\": (2L,), 'descr':'f4' ,\n'fortran_order':False}          \n";
    let path = file(&directory, "a.npy", &raw(odd, &[0; 8]));
    assert!(open(&path).unwrap().header().unwrap().has_long_integers);
    // Its dtype does not specify its byte order.
    Appender::open(&path).unwrap().append_slice(&[1.0_f32]).unwrap();
    let text = header_text_with(&OpenOptions::new(), &path).unwrap();
    assert!(!text.header().unwrap().has_long_integers);
    assert_eq!(
        text.as_str().trim_end(),
        here("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }")
    );
    assert_eq!(OpenOptions::new().read_ndarray::<f32, _>(&path).unwrap(), array![0.0, 0.0, 1.0]);
}

#[test]
fn every_version_and_alignment_is_kept() {
    let directory = directory();
    for version in [Version::V1, Version::V2, Version::V3] {
        let path = directory.path().join("a.npy");
        let options = CreateOptions::new().version(version).page_aligned(true).overwrite(true);
        let mut appender = Appender::create(&path, &DType::of::<u8>(), &[], &options).unwrap();
        appender.append_slice(&[1_u8; 100]).unwrap();
        drop(appender);
        let header = header_with(&OpenOptions::new(), &path).unwrap();
        assert_eq!((header.version, header.data_offset, header.shape), (version, 4096, vec![100]));
    }
}

#[test]
fn files_that_cannot_grow_are_rejected() {
    let directory = directory();
    let scalar = file(&directory, "0d.npy", &npy("<f8", &[], Order::C, &[0; 8]));
    let error = Appender::open(&scalar).unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, "no axis to append along"), "{error}");
    let longer = file(&directory, "longer.npy", &npy("<f8", &[1], Order::C, &[0; 9]));
    let error = Appender::open(&longer).unwrap_err();
    let text = "the elements end at byte 136 and the file at 137: `recover` turns the bytes that follow into rows";
    assert_eq!(error.to_string(), format!("{}: {text}", longer.display()));
    let shorter = file(&directory, "shorter.npy", &npy("<f8", &[1], Order::C, &[0; 7]));
    let error = Appender::open(&shorter).unwrap_err();
    assert!(is_error(&error, ErrorKind::Truncated, "the elements end at byte"), "{error}");
    let full = npy("|V0", &[isize::MAX as usize], Order::C, &[]);
    let full = file(&directory, "full.npy", &full);
    let error =
        Appender::open(&full).unwrap().append(&Array1::from_elem(1, [0_u8; 0])).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "-bit address space"), "{error}");
    assert!(Appender::open(directory.path()).is_err());
    assert!(Appender::open(directory.path().join("none.npy")).is_err());
}

#[test]
fn another_writer_is_detected() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[1], Order::C, b"a"));
    let mut one = Appender::open(&path).unwrap();
    // Like a program that does not lock.
    let mut other = OpenOptions::new().locking(Locking::Off).append(&path).unwrap();
    one.append_slice(b"b").unwrap();
    one.flush().unwrap();
    other.append_slice(b"c").unwrap();
    let error = other.flush().unwrap_err();
    let text = "the file has 130 bytes, expected 129: another process or handle changed it during the append";
    assert_eq!(error.to_string(), format!("{}: {text}", path.display()));
    drop(other);
    assert_eq!(fs::read(&path).unwrap(), npy("|u1", &[2], Order::C, b"ab"));
}

#[test]
fn undoing_an_append_does_not_cut_off_what_another_program_wrote() {
    let directory = directory();
    for len in [0, 100, 150_000, 250_000] {
        let path = file(&directory, "a.npy", &npy("|u1", &[1], Order::C, b"a"));
        let (part, other) = (vec![0; 100_000], vec![7; len]);
        let mut log = Appender::open(&path).unwrap();
        let error = log.append_parts(200_000, |put| {
            put(&part)?;
            fs::write(&path, &other).unwrap();
            put(&part)
        });
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Changed);
        drop(log);
        assert!(fs::read(&path).unwrap() == other, "{len} bytes");
    }
}

#[cfg(unix)]
#[test]
fn a_locked_file_is_not_replaced() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    let (dtype, overwrite) = (DType::of::<u8>(), CreateOptions::new().overwrite(true));
    let mut first = Appender::create(&path, &dtype, &[], &overwrite).unwrap();
    let error = Appender::create(&path, &dtype, &[], &overwrite).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    first.append_slice(&[1_u8, 2]).unwrap();
    first.close().unwrap();
    assert_eq!(OpenOptions::new().read_ndarray::<u8, Ix1>(&path).unwrap().to_vec(), [1, 2]);
    Appender::create(&path, &dtype, &[], &overwrite).unwrap().close().unwrap();
}

#[cfg(panic = "unwind")]
#[test]
fn a_panic_in_a_part_adds_no_rows() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    for capacity in [0, 64 * 1024] {
        let options = CreateOptions::new().overwrite(true);
        let log = Appender::create(&path, &DType::of::<u8>(), &[], &options).unwrap();
        let mut log = log.with_capacity(capacity);
        log.append_slice(&[1_u8]).unwrap();
        let panics = std::panic::AssertUnwindSafe(|| {
            log.append_parts(3, |append| -> npymap::Result<()> {
                append(&[7, 8])?;
                std::panic::resume_unwind(Box::new("by the caller"))
            })
        });
        assert!(std::panic::catch_unwind(panics).is_err());
        log.append_slice(&[4_u8, 5]).unwrap();
        assert_eq!(log.rows(), 3);
        log.close().unwrap();
        let array = OpenOptions::new().read_ndarray::<u8, Ix1>(&path).unwrap();
        assert_eq!(array.to_vec(), [1, 4, 5]);
    }
}

#[test]
fn rows_of_no_bytes_are_counted() {
    let directory = directory();
    for (descr, shape) in [("<f8", vec![0, 0]), ("<f8", vec![4, 0])] {
        let path = file(&directory, "a.npy", &npy(descr, &shape, Order::C, &[]));
        let mut appender = Appender::open(&path).unwrap();
        appender.append(&Array2::<f64>::zeros((3, 0))).unwrap();
        appender.append_slice::<f64>(&[]).unwrap();
        appender.close().unwrap();
        let expected = npy(descr, &[shape[0] + 3, 0], Order::C, &[]);
        assert_eq!(fs::read(&path).unwrap(), expected);
    }
}

#[test]
fn resized_arrays_keep_their_rows() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    let table = Array2::from_shape_fn((5, 3), |(r, c)| (r * 3 + c) as f64);
    for (rows, expected) in [(5, 5), (9, 9), (2, 2), (0, 0)] {
        WriteOptions::new().write(&path, &table).unwrap();
        let mapped = cfg!(unix).then(|| open(&path).unwrap());
        resize(&path, rows).unwrap();
        let resized: Array2<f64> = OpenOptions::new().read_ndarray(&path).unwrap();
        assert_eq!(resized.dim(), (expected, 3));
        for (row, old) in resized.rows().into_iter().zip(table.rows()) {
            assert_eq!(row, old);
        }
        assert!(resized.rows().into_iter().skip(5).all(|row| row.sum() == 0.0));
        if let Some(mapped) = mapped {
            assert_eq!(mapped.as_ndarray::<f64, npymap::ndarray::Ix2>().unwrap(), table);
        }
        let nbytes = resized.len() * 8;
        assert_eq!(fs::metadata(&path).unwrap().len(), 128 + nbytes as u64);
    }
    let error = resize(&path, usize::MAX).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "-bit address space"), "{error}");
    assert_eq!(names(directory.path()), ["a.npy"]);
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn more_rows_than_the_disk_holds_change_nothing() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[1], Order::C, b"a"));
    let error = resize(&path, 1 << 60).unwrap_err();
    assert!(is_error(&error, ErrorKind::Io, "cannot reserve space"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), npy("|u1", &[1], Order::C, b"a"));
}

#[test]
fn a_new_file_with_only_a_header_can_be_appended_to() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    drop(create(&path, "<f8", &[0, 4], &CreateOptions::new()).unwrap());
    Appender::open(&path).unwrap().append_slice(&[1.0_f64; 8]).unwrap();
    let header = Header::read(fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(header.shape, [2, 4]);
}

#[cfg(panic = "unwind")]
#[test]
fn a_panic_among_the_values_leaves_the_rows_before() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|V2", &[0], Order::C, &[]));
    let mut appender = Appender::open(&path).unwrap();
    appender.append_slice(&[Raw(vec![1, 2])]).unwrap();
    let panics = std::panic::AssertUnwindSafe(move || {
        let values = vec![Raw(vec![3, 4]); 50_000];
        appender.append_slice(&[values, vec![Raw(vec![5])]].concat()).unwrap();
    });
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(fs::read(&path).unwrap(), npy("|V2", &[1], Order::C, &[1, 2]));
}

#[cfg(unix)]
#[test]
fn rows_in_a_file_that_was_replaced_are_an_error() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[1], Order::C, b"a"));
    let mut log = Appender::open(&path).unwrap();
    log.append_slice(b"b").unwrap();
    log.sync().unwrap();
    fs::rename(file(&directory, "b.npy", &npy("|u1", &[1], Order::C, b"z")), &path).unwrap();
    log.append_slice(b"c").unwrap();
    for _ in 0..2 {
        assert_eq!(log.sync().unwrap_err().kind(), ErrorKind::Changed);
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(log.close().unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn shrinking_does_not_drop_rows_of_another_writer() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[3], Order::C, b"abc"));
    let mut log = Appender::open(&path).unwrap();
    let whole = npy("|u1", &[8], Order::C, b"abcdefgh");
    fs::write(&path, &whole).unwrap();
    for rows in [2, 3, 4] {
        assert_eq!(log.resize(rows).unwrap_err().kind(), ErrorKind::Changed, "{rows}");
    }
    drop(log);
    assert_eq!(fs::read(&path).unwrap(), whole);
}

#[test]
fn a_file_is_opened_or_created() {
    let directory = directory();
    let path = directory.path().join("log.npy");
    let dtype: DType = "<f4".parse().unwrap();
    for rows in [1, 2] {
        let mut log = Appender::open_or_create(&path, &dtype, &[3]).unwrap();
        log.append_slice(&[0.5_f32, 1.5, 2.5]).unwrap();
        assert_eq!(log.rows(), rows);
        if cfg!(unix) {
            is_error_kind(Appender::open_or_create(&path, &dtype, &[3]), ErrorKind::Locked);
        }
    }
    let before = fs::read(&path).unwrap();
    for (dtype, row, kind, text) in [
        ("<f8", &[3][..], ErrorKind::DTypeMismatch, "elements of '<f4', asked for rows of '<f8'"),
        (">f4", &[3], ErrorKind::DTypeMismatch, "elements of '<f4', asked for rows of '>f4'"),
        ("<f4", &[4], ErrorKind::ShapeMismatch, "found (4,), expected rows of shape (3,)"),
        ("<f4", &[], ErrorKind::ShapeMismatch, "found (), expected rows of shape (3,)"),
        ("<f4", &[3, 1], ErrorKind::ShapeMismatch, "found (3, 1), expected rows of shape (3,)"),
    ] {
        let error = Appender::open_or_create(&path, &dtype.parse().unwrap(), row).unwrap_err();
        assert_eq!((error.kind(), error.path()), (kind, Some(&*path)), "{error}");
        assert!(error.to_string().ends_with(text), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(names(directory.path()), ["log.npy"]);
}

#[test]
fn a_file_that_is_opened_or_created_has_the_requested_order() {
    let directory = directory();
    let path = directory.path().join("log.npy");
    let (dtype, options) = (DType::of::<u8>(), OpenOptions::new());
    let fortran = CreateOptions::new().order(Order::F);
    for columns in [1, 2] {
        let mut log = options.append_or_create(&path, &dtype, &[2, 1], &fortran).unwrap();
        log.append_slice(&[7_u8, 8]).unwrap();
        assert_eq!(log.shape(), [2, 1, columns]);
    }
    let error = options.append_or_create(&path, &dtype, &[2, 1], &CreateOptions::new());
    let error = error.unwrap_err();
    let text = "found (2, 1), expected rows of shape (2, 1) in Fortran order";
    assert!(is_error(&error, ErrorKind::ShapeMismatch, text), "{error}");
    let overwrite = CreateOptions::new().overwrite(true);
    let error = options.append_or_create(&path, &dtype, &[2, 1], &overwrite).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "opened and overwritten"), "{error}");
    let missing = directory.path().join("no/log.npy");
    is_error_kind(Appender::open_or_create(missing, &dtype, &[]), ErrorKind::NotFound);
    let other = file(&directory, "other.npy", b"not an array");
    is_error_kind(Appender::open_or_create(other, &dtype, &[]), ErrorKind::Corrupt);
}

/// Where files can neither be linked nor renamed without replacing one, an empty file has the
/// name for a moment.
#[test]
#[cfg(unix)]
fn an_empty_file_that_is_about_to_be_replaced_is_opened_again() {
    let directory = directory();
    let path = file(&directory, "log.npy", b"");
    let new = directory.path().join("new.npy");
    let dtype = DType::of::<u8>();
    Appender::create(&new, &dtype, &[], &CreateOptions::new()).unwrap().close().unwrap();
    let opened = std::thread::spawn({
        let (path, dtype) = (path.clone(), dtype.clone());
        move || Appender::open_or_create(path, &dtype, &[]).unwrap().rows()
    });
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::rename(&new, &path).unwrap();
    assert_eq!(opened.join().unwrap(), 0);
    fs::write(&path, b"").unwrap();
    is_error_kind(Appender::open_or_create(&path, &dtype, &[]), ErrorKind::Truncated);
}

#[track_caller]
fn is_error_kind<T: std::fmt::Debug>(done: npymap::Result<T>, kind: ErrorKind) {
    let error = done.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
}
