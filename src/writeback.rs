//! Has the system begin to write what was stored to the disk.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::MmapMut;

/// Begins, and does not wait. On Linux `msync` would do nothing
/// (`MS_ASYNC` in its manual).
#[cfg(target_os = "linux")]
pub(crate) fn begin(file: &File, offset: u64, memory: &MmapMut) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let offset = i64::try_from(offset).map_err(invalid)?;
    let len = i64::try_from(memory.len()).map_err(invalid)?;
    // SAFETY: the descriptor is open as long as `file` is borrowed, and the
    // call touches no memory of ours.
    let done = unsafe {
        libc::sync_file_range(file.as_raw_fd(), offset, len, libc::SYNC_FILE_RANGE_WRITE)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn begin(_: &File, _: u64, memory: &MmapMut) -> io::Result<()> {
    memory.flush_async()
}
