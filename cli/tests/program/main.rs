//! The program, run as people run it.
#![allow(clippy::as_conversions, clippy::indexing_slicing, clippy::unwrap_used)]

mod archives;
mod convert;
mod create;
mod digest;
mod get;
mod help;
mod run;
mod set;
