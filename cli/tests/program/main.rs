//! Tests that run the program as users do.
#![allow(clippy::as_conversions, clippy::indexing_slicing, clippy::unwrap_used)]
#![cfg_attr(not(unix), allow(unused_imports, reason = "some tests are for Unix"))]

mod advice;
mod archives;
mod arguments;
mod bfloat16;
mod compare;
mod conventions;
mod convert;
mod create;
mod diff;
mod digest;
mod endless;
mod examples;
mod file_sets;
mod filter;
mod filter_index;
mod formats;
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
mod jobs;
mod json_keys;
mod kill;
mod layouts;
mod limits;
mod ls;
mod members;
mod messages;
mod npz_edit;
mod outputs;
mod raw;
mod run;
#[cfg(feature = "remote")]
#[allow(dead_code, reason = "not all of it is used here")]
#[path = "../../../crates/remote/tests/remote/s3.rs"]
mod s3;
mod sample;
#[cfg(feature = "remote")]
#[allow(dead_code, reason = "not all of it is used here")]
#[path = "../../../crates/remote/tests/remote/server.rs"]
mod server;
mod set;
mod set_arrays;
mod shells;
mod show;
mod sort;
mod statistics;
mod stats;
mod streams;
mod tail;
mod text;
mod text_options;
mod text_round_trip;
mod together;
mod trailing;
mod unmapped;
mod urls;
