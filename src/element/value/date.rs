//! Dates as ISO text and back, in all of NumPy's units, in the proleptic
//! Gregorian calendar and without leap seconds.

use crate::dtype::{Unit, UnitBase};

/// Units below a day: how many a day has, and the digits behind the second.
pub(super) fn per_day(base: UnitBase) -> Option<i128> {
    let seconds = 86_400_i128;
    match base {
        UnitBase::Hour => Some(24),
        UnitBase::Minute => Some(1_440),
        UnitBase::Second => Some(seconds),
        UnitBase::Millisecond => Some(seconds * 1_000),
        UnitBase::Microsecond => Some(seconds * 1_000_000),
        UnitBase::Nanosecond => Some(seconds * 1_000_000_000),
        UnitBase::Picosecond => Some(seconds * 1_000_000_000_000),
        UnitBase::Femtosecond => Some(seconds * 1_000_000_000_000_000),
        UnitBase::Attosecond => Some(seconds * 1_000_000_000_000_000_000),
        _ => None,
    }
}

/// Digits behind the second.
fn digits(base: UnitBase) -> usize {
    match base {
        UnitBase::Millisecond => 3,
        UnitBase::Microsecond => 6,
        UnitBase::Nanosecond => 9,
        UnitBase::Picosecond => 12,
        UnitBase::Femtosecond => 15,
        UnitBase::Attosecond => 18,
        _ => 0,
    }
}

/// Prints a date as NumPy does: as many parts as the unit has.
pub(super) fn text(ticks: i64, unit: Unit) -> String {
    let count = i128::from(ticks) * i128::from(unit.multiple);
    let (days, rest, per_day) = match unit.base {
        UnitBase::Year => return year_text(1970 + count),
        UnitBase::Month => {
            let (year, month) = (count.div_euclid(12), count.rem_euclid(12) + 1);
            return format!("{}-{month:02}", year_text(1970 + year));
        }
        UnitBase::Week => (count * 7, 0, 1),
        base => {
            let per_day = per_day(base).unwrap_or(1);
            (count.div_euclid(per_day), count.rem_euclid(per_day), per_day)
        }
    };
    let (year, month, day) = civil(days);
    let date = format!("{}-{month:02}-{day:02}", year_text(year));
    match unit.base {
        UnitBase::Week | UnitBase::Day => date,
        UnitBase::Hour => format!("{date}T{rest:02}"),
        UnitBase::Minute => format!("{date}T{:02}:{:02}", rest / 60, rest % 60),
        base => {
            let a_second = per_day / 86_400;
            let (second, fraction) = (rest / a_second, rest % a_second);
            let time = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
            match digits(base) {
                0 => format!("{date}T{time}"),
                digits => format!("{date}T{time}.{fraction:0digits$}"),
            }
        }
    }
}

fn year_text(year: i128) -> String {
    // The sign counts as one of the four, as in NumPy.
    format!("{year:04}")
}

/// Reads ISO text into ticks of a unit; `None` for what is no date, has more
/// parts than the unit, or falls between two ticks.
pub(crate) fn ticks(text: &str, unit: Unit) -> Option<i64> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time.strip_suffix('Z').unwrap_or(time))),
        None => (text, None),
    };
    let (negative, date) = date.strip_prefix('-').map_or((false, date), |date| (true, date));
    let mut parts = date.split('-');
    let year = number(parts.next()?)? * if negative { -1 } else { 1 };
    let month = parts.next().map(number);
    let day = parts.next().map(number);
    if parts.next().is_some() {
        return None;
    }
    let (month, day) = (month.unwrap_or(Some(1))?, day.unwrap_or(Some(1))?);
    if !(1..=12).contains(&month) || civil(days(year, month, day)) != (year, month, day) {
        return None;
    }
    let seconds = attoseconds(time.unwrap_or("00"))?;
    let count = match unit.base {
        UnitBase::Year => exact(seconds == 0 && month == 1 && day == 1, year - 1970)?,
        UnitBase::Month => exact(seconds == 0 && day == 1, (year - 1970) * 12 + month - 1)?,
        UnitBase::Week => divided(exact(seconds == 0, days(year, month, day))?, 7)?,
        UnitBase::Day => exact(seconds == 0, days(year, month, day))?,
        base => {
            let per_day = per_day(base)?;
            let tick = ATTOSECONDS * 86_400 / per_day;
            days(year, month, day).checked_mul(per_day)?.checked_add(divided(seconds, tick)?)?
        }
    };
    i64::try_from(divided(count, unit.multiple.into())?).ok().filter(|&ticks| ticks != i64::MIN)
}

pub(super) const ATTOSECONDS: i128 = 1_000_000_000_000_000_000;

/// Reads `HH[:MM[:SS[.fraction]]]` as attoseconds.
fn attoseconds(time: &str) -> Option<i128> {
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = clock.split(':').map(number);
    let hour = parts.next()??;
    let minute = parts.next().unwrap_or(Some(0))?;
    let second = parts.next().unwrap_or(Some(0))?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 || fraction.len() > 18 {
        return None;
    }
    let behind = if fraction.is_empty() { 0 } else { number(&format!("{fraction:0<18}"))? };
    Some(((hour * 60 + minute) * 60 + second) * ATTOSECONDS + behind)
}

fn number(digits: &str) -> Option<i128> {
    let plain =
        !digits.is_empty() && digits.len() <= 20 && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

fn exact(is: bool, value: i128) -> Option<i128> {
    is.then_some(value)
}

fn divided(count: i128, by: i128) -> Option<i128> {
    (by != 0 && count % by == 0).then(|| count / by)
}

/// Days since 1970-01-01 as year, month and day.
pub(super) fn civil(days: i128) -> (i128, i128, i128) {
    // Counted in eras of 400 years that start on the first of March.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + i128::from(month <= 2), month, day)
}

/// Days from 1970-01-01 to a date.
pub(super) fn days(year: i128, month: i128, day: i128) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}
