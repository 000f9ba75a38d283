//! Memory maps: bytes of a file, or of none. This is where memory is lent
//! that others can reach; it knows no dtype.
#![allow(unsafe_code)]

use std::fs::File;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use memmap2::{MapIfSafeError, Mmap, MmapMut, MmapOptions};

use crate::error::{ErrorKind, Result};
use crate::mode::Mode;

/// Read-only bytes of one array's elements, and no others.
///
/// Clones share the mapping; the last one to go unmaps it. No file descriptor
/// is kept. Without elements nothing is mapped.
#[derive(Clone, Debug)]
pub struct Map(Arc<Mapped<Mmap>>);

/// Writable bytes of one array's elements, and no others: shared with the
/// file, private, or of no file.
///
/// Dropping it unmaps. What was stored into a shared map is then on its way
/// to the disk, and survives the process, but not yet the machine; failures
/// to write are lost. [`flush`](MapMut::flush) and [`close`](MapMut::close)
/// wait for the disk and tell.
#[derive(Debug)]
pub struct MapMut(Mapped<MmapMut>);

#[derive(Debug)]
struct Mapped<M> {
    /// `None` when there are no bytes.
    memory: Option<M>,
    place: Place,
}

/// What a mapping is of.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The file, if it was opened by path.
    pub(crate) path: Option<PathBuf>,
    /// Where the bytes start in it.
    pub(crate) offset: u64,
    /// `None` for memory of no file.
    pub(crate) mode: Option<Mode>,
}

impl Place {
    pub(crate) const ANONYMOUS: Place = Place { path: None, offset: 0, mode: None };
}

impl Map {
    /// Maps `len` bytes read-only.
    ///
    /// # Safety
    ///
    /// As long as the map or a clone lives, nobody may truncate the file below
    /// the end of these bytes. While they are borrowed, nobody may change them.
    pub(crate) unsafe fn new(file: &File, place: Place, len: usize) -> Result<Map> {
        let map = |options: &MmapOptions| {
            // SAFETY: the promises asked of the caller are those `map` asks of us; the file is held to them for as long
            // as the `Mmap` lives, which only this `Map` and its clones own.
            unsafe { options.map(file) }
        };
        Ok(Map(Arc::new(Mapped::new(place, len, map)?)))
    }

    /// Maps `len` bytes of a file that the system promises never changes.
    pub(crate) fn immutable(file: &File, place: Place, len: usize) -> Result<Map> {
        let refused = |error: MapIfSafeError| {
            if error.map_failed() {
                ErrorKind::map("map", len)(error.into())
            } else {
                ErrorKind::NotImmutable.into()
            }
        };
        let map = || place.options(len).map_if_safe(file).map_err(refused);
        let memory = if len == 0 { None } else { Some(map()?) };
        Ok(Map(Arc::new(Mapped { memory, place })))
    }

    pub(crate) fn place(&self) -> &Place {
        &self.0.place
    }

    /// Unmaps, if no clone is left, and returns what the system said.
    pub(crate) fn close(self) -> Result<()> {
        Arc::try_unwrap(self.0).map_or(Ok(()), |mapped| mapped.memory.map_or(Ok(()), unmap))
    }
}

impl MapMut {
    /// Maps `len` bytes read-write, shared with the file.
    ///
    /// # Safety
    ///
    /// As long as the map lives, nobody may truncate the file below the end of
    /// these bytes, and nobody may read or change them while they are borrowed
    /// mutably, nor change them while they are borrowed.
    pub(crate) unsafe fn shared(file: &File, place: Place, len: usize) -> Result<MapMut> {
        let map = |options: &MmapOptions| {
            // SAFETY: the promises asked of the caller are those `map_mut` asks of us; the file is held to them for as
            // long as the `MmapMut` lives, which only this `MapMut` owns.
            unsafe { options.map_mut(file) }
        };
        Ok(MapMut(Mapped::new(place, len, map)?))
    }

