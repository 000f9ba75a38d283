//! The checks of views for all types of elements. `tests/main.rs` has one of each kind and
//! size, because code for a type takes long to compile.
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

mod inplace;
mod inplace_types;
mod model;
mod other_types;
#[cfg(feature = "rayon")]
mod parallel;
mod steps;
#[expect(dead_code, reason = "the other tests use all of it")]
mod support;
mod views;
mod views_mut;
