//! Mapped memory: every `Advice` of `madvise`, residency, writeback, unmapping.
#![allow(unsafe_code)]

use std::ffi::c_long;
use std::fs::File;
use std::io;
use std::mem;

#[cfg(unix)]
use super::cache::READ_AHEAD;
use super::mmap;
#[cfg(target_os = "linux")]
use crate::error::invariant::to_u64;
#[cfg(unix)]
use crate::kernel::pages;

/// Says how you will access elements, so that the kernel reads ahead
/// accordingly, by `madvise`. Advice changes speed, never values, and does
/// nothing except on Unix.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, source::Advice};
///
/// // SAFETY: no other process writes to or truncates this file.
/// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
/// penguins.advise(.., Advice::Sequential)?;
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// No particular pattern: a few pages are read ahead.
    #[default]
    Normal,
    /// Random access: there is no read-ahead. Best for rows in random order
    /// that are not much larger than a page.
    Random,
    /// From first to last: many pages are read ahead.
    Sequential,
    /// Soon: reading starts now.
    WillNeed,
}

/// Advises the kernel how memory will be accessed. Does nothing on systems
/// other than Unix.
#[cfg(unix)]
#[inline]
pub(crate) fn advise(bytes: &[u8], advice: Advice) -> io::Result<()> {
    use rustix::mm;

    if advice == Advice::WillNeed && bytes.len() > READ_AHEAD {
        return bytes.chunks(READ_AHEAD).try_for_each(|part| advise(part, advice));
    }
    madvise(
        bytes,
        match advice {
            Advice::Normal => mm::Advice::Normal,
            Advice::Random => mm::Advice::Random,
            Advice::Sequential => mm::Advice::Sequential,
            Advice::WillNeed => mm::Advice::WillNeed,
        },
    )
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn advise(_: &[u8], _: Advice) -> io::Result<()> {
    Ok(())
}

/// Faults pages in, so that unreadable pages return an error instead of raising
/// SIGBUS; `false` if the kernel has no call for it: Linux before 5.14, and
/// other systems.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn populate(bytes: &[u8]) -> io::Result<bool> {
    match madvise(bytes, rustix::mm::Advice::LinuxPopulateRead) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(false),
        done => done.map(|()| true),
    }
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn populate(_: &[u8]) -> io::Result<bool> {
    Ok(false)
}

/// Has faults read a map of a file in huge pages, and the next of them ahead. Does nothing on
/// systems other than Linux.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn fault_huge_pages(bytes: &[u8]) {
    // Fails if the system has no huge pages.
    madvise(bytes, rustix::mm::Advice::LinuxHugepage).ok();
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn fault_huge_pages(_: &[u8]) {}

/// Asks the kernel to drop pages from the page cache that only this process has
/// accessed, through this memory. Does nothing on systems other than Linux,
/// before Linux 5.4, and for files that the user neither owns nor may write to.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn page_out(bytes: &[u8]) -> io::Result<()> {
    madvise(bytes, rustix::mm::Advice::LinuxPageOut)
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn page_out(_: &[u8]) -> io::Result<()> {
    Ok(())
}

/// How often this thread had to wait for a page of a map to be read from the disk, and how
/// often it slept, as in reads of a file from the disk. Returns `None` on systems other than
/// Linux.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn disk_waits() -> Option<[c_long; 2]> {
    let mut usage = mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills in the structure, which is valid for writes.
    let done = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: all fields are integers, which are zero if the call has not set them.
    let usage = unsafe { usage.assume_init() };
    (done == 0).then_some([usage.ru_majflt, usage.ru_nvcsw])
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn disk_waits() -> Option<[c_long; 2]> {
    None
}

/// Gives advice of a kind that changes no byte: reading pages, keeping them, or
/// writing them to where they come from.
#[cfg(unix)]
#[inline]
fn madvise(bytes: &[u8], advice: rustix::mm::Advice) -> io::Result<()> {
    let (page, len) = pages(bytes);
    // SAFETY: this advice changes no byte of memory, so it does not affect the owners
    // of other bytes in the first and the last page.
    unsafe { rustix::mm::madvise(page.cast_mut().cast(), len, advice) }.map_err(io::Error::from)
}

