//! What is told of an array.

use npymap::{Header, Layout, Order};

/// An array that can be opened.
pub(crate) struct Found {
    pub(crate) header: Header,
    pub(crate) layout: Layout,
    /// SHA-256 of the elements, if it was asked for.
    pub(crate) digest: Option<String>,
}

/// An array without a header that can be opened.
pub(crate) struct FoundRaw {
    pub(crate) layout: Layout,
    pub(crate) order: Order,
    /// Where in the file the elements start.
    pub(crate) offset: u64,
    /// SHA-256 of the elements, if it was asked for.
    pub(crate) digest: Option<String>,
}
