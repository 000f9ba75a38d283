//! Sorts rows in bounded memory: in runs that fit into it, which are merged.

mod batch;
mod blocks;
mod keys;
mod merge;
mod number_keys;
mod numbers;
mod parts;
mod radix;
pub(crate) mod records;
mod runs;
pub(crate) mod sorter;
pub(crate) mod unique;
