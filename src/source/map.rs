//! Memory maps of files and anonymous memory. Only this file creates references to memory
//! that other processes can change.
#![allow(unsafe_code)]

pub(crate) mod stores;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::invariant::to_u64;
use crate::error::{IoContext as _, RequestError, Result, SystemError};
use crate::kernel;
use crate::source::mappable::Mappable;
use crate::source::on_demand::OnDemand;
use crate::source::pages::{Mapping, sealed::Pages};
use crate::source::platform::mmap::{MapIfSafeError, Mmap, MmapMut, MmapOptions};
use crate::source::platform::{Advice, FileId};
use crate::source::{Access, Source, file, platform};

/// The ranges of a file mapped writably by arrays of one source. They
/// never overlap, because each array returns mutable references to its range.
#[derive(Debug, Default)]
pub(crate) struct MappedRanges(Mutex<Vec<Range<u64>>>);

/// Reserves a range of a file for one writable map of a source, until this is
/// dropped.
#[derive(Debug)]
struct RangeGuard {
    ranges: Arc<MappedRanges>,
    range: Range<u64>,
}

impl RangeGuard {
    /// Nothing is reserved for an array without bytes.
    #[inline]
    fn new(ranges: &Arc<MappedRanges>, offset: u64, len: usize) -> Result<Option<RangeGuard>> {
        let range = offset..offset + to_u64(len);
        if range.is_empty() {
            return Ok(None);
        }
        let mut all = ranges.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.iter().any(|other| other.start < range.end && range.start < other.end) {
            let value = format!("bytes {} to {} of the file", range.start, range.end);
            let expected =
                "bytes that no other array of the source covers: drop the other array first"
                    .to_owned();
            return Err(RequestError::Argument { found: value, expected }.into());
        }
        all.push(range.clone());
        drop(all);
        Ok(Some(RangeGuard { ranges: Arc::clone(ranges), range }))
    }
}

impl Drop for RangeGuard {
    #[inline]
    fn drop(&mut self) {
        let mut all = self.ranges.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = all.iter().position(|range| *range == self.range) {
            all.swap_remove(own);
        }
    }
}

/// Read-only bytes of one array's elements only.
///
/// Clones share the mapping; dropping the last clone unmaps it. No file
/// descriptor is kept.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, source::Map};
///
/// // SAFETY: no other process writes to or truncates this file.
/// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
/// let bytes: Map = penguins.into_data();
/// assert_eq!(bytes.as_ref().len(), 342 * 4 * 8);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Map {
    memory: Option<Arc<Mmap>>,
    /// Whether all pages are shared with the file.
    shared: bool,
    /// The file and the offset of the bytes in it, if it can be mapped again.
    region: Option<(FileId, u64)>,
    /// For an array without bytes, the byte before them, so that a new file
    /// can't get the identity of this file.
    #[expect(dead_code, reason = "it is mapped until the map is dropped")]
    held: Option<Arc<Mmap>>,
    /// Keeps the range of a map that was writable from being mapped again.
    #[expect(dead_code, reason = "it is held until the map is dropped")]
    guard: Option<Arc<RangeGuard>>,
    /// The file, if it is mapped when the bytes are needed.
    on_demand: Option<Arc<OnDemand>>,
}

/// Writable bytes of one array's elements only: a shared map of a file, a
/// private one, or anonymous memory. A shared map keeps its file open.
///
/// Dropping it unmaps. The kernel then writes what was stored into a shared map
/// to the disk: it survives the end of the process, but not yet a crash of the
/// machine, and write errors are lost.
/// [`MappedArray::flush`](crate::MappedArray::flush) and
/// [`MappedArray::close`](crate::MappedArray::close) wait for the disk and
/// return errors.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, source::MapMut};
///
/// let mut bytes: MapMut = MappedArray::load("data/penguins.npy")?.into_data();
/// bytes.as_mut()[..8].fill(0); // a copy in memory
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
pub struct MapMut {
    memory: Option<MmapMut>,
    /// The file that stores change, and the offset of the map in it.
    shared: Option<(File, u64)>,
    /// Keeps other arrays of the source from mapping the same range.
    guard: Option<RangeGuard>,
}

