//! What sort of failure each error is.

use super::ErrorKind;

/// What sort of failure an [`Error`](super::Error) is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// The operating system refused to open, read or write the file.
    Io,
    /// The operating system refused to map, flush or unmap memory.
    Map,
    /// The file's contents are no array this crate can use.
    Format,
    /// The call asked for something the array or the format can't give.
    Use,
}

impl ErrorKind {
    /// What sort of failure it is.
    #[must_use]
    pub fn category(&self) -> Category {
        use ErrorKind as E;
        match self {
            E::Io { .. } => Category::Io,
            E::Map { .. } => Category::Map,
            E::Magic { .. }
            | E::Version { .. }
            | E::Eof { .. }
            | E::HeaderLimit { .. }
            | E::Utf8 { .. }
            | E::Syntax { .. }
            | E::Keys { .. }
            | E::Header { .. }
            | E::DType { .. }
            | E::Object { .. }
            | E::Axes { .. }
            | E::Size { .. }
            | E::Unbacked { .. }
            | E::Archive { .. }
            | E::Checksum { .. }
            | E::Inflated { .. }
            | E::Empty
            | E::Remainder { .. }
            | E::Replaced
            | E::Trailing { .. }
            | E::Follows { .. }
            | E::Changed { .. }
            | E::ShortFile { .. } => Category::Format,
            E::NotRegular { .. }
            | E::Encode { .. }
            | E::Fit { .. }
            | E::Record { .. }
            | E::ByteOrder { .. }
            | E::Alignment { .. }
            | E::Rank { .. }
            | E::NotContiguous { .. }
            | E::ShortBuffer { .. }
            | E::Mode { .. }
            | E::Index { .. }
            | E::Element { .. }
            | E::Strides { .. }
            | E::Interleaved { .. }
            | E::Length { .. }
            | E::Value { .. }
            | E::Notation { .. }
            | E::Cast { .. }
            | E::Reinterpret { .. }
            | E::Axis { .. }
            | E::Permutation { .. }
            | E::Reshape { .. }
            | E::Broadcast { .. }
            | E::NoMember { .. }
            | E::CreateMode
            | E::Exists
            | E::NoPath { .. }
            | E::Placed
            | E::NoFile
            | E::Appends
            | E::NoRows
            | E::Rows { .. }
            | E::NotImmutable => Category::Use,
        }
    }
}
