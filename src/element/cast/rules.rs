//! NumPy's `can_cast`: what a cast has to be allowed, as NumPy 2.4 answers.

use super::Casting;
use crate::dtype::{DType, Field, Kind, Unit, UnitBase};

/// The least a cast needs; `None` when NumPy has no such cast.
pub(super) fn needed(from: &DType, to: &DType) -> Option<Casting> {
    // Of no size means of any, and then even of any order.
    let of_any = to.itemsize() == 0 && from.kind() == to.kind();
    if of_any && matches!(to.kind(), Kind::Void | Kind::Bytes | Kind::Unicode) {
        return Some(Casting::No);
    }
    within(from, to)
}

/// The same for a part.
fn within(from: &DType, to: &DType) -> Option<Casting> {
    match (from.subarray(), to.subarray()) {
        (Some((from, shape)), Some((to, other))) => {
            let each = within(from, to)?;
            Some(if shape == other { each } else { Casting::Unsafe })
        }
        (Some((from, _)), None) => within(from, to).map(|_| Casting::Unsafe),
        (None, Some((to, _))) => within(from, to).map(|each| each.max(Casting::Safe)),
        (None, None) => match (from.kind(), to.kind()) {
            (Kind::Struct, Kind::Struct) => structs(from, to),
            // Of no size means of any.
            (Kind::Struct, Kind::Void) if to.itemsize() == 0 => Some(Casting::No),
            // One field can stand for itself.
            (Kind::Struct, _) => match from.fields() {
                [only] => within(&only.dtype, to).map(|_| Casting::Unsafe),
                _ => None,
            },
            (_, Kind::Struct) => Some(Casting::Unsafe),
            _ => Some(scalars(from, to)),
        },
    }
}

fn structs(from: &DType, to: &DType) -> Option<Casting> {
    if from.fields().len() != to.fields().len() {
        return None;
    }
    let start = if from.itemsize() == to.itemsize() { Casting::No } else { Casting::Equiv };
    from.fields().iter().zip(to.fields()).try_fold(start, |most, (from, to)| {
        Some(most.max(within(&from.dtype, &to.dtype)?).max(names(from, to)))
    })
}

fn names(from: &Field, to: &Field) -> Casting {
    if from.name() != to.name() || from.title != to.title {
        Casting::Safe
    } else if from.offset != to.offset {
        Casting::Equiv
    } else {
        Casting::No
    }
}

fn scalars(from: &DType, to: &DType) -> Casting {
    let (size, room) = (from.itemsize(), to.itemsize());
    let order = if from.byte_order() == to.byte_order() { Casting::No } else { Casting::Equiv };
    match (from.kind(), to.kind()) {
        (Kind::Void | Kind::Bytes | Kind::Unicode, kind) if kind == from.kind() => {
            match size.cmp(&room) {
                // Of no size means of any.
                _ if room == 0 => order,
                std::cmp::Ordering::Equal => order,
                std::cmp::Ordering::Less => Casting::Safe,
                std::cmp::Ordering::Greater => Casting::SameKind,
            }
        }
        (Kind::DateTime, Kind::DateTime) | (Kind::TimeDelta, Kind::TimeDelta) => {
            units(from, to).max(order)
        }
        (kind, other) if kind == other && size == room => order,
        (_, Kind::Void) => either(room == 0 || size <= room, Casting::Safe, Casting::Unsafe),
        (Kind::Bytes, Kind::Unicode) => fits(size, room / 4),
        (_, Kind::Bytes) => text(from, room),
        (_, Kind::Unicode) => text(from, room / 4),
        (Kind::Bool | Kind::Int, Kind::TimeDelta) => Casting::Safe,
        (Kind::UInt, Kind::TimeDelta) => either(size < 8, Casting::Safe, Casting::SameKind),
        _ => match (rank(from.kind()), rank(to.kind())) {
            (Some(own), Some(other)) => {
                either(keeps(from, to), Casting::Safe, within_kind(own, other))
            }
            _ => Casting::Unsafe,
        },
    }
}

fn either(is: bool, yes: Casting, no: Casting) -> Casting {
    if is { yes } else { no }
}

