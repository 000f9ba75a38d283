//! Arrays that are members of a file that holds several.

use std::path::Path;
use std::sync::Arc;

use super::{MappedArray, Origin};
use crate::layout::{Layout, Order};
use crate::npy::Header;
use crate::source::mode::Mode;
use crate::source::platform::Id;

/// The member of an archive that an array is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    pub(crate) path: Option<&'a Path>,
    pub(crate) name: &'a str,
    /// How it was mapped; `None` when it was not.
    pub(crate) mode: Option<Mode>,
    /// Where its elements start in the file; `None` when they are packed.
    pub(crate) offset: Option<u64>,
    /// Which file that is, where the system tells.
    pub(crate) id: Option<Id>,
}

impl<D> MappedArray<D> {
    /// A member whose elements alone are in `data`; `header` is that of its
    /// `.npy`, if it is one.
    pub(crate) fn of_member(
        data: D,
        layout: Layout,
        header: Option<&Header>,
        from: Member<'_>,
    ) -> MappedArray<D> {
        let order = header.map_or(Order::C, |header| header.order);
        let header = header.map(|header| (header.version, header.data_offset));
        let (path, member) = (from.path.map(Arc::from), Some(Arc::from(from.name)));
        let origin = Origin {
            path,
            member,
            mode: from.mode,
            id: from.id,
            offset: from.offset,
            order,
            header,
            ..Origin::default()
        };
        MappedArray { layout: layout.at(0), data, origin }
    }
}
