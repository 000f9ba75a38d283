//! What is told of an array.

use npymap::{Header, Layout};

/// An array that can be opened.
pub(crate) struct Found {
    pub(crate) header: Header,
    pub(crate) layout: Layout,
    /// SHA-256 of the elements, if it was asked for.
    pub(crate) digest: Option<String>,
}