/// Writes to the file of a map, which it borrows mutably: the bytes that change
/// are not borrowed.
#[derive(Debug)]
pub(crate) struct MapWriter<'a> {
    file: &'a File,
    offset: u64,
}

impl MapWriter<'_> {
    /// Writes bytes to the file at an offset into the map.
    #[inline]
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) -> Result<()> {
        let at = self.offset + to_u64(at);
        file::write_at(self.file, bytes, at).context("write the elements")
    }

    /// Reads bytes of the file at an offset into the map.
    #[inline]
    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) -> Result<()> {
        let at = self.offset + to_u64(at);
        file::read_elements(self.file, bytes, at)
    }
}

impl Map {
    /// Maps `len` bytes of a file from `offset` on, read-only.
    #[inline]
    fn new(file: &Mappable<'_>, offset: u64, len: usize, id: Option<FileId>) -> Result<Map> {
        let map = |options: &mut MmapOptions| {
            // SAFETY: a `Mappable` file is not truncated while it is mapped, and
            // its bytes do not change while they are borrowed. Only this `Map`
            // and its clones own the `Mmap`, and borrows of its bytes borrow
            // from them; `held` is never borrowed.
            unsafe { options.map(file.file()) }
        };
        let memory = map_nonempty(offset, len, map)?.map(Arc::new);
        let held = match offset.checked_sub(1) {
            Some(before) if memory.is_none() && id.is_some() => {
                map_nonempty(before, 1, map).ok().flatten().map(Arc::new)
            }
            _ => None,
        };
        let is_held = memory.is_some() || held.is_some();
        let region = if is_held { id.map(|id| (id, offset)) } else { None };
        Ok(Map { memory, shared: true, region, held, guard: None, on_demand: None })
    }

    /// Maps part of a range that is mapped on demand; `None` if it can't be mapped.
    #[inline]
    pub(crate) fn part(of: &OnDemand, range: Range<usize>) -> Option<Map> {
        let offset = of.offset + to_u64(range.start);
        // SAFETY: `mappable` returns files of sources that map, whose promise covers the
        // `Map` that the range belongs to. This map is dropped with it or before.
        let file = of.mappable().map(|file| unsafe { Mappable::new(file) })?;
        Map::new(&file, offset, range.len(), of.storage.id).ok()
    }

    /// The file, if its bytes are mapped on demand.
    #[inline]
    pub(crate) fn on_demand(&self) -> Option<&OnDemand> {
        self.on_demand.as_deref()
    }

    /// Bytes that cannot be mapped again.
    #[inline]
    fn once(memory: Option<Mmap>, shared: bool, guard: Option<Arc<RangeGuard>>) -> Map {
        let memory = memory.map(Arc::new);
        Map { memory, shared, region: None, held: None, guard, on_demand: None }
    }

    /// Maps the same bytes again, without read-ahead. `None` if they do not come
    /// from a file, or the path now leads to another file.
    #[inline]
    pub(crate) fn map_again(&self, path: &Path) -> Result<Option<Map>> {
        let (Some(memory), Some((_, offset))) = (&self.memory, self.region) else {
            return Ok(None);
        };
        let Ok((file, stat)) = file::open(path, false) else { return Ok(None) };
        let map = self.map_same_file(&file, stat.id, offset, memory.len())?;
        if let Some(map) = &map {
            map.advise(0..memory.len(), Advice::Random)?;
        }
        Ok(map)
    }

    /// Maps bytes of the file that is mapped already. Returns `None` if no file
    /// is, or `file`, with the identity `id`, is a different file.
    #[inline]
    pub(crate) fn map_same_file(
        &self,
        file: &File,
        id: Option<FileId>,
        offset: u64,
        len: usize,
    ) -> Result<Option<Map>> {
        if !self.region.is_some_and(|(own, _)| id == Some(own)) {
            return Ok(None);
        }
        // SAFETY: this is the file that is already mapped, since no other file
        // gets its device and inode while it is. The caller who opened the source made
        // the promise for everything obtained from it, which includes this map.
        let file = unsafe { Mappable::new(file) };
        Map::new(&file, offset, len, id).map(Some)
    }

