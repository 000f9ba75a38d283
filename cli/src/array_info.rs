//! What is told of an array.

use npymap::{Header, Order, Result, layout::Layout, npy::Version};

/// An array that can be opened.
pub(crate) struct ArrayInfo {
    pub(crate) layout: Layout,
    pub(crate) order: Order,
    /// Of the `.npy`, if it is one.
    pub(crate) version: Option<Version>,
    /// Where its elements start in the file; `None` when they are compressed.
    pub(crate) data_offset: Option<u64>,
    /// SHA-256 of the elements, if it was asked for.
    pub(crate) digest: Option<String>,
}

impl ArrayInfo {
    /// An array with a header of its own.
    pub(crate) fn npy(header: &Header, data_offset: Option<u64>) -> Result<ArrayInfo> {
        Ok(ArrayInfo {
            layout: header.layout()?,
            order: header.order,
            version: Some(header.version),
            data_offset,
            digest: None,
        })
    }

    /// An array of a `.ten` file.
    pub(crate) fn ten(layout: Layout, data_offset: u64) -> ArrayInfo {
        let data_offset = Some(data_offset);
        ArrayInfo { layout, order: Order::C, version: None, data_offset, digest: None }
    }
}

/// An array without a header that can be opened.
pub(crate) struct RawArrayInfo {
    pub(crate) layout: Layout,
    pub(crate) order: Order,
    /// Where in the file the elements start.
    pub(crate) offset: u64,
    /// SHA-256 of the elements, if it was asked for.
    pub(crate) digest: Option<String>,
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
