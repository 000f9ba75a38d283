//! Tests that run the program as users do.
#![allow(clippy::as_conversions, clippy::indexing_slicing, clippy::unwrap_used)]

mod archives;
mod arguments;
mod compare;
mod convert;
mod create;
mod demo;
mod diff;
mod digest;
mod get;
mod grow;
mod head;
mod help;
mod hostile;
mod hostile_text;
mod info;
mod interrupt;
mod kill;
mod ls;
mod members;
mod messages;
mod raw;
mod run;
mod sample;
mod set;
mod statistics;
mod stats;
mod together;
