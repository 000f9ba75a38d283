//! Memory maps: bytes of a file, or of none. This is where memory is lent
//! that others can reach; it knows no dtype.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
#[cfg(unix)]
use std::mem;
#[cfg(unix)]
use std::ops::Range;
use std::sync::Arc;

#[cfg(unix)]
use memmap2::UncheckedAdvice;
use memmap2::{MapIfSafeError, Mmap, MmapMut, MmapOptions};

use crate::error::{ErrorKind, Result};
use crate::{file, writeback};

/// From here on large pages pay, in bytes.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// Read-only bytes of one array's elements, and no others.
///
/// Clones share the mapping; the last one to go unmaps it. No file descriptor
/// is kept. Without elements nothing is mapped: systems refuse that.
#[derive(Clone, Debug)]
pub struct Map {
    memory: Option<Arc<Mmap>>,
    /// Whether the bytes are the file's, all of them.
    shared: bool,
}

/// Writable bytes of one array's elements, and no others: shared with the
/// file, private, or of no file. A shared one keeps its file open.
///
/// Dropping it unmaps. What was stored into a shared map is then on its way
/// to the disk, and survives the process, but not yet the machine; failures
/// to write are lost. [`MappedArray::flush`](crate::MappedArray::flush) and
/// [`MappedArray::close`](crate::MappedArray::close) wait for the disk and
/// tell.
#[derive(Debug)]
pub struct MapMut {
    memory: Option<MmapMut>,
    /// The file that what is stored goes to, and where in it.
    shared: Option<(File, u64)>,
}

impl Map {
    /// Maps `len` bytes of a file from `offset` on, read-only.
    ///
    /// # Safety
    ///
    /// As long as the map or a clone lives, nobody may truncate the file below
    /// the end of these bytes. While they are borrowed, nobody may change them.
    pub(crate) unsafe fn new(file: &File, offset: u64, len: usize) -> Result<Map> {
        let map = |options: &mut MmapOptions| {
            // SAFETY: the promises asked of the caller are those `map` asks of
            // us; the file is held to them for as long as the `Mmap` lives,
            // which only this `Map` and its clones own.
            unsafe { options.map(file) }
        };
        Ok(Map { memory: mapped(offset, len, map)?.map(Arc::new), shared: true })
    }

    /// Maps `len` bytes of a file that the system promises never to change.
    pub(crate) fn immutable(file: &File, offset: u64, len: usize) -> Result<Map> {
        if len == 0 {
            return Ok(Map { memory: None, shared: true });
        }
        let refused = |error: MapIfSafeError| {
            if error.map_failed() {
                ErrorKind::map("map", len)(error.into())
            } else {
                ErrorKind::NotImmutable.into()
            }
        };
        let memory = MmapOptions::new().offset(offset).len(len).map_if_safe(file);
        Ok(Map { memory: Some(Arc::new(memory.map_err(refused)?)), shared: true })
    }

    /// True when every byte is the file's.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    #[cfg(unix)]
    pub(crate) fn memory(&self) -> Option<&Mmap> {
        self.memory.as_deref()
    }

    /// Nothing can have been stored.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as that of `MapMut`")]
    pub(crate) fn flush_range(&self, _start: usize, _len: usize) -> Result<()> {
        Ok(())
    }

    /// Takes the pages of these bytes out of this process' memory, until they
    /// are touched; false when they may hold what no file does.
    #[cfg(unix)]
    pub(crate) fn unload(&self, range: &Range<usize>) -> Result<bool> {
        let Some(memory) = self.memory().filter(|_| self.shared) else { return Ok(false) };
        // SAFETY: the map is shared with the file, so that what is read from
        // it after is the same page of the file as before; nothing is lost.
        let done = unsafe {
            memory.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len())
        };
        done.map(|()| true).map_err(ErrorKind::map("unload", range.len()))
    }

    /// Unmaps, if no clone is left, and returns what the system said.
    pub(crate) fn close(self) -> Result<()> {
        self.memory.and_then(Arc::into_inner).map_or(Ok(()), unmap)
    }
}