/// Counts the bytes of a map that are in memory. Returns `None` on systems
/// other than Linux.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn resident(bytes: &[u8]) -> io::Result<Option<usize>> {
    /// The number of pages per call.
    const PAGES: usize = 4096;

    let page = rustix::param::page_size();
    let mut are_resident = [0_u8; PAGES];
    let (mut rest, mut count) = (bytes, 0);
    while !rest.is_empty() {
        let (start, len) = pages(rest);
        let before = len - rest.len();
        let asked = len.min(PAGES * page);
        // SAFETY: the pages hold `rest`, which is borrowed, so they are mapped;
        // the call stores one byte per page, and there are at most `PAGES`.
        let done =
            unsafe { libc::mincore(start.cast_mut().cast(), asked, are_resident.as_mut_ptr()) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        let (_, after) = rest.split_at(asked - before);
        for (number, state) in are_resident.iter().take(asked.div_ceil(page)).enumerate() {
            // The first and the last page may hold other bytes too.
            let (from, to) = ((number * page).max(before), ((number + 1) * page).min(asked));
            count += if state & 1 == 1 { to - from } else { 0 };
        }
        rest = after;
    }
    Ok(Some(count))
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn resident(_: &[u8]) -> io::Result<Option<usize>> {
    Ok(None)
}

/// Whether the page of a file that has a byte is in memory, or all are said to be, as in files
/// of other users. Does not read it.
#[cfg(target_os = "linux")]
#[inline]
pub(super) fn is_resident(file: &File, at: u64) -> io::Result<bool> {
    let start = at - at % to_u64(rustix::param::page_size());
    let map = mmap::MmapOptions::new().offset(start).len(1).map_raw_read_only(file)?;
    let mut state = 0;
    // SAFETY: a page is mapped, until the end of this function; the call stores one byte for it.
    match unsafe { libc::mincore(map.as_mut_ptr().cast(), 1, &raw mut state) } {
        0 => Ok(state & 1 == 1),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Removes pages from this process's memory. The next access faults them in
/// again. Does nothing on systems other than Unix.
///
/// # Safety
///
/// All pages that hold the bytes belong to one map shared with a file.
#[cfg(unix)]
#[inline]
pub(crate) unsafe fn unload(bytes: &[u8]) -> io::Result<()> {
    use rustix::mm;

    #[cfg(target_os = "linux")]
    let advice = mm::Advice::LinuxDontNeed;
    #[cfg(not(target_os = "linux"))]
    let advice = mm::Advice::DontNeed;
    let (page, len) = pages(bytes);
    // SAFETY: the map is shared with a file, so the next access finds the same
    // page of the page cache, including everything stored into it.
    unsafe { mm::madvise(page.cast_mut().cast(), len, advice) }.map_err(io::Error::from)
}

/// # Safety
///
/// Always safe: it does nothing.
#[cfg(not(unix))]
#[inline]
pub(crate) unsafe fn unload(_: &[u8]) -> io::Result<()> {
    Ok(())
}

/// Starts writing what was stored into a map of a file to the disk, without
/// waiting. `offset` is where the map starts in the file. On Linux, `msync`
/// with `MS_ASYNC` does nothing (see its manual page).
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn start_writeback(file: &File, offset: u64, map: &mmap::MmapMut) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    let offset = i64::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
    let len = i64::try_from(map.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: `file` is borrowed, so its descriptor is open, and the call does
    // not access this process's memory.
    let done = unsafe {
        libc::sync_file_range(file.as_raw_fd(), offset, len, libc::SYNC_FILE_RANGE_WRITE)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn start_writeback(_: &File, _: u64, map: &mmap::MmapMut) -> io::Result<()> {
    map.flush_async()
}

/// Waits until a file and everything stored through a map of it are on the
/// disk.
#[inline]
pub(crate) fn sync(file: &File, map: Option<&mmap::MmapMut>) -> io::Result<()> {
    // On Linux, syncing the file includes stores through maps.
    if let (Some(map), false) = (map, cfg!(target_os = "linux")) {
        map.flush()?;
    }
    file.sync_data()
}

/// Unmaps memory that memmap2 mapped and returns the kernel's error, which
/// dropping the map would ignore. Systems other than Unix report none.
#[cfg(unix)]
pub(crate) fn unmap(map: impl Memmap) -> io::Result<()> {
    let (page, len) = pages(map.as_ref());
    mem::forget(map);
    // SAFETY: memmap2 maps whole pages, from the page of the first byte on. The
    // map was passed by value and forgotten, so nothing owns the pages or
    // borrows from them.
    unsafe { rustix::mm::munmap(page.cast_mut().cast(), len) }.map_err(io::Error::from)
}

#[cfg(not(unix))]
pub(crate) fn unmap(map: impl Memmap) -> io::Result<()> {
    mem::drop(map);
    Ok(())
}

/// A map made by memmap2.
pub(crate) trait Memmap: AsRef<[u8]> {}

impl Memmap for mmap::Mmap {}
impl Memmap for mmap::MmapMut {}
