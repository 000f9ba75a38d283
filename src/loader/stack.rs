//! Finds the arrays in a directory that Dask's `to_npy_stack` wrote.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{DTypeError, Error, IoContext as _, Result};

/// The longest `info` that is read. Useful arrays have far shorter headers.
const MAX_INFO_LEN: u64 = 64 << 20;

#[inline]
pub(super) fn find_arrays(directory: &Path) -> Result<Vec<PathBuf>> {
    check_info(&directory.join("info"))?;
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory).context("open")? {
        let name = entry.context("open")?.file_name();
        let number =
            name.to_str().and_then(|name| name.strip_suffix(".npy")?.parse::<usize>().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    let gap = numbers.iter().enumerate().find(|(index, number)| index != *number);
    if let Some((missing, _)) = gap {
        return Err(unexpected(format!("no {missing}.npy"), "consecutive files from 0.npy on"));
    }
    Ok(numbers.into_iter().map(|number| directory.join(format!("{number}.npy"))).collect())
}

/// Checks that arrays are stacked along the first axis.
#[inline]
fn check_info(path: &Path) -> Result<()> {
    let len = fs::metadata(path).context("open")?.len();
    if len > MAX_INFO_LEN {
        let found = format!("`info` of {len} bytes");
        return Err(unexpected(found, "the output of Dask's to_npy_stack"));
    }
    match parse_axis(&fs::read(path).context("open")?) {
        Some(0) => Ok(()),
        Some(axis) => Err(unexpected(format!("a stack along axis {axis}"), "one along axis 0")),
        None => Err(unexpected("`info`".to_owned(), "the output of Dask's to_npy_stack")),
    }
}

#[inline]
fn unexpected(value: String, expected: &str) -> Error {
    DTypeError::Stored { value, expected: expected.to_owned() }.into()
}

/// Finds the axis in `info`, a pickle of `{"chunks": …, "dtype": …, "axis":
/// n}`: a small integer, the last item before the opcodes that end the
/// dictionary and the pickle. The text `axis` before it may be one from the
/// memo, if a field of records is called so. Python before 3.6 wrote the items
/// in any order. There, it follows the text and the opcode that memoizes it.
/// The pickle is not executed.
#[inline]
fn parse_axis(info: &[u8]) -> Option<u8> {
    let start = info.windows(4).rposition(|text| text == b"axis")?;
    if let [.., b'K', axis, b'u', b'.'] = info {
        return Some(*axis);
    }
    match info.get(start + 4..)? {
        [0x94, b'K', axis, ..] | [b'q', _, b'K', axis, ..] => Some(*axis),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_is_found_in_pickles_of_all_protocols() {
        assert_eq!(parse_axis(b"\x80\x04..\x8c\x04axis\x94K\x00u."), Some(0));
        assert_eq!(parse_axis(b"\x80\x02..X\x04\x00\x00\x00axisq\x07K\x02u."), Some(2));
        let memo = b"\x80\x04..\x8c\x04axis\x94..\x94h\x09K\x00u.";
        assert_eq!(parse_axis(memo), Some(0));
        assert_eq!(parse_axis(b"\x80\x02..axisq\x07K\x01..dtype..u."), Some(1));
        for other in [&b""[..], b"axis", b"axis\x94J", b"axis\x94K", b"axisu.", b"K\x00u."] {
            assert_eq!(parse_axis(other), None);
        }
    }
}
