//! The rows that are selected of an array at a URL, so that no others are transferred.

use crate::input::lengths::{to_u64, to_usize};
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::ops::Range;

use npymap::any::Format;
use npymap::source::ReadAt as _;
use npymap::{ArrayFile, MappedArray, OpenOptions, Order, Result};
use npymap_remote::Remote;

use crate::input::array_path::ArrayPath;
use crate::input::open;
use crate::input::remote::open_url;
use crate::select::selection::IndexArg;

/// Reads the rows that indices select from a `.npy` at a URL, and returns the whole
/// array, with zeros in place of the others, which take no space. `None` for other
/// inputs, and if all rows are selected.
pub(crate) fn selected_rows(
    input: &ArrayPath,
    max_header_len: usize,
    selections: &[IndexArg],
) -> Result<Option<MappedArray>> {
    let Some(object) = open_url(&input.path)? else { return Ok(None) };
    let source = object.source();
    // Elsewhere, the zeros would take space on the disk.
    let has_holes = cfg!(unix) && input.member.is_none();
    if !has_holes || Format::recognize(&source)? != Format::Npy {
        return Ok(None);
    }
    let file = ArrayFile::new(source, OpenOptions::new().max_header_len(max_header_len))?;
    let is_c = file.header().is_some_and(|header| header.order == Order::C);
    let rows = selections.iter().map(|selection| selection.row_range(file.shape()));
    let rows = rows.reduce(|all, next| all.zip(next).map(|(a, b)| unite(&a, &b))).flatten();
    match rows {
        Some(rows) if is_c && Some(&rows.len()) != file.shape().first() => {
            partial_copy(&object, &file, rows).map(Some)
        }
        _ => Ok(None),
    }
}

fn unite(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.min(b.start)..a.end.max(b.end)
}

/// Copies the header and some rows to a temporary file, at their places.
fn partial_copy(object: &Remote, file: &ArrayFile, rows: Range<usize>) -> Result<MappedArray> {
    let mut header = vec![0; to_usize(file.data_offset())];
    let start = 0..file.data_offset();
    object.read_ranges_at(std::slice::from_ref(&start), &mut header)?;
    let nbytes = file.layout().nbytes();
    let row = file.shape().first().and_then(|&count| nbytes.checked_div(count)).unwrap_or(0);
    let start = file.data_offset().saturating_add(to_u64(row.saturating_mul(rows.start)));
    let some = file.rows(rows)?;
    let mut copy: File = tempfile::tempfile()?;
    copy.write_all(&header)?;
    copy.set_len(file.data_offset().saturating_add(to_u64(nbytes)))?;
    copy.seek(SeekFrom::Start(start))?;
    copy.write_all(some.as_bytes()?)?;
    open::read_file(copy, &OpenOptions::new().max_header_len(usize::MAX))
}
