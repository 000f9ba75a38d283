//! Stores to scattered elements, through the map of an array or maps of its parts.

use std::ops::Range;

use super::MapMut;
use crate::error::Result;

/// The size of a mapped part, in bytes, unless a range is longer.
const PART: usize = 16 << 20;

/// Stores to elements in the order of the file.
pub(crate) struct Stores<'a> {
    data: &'a mut MapMut,
    /// The end of the elements; `None` to write them to the file.
    end: Option<usize>,
    /// If the array is only written: the mapped part, and where it starts.
    part: Option<(usize, MapMut)>,
}

impl Stores<'_> {
    #[inline]
    pub(crate) fn new(data: &mut MapMut, end: Option<usize>) -> Stores<'_> {
        Stores { data, end, part: None }
    }

    /// The bytes of a range, to be changed; `None` if they are to be written, or can't be
    /// mapped.
    #[inline]
    pub(crate) fn bytes(&mut self, range: Range<usize>) -> Option<&mut [u8]> {
        let all = self.end?;
        if self.data.is_mapped() {
            return self.data.as_mut().get_mut(range);
        }
        let is_inside = self.part.as_ref().is_some_and(|(start, part)| {
            *start <= range.start && range.end - start <= part.as_ref().len()
        });
        if !is_inside {
            self.part = None;
            let end = all.min(range.start + PART).max(range.end);
            self.part = Some((range.start, self.data.part(range.start..end)?));
        }
        let (start, part) = self.part.as_mut()?;
        part.as_mut().get_mut(range.start - *start..range.end - *start)
    }

    /// Stores bytes, or writes them to the file.
    #[inline]
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        match self.bytes(at..at + bytes.len()) {
            Some(to) => to.copy_from_slice(bytes),
            None => self.data.write(at, bytes)?,
        }
        Ok(())
    }
}
