//! Disk space of files: reserving it, and finding holes.

use std::fs::File;
use std::io;

/// Returns whether a file may have holes, where storing fails if the disk is
/// full: it occupies less space than its length, or the kernel reports one. If
/// little space can be missing, it is reserved instead. On systems other than
/// Unix every file is assumed to.
#[cfg(unix)]
#[inline]
pub(crate) fn is_sparse(mut file: &File) -> io::Result<bool> {
    use std::io::Seek as _;
    use std::os::unix::fs::MetadataExt as _;

    let metadata = file.metadata()?;
    // `st_blocks` counts units of 512 bytes, whatever the block size, and also space that
    // was reserved after the end, and that of extended attributes and lists of blocks.
    let (len, occupied) = (metadata.len(), allocated(&metadata));
    if occupied < len {
        return Ok(true);
    }
    let position = file.stream_position()?;
    let hole = next_hole(file, 0);
    file.seek(io::SeekFrom::Start(position))?;
    if hole? >= len {
        return Ok(false);
    }
    // Space that was reserved is reported as a hole, too. If nearly all is there, reserving
    // the rest takes no time.
    let is_reserved = occupied <= len.next_multiple_of(metadata.blksize().clamp(1, 4096))
        && matches!(allocate(file, 0, len, FileSize::Keep), Ok(true));
    Ok(!is_reserved)
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn is_sparse(_: &File) -> io::Result<bool> {
    Ok(true)
}

/// The space that this user may still take on the file system of a file, in
/// bytes. Returns `None` if the kernel does not report it.
#[cfg(unix)]
#[inline]
pub(crate) fn free_space(file: &File) -> Option<u64> {
    let found = rustix::fs::fstatvfs(file).ok()?;
    // Some file systems have no number of blocks, such as tmpfs without a limit.
    if found.f_blocks > 0 { found.f_bavail.checked_mul(found.f_frsize) } else { None }
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn free_space(_: &File) -> Option<u64> {
    None
}

/// The error of a system call if there is too little space.
#[inline]
pub(crate) fn disk_full() -> io::Error {
    #[cfg(unix)]
    return rustix::io::Errno::NOSPC.into();
    #[cfg(not(unix))]
    io::ErrorKind::StorageFull.into()
}

/// The space a file takes on the disk, in bytes. Its length on systems other
/// than Unix.
#[inline]
pub(crate) fn allocated(metadata: &std::fs::Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::blocks(metadata).saturating_mul(512);
    #[cfg(not(unix))]
    metadata.len()
}

/// Whether reserving space after the end of a file makes the file longer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSize {
    Extend,
    Keep,
}

/// Reserves space on the disk; `false` if the kernel has no call for it.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
pub(crate) fn allocate(file: &File, offset: u64, len: u64, size: FileSize) -> io::Result<bool> {
    use rustix::fs::FallocateFlags;
    use rustix::io::Errno;

    let flags = match size {
        FileSize::Extend => FallocateFlags::empty(),
        FileSize::Keep => FallocateFlags::KEEP_SIZE,
    };
    loop {
        match rustix::fs::fallocate(file, flags, offset, len) {
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            done => return Ok(done.map(|()| true)?),
        }
    }
}

/// NTFS reserves space up to a file's length, but no further.
#[cfg(windows)]
#[inline]
pub(crate) fn allocate(file: &File, offset: u64, len: u64, size: FileSize) -> io::Result<bool> {
    if size == FileSize::Extend {
        file.set_len(offset + len)?;
    }
    Ok(true)
}

#[cfg(not(any(target_os = "linux", target_os = "android", windows)))]
#[inline]
pub(crate) fn allocate(_: &File, _: u64, _: u64, _: FileSize) -> io::Result<bool> {
    Ok(false)
}

/// Returns the offset of the first byte at or after `offset` that is not in a
/// hole, or `None` if all are. Where the kernel does not report holes, that is
/// `offset` itself.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
pub(crate) fn next_data(file: &File, offset: u64) -> io::Result<Option<u64>> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
        Ok(start) => Ok(Some(start)),
        Err(rustix::io::Errno::NXIO) => Ok(None),
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => Ok(Some(offset)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[inline]
pub(crate) fn next_data(_: &File, offset: u64) -> io::Result<Option<u64>> {
    Ok(Some(offset))
}

/// Returns the offset of the first hole at or after `offset`. Without a hole, it
/// is the end of the file or a greater number.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
pub(crate) fn next_hole(file: &File, offset: u64) -> io::Result<u64> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(offset)) {
        Ok(start) => Ok(start),
        Err(rustix::io::Errno::NXIO | rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => {
            Ok(u64::MAX)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[inline]
pub(crate) fn next_hole(_: &File, _: u64) -> io::Result<u64> {
    Ok(u64::MAX)
}
