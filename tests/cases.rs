//! The files of `tests/data`, with NumPy's answers.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The directory of the files.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The lines of a file of expected results.
pub(crate) fn cases(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(data().join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The header length that a case needs.
pub(crate) fn max_header_len(case: &Value) -> usize {
    case["max_header"].as_u64().map_or(npymap::npy::MAX_HEADER_LEN, |n| n as usize)
}

/// The bytes of a case in `odd.jsonl`.
pub(crate) fn odd_file(case: &Value) -> Vec<u8> {
    let hex = case["file"].as_str().unwrap();
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}