    /// Opens the file of the map again, and returns the offset of the map in
    /// it. `None` if the map has no file, or the path now leads to a different
    /// file.
    #[inline]
    pub(crate) fn reopen(&self, path: &Path) -> Option<(File, u64)> {
        let (id, offset) = self.region?;
        let (file, stat) = file::open(path, false).ok()?;
        (stat.id == Some(id)).then_some((file, offset))
    }

    /// Maps `len` bytes of a file that the kernel guarantees never to change.
    #[inline]
    pub(crate) fn immutable(file: &File, offset: u64, len: usize) -> Result<Map> {
        if len == 0 {
            return Ok(Map::once(None, true, None));
        }
        let memory = MmapOptions::new().offset(offset).len(len).map_if_safe(file);
        let memory = memory.map_err(|error: MapIfSafeError| {
            if error.map_failed() {
                SystemError::map("map", len, error.into())
            } else {
                SystemError::NotImmutable.into()
            }
        })?;
        Ok(Map::once(Some(memory), true, None))
    }

    /// Unmaps, unless a clone is left, and returns the kernel's error.
    #[inline]
    pub(crate) fn close(self) -> Result<()> {
        self.memory.and_then(Arc::into_inner).map_or(Ok(()), unmap)
    }
}

impl MapMut {
    /// Maps `len` bytes of a file from `offset` on, read-write and shared with
    /// the file. `ranges` belong to other maps of the same source.
    #[inline]
    fn map_shared(
        file: &Mappable<'_>,
        offset: u64,
        len: usize,
        ranges: &Arc<MappedRanges>,
    ) -> Result<MapMut> {
        let unmapped = MapMut::unmapped(file, offset, len, ranges)?;
        let memory = map_nonempty(offset, len, |options| {
            // SAFETY: a `Mappable` file is not truncated while it is mapped.
            // Others do not change its bytes while they are borrowed, nor read
            // them while they are borrowed mutably; the guard keeps other maps
            // of the same source from overlapping. Only this `MapMut` owns the
            // `MmapMut`.
            unsafe { options.map_mut(file.file()) }
        })?;
        Ok(MapMut { memory, ..unmapped })
    }

    /// Bytes of a file from `offset` on, which are written and not mapped.
    #[inline]
    fn unmapped(
        file: &Mappable<'_>,
        offset: u64,
        len: usize,
        ranges: &Arc<MappedRanges>,
    ) -> Result<MapMut> {
        let guard = RangeGuard::new(ranges, offset, len)?;
        let file = file.file().try_clone().context("duplicate the descriptor")?;
        Ok(MapMut { memory: None, shared: Some((file, offset)), guard })
    }

    /// Maps part of a range that is only written; `None` if it can't be mapped. Only
    /// [`Stores`](stores::Stores) calls this: it borrows the range mutably for longer than it
    /// has the part, of which there is one at a time.
    #[inline]
    fn part(&mut self, range: Range<usize>) -> Option<MapMut> {
        if self.memory.is_some() {
            return None;
        }
        let (file, offset) = self.shared.as_ref()?;
        let map = |options: &mut MmapOptions| {
            // SAFETY: the file is that of `unmapped`, and so not truncated while it is
            // mapped. Others do not change its bytes while they are borrowed, nor read them
            // while they are borrowed mutably; the guard of this map keeps other arrays
            // of the same source from overlapping, and `Stores` keeps it from being written
            // or mapped in another way meanwhile.
            unsafe { options.map_mut(file) }
        };
        let memory = map_nonempty(offset + to_u64(range.start), range.len(), map).ok()?;
        Some(MapMut { memory, shared: None, guard: None })
    }

    /// Maps `len` bytes of a file from `offset` on, read-write and private: stores
    /// do not change the file.
    ///
    /// No swap is reserved, so files larger than memory can be mapped.
    #[inline]
    fn map_private(file: &Mappable<'_>, offset: u64, len: usize) -> Result<MapMut> {
        let memory = map_nonempty(offset, len, |options| {
            let options = options.no_reserve_swap();
            // SAFETY: as in `Map::new`, for the pages that are still shared with
            // the file. Pages that were written belong to this map alone.
            unsafe { options.map_copy(file.file()) }
        })?;
        Ok(MapMut { memory, shared: None, guard: None })
    }

