//! Errors about invalid dtypes, types that do not match them, and values that
//! do not fit.

use super::ErrorKind;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DTypeError {
    /// A dtype description that NumPy rejects, or that no file can hold.
    #[error("dtype `{descr}`: {reason}")]
    Invalid { descr: String, reason: String },

    /// A field that does not exist.
    #[error("dtype `{descr}`: {reason}")]
    NoField { descr: String, reason: String },

    /// The array holds Python objects.
    #[error(
        "dtype '{descr}' holds Python objects, which are pickled and cannot be mapped: load the array with numpy.load(allow_pickle=True) and save it with a fixed-size dtype"
    )]
    Object { descr: String },

    /// The requested type does not represent elements of this dtype.
    #[error("stored as {stored}, asked for `{asked}`: use `{works}`")]
    Fit { stored: String, asked: String, works: String },

    /// A field of the elements does not match the record's.
    #[error("record `{record}`, field `{field}`: {reason}")]
    Record { record: &'static str, field: String, reason: String },

    /// The byte order of the numbers differs from the requested type's.
    #[error(
        "stored as {stored}, asked for `{asked}` in place: use `{works}`, or `view::<{asked}>()`"
    )]
    ByteOrder { stored: String, asked: String, works: String },

    /// The address of the first element is not aligned for the requested type.
    #[error(
        "elements are not aligned to {align} bytes, asked for `{asked}` in place: use `{works}`, or `view::<{asked}>()`"
    )]
    Alignment { align: usize, asked: String, works: String },

    /// A cast not allowed or not supported.
    #[error("cannot cast {from} to {to} with casting `{casting}`: {works}")]
    Cast { from: String, to: String, casting: String, works: String },

    /// Rows for a file whose elements have a different dtype.
    #[error("the file has elements of {stored}, asked for rows of {asked}")]
    Rows { stored: String, asked: String },

    /// The bytes of the elements cannot be viewed as a different dtype in
    /// place.
    #[error("elements of {from} cannot be viewed as {to} in place: {reason}")]
    Reinterpret { from: String, to: String, reason: String },

    /// A value that does not fit an element.
    #[error("{value}: expected {expected}")]
    Value { value: String, expected: String },

    /// Stored numbers that contradict each other or the elements.
    #[error("{value}: expected {expected}")]
    Stored { value: String, expected: String },
}

impl DTypeError {
    #[inline]
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            DTypeError::Invalid { .. } => ErrorKind::InvalidInput,
            DTypeError::Value { .. } => ErrorKind::InvalidValue,
            DTypeError::NoField { .. } => ErrorKind::NotFound,
            DTypeError::Object { .. } => ErrorKind::Unsupported,
            DTypeError::Stored { .. } => ErrorKind::Corrupt,
            DTypeError::Fit { .. }
            | DTypeError::Record { .. }
            | DTypeError::ByteOrder { .. }
            | DTypeError::Alignment { .. }
            | DTypeError::Cast { .. }
            | DTypeError::Rows { .. }
            | DTypeError::Reinterpret { .. } => ErrorKind::DTypeMismatch,
        }
    }
}
