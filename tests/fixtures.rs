//! What NumPy says of every file in `tests/data`, we say too.

use std::fs;
use std::path::{Path, PathBuf};

use npymap::{DType, Header, HeaderText, MappedArray, OpenOptions, Order};
use serde_json::Value;

/// Where we differ from NumPy on purpose; each has its line in
/// `COMPATIBILITY.md`.
fn differs(case: &str, text: &str) -> bool {
    false
}

pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The lines of an expectation file.
pub fn cases(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(data().join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// How long a header a case needs.
pub fn max_header_len(case: &Value) -> usize {
    case["max_header"].as_u64().map_or(npymap::MAX_HEADER_LEN, |n| n as usize)
}

/// Compares a header with NumPy's answer.
fn same(name: &str, case: &Value, header: &Header) -> Result<(), String> {
    let shape: Vec<usize> = case["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    let version = [header.version.major(), header.version.minor()].map(u64::from);
    let expected = (
        case["descr"].as_str().unwrap().to_owned(),
        shape,
        case["fortran_order"].as_bool().unwrap(),
        case["data_offset"].as_u64().unwrap() as usize,
        case["itemsize"].as_u64().unwrap() as usize,
        [case["version"][0].as_u64().unwrap(), case["version"][1].as_u64().unwrap()],
    );
    let found = (
        header.dtype.to_string(),
        header.shape.clone(),
        header.order == Order::F,
        header.data_offset,
        header.dtype.itemsize(),
        version,
    );
    if found == expected { Ok(()) } else { Err(format!("{name}: {found:?}, NumPy: {expected:?}")) }
}

fn verdict(name: &str, case: &Value, opened: Result<Header, npymap::Error>) -> Result<(), String> {
    match (case["ok"].as_bool().unwrap(), opened) {
        (true, Ok(header)) => same(name, case, &header),
        (false, Err(_)) => Ok(()),
        (true, Err(error)) => Err(format!("{name}: refused, NumPy opens it: {error}")),
        (false, Ok(_)) => Err(format!("{name}: opened, NumPy refuses it: {}", case["error"])),
    }
}

#[test]
fn files_are_what_numpy_says() {
    let mut wrong = Vec::new();
    for case in cases("expect.jsonl") {
        let name = case["path"].as_str().unwrap();
        let header = OpenOptions::new().max_header_len(max_header_len(&case)).header(data().join(name));
        wrong.extend(verdict(name, &case, header).err());
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn odd_headers_are_what_numpy_says() {
    let mut wrong = Vec::new();
    for case in cases("odd.jsonl") {
        let name = case["name"].as_str().unwrap();
        let hex = case["file"].as_str().unwrap();
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect();
        let header = HeaderText::parse(&bytes, max_header_len(&case)).and_then(|text| text.header());
        let header = header.and_then(|header| MappedArray::from_parts(&bytes, header.layout()?).map(|_| header));
        wrong.extend(verdict(name, &case, header).err());
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn descrs_are_what_numpy_says() {
    let mut wrong = Vec::new();
    for case in cases("descr.jsonl") {
        let text = case["descr"].as_str().unwrap();
        match (case["ok"].as_bool().unwrap() && case["note"] != "object", text.parse::<DType>()) {
            (true, Ok(dtype)) => {
                if dtype.to_string() != case["canonical"] || dtype.itemsize() as u64 != case["itemsize"] {
                    wrong.push(format!("{text}: {dtype}, NumPy: {}", case["canonical"]));
                }
            }
            (false, Err(_)) => {}
            (true, Err(error)) => wrong.push(format!("refused: {error} NumPy: {}", case["canonical"])),
            (false, Ok(dtype)) => wrong.push(format!("{text}: {dtype}, NumPy refuses it: {}", case["error"])),
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
