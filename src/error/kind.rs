//! Error kinds.

/// The category of an [`Error`](super::Error). Each error has exactly one
/// kind.
///
/// # Examples
///
/// ```
/// use npymap::{ErrorKind, OpenOptions};
///
/// let steps = match OpenOptions::new().read_ndarray::<f32, npymap::ndarray::Ix1>("steps.npy") {
///     Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
///     other => other?.to_vec(),
/// };
/// assert!(steps.is_empty());
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The requested file, archive member or record field does not exist.
    NotFound,
    /// A file of this name exists, and replacing it was not allowed.
    AlreadyExists,
    /// The operating system, or a reader or writer passed in, failed: see
    /// [`io_error`](super::Error::io_error).
    Io,
    /// The bytes end before the end of the header or of the last element: the
    /// file was truncated, or is still being written.
    Truncated,
    /// The contents of the file violate its format or contradict each other.
    Corrupt,
    /// The contents may be valid, but this crate, its enabled features or the
    /// operating system do not support them: Python objects, encrypted members,
    /// a directory instead of a file.
    Unsupported,
    /// A limit on what is read into memory was reached.
    LimitExceeded,
    /// Something else changed or replaced the file after it was opened.
    Changed,
    /// The file is locked: see [`Locking`](crate::source::Locking).
    Locked,
    /// The elements do not have the requested type, or cannot be borrowed as
    /// that type in place.
    DTypeMismatch,
    /// The number of axes, their lengths or their order do not fit the
    /// request.
    ShapeMismatch,
    /// An index, a range or an axis is outside the shape.
    OutOfBounds,
    /// An argument is invalid regardless of the file, or the call is not
    /// possible for this array.
    InvalidInput,
    /// A value or its text representation does not fit the elements.
    InvalidValue,
    /// Any other error, such as one from a closure, reader or
    /// [`Element`](crate::Element) implementation of the caller.
    Other,
}
