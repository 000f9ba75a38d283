//! Operations on the pages of a map, for maps of all kinds.

use std::ops::Range;

use crate::source::platform::Advice;

/// A memory map: [`Map`](crate::source::Map) or
/// [`MapMut`](crate::source::MapMut). Sealed.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, Result, source::Mapping};
///
/// /// The share of an array that is in memory, for arrays of every mode.
/// fn resident_share(array: &MappedArray<impl Mapping>) -> Result<Option<f64>> {
///     let resident = array.resident_bytes(..)?;
///     Ok(resident.map(|bytes| bytes as f64 / array.nbytes() as f64))
/// }
///
/// // SAFETY: no other process writes to or truncates this file.
/// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
/// println!("{:?}", resident_share(&penguins)?);
/// # Ok::<(), npymap::Error>(())
/// ```
pub trait Mapping: AsRef<[u8]> + Send + Sync + Sized + sealed::Pages + 'static {}

/// Bytes that can be changed in place: [`MapMut`](crate::source::MapMut), and
/// everything else that is `AsMut<[u8]>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is read-only: open the file with `MappedArray::open_mut` to edit it, or with `open_copy_on_write` to edit a copy in memory",
    label = "the array is read-only"
)]
pub trait Writable: AsMut<[u8]> {}

// The error for a read-only map is then the message above.
#[diagnostic::do_not_recommend]
impl<D: AsMut<[u8]>> Writable for D {}

pub(crate) mod sealed {
    use std::sync::Arc;

    use super::{Advice, Range};
    use crate::error::{IoContext as _, Result};
    use crate::source::Source;
    use crate::source::map::MapMut;
    use crate::source::mappable::Mappable;
    use crate::source::on_demand::OnDemand;
    use crate::source::platform;

    /// Operations on the pages of a byte range.
    pub trait Pages: AsRef<[u8]> {
        /// Maps a range of `source`, with the file `file`.
        fn map(file: &Mappable<'_>, offset: u64, len: usize, source: &Source<Self>) -> Result<Self>
        where
            Self: Sized;

        /// A range of `source` that is mapped or copied when it is needed.
        fn on_demand(source: &Source<Self>, offset: u64, len: usize) -> Result<Self>
        where
            Self: Sized;

        /// Uses anonymous memory.
        fn from_memory(memory: MapMut) -> Result<Self>
        where
            Self: Sized;

        /// Waits until everything stored in the range is on the disk.
        fn flush_range(&self, _: Range<usize>) -> Result<()> {
            Ok(())
        }

        /// Removes the pages from this process's memory until they are accessed
        /// again; `false` for pages not shared with a file.
        fn unload(&self, range: Range<usize>) -> Result<bool>;

        /// The bytes that are in memory only when they are needed, if these are.
        fn on_demand_bytes(&self) -> Option<&Arc<OnDemand>> {
            None
        }

        /// The bytes of a range.
        fn bytes(&self, range: Range<usize>) -> Result<&[u8]> {
            if let Some(on_demand) = self.on_demand_bytes() {
                on_demand.load()?;
            }
            Ok(crate::error::invariant::elements(self.as_ref(), range))
        }

        /// Advises the kernel how the range will be accessed.
        fn advise(&self, range: Range<usize>, advice: Advice) -> Result<()> {
            let bytes = self.bytes(range)?;
            if bytes.is_empty() {
                return Ok(());
            }
            platform::advise(bytes, advice).memory_context("advise", bytes.len())
        }

        /// Counts the bytes that are in memory. Returns `None` if the kernel
        /// does not report it.
        fn resident(&self, range: Range<usize>) -> Result<Option<usize>> {
            let bytes = self.bytes(range)?;
            platform::resident(bytes).memory_context("ask about", bytes.len())
        }

        /// Faults all pages in, so that you get an error for unreadable pages;
        /// `false` if the kernel has no call for it.
        fn populate(&self, range: Range<usize>) -> Result<bool> {
            let bytes = self.bytes(range)?;
            if bytes.is_empty() {
                return Ok(true);
            }
            platform::populate(bytes).memory_context("read", bytes.len())
        }
    }
}
