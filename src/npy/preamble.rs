//! The bytes before the header's text: magic, version and length.

use std::fmt;
use std::io::{self, Read};

use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::error::invariant::{IN_BUFFER, Invariant, READ};
use crate::error::{HeaderError, IoContext as _, Result};

pub(crate) const MAGIC: [u8; 6] = *b"\x93NUMPY";

/// The format version. Its minor number is always 0.
///
/// # Examples
///
/// ```
/// use npymap::{Header, npy::Version};
///
/// let header = Header::read(std::fs::File::open("data/penguins.npy")?)?;
/// assert_eq!(header.version, Version::V1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// 1.0: Latin-1, at most 65,535 bytes of header.
    V1,
    /// 2.0: Latin-1, at most 4 GiB.
    V2,
    /// 3.0: UTF-8, at most 4 GiB.
    V3,
}

impl Version {
    /// Returns the major number: 1, 2 or 3.
    #[must_use]
    #[inline]
    pub fn major(self) -> u8 {
        match self {
            Version::V1 => 1,
            Version::V2 => 2,
            Version::V3 => 3,
        }
    }

    /// Parses the magic and the version at the start of a buffer.
    #[inline]
    fn parse(bytes: &[u8]) -> Result<Version> {
        let start = bytes.get(..MAGIC.len()).unwrap_or(bytes);
        if start.is_empty() || !MAGIC.starts_with(start) {
            return Err(HeaderError::Magic { found: start.to_vec() }.into());
        }
        let Ok((wire, _)) = Magic::ref_from_prefix(bytes) else {
            return Err(HeaderError::Eof {
                what: "magic and version",
                needed: 8,
                found: bytes.len(),
            }
            .into());
        };
        match (wire.major, wire.minor) {
            (1, 0) => Ok(Version::V1),
            (2, 0) => Ok(Version::V2),
            (3, 0) => Ok(Version::V3),
            (major, minor) => Err(HeaderError::Version { major, minor }.into()),
        }
    }

    /// The number of bytes before the header's text: 10 in version 1.0, else
    /// 12.
    #[inline]
    pub(super) fn text_offset(self) -> usize {
        if self == Version::V1 { size_of::<WireV1>() } else { size_of::<WireV2>() }
    }
}

impl fmt::Display for Version {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.0", self.major())
    }
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Magic {
    signature: [u8; 6],
    major: u8,
    minor: u8,
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct WireV1 {
    magic: Magic,
    header_len: U16,
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct WireV2 {
    magic: Magic,
    header_len: U32,
}

/// The version and the header length, which precede the header's text.
///
/// # Examples
///
/// ```
/// use npymap::npy::{HeaderText, MAX_HEADER_LEN, Version};
///
/// let file = std::fs::read("data/penguins.npy")?;
/// let preamble = HeaderText::parse(&file, MAX_HEADER_LEN)?.preamble();
/// assert_eq!((preamble.version(), preamble.data_offset()), (Version::V1, 128));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preamble {
    version: Version,
    /// The length of the header's text in bytes, padding included.
    pub(super) header_len: u32,
}

impl Preamble {
    /// Reads the first 10 or 12 bytes of a file.
    pub(super) fn read(mut from: impl Read) -> Result<Preamble> {
        let mut bytes = [0; size_of::<WireV2>()];
        let (start, _) = bytes.split_at_mut(size_of::<Magic>());
        let mut filled = fill(&mut from, start).context("read the header")?;
        let version = Version::parse(bytes.get(..filled).invariant(READ))?;
        let rest = bytes.get_mut(filled..version.text_offset()).invariant(IN_BUFFER);
        filled += fill(&mut from, rest).context("read the header")?;
        Preamble::parse(bytes.get(..filled).invariant(READ))
    }

    /// Parses the start of a buffer.
    #[inline]
    pub(crate) fn parse(bytes: &[u8]) -> Result<Preamble> {
        let version = Version::parse(bytes)?;
        let header_len = match version {
            Version::V1 => {
                WireV1::ref_from_prefix(bytes).ok().map(|(wire, _)| u32::from(wire.header_len))
            }
            Version::V2 | Version::V3 => {
                WireV2::ref_from_prefix(bytes).ok().map(|(wire, _)| wire.header_len.get())
            }
        };
        match header_len {
            Some(header_len) => Ok(Preamble { version, header_len }),
            None => Err(HeaderError::Eof {
                what: "header length",
                needed: version.text_offset(),
                found: bytes.len(),
            }
            .into()),
        }
    }

    /// Returns the version of the format.
    #[must_use]
    #[inline]
    pub fn version(self) -> Version {
        self.version
    }

    /// Returns the offset of the first element, where the header ends.
    #[must_use]
    #[inline]
    pub fn data_offset(self) -> u64 {
        u64::from(self.header_len) + if self.version == Version::V1 { 10 } else { 12 }
    }

    /// True if the header has more than `max_len` characters however its bytes
    /// are decoded.
    #[inline]
    pub(crate) fn exceeds(self, max_len: usize) -> bool {
        let max_bytes_per_char = if self.version == Version::V3 { 4 } else { 1 };
        usize::try_from(self.header_len)
            .map_or(true, |len| len.div_ceil(max_bytes_per_char) > max_len)
    }
}

/// Reads until `buffer` is full or the reader ends, retrying interrupted reads.
pub(crate) fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            // A faulty reader may report more bytes than the buffer holds.
            Ok(n) => filled += n.min(rest.len()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
