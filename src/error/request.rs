//! Calls that cannot be carried out on this array.

use super::ErrorKind;

#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// No mode of `numpy.memmap` has this name.
    #[error(
        "mode '{found}', expected 'r' or 'readonly', 'r+' or 'readwrite', 'w+' or 'write', 'c' or 'copyonwrite'"
    )]
    Mode {
        /// The name that was given.
        found: String,
    },

    /// Opening in mode `w+` lacks a dtype and a shape.
    #[error("mode 'w+' creates an array and needs its dtype and shape: use `MappedArray::create`")]
    CreateMode,

    /// An argument that is never valid, or not with the others.
    #[error("{found}: expected {expected}")]
    Argument {
        /// What was given.
        found: String,
        /// What would be accepted.
        expected: String,
    },

    /// Rows are added to whole `.npy` files only.
    #[error(
        "rows can only be added to a file that is a single `.npy`: leave out `offset` and `raw`"
    )]
    Placed,

    /// The array is of no file that has a path.
    #[error("the array was not opened by path: open it by path to {wanted}")]
    NoPath {
        /// What takes a path.
        wanted: &'static str,
    },

    /// Something was to be written to a file, and there is none.
    #[error(
        "changes to this array are not written to a file: store through `view_mut`, or open it with `open_mut`"
    )]
    NoFile,

    /// Elements were to be written through a descriptor that only appends.
    #[error(
        "the file was opened with `O_APPEND`, which only writes at its end: open it without `O_APPEND`, or store through `view_mut`"
    )]
    Appends,
}

impl RequestError {
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            RequestError::Mode { .. }
            | RequestError::Argument { .. }
            | RequestError::CreateMode
            | RequestError::Placed
            | RequestError::NoPath { .. }
            | RequestError::NoFile
            | RequestError::Appends => ErrorKind::InvalidInput,
        }
    }
}
