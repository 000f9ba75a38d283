//! Visits the bytes of each element, to write them.

use super::ViewMut;
use crate::element::{Element, replace};
use crate::error::Result;
use crate::error::invariant::{IN_BYTES, Invariant};

impl<T: Element> ViewMut<'_, T> {
    /// Stores values in C order and stops at the first error.
    pub(super) fn store_all(&mut self, values: impl Iterator<Item = Result<T>>) -> Result<()> {
        let mut values = values;
        self.try_for_each_in_c_order(|codec, bytes| match values.next() {
            Some(value) => replace(&value?, codec, bytes),
            None => Ok(()),
        })
    }

    /// Calls `f` with the bytes of each element, in C order.
    pub(super) fn try_for_each_in_c_order(
        &mut self,
        mut f: impl FnMut(&T::Codec, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let codec = self.codec.clone();
        let size = T::itemsize(&codec);
        for run in self.geometry.merged().runs() {
            let mut at = run.start;
            for _ in 0..run.count {
                let bytes = self.bytes.get_mut(at..at.wrapping_add(size)).invariant(IN_BYTES);
                f(&codec, bytes)?;
                at = at.wrapping_add_signed(run.stride);
            }
        }
        Ok(())
    }
}
