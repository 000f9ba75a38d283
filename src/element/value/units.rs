//! Conversion of dates and time differences to other units, as in NumPy. Unlike
//! NumPy's, results that don't fit 64 bits are rejected instead of wrapped.

use super::date::{DAY, civil_from_days, days_from_civil};
use crate::dtype::{Unit, UnitBase};
use crate::element::Ticks;

/// A date as days since 1970-01-01 and attoseconds since midnight.
#[inline]
pub(crate) fn to_days(Ticks(count): Ticks, unit: Unit) -> (i128, i128) {
    let count = i128::from(count) * i128::from(unit.multiple);
    match unit.base.attoseconds() {
        None => {
            let months = if unit.base == UnitBase::Year { 12 * count } else { count };
            let (year, month) = (1970 + months.div_euclid(12), months.rem_euclid(12) + 1);
            (days_from_civil(year, month, 1), 0)
        }
        Some(tick) if tick >= DAY => (count * (tick / DAY), 0),
        Some(tick) => (count.div_euclid(DAY / tick), count.rem_euclid(DAY / tick) * tick),
    }
}

/// The inverse of [`to_days`], rounded down. Returns `None` if it doesn't fit
/// 64 bits.
#[inline]
fn from_days((day, attoseconds): (i128, i128), unit: Unit) -> Option<Ticks> {
    let count = match unit.base.attoseconds() {
        None => {
            let (year, month, _) = civil_from_days(day);
            let years = year - 1970;
            if unit.base == UnitBase::Year { years } else { 12 * years + month - 1 }
        }
        Some(tick) if tick >= DAY => day.div_euclid(tick / DAY),
        Some(tick) => day.checked_mul(DAY / tick)?.checked_add(attoseconds / tick)?,
    };
    to_ticks(count.checked_div_euclid(unit.multiple.into())?)
}

/// A count as ticks, if it fits. The lowest 64-bit integer doesn't: it is `NaT`.
#[inline]
pub(crate) fn to_ticks(count: i128) -> Option<Ticks> {
    i64::try_from(count).ok().map(Ticks).filter(|ticks| *ticks != Ticks::NAT)
}

/// Converts a date to another unit, rounded down. Returns `None` if it doesn't
/// fit.
#[inline]
pub(crate) fn convert_date(from: Ticks, unit: Unit, to: Unit) -> Option<Ticks> {
    match from {
        Ticks::NAT => Some(from),
        _ if unit == to => Some(from),
        _ => from_days(to_days(from, unit), to),
    }
}

/// Converts a time difference to another unit, rounded down. Returns `None` if
/// it doesn't fit, or if only one of the units is months or years, because they
/// vary in length.
#[inline]
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
        to_ticks(count.checked_mul(own.0 / other.0)?.checked_div_euclid(step)?)
    } else {
        to_ticks(count.checked_div_euclid(step.checked_mul(other.0 / own.0)?)?)
    }
}

/// The length of a unit in months (true) or in attoseconds (false).
#[inline]
fn length(base: UnitBase) -> (i128, bool) {
    match base.attoseconds() {
        Some(length) => (length, false),
        None => (if base == UnitBase::Year { 12 } else { 1 }, true),
    }
}

/// A date as seconds since 1970 and the attoseconds after that second.
#[cfg(feature = "jiff")]
#[inline]
pub(crate) fn to_seconds(ticks: Ticks, unit: Unit) -> (i128, i128) {
    use super::date::SECOND;

    let (day, attoseconds) = to_days(ticks, unit);
    // There are less than 2¹⁰⁴ days: 64 bits times 32 bits of years.
    (day * 86_400 + attoseconds / SECOND, attoseconds % SECOND)
}

/// A date from nanoseconds since 1970, rounded down. Returns `None` if it
/// doesn't fit.
#[cfg(feature = "jiff")]
#[inline]
pub(crate) fn date_from_nanoseconds(count: i128, unit: Unit) -> Option<Ticks> {
    /// Attoseconds in a nanosecond.
    const TICK: i128 = 1_000_000_000;
    from_days((count.div_euclid(DAY / TICK), count.rem_euclid(DAY / TICK) * TICK), unit)
}

/// A time difference from nanoseconds, rounded down. Returns `None` if it
/// doesn't fit, or the unit is months or years.
#[cfg(feature = "jiff")]
#[inline]
pub(crate) fn difference_from_nanoseconds(nanoseconds: i128, unit: Unit) -> Option<Ticks> {
    let length = unit.base.attoseconds()?;
    let nanosecond = UnitBase::Nanosecond.attoseconds()?;
    let (up, down) = ((nanosecond / length).max(1), (length / nanosecond).max(1));
    let step = i128::from(unit.multiple).checked_mul(down)?;
    to_ticks(nanoseconds.checked_mul(up)?.checked_div_euclid(step)?)
}

/// The unit of an ISO date: that of its last part.
#[inline]
pub(crate) fn unit_of_text(text: &str) -> Option<Unit> {
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
        (3, Some((3, Some((_, fraction))))) => {
            match fraction.bytes().filter(u8::is_ascii_digit).count() {
                0..=3 => UnitBase::Millisecond,
                4..=6 => UnitBase::Microsecond,
                7..=9 => UnitBase::Nanosecond,
                10..=12 => UnitBase::Picosecond,
                13..=15 => UnitBase::Femtosecond,
                16..=18 => UnitBase::Attosecond,
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Unit { base, multiple: 1 })
}
