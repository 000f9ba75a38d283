//! Opens files and reads them at an offset. What differs by platform in this
//! stands here.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use crate::error::{ErrorKind, Result};

/// What is written at once where no system call reserves space, in bytes.
const ZEROS: usize = 1 << 20;

/// Opens a regular file and tells its length in bytes.
pub(crate) fn open(path: &Path, write: bool) -> Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.read(true).write(write);
    never_wait(&mut options);
    let file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => ErrorKind::NotRegular { found: "a directory" }.into(),
        _ => ErrorKind::io("open")(error),
    })?;
    let len = len(&file)?;
    Ok((file, len))
}

/// The length of a regular file in bytes.
pub(crate) fn len(file: &File) -> Result<u64> {
    let (kind, len) = measured(file).map_err(ErrorKind::io("ask for the length"))?;
    match kind {
        Some(found) => Err(ErrorKind::NotRegular { found }.into()),
        None => Ok(len),
    }
}

/// What a file is, if not regular, and its length. `fstat` costs two thirds of
/// the call that the standard library makes.
#[cfg(unix)]
fn measured(file: &File) -> io::Result<(Option<&'static str>, u64)> {
    use rustix::fs::FileType;
    let stat = rustix::fs::fstat(file)?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        _ => Some("a pipe or device"),
    };
    Ok((kind, u64::try_from(stat.st_size).unwrap_or(0)))
}

#[cfg(not(unix))]
fn measured(file: &File) -> io::Result<(Option<&'static str>, u64)> {
    let metadata = file.metadata()?;
    Ok((irregular(&metadata), metadata.len()))
}

/// What a path leads to, if not to a regular file.
pub(crate) fn irregular(metadata: &Metadata) -> Option<&'static str> {
    match metadata.file_type() {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a directory"),
        _ => Some("a pipe or device"),
    }
}

/// Reads at `offset` until `buffer` is full or the file ends; the file's own
/// position doesn't matter.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    let mut at = offset;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match positioned(file, rest, at) {
            Ok(0) => break,
            Ok(n) => {
                filled += n;
                at += u64::try_from(n).unwrap_or(0);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Writes all bytes at `offset`; the file's own position doesn't matter.
#[cfg(unix)]
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
pub(crate) fn write_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let n = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        if n == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = bytes.get(n..).unwrap_or_default();
        offset += u64::try_from(n).unwrap_or(0);
    }
    Ok(())
}

/// Opening a pipe without a writer would wait for one.
#[cfg(unix)]
fn never_wait(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    if let Ok(flag) = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()) {
        options.custom_flags(flag);
    }
}

#[cfg(not(unix))]
fn never_wait(_: &mut OpenOptions) {}

#[cfg(unix)]
fn positioned(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn positioned(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Lengthens a file to `len` bytes with all its space reserved and zero from
/// its end on, so that a full disk is an error now and not a fault at a store.
pub(crate) fn reserve(file: &File, len: u64) -> io::Result<()> {
    let at = file.metadata()?.len();
    if at >= len {
        return Ok(());
    }
    #[cfg(any(target_os = "linux", target_os = "android"))]
    loop {
        match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), at, len - at) {
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => break,
            done => return done.map_err(io::Error::from),
        }
    }
    write_zeros(file, at, len)
}

fn write_zeros(file: &File, mut at: u64, end: u64) -> io::Result<()> {
    let zeros = vec![0; ZEROS];
    while at < end {
        let count = usize::try_from(end - at).unwrap_or(ZEROS).min(ZEROS);
        write_at(file, zeros.get(..count).unwrap_or_default(), at)?;
        at += u64::try_from(count).unwrap_or(0);
    }
    Ok(())
}
