//! The rules of NumPy 2.4's `can_cast`.

use super::Casting;
use crate::dtype::{DType, Field, Kind, Unit, UnitBase};

/// The strictest rule that allows a cast. Returns `None` if no rule does.
#[inline]
pub(super) fn required_casting(from: &DType, to: &DType) -> Option<Casting> {
    // A dtype without a size stands for all sizes, and at the top level for all
    // byte orders.
    let is_unsized = to.itemsize() == 0 && from.kind() == to.kind();
    if is_unsized && matches!(to.kind(), Kind::Void | Kind::Bytes | Kind::Unicode) {
        return Some(Casting::No);
    }
    part_casting(from, to)
}

/// The rule for a dtype inside a struct or subarray.
#[inline]
fn part_casting(from: &DType, to: &DType) -> Option<Casting> {
    match (from.subarray(), to.subarray()) {
        (Some((from, shape)), Some((to, other))) => {
            let items = part_casting(from, to)?;
            Some(if shape == other { items } else { Casting::Unsafe })
        }
        (Some((from, _)), None) => part_casting(from, to).map(|_| Casting::Unsafe),
        (None, Some((to, _))) => part_casting(from, to).map(|items| items.looser(Casting::Safe)),
        (None, None) => match (from.kind(), to.kind()) {
            (Kind::Struct, Kind::Struct) => struct_casting(from, to),
            // Void without a size stands for all sizes.
            (Kind::Struct, Kind::Void) if to.itemsize() == 0 => Some(Casting::No),
            // A struct with one field can be cast as that field.
            (Kind::Struct, _) => match from.fields() {
                [only] => part_casting(&only.dtype, to).map(|_| Casting::Unsafe),
                _ => None,
            },
            (_, Kind::Struct) => Some(Casting::Unsafe),
            _ => Some(scalar_casting(from, to)),
        },
    }
}

#[inline]
fn struct_casting(from: &DType, to: &DType) -> Option<Casting> {
    if from.fields().len() != to.fields().len() {
        return None;
    }
    let start = if from.itemsize() == to.itemsize() { Casting::No } else { Casting::Equiv };
    from.fields().iter().zip(to.fields()).try_fold(start, |required, (from, to)| {
        let part = part_casting(&from.dtype, &to.dtype)?;
        Some(required.looser(part).looser(name_casting(from, to)))
    })
}

#[inline]
fn name_casting(from: &Field, to: &Field) -> Casting {
    if from.name() != to.name() || from.title != to.title {
        Casting::Safe
    } else if from.offset != to.offset {
        Casting::Equiv
    } else {
        Casting::No
    }
}

#[inline]
fn scalar_casting(from: &DType, to: &DType) -> Casting {
    let (size, room) = (from.itemsize(), to.itemsize());
    let order = if from.byte_order() == to.byte_order() { Casting::No } else { Casting::Equiv };
    match (from.kind(), to.kind()) {
        (Kind::Void | Kind::Bytes | Kind::Unicode, kind) if kind == from.kind() => {
            match size.cmp(&room) {
                // A dtype without a size stands for all sizes.
                _ if room == 0 => order,
                std::cmp::Ordering::Equal => order,
                std::cmp::Ordering::Less => Casting::Safe,
                std::cmp::Ordering::Greater => Casting::SameKind,
            }
        }
        (Kind::DateTime, Kind::DateTime) | (Kind::TimeDelta, Kind::TimeDelta) => {
            unit_casting(from, to).looser(order)
        }
        (kind, other) if kind == other && size == room => order,
        (_, Kind::Void) => safe_if(room == 0 || size <= room, Casting::Unsafe),
        (Kind::Bytes, Kind::Unicode) => text_casting(size, room / 4),
        (_, Kind::Bytes) => number_to_text_casting(from, room),
        (_, Kind::Unicode) => number_to_text_casting(from, room / 4),
        (Kind::Bool | Kind::Int, Kind::TimeDelta) => Casting::Safe,
        (Kind::UInt, Kind::TimeDelta) => safe_if(size < 8, Casting::SameKind),
        _ => match (rank(from.kind()), rank(to.kind())) {
            (Some(from_rank), Some(to_rank)) if from_rank <= to_rank => {
                safe_if(is_lossless(from, to), Casting::SameKind)
            }
            (Some(_), Some(_)) => safe_if(is_lossless(from, to), Casting::Unsafe),
            _ => Casting::Unsafe,
        },
    }
}

#[inline]
fn safe_if(is_safe: bool, otherwise: Casting) -> Casting {
    if is_safe { Casting::Safe } else { otherwise }
}

