//! We read what NumPy writes, and NumPy reads what we write, with the NumPy
//! that is installed.

use std::fs;
use std::path::Path;

use npymap::half::f16;
use npymap::ndarray::{Ix3, IxDyn};
use npymap::num_complex::Complex;
use npymap::{
    Be, CreateOptions, DType, ErrorKind, Header, Le, MappedArray, Order, array::AnyArray,
    npy::Version,
};
use serde_json::{Value, json};

use crate::oracle::{Oracle, hex};
use crate::support::{
    create, directory, is_error, open, open_copy_on_write, open_mode, open_mut, unhex,
};

fn order_of(fortran_order: &Value) -> Order {
    if fortran_order.as_bool().unwrap() { Order::F } else { Order::C }
}

fn shape_of(shape: &Value) -> Vec<usize> {
    shape.as_array().unwrap().iter().map(|dim| dim.as_u64().unwrap() as usize).collect()
}

#[test]
fn headers_equal_numpys_byte_for_byte() {
    let Some(mut numpy) = Oracle::start("oracle.py") else { return };
    let versions = [None, Some(Version::V1), Some(Version::V2), Some(Version::V3)];
    for case in numpy.ask(&json!(["headers", 20_240_229, 400])).as_array().unwrap() {
        let descr = case["descr"].as_str().unwrap();
        let dtype = match descr.parse::<DType>() {
            Err(error) if descr.contains("|O") => {
                assert!(is_error(&error, ErrorKind::Unsupported, "Python objects"), "{error}");
                continue;
            }
            dtype => dtype.unwrap_or_else(|error| panic!("{descr}: {error}")),
        };
        assert_eq!(dtype.to_string(), descr);
        let order = order_of(&case["fortran_order"]);
        let header = Header::new(dtype, &shape_of(&case["shape"]), order).unwrap();
        for (version, written) in versions.into_iter().zip(case["written"].as_array().unwrap()) {
            match (written.as_str(), header.encode(version)) {
                (Some(hex), Ok(encoded)) => {
                    let (numpys, ours) = (unhex(hex), encoded.bytes);
                    assert_eq!(ours.escape_ascii().to_string(), numpys.escape_ascii().to_string());
                    assert_eq!(encoded.version.major(), numpys[6]);
                }
                (None, Err(_)) => {}
                (numpys, ours) => panic!("{descr} in {version:?}: {ours:?}, NumPy: {numpys:?}"),
            }
        }
    }
}

#[test]
fn magic_that_numpy_rejects_is_rejected() {
    let Some(mut numpy) = Oracle::start("oracle.py") else { return };
    let cases = numpy.ask(&json!(["magic"]));
    assert!(cases.as_array().unwrap().len() >= 13);
    for case in cases.as_array().unwrap() {
        let bytes = unhex(case["bytes"].as_str().unwrap());
        let refused = Header::parse(&bytes).is_err();
        assert_eq!(refused, case["array"].as_bool().unwrap(), "{}", bytes.escape_ascii());
    }
}

/// A dtype of each kind, except those without bytes.
const DTYPES: [&str; 22] = [
    "'|b1'",
    "'|i1'",
    "'<u2'",
    "'>i4'",
    "'<i8'",
    "'<f2'",
    "'>f4'",
    "'<f8'",
    "'<f16'",
    "'>c8'",
    "'<c16'",
    "'<c32'",
    "'<M8[ns]'",
    "'>m8[25s]'",
    "'|S5'",
    "'<U7'",
    "'>U2'",
    "'|V2'",
    "[('a', '|u1'), ('b', '<f4', (3,))]",
    "[('a', '|u1'), ('', '|V3'), ('b', '>f4')]",
    "[('é', '<i2'), ('n', [('x', '>f8'), ('y', '|S3')])]",
    "[('整', '<i2')]",
];

const SHAPES: [(&[usize], Order); 8] = [
    (&[], Order::C),
    (&[1], Order::C),
    (&[7], Order::C),
    (&[2, 3], Order::C),
    (&[2, 3], Order::F),
    (&[2, 3, 4], Order::C),
    (&[2, 3, 4], Order::F),
    (&[2, 1, 3, 2], Order::F),
];

