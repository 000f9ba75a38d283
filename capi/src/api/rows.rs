//! Rows at any indices.

use std::ffi::c_void;

use crate::array::Array;
use crate::boundary::{In, Out};
use crate::error::done;
use crate::status::{npymap_status, npymap_type};

/// Copies rows of the first axis to a buffer of numbers, `nbytes` long, in the order of
/// the `count` indices `rows`.
///
/// Indices may repeat. Types are converted like in npymap_copy. Rows of a read-only
/// array that are not in memory are requested from the disk before they are copied.
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

/// Copies the bytes of rows of any dtype, as stored, like npymap_take.
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
