//! The zip64 extra field of a member, for sizes and offsets that do not fit in
//! 32 bits.

use super::records::IN_ZIP64;

/// The header ID of the zip64 extra field.
const ZIP64: [u8; 2] = [1, 0];

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
    pub(super) fn resolve(self, extra: &[u8]) -> Result<[u64; N], &'static str> {
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
        if values.len() == left_out || repeats {
            Ok(numbers)
        } else {
            Err("have a zip64 field that contradicts the header")
        }
    }
}

/// Returns the content of the zip64 field, if there is one.
fn find_zip64(mut extra: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    let mut found = None;
    // Up to three bytes of padding may follow the last field.
    while let Some((id, rest)) = extra.split_first_chunk::<2>() {
        let Some((len, rest)) = rest.split_first_chunk::<2>() else { break };
        let len = usize::from(u16::from_le_bytes(*len));
        let Some((field, rest)) = rest.split_at_checked(len) else {
            return Err("have a field that exceeds their length");
        };
        if *id == ZIP64 && found.replace(field).is_some() {
            return Err("have two zip64 fields");
        }
        extra = rest;
    }
    Ok(found)
}

/// Parses a zip64 field: at most a size, a stored size and an offset, and a disk
/// number of 4 bytes that must be 0.
fn parse_zip64(field: &[u8]) -> Option<Vec<u64>> {
    let words = field.chunks_exact(8);
    if field.len() > 28 || !matches!(words.remainder(), [] | [0, 0, 0, 0]) {
        return None;
    }
    Some(words.map(|word| word.try_into().map_or(0, u64::from_le_bytes)).collect())
}
