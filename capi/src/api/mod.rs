//! The exported functions, in the order of the header. Their documentation is that
//! of the header.
//!
//! `unsafe_code` is allowed in these files for the attribute that exports a
//! function under its name. They have no unsafe blocks: a test checks it.
#![allow(unsafe_code)]

pub mod append;
pub mod archive;
pub mod element;
pub mod error;
pub mod index;
pub mod info;
pub mod open;
pub mod paging;
pub mod ragged;
pub mod rows;
pub mod save;
