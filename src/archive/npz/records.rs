//! The records of a zip archive, byte for byte (APPNOTE.TXT 4.3).

use std::io;

use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::invariant::to_u64;
use crate::source::storage::Storage;

/// The value of a 32-bit field if the actual value is in a zip64 record.
pub(super) const IN_ZIP64: u32 = u32::MAX;

/// The value of a 16-bit field if the actual value is in a zip64 record.
pub(super) const IN_ZIP64_SHORT: u16 = u16::MAX;

/// The signature that most writers put before a data descriptor.
pub(super) const DESCRIPTOR_SIGNATURE: [u8; 4] = *b"PK\x07\x08";

/// The longest data descriptor: a signature, a CRC-32 and two sizes of 64 bits.
pub(super) const DESCRIPTOR_LEN: usize = 24;

/// A compression method (APPNOTE.TXT 4.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Method(pub(super) u16);

impl Method {
    pub(super) const STORED: Method = Method(0);
    pub(super) const DEFLATED: Method = Method(8);

    /// The name of a method that is in use.
    #[inline]
    pub(super) fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "STORED",
            8 => "DEFLATED",
            9 => "DEFLATE64",
            12 => "BZIP2",
            14 => "LZMA",
            93 => "ZSTD",
            95 => "XZ",
            98 => "PPMD",
            _ => return None,
        })
    }
}

/// Declares records: the bytes of each start with its signature.
macro_rules! records {
    ($($(#[$doc:meta])* $Record:ident $signature:literal { $($field:ident: $Type:ty),* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned)]
        #[repr(C)]
        pub(super) struct $Record {
            pub(super) signature: [u8; 4],
            $(pub(super) $field: $Type,)*
        }

        impl $Record {
            pub(super) const SIGNATURE: [u8; 4] = *$signature;

            /// A record whose other fields are 0.
            #[inline]
            pub(super) fn new() -> $Record {
                $Record { signature: $Record::SIGNATURE, ..FromZeros::new_zeroed() }
            }
        }
    )*};
}

records! {
    /// The end of central directory record.
    EndRecord b"PK\x05\x06" {
        disk: U16, directory_disk: U16, entries_on_disk: U16, entries: U16,
        directory_size: U32, directory_offset: U32, comment_len: U16
    }

    /// The zip64 end of central directory locator.
    Zip64Locator b"PK\x06\x07" { disk: U32, offset: U64, disks: U32 }

    /// The zip64 end of central directory record. `size` counts the bytes after it.
    Zip64EndRecord b"PK\x06\x06" {
        size: U64, version_made_by: U16, version_needed: U16, disk: U32, directory_disk: U32,
        entries_on_disk: U64, entries: U64, directory_size: U64, directory_offset: U64
    }

    /// A file header in the central directory.
    CentralHeader b"PK\x01\x02" {
        version_made_by: U16, version_needed: u8, system_needed: u8, flags: U16, method: U16,
        time: U32, crc32: U32, stored: U32, size: U32, name_len: U16, extra_len: U16,
        comment_len: U16, disk: U16, internal_attributes: U16, external_attributes: U32, offset: U32
    }

    /// A local file header.
    LocalHeader b"PK\x03\x04" {
        version_needed: U16, flags: U16, method: U16, time: U32, crc32: U32, stored: U32,
        size: U32, name_len: U16, extra_len: U16
    }
}

impl Zip64EndRecord {
    /// The value of `size` without an extensible data sector.
    pub(super) const SIZE: u64 = 44;
}

impl CentralHeader {
    /// The type and the permissions of a file archived on Unix or macOS.
    #[inline]
    pub(super) fn mode(&self) -> Option<u32> {
        let is_unix = matches!(self.version_made_by.get() >> 8, 3 | 19);
        is_unix.then(|| self.external_attributes.get() >> 16)
    }
}

/// The general purpose bit flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags(pub(super) u16);

impl Flags {
    const ENCRYPTED: u16 = 1;
    /// A data descriptor (sizes and CRC-32) follows the member's bytes.
    pub(super) const DESCRIPTOR: u16 = 1 << 3;
    pub(super) const PATCHED: u16 = 1 << 5;
    const STRONGLY_ENCRYPTED: u16 = 1 << 6;
    pub(super) const UTF8: u16 = 1 << 11;
    const MASKED: u16 = 1 << 13;
    pub(super) const ALL_ENCRYPTED: u16 =
        Flags::ENCRYPTED | Flags::STRONGLY_ENCRYPTED | Flags::MASKED;

    /// The flags of a member to write.
    #[inline]
    pub(super) fn of_new_member(is_utf8: bool, has_descriptor: bool) -> Flags {
        let utf8 = if is_utf8 { Flags::UTF8 } else { 0 };
        Flags(utf8 | if has_descriptor { Flags::DESCRIPTOR } else { 0 })
    }

    /// The flags that decide how a member's bytes are read.
    #[inline]
    pub(super) fn reading(self) -> u16 {
        let Flags(bits) = self;
        bits & (Flags::DESCRIPTOR | Flags::PATCHED | Flags::ALL_ENCRYPTED)
    }

    /// Returns whether one of these flags is set.
    #[inline]
    pub(super) fn has(self, flags: u16) -> bool {
        self.0 & flags != 0
    }
}

/// Reads the record at `offset`. Returns `None` when the archive ends inside
/// it.
pub(super) fn read<T: FromBytes + IntoBytes>(
    source: &Storage,
    offset: u64,
) -> io::Result<Option<T>> {
    let mut record = T::new_zeroed();
    let found = source.read_at(record.as_mut_bytes(), offset)?;
    Ok((found == size_of::<T>()).then_some(record))
}

/// The CRC-32 in a data descriptor, which must have these sizes in 32 or 64 bits, and the
/// bytes after it. Its signature is optional.
pub(super) fn split_descriptor(bytes: &[u8], stored: u64, size: u64) -> Option<(u32, &[u8])> {
    let fields = bytes.strip_prefix(&DESCRIPTOR_SIGNATURE).unwrap_or(bytes);
    let (crc32, sizes) = fields.split_first_chunk::<4>()?;
    let long = [stored.to_le_bytes(), size.to_le_bytes()].concat();
    let rest = if let Some(rest) = sizes.strip_prefix(&*long) {
        rest
    } else {
        let [stored, size] = [u32::try_from(stored).ok()?, u32::try_from(size).ok()?];
        sizes.strip_prefix(&*[stored.to_le_bytes(), size.to_le_bytes()].concat())?
    };
    Some((u32::from_le_bytes(*crc32), rest))
}

/// The length of a record as an offset.
pub(super) fn len_of<T>() -> u64 {
    to_u64(size_of::<T>())
}
