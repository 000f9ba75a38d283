//! Arrays of plain numbers, which are sorted as keys alone: a key tells its number.

use npymap::dtype::Kind;
use npymap::{ByteOrder, DType, Result};

use crate::input::lengths::{part, to_u64};
use crate::input::memory;
use crate::sort::blocks::Blocks;
use crate::sort::radix::{self, CHUNK, Radix};

/// The memory of a key, in bytes.
pub(super) const KEY: usize = size_of::<u64>();

/// Sorted pieces that are in memory, at most.
const PIECES: usize = 256;

const SIGN: u64 = 1 << 63;

/// How numbers of at most 8 bytes are stored. Their bits are used from the sign on, as the
/// first of 64.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberFormat {
    size: usize,
    is_big: bool,
    /// The bits that numbers have.
    mask: u64,
    /// What a key inverts: in all numbers, and also in negative ones.
    inverted: u64,
    if_negative: u64,
    /// What is subtracted, so that the least number, `NaT`, becomes the largest.
    less: u64,
    /// What is inverted if the largest is first.
    reversed: u64,
    /// The bits of infinity.
    infinity: Option<u64>,
}

impl NumberFormat {
    /// The format of a dtype, if its elements are such numbers.
    pub(super) fn of(dtype: &DType, is_reversed: bool) -> Option<NumberFormat> {
        let format = NumberFormat::new(dtype.kind(), dtype.itemsize(), dtype.byte_order())?;
        Some(NumberFormat { reversed: if is_reversed { format.mask } else { 0 }, ..format })
    }

    /// The format of numbers of a kind and size.
    pub(super) fn new(kind: Kind, size: usize, order: ByteOrder) -> Option<NumberFormat> {
        let is_number =
            matches!(kind, Kind::Int | Kind::UInt | Kind::Float | Kind::DateTime | Kind::TimeDelta);
        if !is_number || size > KEY {
            return None;
        }
        // As many bytes as the numbers have.
        let mask = u64::MAX << (8 * (KEY - size));
        let exponent = match size {
            2 => 5,
            4 => 8,
            _ => 11,
        };
        let is_float = kind == Kind::Float;
        Some(NumberFormat {
            size,
            is_big: order == ByteOrder::Big,
            mask,
            inverted: if kind == Kind::UInt { 0 } else { SIGN },
            if_negative: if is_float { mask & !SIGN } else { 0 },
            less: matches!(kind, Kind::DateTime | Kind::TimeDelta).into(),
            reversed: 0,
            infinity: is_float.then_some(!SIGN & !(u64::MAX >> (exponent + 1))),
        })
    }

    /// Returns whether several numbers, zeros or NaN, have the key of this one.
    #[inline]
    fn is_ambiguous(self, bits: u64) -> bool {
        self.infinity.is_some_and(|infinity| (bits << 1).wrapping_sub(1) >= infinity << 1)
    }

    /// The key of a number that is not ambiguous.
    #[inline]
    fn key(self, bits: u64) -> u64 {
        let key = bits ^ self.inverted ^ (sign(bits) & self.if_negative);
        key.wrapping_sub(self.less) ^ self.reversed
    }

    /// The key of any number.
    #[inline]
    pub(super) fn any_key(self, bits: u64) -> u64 {
        match self.is_ambiguous(bits) {
            true if bits << 1 == 0 => self.key(0),
            true => self.mask ^ self.reversed,
            false => self.key(bits),
        }
    }

    /// Writes the key of a stored number, as many bytes as it has.
    pub(super) fn write_key(self, stored: &[u8], key: &mut [u8]) {
        let bytes = self.any_key(self.first(stored)).to_be_bytes();
        key.copy_from_slice(part(&bytes, 0..key.len()));
    }

    /// The number that has a key.
    #[inline]
    fn bits(self, key: u64) -> u64 {
        let bits = (key ^ self.reversed).wrapping_add(self.less) ^ self.inverted;
        bits ^ (sign(bits) & self.if_negative)
    }

