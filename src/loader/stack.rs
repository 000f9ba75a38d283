//! Directories that Dask's `to_npy_stack` writes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{DTypeError, Result, SystemError};

/// Longer ones are none that Dask writes for arrays of any use.
const INFO: u64 = 64 << 20;

/// The files of a stack along the first axis, in order.
pub(super) fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let read = |error| SystemError::io("open")(error).with_path(directory);
    let refused = |value: String, expected: &str| {
        let kind = DTypeError::Stored { value, expected: expected.to_owned() };
        crate::error::Error::from(kind).with_path(directory)
    };
    let info = directory.join("info");
    let len = fs::metadata(&info).map_err(read)?.len();
    if len > INFO {
        return Err(refused(format!("`info` of {len} bytes"), "the output of Dask's to_npy_stack"));
    }
    match axis(&fs::read(&info).map_err(read)?) {
        Some(0) => {}
        Some(axis) => {
            return Err(refused(format!("a stack along axis {axis}"), "one along axis 0"));
        }
        None => return Err(refused("`info`".to_owned(), "the output of Dask's to_npy_stack")),
    }
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory).map_err(read)? {
        let name = entry.map_err(read)?.file_name();
        let number =
            name.to_str().and_then(|name| name.strip_suffix(".npy")?.parse::<usize>().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    if let Some((missing, _)) = numbers.iter().enumerate().find(|(at, number)| at != *number) {
        return Err(refused(format!("no {missing}.npy"), "consecutive files from 0.npy on"));
    }
    Ok(numbers.into_iter().map(|number| directory.join(format!("{number}.npy"))).collect())
}

/// The axis that `info` names, a pickle of `{"chunks": …, "dtype": …, "axis":
/// n}`: the small integer that follows the text `axis`, behind where the text
/// was put for later. Pickles are not run.
fn axis(info: &[u8]) -> Option<u8> {
    let at = info.windows(4).rposition(|text| text == b"axis")?;
    match info.get(at + 4..)? {
        [0x94, b'K', axis, ..] | [b'q', _, b'K', axis, ..] => Some(*axis),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_is_found_in_pickles_of_all_protocols() {
        assert_eq!(axis(b"\x80\x04..\x8c\x04axis\x94K\x00u."), Some(0));
        assert_eq!(axis(b"\x80\x02..X\x04\x00\x00\x00axisq\x07K\x02u."), Some(2));
        for other in [&b""[..], b"axis", b"axis\x94J", b"axis\x94K", b"nothing"] {
            assert_eq!(axis(other), None);
        }
    }
}
