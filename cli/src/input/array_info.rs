//! Facts about an array in a file, as `info` and `raw` print them.

use npymap::{Header, MappedArray, Order, Result, layout::Layout, npy::Version};

use crate::input::digest;

/// Facts about an array with a header.
pub(crate) struct ArrayInfo {
    pub(crate) layout: Layout,
    pub(crate) order: Order,
    /// The version of a `.npy`.
    pub(crate) version: Option<Version>,
    /// Where the elements start in the file; `None` if they are deflated.
    pub(crate) data_offset: Option<u64>,
    /// SHA-256 of the elements, if requested.
    pub(crate) digest: Option<String>,
}

impl ArrayInfo {
    /// Facts from the header of a `.npy`.
    pub(crate) fn from_header(header: &Header, data_offset: Option<u64>) -> Result<ArrayInfo> {
        Ok(ArrayInfo {
            layout: header.layout()?,
            order: header.order,
            version: Some(header.version),
            data_offset,
            digest: None,
        })
    }

    /// Facts about an array of a `.ten` file.
    pub(crate) fn from_ten(layout: Layout, data_offset: u64) -> ArrayInfo {
        let data_offset = Some(data_offset);
        ArrayInfo { layout, order: Order::C, version: None, data_offset, digest: None }
    }
}

/// Facts about an array without a header.
pub(crate) struct RawArrayInfo {
    pub(crate) layout: Layout,
    pub(crate) order: Order,
    /// Where the elements start in the file.
    pub(crate) offset: u64,
    /// SHA-256 of the elements, if requested.
    pub(crate) digest: Option<String>,
}

impl RawArrayInfo {
    pub(crate) fn new(array: &MappedArray, order: Order, digest: bool) -> Result<RawArrayInfo> {
        Ok(RawArrayInfo {
            layout: array.layout().clone(),
            order,
            offset: array.data_offset().unwrap_or(0),
            digest: digest.then(|| digest::sha256(array)).transpose()?,
        })
    }
}

impl From<&RawArrayInfo> for ArrayInfo {
    fn from(raw: &RawArrayInfo) -> ArrayInfo {
        ArrayInfo {
            layout: raw.layout.clone(),
            order: raw.order,
            version: None,
            data_offset: Some(raw.offset),
            digest: raw.digest.clone(),
        }
    }
}
