//! Facts about an array in a file, as `info` prints them.

use npymap::array::Trailing;
use npymap::{Header, MappedArray, Order, Result, layout::Layout, npy::Version};

use crate::input::digest;

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
    fn new(layout: Layout, order: Order, data_offset: Option<u64>) -> ArrayInfo {
        ArrayInfo { layout, order, version: None, data_offset, digest: None, trailing: None }
    }

    /// Facts from the header of a `.npy`.
    pub(crate) fn from_header(header: &Header, data_offset: Option<u64>) -> Result<ArrayInfo> {
        let info = ArrayInfo::new(header.layout()?, header.order, data_offset);
        Ok(ArrayInfo { version: Some(header.version), ..info })
    }

    /// Facts about an array of a `.ten` file.
    pub(crate) fn from_ten(layout: Layout, data_offset: u64) -> ArrayInfo {
        ArrayInfo::new(layout, Order::C, Some(data_offset))
    }

    /// Facts about an array without a header, with its digest if that is requested.
    pub(crate) fn from_raw(array: &MappedArray, order: Order, digest: bool) -> Result<ArrayInfo> {
        let info = ArrayInfo::new(array.layout().clone(), order, array.data_offset());
        Ok(ArrayInfo { digest: digest.then(|| digest::sha256(array)).transpose()?, ..info })
    }
}
