//! Whole arrays: files that NumPy writes are read, and the files we write equal
//! NumPy's.

#[cfg(unix)]
mod unix;

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use npymap::ndarray::{
    Array, Array0, Array1, Array2, ArrayD, Dimension, Ix1, Ix2, IxDyn, ShapeBuilder as _, arr0,
    arr1, array, s,
};
use npymap::num_complex::Complex;
use npymap::{
    Be, DType, Element, ErrorKind, Header, Le, MappedArray, OpenOptions, Order, WriteOptions,
    element::{Bool, Ticks, Typed},
    half,
    npy::Version,
    write::WithDType,
};

use crate::cases::{cases, data, max_header_len};
use crate::support::{Raw, header_with, here, is_error};

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let directory = crate::support::directory();
    let path = directory.path().join("a.npy");
    (directory, path)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn written<T: Element + Typed, D: Dimension>(array: &Array<T, D>) -> Vec<u8> {
    let mut bytes = Vec::new();
    WriteOptions::new().write_to(&mut bytes, array).unwrap();
    bytes
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(data().join("numpy-2.4.6").join(name)).unwrap()
}

type Again = fn(&[u8], &Header) -> Vec<u8>;

/// Reads a file as `T` and writes it again.
fn read_and_write<T: Element>(bytes: &[u8], header: &Header) -> Vec<u8> {
    let options = OpenOptions::new().max_header_len(100_000_000);
    let array: ArrayD<T> = options.read_ndarray_from(bytes).unwrap();
    assert_eq!(array.shape(), header.shape);
    let mut out = Vec::new();
    let options = WriteOptions::new().version(header.version);
    let array = WithDType::new(&array, header.dtype.clone());
    assert_eq!(options.write_to(&mut out, &array).unwrap(), header.version);
    out
}

