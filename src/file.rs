//! Opens files and reads them at an offset. What differs by platform in this
//! stands here.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use crate::error::{ErrorKind, Result};

/// What is written at once where no system call reserves space, in bytes.
const ZEROS: usize = 1 << 20;

/// What tells a file from all others that exist, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    device: u64,
    inode: u64,
}

/// What is asked of a file when it is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stat {
    /// Its length in bytes.
    pub(crate) len: u64,
    /// Which file it is, where the system tells.
    pub(crate) id: Option<Id>,
}

/// Opens a regular file and tells its length and identity.
pub(crate) fn open(path: &Path, write: bool) -> Result<(File, Stat)> {
    let mut options = OpenOptions::new();
    options.read(true).write(write);
    never_wait(&mut options);
    let file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => ErrorKind::NotRegular { found: "a directory" }.into(),
        _ => ErrorKind::io("open")(error),
    })?;
    let stat = stat(&file)?;
    Ok((file, stat))
}

/// The length and identity of a regular file.
pub(crate) fn stat(file: &File) -> Result<Stat> {
    let (kind, stat) = measured(file).map_err(ErrorKind::io("ask for the length"))?;
    match kind {
        Some(found) => Err(ErrorKind::NotRegular { found }.into()),
        None => Ok(stat),
    }
}

/// The length of a regular file in bytes.
pub(crate) fn len(file: &File) -> Result<u64> {
    stat(file).map(|stat| stat.len)
}

/// What a file is, if not regular, its length and identity. `fstat` costs two
/// thirds of the call that the standard library makes.
#[cfg(unix)]
fn measured(file: &File) -> io::Result<(Option<&'static str>, Stat)> {
    use rustix::fs::FileType;
    /// The numbers are of other types on other systems, and never negative.
    fn wide(number: impl TryInto<u64>) -> u64 {
        number.try_into().unwrap_or(0)
    }
    let stat = rustix::fs::fstat(file)?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        _ => Some("a pipe or device"),
    };
    let id = Id { device: wide(stat.st_dev), inode: wide(stat.st_ino) };
    Ok((kind, Stat { len: wide(stat.st_size), id: Some(id) }))
}

#[cfg(not(unix))]
fn measured(file: &File) -> io::Result<(Option<&'static str>, Stat)> {
    let metadata = file.metadata()?;
    Ok((irregular(&metadata), Stat { len: metadata.len(), id: None }))
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

/// Fills `buffer` with elements that stand at `offset`.
pub(crate) fn read_elements(file: &File, buffer: &mut [u8], offset: u64) -> Result<()> {
    let found = read_at(file, buffer, offset).map_err(ErrorKind::io("read the elements"))?;
    if found == buffer.len() {
        return Ok(());
    }
    let place = |len: usize| offset.saturating_add(u64::try_from(len).unwrap_or(u64::MAX));
    Err(ErrorKind::ShortFile { needed: place(buffer.len()), found: place(found) }.into())
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

/// Writes zeros from one place to another.
fn write_zeros(file: &File, mut at: u64, end: u64) -> io::Result<()> {
    let zeros = vec![0; ZEROS];
    while at < end {
        let count = usize::try_from(end - at).unwrap_or(ZEROS).min(ZEROS);
        write_at(file, zeros.get(..count).unwrap_or_default(), at)?;
        at += u64::try_from(count).unwrap_or(0);
    }
    Ok(())
}

/// Makes a file longer, from `from` bytes to `to`: the new bytes are zero and
/// have their space reserved. On an error its length stays.
///
/// Systems make new bytes zero, but for those of the last page that somebody
/// stored to through a map, behind the end; so those are written.
pub(crate) fn extend(file: &File, from: u64, to: u64) -> io::Result<()> {
    if !keep_space(file, from, to - from)? {
        return write_zeros(file, from, to).or_else(|error| shorten(file, from, error));
    }
    let page = from.next_multiple_of(PAGE).min(to);
    write_zeros(file, from, page)
        .and_then(|()| reserve(file, to))
        .or_else(|error| shorten(file, from, error))
}

/// The largest page of the systems there are.
const PAGE: u64 = 64 * 1024;

/// Takes the length back after an error.
fn shorten(file: &File, len: u64, error: io::Error) -> io::Result<()> {
    file.set_len(len)?;
    Err(error)
}

/// Reserves space behind a file's end; false where systems have no such call.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn keep_space(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    use rustix::io::Errno;
    loop {
        match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, offset, len) {
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            done => return Ok(done.map(|()| true)?),
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn keep_space(_: &File, _: u64, _: u64) -> io::Result<bool> {
    Ok(false)
}

/// Asks the system to keep none of these bytes in memory.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn forget(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let Some(len) = std::num::NonZeroU64::new(len) else { return Ok(()) };
    Ok(rustix::fs::fadvise(file, offset, Some(len), rustix::fs::Advice::DontNeed)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn forget(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}
