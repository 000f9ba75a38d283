//! Whole arrays are read as NumPy loads them, and written as NumPy saves them.

use std::fs;

use npymap::ndarray::ArrayD;
use npymap::{
    CreateOptions, DType, Element, Header, MappedArray, OpenOptions, Order, Value, WriteOptions,
    write::WithDType,
};
use serde_json::json;

use crate::oracle::{Oracle, hex};
use crate::support::{Raw, create, directory};

/// The bytes of elements in C order.
fn stored<T: Element>(array: &ArrayD<T>, dtype: &DType) -> String {
    let codec = T::codec(dtype).unwrap();
    let size = dtype.itemsize();
    let mut bytes = vec![0; array.len() * size];
    for (at, value) in array.iter().enumerate() {
        value.encode(&codec, &mut bytes[at * size..][..size]).unwrap();
    }
    hex(&bytes)
}

/// Reads and writes a file with elements of type `T`, in every way.
fn check_round_trip<T: Element>(file: &[u8], path: &str, elements: &str, saved: bool) {
    let header = Header::parse(file).unwrap();
    let array: ArrayD<T> = OpenOptions::new().read_ndarray(path).unwrap();
    assert_eq!(stored(&array, &header.dtype), elements, "{header:?}");

    let copy = format!("{path}.copy");
    let to_write = WithDType::new(&array, header.dtype.clone());
    WriteOptions::new().write(&copy, &to_write).unwrap();
    let written = fs::read(&copy).unwrap();
    // `open_memmap` writes any order, `save` the array's.
    assert_eq!(written == file, saved || written == file, "{header:?}");
    let mut streamed = Vec::new();
    WriteOptions::new().write_to(&mut streamed, &to_write).unwrap();
    assert!(streamed == written, "{header:?}");
    fs::remove_file(&copy).unwrap();

    let from = MappedArray::from_bytes(file).unwrap();
    let options = CreateOptions::new().order(header.order).version(header.version);
    let mut to = create(&copy, &header.dtype.to_string(), &header.shape, &options).unwrap();
    to.view_mut::<T>().unwrap().assign(&from.view().unwrap()).unwrap();
    to.close().unwrap();
    assert!(fs::read(&copy).unwrap() == file, "{header:?}");
    fs::remove_file(&copy).unwrap();
}

#[test]
fn whole_arrays_equal_numpys() {
    let Some(mut numpy) = Oracle::start("views.py") else { return };
    let directory = directory();
    let (mut count, mut fortran) = (0, 0);
    for file in numpy.ask(&json!(["saved", directory.path(), 20_240_229, 200])).as_array().unwrap()
    {
        for path in file["paths"].as_array().unwrap() {
            let path = path.as_str().unwrap();
            let bytes = fs::read(path).unwrap();
            let (elements, saved) = (file["bytes"].as_str().unwrap(), path.contains(".save."));
            check_round_trip::<Raw>(&bytes, path, elements, saved);
            if saved {
                check_round_trip::<Value>(&bytes, path, elements, saved);
            }
            count += 1;
            fortran += usize::from(Header::parse(&bytes).unwrap().order == Order::F);
        }
    }
    assert!(count > 350 && fortran > 100, "{count} {fortran}");
}
