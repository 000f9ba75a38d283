//! Statistics and comparisons of elements.

pub(crate) mod columns;
pub(crate) mod compare;
pub(crate) mod histogram;
pub(crate) mod keys;
pub(crate) mod places;
pub(crate) mod quantiles;
pub(crate) mod scan;
pub(crate) mod stats_rows;
pub(crate) mod summary;
pub(crate) mod tiles;
pub(crate) mod tolerance;
