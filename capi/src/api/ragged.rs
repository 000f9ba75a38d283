//! Rows of different lengths.

use std::ffi::{c_char, c_void};

use npymap::OpenOptions;
use npymap::loader::RaggedAppender;

use super::open::give;
use crate::appender::Appender;
use crate::array::Array;
use crate::boundary::{Handle, In, Out};
use crate::error::done;
use crate::ragged;
use crate::save::Flags;
use crate::status;
use crate::status::{npymap_status, npymap_type};

/// Opens a ragged array to append rows, and locks it, like npymap_appender_open. `data`
/// is the file of all elements, and `offsets` is the file with the starts and ends of
/// rows. After a writer died, this can return NPYMAP_ERROR_CORRUPT. In that case, use
/// npymap_appender_recover_ragged.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_appender_open_ragged(
    data: In<c_char>,
    offsets: In<c_char>,
    appender: Out<Handle<Appender>>,
) -> npymap_status {
    give(appender, "`appender`", || {
        Ok(OpenOptions::new().append_ragged(data.path()?, offsets.path()?)?.into())
    })
}

/// Creates the two files of a ragged array without rows, to append some. `item` has the
/// lengths of the `ndim` axes of each item in a row. Plain numbers have none. `flags`
/// combines NPYMAP_OVERWRITE, NPYMAP_DISCARD_TRAILING and NPYMAP_PAGE_ALIGNED.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_appender_create_ragged(
    data: In<c_char>,
    offsets: In<c_char>,
    descr: In<c_char>,
    item: In<usize>,
    ndim: usize,
    flags: u32,
    appender: Out<Handle<Appender>>,
) -> npymap_status {
    give(appender, "`appender`", || {
        let allowed = status::NPYMAP_OVERWRITE
            | status::NPYMAP_DISCARD_TRAILING
            | status::NPYMAP_PAGE_ALIGNED;
        let options = Flags::new(flags, allowed)?.create_options();
        let (dtype, item) = (descr.dtype()?, item.slice(ndim, "`item`")?);
        let (data, offsets) = (data.path()?, offsets.path()?);
        Ok(RaggedAppender::create(data, offsets, &dtype, item, &options)?.into())
    })
}

/// Opens a ragged array to append rows, or creates it if it does not exist. Several
/// processes can do this at once, as with npymap_appender_open_or_create, and with the same
/// errors. `flags` combines NPYMAP_PAGE_ALIGNED and NPYMAP_WAIT.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_appender_open_or_create_ragged(
    data: In<c_char>,
    offsets: In<c_char>,
    descr: In<c_char>,
    item: In<usize>,
    ndim: usize,
    flags: u32,
    appender: Out<Handle<Appender>>,
) -> npymap_status {
    give(appender, "`appender`", || {
        let flags = Flags::new(flags, status::NPYMAP_PAGE_ALIGNED | status::NPYMAP_WAIT)?;
        let (dtype, item) = (descr.dtype()?, item.slice(ndim, "`item`")?);
        let (data, offsets, options) = (data.path()?, offsets.path()?, flags.create_options());
        let open = flags.open_options();
        Ok(open.append_or_create_ragged(data, offsets, &dtype, item, &options)?.into())
    })
}

/// Opens a ragged array to append rows after its writer died. This removes elements
/// that belong to no row, and offsets of elements that do not exist.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_appender_recover_ragged(
    data: In<c_char>,
    offsets: In<c_char>,
    appender: Out<Handle<Appender>>,
) -> npymap_status {
    give(appender, "`appender`", || {
        Ok(RaggedAppender::recover(data.path()?, offsets.path()?)?.into())
    })
}

/// Stores in `span[0]` where a row starts along the first axis of `data`, and in `span[1]`
/// where it ends. The array has one row less than `offsets` has elements. While rows are
/// appended, open the offsets before the data.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_ragged_span(
    data: In<Array>,
    offsets: In<Array>,
    row: usize,
    mut span: Out<usize>,
) -> npymap_status {
    done(|| {
        let found = ragged::span(data.get("`data`")?, offsets.get("`offsets`")?, row)?;
        span.slice_mut(2, "`span`")?.copy_from_slice(&[found.start, found.end]);
        Ok(())
    })
}

/// Copies a row to a buffer of numbers, `nbytes` long, which must be the size of the
/// row (see npymap_ragged_span). Types are converted like in npymap_copy.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_ragged_get(
    data: In<Array>,
    offsets: In<Array>,
    row: usize,
    number: npymap_type,
    mut numbers: Out<c_void>,
    nbytes: usize,
) -> npymap_status {
    done(|| {
        let data = data.get("`data`")?;
        let span = ragged::span(data, offsets.get("`offsets`")?, row)?;
        data.copy_rows(span, number, numbers.bytes_mut(nbytes, "`numbers`")?)
    })
}
