//! What sort of failure an error is.

/// What sort of failure an [`Error`](super::Error) is: each error is of
/// exactly one kind.
///
/// # Examples
///
/// ```
/// use npymap::{ErrorKind, read_npy};
///
/// let steps = match read_npy::<f32, npymap::ndarray::Ix1>("steps.npy") {
///     Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
///     other => other?.to_vec(),
/// };
/// assert!(steps.is_empty());
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file, the member of an archive or the field of a record that was
    /// asked for does not exist.
    NotFound,
    /// A file of this name exists, and replacing it was not asked for.
    AlreadyExists,
    /// The operating system, or a reader or writer that was passed in,
    /// refused: [`io_error`](super::Error::io_error) has its error.
    Io,
    /// The bytes end before the header or the last element does: the file was
    /// truncated, or is still being written.
    Truncated,
    /// The file's contents are not in the format they should have, or
    /// contradict each other.
    Damaged,
    /// The contents may be valid, but this crate, this build of it or the
    /// operating system cannot use them as asked: Python objects, encrypted
    /// members, a directory in place of a file.
    Unsupported,
    /// A limit on what is read into memory was reached.
    LimitExceeded,
    /// Something else changed or replaced the file after it was opened.
    Changed,
    /// Others hold a lock on the file: see [`Locking`](crate::source::Locking).
    Locked,
    /// The elements are not of the type asked for, or cannot be used as that
    /// type in place.
    WrongDType,
    /// The array's number of axes, lengths or order do not allow what was
    /// asked.
    WrongShape,
    /// An index, a range or an axis that is outside the shape.
    OutOfBounds,
    /// An argument is not valid whatever the file holds, or the call is not
    /// possible for this array.
    InvalidInput,
    /// A value, or a text that stands for one, does not fit the elements.
    InvalidValue,
    /// None of these: an error of a caller's own closure, reader or
    /// [`Element`](crate::Element).
    Other,
}
