#![doc = include_str!("../README.md")]

mod any;
mod array;
mod axes;
mod cast;
mod dispatch;
mod dtype;
mod element;
mod error;
mod file;
mod geometry;
mod grow;
mod kernel;
mod layout;
mod literal;
mod lock;
mod map;
mod mode;
mod npy;
#[cfg(feature = "npz")]
pub mod npz;
mod pages;
#[cfg(any(feature = "npz", feature = "tar"))]
mod part;
mod platform;
mod replace;
mod sample;
#[cfg(feature = "tar")]
mod shard;
mod source;
pub mod ten;
mod value;
mod view;
mod whole;

#[cfg(doctest)]
mod borrows;
#[cfg(all(doctest, feature = "derive"))]
mod refused;

pub use bytemuck;
pub use compact_str;
pub use half;
#[cfg(feature = "jiff")]
pub use jiff;
pub use ndarray;
pub use num_complex;

pub use any::{AnyFile, Format, open_any};
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

pub use array::{
    ArrayFile, CreateOptions, Description, MappedArray, MappedArrayMut, OpenOptions, Opened,
    RawSpec, Walk, Walked,
};
pub use cast::{Casting, Number};
pub use dtype::{ByteOrder, DType, Field, Kind, Unit, UnitBase};
pub use element::{
    Be, Bool, Bytes, CodePoint, DateTime64, Element, InPlace, Le, Pad, Real, Scalar, Text, Ticks,
    TimeDelta64, Typed,
};
pub use error::{Category, Error, ErrorKind, Result};
pub use grow::{Appender, RecoverOptions, Recovery, recover, resize};
#[doc(hidden)]
pub use kernel::Part;
pub use layout::{Layout, Order};
pub use lock::FileLock;
pub use map::{Map, MapMut};
pub use mode::Mode;
pub use npy::{Encoded, Header, HeaderText, MAX_HEADER_LEN, Preamble, Version};
#[cfg(feature = "npz")]
pub use npz::{Npz, NpzWriter};
pub use pages::Mapping;
pub use platform::{Advice, LockKind};
pub use sample::{
    Batch, BatchError, BatchOptions, Batches, Ragged, RaggedAppender, RowIndex, Rows, Sampler,
    SamplerState, Share, Stacked, Tail, TakeMode,
};
#[cfg(feature = "tar")]
pub use shard::{Shard, ShardMember};
pub use ten::{Ten, TenHeader};
pub use value::Value;
pub use view::{
    Blocks, DynView, DynViewMut, Index, IndexedIter, Indices, Iter, Stats, View, ViewMut,
};
pub use whole::{WriteOptions, read_npy, read_npy_from, write_npy, write_npy_to};

pub mod sharing {
    #![doc = include_str!("../SHARING.md")]
}

/// What `#[derive(Record)]` needs; nothing for people.
#[doc(hidden)]
pub mod __record {
    pub use crate::element::part::Part;
    pub use crate::element::record::{Difference, Fields, dtype, inexact, raw, slot, stated};
}
