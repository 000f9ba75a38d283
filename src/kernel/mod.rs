//! Loops over many elements at once, where it was measured that they pay.
//!
//! They know bytes and sizes, no dtypes and no files. What they do is written
//! once, as a safe [`Job`]; [`run`] compiles it for AVX2 besides, and chooses
//! when the program runs. Without AVX2, and on other machines, the same loop
//! runs as the compiler makes it for all of them.

mod convert;
mod copy;
mod dispatch;
mod prefetch;
mod transpose;

pub(crate) use convert::convert;
pub(crate) use copy::Part;
pub(crate) use copy::copy;
#[cfg(test)]
pub(crate) use dispatch::tests::both_ways;
pub(crate) use dispatch::{Job, run};
#[cfg(unix)]
pub(crate) use prefetch::pages;
pub(crate) use prefetch::{prefer_large_pages, prefetch};
pub(crate) use transpose::{Plane, transpose};
