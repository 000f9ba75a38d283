//! Opening, creating and closing arrays.

use std::ffi::{c_char, c_void};

use npymap::array::{AnyArray, RawSpec};
use npymap::source::AnySource;
use npymap::{OpenOptions, Source};

use crate::array::Array;
use crate::boundary::{self, Handle, In, Out};
use crate::error::{Result, done};
use crate::save::{self, Flags};
use crate::status::{npymap_mode, npymap_status};
use crate::{archive, status};

/// Stores an object that `f` makes, or null if it fails.
pub(super) fn give<T>(mut out: Out<Handle<T>>, what: &str, f: impl FnOnce() -> Result<T>) -> i32 {
    done(|| {
        out.write(Handle::NULL, what)?;
        out.write(Handle::new(f()?), what)
    })
}

/// Opens a `.npy` file.
///
/// `mode` is NPYMAP_READ_ONLY, NPYMAP_READ_WRITE, NPYMAP_COPY_ON_WRITE or
/// NPYMAP_IN_MEMORY. Opening reads the header. Elements are read when you use them. To
/// open a member of an archive, use npymap_archive_open.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_open(
    path: In<c_char>,
    mode: npymap_mode,
    array: Out<Handle<Array>>,
) -> npymap_status {
    give(array, "`array`", || {
        let source = boundary::source(path.path()?, mode)?;
        Ok(OpenOptions::new().open_mode(source)?.into())
    })
}

/// Opens a `.npy` file with a header of up to `max_header_len` characters, like NumPy's
/// max_header_size.
///
/// npymap_open allows 10,000, which is not enough for tables with hundreds of columns.
/// The time and memory to read a header are proportional to its length.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_open_max_header_len(
    path: In<c_char>,
    mode: npymap_mode,
    max_header_len: usize,
    array: Out<Handle<Array>>,
) -> npymap_status {
    give(array, "`array`", || {
        let source = boundary::source(path.path()?, mode)?;
        Ok(OpenOptions::new().max_header_len(max_header_len).open_mode(source)?.into())
    })
}

/// Opens one of several arrays that numpy.save wrote to one file, with a header at byte
/// `offset`.
///
/// The next array starts where the elements of this array end. To find this place, add
/// npymap_data_offset and npymap_nbytes.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_open_at(
    path: In<c_char>,
    mode: npymap_mode,
    offset: u64,
    array: Out<Handle<Array>>,
) -> npymap_status {
    give(array, "`array`", || {
        let source = boundary::source(path.path()?, mode)?;
        Ok(OpenOptions::new().offset(offset).open_mode(source)?.into())
    })
}

/// Opens a file without a header, like numpy.memmap.
///
/// The array has `ndim` axes of lengths `shape`, and elements of the dtype `descr`,
/// such as "<f4", from byte `offset` on. If `shape` is null, there is one axis that
/// reaches to the end of the file. `flags` is 0 or NPYMAP_FORTRAN_ORDER. With
/// NPYMAP_READ_WRITE, a file that is too short is extended with zeros.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_open_raw(
    path: In<c_char>,
    mode: npymap_mode,
    descr: In<c_char>,
    shape: In<usize>,
    ndim: usize,
    offset: u64,
    flags: u32,
    array: Out<Handle<Array>>,
) -> npymap_status {
    give(array, "`array`", || {
        let flags = Flags::new(flags, status::NPYMAP_FORTRAN_ORDER)?;
        let raw = RawSpec::new(descr.dtype()?).order(flags.order()).offset(offset);
        let raw = if shape.is_null() { raw } else { raw.shape(shape.slice(ndim, "`shape`")?) };
        let source = boundary::source(path.path()?, mode)?;
        Ok(OpenOptions::new().raw(raw).open_mode(source)?.into())
    })
}

/// Opens a copy of the `nbytes` bytes of a `.npy` file in memory.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_open_bytes(
    bytes: In<c_void>,
    nbytes: usize,
    array: Out<Handle<Array>>,
) -> npymap_status {
    give(array, "`array`", || {
        let source = Source::bytes(archive::copy(bytes.bytes(nbytes, "`bytes`")?)?);
        Ok(OpenOptions::new().open_mode(AnySource::Writable(source))?.into())
    })
}

/// Creates a `.npy` file of zeros and maps it read-write. If `path` is null, this makes
/// an array in memory.
///
/// `descr` is the dtype like numpy.dtype.descr or numpy.dtype.str: ">f8", "<i4", "|b1",
/// "[('t', '<i8'), ('pos', '<f4', (3,))]". `flags` combines NPYMAP_OVERWRITE,
/// NPYMAP_DISCARD_TRAILING, NPYMAP_SPARSE, NPYMAP_PAGE_ALIGNED and
/// NPYMAP_FORTRAN_ORDER. The file gets its name once it is complete, with all its space
/// reserved. After an error, there is no file.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_create(
    path: In<c_char>,
    descr: In<c_char>,
    shape: In<usize>,
    ndim: usize,
    flags: u32,
    array: Out<Handle<Array>>,
) -> npymap_status {
    give(array, "`array`", || {
        let allowed = status::NPYMAP_OVERWRITE
            | status::NPYMAP_DISCARD_TRAILING
            | status::NPYMAP_SPARSE
            | status::NPYMAP_PAGE_ALIGNED
            | status::NPYMAP_FORTRAN_ORDER;
        let flags = Flags::new(flags, allowed)?;
        let dtype = descr.dtype()?;
        let shape = shape.slice(ndim, "`shape`")?;
        let array = if path.is_null() {
            save::zeros(dtype, shape, flags.order())?
        } else {
            boundary::create(path.path()?, &dtype, shape, &flags.create_options())?
        };
        Ok(array.into())
    })
}

/// Closes an array and sets the pointer to null. If its stores go to a file, this waits
/// until they are on the disk and returns write errors. Does nothing if the pointer is
/// null already.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_close(mut array: Out<Handle<Array>>) -> npymap_status {
    done(|| match array.get_mut("`array`")?.take().map(|array| array.into_any()) {
        Some(AnyArray::ReadOnly(array)) => Ok(array.close()?),
        Some(AnyArray::Writable(array)) => Ok(array.close()?),
        None => Ok(()),
    })
}

/// Closes an array without waiting for the disk, and sets the pointer to null. Your
/// stores are not lost, but you will not see write errors. Does nothing if the pointer,
/// or the pointer to it, is null.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_free(array: Out<Handle<Array>>) {
    free(array);
}

/// Drops an object of C.
pub(super) fn free<T>(mut object: Out<Handle<T>>) {
    crate::error::value((), || {
        if !object.is_null() {
            drop(object.get_mut("the object")?.take());
        }
        Ok(())
    });
}