    /// Allocates `len` zero bytes of page-aligned memory.
    #[inline]
    pub(crate) fn anonymous(len: usize) -> Result<MapMut> {
        let memory = (len > 0).then(|| MmapOptions::new().len(len).map_anon()).transpose();
        let memory = memory.memory_context("allocate", len)?;
        Ok(MapMut { memory, shared: None, guard: None })
    }

    /// Requests large pages, which make filling fresh memory faster. Has no effect
    /// on systems without them.
    #[inline]
    pub(crate) fn with_large_pages(mut self) -> MapMut {
        kernel::prefer_large_pages(self.as_mut());
        self
    }

    /// Makes the memory read-only, so that it can be shared.
    #[inline]
    pub(crate) fn into_read_only(self) -> Result<Map> {
        let (shared, guard) = (self.shared.is_some(), self.guard.map(Arc::new));
        let Some(memory) = self.memory else { return Ok(Map::once(None, shared, guard)) };
        let len = memory.len();
        let memory = memory.make_read_only().memory_context("protect", len)?;
        Ok(Map::once(Some(memory), shared, guard))
    }

    /// Returns an error unless the map has a file that can be written to at an
    /// offset.
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        // The caller may share the open file description, so the flag can change
        // at any time.
        let appends = platform::is_append_only(self.file()?.file).context("write the elements")?;
        if appends { Err(RequestError::Appends.into()) } else { Ok(()) }
    }

    /// Reads bytes of the file at an offset into the map, without accessing the
    /// map: accessing a hole through it takes space on some file systems.
    #[inline]
    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) -> Result<()> {
        self.file()?.read(at, bytes)
    }

    /// Returns whether there are bytes in memory: not if they are only written.
    #[inline]
    pub(crate) fn is_mapped(&self) -> bool {
        self.memory.is_some()
    }

    /// Returns whether the file may have holes, so that a store may fail on a full
    /// disk.
    #[inline]
    pub(crate) fn is_sparse(&self) -> Result<bool> {
        let Some((file, _)) = &self.shared else { return Ok(false) };
        platform::is_sparse(file).context("get its allocated size")
    }

    /// Writes bytes to the file at an offset into the map, which shows them.
    #[inline]
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        self.file()?.write(at, bytes)
    }

    /// Returns a writer to the file, for as long as nothing borrows the map.
    #[inline]
    pub(crate) fn writer(&mut self) -> Result<MapWriter<'_>> {
        self.check_writable()?;
        self.file()
    }

    #[inline]
    fn file(&self) -> Result<MapWriter<'_>> {
        let (file, offset) = self.shared.as_ref().ok_or(RequestError::NoFile)?;
        Ok(MapWriter { file, offset: *offset })
    }

    /// Waits until everything stored is on the disk. Does nothing for memory
    /// not shared with a file.
    #[inline]
    pub(crate) fn flush(&self) -> Result<()> {
        let Some((file, _)) = &self.shared else { return Ok(()) };
        platform::sync(file, self.memory.as_ref()).memory_context("flush", self.as_ref().len())
    }

    /// Starts writing everything stored to the disk, without waiting.
    #[inline]
    pub(crate) fn flush_async(&self) -> Result<()> {
        let (Some(memory), Some((file, offset))) = (&self.memory, &self.shared) else {
            return Ok(());
        };
        platform::start_writeback(file, *offset, memory).memory_context("flush", memory.len())
    }

    /// Unmaps and returns the kernel's error.
    #[inline]
    pub(crate) fn close(self) -> Result<()> {
        self.memory.map_or(Ok(()), unmap)
    }
}

/// Calls `map` with options for `len` bytes at `offset`. Returns `None` without
/// a call if `len` is 0, because empty ranges cannot be mapped.
fn map_nonempty<M>(
    offset: u64,
    len: usize,
    map: impl FnOnce(&mut MmapOptions) -> io::Result<M>,
) -> Result<Option<M>> {
    if len == 0 {
        return Ok(None);
    }
    let memory = map(MmapOptions::new().offset(offset).len(len));
    memory.map(Some).memory_context("map", len)
}

