//! Dates and time differences in other units: NumPy's rules, but for results
//! that don't fit 64 bits, which are refused where NumPy wraps around.

use std::cmp::Ordering;

use super::date::{ATTOSECONDS, civil, days, per_day};
use crate::dtype::{Unit, UnitBase};
use crate::element::Ticks;

/// A date by its day since 1970-01-01 and the attoseconds of that day.
fn parted(ticks: i64, unit: Unit) -> (i128, i128) {
    let count = i128::from(ticks) * i128::from(unit.multiple);
    match unit.base {
        UnitBase::Year => (days(1970 + count, 1, 1), 0),
        UnitBase::Month => (days(1970 + count.div_euclid(12), count.rem_euclid(12) + 1, 1), 0),
        UnitBase::Week => (count * 7, 0),
        base => {
            let per_day = per_day(base).unwrap_or(1);
            let tick = ATTOSECONDS * 86_400 / per_day;
            (count.div_euclid(per_day), count.rem_euclid(per_day) * tick)
        }
    }
}

/// The step of a unit that a date falls into.
fn joined((day, rest): (i128, i128), unit: Unit) -> Option<Ticks> {
    let count = match unit.base {
        UnitBase::Year => civil(day).0 - 1970,
        UnitBase::Month => {
            let (year, month, _) = civil(day);
            (year - 1970) * 12 + month - 1
        }
        UnitBase::Week => day.div_euclid(7),
        base => {
            let per_day = per_day(base).unwrap_or(1);
            day.checked_mul(per_day)?.checked_add(rest / (ATTOSECONDS * 86_400 / per_day))?
        }
    };
    ticks(count.checked_div_euclid(unit.multiple.into())?)
}

/// A count that is a number of steps; the lowest one stands for no time.
pub(crate) fn ticks(count: i128) -> Option<Ticks> {
    i64::try_from(count).ok().map(Ticks).filter(|ticks| *ticks != Ticks::NAT)
}

/// A date in another unit, rounded down; `None` when it doesn't fit.
pub(crate) fn convert_date(from: Ticks, unit: Unit, to: Unit) -> Option<Ticks> {
    match from {
        Ticks::NAT => Some(from),
        _ if unit == to => Some(from),
        Ticks(count) => joined(parted(count, unit), to),
    }
}

/// A time difference in another unit, rounded down; `None` when it doesn't
/// fit, or leads from months and years to what has a length, or back.
pub(crate) fn convert_difference(from: Ticks, unit: Unit, to: Unit) -> Option<Ticks> {
    let (own, other) = (length(unit.base), length(to.base));
    if own.1 != other.1 {
        return None;
    }
    if from == Ticks::NAT || unit == to {
        return Some(from);
    }
    let count = i128::from(from.0) * i128::from(unit.multiple);
    let step = i128::from(to.multiple);
    if own.0 >= other.0 {
        ticks(count.checked_mul(own.0 / other.0)?.checked_div_euclid(step)?)
    } else {
        ticks(count.checked_div_euclid(step.checked_mul(other.0 / own.0)?)?)
    }
}

/// A unit's length, and whether that is counted in months.
fn length(base: UnitBase) -> (i128, bool) {
    match base {
        UnitBase::Year => (12, true),
        UnitBase::Month => (1, true),
        base => (base.attoseconds().unwrap_or(1), false),
    }
}

/// A date's place in time, for comparisons.
pub(crate) fn place(Ticks(count): Ticks, unit: Unit) -> (i128, i128) {
    parted(count, unit)
}

/// Compares two time differences.
pub(crate) fn compare((a, unit): (Ticks, Unit), (b, other): (Ticks, Unit)) -> Option<Ordering> {
    let (own, others) = (length(unit.base), length(other.base));
    if own.1 != others.1 {
        return None;
    }
    // Both lengths are whole numbers of the shorter one.
    let step = own.0.min(others.0);
    let a = i128::from(a.0) * i128::from(unit.multiple);
    let b = i128::from(b.0) * i128::from(other.multiple);
    match (a.checked_mul(own.0 / step), b.checked_mul(others.0 / step)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (None, _) => Some(a.cmp(&0)),
        (_, None) => Some(0.cmp(&b)),
    }
}

/// A date as seconds since 1970 and the attoseconds behind them.
#[cfg(feature = "jiff")]
pub(crate) fn seconds(Ticks(count): Ticks, unit: Unit) -> (i128, i128) {
    let (day, rest) = parted(count, unit);
    (day.saturating_mul(86_400).saturating_add(rest / ATTOSECONDS), rest % ATTOSECONDS)
}

/// The date so many nanoseconds after 1970 began.
#[cfg(feature = "jiff")]
pub(crate) fn of_nanoseconds(count: i128, unit: Unit) -> Option<Ticks> {
    let per_day = per_day(UnitBase::Nanosecond)?;
    joined((count.div_euclid(per_day), count.rem_euclid(per_day) * 1_000_000_000), unit)
}

/// So many nanoseconds in a unit, rounded down.
#[cfg(feature = "jiff")]
pub(crate) fn steps(nanoseconds: i128, unit: Unit) -> Option<Ticks> {
    let length = unit.base.attoseconds()?;
    let nanosecond = UnitBase::Nanosecond.attoseconds()?;
    let (up, down) = ((nanosecond / length).max(1), (length / nanosecond).max(1));
    let step = i128::from(unit.multiple).checked_mul(down)?;
    ticks(nanoseconds.checked_mul(up)?.checked_div_euclid(step)?)
}

/// The unit that steps of both units are whole numbers of, as NumPy promotes
/// them; of months and years and a shorter one, one of the shorter.
pub(crate) fn common(one: Unit, other: Unit) -> Option<Unit> {
    let (long, short) = if one.base <= other.base { (one, other) } else { (other, one) };
    let factor = match (long.base, short.base) {
        (UnitBase::Year, UnitBase::Month) => 12,
        (long, short) if long == short => 1,
        // NumPy counts with weeks there.
        (long, short) => {
            let factor = short.count_in(long.max(UnitBase::Week))?;
            Some(factor).filter(|factor| *factor < 1 << 56)?
        }
    };
    let steps = u64::from(long.multiple).checked_mul(factor)?;
    let multiple = u32::try_from(divisor(steps, short.multiple.into())).ok()?;
    Some(Unit { base: short.base, multiple })
}

/// The greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// The unit a date's text has: that of its last part.
pub(crate) fn unit_of(text: &str) -> Option<Unit> {
    let digits = |part: &str| part.bytes().filter(u8::is_ascii_digit).count();
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time.strip_suffix('Z').unwrap_or(time))),
        None => (text, None),
    };
    let parts = date.strip_prefix(['-', '+']).unwrap_or(date).split('-').count();
    let base = match (parts, time.map(|time| (time.split(':').count(), time.split_once('.')))) {
        (1, None) => UnitBase::Year,
        (2, None) => UnitBase::Month,
        (3, None) => UnitBase::Day,
        (3, Some((1, None))) => UnitBase::Hour,
        (3, Some((2, None))) => UnitBase::Minute,
        (3, Some((3, None))) => UnitBase::Second,
        (3, Some((3, Some((_, fraction))))) => match digits(fraction) {
            1..=3 => UnitBase::Millisecond,
            4..=6 => UnitBase::Microsecond,
            7..=9 => UnitBase::Nanosecond,
            10..=12 => UnitBase::Picosecond,
            13..=15 => UnitBase::Femtosecond,
            16..=18 => UnitBase::Attosecond,
            _ => return None,
        },
        _ => return None,
    };
    Some(Unit { base, multiple: 1 })
}