#[test]
fn files_saved_by_numpy_are_rewritten_byte_for_byte() {
    let mut count = 0;
    for case in cases("expect.jsonl") {
        let path = case["path"].as_str().unwrap();
        // `open_memmap` stores the requested order.
        let is_save = path.starts_with("numpy-2.4.6/") && !path.contains("/memmap-");
        if !is_save || case["ok"] == false {
            continue;
        }
        let bytes = fs::read(data().join(path)).unwrap();
        let header = header_with(
            &OpenOptions::new().max_header_len(max_header_len(&case)),
            data().join(path),
        )
        .unwrap();
        let bytes = &bytes[..header.data_offset + header.layout().unwrap().nbytes()];
        assert!(read_and_write::<Raw>(bytes, &header) == bytes, "{path}");
        let typed: Option<Again> =
            match header.dtype.to_string().trim_matches('\'').get(1..).unwrap_or_default() {
                "b1" => Some(read_and_write::<bool>),
                "i1" => Some(read_and_write::<i8>),
                "i2" => Some(read_and_write::<i16>),
                "i4" => Some(read_and_write::<i32>),
                "i8" => Some(read_and_write::<i64>),
                "u1" => Some(read_and_write::<u8>),
                "u2" => Some(read_and_write::<u16>),
                "u4" => Some(read_and_write::<u32>),
                "u8" => Some(read_and_write::<u64>),
                "f2" => Some(read_and_write::<half::f16>),
                "f4" => Some(read_and_write::<f32>),
                "f8" => Some(read_and_write::<f64>),
                "c8" => Some(read_and_write::<Complex<f32>>),
                "c16" => Some(read_and_write::<Complex<f64>>),
                "V16" => Some(read_and_write::<[u8; 16]>),
                "V3" => Some(read_and_write::<[u8; 3]>),
                "V0" => Some(read_and_write::<[u8; 0]>),
                "U7" | "S0" | "U0" => Some(read_and_write::<String>),
                name if name.starts_with(['M', 'm']) => Some(read_and_write::<Ticks>),
                _ => None,
            };
        // Not every `U7` that NumPy writes is valid Unicode: skip those.
        if let Some(typed) = typed.filter(|_| !path.contains("U7-be") && !path.contains("U7-le")) {
            assert!(typed(bytes, &header) == bytes, "{path}");
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn the_order_is_the_one_numpy_stores() {
    let c = Array::from_iter(0..6_i32).into_shape_with_order((2, 3)).unwrap();
    let f = Array2::from_shape_vec((2, 3).f(), vec![0, 3, 1, 4, 2, 5]).unwrap();
    assert_eq!(c, f);
    assert_eq!((stored_order(&written(&c)), stored_order(&written(&f))), (Order::C, Order::F));
    assert!(written(&f).ends_with(npymap::bytemuck::cast_slice(&[0, 3, 1, 4, 2, 5])));
    let mut columns = Vec::new();
    WriteOptions::new().write_to(&mut columns, &f.slice(s![.., ..2])).unwrap();
    assert_eq!(stored_order(&columns), Order::F);

    // Arrays that are contiguous in both orders count as C order.
    for shape in [(1, 3), (3, 1), (0, 3), (3, 0)] {
        assert_eq!(stored_order(&written(&Array2::<i32>::zeros(shape.f()))), Order::C, "{shape:?}");
    }
    assert_eq!(stored_order(&written(&arr1(&[1_i32]))), Order::C);

    // Arrays that are not contiguous are stored in C stored_order, whatever their
    // strides.
    for view in [
        f.slice(s![..1, ..]),
        c.slice(s![.., ..;2]),
        c.slice(s![..;-1, ..]),
        c.row(0).broadcast((4, 3)).unwrap(),
    ] {
        let mut bytes = Vec::new();
        WriteOptions::new().write_to(&mut bytes, &view).unwrap();
        assert_eq!(stored_order(&bytes), Order::C);
        assert_eq!(
            OpenOptions::new().read_ndarray_from::<i32, Ix2>(bytes.as_slice()).unwrap(),
            view
        );
    }
    let three = Array::from_iter(0..24_u16).into_shape_with_order((2, 3, 4)).unwrap();
    let mut bytes = Vec::new();
    WriteOptions::new().write_to(&mut bytes, &three.view().permuted_axes([1, 0, 2])).unwrap();
    assert_eq!(stored_order(&bytes), Order::C);
}

fn stored_order(bytes: &[u8]) -> Order {
    Header::parse(bytes).unwrap().order
}

/// Every order and rank of a dtype round-trips.
fn round<T>(dtype: &DType, value: impl Fn(u8) -> T)
where
    T: Element + Clone + PartialEq + Debug,
{
    for shape in [&[][..], &[0], &[1], &[5], &[3, 0], &[2, 3], &[4, 1, 3], &[2; 7], &[1; 64]] {
        for fortran in [false, true] {
            let elements = (0..u8::MAX).take(shape.iter().product()).map(&value).collect();
            let array = ArrayD::from_shape_vec(IxDyn(shape).set_f(fortran), elements).unwrap();
            let mut bytes = Vec::new();
            let to_write = WithDType::new(&array, dtype.clone());
            assert_eq!(WriteOptions::new().write_to(&mut bytes, &to_write).unwrap(), Version::V1);
            let header = Header::parse(&bytes).unwrap();
            assert_eq!((&header.dtype, header.shape.as_slice()), (dtype, shape));
            assert_eq!(bytes.len(), header.data_offset + header.layout().unwrap().nbytes());

            let mut stream = bytes.as_slice();
            let back: ArrayD<T> = OpenOptions::new().read_ndarray_from(&mut stream).unwrap();
            assert!(stream.is_empty());
            assert_eq!(back, array, "{dtype} {shape:?}");
            assert_eq!(back.strides(), array.strides(), "{dtype} {shape:?}");
            assert_eq!(MappedArray::from_bytes(&*bytes).unwrap().header(), Some(header));
        }
    }
}

#[test]
fn every_order_byte_order_and_rank_round_trips() {
    for order in ["<", ">"] {
        round(&dtype(order, "i2"), |i| i16::from(i) - 3);
        round(&dtype(order, "u4"), |i| u32::from(i) * 0x0102_0304);
        round(&dtype(order, "i8"), |i| i64::from(i) - 3);
        round(&dtype(order, "f2"), half::f16::from);
        round(&dtype(order, "f4"), |i| f32::from(i) / 3.0);
        round(&dtype(order, "f8"), |i| f64::from(i) / 3.0);
        round(&dtype(order, "c8"), |i| Complex::new(f32::from(i), -1.0));
        round(&dtype(order, "c16"), |i| Complex::new(f64::from(i), -1.0));
        round(&dtype(order, "M8[ns]"), |i| Ticks(i64::from(i)));
        round(&dtype(order, "U4"), |i| format!("é{i}"));
        round(&dtype(order, "U3"), |i| [i; 12]);
        let record = format!("[('a', '|u1'), ('', '|V3'), ('b', '{order}i4', (2,))]");
        round(&record.parse().unwrap(), |i| (i, [i32::from(i), -1]));
    }
    round(&DType::of::<bool>(), |i| i % 2 == 1);
    round(&DType::of::<Bool>(), |i| Bool::new(i % 2 == 1));
    round(&DType::of::<u8>(), |i| i);
    round(&DType::of::<Le<u16>>(), |i| Le::new(u16::from(i)));
    round(&DType::of::<Be<f64>>(), |i| Be::new(f64::from(i)));
    round(&"|S4".parse().unwrap(), |i| i.to_string());
    round(&"|S0".parse().unwrap(), |_| String::new());
    round(&"|V0".parse().unwrap(), |_| [0_u8; 0]);
    round(&"|V6".parse().unwrap(), |i| [i; 6]);
    round(&"|V6".parse().unwrap(), |i| Raw(vec![i; 6]));
}

fn dtype(order: &str, code: &str) -> DType {
    format!("{order}{code}").parse::<DType>().unwrap()
}

#[test]
fn arrays_larger_than_a_block_round_trip() {
    let (_directory, path) = scratch();
    let elements = Array1::from_iter((0..300_001).map(f64::from));
    for dtype in ["<f8", ">f8"] {
        let to_write = WithDType::new(&elements, dtype.parse().unwrap());
        WriteOptions::new().write(&path, &to_write).unwrap();
        assert_eq!(OpenOptions::new().read_ndarray::<f64, Ix1>(&path).unwrap(), elements);
        let file = io::BufReader::new(File::open(&path).unwrap());
        assert_eq!(OpenOptions::new().read_ndarray_from::<f64, Ix1>(file).unwrap(), elements);
    }
    let records = Array1::from_iter((0..300_001_i32).map(|i| (i64::from(i), 0.5_f32)));
    let dtype = "[('a', '<i8'), ('b', '>f4')]".parse().unwrap();
    WriteOptions::new().write(&path, &WithDType::new(&records.slice(s![..;-3]), dtype)).unwrap();
    assert_eq!(
        OpenOptions::new().read_ndarray::<(i64, f32), Ix1>(&path).unwrap(),
        records.slice(s![..;-3])
    );
    let large = Array1::from_elem(3, Raw(vec![7; 100_000]));
    let to_write = WithDType::new(&large, "|V100000".parse().unwrap());
    WriteOptions::new().write(&path, &to_write).unwrap();
    assert_eq!(OpenOptions::new().read_ndarray::<Raw, Ix1>(&path).unwrap(), large);
}

#[test]
fn padding_is_zero_in_every_block() {
    let dtype: DType = "[('a', '|u1'), ('', '|V3')]".parse().unwrap();
    let mut bytes = Vec::new();
    let array = Array1::from_elem(50_000, (0xff_u8,));
    WriteOptions::new().write_to(&mut bytes, &WithDType::new(&array, dtype)).unwrap();
    assert!(bytes[128..].chunks(4).all(|element| element == [0xff, 0, 0, 0]));
}

/// Returns a few bytes at a time, and is interrupted before each read.
struct Halting<R> {
    from: R,
    ready: bool,
}

impl<R: Read> Read for Halting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.ready = !self.ready;
        if self.ready {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let some = buffer.len().min(7);
        self.from.read(&mut buffer[..some])
    }
}

#[test]
fn arrays_are_read_in_sequence_from_a_stream() {
    let bytes = fixture("two-arrays.npy");
    let first = Header::parse(&bytes).unwrap();
    let mut stream = bytes.as_slice();
    let _: ArrayD<Raw> = OpenOptions::new().read_ndarray_from(&mut stream).unwrap();
    let end = first.data_offset + first.layout().unwrap().nbytes();
    assert_eq!(stream.len(), bytes.len() - end);
    let _: ArrayD<Raw> = OpenOptions::new().read_ndarray_from(&mut stream).unwrap();
    assert!(stream.is_empty());

    let mut bytes = Vec::new();
    WriteOptions::new().write_to(&mut bytes, &arr1(&[1.5_f32, 2.5])).unwrap();
    let (second, dtype) = (arr0(-2_i16), ">i2".parse().unwrap());
    WriteOptions::new().write_to(&mut bytes, &WithDType::new(&second, dtype)).unwrap();
    WriteOptions::new().write_to(&mut bytes, &Array2::<u8>::zeros((0, 4))).unwrap();
    WriteOptions::new().write_to(&mut bytes, &arr1(&[true])).unwrap();
    bytes.extend(b"rest");

    let mut stream = Halting { from: bytes.as_slice(), ready: false };
    assert_eq!(
        OpenOptions::new().read_ndarray_from::<f32, Ix1>(&mut stream).unwrap(),
        array![1.5, 2.5]
    );
    let second: Array0<i16> = OpenOptions::new().read_ndarray_from(&mut stream).unwrap();
    assert_eq!(second.into_scalar(), -2);
    let third: Array2<u8> = OpenOptions::new().read_ndarray_from(&mut stream).unwrap();
    assert_eq!(third.shape(), [0, 4]);
    let fourth: Array1<bool> = OpenOptions::new().read_ndarray_from(&mut stream).unwrap();
    assert_eq!(fourth, arr1(&[true]));
    assert_eq!(stream.from, b"rest");

    let mut end: &[u8] = b"";
    let error = OpenOptions::new().read_ndarray_from::<f32, Ix1>(&mut end).unwrap_err();
    assert!(is_error(&error, ErrorKind::Truncated, "it is empty"));
}

#[test]
fn streams_truncated_anywhere_are_errors() {
    let record = "[('a', '<i2'), ('b', '>f4')]".parse().unwrap();
    let mut bytes = Vec::new();
    let array = array![(1_i16, 2.0_f32), (3, 4.0)];
    WriteOptions::new().write_to(&mut bytes, &WithDType::new(&array, record)).unwrap();
    for end in 0..bytes.len() {
        let cut = &bytes[..end];
        let error = OpenOptions::new().read_ndarray_from::<(i16, f32), Ix1>(cut).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated, "{end}: {error}");
        assert!(OpenOptions::new().read_ndarray_from::<[u8; 6], Ix1>(cut).is_err(), "{end}");
    }
    let error = OpenOptions::new()
        .read_ndarray_from::<[u8; 6], Ix1>(&bytes[..bytes.len() - 1])
        .unwrap_err();
    assert_eq!(error.to_string(), "ends inside the elements: found 11 of 12 bytes");

    let (_directory, path) = scratch();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let error = OpenOptions::new().read_ndarray::<[u8; 6], Ix1>(&path).unwrap_err();
    let text = format!(
        "{}: the elements end at byte 140 and the file at 139: it was truncated, or is still being written",
        path.display()
    );
    assert_eq!(error.to_string(), text);
}

#[test]
fn announced_sizes_are_not_trusted() {
    for (descr, shape) in [
        ("'|u1'", "(1125899906842624,)"),
        ("'<f8'", "(140737488355328,)"),
        ("'>f8'", "(4, 35184372088832)"),
        ("'|S2147483647'", "()"),
        ("'|S2147483647'", "(1048576,)"),
        ("[('a', '|V1000000000'), ('b', '|V1000000000')]", "(1,)"),
    ] {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend([0; 1000]);
        let raw = OpenOptions::new().read_ndarray_from::<Raw, IxDyn>(&*bytes).unwrap_err();
        let number = OpenOptions::new().read_ndarray_from::<f64, IxDyn>(&*bytes);
        let byte = OpenOptions::new().read_ndarray_from::<u8, IxDyn>(&*bytes);
        let text = OpenOptions::new().read_ndarray_from::<String, IxDyn>(&*bytes);
        for error in [raw].into_iter().chain(number.err()).chain(byte.err()).chain(text.err()) {
            assert!(
                is_error(&error, ErrorKind::Truncated, "ends inside the elements: found 1000 of")
                    || is_error(&error, ErrorKind::DTypeMismatch, "asked for")
                    || usize::BITS < 64 && error.to_string().contains("address"),
                "{error}"
            );
        }
        let (_directory, path) = scratch();
        fs::write(&path, &bytes).unwrap();
        let error = OpenOptions::new().read_ndarray::<Raw, IxDyn>(&path).unwrap_err();
        assert!(
            is_error(&error, ErrorKind::Truncated, "the elements end at byte")
                || usize::BITS < 64 && error.to_string().contains("address"),
            "{error}"
        );
    }
}

#[test]
fn zero_sized_elements_are_limited() {
    let header = Header::new("|S0".parse().unwrap(), &[1 << 30], Order::C).unwrap();
    let bytes = header.encode(None).unwrap().bytes;
    let error = OpenOptions::new().read_ndarray_from::<String, Ix1>(&*bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "shape (1073741824,) has zero-size elements, of which at most 1048576 are read into memory: map or view the array instead"
    );
    assert!(OpenOptions::new().read_ndarray_from::<[u8; 0], Ix1>(&*bytes).is_err());
}

#[test]
fn errors_name_other_ranks_and_types() {
    let bytes = written(&array![[1_i32, 2]]);
    assert_eq!(
        OpenOptions::new().read_ndarray_from::<i32, Ix1>(&*bytes).unwrap_err().to_string(),
        "shape (1, 2) has 2 axes, asked for 1: use `Ix2`, or `IxDyn` for any number"
    );
    assert_eq!(
        OpenOptions::new().read_ndarray_from::<f32, Ix2>(&*bytes).unwrap_err().to_string(),
        here("stored as '<i4', asked for `f32`: use `i32`")
    );
    let (directory, path) = scratch();
    let (numbers, dtype) = (arr1(&[1_i32]), "<f8".parse().unwrap());
    let error = WriteOptions::new().write(&path, &WithDType::new(&numbers, dtype));
    assert!(is_error(&error.unwrap_err(), ErrorKind::DTypeMismatch, "asked for"));
    let missing = directory.path().join("missing.npy");
    let error = OpenOptions::new().read_ndarray::<f64, Ix1>(&missing).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: cannot open: ", missing.display())));
    assert_eq!(error.path(), Some(&*missing));
}

#[test]
fn an_error_leaves_everything_unchanged() {
    let (directory, path) = scratch();
    fs::write(&path, "precious").unwrap();
    let words = array!["a".to_owned(), "toolong".to_owned()];
    let words = WithDType::new(&words, "<U3".parse().unwrap());
    let error = WriteOptions::new().write(&path, &words).unwrap_err();
    let text =
        format!("{}: 'toolong' has 7 characters: expected at most 3 characters", path.display());
    assert_eq!(error.to_string(), text);
    let names_no_latin1: DType = "[('整', '<i4')]".parse().unwrap();
    let (records, options) = (arr1(&[(1_i32,)]), WriteOptions::new().version(Version::V1));
    let error = options.write(&path, &WithDType::new(&records, names_no_latin1)).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "cannot hold this header"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    assert_eq!(names(directory.path()), ["a.npy"]);

    let error = WriteOptions::new().write(directory.path(), &arr0(1_u8)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let nowhere = directory.path().join("missing/a.npy");
    assert!(
        WriteOptions::new()
            .write(&nowhere, &arr0(1_u8))
            .unwrap_err()
            .to_string()
            .contains("cannot create")
    );
    assert_eq!(names(directory.path()), ["a.npy"]);
}

/// Rejects more bytes than it has room for.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let some = bytes.len().min(self.0).min(100);
        self.0 -= some;
        if some == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(some) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn errors_of_a_writer_are_passed_on() {
    let array = Array1::<u16>::zeros(1000);
    assert_eq!(WriteOptions::new().write_to(Full(2128), &array).unwrap(), Version::V1);
    let error = WriteOptions::new().write_to(Full(2127), &array).unwrap_err().to_string();
    assert!(error.starts_with("cannot write the elements: "), "{error}");
    let error = WriteOptions::new().write_to(Full(127), &array).unwrap_err().to_string();
    assert!(error.starts_with("cannot write the header: "), "{error}");
}

#[test]
fn the_version_is_the_requested_one_or_the_first_that_fits() {
    let (_directory, path) = scratch();
    let options = WriteOptions::new();
    for version in [Version::V1, Version::V2, Version::V3] {
        assert_eq!(options.clone().version(version).write(&path, &arr0(1_i32)).unwrap(), version);
        assert_eq!(header_with(&OpenOptions::new(), &path).unwrap().version, version);
    }
    let (records, dtype) = (arr1(&[(1_i32,)]), "[('整', '<i4')]".parse().unwrap());
    assert_eq!(options.write(&path, &WithDType::new(&records, dtype)).unwrap(), Version::V3);
}

// Windows can't replace a mapped file.
#[cfg(unix)]
#[test]
fn maps_of_a_replaced_file_remain_valid() {
    let (_directory, path) = scratch();
    WriteOptions::new().write(&path, &arr1(&[1.0_f64; 1000])).unwrap();
    // SAFETY: the file is replaced, never changed.
    let old = unsafe { npymap::MappedArray::open(&path).unwrap() };
    let options = WriteOptions::new().sync(true);
    options.write(&path, &arr1(&[2.0_f64])).unwrap();
    assert_eq!(old.as_slice::<f64>().unwrap(), [1.0; 1000]);
    assert_eq!(OpenOptions::new().read_ndarray::<f64, Ix1>(&path).unwrap(), arr1(&[2.0]));
}
