//! The minimum that a program which maps a file has to do: the bare system
//! calls.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags};

/// Opens, gets the length, maps, reads the `f64` at `offset`, unmaps and
/// closes, as a C program that knows the header would.
pub(crate) fn open(path: &CStr, offset: usize) -> rustix::io::Result<f64> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    element(&file, offset)
}

/// As [`open`], and reads the header without parsing it.
pub(crate) fn open_reading(path: &CStr, offset: usize) -> rustix::io::Result<f64> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::pread(&file, &mut [0; 1024], 0)?;
    element(&file, offset)
}

/// Maps the file and reads an element.
fn element(file: &OwnedFd, offset: usize) -> rustix::io::Result<f64> {
    let len = usize::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(0);
    assert!(offset.is_multiple_of(8) && offset + 8 <= len, "the offset is not that of an element");
    // SAFETY: the system chooses an address that nothing else is mapped at.
    let map = unsafe {
        rustix::mm::mmap(ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file, 0)
    }?;
    // SAFETY: `map` starts `len` bytes, and `offset` lies among them.
    let element = unsafe { map.byte_add(offset) };
    // SAFETY: eight bytes from `offset` are mapped, pages are aligned, `offset` is a multiple of 8, and every bit pattern is an `f64`.
    let value = unsafe { element.cast::<f64>().read_volatile() };
    // SAFETY: `map` and `len` are those of the mapping above, and nothing borrows from it.
    unsafe { rustix::mm::munmap(map, len) }?;
    Ok(value)
}
