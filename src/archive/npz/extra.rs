//! Extra fields of members: the sizes and offsets of more than 32 bits.

use super::records::IN_ZIP64;

/// The header ID of the zip64 extra field.
const ZIP64: [u8; 2] = [1, 0];

/// The numbers of a header that may be in its zip64 extra field, in the order
/// they have there.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizeFields<const N: usize>(pub(super) [u32; N]);

impl<const N: usize> SizeFields<N> {
    /// The numbers in 64 bits, or what is wrong with the extra fields.
    ///
    /// The zip64 field must hold exactly the numbers that the header leaves to
    /// it; or all of them, as some writers store it, provided that both
    /// readings come to the same.
    pub(super) fn resolve(self, extra: &[u8]) -> Result<[u64; N], &'static str> {
        let SizeFields(short) = self;
        let own = short.map(u64::from);
        let left_out = short.iter().filter(|&&number| number == IN_ZIP64).count();
        let Some(field) = zip64(extra)? else {
            return if left_out == 0 { Ok(own) } else { Err("lack the announced size") };
        };
        let Some(values) = words(field) else {
            return Err("have a zip64 field of the wrong length");
        };
        let mut given = values.iter();
        let mut numbers = own;
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

/// The content of the zip64 field.
fn zip64(mut extra: &[u8]) -> Result<Option<&[u8]>, &'static str> {
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

/// The numbers of a zip64 field: at most a size, a stored size and an offset,
/// and a disk number of 4 bytes that must be 0.
fn words(field: &[u8]) -> Option<Vec<u64>> {
    let words = field.chunks_exact(8);
    if field.len() > 28 || !matches!(words.remainder(), [] | [0, 0, 0, 0]) {
        return None;
    }
    Some(words.map(|word| word.try_into().map_or(0, u64::from_le_bytes)).collect())
}