/// Text of so many characters where `room` is for those, 0 for any.
fn fits(characters: usize, room: usize) -> Casting {
    either(room == 0 || characters <= room, Casting::Safe, Casting::SameKind)
}

/// Numbers as text of so many characters.
fn text(from: &DType, room: usize) -> Casting {
    let integer = |signed| match (from.itemsize(), signed) {
        (1, _) => 3,
        (2, _) => 5,
        (4, _) => 10,
        _ => 20,
    };
    let characters = match (from.kind(), from.itemsize()) {
        (Kind::Bool, _) => 5,
        (Kind::UInt, _) => integer(false),
        (Kind::Int, _) => integer(true) + 1,
        (Kind::Float, 16) => 48,
        (Kind::Float, _) => 32,
        (Kind::Complex, 32) => 96,
        (Kind::Complex, _) => 64,
        _ => return Casting::Unsafe,
    };
    fits(characters, room)
}

/// NumPy's order of kinds of numbers.
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

fn within_kind(own: u8, other: u8) -> Casting {
    either(own <= other, Casting::SameKind, Casting::Unsafe)
}

/// True when NumPy counts on every number to stay; it lets 64-bit integers
/// pass for doubles.
fn keeps(from: &DType, to: &DType) -> bool {
    let (size, room) = (from.itemsize(), to.itemsize());
    let float = |room: usize| match from.kind() {
        Kind::Float => size <= room,
        _ => room >= (2 * size).min(8),
    };
    match (from.kind(), to.kind()) {
        (Kind::Bool, _) => true,
        (Kind::UInt, Kind::Int) => size < room,
        (Kind::UInt, Kind::UInt) | (Kind::Int, Kind::Int) | (Kind::Complex, Kind::Complex) => {
            size <= room
        }
        (Kind::UInt | Kind::Int | Kind::Float, Kind::Float) => float(room),
        (Kind::UInt | Kind::Int | Kind::Float, Kind::Complex) => float(room / 2),
        _ => false,
    }
}

/// NumPy's `time_to_time_resolve_descriptors`.
fn units(from: &DType, to: &DType) -> Casting {
    let (from_unit, to_unit) = match (from.unit(), to.unit()) {
        (None, None) => return Casting::No,
        (None, _) => return Casting::Safe,
        (_, None) => return Casting::Unsafe,
        (Some(from), Some(to)) => (from, to),
    };
    let is_difference = from.kind() == Kind::TimeDelta;
    let calendar = |unit: Unit| unit.base <= UnitBase::Month;
    let same =
        || divides(from_unit, to_unit, is_difference) && divides(to_unit, from_unit, is_difference);
    if from_unit == to_unit || from_unit.base != to_unit.base && same() {
        Casting::No
    } else if is_difference && calendar(from_unit) != calendar(to_unit) {
        Casting::Unsafe
    } else if from_unit.base <= to_unit.base && divides(from_unit, to_unit, is_difference) {
        Casting::Safe
    } else {
        Casting::SameKind
    }
}

/// NumPy's `datetime_metadata_divides`: true when a step of the one is a number of steps of the other that NumPy
/// can still count with.
fn divides(from: Unit, to: Unit, is_difference: bool) -> bool {
    let (own, other) = (u64::from(from.multiple), u64::from(to.multiple));
    let limit = |count: &u64| *count < 1 << 56;
    if from.base > to.base {
        let factor = from.base.count_in(to.base).filter(limit);
        let steps = factor.and_then(|factor| other.checked_mul(factor)).filter(limit);
        return steps.is_some_and(|steps| steps != 0 && own % steps == 0);
    }
    let factor = match (from.base, to.base) {
        (from, to) if from == to => Some(1),
        (UnitBase::Year, UnitBase::Month) => Some(12),
        (UnitBase::Year | UnitBase::Month, _) => return !is_difference,
        (from, to) => to.count_in(from),
    };
    let steps = factor.filter(limit).and_then(|factor| own.checked_mul(factor)).filter(limit);
    steps.is_some_and(|steps| other != 0 && steps % other == 0)
}
