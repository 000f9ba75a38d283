//! What the system is told and asked about the pages of a map.

use std::ops::Range;

#[cfg(unix)]
use crate::error::ErrorKind;
use crate::error::Result;
use crate::map::{Map, MapMut};

/// How elements will be used, so that the system reads ahead as much as helps:
/// `madvise`. It changes speed, never values. Systems other than Unix take no
/// advice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// In no special way: some pages are read ahead.
    #[default]
    Normal,
    /// Here and there: nothing is read ahead, which is best for rows in random
    /// order that are not much larger than a page.
    Random,
    /// From first to last: much is read ahead.
    Sequential,
    /// Soon: reading starts now.
    WillNeed,
}

/// What is mapped: [`Map`] and [`MapMut`]. Sealed.
pub trait Mapping: AsRef<[u8]> + sealed::Pages {}

impl Mapping for Map {}
impl Mapping for MapMut {}

pub(crate) mod sealed {
    use super::{Advice, Range, Result};

    /// What can be done to the pages of a range of bytes.
    pub trait Pages {
        /// Says how they will be used.
        fn advise(&self, range: Range<usize>, advice: Advice) -> Result<()>;

        /// Reads them all, so that what can't be read is an error; false when
        /// this system has no way to.
        fn populate(&self, range: Range<usize>) -> Result<bool>;

        /// Takes them out of this process' memory, after what was stored is on
        /// the disk; false when they may hold what is nowhere else.
        fn release(&self, range: Range<usize>) -> Result<bool>;
    }
}

/// The two are the same but for the type of the memory.
macro_rules! pages {
    ($map:ty) => {
        impl sealed::Pages for $map {
            fn advise(&self, range: Range<usize>, advice: Advice) -> Result<()> {
                #[cfg(unix)]
                if let Some(memory) = self.memory().filter(|_| !range.is_empty()) {
                    let done = memory.advise_range(advice.word(), range.start, range.len());
                    return done.map_err(ErrorKind::map("advise", range.len()));
                }
                let _ = (range, advice);
                Ok(())
            }

            fn populate(&self, range: Range<usize>) -> Result<bool> {
                #[cfg(target_os = "linux")]
                if let Some(memory) = self.memory().filter(|_| !range.is_empty()) {
                    use std::io::ErrorKind::InvalidInput;
                    let advice = memmap2::Advice::PopulateRead;
                    return match memory.advise_range(advice, range.start, range.len()) {
                        Ok(()) => Ok(true),
                        // Linux before 5.14.
                        Err(error) if error.kind() == InvalidInput => Ok(false),
                        Err(error) => Err(ErrorKind::map("read", range.len())(error)),
                    };
                }
                Ok(range.is_empty())
            }

            fn release(&self, range: Range<usize>) -> Result<bool> {
                self.flush_range(range.start, range.len())?;
                #[cfg(unix)]
                return self.unload(&range);
                #[cfg(not(unix))]
                Ok(false)
            }
        }
    };
}

pages!(Map);
pages!(MapMut);

#[cfg(unix)]
impl Advice {
    /// The system's word for it.
    fn word(self) -> memmap2::Advice {
        match self {
            Advice::Normal => memmap2::Advice::Normal,
            Advice::Random => memmap2::Advice::Random,
            Advice::Sequential => memmap2::Advice::Sequential,
            Advice::WillNeed => memmap2::Advice::WillNeed,
        }
    }
}
