//! Tests of the public API, one file per behaviour.
#![allow(
    unsafe_code,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]
#![cfg_attr(not(unix), allow(unused_imports, dead_code, reason = "some tests are for Unix"))]

mod advise;
mod append;
#[cfg(feature = "npz")]
mod archives;
mod array_file;
mod atomic_files;
mod batch_states;
mod batches;
mod cases;
mod concat;
mod copies;
#[cfg(target_os = "linux")]
mod copy_pages;
mod cow;
mod create;
#[cfg(feature = "serde")]
mod dtype_text;
mod edits;
mod elements;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod enormous;
mod errors;
mod errors_format;
#[cfg(target_pointer_width = "64")]
mod extreme_views;
#[cfg(target_os = "linux")]
mod faults;
mod fixtures;
#[cfg(target_os = "linux")]
mod fork;
#[cfg(all(target_os = "linux", feature = "npz"))]
mod full_disk;
#[cfg(all(feature = "npz", feature = "tar"))]
mod fuzz;
mod gaps;
mod hostile;
#[cfg(feature = "npz")]
mod hostile_npz;
mod in_memory;
#[expect(dead_code, reason = "`tests/matrix.rs` uses all of it")]
mod inplace;
#[expect(dead_code, reason = "`tests/matrix.rs` uses all of it")]
mod inplace_types;
#[cfg(all(feature = "npz", feature = "tar", target_pointer_width = "64"))]
mod limits;
mod live_append;
#[cfg(feature = "npz")]
mod live_archives;
mod live_casts;
mod live_dates;
mod live_edits;
mod live_numpy;
mod live_raw;
mod live_records;
mod live_select;
mod live_take;
mod live_ten;
mod live_values;
mod live_views;
mod live_whole;
mod loading;
mod memmap;
#[expect(dead_code, reason = "`tests/matrix.rs` uses all of it")]
mod model;
mod modes;
#[cfg(target_os = "linux")]
mod modes_linux;
#[cfg(all(unix, target_pointer_width = "32"))]
mod narrow;
#[cfg(feature = "derive")]
mod newtypes;
#[cfg(feature = "npz")]
mod npz_scan;
#[cfg(feature = "npz")]
mod npz_update;
#[cfg(feature = "npz")]
mod npz_writer;
mod on_demand;
mod oracle;
#[cfg(feature = "rayon")]
mod parallel;
mod promises;
mod ragged;
mod raw;
#[cfg(target_os = "linux")]
mod raw_linux;
mod read_at;
mod reading;
#[cfg(feature = "derive")]
mod records;
mod recover;
mod replace;
mod roundtrip;
mod sampler;
#[expect(dead_code, reason = "`tests/generated.rs` uses all of it")]
mod seeded;
mod steps;
mod sums;
mod support;
mod take;
mod take_bytes;
#[cfg(feature = "tar")]
mod tar_extensions;
#[cfg(feature = "tar")]
mod tar_files;
#[cfg(feature = "tar")]
mod tars;
mod ten;
mod truncated;
mod two_processes;
mod typed;
mod view_errors;
mod views;
mod views_mut;
mod whole;
mod write_slice;
#[cfg(feature = "npz")]
mod zips;
