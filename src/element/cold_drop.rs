//! Values that are dropped without their address being taken.
#![expect(clippy::inline_always, reason = "a call would take the address")]

use std::mem::ManuallyDrop;

/// An optional value in an iterator, or in a codec that iterators contain.
///
/// A loop keeps an iterator in registers only if no function that is not
/// inlined gets its address, and functions that drop a `Vec` or an `Arc` get
/// it, even if they are only called when the loop panics. This one moves the
/// value into the function that drops it.
#[derive(Clone, Debug)]
pub struct ColdDrop<T>(ManuallyDrop<Option<T>>);

impl<T> ColdDrop<T> {
    pub(crate) fn new(value: Option<T>) -> ColdDrop<T> {
        ColdDrop(ManuallyDrop::new(value))
    }

    /// Returns the value.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }
}

impl<T> Drop for ColdDrop<T> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            drop_value(value);
        }
    }
}

#[cold]
#[inline(never)]
fn drop_value<T>(value: T) {
    drop(value);
}
