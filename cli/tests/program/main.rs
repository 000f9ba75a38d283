//! The program, run as people run it.
#![allow(clippy::as_conversions, clippy::indexing_slicing, clippy::unwrap_used)]

mod convert;
mod create;
mod digest;
mod get;
mod head;
mod help;
mod info;
mod run;
mod set;
mod stats;
