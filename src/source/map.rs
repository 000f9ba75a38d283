//! Memory maps: bytes of a file, or of none. This is where memory is lent
//! that others can reach; it knows no dtype.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{RequestError, Result, SystemError};
use crate::kernel;
use crate::source::pages::{Mapping, sealed::Pages};
use crate::source::platform::mmap::{MapIfSafeError, Mmap, MmapMut, MmapOptions};
use crate::source::{file, platform};

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
                SystemError::map("map", len)(error.into())
            } else {
                SystemError::NotImmutable.into()
            }
        };
        let memory = MmapOptions::new().offset(offset).len(len).map_if_safe(file);
        Ok(Map { memory: Some(Arc::new(memory.map_err(refused)?)), shared: true })
    }

    /// True when every byte is the file's.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
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
        let file = file.try_clone().map_err(SystemError::io("keep the file open"))?;
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

    /// Asks for large pages, which fresh memory that is filled whole is faster
    /// with. Systems that have none refuse, which changes nothing.
    pub(crate) fn in_large_pages(mut self) -> MapMut {
        kernel::prefer_large_pages(self.as_mut());
        self
    }

    /// Makes it read-only, so that it can be shared.
    pub(crate) fn into_read_only(self) -> Result<Map> {
        let shared = self.shared.is_some();
        let Some(memory) = self.memory else { return Ok(Map { memory: None, shared }) };
        let len = memory.len();
        let memory = memory.make_read_only().map_err(SystemError::map("protect", len))?;
        Ok(Map { memory: Some(Arc::new(memory)), shared })
    }

    /// An error if there is no file that can be written to at an offset.
    pub(crate) fn writable(&self) -> Result<()> {
        let Some((file, _)) = &self.shared else { return Err(RequestError::NoFile.into()) };
        // The flag belongs to the caller's open file too, so it can change at any time.
        let appends = platform::appends(file).map_err(SystemError::io("write the elements"))?;
        if appends { Err(RequestError::Appends.into()) } else { Ok(()) }
    }

    /// Reads bytes of the file, `at` bytes from where the map starts, without
    /// touching the map: of a hole that would take space on some file systems.
    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) -> Result<()> {
        let Some((file, offset)) = &self.shared else { return Err(RequestError::NoFile.into()) };
        let at = u64::try_from(at).unwrap_or(u64::MAX).saturating_add(*offset);
        file::read_elements(file, bytes, at)
    }

    /// Whether the file takes less space than it is long, so that a store may
    /// find the disk full.
    pub(crate) fn is_sparse(&self) -> Result<bool> {
        let Some((file, _)) = &self.shared else { return Ok(false) };
        platform::is_sparse(file).map_err(SystemError::io("ask for its space"))
    }

    /// Writes bytes to the file, `at` bytes from where the map starts; the map
    /// shows them.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        let Some((file, offset)) = &self.shared else { return Err(RequestError::NoFile.into()) };
        let at = u64::try_from(at).unwrap_or(u64::MAX).saturating_add(*offset);
        file::write_at(file, bytes, at).map_err(SystemError::io("write the elements"))
    }

    /// Waits until what was stored is on the disk; nothing to do for memory
    /// that is not shared with a file.
    pub(crate) fn flush(&self) -> Result<()> {
        let Some((file, _)) = &self.shared else { return Ok(()) };
        let done = platform::finish_writing(file, self.memory.as_ref());
        done.map_err(SystemError::map("flush", self.as_ref().len()))
    }

    /// Has the system begin to write to the disk what was stored, and does
    /// not wait.
    pub(crate) fn flush_async(&self) -> Result<()> {
        let (Some(memory), Some((file, offset))) = (&self.memory, &self.shared) else {
            return Ok(());
        };
        platform::begin_writing(file, *offset, memory)
            .map_err(SystemError::map("flush", memory.len()))
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
    memory.map(Some).map_err(SystemError::map("map", len))
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

impl Mapping for Map {}

impl Pages for Map {
    /// Nothing can have been stored.
    fn flush_range(&self, _: Range<usize>) -> Result<()> {
        Ok(())
    }

    fn unload(&self, range: Range<usize>) -> Result<bool> {
        let bytes = self.bytes(range);
        if !self.shared || bytes.is_empty() {
            return Ok(self.shared);
        }
        // SAFETY: the bytes are of this map, which is shared with its file.
        let done = unsafe { platform::unload(bytes) };
        done.map(|()| true).map_err(SystemError::map("unload", bytes.len()))
    }
}

impl Mapping for MapMut {}

impl Pages for MapMut {
    fn flush_range(&self, range: Range<usize>) -> Result<()> {
        match &self.memory {
            Some(memory) if self.shared.is_some() && !range.is_empty() => {
                let len = range.len();
                memory.flush_range(range.start, len).map_err(SystemError::map("flush", len))
            }
            _ => Ok(()),
        }
    }

    fn unload(&self, range: Range<usize>) -> Result<bool> {
        let bytes = self.bytes(range);
        if self.shared.is_none() || bytes.is_empty() {
            return Ok(self.shared.is_some());
        }
        // SAFETY: the bytes are of this map, which is shared with its file.
        let done = unsafe { platform::unload(bytes) };
        done.map(|()| true).map_err(SystemError::map("unload", bytes.len()))
    }
}

/// Unmaps and returns what the system said.
fn unmap(memory: impl platform::Memmap) -> Result<()> {
    let len = memory.as_ref().len();
    platform::unmap(memory).map_err(SystemError::map("unmap", len))
}