impl MapMut {
    /// Maps `len` bytes of a file from `offset` on, read-write and shared with
    /// the file.
    ///
    /// # Safety
    ///
    /// As long as the map lives, nobody may truncate the file below the end of
    /// these bytes, and nobody may read or change them while they are borrowed
    /// mutably, nor change them while they are borrowed.
    pub(crate) unsafe fn shared(file: &File, offset: u64, len: usize) -> Result<MapMut> {
        let map = |options: &mut MmapOptions| {
            // SAFETY: the promises asked of the caller are those `map_mut` asks
            // of us; the file is held to them for as long as the `MmapMut`
            // lives, which only this `MapMut` owns.
            unsafe { options.map_mut(file) }
        };
        let memory = mapped(offset, len, map)?;
        let file = file.try_clone().map_err(ErrorKind::io("keep the file open"))?;
        Ok(MapMut { memory, shared: Some((file, offset)) })
    }

    /// Maps `len` bytes of a file from `offset` on, read-write; what is stored
    /// stays in this map.
    ///
    /// No swap is reserved: files larger than memory can be mapped.
    ///
    /// # Safety
    ///
    /// As [`Map::new`]: pages nobody stored to are still the file's.
    pub(crate) unsafe fn private(file: &File, offset: u64, len: usize) -> Result<MapMut> {
        let map = |options: &mut MmapOptions| {
            let options = options.no_reserve_swap();
            // SAFETY: the promises asked of the caller are those `map_copy`
            // asks of us; the file is held to them for as long as the `MmapMut`
            // lives, which only this `MapMut` owns.
            unsafe { options.map_copy(file) }
        };
        Ok(MapMut { memory: mapped(offset, len, map)?, shared: None })
    }

    /// Takes `len` zero bytes of page-aligned memory.
    pub(crate) fn anonymous(len: usize) -> Result<MapMut> {
        Ok(MapMut { memory: mapped(0, len, |options| options.map_anon())?, shared: None })
    }

    #[cfg(unix)]
    pub(crate) fn memory(&self) -> Option<&MmapMut> {
        self.memory.as_ref()
    }

    /// Takes the pages of these bytes out of this process' memory, until they
    /// are touched; false when they may hold what no file does.
    #[cfg(unix)]
    pub(crate) fn unload(&self, range: &Range<usize>) -> Result<bool> {
        let Some(memory) = self.memory().filter(|_| self.shared.is_some()) else {
            return Ok(false);
        };
        // SAFETY: the map is shared with the file, so that what is read from
        // it after is the same page of the file as before; what was stored
        // stays in that page, of which the system knows that it was.
        let done = unsafe {
            memory.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len())
        };
        done.map(|()| true).map_err(ErrorKind::map("unload", range.len()))
    }

    /// Asks for large pages, which fresh memory that is filled whole is faster
    /// with. Systems that have none refuse, which changes nothing.
    pub(crate) fn in_large_pages(self) -> MapMut {
        #[cfg(target_os = "linux")]
        if let Some(memory) = self.memory.as_ref().filter(|memory| memory.len() >= LARGE) {
            let _ = memory.advise(memmap2::Advice::HugePage);
        }
        self
    }

    /// Makes it read-only, so that it can be shared.
    pub(crate) fn into_read_only(self) -> Result<Map> {
        let shared = self.shared.is_some();
        let Some(memory) = self.memory else { return Ok(Map { memory: None, shared }) };
        let len = memory.len();
        let memory = memory.make_read_only().map_err(ErrorKind::map("protect", len))?;
        Ok(Map { memory: Some(Arc::new(memory)), shared })
    }

    /// An error if there is no file to write to.
    pub(crate) fn writable(&self) -> Result<()> {
        if self.shared.is_some() { Ok(()) } else { Err(ErrorKind::NoFile.into()) }
    }

    /// Writes bytes to the file, `at` bytes from where the map starts; the map
    /// shows them.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        let Some((file, offset)) = &self.shared else { return Err(ErrorKind::NoFile.into()) };
        let at = u64::try_from(at).unwrap_or(u64::MAX).saturating_add(*offset);
        file::write_at(file, bytes, at).map_err(ErrorKind::io("write the elements"))
    }

    /// Waits until what was stored is on the disk; nothing to do for memory
    /// that is not shared with a file.
    pub(crate) fn flush(&self) -> Result<()> {
        let Some((file, _)) = &self.shared else { return Ok(()) };
        let len = self.as_ref().len();
        // On Linux that is all there is to do, also for what was stored
        // through maps.
        #[cfg(not(target_os = "linux"))]
        if let Some(memory) = &self.memory {
            memory.flush().map_err(ErrorKind::map("flush", len))?;
        }
        file.sync_data().map_err(ErrorKind::map("flush", len))
    }

    /// As [`flush`](MapMut::flush), of a part; whole pages are flushed.
    pub(crate) fn flush_range(&self, start: usize, len: usize) -> Result<()> {
        match &self.memory {
            Some(memory) if self.shared.is_some() && len > 0 => {
                memory.flush_range(start, len).map_err(ErrorKind::map("flush", len))
            }
            _ => Ok(()),
        }
    }

    /// Has the system begin to write to the disk what was stored, and does
    /// not wait.
    pub(crate) fn flush_async(&self) -> Result<()> {
        let (Some(memory), Some((file, offset))) = (&self.memory, &self.shared) else {
            return Ok(());
        };
        writeback::begin(file, *offset, memory).map_err(ErrorKind::map("flush", memory.len()))
    }

    /// Unmaps, and returns what the system said.
    pub(crate) fn close(self) -> Result<()> {
        self.memory.map_or(Ok(()), unmap)
    }
}

