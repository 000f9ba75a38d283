// Its examples use every feature that they need.
#![cfg_attr(any(not(doctest), feature = "derive"), doc = include_str!("../README.md"))]
// docs.rs labels each item with the feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

// Modules are layered: `.ci/layers.py` defines the order and checks it.
mod archive;
pub mod array;
pub mod dtype;
pub mod element;
mod error;
mod kernel;
pub mod layout;
pub mod loader;
pub mod npy;
pub mod source;
pub mod view;
pub mod write;

pub use bytemuck;
pub use half;
#[cfg(feature = "jiff")]
pub use jiff;
pub use ndarray;
pub use num_complex;
#[cfg(feature = "rayon")]
pub use rayon;

pub use archive::any;
#[doc(inline)]
pub use archive::any::open_any;
#[cfg(feature = "npz")]
pub use archive::npz;
#[cfg(feature = "tar")]
pub use archive::tar;
pub use archive::ten;
/// # Examples
///
/// ```
/// use npymap::{Be, DType, Le, MappedArray, Record, bytemuck, ndarray::s};
///
/// /// Decoded from elements that have these fields, in any layout.
/// #[derive(Debug, PartialEq, Record)]
/// struct Hit {
///     name: String,
///     #[record(rename = "pos")]
///     at: [f32; 3],
/// }
///
/// /// Borrowed in place: `&[Raw]` refers to the memory of the file.
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
/// let mut hits = MappedArray::zeros(&DType::of::<Raw>(), &[100])?;
/// hits.as_slice_mut::<Raw>()?[7].pos[2].set(1.5);
/// let some = hits.dyn_view()?.fields(&["pos", "name"])?.view::<Hit>()?;
/// assert_eq!(some.at(7), Hit { name: String::new(), at: [0.0, 0.0, 1.5] });
///
/// let error = hits.view::<Hit>().unwrap_err();
/// assert!(error.to_string().contains("field `score`: stored as '<u2', but the record has no such field"));
/// # Ok::<(), npymap::Error>(())
/// ```
#[cfg(feature = "derive")]
pub use npymap_derive::Record;

#[cfg(feature = "derive")]
pub use npymap_derive::Element;

#[cfg(feature = "npz")]
#[doc(inline)]
pub use archive::npz::Npz;
#[doc(inline)]
pub use array::{ArrayFile, CreateOptions, MappedArray, MappedArrayMut, OpenOptions};
#[doc(inline)]
pub use dtype::{ByteOrder, DType};
#[doc(inline)]
pub use element::{Be, Element, Le, Value};
#[doc(inline)]
pub use error::{Error, ErrorKind, Result};
#[doc(inline)]
pub use layout::Order;
#[doc(inline)]
pub use loader::{BatchOptions, Loader, RowSource, Rows, Sampler};
#[doc(inline)]
pub use npy::Header;
#[doc(inline)]
pub use source::{Mode, Source};
#[doc(inline)]
pub use view::{IndexExpr, View, ViewMut};
#[doc(inline)]
pub use write::{Appender, WriteOptions};

pub mod guide {
    #![doc = include_str!("guide/index.md")]

    pub mod opening {
        #![doc = include_str!("guide/opening.md")]
        #![doc = include_str!("guide/mapped.svg")]
        #![doc = ""]
        #![doc = include_str!("guide/opening-promise.md")]
    }

    pub mod elements {
        #![doc = include_str!("guide/elements.md")]
        #![doc = include_str!("guide/views.svg")]
        #![doc = ""]
        #![doc = include_str!("guide/elements-types.md")]
    }

    #[cfg(any(not(doctest), feature = "derive"))]
    pub mod records {
        #![doc = include_str!("guide/records.md")]
    }

    #[cfg(any(not(doctest), all(feature = "npz", feature = "tar")))]
    pub mod archives {
        #![doc = include_str!("guide/archives.md")]
    }

    pub mod growing {
        #![doc = include_str!("guide/growing.md")]
        #![doc = include_str!("guide/append.svg")]
        #![doc = ""]
        #![doc = include_str!("guide/growing-crash.md")]
    }

    pub mod sampling {
        #![doc = include_str!("guide/sampling.md")]
        #![doc = include_str!("guide/epoch.svg")]
        #![doc = ""]
        #![doc = include_str!("guide/sampling-epoch.md")]
        #![doc = include_str!("guide/memory.svg")]
    }

    pub mod sharing {
        #![doc = include_str!("../SHARING.md")]
    }

    pub mod program {
        #![doc = include_str!("guide/program.md")]
    }

    pub mod jobs {
        #![doc = include_str!("guide/jobs.md")]
    }

    pub mod c {
        #![doc = include_str!("guide/c.md")]
    }

    pub mod performance {
        #![doc = include_str!("guide/performance.md")]
    }

    pub mod compatibility {
        #![doc = include_str!("../COMPATIBILITY.md")]
    }
}

/// Used by the code that the derives generate.
#[doc(hidden)]
pub mod __record {
    pub use crate::element::fast_path::{FastPath, NewtypeFastPath};
    pub use crate::element::field_codec::FieldCodec;
    pub use crate::element::record::{
        FieldMatcher, FieldMismatch, RecordCodec, StoredFastPath, StoredMismatch, declared_dtype,
        record_dtype, typed_field,
    };
}