    /// Calls `f` with each number.
    fn decode(self, stored: &[u8], f: &mut impl FnMut(u64)) {
        match self.size {
            1 => self.decode_all::<1>(stored, f),
            2 => self.decode_all::<2>(stored, f),
            4 => self.decode_all::<4>(stored, f),
            _ => self.decode_all::<KEY>(stored, f),
        }
    }

    #[inline]
    fn decode_all<const N: usize>(self, stored: &[u8], f: &mut impl FnMut(u64)) {
        let start = if self.is_big { 0 } else { KEY - N };
        for number in stored.as_chunks::<N>().0 {
            let mut bytes = [0; KEY];
            if let Some(used) = bytes.get_mut(start..start + N) {
                used.copy_from_slice(number);
            }
            f(if self.is_big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) });
        }
    }

    /// The first number.
    pub(super) fn first(self, stored: &[u8]) -> u64 {
        let mut first = 0;
        self.decode(stored.split_at(self.size).0, &mut |bits| first = bits);
        first
    }

    /// Appends the numbers that have some keys, as they are stored.
    fn encode(self, keys: &[u64], stored: &mut Vec<u8>) {
        match self.size {
            1 => self.encode_all::<1>(keys, stored),
            2 => self.encode_all::<2>(keys, stored),
            4 => self.encode_all::<4>(keys, stored),
            _ => self.encode_all::<KEY>(keys, stored),
        }
    }

    #[inline]
    fn encode_all<const N: usize>(self, keys: &[u64], stored: &mut Vec<u8>) {
        let start = stored.len();
        stored.resize(start + keys.len() * N, 0);
        let (numbers, _) = stored.split_at_mut(start).1.as_chunks_mut::<N>();
        for (number, &key) in numbers.iter_mut().zip(keys) {
            let bits = self.bits(key);
            let bytes = if self.is_big { bits.to_be_bytes() } else { bits.to_le_bytes() };
            let used = if self.is_big { bytes.first_chunk() } else { bytes.last_chunk() };
            *number = *used.expect("numbers have at most 8 bytes");
        }
    }

    /// The bytes of a number.
    #[inline]
    fn stored(self, bits: u64, bytes: &mut [u8; KEY]) -> &[u8] {
        *bytes = if self.is_big { bits.to_be_bytes() } else { bits.to_le_bytes() };
        let start = if self.is_big { 0 } else { KEY - self.size };
        part(bytes, start..start + self.size)
    }
}

/// All bits if a number is negative.
#[inline]
fn sign(bits: u64) -> u64 {
    (bits.cast_signed() >> 63).cast_unsigned()
}

/// Numbers in memory, and their order.
pub(super) struct Numbers {
    format: NumberFormat,
    /// Keys from the start on, and zeros and NaN, whose order must remain, from the end on.
    items: Vec<u64>,
    keys: usize,
    others: usize,
    /// How many keys are sorted together. These pieces are merged when they are written.
    piece: usize,
    radix: Radix,
}

impl Numbers {
    /// Room for this many, which are sorted in pieces.
    pub(super) fn new(format: NumberFormat, count: usize) -> Result<Numbers> {
        Numbers::in_pieces(format, count, CHUNK.max(count.div_ceil(PIECES)))
    }

    /// Room for this many, which are sorted in pieces of some length.
    pub(super) fn in_pieces(format: NumberFormat, count: usize, piece: usize) -> Result<Numbers> {
        let (items, radix) = (memory::zeros(count)?, Radix::new(piece.min(count))?);
        Ok(Numbers { format, items, keys: 0, others: 0, piece, radix })
    }

