#![doc = include_str!("../README.md")]
// docs.rs labels each item with the feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

// In layers: `.ci/layers.py` has their order and checks it.
mod archive;
mod array;
mod dtype;
mod element;
mod error;
mod kernel;
mod layout;
mod loader;
mod npy;
mod source;
mod view;
mod write;

pub use bytemuck;
pub use compact_str;
pub use half;
#[cfg(feature = "jiff")]
pub use jiff;
pub use ndarray;
pub use num_complex;

pub use archive::any::{AnyFile, Format, Npy, open_any};
#[cfg(feature = "npz")]
pub use archive::npz;
pub use archive::ten;
/// # Examples
///
/// ```
/// use npymap::{Be, DType, Le, MappedArray, Record, bytemuck, ndarray::s};
///
/// /// Decoded from any layout that has these fields.
/// #[derive(Debug, PartialEq, Record)]
/// struct Hit {
///     name: String,
///     #[record(rename = "pos")]
///     at: [f32; 3],
/// }
///
/// /// Lent where it lies: `&[Raw]` is the file's memory.
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, Record)]
/// #[bytemuck(crate = "npymap::bytemuck")]
/// #[record(in_place)]
/// #[repr(C)]
/// struct Raw {
///     #[record(dtype = "|S6")]
///     name: [u8; 6],
///     pos: [Be<f32>; 3],
///     score: Le<u16>,
/// }
///
/// let mut hits = MappedArray::anonymous(&DType::of::<Raw>(), &[100])?;
/// hits.as_slice_mut::<Raw>()?[7].pos[2].set(1.5);
/// let some = hits.dyn_view()?.fields(&["pos", "name"])?.view::<Hit>()?;
/// assert_eq!(some.at(7), Hit { name: String::new(), at: [0.0, 0.0, 1.5] });
///
/// let error = hits.view::<Hit>().unwrap_err();
/// assert!(error.to_string().contains("field `score`: stored as '<u2', and the record has no such field"));
/// # Ok::<(), npymap::Error>(())
/// ```
#[cfg(feature = "derive")]
pub use npymap_derive::Record;

#[cfg(feature = "derive")]
pub use npymap_derive::Element;

#[cfg(feature = "npz")]
pub use archive::npz::{Npz, NpzWriter};
#[cfg(feature = "tar")]
pub use archive::shard::{Shard, ShardMember};
pub use archive::ten::{Ten, TenHeader};
pub use array::{
    ArrayFile, CreateOptions, Description, MappedArray, MappedArrayMut, OpenOptions, Opened,
    RawSpec, Walk, Walked,
};
pub use dtype::{ByteOrder, DType, Field, Kind, Unit, UnitBase};
pub use element::cast::{Casting, Number};
pub use element::value::Value;
pub use element::{
    Be, Bool, Bytes, CodePoint, DateTime64, Element, InPlace, Le, Pad, Real, Scalar, Text, Ticks,
    TimeDelta64, Typed,
};
pub use error::{Error, ErrorKind, Result};
pub use layout::row_index::{RowIndex, TakeMode};
pub use layout::{Layout, Order};
pub use loader::{
    Batch, BatchError, BatchOptions, Batches, FileWindows, Ragged, RaggedAppender, RowSource, Rows,
    Sampler, SamplerState, Share, Stacked, Tail,
};
pub use npy::{Encoded, Header, HeaderText, MAX_HEADER_LEN, Preamble, Version};
pub use source::atomic::AtomicFile;
pub use source::lock::{FileLock, Locking};
pub use source::map::{Map, MapMut};
pub use source::mode::Mode;
pub use source::pages::Mapping;
pub use source::platform::{Advice, LockKind};
pub use source::storage::ReadAt;
pub use source::{AnySource, Source};
pub use view::{
    Blocks, ByteBlocks, DynView, DynViewMut, Index, IndexedIter, Indices, Iter, Stats, View,
    ViewMut,
};
pub use write::{Appender, RecoverOptions, Recovery, recover, resize};
pub use write::{WriteOptions, read_npy, read_npy_from, write_npy, write_npy_to};

pub mod sharing {
    #![doc = include_str!("../SHARING.md")]
}

/// What the derives need; not for use by hand.
#[doc(hidden)]
pub mod __record {
    pub use crate::element::fast::{FastPath, Wrapper};
    pub use crate::element::part::Part;
    pub use crate::element::record::{
        Difference, Fields, RecordCodec, Records, dtype, slot, stated,
    };
}
