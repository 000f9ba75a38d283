//! Rows at any indices.

use std::ffi::c_void;

use crate::array::Array;
use crate::boundary::{In, Out};
use crate::error::done;
use crate::status::{npymap_status, npymap_type};

/// Copies rows of the first axis, in the order of the `count` indices `rows`, to a
/// buffer of numbers, `nbytes` long. Indices may repeat. Types are converted as by
/// npymap_copy.
///
/// From the disk, rows of a read-only array are requested ahead of the copy.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_take(
    array: In<Array>,
    rows: In<usize>,
    count: usize,
    number: npymap_type,
    mut numbers: Out<c_void>,
    nbytes: usize,
) -> npymap_status {
    done(|| {
        let (rows, out) = (rows.slice(count, "`rows`")?, numbers.bytes_mut(nbytes, "`numbers`")?);
        array.get("`array`")?.take(rows, number, out)
    })
}

/// As npymap_take, for the bytes of any dtype as they are stored.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_take_bytes(
    array: In<Array>,
    rows: In<usize>,
    count: usize,
    mut bytes: Out<c_void>,
    nbytes: usize,
) -> npymap_status {
    done(|| {
        let (rows, out) = (rows.slice(count, "`rows`")?, bytes.bytes_mut(nbytes, "`bytes`")?);
        array.get("`array`")?.take_bytes(rows, out)
    })
}
