//! Files that grow.

use std::ffi::{c_char, c_void};

use super::open::{free, give};
use crate::appender::{Appender, each_appender};
use crate::boundary::{Handle, In, Out};
use crate::error::{done, value};
use crate::number::{self, with_number, with_pod};
use crate::save::Flags;
use crate::status;
use crate::status::{npymap_status, npymap_type};

/// Opens a `.npy` file to append rows, and locks it. On Windows, it is not locked.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_appender_open(
    path: In<c_char>,
    appender: Out<Handle<Appender>>,
) -> npymap_status {
    give(appender, "`appender`", || Ok(npymap::Appender::open(path.path()?)?.into()))
}

/// Creates a `.npy` file without rows, to append some.
///
/// `row` has the lengths of the `ndim` axes of a row, so the array has one more axis.
/// `flags` combines NPYMAP_OVERWRITE, NPYMAP_DISCARD_TRAILING, NPYMAP_PAGE_ALIGNED and
/// NPYMAP_FORTRAN_ORDER. With NPYMAP_FORTRAN_ORDER, the last axis grows.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_appender_create(
    path: In<c_char>,
    descr: In<c_char>,
    row: In<usize>,
    ndim: usize,
    flags: u32,
    appender: Out<Handle<Appender>>,
) -> npymap_status {
    give(appender, "`appender`", || {
        let allowed = status::NPYMAP_OVERWRITE
            | status::NPYMAP_DISCARD_TRAILING
            | status::NPYMAP_PAGE_ALIGNED
            | status::NPYMAP_FORTRAN_ORDER;
        let options = Flags::new(flags, allowed)?.create_options();
        let (dtype, row) = (descr.dtype()?, row.slice(ndim, "`row`")?);
        Ok(npymap::Appender::create(path.path()?, &dtype, row, &options)?.into())
    })
}

/// Opens a `.npy` file to append rows, or creates it if it does not exist, and locks it,
/// except on Windows.
///
/// `row` has the lengths of the `ndim` axes of a row, so the array has one more axis.
/// Several processes can do this at once, and one of them creates the file. `flags`
/// combines NPYMAP_PAGE_ALIGNED, NPYMAP_FORTRAN_ORDER and NPYMAP_WAIT. With
/// NPYMAP_WAIT, each process waits for its turn. If the file has rows of a different
/// dtype, this returns NPYMAP_ERROR_DTYPE_MISMATCH. If they have a different shape or
/// order, it returns NPYMAP_ERROR_SHAPE_MISMATCH.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_appender_open_or_create(
    path: In<c_char>,
    descr: In<c_char>,
    row: In<usize>,
    ndim: usize,
    flags: u32,
    appender: Out<Handle<Appender>>,
) -> npymap_status {
    give(appender, "`appender`", || {
        let allowed =
            status::NPYMAP_PAGE_ALIGNED | status::NPYMAP_FORTRAN_ORDER | status::NPYMAP_WAIT;
        let flags = Flags::new(flags, allowed)?;
        let (dtype, row) = (descr.dtype()?, row.slice(ndim, "`row`")?);
        let (path, options) = (path.path()?, flags.create_options());
        Ok(flags.open_options().append_or_create(path, &dtype, row, &options)?.into())
    })
}

/// Returns the number of rows, including rows in the buffer.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_appender_rows(appender: In<Appender>) -> usize {
    value(0, || Ok(each_appender!(appender.get("`appender`")?, appender => appender.rows())))
}

/// Appends complete rows from `nbytes` bytes of elements, as stored. A ragged array
/// gets one row.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_append_bytes(
    mut appender: Out<Appender>,
    bytes: In<c_void>,
    nbytes: usize,
) -> npymap_status {
    done(|| {
        let bytes = bytes.bytes(nbytes, "`bytes`")?;
        let appender = appender.get_mut("`appender`")?;
        Ok(each_appender!(appender, appender => appender.append_bytes(bytes))?)
    })
}

/// Appends complete rows from `count` numbers of the array's element type, in either
/// byte order. A ragged array gets one row. In Fortran order, the first axis of a row
/// varies fastest.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_append(
    mut appender: Out<Appender>,
    number: npymap_type,
    numbers: In<c_void>,
    count: usize,
) -> npymap_status {
    done(|| {
        let nbytes = number::size_of(number)?.saturating_mul(count);
        let bytes = numbers.bytes(nbytes, "`numbers`")?;
        let appender = appender.get_mut("`appender`")?;
        with_number!(number, T => {
            let values = number::read_all::<T>(bytes)?;
            Ok(each_appender!(appender, appender => appender.append_slice(&values))?)
        })
    })
}

/// Writes the appended rows, so that other programs see them.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_appender_flush(mut appender: Out<Appender>) -> npymap_status {
    done(|| Ok(each_appender!(appender.get_mut("`appender`")?, appender => appender.flush())?))
}

/// Writes the rows and waits until they are on the disk.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_appender_sync(mut appender: Out<Appender>) -> npymap_status {
    done(|| Ok(each_appender!(appender.get_mut("`appender`")?, appender => appender.sync())?))
}

/// Writes the rows, waits until they are on the disk, closes the file and sets the
/// pointer to null. Does nothing if the pointer is null already.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_appender_close(mut appender: Out<Handle<Appender>>) -> npymap_status {
    done(|| match appender.get_mut("`appender`")?.take() {
        Some(appender) => Ok(each_appender!(*appender, appender => appender.close())?),
        None => Ok(()),
    })
}

/// Writes the rows without waiting or reporting errors, closes the file and sets the
/// pointer to null. Does nothing if the pointer, or the pointer to it, is null.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_appender_free(appender: Out<Handle<Appender>>) {
    free(appender);
}