/// Maps, unless there is nothing to map.
fn mapped<M>(
    offset: u64,
    len: usize,
    map: impl FnOnce(&mut MmapOptions) -> io::Result<M>,
) -> Result<Option<M>> {
    if len == 0 {
        return Ok(None);
    }
    let memory = map(MmapOptions::new().offset(offset).len(len));
    memory.map(Some).map_err(ErrorKind::map("map", len))
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        self.memory.as_deref().map_or(&[], |memory| memory)
    }
}

impl AsRef<[u8]> for MapMut {
    fn as_ref(&self) -> &[u8] {
        self.memory.as_deref().unwrap_or_default()
    }
}

impl AsMut<[u8]> for MapMut {
    fn as_mut(&mut self) -> &mut [u8] {
        self.memory.as_deref_mut().unwrap_or_default()
    }
}

/// Below this the pages are not worth a system call; NumPy's limit.
#[cfg(target_os = "linux")]
const HUGE: usize = 4 << 20;

/// Asks for huge pages for memory that is about to be filled: a fresh one is
/// then zeroed at once and not page by page.
#[cfg(target_os = "linux")]
pub(crate) fn prefer_huge_pages(memory: &mut [u8]) {
    if memory.len() >= HUGE {
        let page = rustix::param::page_size();
        let before = memory.as_ptr().addr().next_multiple_of(page) - memory.as_ptr().addr();
        let inner = memory.get_mut(before..).unwrap_or_default();
        let len = inner.len() - inner.len() % page;
        // SAFETY: the range is borrowed mutably, and which pages it lies in
        // changes none of its bytes.
        let asked = unsafe {
            rustix::mm::madvise(inner.as_mut_ptr().cast(), len, rustix::mm::Advice::LinuxHugepage)
        };
        // Where there are none, ordinary ones will do.
        asked.ok();
    }
}

/// There is no such advice.
#[cfg(not(target_os = "linux"))]
pub(crate) fn prefer_huge_pages(_: &mut [u8]) {}

/// Unmaps and returns what the system said, which dropping would not.
#[cfg(unix)]
fn unmap<M: AsRef<[u8]>>(memory: M) -> Result<()> {
    let bytes = memory.as_ref();
    let (start, len) = (bytes.as_ptr(), bytes.len());
    let before = start.addr() % rustix::param::page_size();
    mem::forget(memory);
    // SAFETY: memmap2 maps whole pages from the one that holds the first byte,
    // so `before` bytes before it are mapped.
    let page = unsafe { start.sub(before) };
    // SAFETY: `page` starts a mapping of `before + len` bytes that memmap2 made
    // and, forgotten, no longer owns; `memory` was passed by value, so nothing
    // borrows from it.
    let done = unsafe { rustix::mm::munmap(page.cast_mut().cast(), before + len) };
    done.map_err(|error| ErrorKind::map("unmap", len)(error.into()))
}

#[cfg(not(unix))]
fn unmap<M: AsRef<[u8]>>(memory: M) -> Result<()> {
    drop(memory);
    Ok(())
}
