//! A substitute for memmap2 on systems without memory maps, such as
//! WebAssembly. Anonymous memory comes from the heap; mapping a file returns an
//! error.
#![allow(unsafe_code, clippy::unused_self, clippy::unnecessary_wraps, reason = "as in memmap2")]

use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};

use bytemuck::allocation::try_zeroed_vec;

/// The unit of allocation. Its alignment is sufficient for elements of any
/// dtype, as that of a page is.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct AlignedBlock([u8; 64]);

/// Aligned bytes on the heap, initially zero.
#[derive(Debug)]
pub(crate) struct MmapMut {
    blocks: AlignedBlocks,
    len: usize,
}

/// Like [`MmapMut`], read-only.
#[derive(Debug)]
pub(crate) struct Mmap(MmapMut);

struct AlignedBlocks(Vec<AlignedBlock>);

/// The error for mapping an immutable file.
#[derive(Debug)]
pub(crate) struct MapIfSafeError;

/// The options of a map.
#[derive(Debug, Default)]
pub(crate) struct MmapOptions {
    len: usize,
}

impl MmapOptions {
    #[inline]
    pub(crate) fn new() -> MmapOptions {
        MmapOptions::default()
    }

    #[inline]
    pub(crate) fn offset(&mut self, _: u64) -> &mut MmapOptions {
        self
    }

    #[inline]
    pub(crate) fn len(&mut self, len: usize) -> &mut MmapOptions {
        self.len = len;
        self
    }

    #[inline]
    pub(crate) fn no_reserve_swap(&mut self) -> &mut MmapOptions {
        self
    }

    /// # Safety
    ///
    /// Always safe: it only returns an error. memmap2's function is unsafe.
    #[inline]
    pub(crate) unsafe fn map(&self, _: &File) -> io::Result<Mmap> {
        Err(no_maps())
    }

    /// # Safety
    ///
    /// Like [`map`](MmapOptions::map).
    #[inline]
    pub(crate) unsafe fn map_mut(&self, _: &File) -> io::Result<MmapMut> {
        Err(no_maps())
    }

    /// # Safety
    ///
    /// Like [`map`](MmapOptions::map).
    #[inline]
    pub(crate) unsafe fn map_copy(&self, _: &File) -> io::Result<MmapMut> {
        Err(no_maps())
    }

    #[inline]
    pub(crate) fn map_if_safe(&self, _: &File) -> Result<Mmap, MapIfSafeError> {
        Err(MapIfSafeError)
    }

    /// Allocates zeroed memory.
    #[inline]
    pub(crate) fn map_anon(&self) -> io::Result<MmapMut> {
        let blocks = try_zeroed_vec(self.len.div_ceil(size_of::<AlignedBlock>()));
        let blocks =
            AlignedBlocks(blocks.map_err(|()| io::Error::from(io::ErrorKind::OutOfMemory))?);
        Ok(MmapMut { blocks, len: self.len })
    }
}

impl MmapMut {
    #[inline]
    pub(crate) fn make_read_only(self) -> io::Result<Mmap> {
        Ok(Mmap(self))
    }

    /// Does nothing: heap memory has no file.
    #[inline]
    pub(crate) fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    /// Does nothing: heap memory has no file.
    #[inline]
    pub(crate) fn flush_async(&self) -> io::Result<()> {
        Ok(())
    }

    /// Does nothing: heap memory has no file.
    #[inline]
    pub(crate) fn flush_range(&self, _: usize, _: usize) -> io::Result<()> {
        Ok(())
    }
}

impl Deref for MmapMut {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.blocks.0);
        bytes.get(..self.len).expect("the blocks hold `len` bytes")
    }
}

impl DerefMut for MmapMut {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.blocks.0);
        bytes.get_mut(..self.len).expect("the blocks hold `len` bytes")
    }
}

impl AsRef<[u8]> for MmapMut {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for Mmap {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Mmap {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl MapIfSafeError {
    /// Returns whether mapping failed although the file is immutable.
    #[inline]
    pub(crate) fn map_failed(&self) -> bool {
        true
    }
}

impl From<MapIfSafeError> for io::Error {
    #[inline]
    fn from(_: MapIfSafeError) -> io::Error {
        no_maps()
    }
}

impl std::fmt::Debug for AlignedBlocks {
    #[inline]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AlignedBlocks").field("len", &self.0.len()).finish()
    }
}

#[inline]
fn no_maps() -> io::Error {
    let text = "this system has no memory maps: use `OpenOptions::read` or `ArrayFile`";
    io::Error::new(io::ErrorKind::Unsupported, text)
}
