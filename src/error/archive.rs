//! Archives and their members.

use super::{Error, ErrorKind};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    /// The archive or a member of it is refused, for a reason of this kind.
    #[error("{found}: {expected}")]
    Refused {
        /// Damaged, not supported, misuse, …
        kind: ErrorKind,
        /// What is there.
        found: String,
        /// What was expected, or what would work.
        expected: &'static str,
    },

    /// The bytes of a member of an archive are not those that were stored.
    #[cfg(feature = "npz")]
    #[error(
        "the CRC-32 is {found:08x}, but the archive records {expected:08x}: the member is damaged"
    )]
    Checksum {
        /// What the bytes give.
        found: u32,
        /// What the archive says.
        expected: u32,
    },

    /// A compressed member needs more memory than is allowed.
    #[cfg(feature = "npz")]
    #[error(
        "needs {size} bytes of memory, but the limit is {limit}: raise it with `max_inflated` if you trust the file"
    )]
    Inflated {
        /// Its size in bytes.
        size: u64,
        /// The limit in force, in bytes.
        limit: u64,
    },

    /// An archive has no member of this name.
    #[error("no member `{asked}`: {members}")]
    NoMember {
        /// The name asked for.
        asked: String,
        /// The members there are.
        members: String,
    },
}

impl ArchiveError {
    /// The archive's bytes contradict the format or each other.
    pub(crate) fn damaged(found: impl Into<String>, expected: &'static str) -> Error {
        ArchiveError::with_kind(ErrorKind::Damaged, found, expected)
    }

    /// The archive ends too early.
    pub(crate) fn truncated(found: impl Into<String>, expected: &'static str) -> Error {
        ArchiveError::with_kind(ErrorKind::Truncated, found, expected)
    }

    /// The archive uses something of its format that is not implemented.
    pub(crate) fn unsupported(found: impl Into<String>, expected: &'static str) -> Error {
        ArchiveError::with_kind(ErrorKind::Unsupported, found, expected)
    }

    /// The caller asked for something the archive or its format cannot give.
    pub(crate) fn misuse(found: impl Into<String>, expected: &'static str) -> Error {
        ArchiveError::with_kind(ErrorKind::InvalidInput, found, expected)
    }

    pub(crate) fn with_kind(
        kind: ErrorKind,
        found: impl Into<String>,
        expected: &'static str,
    ) -> Error {
        ArchiveError::Refused { kind, found: found.into(), expected }.into()
    }

    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            ArchiveError::Refused { kind, .. } => *kind,
            #[cfg(feature = "npz")]
            ArchiveError::Checksum { .. } => ErrorKind::Damaged,
            #[cfg(feature = "npz")]
            ArchiveError::Inflated { .. } => ErrorKind::LimitExceeded,
            ArchiveError::NoMember { .. } => ErrorKind::NotFound,
        }
    }
}
