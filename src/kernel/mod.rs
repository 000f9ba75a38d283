//! Loops over many elements at once, where it was measured that they pay.
//!
//! They know bytes and sizes, no dtypes and no files. What they do is written
//! once, as a safe [`Job`]; [`run`] compiles it for AVX2 besides, and chooses
//! when the program runs. Without AVX2, and on other machines, the same loop
//! runs as the compiler makes it for all of them.

mod convert;
mod copy;
mod cpu;
mod transpose;

pub(crate) use convert::convert;
pub(crate) use copy::ElementFormat;
pub(crate) use copy::copy;
#[cfg(unix)]
pub(crate) use cpu::pages;
#[cfg(test)]
pub(crate) use cpu::tests::both_ways;
pub(crate) use cpu::{Job, prefer_large_pages, prefetch, run};
pub(crate) use transpose::{Plane, transpose};
