#![doc = include_str!("../README.md")]

mod any;
mod array;
mod dispatch;
mod dtype;
mod element;
mod error;
mod file;
mod geometry;
mod layout;
mod literal;
mod map;
mod mode;
mod npy;
#[cfg(feature = "npz")]
pub mod npz;
#[cfg(any(feature = "npz", feature = "tar"))]
mod part;
mod replace;
#[cfg(feature = "tar")]
mod shard;
mod source;
pub mod ten;
mod value;
mod view;
mod whole;

pub use bytemuck;
pub use half;
pub use ndarray;
pub use num_complex;

pub use any::{AnyFile, Format, open_any};
pub use array::{CreateOptions, MappedArray, MappedArrayMut, OpenOptions, Opened};
pub use dtype::{ByteOrder, DType, Field, Kind, Unit, UnitBase};
pub use element::{
    Be, Bool, DateTime64, Element, InPlace, Le, Real, Scalar, Ticks, TimeDelta64, Typed,
};
pub use error::{Category, Error, ErrorKind, Result};
pub use layout::{Layout, Order};
pub use map::{Map, MapMut};
pub use mode::Mode;
pub use npy::{Encoded, Header, HeaderText, MAX_HEADER_LEN, Preamble, Version};
#[cfg(feature = "npz")]
pub use npz::{Npz, NpzWriter};
#[cfg(feature = "tar")]
pub use shard::{Shard, ShardMember};
pub use ten::{Ten, TenHeader};
pub use value::Value;
pub use view::{Blocks, DynView, DynViewMut, Index, IndexedIter, Indices, Iter, View, ViewMut};
pub use whole::{WriteOptions, read_npy, read_npy_from, write_npy, write_npy_to};
