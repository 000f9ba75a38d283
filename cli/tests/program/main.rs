//! The program, run as people run it.
#![allow(clippy::as_conversions, clippy::indexing_slicing, clippy::unwrap_used)]

mod digest;
mod run;
