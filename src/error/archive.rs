//! Errors about archives and their members.

use super::{Error, ErrorKind};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    /// The archive or one of its members cannot be used.
    #[error("{found}: {expected}")]
    Refused { kind: ErrorKind, found: String, expected: &'static str },

    /// The bytes of a member do not match its checksum.
    #[cfg(feature = "npz")]
    #[error(
        "the CRC-32 is {found:08x}, but the archive records {expected:08x}: the member is damaged"
    )]
    Checksum { found: u32, expected: u32 },

    /// A compressed member needs more memory than is allowed.
    #[cfg(feature = "npz")]
    #[error(
        "needs {size} bytes of memory, but the limit is {limit}: raise it with `max_inflated` if you trust the file"
    )]
    Inflated { size: u64, limit: u64 },

    /// An archive has no member of this name.
    #[error("no member `{asked}`: {members}")]
    NoMember { asked: String, members: String },
}

impl ArchiveError {
    /// The archive's bytes contradict the format or each other.
    pub(crate) fn damaged(found: impl Into<String>, expected: &'static str) -> Error {
        ArchiveError::with_kind(ErrorKind::Corrupt, found, expected)
    }

    /// The archive ends too early.
    pub(crate) fn truncated(found: impl Into<String>, expected: &'static str) -> Error {
        ArchiveError::with_kind(ErrorKind::Truncated, found, expected)
    }

    /// The archive uses an unimplemented feature of its format.
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

    #[inline]
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            ArchiveError::Refused { kind, .. } => *kind,
            #[cfg(feature = "npz")]
            ArchiveError::Checksum { .. } => ErrorKind::Corrupt,
            #[cfg(feature = "npz")]
            ArchiveError::Inflated { .. } => ErrorKind::LimitExceeded,
            ArchiveError::NoMember { .. } => ErrorKind::NotFound,
        }
    }
}
