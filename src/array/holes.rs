//! The stored bytes of sparse files.

use std::fs::File;
use std::ops::Range;

use super::MappedArray;
use crate::error::invariant::{to_u64, to_usize};
use crate::error::{IoContext as _, Result};
use crate::source::mode::Mode;
use crate::source::pages::Mapping;
use crate::source::platform;

/// Holes shorter than this are not reported, in bytes, which limits the number
/// of ranges.
const SHORTEST: u64 = 64 << 10;

impl<D: Mapping> MappedArray<D> {
    /// Returns the bytes of the elements that the file stores, as ranges
    /// relative to the first element. The rest are holes of a sparse file,
    /// which read as zeros and take no space unless it was reserved.
    ///
    /// Holes shorter than 64 KiB are not reported. Where the kernel does not
    /// report holes, for copy-on-write arrays, and for arrays that are not in a
    /// file, there is one range of all bytes. Later writes may fill holes.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array
    /// was not opened by path, [`NotFound`](crate::ErrorKind::NotFound) if the
    /// path leads nowhere, [`Changed`](crate::ErrorKind::Changed) if it leads
    /// to a different file, and [`Io`](crate::ErrorKind::Io) if the file cannot
    /// be examined.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{CreateOptions, DType};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("sparse.npy");
    /// let options = CreateOptions::new().sparse(true);
    /// // SAFETY: no other process writes to or truncates the file.
    /// let mut array = unsafe { options.create(&path, &DType::of::<u8>(), &[1 << 30])? };
    /// array.element_writer()?.write(&[1 << 20], &[7_u8])?;
    /// let stored: usize = array.stored_ranges()?.iter().map(|range| range.len()).sum();
    /// # #[cfg(target_os = "linux")]
    /// assert!(stored < 1 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stored_ranges(&self) -> Result<Vec<Range<usize>>> {
        let len = self.nbytes();
        if len == 0 {
            return Ok(Vec::new());
        }
        if matches!(self.mode(), None | Some(Mode::CopyOnWrite)) {
            return Ok(std::iter::once(0..len).collect());
        }
        let (file, _) = self.reopen()?;
        let start = self.file_offset(self.place.layout.offset());
        let end = start + to_u64(len);
        let ranges = ranges(&file, start..end).context("find its holes")?;
        let relative = ranges.iter().map(|r| to_usize(r.start - start)..to_usize(r.end - start));
        Ok(relative.collect())
    }
}

#[inline]
fn ranges(file: &File, all: Range<u64>) -> std::io::Result<Vec<Range<u64>>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut at = all.start;
    while at < all.end {
        let Some(start) = platform::next_data(file, at)?.filter(|&start| start < all.end) else {
            break;
        };
        let end = platform::next_hole(file, start)?.clamp(start + 1, all.end);
        match ranges.last_mut() {
            Some(last) if start - last.end < SHORTEST => last.end = end,
            _ => ranges.push(start..end),
        }
        at = end;
    }
    // As between them, short holes before the first and after the last are not reported.
    if let Some(first) = ranges.first_mut().filter(|first| first.start - all.start < SHORTEST) {
        first.start = all.start;
    }
    if let Some(last) = ranges.last_mut().filter(|last| all.end - last.end < SHORTEST) {
        last.end = all.end;
    }
    Ok(ranges)
}