/// The rule for text of `characters`, stored in `room` characters; 0 stands for
/// any length.
#[inline]
fn text_casting(characters: usize, room: usize) -> Casting {
    safe_if(room == 0 || characters <= room, Casting::SameKind)
}

/// The rule for numbers printed to text of `room` characters. NumPy reserves
/// this many characters for each type.
#[inline]
fn number_to_text_casting(from: &DType, room: usize) -> Casting {
    let integer_digits = match from.itemsize() {
        1 => 3,
        2 => 5,
        4 => 10,
        _ => 20,
    };
    let characters = match (from.kind(), from.itemsize()) {
        (Kind::Bool, _) => 5,
        (Kind::UInt, _) => integer_digits,
        (Kind::Int, _) => integer_digits + 1,
        (Kind::Float, 16) => 48,
        (Kind::Float, _) => 32,
        (Kind::Complex, 32) => 96,
        (Kind::Complex, _) => 64,
        _ => return Casting::Unsafe,
    };
    text_casting(characters, room)
}

/// NumPy's order of number kinds: casts up are `same_kind`.
#[inline]
fn rank(kind: Kind) -> Option<u8> {
    match kind {
        Kind::Bool => Some(0),
        Kind::UInt => Some(1),
        Kind::Int => Some(2),
        Kind::Float => Some(3),
        Kind::Complex => Some(4),
        _ => None,
    }
}

/// Returns whether NumPy considers a cast lossless. It does for 64-bit integers
/// as doubles, although large integers are rounded.
#[inline]
fn is_lossless(from: &DType, to: &DType) -> bool {
    let (size, room) = (from.itemsize(), to.itemsize());
    // The smallest float that NumPy considers large enough.
    let float_size = if from.kind() == Kind::Float { size } else { (2 * size).min(8) };
    match (from.kind(), to.kind()) {
        (Kind::Bool, _) => true,
        (Kind::UInt, Kind::Int) => size < room,
        (Kind::UInt, Kind::UInt) | (Kind::Int, Kind::Int) | (Kind::Complex, Kind::Complex) => {
            size <= room
        }
        (Kind::UInt | Kind::Int | Kind::Float, Kind::Float) => float_size <= room,
        (Kind::UInt | Kind::Int | Kind::Float, Kind::Complex) => float_size <= room / 2,
        _ => false,
    }
}

/// The rule for the units of dates or time differences: NumPy's
/// `time_to_time_resolve_descriptors`.
#[inline]
fn unit_casting(from: &DType, to: &DType) -> Casting {
    let (from_unit, to_unit) = match (from.unit(), to.unit()) {
        (None, None) => return Casting::No,
        (None, _) => return Casting::Safe,
        (_, None) => return Casting::Unsafe,
        (Some(from), Some(to)) => (from, to),
    };
    let is_difference = from.kind() == Kind::TimeDelta;
    // Months and years have no fixed length.
    let varies = |unit: Unit| unit.base <= UnitBase::Month;
    let (from_varies, to_varies) = (varies(from_unit), varies(to_unit));
    let divides_to = divides(from_unit, to_unit, is_difference);
    let divides_from = divides(to_unit, from_unit, is_difference);
    if from_unit == to_unit || from_unit.base != to_unit.base && divides_to && divides_from {
        Casting::No
    } else if is_difference && from_varies != to_varies {
        Casting::Unsafe
    } else if from_unit.base <= to_unit.base && divides_to {
        Casting::Safe
    } else {
        Casting::SameKind
    }
}

/// Returns whether `from` is a multiple of `to`, with a factor that NumPy
/// accepts: its `datetime_metadata_divides`.
#[inline]
fn divides(from: Unit, to: Unit, is_difference: bool) -> bool {
    let (from_multiple, to_multiple) = (u64::from(from.multiple), u64::from(to.multiple));
    if from.base > to.base {
        let to_steps =
            from.base.count_in(to.base).and_then(|count| limited_product(count, to_multiple));
        return to_steps.is_some_and(|steps| steps != 0 && from_multiple % steps == 0);
    }
    let count = match (from.base, to.base) {
        (from, to) if from == to => Some(1),
        (UnitBase::Year, UnitBase::Month) => Some(12),
        (UnitBase::Year | UnitBase::Month, _) => return !is_difference,
        (from, to) => to.count_in(from),
    };
    let from_steps = count.and_then(|count| limited_product(count, from_multiple));
    from_steps.is_some_and(|steps| to_multiple != 0 && steps % to_multiple == 0)
}

/// The product, unless it or `count` exceeds the factors that NumPy accepts.
#[inline]
fn limited_product(count: u64, multiple: u64) -> Option<u64> {
    const LIMIT: u64 = 1 << 56;
    let product = count.checked_mul(multiple)?;
    (count < LIMIT && product < LIMIT).then_some(product)
}
