//! Members of archives: `.npz`, `.ten` and tar files.

use std::ffi::{c_char, c_void};
use std::ptr;

use super::open::{free, give};
use crate::archive::Archive;
use crate::array::Array;
use crate::boundary::{self, Handle, In, Out};
use crate::error::value;
use crate::status::{npymap_mode, npymap_status};

/// Opens a `.npz`, `.ten`, tar or `.npy` file, recognized by its contents. `mode` is
/// like in npymap_open, but a `.npz` cannot be opened with NPYMAP_READ_WRITE. Arrays
/// outlive the archive.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_archive_open(
    path: In<c_char>,
    mode: npymap_mode,
    archive: Out<Handle<Archive>>,
) -> npymap_status {
    give(archive, "`archive`", || Archive::open(boundary::source(path.path()?, mode)?))
}

/// Opens a copy of the `nbytes` bytes of an archive in memory.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_archive_open_bytes(
    bytes: In<c_void>,
    nbytes: usize,
    archive: Out<Handle<Archive>>,
) -> npymap_status {
    give(archive, "`archive`", || Archive::from_bytes(bytes.bytes(nbytes, "`bytes`")?))
}

/// Closes an archive and sets the pointer to null. Does nothing if the pointer, or the
/// pointer to it, is null.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_archive_free(archive: Out<Handle<Archive>>) {
    free(archive);
}

/// Returns the number of members. For a null pointer, this sets an error and returns 0.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_archive_len(archive: In<Archive>) -> usize {
    value(0, || Ok(archive.get("`archive`")?.names().len()))
}

/// Returns the name of the member at a position. This is the name without `.npy` in a
/// `.npz`, "0", "1" and so on in a `.ten`, "name.ten[0]" for arrays of a `.ten` in a
/// tar file, and empty for a `.npy`. If there is no such position, this is null. It is
/// valid until you close the archive.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_archive_name(archive: In<Archive>, position: usize) -> *const c_char {
    value(ptr::null(), || {
        let archive = archive.get("`archive`")?;
        let name = archive.names().get(position);
        Ok(name.ok_or_else(|| archive.no_position(position))?.as_ptr())
    })
}

/// Opens the member called `name`, or the only array if `name` is null. Stored members
/// are mapped in place, and deflated members are inflated into memory. In a `.ten`,
/// `name` can also be the info of an array.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_archive_get(
    archive: In<Archive>,
    name: In<c_char>,
    array: Out<Handle<Array>>,
) -> npymap_status {
    give(array, "`array`", || archive.get("`archive`")?.get(name.optional_text("`name`")?))
}

/// Opens the member at a position.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_archive_get_at(
    archive: In<Archive>,
    position: usize,
    array: Out<Handle<Array>>,
) -> npymap_status {
    give(array, "`array`", || archive.get("`archive`")?.get_at(position))
}
