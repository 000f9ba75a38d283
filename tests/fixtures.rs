//! Our results for every case in `tests/data` equal NumPy's, except for the
//! differences listed there.

use std::collections::BTreeMap;
use std::fs;

use npymap::{DType, Header, MappedArray, OpenOptions, Order, npy::HeaderText};
use serde_json::Value;

use crate::cases::{cases, data, max_header_len, odd_file};
use crate::support::{NATIVE, header_text_with, header_with};

/// The cases with another result in NumPy, each with its paragraph of
/// `COMPATIBILITY.md`.
fn differences(of: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(data().join("differences.txt")).unwrap();
    text.lines()
        .filter_map(|line: &str| {
            let mut parts = line.splitn(3, '\t').map(str::to_owned);
            let (paragraph, of, case) = (parts.next()?, parts.next()?, parts.next()?);
            Some((of, case, paragraph))
        })
        .filter(|(file, ..)| file == of)
        .map(|(_, case, why)| (case, why))
        .collect()
}

/// Compares the results with the listed differences: all must be listed, and
/// all listed ones must exist.
fn check(of: &str, answers: impl Iterator<Item = (String, Result<(), String>)>) {
    let compatibility = fs::read_to_string(data().join("../../COMPATIBILITY.md")).unwrap();
    let mut expected = differences(of);
    let mut wrong = Vec::new();
    for (case, answer) in answers {
        match (answer, expected.remove(&case)) {
            (Ok(()), None) => {}
            (Err(_), Some(why)) => assert!(compatibility.contains(&why), "no paragraph on `{why}`"),
            (Err(answer), None) => wrong.push(answer),
            // Files that NumPy opens only on a 64-bit machine, both reject
            // here.
            (Ok(()), Some(_)) if usize::BITS < 64 => {}
            (Ok(()), Some(why)) => wrong.push(format!("{case}: no difference ({why})")),
        }
    }
    wrong.extend(expected.keys().map(|case| format!("{case}: not there")));
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// NumPy's result as it would be on this machine: it comes from a little-endian
/// one, and a type without a byte order has the machine's.
fn here(asked: &str, answer: &str) -> String {
    let says_little = ["<", r"\x3c", r"\u003c", r"\U0000003c", r"\74", r"\074"];
    if says_little.iter().any(|order| asked.contains(order)) {
        answer.to_owned()
    } else {
        answer.replace('<', &NATIVE.to_string())
    }
}

/// Compares a header, whose text was `asked`, with NumPy's result.
fn compare_header(name: &str, case: &Value, asked: &str, header: &Header) -> Result<(), String> {
    let shape: Vec<usize> =
        case["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    let expected = (
        here(asked, case["descr"].as_str().unwrap()),
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
        [header.version.major(), 0].map(u64::from),
    );
    if found == expected { Ok(()) } else { Err(format!("{name}: {found:?}, NumPy: {expected:?}")) }
}

fn verdict(
    name: &str,
    case: &Value,
    asked: &str,
    opened: npymap::Result<Header>,
) -> Result<(), String> {
    // NumPy's results are from a 64-bit machine.
    let shape = case["shape"].as_array().into_iter().flatten();
    let fits = shape.filter_map(Value::as_u64).all(|dim| isize::try_from(dim).is_ok());
    match (case["ok"].as_bool().unwrap() && fits, opened) {
        (true, Ok(header)) => compare_header(name, case, asked, &header),
        (false, Err(_)) => Ok(()),
        (true, Err(error)) => Err(format!("{name}: refused, NumPy opens it: {error}")),
        (false, Ok(_)) => Err(format!("{name}: opened, NumPy refuses it: {}", case["error"])),
    }
}

#[test]
fn files_equal_numpys_results() {
    check(
        "expect.jsonl",
        cases("expect.jsonl").into_iter().map(|case| {
            let name = case["path"].as_str().unwrap();
            let path = data().join(name);
            let options = OpenOptions::new().max_header_len(max_header_len(&case));
            let text = header_text_with(&options, &path);
            let asked = text.as_ref().map_or("", |text| text.as_str());
            (name.to_owned(), verdict(name, &case, asked, header_with(&options, &path)))
        }),
    );
}

#[test]
fn odd_headers_equal_numpys_results() {
    check(
        "odd.jsonl",
        cases("odd.jsonl").into_iter().map(|case| {
            let name = case["name"].as_str().unwrap();
            let bytes = odd_file(&case);
            let text = HeaderText::parse(&bytes, max_header_len(&case));
            let asked = text.as_ref().map_or(String::new(), |text| text.as_str().to_owned());
            let header = text.and_then(|text| text.header()).and_then(|header| {
                MappedArray::from_parts(&bytes, header.layout()?).map(|_| header)
            });
            (name.to_owned(), verdict(name, &case, &asked, header))
        }),
    );
}

#[test]
fn descrs_equal_numpys_results() {
    check(
        "descr.jsonl",
        cases("descr.jsonl").into_iter().map(|case| {
            let text = case["descr"].as_str().unwrap();
            let is_object = case["note"] == "object";
            let canonical = case["canonical"].as_str().map(|answer| here(text, answer));
            let answer = match (case["ok"].as_bool().unwrap() && !is_object, text.parse::<DType>())
            {
                (true, Ok(dtype))
                    if Some(dtype.to_string()) == canonical
                        && dtype.itemsize() as u64 == case["itemsize"] =>
                {
                    Ok(())
                }
                (true, found) => Err(format!("{text}: {found:?}, NumPy: {}", case["canonical"])),
                (false, Err(_)) => Ok(()),
                (false, Ok(dtype)) => {
                    Err(format!("{text}: {dtype}, NumPy refuses it: {}", case["error"]))
                }
            };
            (text.to_owned(), answer)
        }),
    );
}
