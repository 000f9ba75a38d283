//! Dtypes that are not valid, types that do not match them, values that do
//! not fit.

use super::ErrorKind;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DTypeError {
    /// A dtype description that NumPy doesn't have, or that no file can hold.
    #[error("dtype `{descr}`: {reason}")]
    Invalid {
        /// The part of the description that is refused.
        descr: String,
        /// Why, and what would be accepted.
        reason: String,
    },

    /// A field that is not there.
    #[error("dtype `{descr}`: {reason}")]
    NoField {
        /// The dtype it was looked for in.
        descr: String,
        /// The name asked for, and the names there are.
        reason: String,
    },

    /// The array holds Python objects.
    #[error(
        "dtype '{descr}' holds Python objects, which are pickled and cannot be mapped: load the array with numpy.load(allow_pickle=True) and save it with a fixed-size dtype"
    )]
    Object {
        /// The type string.
        descr: String,
    },

    /// Elements of this dtype aren't what the asked type stands for.
    #[error("stored as {stored}, asked for `{asked}`: use `{works}`")]
    Fit {
        /// The dtype, as its descr.
        stored: String,
        /// The Rust type that was asked for.
        asked: String,
        /// A Rust type that works.
        works: String,
    },

    /// A field of the elements isn't what a record has for it.
    #[error("record `{record}`, field `{field}`: {reason}")]
    Record {
        /// The Rust type that was asked for.
        record: &'static str,
        /// The first field that differs.
        field: String,
        /// How it differs, and what would work.
        reason: String,
    },

    /// Numbers are stored in another byte order than the asked type's.
    #[error(
        "stored as {stored}, asked for `{asked}` in place: use `{works}`, or `view::<{asked}>()`"
    )]
    ByteOrder {
        /// The dtype, as its descr.
        stored: String,
        /// The Rust type that was asked for.
        asked: String,
        /// A Rust type that works in place.
        works: String,
    },

    /// The first element lies at an address the asked type can't have.
    #[error(
        "elements are not aligned to {align} bytes, asked for `{asked}` in place: use `{works}`"
    )]
    Alignment {
        /// The alignment the asked type needs, in bytes.
        align: usize,
        /// The Rust type that was asked for.
        asked: String,
        /// A Rust type that works.
        works: String,
    },

    /// A cast that isn't allowed, or that isn't there.
    #[error("cannot cast {from} to {to} with casting `{casting}`: {works}")]
    Cast {
        /// The dtype there is.
        from: String,
        /// The dtype asked for.
        to: String,
        /// What was allowed.
        casting: String,
        /// What would work.
        works: String,
    },

    /// The bytes of elements can't be elements of another dtype where they
    /// lie.
    #[error("elements of {from} cannot be viewed as {to} in place: {reason}")]
    Reinterpret {
        /// The dtype there is.
        from: String,
        /// The dtype asked for.
        to: String,
        /// Why not.
        reason: String,
    },

    /// A value that does not fit an element.
    #[error("{value}: expected {expected}")]
    Value {
        /// The value.
        value: String,
        /// What would fit.
        expected: String,
    },

    /// Stored numbers that contradict each other or the elements.
    #[error("{value}: expected {expected}")]
    Stored {
        /// What is stored.
        value: String,
        /// What would be consistent.
        expected: String,
    },
}

impl DTypeError {
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            DTypeError::Invalid { .. } => ErrorKind::InvalidInput,
            DTypeError::Value { .. } => ErrorKind::InvalidValue,
            DTypeError::NoField { .. } => ErrorKind::NotFound,
            DTypeError::Object { .. } => ErrorKind::Unsupported,
            DTypeError::Stored { .. } => ErrorKind::Damaged,
            DTypeError::Fit { .. }
            | DTypeError::Record { .. }
            | DTypeError::ByteOrder { .. }
            | DTypeError::Alignment { .. }
            | DTypeError::Cast { .. }
            | DTypeError::Reinterpret { .. } => ErrorKind::WrongDType,
        }
    }
}
