//! Errors about calls that this array or these options do not allow.

#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// `numpy.memmap` has no mode of this name.
    #[error(
        "mode '{found}', expected 'r' or 'readonly', 'r+' or 'readwrite', 'w+' or 'write', 'c' or 'copyonwrite'"
    )]
    Mode { found: String },

    /// A file was opened in mode `w+` without a dtype and a shape.
    #[error("mode 'w+' creates an array and needs its dtype and shape: use `MappedArray::create`")]
    CreateMode,

    /// An argument that is never valid, or not with the remaining arguments.
    #[error("{found}: expected {expected}")]
    Argument { found: String, expected: String },

    /// A call of a function where a different function is needed.
    #[error("{found}: expected {expected}")]
    Call { found: &'static str, expected: &'static str },

    /// Rows can only be appended to whole `.npy` files.
    #[error(
        "rows can only be added to a file that is a single `.npy`: leave out `offset` and `raw`"
    )]
    Placed,

    /// The array does not know the path of its file.
    #[error("the array was not opened by path: open it by path to {operation}")]
    NoPath { operation: &'static str },

    /// Elements were to be written to a file, but the array has none.
    #[error(
        "changes to this array are not written to a file: store through `view_mut`, or open it with `open_mut`"
    )]
    NoFile,

    /// Elements were to be written through a descriptor that can only append.
    #[error(
        "the file was opened with `O_APPEND`, which only writes at its end: open it without `O_APPEND`, or store through `view_mut`"
    )]
    Appends,

    /// Batches that threads of the parent process read.
    #[error("these batches were started before the fork: start new ones in the child process")]
    Forked,
}
