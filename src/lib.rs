#![doc = include_str!("../README.md")]

mod array;
mod dtype;
mod error;
mod file;
mod geometry;
mod inplace;
mod layout;
mod literal;
mod map;
mod mode;
mod npy;
mod replace;

pub use bytemuck;
pub use half;
pub use ndarray;
pub use num_complex;

pub use array::{CreateOptions, MappedArray, MappedArrayMut, OpenOptions, Opened};
pub use dtype::{ByteOrder, DType, Field, Kind, Unit, UnitBase};
pub use error::{Category, Error, ErrorKind, Result};
pub use inplace::{Be, Bool, InPlace, Le, Scalar, Ticks, Typed};
pub use layout::{Layout, Order};
pub use map::{Map, MapMut};
pub use mode::Mode;
pub use npy::{Encoded, Header, HeaderText, MAX_HEADER_LEN, Preamble, Version};
