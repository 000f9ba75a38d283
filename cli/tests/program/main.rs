//! Tests that run the program as users do.
#![allow(clippy::as_conversions, clippy::indexing_slicing, clippy::unwrap_used)]

mod archives;
mod arguments;
mod compare;
mod conventions;
mod convert;
mod create;
mod demo;
mod diff;
mod digest;
mod examples;
mod generate;
mod get;
mod grow;
mod head;
mod header;
mod help;
mod hostile;
mod hostile_names;
mod hostile_text;
mod info;
mod interrupt;
mod kill;
mod ls;
mod members;
mod messages;
mod npz_edit;
mod raw;
mod run;
mod sample;
mod set;
mod set_arrays;
mod statistics;
mod stats;
mod tail;
mod together;
