//! Errors about shapes, axes and indices. Shapes are text, as Python prints them.

use super::{ErrorKind, plural};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ShapeError {
    /// More axes than NumPy supports.
    #[error("{found} axes, NumPy arrays have at most 64")]
    Axes { found: usize },

    /// The elements would not fit into the address space.
    #[error(
        "shape {shape} with elements of {} exceeds a {}-bit address space",
        plural(*itemsize, "byte", "bytes"),
        usize::BITS
    )]
    Size { shape: String, itemsize: usize },

    /// Too many zero-size elements to copy: a small file can announce any
    /// number.
    #[error(
        "shape {shape} has zero-size elements, of which at most {limit} are read into memory: map or view the array instead"
    )]
    Unbacked { shape: String, limit: usize },

    /// Too many sums of no elements: a small file can announce any number.
    #[error(
        "shape {shape} has no elements along axis {axis}, and at most {limit} sums of none are computed: select fewer elements of the other axes"
    )]
    SumsOfNothing { axis: usize, shape: String, limit: usize },

    /// The number of axes differs from the requested one.
    #[error(
        "shape {shape} has {}, asked for {asked}: use `{works}`, or `IxDyn` for any number",
        plural(*ndim, "axis", "axes")
    )]
    Rank { shape: String, ndim: usize, asked: usize, works: String },

    /// The elements are not contiguous in C order.
    #[error(
        "elements of shape {shape} are in Fortran order, a slice needs C order: use `as_ndarray`"
    )]
    NotContiguous { shape: String },

    /// A range of rows that is not contiguous.
    #[error(
        "rows {asked} of shape {shape} in Fortran order are not contiguous: slice a view, or write the array in C order"
    )]
    ScatteredRows { shape: String, asked: String },

    /// An index or range is out of bounds for an axis.
    #[error("{asked} is out of bounds for axis {axis} of shape {shape}")]
    Index { axis: usize, asked: String, shape: String },

    /// An axis that does not exist.
    #[error("axis {asked} is out of bounds for shape {shape}: axes are numbered from 0")]
    Axis { asked: usize, shape: String },

    /// A list of axes that is not a permutation.
    #[error("axes {asked} are not a permutation of 0..{ndim}")]
    Permutation { asked: String, ndim: usize },

    /// The elements cannot be reshaped without a copy.
    #[error("cannot reshape {from} to {to} in place: {reason}")]
    Reshape { from: String, to: String, reason: &'static str },

    /// A last axis that is not arrays of the requested length.
    #[error("the last axis of shape {shape} cannot be viewed as arrays of {len}: {reason}")]
    LastAxis { shape: String, len: usize, reason: &'static str },

    /// A shape that cannot be broadcast to another.
    #[error(
        "shape {from} cannot be broadcast to {to}: counted from the last, axes must have equal lengths or length 1"
    )]
    Broadcast { from: String, to: String },

    /// A boolean mask of the wrong shape.
    #[error("a mask of shape {found} for an array of shape {shape}: expected {expected}")]
    Mask { found: String, shape: String, expected: &'static str },

    /// An index of an element that does not exist.
    #[error("index {asked} is out of bounds for shape {shape}")]
    Element { asked: String, shape: String },

    /// Byte strides that are not multiples of the element size, or make
    /// elements overlap.
    #[error(
        "byte strides {strides} cannot be expressed by ndarray: use the view, or copy with `to_ndarray`"
    )]
    Strides { strides: String },

    /// Parts of a mutable view with interleaved bytes cannot be split.
    #[error(
        "parts along axis {axis} of shape {shape} interleave in memory: split along the slowest axis"
    )]
    Interleaved { axis: usize, shape: String },

    /// A slice with the wrong length for the array.
    #[error("expected {}, one per element, found {found}", plural(*expected, "value", "values"))]
    Length { found: usize, expected: usize },

    /// More values than there are elements.
    #[error("expected at most {}, found {found}", plural(*expected, "value", "values"))]
    TooMany { found: usize, expected: usize },

    /// A layout of other bytes than those of the array.
    #[error(
        "expected a layout of {}, from the first on, found one that ends at {found}",
        plural(*expected, "byte", "bytes")
    )]
    LayoutBytes { found: usize, expected: usize },

    /// An output for elements as bytes, of the wrong length.
    #[error("expected an output of {}, found {found}", plural(*expected, "byte", "bytes"))]
    OutputBytes { found: usize, expected: usize },

    /// Values to append that are not a whole number of rows.
    #[error("found {found}, expected rows of shape {expected}")]
    Rows { found: String, expected: String },

    /// An array without axes has no rows.
    #[error("shape () has no axis to append along: rows need at least one axis")]
    NoRows,

    /// Text that is not an index.
    #[error(
        "`{found}` is not an index: expected an integer, a slice such as `2:8:2`, `...` or `None`"
    )]
    Notation { found: String },

    /// An index with more lists than one.
    #[error("`{found}` has several lists: an index can have one, of integers")]
    Lists { found: String },
}

impl ShapeError {
    #[inline]
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            ShapeError::Axes { .. }
            | ShapeError::Size { .. }
            | ShapeError::Permutation { .. }
            | ShapeError::Notation { .. }
            | ShapeError::Lists { .. } => ErrorKind::InvalidInput,
            ShapeError::Unbacked { .. } | ShapeError::SumsOfNothing { .. } => {
                ErrorKind::LimitExceeded
            }
            ShapeError::Index { .. } | ShapeError::Axis { .. } | ShapeError::Element { .. } => {
                ErrorKind::OutOfBounds
            }
            ShapeError::Rank { .. }
            | ShapeError::NotContiguous { .. }
            | ShapeError::ScatteredRows { .. }
            | ShapeError::Reshape { .. }
            | ShapeError::LastAxis { .. }
            | ShapeError::Broadcast { .. }
            | ShapeError::Strides { .. }
            | ShapeError::Interleaved { .. }
            | ShapeError::Length { .. }
            | ShapeError::TooMany { .. }
            | ShapeError::LayoutBytes { .. }
            | ShapeError::OutputBytes { .. }
            | ShapeError::Mask { .. }
            | ShapeError::Rows { .. }
            | ShapeError::NoRows => ErrorKind::ShapeMismatch,
        }
    }
}
