//! npymap for C: the functions of `npymap.h`, which is generated from this crate.
//!
//! The functions are in `api/`; each converts its arguments, which `boundary`
//! checks, and calls safe code. A failure or a panic becomes a status.

mod advice;
pub mod api;
pub mod appender;
pub mod archive;
pub mod array;
pub mod boundary;
mod error;
mod number;
mod ragged;
mod save;
pub mod status;
