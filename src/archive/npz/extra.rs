//! The extra fields of a member: zip64, for sizes and offsets that do not fit in
//! 32 bits, and Unicode paths.

use super::records::IN_ZIP64;

/// The header ID of the zip64 extra field.
const ZIP64: [u8; 2] = [1, 0];

/// The header ID of Info-ZIP's Unicode path extra field (APPNOTE.TXT 4.6.9).
const UNICODE_PATH: [u8; 2] = [0x75, 0x70];

/// The sizes and the offset in a header that may instead be in its zip64 extra
/// field, in the order of that field.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizeFields<const N: usize>(pub(super) [u32; N]);

impl<const N: usize> SizeFields<N> {
    /// Returns the values in 64 bits. The error describes the problem with the
    /// extra fields.
    ///
    /// The zip64 field must contain exactly the values that the header leaves to
    /// it, or else, as some writers store it, all of them, provided that both
    /// interpretations give the same values.
    ///
    /// Some writers reserve a field that is then not needed. They leave in it zeros
    /// (minizip, Rust's zip), numbers with all bits set (Rust's zip), or what they knew at
    /// the start of the member, its size and its offset (miniz): `is_own` says whether a
    /// number is one of the latter.
    pub(super) fn resolve(
        self,
        extra: &[u8],
        is_own: impl Fn(u64) -> bool,
    ) -> Result<[u64; N], &'static str> {
        let SizeFields(short) = self;
        let in_header = short.map(u64::from);
        let left_out = short.iter().filter(|&&number| number == IN_ZIP64).count();
        let Some(field) = find_zip64(extra)? else {
            return if left_out == 0 { Ok(in_header) } else { Err("lack the announced size") };
        };
        let Some(values) = parse_zip64(field) else {
            return Err("have a zip64 field of the wrong length");
        };
        let mut given = values.iter();
        let mut numbers = in_header;
        for (number, short) in numbers.iter_mut().zip(short) {
            if short == IN_ZIP64 {
                *number = *given.next().ok_or("lack the announced size")?;
            }
        }
        let repeats = numbers.starts_with(&values);
        let is_reserved = || {
            let mut values = values.iter();
            left_out == 0 && values.all(|&value| [0, u64::MAX].contains(&value) || is_own(value))
        };
        if values.len() == left_out || repeats || is_reserved() {
            Ok(numbers)
        } else {
            Err("have a zip64 field that contradicts the header")
        }
    }
}

/// Returns the content of the zip64 field, if there is one.
#[inline]
fn find_zip64(extra: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    let mut found = None;
    for field in (Fields { extra }) {
        let (id, content) = field?;
        if id == ZIP64 && found.replace(content).is_some() {
            return Err("have two zip64 fields");
        }
    }
    Ok(found)
}

/// The extra fields of a header: their IDs and contents.
struct Fields<'a> {
    extra: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<([u8; 2], &'a [u8]), &'static str>;

    /// Up to three bytes of padding may follow the last field.
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (id, rest) = self.extra.split_first_chunk::<2>()?;
        let (len, rest) = rest.split_first_chunk::<2>()?;
        let Some((content, rest)) = rest.split_at_checked(u16::from_le_bytes(*len).into()) else {
            self.extra = &[];
            return Some(Err("have a field that exceeds their length"));
        };
        self.extra = rest;
        Some(Ok((*id, content)))
    }
}

/// Checks that no Unicode path field gives a member, with the name `raw_name`
/// in the header and `name` decoded, a different name. Newer releases of
/// Python's `zipfile` and Info-ZIP use that name, and older programs do not.
#[inline]
pub(super) fn check_name(extra: &[u8], raw_name: &[u8], name: &str) -> Result<(), &'static str> {
    for field in (Fields { extra }) {
        let (id, content) = field?;
        if id != UNICODE_PATH {
            continue;
        }
        let Some(([version, crc32 @ ..], path)) = content.split_first_chunk::<5>() else {
            return Err("have a Unicode path field of the wrong length");
        };
        // A field of another version, or about another name, is ignored by all.
        let is_used = *version == 1 && u32::from_le_bytes(*crc32) == crc32_of(raw_name);
        if is_used && path != name.as_bytes() {
            return Err("give it another name");
        }
    }
    Ok(())
}

#[inline]
fn crc32_of(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Parses a zip64 field: at most a size, a stored size and an offset, and a disk
/// number of 4 bytes that must be 0.
#[inline]
fn parse_zip64(field: &[u8]) -> Option<Vec<u64>> {
    let words = field.chunks_exact(8);
    if field.len() > 28 || !matches!(words.remainder(), [] | [0, 0, 0, 0]) {
        return None;
    }
    Some(words.map(|word| word.try_into().map_or(0, u64::from_le_bytes)).collect())
}
