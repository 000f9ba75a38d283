//! Archives by other writers are read as NumPy reads them, in every way of
//! opening.

use std::fs;
use std::path::{Path, PathBuf};

use npymap::npz::Npz;
use npymap::{
    Mode, Source,
    any::{AnyFile, Format},
};
use serde_json::Value;

use crate::oracle::hex;
use crate::support::{Raw, map};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn fixtures() -> Vec<(PathBuf, Vec<Value>)> {
    let text = fs::read_to_string(data().join("archives.jsonl")).unwrap();
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases
        .map(|case: Value| {
            let path = data().join("archives").join(case["path"].as_str().unwrap());
            (path, case["members"].as_array().unwrap().clone())
        })
        .collect()
}

/// Opens a fixture, which nothing changes.
fn open(path: &Path) -> Npz {
    map(path).and_then(Npz::open).unwrap()
}

/// The elements in C order, in hexadecimal.
fn elements<D: AsRef<[u8]>>(array: &npymap::MappedArray<D>) -> String {
    array.view::<Raw>().unwrap().iter().map(|element| hex(&element.0)).collect()
}

#[test]
fn members_equal_numpys() {
    let (mut arrays, mut others, mut shadowed) = (0, 0, 0);
    for (path, expected) in fixtures() {
        let bytes = fs::read(&path).unwrap();
        let (read, memory) = (Source::open(&path).unwrap(), Source::bytes(bytes));
        let copies = [read, memory].map(|source| Npz::open(source.into_read_only()).unwrap());
        let private = Npz::open(map(&path).unwrap().into_copy_on_write()).unwrap();
        for (way, npz) in [open(&path)].iter().chain(&copies).enumerate() {
            let what = format!("{} {way}", path.display());
            assert_eq!(npz.members().len(), expected.len(), "{what}");
            npz.members().try_for_each(|member| member.verify()).unwrap();
            for (member, said) in npz.members().zip(&expected) {
                assert_eq!(member.full_name(), said["zip_name"], "{what}");
                assert_eq!(member.is_stored(), said["stored"], "{what}");
                if said["shadowed"] == true {
                    shadowed += 1;
                    continue;
                }
                let Some(header) = member.header().unwrap() else {
                    assert_eq!(said["array"], false, "{what} {}", member.name());
                    assert!(npz.get(member.full_name()).is_err());
                    others += 1;
                    continue;
                };
                assert_eq!(header.dtype.to_string(), said["descr"].as_str().unwrap(), "{what}");
                let array = npz.get(member.name()).unwrap();
                assert_eq!(serde_json::json!(array.shape()), said["shape"], "{what}");
                assert_eq!(elements(&array), said["elements"], "{what}");
                let fortran = array.byte_strides().first() < array.byte_strides().last();
                assert_eq!(fortran, said["fortran_order"] == true, "{what}");
                assert_eq!(array.member(), Some(member.name()));
                let in_place = way == 0 && member.is_stored();
                assert_eq!(array.mode(), in_place.then_some(Mode::ReadOnly), "{what}");
                assert_eq!(elements(&npz.get(member.full_name()).unwrap()), said["elements"]);
                let mut copy = private.get(member.name()).unwrap();
                assert_eq!(elements(&copy), said["elements"], "{what}");
                copy.dyn_view_mut().unwrap();
                arrays += 1;
            }
        }
    }
    assert!(arrays > 150 && others >= 9 && shadowed >= 6, "{arrays} {others} {shadowed}");
}

#[test]
fn offsets_are_those_of_the_elements() {
    let mut stored = 0;
    for (path, expected) in fixtures() {
        let bytes = fs::read(&path).unwrap();
        for (member, said) in open(&path).members().zip(&expected) {
            let offset = member.data_offset().unwrap();
            assert_eq!(offset.is_some(), member.is_stored() && said["array"] != false);
            let (Some(offset), Some(elements)) = (offset, said["elements"].as_str()) else {
                continue;
            };
            if said["fortran_order"] == false {
                assert_eq!(member.open().unwrap().data_offset(), Some(offset));
                let offset = usize::try_from(offset).unwrap();
                assert_eq!(hex(&bytes[offset..offset + elements.len() / 2]), elements);
                stored += 1;
            }
        }
    }
    assert!(stored > 20);
}

#[test]
fn names_equal_numpys() {
    let npz = open(&data().join("archives/zipfile-twice.npz"));
    assert_eq!(npz.names().collect::<Vec<_>>(), ["a", "b", "a", "b"]);
    // The last of equal names counts; `b` and `b.npy` are two members here.
    assert_eq!((first_f64(&npz, "a"), first_f64(&npz, "a.npy")), (1.0, 1.0));
    assert_eq!((first_i16(&npz, "b"), first_i16(&npz, "b.npy")), (1, 0));
}

fn first_i16(npz: &Npz, name: &str) -> i16 {
    npz.get(name).unwrap().view::<i16>().unwrap().at(0)
}

fn first_f64(npz: &Npz, name: &str) -> f64 {
    npz.get(name).unwrap().view::<f64>().unwrap().at(0)
}

#[test]
fn each_listed_name_opens_a_member_of_its_own() {
    // `b` and `b.npy` are two members; `a` is stored twice.
    assert_eq!(names_that_open("archives/zipfile-twice.npz"), ["a", "b.npy", "b"]);
    assert_eq!(names_that_open("archives/numpy-positional.npz"), ["arr_0", "arr_1"]);
    assert!(names_that_open("numpy-2.4.6/S10.npy").is_empty());
}

fn names_that_open(file: &str) -> Vec<String> {
    let file = npymap::open_any(Source::open(data().join(file)).unwrap()).unwrap();
    let names = file.names();
    for name in &names {
        let array = file.get(Some(name)).unwrap();
        assert!(array.member().is_some_and(|found| name.starts_with(found)), "{name}");
    }
    names
}

#[test]
fn each_format_is_recognised() {
    for (path, _) in fixtures() {
        assert_eq!(
            Source::open(&path).and_then(|source| Format::recognize(&source)).unwrap(),
            Format::Npz,
            "{}",
            path.display()
        );
    }
    let path = data().join("archives/numpy-savez.npz");
    let file = map(&path).and_then(npymap::open_any).unwrap();
    assert!(matches!(file, AnyFile::Npz(_)));
    assert_eq!(file.get(Some("scalar")).unwrap().as_slice::<u8>().unwrap(), [7]);
    let expected = format!("{}: holds 9 members: name one of them", path.display());
    assert_eq!(file.get(None).unwrap_err().to_string(), expected);
}
