//! Truncated and damaged files are rejected, or their arrays are unchanged.

use std::fs;
use std::fs::File;

use npymap::{ErrorKind, Header, MappedArray, OpenOptions};

use crate::cases::{cases, data, odd_file};
use crate::support::{directory, header_with, is_error, open, read_with, some, thorough};

/// All fixtures: their names and bytes.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    let files = cases("expect.jsonl").into_iter().map(|case| {
        let name = case["path"].as_str().unwrap().to_owned();
        let bytes = fs::read(data().join(&name)).unwrap();
        (name, bytes)
    });
    let odd = cases("odd.jsonl")
        .into_iter()
        .map(|case| (case["name"].as_str().unwrap().to_owned(), odd_file(&case)));
    files.chain(odd).collect()
}

/// The header of a complete array, and the end of the array.
fn complete_array(bytes: &[u8]) -> Option<(Header, usize)> {
    let array = MappedArray::from_bytes(bytes).ok()?;
    Some((array.header().unwrap(), array.layout().offset() + array.layout().nbytes()))
}

#[test]
fn truncated_buffers_contain_the_whole_array_or_are_rejected() {
    for (name, bytes) in fixtures() {
        let full = complete_array(&bytes);
        for len in some(0..bytes.len()) {
            let expected = full.clone().filter(|(_, end)| *end <= len);
            assert_eq!(complete_array(&bytes[..len]), expected, "{name} cut to {len}");
        }
    }
}

#[test]
fn errors_about_truncated_buffers_name_the_missing_part() {
    let bytes = fs::read(data().join("numpy-2.4.6/f8-le.npy")).unwrap();
    let (header, _) = complete_array(&bytes).unwrap();
    for len in 0..bytes.len() {
        let error = MappedArray::from_bytes(&bytes[..len]).unwrap_err();
        let text = match len {
            0 => "it is empty",
            1..8 => "ends inside the magic and version: ",
            8..10 => "ends inside the header length: ",
            _ if len < header.data_offset => "ends inside the header: ",
            _ => "the elements end at byte ",
        };
        assert!(is_error(&error, ErrorKind::Truncated, text), "{len}: {error}");
    }
}

/// Lengths close to every boundary of a file.
fn boundary_lengths(header: &Header, end: usize) -> Vec<usize> {
    let offset = header.data_offset;
    [
        0,
        1,
        6,
        8,
        9,
        10,
        11,
        12,
        offset / 2,
        offset - 1,
        offset,
        usize::midpoint(offset, end),
        end - 1,
        end,
    ]
    .into_iter()
    .filter(|&len| len <= end)
    .collect()
}

/// Truncates a file more and more, and opens it in every way.
fn open_truncated(name: &str, file: &File, path: &std::path::Path, header: &Header, end: usize) {
    let mut lengths = boundary_lengths(header, end);
    lengths.sort_unstable();
    for len in lengths.into_iter().rev() {
        file.set_len(len as u64).unwrap();
        let options = OpenOptions::new();
        let answers = [
            header_with(&options, path),
            open(path).map(|array| array.header().unwrap()),
            read_with(&options, path).map(|array| array.header().unwrap()),
        ];
        for answer in answers {
            match answer {
                Ok(found) => assert!(len >= end && found == *header, "{name} cut to {len}"),
                Err(error) => {
                    assert!(len < end, "{name} cut to {len}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Truncated, "{name} cut to {len}: {error}");
                }
            }
        }
    }
}

#[test]
fn truncated_files_contain_the_whole_array_or_are_rejected() {
    let directory = directory();
    let path = directory.path().join("cut.npy");
    for (name, bytes) in fixtures() {
        if let Some((header, end)) = complete_array(&bytes) {
            fs::write(&path, bytes).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            open_truncated(&name, &file, &path, &header, end);
        }
    }
}

/// The bytes to damage: others in each fixture, because most differ in a few bytes only.
/// `tests/damaged.rs` damages all of them.
fn places(header_end: usize, fixture: usize) -> impl Iterator<Item = usize> {
    let step = 1 + header_end / if thorough() { 64 } else { 16 };
    some((fixture % step..header_end).step_by(step))
}

#[test]
fn damaged_headers_are_rejected_or_describe_bytes_of_the_file() {
    for (number, (name, mut bytes)) in fixtures().into_iter().enumerate() {
        let header_end =
            complete_array(&bytes).map_or(bytes.len(), |(header, _)| header.data_offset);
        for at in places(header_end, number) {
            let good = bytes[at];
            for bad in [0, 0xff, good ^ 1, b'(', b'\'', b'9'] {
                bytes[at] = bad;
                if let Some((header, end)) = complete_array(&bytes) {
                    assert!(end <= bytes.len(), "{name}: {bad} at {at}");
                    assert_eq!(
                        header.data_offset + header.layout().unwrap().nbytes(),
                        end,
                        "{name}: {bad} at {at}"
                    );
                }
            }
            bytes[at] = good;
        }
    }
}
