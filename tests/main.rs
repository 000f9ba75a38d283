//! Tests of the public API, a file per behaviour.
#![allow(unsafe_code, clippy::as_conversions, clippy::indexing_slicing, clippy::unwrap_used)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers, and samples made by cutting large ones"
)]

mod elements;
mod fixtures;
mod model;
mod view_errors;
mod views;
mod views_mut;