/// Assorted bytes for the elements of an array; 0 and 1 for booleans.
fn random(dtype: &DType, shape: &[usize]) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let limit = if dtype.kind() == npymap::dtype::Kind::Bool { 1 } else { 0xff };
    let len = shape.iter().product::<usize>() * dtype.itemsize();
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3] & limit
        })
        .collect()
}

/// Calls a function with `[u8; N]` of the elements' size.
macro_rules! sized {
    ($itemsize:expr, $function:ident $arguments:tt) => {
        sized!($itemsize, $function $arguments, 1 2 4 5 8 13 16 28 32)
    };
    ($itemsize:expr, $function:ident $arguments:tt, $($n:literal)*) => {
        match $itemsize {
            $($n => $function::<$n> $arguments,)*
            size => panic!("elements of {size} bytes"),
        }
    };
}

fn bytes_in_c_order<const N: usize>(array: &MappedArray<impl AsRef<[u8]>>) -> Vec<u8> {
    array.as_ndarray::<[u8; N], IxDyn>().unwrap().iter().flatten().copied().collect()
}

/// The elements in C order, in hexadecimal.
fn elements(array: &MappedArray<impl AsRef<[u8]>>) -> String {
    hex(&sized!(array.dtype().itemsize(), bytes_in_c_order(array)))
}

/// Stores elements that are given in C order.
fn store<const N: usize>(array: &mut MappedArray<impl AsMut<[u8]>>, bytes: &[u8]) {
    let mut view = array.as_ndarray_mut::<[u8; N], IxDyn>().unwrap();
    view.iter_mut().zip(bytes.chunks(N)).for_each(|(to, from)| to.copy_from_slice(from));
}

/// One of many arrays, and its description for NumPy.
struct Case {
    descr: &'static str,
    shape: &'static [usize],
    order: Order,
    bytes: Vec<u8>,
}

impl Case {
    fn all() -> impl Iterator<Item = Case> {
        DTYPES.into_iter().flat_map(|descr| {
            SHAPES.map(|(shape, order)| {
                let bytes = random(&descr.parse().unwrap(), shape);
                Case { descr, shape, order, bytes }
            })
        })
    }

    fn letter(&self) -> &'static str {
        if self.order == Order::F { "F" } else { "C" }
    }

    /// Has NumPy write the array to a file.
    fn save(&self, numpy: &mut Oracle, path: &Path, how: &Value) {
        let elements = hex(&self.bytes);
        numpy.ask(&json!(["save", path, how, self.descr, self.shape, self.letter(), elements]));
    }

    /// Asserts that an opened array is this one.
    fn assert_equals(&self, array: &MappedArray<impl AsRef<[u8]>>) {
        let what = format!("{} {:?} {:?}", self.descr, self.shape, self.order);
        assert_eq!((array.dtype().to_string().as_str(), array.shape()), (self.descr, self.shape));
        assert_eq!(elements(array), hex(&self.bytes), "{what}");
    }
}

