//! Bytes after the elements of a `.npy`, which commands do not read: a note, or an error
//! where they would be lost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use npymap::array::Trailing;
use npymap::{Error, OpenOptions, Result, Source};

use crate::input::messages;
use crate::input::url::shown;

/// The files that a note was printed for.
static NOTED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Finds what follows the elements, and prints it once for each file, unless it is another
/// array and `skips_arrays` is set. A header that cannot be read is an error when the array is
/// opened.
pub(crate) fn note<D>(
    path: &Path,
    source: &Source<D>,
    options: &OpenOptions,
    skips_arrays: bool,
) -> Option<Trailing> {
    let found = options.trailing(source).ok().flatten()?;
    let is_skipped = skips_arrays && found.is_array;
    if !is_skipped && NOTED.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned()) {
        messages::print_note(&format_args!("{}: {}", shown(path), describe(&found)));
    }
    Some(found)
}

/// Returns an error if something follows the elements of a stream, which is gone once the
/// stream was read, unless it is another array and `skips_arrays` is set.
pub(crate) fn reject<D>(
    source: &Source<D>,
    options: &OpenOptions,
    skips_arrays: bool,
) -> Result<()> {
    match options.trailing(source).ok().flatten() {
        Some(found) if !(skips_arrays && found.is_array) => {
            let what = what(&found);
            Err(Error::other(format!("{what}, which would be lost: send one array at a time")))
        }
        _ => Ok(()),
    }
}

/// What follows the elements, and what keeps it.
pub(crate) fn describe(found: &Trailing) -> String {
    let advice = match found {
        Trailing { is_array: true, offset, .. } => format!(": FILE[@{offset}] names it"),
        Trailing { rows: 0, .. } => String::new(),
        _ => ": `npymap recover` keeps them".to_owned(),
    };
    format!("{}{advice}", what(found))
}

/// The offsets of all arrays of a `.npy` file. Prints a note about what follows the last one,
/// or returns an error if it would be lost.
pub(crate) fn offsets(
    path: &Path,
    source: &Source,
    options: &OpenOptions,
    is_lost: bool,
) -> Result<Vec<u64>> {
    let (mut offsets, mut last) = (vec![0], options.clone());
    while let Some(Trailing { is_array: true, offset, .. }) = last.trailing(source)? {
        offsets.push(offset);
        last = last.offset(offset);
    }
    if is_lost {
        reject(source, &last, false)?;
    }
    note(path, source, &last, false);
    Ok(offsets)
}

fn what(found: &Trailing) -> String {
    let &Trailing { offset, nbytes, rows, is_array, .. } = found;
    let bytes =
        if nbytes == 1 { "1 byte follows".into() } else { format!("{nbytes} bytes follow") };
    match rows {
        _ if is_array => format!("{bytes} the array: another array at byte {offset}"),
        0 => format!("{bytes} the array"),
        1 => format!("{bytes} the array: 1 more row"),
        _ => format!("{bytes} the array: {rows} more rows"),
    }
}
