//! Writes arrays of C to files.

use std::path::Path;

use npymap::layout::Layout;
use npymap::npz::{Compression, Npz};
use npymap::source::{AtomicFile, Locking, MapMut};
use npymap::{CreateOptions, DType, MappedArray, OpenOptions, Order, WriteOptions};

use crate::array::check_size;
use crate::error::{Failure, Result};
use crate::status;

/// The flags of a call, of which only some have a meaning there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags(u32);

impl Flags {
    /// Checks that `flags` has only flags of `allowed`.
    pub(crate) fn new(flags: u32, allowed: u32) -> Result<Flags> {
        if flags & !allowed == 0 {
            return Ok(Flags(flags));
        }
        Err(Failure::misuse(format!("flags {:#x} have no meaning here", flags & !allowed)))
    }

    pub(crate) fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    pub(crate) fn order(self) -> Order {
        if self.has(status::NPYMAP_FORTRAN_ORDER) { Order::F } else { Order::C }
    }

    pub(crate) fn create_options(self) -> CreateOptions {
        CreateOptions::new()
            .order(self.order())
            .overwrite(self.has(status::NPYMAP_OVERWRITE))
            .discard_trailing(self.has(status::NPYMAP_DISCARD_TRAILING))
            .sparse(self.has(status::NPYMAP_SPARSE))
            .page_aligned(self.has(status::NPYMAP_PAGE_ALIGNED))
    }

    pub(crate) fn open_options(self) -> OpenOptions {
        let waits = self.has(status::NPYMAP_WAIT);
        OpenOptions::new().locking(if waits { Locking::Wait } else { Locking::Try })
    }
}

/// An array of zeros in memory.
pub(crate) fn zeros(dtype: DType, shape: &[usize], order: Order) -> Result<MappedArray<MapMut>> {
    let layout = Layout::new(dtype, shape, order, 0)?;
    let bytes = MappedArray::zeros(&DType::of::<u8>(), &[layout.nbytes()])?;
    Ok(MappedArray::from_parts(bytes.into_data(), layout)?)
}

/// Elements of C, as they are stored.
pub(crate) fn elements<'a>(
    bytes: &'a [u8],
    dtype: DType,
    shape: &[usize],
    order: Order,
) -> Result<MappedArray<&'a [u8]>> {
    let layout = Layout::new(dtype, shape, order, 0)?;
    check_size(bytes.len(), layout.nbytes())?;
    Ok(MappedArray::from_parts(bytes, layout)?)
}

/// Writes a `.npy` file, which exists only once it is complete.
pub(crate) fn save(path: &Path, array: &MappedArray<&[u8]>, flags: Flags) -> Result<()> {
    let mut file = if !flags.has(status::NPYMAP_OVERWRITE) {
        AtomicFile::create_new(path)
    } else if flags.has(status::NPYMAP_DISCARD_TRAILING) {
        AtomicFile::create_discarding(path)
    } else {
        AtomicFile::create(path)
    }?;
    WriteOptions::new().write_to(&mut file, array)?;
    file.commit()?;
    Ok(())
}

/// Adds a member to an archive, or replaces it.
pub(crate) fn save_member(
    path: &Path,
    name: &str,
    array: &MappedArray<&[u8]>,
    flags: Flags,
) -> Result<()> {
    let mut update = Npz::update(path, Locking::Wait)?;
    let deflate = flags.has(status::NPYMAP_COMPRESS);
    update.compression(if deflate { Compression::Deflated(6) } else { Compression::Stored });
    update.set(name, array)?;
    Ok(update.commit()?)
}