impl AsRef<[u8]> for Map {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match (&self.memory, &self.on_demand) {
            (Some(memory), _) => memory,
            // Those who need to know why there are none call it themselves.
            (None, Some(on_demand)) => on_demand.load().unwrap_or_default(),
            (None, None) => &[],
        }
    }
}

impl AsRef<[u8]> for MapMut {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.memory.as_deref().unwrap_or_default()
    }
}

impl AsMut<[u8]> for MapMut {
    #[inline]
    fn as_mut(&mut self) -> &mut [u8] {
        self.memory.as_deref_mut().unwrap_or_default()
    }
}

impl Mapping for Map {}

impl Pages for Map {
    #[inline]
    fn map(file: &Mappable<'_>, offset: u64, len: usize, source: &Source<Map>) -> Result<Map> {
        Map::new(file, offset, len, source.storage.id)
    }

    /// Short ranges of files are mapped at once.
    #[inline]
    fn on_demand(source: &Source<Map>, offset: u64, len: usize) -> Result<Map> {
        let (file, id) = (source.mappable(), source.storage.id);
        if let (Some(file), true) = (&file, len <= OnDemand::MIN) {
            // If it can't be mapped, it is read.
            if let Ok(map) = Map::new(file, offset, len, id) {
                return Ok(map);
            }
        }
        let range = OnDemand::new(source.storage.duplicate()?, file.is_some(), offset, len);
        let (on_demand, region) = (Some(Arc::new(range)), id.map(|id| (id, offset)));
        Ok(Map { memory: None, shared: file.is_some(), region, held: None, guard: None, on_demand })
    }

    #[inline]
    fn on_demand_bytes(&self) -> Option<&Arc<OnDemand>> {
        self.on_demand.as_ref()
    }

    #[inline]
    fn from_memory(memory: MapMut) -> Result<Map> {
        memory.into_read_only()
    }

    #[inline]
    fn unload(&self, range: Range<usize>) -> Result<bool> {
        let bytes = self.bytes(range)?;
        if !self.shared || bytes.is_empty() {
            return Ok(self.shared);
        }
        // SAFETY: the bytes are of this map, which is shared with its file.
        let done = unsafe { platform::unload(bytes) };
        done.map(|()| true).memory_context("unload", bytes.len())
    }
}

impl Mapping for MapMut {}

impl Pages for MapMut {
    #[inline]
    fn map(
        file: &Mappable<'_>,
        offset: u64,
        len: usize,
        source: &Source<MapMut>,
    ) -> Result<MapMut> {
        match &source.access {
            Access::Write(ranges) => MapMut::unmapped(file, offset, len, ranges),
            Access::MapShared(ranges) => MapMut::map_shared(file, offset, len, ranges),
            _ => MapMut::map_private(file, offset, len),
        }
    }

    /// Copies the range at once: only read-only sources are on demand.
    #[inline]
    fn on_demand(source: &Source<MapMut>, offset: u64, len: usize) -> Result<MapMut> {
        source.storage.copy(offset, len)
    }

    #[inline]
    fn from_memory(memory: MapMut) -> Result<MapMut> {
        Ok(memory)
    }

    #[inline]
    fn flush_range(&self, range: Range<usize>) -> Result<()> {
        match &self.memory {
            Some(memory) if self.shared.is_some() && !range.is_empty() => {
                let len = range.len();
                memory.flush_range(range.start, len).memory_context("flush", len)
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn unload(&self, range: Range<usize>) -> Result<bool> {
        let bytes = self.bytes(range)?;
        if self.shared.is_none() || bytes.is_empty() {
            return Ok(self.shared.is_some());
        }
        // SAFETY: the bytes are of this map, which is shared with its file.
        let done = unsafe { platform::unload(bytes) };
        done.map(|()| true).memory_context("unload", bytes.len())
    }
}

/// Unmaps and returns the kernel's error.
fn unmap(memory: impl platform::Memmap) -> Result<()> {
    let len = memory.as_ref().len();
    platform::unmap(memory).memory_context("unmap", len)
}