#[test]
fn files_numpy_wrote_open_in_every_mode() {
    let Some(mut numpy) = Oracle::start("oracle.py") else { return };
    let directory = directory();
    let path = directory.path().join("numpys.npy");
    for case in Case::all() {
        for how in [json!("save"), json!("open_memmap"), json!([3, 0])] {
            case.save(&mut numpy, &path, &how);
            for mode in ["r", "r+", "c"] {
                match open_mode(mode, &path).unwrap() {
                    AnyArray::ReadOnly(array) => case.assert_equals(&array),
                    AnyArray::Writable(array) => case.assert_equals(&array),
                }
            }
            case.assert_equals(&MappedArray::load(&path).unwrap());
            fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn edits_reach_numpy_by_read_write_alone() {
    let Some(mut numpy) = Oracle::start("oracle.py") else { return };
    let directory = directory();
    let path = directory.path().join("edited.npy");
    for case in Case::all() {
        case.save(&mut numpy, &path, &json!("save"));
        let itemsize = case.bytes.len() / case.shape.iter().product::<usize>();
        let reversed: Vec<u8> = case.bytes.rchunks(itemsize).flatten().copied().collect();

        let mut private = open_copy_on_write(&path).unwrap();
        sized!(itemsize, store(&mut private, &reversed));
        private.close().unwrap();
        let untouched = numpy.ask(&json!(["load", path]));
        assert_eq!(untouched["elements"], hex(&case.bytes), "{}", case.descr);

        let mut shared = open_mut(&path).unwrap();
        sized!(itemsize, store(&mut shared, &reversed));
        shared.close().unwrap();
        let edited = numpy.ask(&json!(["load", path]));
        assert_eq!(edited["elements"], hex(&reversed), "{}", case.descr);
        assert_eq!(
            (&edited["descr"], shape_of(&edited["shape"])),
            (&json!(case.descr), case.shape.to_vec())
        );
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn created_files_equal_numpys_byte_for_byte() {
    let Some(mut numpy) = Oracle::start("oracle.py") else { return };
    let directory = directory();
    let (ours, numpys) = (directory.path().join("ours.npy"), directory.path().join("numpys.npy"));
    for case in Case::all() {
        case.save(&mut numpy, &numpys, &json!("save"));
        let options = CreateOptions::new().order(case.order).overwrite(true);
        let mut array = create(&ours, case.descr, case.shape, &options).unwrap();
        sized!(array.dtype().itemsize(), store(&mut array, &case.bytes));
        array.close().unwrap();
        assert_eq!(
            hex(&fs::read(&ours).unwrap()),
            hex(&fs::read(&numpys).unwrap()),
            "{}",
            case.descr
        );
        assert_eq!(numpy.ask(&json!(["load", ours]))["elements"], hex(&case.bytes));
        fs::remove_file(&numpys).unwrap();
    }
}

/// Reads numbers that NumPy wrote in a byte order, doubles them, and lets NumPy
/// sum them.
macro_rules! counts {
    ($numpy:ident, $path:ident, $($code:literal: $type:ty, $from:expr, $to:expr;)*) => {$(
        for order in ["C", "F"] {
            counts!(@ $numpy, $path, order, concat!("<", $code), Le<$type>, $from, $to);
            counts!(@ $numpy, $path, order, concat!(">", $code), Be<$type>, $from, $to);
        }
    )*};
    (@ $numpy:ident, $path:ident, $order:ident, $descr:expr, $type:ty, $from:expr, $to:expr) => {
        let counted = $numpy.ask(&json!(["save_numbers", $path, $descr, $order]));
        let counted: Vec<f64> = counted.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect();
        let array = open(&$path).unwrap();
        let view = array.as_ndarray::<$type, Ix3>().unwrap();
        assert_eq!(view.iter().map(|n| $from(n.get())).collect::<Vec<f64>>(), counted, "{}", $descr);
        drop(array);
        let mut array = open_mut(&$path).unwrap();
        let mut view = array.as_ndarray_mut::<$type, Ix3>().unwrap();
        view.mapv_inplace(|n| <$type>::new($to(2.0 * $from(n.get()))));
        array.close().unwrap();
        assert_eq!($numpy.ask(&json!(["total", $path])), 2.0 * counted.iter().sum::<f64>(), "{}", $descr);
    };
}

#[test]
fn numbers_equal_numpys_in_both_byte_orders() {
    let Some(mut numpy) = Oracle::start("oracle.py") else { return };
    let directory = directory();
    let path = directory.path().join("numbers.npy");
    counts! {
        numpy, path,
        "i1": i8, f64::from, |n| n as i8;
        "i2": i16, f64::from, |n| n as i16;
        "i4": i32, f64::from, |n| n as i32;
        "i8": i64, |n: i64| n as f64, |n| n as i64;
        "u1": u8, f64::from, |n| n as u8;
        "u2": u16, f64::from, |n| n as u16;
        "u4": u32, f64::from, |n| n as u32;
        "u8": u64, |n: u64| n as f64, |n| n as u64;
        "f2": f16, f64::from, f16::from_f64;
        "f4": f32, f64::from, |n| n as f32;
        "f8": f64, |n: f64| n, |n| n;
        "c8": Complex<f32>, |n: Complex<f32>| f64::from(n.re), |n| Complex::new(n as f32, 0.0);
        "c16": Complex<f64>, |n: Complex<f64>| n.re, |n| Complex::new(n, 0.0);
    }
}