    /// Maps `len` bytes read-write; what is stored stays in this map.
    ///
    /// No swap is reserved: files larger than memory can be mapped.
    ///
    /// # Safety
    ///
    /// As [`Map::new`]: pages nobody stored to are still the file's.
    pub(crate) unsafe fn private(file: &File, place: Place, len: usize) -> Result<MapMut> {
        let map = |options: &MmapOptions| {
            let mut options = options.clone();
            // SAFETY: the promises asked of the caller are those `map_copy` asks of us; the file is held to them for as
            // long as the `MmapMut` lives, which only this `MapMut` owns.
            unsafe { options.no_reserve_swap().map_copy(file) }
        };
        Ok(MapMut(Mapped::new(place, len, map)?))
    }

    /// Takes `len` zero bytes of page-aligned memory.
    pub(crate) fn anonymous(place: Place, len: usize) -> Result<MapMut> {
        Ok(MapMut(Mapped::new(place, len, MmapOptions::map_anon)?))
    }

    /// Makes it read-only, so that it can be shared.
    pub(crate) fn into_read_only(self) -> Result<Map> {
        let Mapped { memory, mut place } = self.0;
        place.mode = place.mode.and(Some(Mode::ReadOnly));
        let protect = |memory: MmapMut| {
            let len = memory.len();
            memory.make_read_only().map_err(ErrorKind::map("protect", len))
        };
        Ok(Map(Arc::new(Mapped { memory: memory.map(protect).transpose()?, place })))
    }

    pub(crate) fn place(&self) -> &Place {
        &self.0.place
    }

    /// Waits until what was stored is on the disk; nothing to do for memory
    /// that is not shared with a file.
    pub(crate) fn flush(&self) -> Result<()> {
        match &self.0.memory {
            Some(memory) if self.is_shared() => {
                memory.flush().map_err(ErrorKind::map("flush", memory.len()))
            }
            _ => Ok(()),
        }
    }

    /// Flushes and unmaps, and returns what the system said; it is unmapped
    /// whatever that is.
    pub(crate) fn close(self) -> Result<()> {
        let flushed = self.flush();
        let unmapped = self.0.memory.map_or(Ok(()), unmap);
        flushed.and(unmapped)
    }

    fn is_shared(&self) -> bool {
        matches!(self.0.place.mode, Some(Mode::ReadWrite | Mode::Create))
    }
}

impl<M> Mapped<M> {
    /// Maps, unless there is nothing to map: systems refuse empty mappings.
    fn new(
        place: Place,
        len: usize,
        map: impl FnOnce(&MmapOptions) -> std::io::Result<M>,
    ) -> Result<Mapped<M>> {
        let memory = if len == 0 {
            None
        } else {
            Some(map(&place.options(len)).map_err(ErrorKind::map("map", len))?)
        };
        Ok(Mapped { memory, place })
    }
}

impl Place {
    fn options(&self, len: usize) -> MmapOptions {
        let mut options = MmapOptions::new();
        options.offset(self.offset).len(len);
        options
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        self.0.memory.as_deref().unwrap_or_default()
    }
}

impl AsRef<[u8]> for MapMut {
    fn as_ref(&self) -> &[u8] {
        self.0.memory.as_deref().unwrap_or_default()
    }
}

impl AsMut<[u8]> for MapMut {
    fn as_mut(&mut self) -> &mut [u8] {
        self.0.memory.as_deref_mut().unwrap_or_default()
    }
}

/// Unmaps and returns what the system said, which dropping would not.
#[cfg(unix)]
fn unmap<M: AsRef<[u8]>>(memory: M) -> Result<()> {
    let bytes = memory.as_ref();
    let (start, len) = (bytes.as_ptr(), bytes.len());
    let before = start.addr() % rustix::param::page_size();
    mem::forget(memory);
    // SAFETY: memmap2 maps whole pages from the one that holds the first byte, so `before` bytes before it are mapped.
    let page = unsafe { start.sub(before) };
    // SAFETY: `page` starts a mapping of `before + len` bytes that memmap2 made and, forgotten, no longer owns; `memory`
    // was passed by value, so nothing borrows from it.
    let done = unsafe { rustix::mm::munmap(page.cast_mut().cast(), before + len) };
    done.map_err(|error| ErrorKind::map("unmap", len)(error.into()))
}

#[cfg(not(unix))]
fn unmap<M: AsRef<[u8]>>(memory: M) -> Result<()> {
    drop(memory);
    Ok(())
}
