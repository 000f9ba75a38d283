//! Tests of the public API, a file per behaviour.
#![allow(unsafe_code, clippy::as_conversions, clippy::indexing_slicing, clippy::unwrap_used)]

mod fixtures;
mod whole;
