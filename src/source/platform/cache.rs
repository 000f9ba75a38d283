//! The page cache of open files: requests to read ahead, and eviction.

use std::fs::File;
use std::io;
use std::ops::Range;

#[cfg(target_os = "linux")]
use super::{memory::is_resident, read_at};
#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::error::invariant::to_u64;
#[cfg(target_os = "linux")]
use crate::error::invariant::to_usize;

/// The largest range to request in one call. Linux silently cuts longer
/// requests to the device's read-ahead window, which is rarely smaller.
#[cfg(unix)]
pub(super) const READ_AHEAD: usize = 128 << 10;

/// Whether [`read_ahead`] has an effect.
pub(crate) const HAS_READ_AHEAD: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Starts reading a range of a file into the page cache. Does nothing on
/// systems other than Linux.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
pub(crate) fn read_ahead(file: &File, offset: u64, len: u64) -> io::Result<()> {
    use rustix::fs::{Advice, fadvise};

    let end = offset + len;
    for start in (offset..end).step_by(READ_AHEAD) {
        let len = std::num::NonZero::new(to_u64(READ_AHEAD).min(end - start));
        fadvise(file, start, len, Advice::WillNeed)?;
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[inline]
pub(crate) fn read_ahead(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

/// Reads a range of a file into the page cache, and waits until it is there. An error
/// on systems other than Linux, and before Linux 5.14.
///
/// The kernel allocates huge pages for it where it can. On ext4, reading then
/// takes 0.6 of the time of [`read_ahead`], and an eighth of the processor's
/// time, but it also reads up to 4 MiB after the range.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn read_in(file: &File, offset: u64, len: usize) -> io::Result<()> {
    use memmap2::{Advice, MmapOptions};

    let map = MmapOptions::new().offset(offset).len(len).map_raw_read_only(file)?;
    // Fails if the system has no huge pages.
    map.advise(Advice::HugePage).ok();
    map.advise(Advice::PopulateRead)
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn read_in(_: &File, _: u64, _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The size of a huge page where pages have 4 KiB.
pub(crate) const HUGE_PAGE: u64 = 2 << 20;

/// Reads whole huge pages of a file into the page cache, and waits until they are there.
/// Unlike [`read_in`], reads nothing after them. An error on systems other than Linux,
/// before Linux 5.14, and where pages do not have 4 KiB.
///
/// On a virtual disk, this took half the time of [`read_ahead`]: the disk gets
/// one range of memory per huge page, instead of one per page.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn read_huge_pages(file: &File, offset: u64, len: usize) -> io::Result<()> {
    use memmap2::{Advice, MmapOptions};

    let size = to_usize(HUGE_PAGE);
    if rustix::param::page_size() != 4096 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let map = MmapOptions::new().offset(offset).len(len).map_raw_read_only(file)?;
    map.advise(Advice::HugePage)?;
    map.advise(Advice::Random)?;
    for (start, number) in (0..len).step_by(size).zip(0..) {
        // A fault reads all of a huge page since Linux 5.18, and a page before that.
        map.advise_range(Advice::PopulateRead, start, 1)?;
        read_ahead(file, offset + number * HUGE_PAGE, HUGE_PAGE)?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn read_huge_pages(_: &File, _: u64, _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns how many of `count` bytes of a range, at equal distances, are in the page cache.
/// `None` on systems other than Linux, and for file systems that can't tell.
///
/// The kernel begins to read a page that it does not have when a file is asked for it, but not
/// when a map is. So only one page is read, or a few if the file belongs to another user.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn cached_samples(file: &File, range: Range<u64>, count: usize) -> Option<usize> {
    /// Of files of other users, one sample in this many is asked for.
    const FEWER: usize = 4;

    let step = (range.end - range.start).div_ceil(to_u64(count)).max(1);
    let mut samples = range.step_by(to_usize(step));
    let (mut cached, mut missed) = (0, Vec::new());
    for at in samples.by_ref() {
        if !is_cached(file, at)? {
            missed.push(at);
            break;
        }
        cached += 1;
    }
    let rest: Vec<u64> = samples.collect();
    let resident: io::Result<Vec<bool>> = rest.iter().map(|at| is_resident(file, *at)).collect();
    match resident.map(|pages| pages.into_iter().filter(|is_resident| *is_resident).count()) {
        Ok(resident) if resident < rest.len() => cached += resident,
        // Maps of other users' files report all pages.
        _ => {
            for &at in rest.iter().step_by(FEWER) {
                if is_cached(file, at)? {
                    cached += FEWER;
                } else {
                    missed.push(at);
                }
            }
        }
    }
    // Pages that are being read can't be dropped, and there are no huge pages around them: an
    // epoch of 512 MiB took twice as long around 60 of them.
    for at in missed {
        read_at(file, &mut [0], at).ok();
    }
    Some(cached.min(count))
}

/// Whether the page of a byte is in the page cache. If not, the kernel may begin to read it.
#[cfg(target_os = "linux")]
#[inline]
fn is_cached(file: &File, at: u64) -> Option<bool> {
    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    let mut byte = [0];
    let mut buffers = [io::IoSliceMut::new(&mut byte)];
    match preadv2(file, &mut buffers, at, ReadWriteFlags::NOWAIT) {
        Ok(len) => Some(len > 0),
        Err(Errno::AGAIN) => Some(false),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn cached_samples(_: &File, _: Range<u64>, _: usize) -> Option<usize> {
    None
}

/// Asks the kernel to drop a range of a file from the page cache. Does nothing
/// on systems other than Linux.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
pub(crate) fn evict(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let Some(len) = std::num::NonZeroU64::new(len) else { return Ok(()) };
    Ok(rustix::fs::fadvise(file, offset, Some(len), rustix::fs::Advice::DontNeed)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[inline]
pub(crate) fn evict(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The bytes that this thread has requested from the disk.
    fn bytes_read() -> Option<u64> {
        let counts = fs::read_to_string("/proc/thread-self/io").ok()?;
        counts.lines().find_map(|line| line.strip_prefix("read_bytes: "))?.parse().ok()
    }

    #[test]
    fn few_pages_are_read_to_find_out_which_are_in_memory() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &vec![1; 8 << 20]).unwrap();
        file.sync_all().unwrap();
        let all = 0..8 << 20;
        assert!(matches!(cached_samples(&file, all.clone(), 64), Some(64) | None));
        evict(&file, 4 << 20, 4 << 20).unwrap();
        // Where files are in memory, they can't be evicted.
        assert!(matches!(cached_samples(&file, all.clone(), 64), Some(32..=64) | None));
        evict(&file, 0, 8 << 20).unwrap();
        let Some(before) = bytes_read() else { return };
        let cached = cached_samples(&file, all, 64);
        let read = bytes_read().unwrap() - before;
        assert!(
            matches!(cached, Some(0..=4 | 64) | None) && read <= 128 << 10,
            "{cached:?}, {read}"
        );
    }
}
