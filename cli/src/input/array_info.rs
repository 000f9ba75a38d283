//! Facts about an array in a file, as `info` prints them.

use npymap::array::Trailing;
use npymap::{Header, Order, Result, layout::Layout, npy::Version};

/// Facts about an array.
pub(crate) struct ArrayInfo {
    pub(crate) layout: Layout,
    pub(crate) order: Order,
    /// The version of a `.npy`.
    pub(crate) version: Option<Version>,
    /// Where the elements start in the file; `None` if they are deflated.
    pub(crate) data_offset: Option<u64>,
    /// SHA-256 of the elements, if requested.
    pub(crate) digest: Option<String>,
    /// What follows the elements in a `.npy` file.
    pub(crate) trailing: Option<Trailing>,
}

impl ArrayInfo {
    /// Facts about an array without a header of its own.
    pub(crate) fn new(layout: Layout, order: Order, data_offset: Option<u64>) -> ArrayInfo {
        ArrayInfo { layout, order, version: None, data_offset, digest: None, trailing: None }
    }

    /// Facts from the header of a `.npy`.
    pub(crate) fn from_header(header: &Header, data_offset: Option<u64>) -> Result<ArrayInfo> {
        let info = ArrayInfo::new(header.layout()?, header.order, data_offset);
        Ok(ArrayInfo { version: Some(header.version), ..info })
    }
}