    /// Adds numbers as they are stored.
    pub(super) fn push(&mut self, stored: &[u8]) {
        let Numbers { format, ref mut items, ref mut keys, ref mut others, .. } = *self;
        let count = items.len();
        format.decode(stored, &mut |bits| {
            let (at, item) = if format.is_ambiguous(bits) {
                *others += 1;
                (count - *others, bits)
            } else {
                *keys += 1;
                (*keys - 1, format.key(bits))
            };
            if let Some(to) = items.get_mut(at) {
                *to = item;
            }
        });
    }

    /// Sorts the keys of each piece.
    pub(super) fn sort(&mut self) {
        let keys = self.items.split_at_mut(self.keys).0;
        keys.chunks_mut(self.piece).for_each(|piece| self.radix.sort(piece));
    }

    /// The keys as sorted pieces, each before and after a key.
    fn pieces(&self, key: u64) -> impl Iterator<Item = (&[u64], &[u64])> {
        let pieces = self.items.split_at(self.keys).0.chunks(self.piece);
        pieces.map(move |piece| piece.split_at(piece.partition_point(|&other| other < key)))
    }

    /// Removes all numbers.
    pub(super) fn clear(&mut self) {
        (self.keys, self.others) = (0, 0);
    }
}

/// Adds numbers of the same format to blocks, in order.
pub(super) fn write(
    format: NumberFormat,
    parts: &[Numbers],
    blocks: &mut Blocks<'_>,
) -> Result<()> {
    let zero = format.key(0);
    let (before, after) = parts.iter().flat_map(|part| part.pieces(zero)).unzip();
    let is_reversed = format.reversed != 0;
    if is_reversed {
        write_others(format, parts, blocks, false)?;
    }
    radix::merge(before, &mut |keys| write_keys(format, keys, blocks))?;
    write_others(format, parts, blocks, true)?;
    radix::merge(after, &mut |keys| write_keys(format, keys, blocks))?;
    if is_reversed { Ok(()) } else { write_others(format, parts, blocks, false) }
}

/// Writes sorted keys.
fn write_keys(format: NumberFormat, mut keys: &[u64], blocks: &mut Blocks<'_>) -> Result<()> {
    if blocks.is_counted {
        return keys.chunk_by(|a, b| a == b).try_for_each(|same| {
            let key = *same.first().expect("chunks are not empty");
            let mut bytes = [0; KEY];
            let number = format.stored(format.bits(key), &mut bytes);
            blocks.push_counted(&key.to_be_bytes(), number, to_u64(same.len()))
        });
    }
    while !keys.is_empty() {
        let room = blocks.room() / format.size;
        let (some, rest) = keys.split_at(room.clamp(1, keys.len()));
        blocks.push_all(|block| format.encode(some, block))?;
        keys = rest;
    }
    Ok(())
}

