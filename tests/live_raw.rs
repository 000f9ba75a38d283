//! Raw binary is mapped as by `numpy.memmap`: dtypes × offsets × shapes × modes
//! × orders, with files of the right and of other lengths.

use std::fs;
use std::path::Path;

use npymap::{
    CreateOptions, MappedArray, Mode, OpenOptions, Order, Result,
    array::{AnyArray, RawSpec},
};
use serde_json::{Value, json};

use crate::oracle::{Oracle, hex};
use crate::seeded::seeds;
use crate::support::{create, directory, open_mode_with};

const SEED: u64 = 11_939;

/// The number of files for each seed; each file is opened in four modes.
const FILES: u64 = 300;

fn numbers(list: &Value) -> Vec<usize> {
    list.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect()
}

/// Maps like `opened` in `raw.py`.
fn opened(path: &Path, case: &Value) -> Result<AnyArray> {
    let mode: Mode = case["mode"].as_str().unwrap().parse().unwrap();
    let order = if case["order"] == "F" { Order::F } else { Order::C };
    let (descr, offset) = (case["descr"].as_str().unwrap(), case["offset"].as_u64().unwrap());
    let shape = (!case["requested_shape"].is_null()).then(|| numbers(&case["requested_shape"]));
    let mut spec = RawSpec::new(descr.parse().unwrap()).offset(offset).order(order);
    if let Some(shape) = &shape {
        if mode == Mode::Create {
            let options = CreateOptions::new().raw(offset).order(order).overwrite(true);
            return create(path, descr, shape, &options).map(AnyArray::Writable);
        }
        spec = spec.shape(shape);
    }
    open_mode_with(&OpenOptions::new().raw(spec), mode, path)
}

/// Compares the mapped elements with NumPy's, and stores the same values.
fn compare_and_store<D: AsRef<[u8]>>(
    array: MappedArray<D>,
    case: &Value,
    store: impl FnOnce(D) -> Vec<u8>,
) {
    assert_eq!(array.shape(), numbers(&case["shape"]), "{case}");
    let strides = array.byte_strides().iter().map(|&stride| json!(stride)).collect::<Vec<_>>();
    assert_eq!(json!(strides), case["strides"], "{case}");
    let data = array.into_data();
    assert_eq!(hex(data.as_ref()), case["before"].as_str().unwrap(), "{case}");
    assert_eq!(hex(&store(data)), case["after"].as_str().unwrap(), "{case}");
}

/// Returns whether an array without a shape starts after the end of its file.
fn is_after_end(case: &Value, len: usize) -> bool {
    case["requested_shape"].is_null() && case["offset"].as_u64().unwrap() > len as u64
}

#[test]
fn raw_binary_is_mapped_as_by_numpys_memmap() {
    let Some(mut numpy) = Oracle::start("raw.py") else { return };
    let directory = directory();
    let (mut mapped, mut refused) = (0, 0);
    for seed in seeds(SEED, 4 * FILES) {
        let answer = numpy.ask(&json!(["cases", directory.path(), seed, FILES]));
        for case in answer.as_array().unwrap() {
            let path = Path::new(case["path"].as_str().unwrap());
            let before = fs::read(path).unwrap();
            match (opened(path, case), case["error"].is_null()) {
                (Ok(AnyArray::ReadOnly(array)), true) => {
                    compare_and_store(array, case, |data| data.as_ref().to_vec());
                }
                (Ok(AnyArray::Writable(array)), true) => {
                    compare_and_store(array, case, |mut data| {
                        data.as_mut().fill(0x5a);
                        data.as_ref().to_vec()
                    });
                }
                (Err(_), false) => refused += 1,
                // NumPy maps nothing if the offset is after the end.
                (Err(_), true) if is_after_end(case, before.len()) => {
                    fs::write(path, before).unwrap();
                    continue;
                }
                (ours, _) => panic!("{case}: {:?}", ours.map(drop)),
            }
            if case["error"].is_null() {
                mapped += 1;
            }
            let refused = !case["error"].is_null();
            if refused || (case["size"] == 0 && case["mode"] != "w+") {
                // NumPy extends files even for arrays without bytes, to at least
                // one byte, and before it raises an error; in mode `w+` it has
                // already emptied them.
                assert_eq!(fs::read(path).unwrap(), before, "{case}");
            } else if case["size"] != 0 {
                let digest = &numpy.ask(&json!(["digests", path]))[0];
                assert_eq!(*digest, case["file"], "{case}");
            }
            fs::write(path, before).unwrap();
        }
    }
    println!("raw binary: {mapped} mapped, {refused} refused");
    assert!(mapped > 600 && refused > 200, "{mapped} {refused}");
}
