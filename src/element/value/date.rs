//! Prints and parses dates as ISO text, in all of NumPy's units, in the proleptic
//! Gregorian calendar without leap seconds.

use super::units::{to_days, to_ticks};
use crate::dtype::{Unit, UnitBase};
use crate::element::Ticks;

/// Attoseconds in a second.
pub(super) const SECOND: i128 = 1_000_000_000_000_000_000;

/// Attoseconds in a day.
pub(super) const DAY: i128 = 86_400 * SECOND;

/// Prints a date as NumPy does, down to its unit.
#[inline]
pub(super) fn format_date(ticks: Ticks, unit: Unit) -> String {
    let (days, attoseconds) = to_days(ticks, unit);
    let (year, month, day) = civil_from_days(days);
    // The width of four includes the sign, as in NumPy.
    let year = format!("{year:04}");
    let date = format!("{year}-{month:02}-{day:02}");
    let (second, fraction) = (attoseconds / SECOND, attoseconds % SECOND);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    match unit.base {
        UnitBase::Year => year,
        UnitBase::Month => format!("{year}-{month:02}"),
        UnitBase::Week | UnitBase::Day => date,
        UnitBase::Hour => format!("{date}T{hour:02}"),
        UnitBase::Minute => format!("{date}T{hour:02}:{minute:02}"),
        UnitBase::Second => format!("{date}T{hour:02}:{minute:02}:{:02}", second % 60),
        base => {
            let tick = base.attoseconds().unwrap_or(1);
            let (second, digits) = (second % 60, (SECOND / tick).to_string().len() - 1);
            let fraction = fraction / tick;
            format!("{date}T{hour:02}:{minute:02}:{second:02}.{fraction:0digits$}")
        }
    }
}

/// Parses an ISO date as ticks of a unit. Returns `None` if the text is not a
/// date, is more precise than the unit, or falls between two ticks.
#[inline]
pub(crate) fn parse_date(text: &str, unit: Unit) -> Option<Ticks> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time.strip_suffix('Z').unwrap_or(time))),
        None => (text, None),
    };
    let (negative, date) = match date.strip_prefix('-') {
        Some(date) => (true, date),
        None => (false, date.strip_prefix('+').unwrap_or(date)),
    };
    let mut parts = date.split('-');
    let year = parse_number(parts.next()?)? * if negative { -1 } else { 1 };
    let (month, day) = (parts.next().map(two_digits), parts.next().map(two_digits));
    // A time is that of a day.
    if parts.next().is_some() || (time.is_some() && day.is_none()) {
        return None;
    }
    let (month, day) = (month.unwrap_or(Some(1))?, day.unwrap_or(Some(1))?);
    if !(1..=12).contains(&month) {
        return None;
    }
    // Days that the month doesn't have are counted into the next one.
    let days = days_from_civil(year, month, day);
    if civil_from_days(days) != (year, month, day) {
        return None;
    }
    let since_midnight = parse_time(time.unwrap_or("00"))?;
    let count = match (unit.base, unit.base.attoseconds()) {
        (UnitBase::Year, _) if since_midnight == 0 && month == 1 && day == 1 => year - 1970,
        (UnitBase::Month, _) if since_midnight == 0 && day == 1 => (year - 1970) * 12 + month - 1,
        (_, Some(tick)) if tick < DAY => {
            days.checked_mul(DAY / tick)?.checked_add(exact_quotient(since_midnight, tick)?)?
        }
        (_, Some(tick)) if since_midnight == 0 => exact_quotient(days, tick / DAY)?,
        _ => return None,
    };
    to_ticks(exact_quotient(count, unit.multiple.into())?)
}

/// Parses `HH[:MM[:SS[.fraction]]]` as attoseconds since midnight.
#[inline]
fn parse_time(time: &str) -> Option<i128> {
    let mut parts = time.split(':');
    let hour = two_digits(parts.next()?)?;
    let minute = parts.next().map_or(Some(0), two_digits)?;
    // Only seconds have a fraction.
    let second = parts.next().unwrap_or("00");
    let (second, fraction) = second.split_once('.').unwrap_or((second, ""));
    let second = two_digits(second)?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 || fraction.len() > 18 {
        return None;
    }
    let fraction = if fraction.is_empty() { 0 } else { parse_number(&format!("{fraction:0<18}"))? };
    Some(((hour * 60 + minute) * 60 + second) * SECOND + fraction)
}

#[inline]
fn two_digits(digits: &str) -> Option<i128> {
    if digits.len() == 2 { parse_number(digits) } else { None }
}

#[inline]
fn parse_number(digits: &str) -> Option<i128> {
    let is_number =
        !digits.is_empty() && digits.len() <= 20 && digits.bytes().all(|b| b.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

/// The quotient, if the remainder is 0.
#[inline]
fn exact_quotient(count: i128, divisor: i128) -> Option<i128> {
    (divisor != 0 && count % divisor == 0).then(|| count / divisor)
}

/// Converts days since 1970-01-01 to a year, a month and a day. See
/// <https://howardhinnant.github.io/date_algorithms.html>.
#[inline]
pub(super) fn civil_from_days(days: i128) -> (i128, i128, i128) {
    // Eras of 400 years, which all have the same number of days, that start on
    // March 1, so that a leap day is the last day of its year.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + i128::from(month <= 2), month, day)
}

/// The number of days from 1970-01-01 to a date.
#[inline]
pub(super) fn days_from_civil(year: i128, month: i128, day: i128) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}
