//! Tests of the public API, a file per behaviour.
#![allow(
    unsafe_code,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

mod create;
mod elements;
mod errors;
mod errors_format;
mod fixtures;
#[cfg(feature = "npz")]
mod hostile_npz;
mod inplace;
mod inplace_types;
mod live_edits;
mod live_numpy;
mod live_values;
mod live_views;
mod live_whole;
mod model;
mod modes;
#[cfg(target_os = "linux")]
mod modes_linux;
mod oracle;
mod roundtrip;
mod steps;
mod support;
mod truncated;
mod view_errors;
mod views;
mod views_mut;
mod whole;
#[cfg(feature = "npz")]
mod zips;
