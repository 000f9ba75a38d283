//! Thousands of generated files, damaged or random. With the profile
//! `generated`, the tests take minutes instead of hours.
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

#[expect(dead_code, reason = "the other tests use all of it")]
mod cases;
mod damaged;
mod differential;
mod differential_archives;
#[path = "live_casts.rs"]
mod differential_casts;
#[path = "live_dates.rs"]
mod differential_dates;
#[path = "live_edits.rs"]
mod differential_edits;
#[path = "live_raw.rs"]
mod differential_raw;
mod differential_sets;
mod differential_tars;
mod differential_tens;
mod handmade_archives;
mod oracle;
mod random_zips;
mod seeded;
#[expect(dead_code, reason = "the other tests use all of it")]
mod support;
mod tars;
mod zips;
