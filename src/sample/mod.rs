//! Rows in random order: read as fast as the disk gives them.

mod index;
mod rows;
mod strategy;
mod windows;

pub(crate) use index::resolve;
pub use index::{RowIndex, TakeMode};
pub use rows::Rows;
