//! Vectorized loops over many elements, for operations where measurements
//! showed a gain.
//!
//! They work on bytes and sizes, and know neither dtypes nor files. Each loop
//! is written once, as a safe [`Job`]. [`run`] also compiles it for AVX2 and
//! chooses at run time. Other processors run the portable version.

mod convert;
mod copy;
mod cpu;
mod transpose;

/// The size of a page on most systems, in bytes. Where pages are larger, what is counted in
/// pages of this size is only about right, and what is aligned to them is so to fewer.
pub(crate) const PAGE: usize = 4096;

pub(crate) use convert::convert;
pub(crate) use copy::ElementFormat;
pub(crate) use copy::{copy, copy_row};
#[cfg(unix)]
pub(crate) use cpu::pages;
use cpu::stream;
#[cfg(test)]
pub(crate) use cpu::tests::both_ways;
pub(crate) use cpu::{Job, prefer_large_pages, prefetch, run};
pub(crate) use transpose::{Plane, transpose};
