//! Shapes, axes and indices that do not go together.

use super::ErrorKind;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ShapeError {
    /// More axes than NumPy has.
    #[error("{found} axes, NumPy arrays have at most 64")]
    Axes {
        /// How many were asked for.
        found: usize,
    },

    /// The elements would not fit into the address space.
    #[error(
        "shape {shape} with elements of {itemsize} bytes exceeds a {}-bit address space",
        usize::BITS
    )]
    Size {
        /// The shape, as Python prints it.
        shape: String,
        /// Bytes of one element.
        itemsize: usize,
    },

    /// Elements of no bytes that no file has to hold, too many to copy.
    #[error(
        "shape {shape} has zero-size elements, of which at most {limit} are read into memory: map or view the array instead"
    )]
    Unbacked {
        /// The shape, as Python prints it.
        shape: String,
        /// How many are read.
        limit: usize,
    },

    /// The array has another number of axes than asked for.
    #[error(
        "shape {shape} has {} axes, asked for {asked}: use `{works}`, or `IxDyn` for any number",
        ndim
    )]
    Rank {
        /// The shape, as Python prints it.
        shape: String,
        /// The number of axes of the array.
        ndim: usize,
        /// The number of axes asked for.
        asked: usize,
        /// ndarray's name of a dimension that works.
        works: String,
    },

    /// The elements are not one run in C order.
    #[error(
        "elements of shape {shape} are in Fortran order, a slice needs C order: use `as_ndarray`"
    )]
    NotContiguous {
        /// The shape, as Python prints it.
        shape: String,
    },

    /// An index or range reaches outside an axis.
    #[error("{asked} is out of bounds for axis {axis} of shape {shape}")]
    Index {
        /// The axis.
        axis: usize,
        /// What was asked for on it.
        asked: String,
        /// The shape, as Python prints it.
        shape: String,
    },

    /// An axis that isn't there.
    #[error("axis {asked} is out of bounds for shape {shape}: axes are numbered from 0")]
    Axis {
        /// The axis asked for.
        asked: usize,
        /// The shape, as Python prints it.
        shape: String,
    },

    /// An order of axes that doesn't name each of them once.
    #[error("axes {asked} are not a permutation of 0..{ndim}")]
    Permutation {
        /// The order asked for.
        asked: String,
        /// The number of axes.
        ndim: usize,
    },

    /// Elements can't stand under another shape without a copy.
    #[error("cannot reshape {from} to {to} in place: {reason}")]
    Reshape {
        /// The shape there is.
        from: String,
        /// The shape asked for.
        to: String,
        /// Why not.
        reason: &'static str,
    },

    /// A shape can't be repeated to fill another.
    #[error(
        "shape {from} cannot be broadcast to {to}: counted from the last, axes must have equal lengths or length 1"
    )]
    Broadcast {
        /// The shape there is.
        from: String,
        /// The shape asked for.
        to: String,
    },

    /// An element that isn't there.
    #[error("index {asked} is out of bounds for shape {shape}")]
    Element {
        /// The index asked for.
        asked: String,
        /// The shape, as Python prints it.
        shape: String,
    },

    /// Elements are no whole number of `T` apart, or lie on each other.
    #[error(
        "byte strides {strides} cannot be expressed by ndarray: use the view, or copy with `to_ndarray`"
    )]
    Strides {
        /// The byte strides.
        strides: String,
    },

    /// Parts whose bytes interleave can't be written apart.
    #[error(
        "parts along axis {axis} of shape {shape} interleave in memory: split along the slowest axis"
    )]
    Interleaved {
        /// The axis asked for.
        axis: usize,
        /// The shape, as Python prints it.
        shape: String,
    },

    /// A slice has another length than the array.
    #[error("{found} values for {expected} elements")]
    Length {
        /// The number of values.
        found: usize,
        /// The number of elements.
        expected: usize,
    },

    /// What was to be added is no row, or no whole number of rows.
    #[error("found {found}, expected rows of shape {expected}")]
    Rows {
        /// What was given.
        found: String,
        /// The shape of one row or more, `*` where any length will do.
        expected: String,
    },

    /// Rows were to be added to an array that has none, or counted in it.
    #[error("shape () has no axis to append along: rows need at least one axis")]
    NoRows,

    /// Text is no index.
    #[error(
        "`{found}` is not an index: expected an integer, a slice such as `2:8:2`, `...` or `None`"
    )]
    Notation {
        /// The part that isn't.
        found: String,
    },
}

impl ShapeError {
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            ShapeError::Axes { .. }
            | ShapeError::Size { .. }
            | ShapeError::Permutation { .. }
            | ShapeError::Notation { .. } => ErrorKind::InvalidInput,
            ShapeError::Unbacked { .. } => ErrorKind::LimitExceeded,
            ShapeError::Index { .. } | ShapeError::Axis { .. } | ShapeError::Element { .. } => {
                ErrorKind::OutOfBounds
            }
            ShapeError::Rank { .. }
            | ShapeError::NotContiguous { .. }
            | ShapeError::Reshape { .. }
            | ShapeError::Broadcast { .. }
            | ShapeError::Strides { .. }
            | ShapeError::Interleaved { .. }
            | ShapeError::Length { .. }
            | ShapeError::Rows { .. }
            | ShapeError::NoRows => ErrorKind::WrongShape,
        }
    }
}