/// Writes the zeros, or the NaN.
fn write_others(
    format: NumberFormat,
    parts: &[Numbers],
    blocks: &mut Blocks<'_>,
    are_zeros: bool,
) -> Result<()> {
    let mut bytes = [0; KEY];
    for &bits in parts.iter().flat_map(|part| part.items.iter().rev().take(part.others)) {
        if (bits << 1 == 0) != are_zeros {
            continue;
        }
        let number = format.stored(bits, &mut bytes);
        if blocks.is_counted {
            blocks.push_counted(&format.any_key(bits).to_be_bytes(), number, 1)?;
        } else {
            blocks.push(number)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of a number.
    fn bits(dtype: &str, number: u64) -> u64 {
        number << (64 - 8 * dtype.parse::<DType>().unwrap().itemsize())
    }

    #[test]
    fn keys_have_the_order_of_numbers_and_tell_them() {
        let floats = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let singles =
            |numbers: &[f32]| numbers.iter().map(|x| x.to_bits().into()).collect::<Vec<_>>();
        for (dtype, numbers) in [
            ("<f8", floats(&[f64::NEG_INFINITY, -1.5, -5e-324, 5e-324, 2.0, f64::INFINITY])),
            (">f4", singles(&[f32::NEG_INFINITY, -1.5, -1e-45, 1e-45, 2.0, f32::INFINITY])),
            ("<f2", vec![0xfc00, 0xbe00, 0x8001, 1, 0x3e00, 0x7c00]),
            ("<i8", vec![1 << 63, u64::MAX, 0, 5, u64::MAX >> 1]),
            ("<i2", vec![0x8000, 0xffff, 0, 5, 0x7fff]),
            ("|u1", vec![0, 1, 0x7f, 0x80, 0xff]),
            ("<M8[s]", vec![(1 << 63) + 1, u64::MAX, 0, 5, u64::MAX >> 1, 1 << 63]),
        ] {
            let stored: Vec<u64> = numbers.iter().map(|&number| bits(dtype, number)).collect();
            for is_reversed in [false, true] {
                let format = NumberFormat::of(&dtype.parse().unwrap(), is_reversed).unwrap();
                assert!(stored.iter().all(|&bits| !format.is_ambiguous(bits)), "{dtype}");
                let mut keys: Vec<u64> = stored.iter().map(|&bits| format.key(bits)).collect();
                let mut bytes = Vec::new();
                format.encode(&keys, &mut bytes);
                let mut decoded = Vec::new();
                format.decode(&bytes, &mut |bits| decoded.push(bits));
                assert_eq!(decoded, stored, "{dtype}");
                if is_reversed {
                    keys.reverse();
                }
                assert!(keys.is_sorted_by(|a, b| a < b), "{dtype}");
            }
        }
    }

    #[test]
    fn zeros_have_one_key_and_nan_the_last() {
        for (dtype, zeros, infinity, nans) in [
            ("<f8", [0, 1 << 63], 0x7ff0 << 48, [0x7ff0_0000_0000_0001, u64::MAX]),
            ("<f4", [0, 1 << 31], 0x7f80_0000, [0x7f80_0001, 0xffc0_0000]),
            ("<f2", [0, 1 << 15], 0x7c00, [0x7c01, 0xfe00]),
        ] {
            let format = NumberFormat::of(&dtype.parse().unwrap(), false).unwrap();
            let key = |number| format.any_key(bits(dtype, number));
            assert_eq!((key(zeros[0]), key(nans[0])), (key(zeros[1]), key(nans[1])), "{dtype}");
            assert!(key(zeros[0]) < key(1) && key(infinity) < key(nans[0]), "{dtype}");
        }
    }

    #[test]
    fn zeros_and_nan_keep_their_order() {
        let mut state = 1_u64;
        let numbers: Vec<f64> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            match state >> 60 {
                0 => 0.0,
                1 => -0.0,
                2 => f64::from_bits(f64::NAN.to_bits() | state >> 40),
                3 => f64::from_bits((-f64::NAN).to_bits() | state >> 40),
                _ => f64::from(u32::try_from(state >> 40).unwrap()) - 8e6,
            }
        })
        .take(9000)
        .collect();
        for is_reversed in [false, true] {
            let format = NumberFormat::of(&"<f8".parse().unwrap(), is_reversed).unwrap();
            let parts = numbers.chunks(4000).map(|part| {
                let mut sorted = Numbers::new(format, part.len()).unwrap();
                for number in part {
                    sorted.push(&number.to_le_bytes());
                }
                sorted.sort();
                sorted
            });
            let parts: Vec<Numbers> = parts.collect();
            let mut expected: Vec<u64> = numbers.iter().map(|number| number.to_bits()).collect();
            expected.sort_by_key(|&bits| format.any_key(bits));
            let mut found = Vec::new();
            let mut visit = |block: &[u8]| {
                format.decode(block, &mut |bits| found.push(bits));
                Ok(())
            };
            let mut blocks = Blocks::new(1 << 12, false, &mut visit);
            write(format, &parts, &mut blocks).unwrap();
            blocks.finish().unwrap();
            assert!(found == expected, "{is_reversed}");
        }
    }
}
