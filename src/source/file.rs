//! Opening regular files, reading and writing at an offset, and extending files.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use crate::error::invariant::{IN_BUFFER, Invariant, WRITTEN, to_u64, to_usize};
use crate::error::{Error, ExtentError, IoContext as _, Result, SystemError};
use crate::source::platform::{self, FileSize, FileStat};
use crate::source::ranges;

/// The number of zeros per write when no system call reserves space.
const ZEROS: usize = 1 << 20;

/// Opens a regular file and returns it with its length and identity.
#[inline]
pub(crate) fn open(path: &Path, write: bool) -> Result<(File, FileStat)> {
    let mut options = OpenOptions::new();
    options.read(true).write(write);
    platform::set_nonblocking(&mut options);
    let opened = match options.open(path) {
        // Another process has a lease of the file. It is waited for, as usual.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock && path.is_file() => {
            OpenOptions::new().read(true).write(write).open(path)
        }
        opened => opened,
    };
    let file = opened.map_err(|error| {
        // The system's own error for directories differs between systems.
        if path.is_dir() {
            return SystemError::NotRegular { found: "a directory" }.into();
        }
        SystemError::io("open", error)
    })?;
    let stat = stat(&file)?;
    Ok((file, stat))
}

/// The length and identity of a regular file.
#[inline]
pub(crate) fn stat(file: &File) -> Result<FileStat> {
    let (kind, stat) = platform::stat(file).context("get the length")?;
    match kind {
        Some(found) => Err(SystemError::NotRegular { found }.into()),
        None => Ok(stat),
    }
}

/// The length of a regular file in bytes.
#[inline]
pub(crate) fn len(file: &File) -> Result<u64> {
    stat(file).map(|stat| stat.len)
}

/// Writes all bytes at `offset`, whatever the file's own position.
#[inline]
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut rest = bytes;
    let mut at = offset;
    while !rest.is_empty() {
        match platform::write_at(file, rest, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                rest = rest.get(n..).invariant(WRITTEN);
                at += to_u64(n);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills `buffer` with elements that start at `offset`.
#[inline]
pub(crate) fn read_elements(file: &File, buffer: &mut [u8], offset: u64) -> Result<()> {
    ranges::read_exact_at(file, buffer, offset).context("read the elements")
}

/// The error for a file that ends inside a range, or before it: `found` of its
/// `len` bytes were read. `size` is the file's size, if it is known.
#[inline]
pub(crate) fn short_file(offset: u64, len: usize, found: usize, size: Option<u64>) -> Error {
    let (needed, read) = (offset + to_u64(len), offset + to_u64(found));
    ExtentError::ShortFile { needed, found: size.map_or(read, |size| size.min(read)) }.into()
}

/// Reserves space on the disk if there is enough; `false` if the kernel has no
/// call for it.
///
/// The call takes all that is free before it fails, so other programs could not
/// write in the meantime.
#[inline]
pub(crate) fn allocate(file: &File, offset: u64, len: u64, size: FileSize) -> io::Result<bool> {
    if let Some(free) = platform::free_space(file) {
        // What the file occupies may be before the offset, or reserved after it.
        let occupied = platform::allocated(&file.metadata()?);
        let end = offset + len;
        let asked = len.min(end - occupied.min(end));
        if asked > free {
            let source = platform::disk_full();
            return Err(io::Error::other(Error::from(SystemError::Space { asked, free, source })));
        }
    }
    platform::allocate(file, offset, len, size)
}

/// Extends a file with zeros to `len` bytes and reserves their space, so that a
/// full disk returns an error now instead of raising SIGBUS at a store.
#[inline]
pub(crate) fn reserve(file: &File, len: u64) -> io::Result<()> {
    let mut at = file.metadata()?.len();
    if at >= len {
        return Ok(());
    }
    if allocate(file, at, len - at, FileSize::Extend)? {
        return Ok(());
    }
    append_zeros(file, &mut at, len)
}

/// Extends a file to at least `to` bytes with zeros and reserves their space.
/// On an error, the length is unchanged, unless another process has also
/// extended the file.
///
/// The kernel fills new bytes with zeros, except in the last page, where a map
/// may have stored after the end. So the rest of that page is written.
#[inline]
pub(crate) fn extend(file: &File, to: u64) -> io::Result<()> {
    // Others may have extended the file since it was opened, and stored there.
    let from = file.metadata()?.len();
    if from >= to {
        return Ok(());
    }
    let mut end = from;
    let allocated = allocate(file, from, to - from, FileSize::Keep);
    let extended = allocated.and_then(|is_reserved| {
        if !is_reserved {
            return append_zeros(file, &mut end, to);
        }
        append_zeros(file, &mut end, from.next_multiple_of(PAGE).min(to))?;
        reserve(file, to)
    });
    extended.or_else(|error| {
        // Space that was reserved in part is released, too.
        if file.metadata()?.len() == end {
            file.set_len(from)?;
        }
        Err(error)
    })
}

/// Appends zeros to a file of `end` bytes until it has `to`, and updates `end`.
/// If other processes extend it at the same time, their bytes are kept.
#[inline]
fn append_zeros(file: &File, end: &mut u64, to: u64) -> io::Result<()> {
    let zeros = vec![0; ZEROS];
    while *end < to {
        let count = to_usize((to - *end).min(to_u64(ZEROS)));
        match platform::append(file, zeros.get(..count).invariant(IN_BUFFER), *end) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => *end += to_u64(n),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The largest page size of any supported system.
const PAGE: u64 = 64 * 1024;
