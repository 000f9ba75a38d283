//! The bodies of the fuzz targets: functions of bytes that panic when a property
//! that must hold for any input does not.
//!
//! `fuzz/fuzz_targets` calls them with `cargo fuzz`, and `cargo test` runs them
//! over `fuzz/corpus`.

mod append;
mod archives;
mod condition;
mod header;
mod npy;
mod slices;
mod value;

pub(crate) use append::append;
pub(crate) use archives::{any, npz, tar, ten};
pub(crate) use condition::condition;
pub(crate) use header::{dtype, header};
pub(crate) use npy::npy;
pub(crate) use slices::{index, slices};
pub(crate) use value::value;

/// Checks the properties of an input, and panics if one does not hold.
pub(crate) type Body = fn(&[u8]);

/// All bodies, with the names of their corpora.
#[allow(dead_code, reason = "a fuzz target uses one body")]
pub(crate) const ALL: [(&str, Body); 12] = [
    ("any", any),
    ("append", append),
    ("condition", condition),
    ("dtype", dtype),
    ("header", header),
    ("index", index),
    ("npy", npy),
    ("npz", npz),
    ("slices", slices),
    ("tar", tar),
    ("ten", ten),
    ("value", value),
];

/// Numbers read from the front of an input, and zeros after its end.
pub(crate) struct Source<'a>(&'a [u8]);

impl<'a> Source<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Source<'a> {
        Source(data)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    /// A number from `-n` to `n`.
    pub(crate) fn around(&mut self, n: isize) -> isize {
        isize::from(i8::from_le_bytes([self.byte()])) % (n + 1)
    }
}
