//! Writing whole arrays.

use std::ffi::{c_char, c_void};

use npymap::MappedArray;

use crate::boundary::In;
use crate::error::{Result, done};
use crate::save::{self, Flags};
use crate::status;
use crate::status::npymap_status;

/// Writes a `.npy` file from the `nbytes` bytes of elements with the dtype `descr` and
/// `ndim` axes of lengths `shape`.
///
/// `flags` combines NPYMAP_OVERWRITE, NPYMAP_DISCARD_TRAILING and NPYMAP_FORTRAN_ORDER,
/// which is the order of the elements in memory. The file gets its name once it is
/// complete.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_save(
    path: In<c_char>,
    descr: In<c_char>,
    shape: In<usize>,
    ndim: usize,
    elements: In<c_void>,
    nbytes: usize,
    flags: u32,
) -> npymap_status {
    done(|| {
        let allowed = status::NPYMAP_OVERWRITE
            | status::NPYMAP_DISCARD_TRAILING
            | status::NPYMAP_FORTRAN_ORDER;
        let flags = Flags::new(flags, allowed)?;
        let array = array(&descr, &shape, ndim, elements.bytes(nbytes, "`elements`")?, flags)?;
        save::save(path.path()?, &array, flags)
    })
}

/// Adds a member to a `.npz` file, or replaces it. If there is no file, this creates
/// it. `flags` combines NPYMAP_COMPRESS and NPYMAP_FORTRAN_ORDER. The changed archive
/// replaces the file once it is complete, under a lock.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_save_member(
    path: In<c_char>,
    name: In<c_char>,
    descr: In<c_char>,
    shape: In<usize>,
    ndim: usize,
    elements: In<c_void>,
    nbytes: usize,
    flags: u32,
) -> npymap_status {
    done(|| {
        let allowed = status::NPYMAP_COMPRESS | status::NPYMAP_FORTRAN_ORDER;
        let flags = Flags::new(flags, allowed)?;
        let array = array(&descr, &shape, ndim, elements.bytes(nbytes, "`elements`")?, flags)?;
        save::save_member(path.path()?, name.text("`name`")?, &array, flags)
    })
}

/// The array that the arguments describe.
fn array<'a>(
    descr: &In<c_char>,
    shape: &In<usize>,
    ndim: usize,
    bytes: &'a [u8],
    flags: Flags,
) -> Result<MappedArray<&'a [u8]>> {
    let dtype = descr.dtype()?;
    save::elements(bytes, dtype, shape.slice(ndim, "`shape`")?, flags.order())
}
