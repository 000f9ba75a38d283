//! What the system is told and asked about the pages of a map.

use std::ops::Range;

use crate::source::platform::Advice;

/// What is mapped: [`Map`](crate::source::Map) and [`MapMut`](crate::source::MapMut). Sealed.
pub trait Mapping: AsRef<[u8]> + Send + Sync + Sized + sealed::Pages + 'static {}

pub(crate) mod sealed {
    use super::{Advice, Range};
    use crate::error::{Result, SystemError};
    use crate::source::Source;
    use crate::source::map::{MapMut, Mappable};
    use crate::source::platform;

    /// What can be done to the pages of a range of bytes.
    pub trait Pages: AsRef<[u8]> {
        /// Maps a part of a source that says it may be mapped.
        fn map(file: &Mappable<'_>, offset: u64, len: usize, source: &Source<Self>) -> Result<Self>
        where
            Self: Sized;

        /// Uses memory of no file.
        fn from_memory(memory: MapMut) -> Result<Self>
        where
            Self: Sized;

        /// Waits until what was stored there is on the disk.
        fn flush_range(&self, range: Range<usize>) -> Result<()>;

        /// Takes them out of this process' memory, until they are touched;
        /// false when they may hold what no file does.
        fn unload(&self, range: Range<usize>) -> Result<bool>;

        /// Those bytes.
        fn bytes(&self, range: Range<usize>) -> &[u8] {
            crate::error::invariant::elements(self.as_ref(), range)
        }

        /// Says how they will be used.
        fn advise(&self, range: Range<usize>, advice: Advice) -> Result<()> {
            let bytes = self.bytes(range);
            if bytes.is_empty() {
                return Ok(());
            }
            platform::advise(bytes, advice).map_err(SystemError::map("advise", bytes.len()))
        }

        /// Counts those in memory; `None` when this system has no way to.
        fn resident(&self, range: Range<usize>) -> Result<Option<usize>> {
            let bytes = self.bytes(range);
            platform::resident(bytes).map_err(SystemError::map("ask about", bytes.len()))
        }

        /// Reads them all, so that what can't be read is an error; false when
        /// this system has no way to.
        fn populate(&self, range: Range<usize>) -> Result<bool> {
            let bytes = self.bytes(range);
            if bytes.is_empty() {
                return Ok(true);
            }
            platform::populate(bytes).map_err(SystemError::map("read", bytes.len()))
        }
    }
}
