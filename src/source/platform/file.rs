//! Open files: kind, identity, and reads and writes at an offset.

use std::fs::{File, Metadata, OpenOptions};
use std::io;

/// Identifies a file on this machine, whatever its names. Once the file has no
/// name and no process has it open or mapped, another file may get the same
/// identity.
///
/// Some file systems don't keep to that. On overlayfs, a file of a lower layer
/// gets another identity when it is first written: reopening it is then
/// [`Changed`](crate::ErrorKind::Changed), although nobody replaced it. So it
/// is on FUSE file systems that number files anew. File systems that combine
/// several others can give two files the same identity: a replaced file is then
/// not noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FileId {
    /// The number of the device, or of the mounted file system.
    pub device: u64,
    /// The number of the file on it.
    pub inode: u64,
}

/// The metadata read when a file is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileStat {
    /// The length in bytes.
    pub(crate) len: u64,
    /// `None` on systems that do not report it.
    pub(crate) id: Option<FileId>,
}

/// The identity of a file. Returns `None` on systems other than Unix.
#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "`None` on other systems")]
#[inline]
pub(crate) fn file_id(metadata: &Metadata) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    Some(FileId { device: metadata.dev(), inode: metadata.ino() })
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn file_id(_: &Metadata) -> Option<FileId> {
    None
}

/// Describes a file that is not a regular one, for error messages. Returns
/// `None` for regular files.
#[inline]
pub(crate) fn irregular_kind(metadata: &Metadata) -> Option<&'static str> {
    match metadata.file_type() {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a directory"),
        _ => Some("a pipe or device"),
    }
}

/// Makes opening a pipe that has no writer return immediately. On other systems
/// a path cannot lead to a pipe.
#[cfg(unix)]
#[inline]
pub(crate) fn set_nonblocking(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    if let Ok(flag) = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()) {
        options.custom_flags(flag);
    }
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn set_nonblocking(_: &mut OpenOptions) {}

/// Returns the [`irregular_kind`] of a file, its length and its identity.
/// `fstat` takes two thirds of the time of the standard library's `statx`.
#[cfg(unix)]
#[inline]
pub(crate) fn stat(file: &File) -> io::Result<(Option<&'static str>, FileStat)> {
    use rustix::fs::FileType;

    let stat = rustix::fs::fstat(file)?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        _ => Some("a pipe or device"),
    };
    let id = FileId { device: widen(stat.st_dev), inode: widen(stat.st_ino) };
    Ok((kind, FileStat { len: widen(stat.st_size), id: Some(id) }))
}

/// Widens a field of `stat`. Its type depends on the kernel, and it is never
/// negative.
#[cfg(unix)]
fn widen(number: impl TryInto<u64>) -> u64 {
    number.try_into().unwrap_or(0)
}

/// The standard library identifies files on Unix only.
#[cfg(not(unix))]
#[inline]
pub(crate) fn stat(file: &File) -> io::Result<(Option<&'static str>, FileStat)> {
    let metadata = file.metadata()?;
    Ok((irregular_kind(&metadata), FileStat { len: metadata.len(), id: None }))
}

/// Reads at an offset, possibly fewer bytes than `buffer` holds. On systems
/// other than Unix the file's own position is moved and then restored.
#[cfg(unix)]
#[inline]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
#[inline]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    restore_position(file, |file| std::os::windows::fs::FileExt::seek_read(file, buffer, offset))
}

#[cfg(not(any(unix, windows)))]
#[inline]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    use std::io::{Read as _, Seek as _};

    restore_position(file, |mut file| {
        file.seek(io::SeekFrom::Start(offset))?;
        file.read(buffer)
    })
}

/// Writes at an offset, possibly fewer bytes than `bytes` has. On systems other
/// than Unix the file's own position is moved and then restored.
#[cfg(unix)]
#[inline]
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, bytes, offset)
}

#[cfg(windows)]
#[inline]
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    restore_position(file, |file| std::os::windows::fs::FileExt::seek_write(file, bytes, offset))
}

#[cfg(not(any(unix, windows)))]
#[inline]
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    use std::io::{Seek as _, Write as _};

    restore_position(file, |mut file| {
        file.seek(io::SeekFrom::Start(offset))?;
        file.write(bytes)
    })
}

/// Writes at the end of a file, possibly fewer bytes than `bytes` has. `end`
/// was the end a moment ago. On Linux it may have moved, elsewhere newer bytes
/// are overwritten.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
pub(crate) fn append(file: &File, bytes: &[u8], end: u64) -> io::Result<usize> {
    use rustix::io::{Errno, ReadWriteFlags, pwritev2};

    match pwritev2(file, &[io::IoSlice::new(bytes)], end, ReadWriteFlags::APPEND) {
        // Older systems, and sandboxes, report one of these.
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::PERM) => {
            write_at(file, bytes, end)
        }
        written => Ok(written?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[inline]
pub(crate) fn append(file: &File, bytes: &[u8], end: u64) -> io::Result<usize> {
    write_at(file, bytes, end)
}

/// Runs `action`, then restores the file's position.
#[cfg(not(unix))]
fn restore_position<T>(
    mut file: &File,
    action: impl FnOnce(&File) -> io::Result<T>,
) -> io::Result<T> {
    use std::io::{Seek as _, SeekFrom};

    let position = file.stream_position()?;
    let result = action(file);
    file.seek(SeekFrom::Start(position))?;
    result
}

/// Returns whether a file was opened with `O_APPEND`, which makes Linux's
/// `pwrite` ignore its offset ("BUGS" in its manual page). On Windows, append
/// access does not affect writes at an offset.
#[cfg(unix)]
#[inline]
pub(crate) fn is_append_only(file: &File) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(file)?.contains(rustix::fs::OFlags::APPEND))
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn is_append_only(_: &File) -> io::Result<bool> {
    Ok(false)
}
