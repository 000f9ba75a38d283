//! Dates as text, and their order.

use std::cmp::Ordering;
use std::str::FromStr;

use super::{DateTime64, Ticks, TimeDelta64};
use crate::dtype::Unit;
use crate::element::value::{parse_date, units};
use crate::error::{DTypeError, Error, Result, excerpt};

impl DateTime64 {
    /// `NaT`, without a unit. It can be stored in arrays of any unit.
    pub const NAT: DateTime64 = DateTime64 { ticks: Ticks::NAT, unit: None };

    /// Returns whether this is `NaT`.
    #[must_use]
    #[inline]
    pub fn is_nat(self) -> bool {
        self.ticks == Ticks::NAT
    }

    /// Parses an ISO date in `unit`, or `NaT`.
    #[inline]
    pub(crate) fn parse(text: &str, unit: Unit) -> Result<DateTime64> {
        let ticks = if text == "NaT" { Some(Ticks::NAT) } else { parse_date(text, unit) };
        let unit = Some(unit);
        ticks.map(|ticks| DateTime64 { ticks, unit }).ok_or_else(|| invalid_date(text, unit))
    }

    /// Converts the date to another unit, rounded down.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the count
    /// doesn't fit 64 bits, where NumPy wraps around, or if the date has no
    /// unit.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::element::DateTime64;
    ///
    /// let date: DateTime64 = "1969-12-31T23:59".parse()?;
    /// assert_eq!(date.to_unit("D".parse()?)?.to_string(), "1969-12-31");
    /// assert_eq!(date.to_unit("ns".parse()?)?.ticks.0, -60_000_000_000);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn to_unit(self, unit: Unit) -> Result<DateTime64> {
        let ticks = match self.unit {
            _ if self.is_nat() => Some(Ticks::NAT),
            Some(from) => units::convert_date(self.ticks, from, unit),
            None => None,
        };
        let unit = Some(unit);
        ticks.map(|ticks| DateTime64 { ticks, unit }).ok_or_else(|| out_of_range(&self, unit))
    }

    /// Compares two dates in any units. Returns `None` if one is `NaT`, or only
    /// one has a unit.
    ///
    /// This sorts by time. NumPy rounds both dates down to the unit of their
    /// difference first, so it finds a month equal to its first week.
    #[must_use]
    #[inline]
    pub fn compare(self, other: DateTime64) -> Option<Ordering> {
        if self.is_nat() || other.is_nat() {
            return None;
        }
        if self.unit == other.unit {
            return Some(self.ticks.cmp(&other.ticks));
        }
        Some(units::to_days(self.ticks, self.unit?).cmp(&units::to_days(other.ticks, other.unit?)))
    }
}

impl FromStr for DateTime64 {
    type Err = Error;

    /// Parses an ISO date in the unit of its last part, as `numpy.datetime64` does:
    /// `2020-02-29`, or `2020-02-29T12:34:56.789`, with `T` or a space, or `NaT`. For
    /// another unit, see [`Value::parse`](crate::Value::parse).
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the text is not a date,
    /// or doesn't fit 64 bits.
    #[inline]
    fn from_str(text: &str) -> Result<DateTime64> {
        if text == "NaT" {
            return Ok(DateTime64::NAT);
        }
        let unit = units::unit_of_text(text).ok_or_else(|| invalid_date(text, None))?;
        DateTime64::parse(text, unit)
    }
}

impl TimeDelta64 {
    /// `NaT`, without a unit. It can be stored in arrays of any unit.
    pub const NAT: TimeDelta64 = TimeDelta64 { ticks: Ticks::NAT, unit: None };

    /// Returns whether this is `NaT`.
    #[must_use]
    #[inline]
    pub fn is_nat(self) -> bool {
        self.ticks == Ticks::NAT
    }

    /// Converts the difference to another unit, rounded down.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the count
    /// doesn't fit 64 bits, where NumPy wraps around, or for conversions
    /// between months or years and weeks or shorter units, because months vary
    /// in length.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::element::{Ticks, TimeDelta64};
    ///
    /// let delta = TimeDelta64 { ticks: Ticks(-90), unit: Some("m".parse()?) };
    /// assert_eq!(delta.to_unit("h".parse()?)?.to_string(), "-2 hours");
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn to_unit(self, unit: Unit) -> Result<TimeDelta64> {
        let unit = Some(unit);
        let ticks = convert(self.ticks, self.unit, unit, units::convert_difference);
        ticks.map(|ticks| TimeDelta64 { ticks, unit }).ok_or_else(|| out_of_range(&self, unit))
    }
}

#[inline]
fn invalid_date(text: &str, unit: Option<Unit>) -> Error {
    let value = format!("`{}`", excerpt(text));
    let in_unit = unit.map_or(String::new(), |unit| format!(" in unit {unit}"));
    let expected = format!("a date{in_unit}, such as 2020-02-29T12:00, or NaT");
    DTypeError::Value { value, expected }.into()
}

/// Converts a count to another unit. Counts without a unit stay the same in any.
#[inline]
fn convert(
    ticks: Ticks,
    unit: Option<Unit>,
    to: Option<Unit>,
    convert: fn(Ticks, Unit, Unit) -> Option<Ticks>,
) -> Option<Ticks> {
    match (unit, to) {
        (Some(unit), Some(to)) => convert(ticks, unit, to),
        (None, _) => Some(ticks),
        (Some(_), None) => None,
    }
}

#[inline]
fn out_of_range(value: &dyn ToString, unit: Option<Unit>) -> Error {
    let expected = match unit {
        Some(unit) => format!("a 64-bit count in unit {unit}"),
        None => "a 64-bit count without a unit".to_owned(),
    };
    DTypeError::Value { value: value.to_string(), expected }.into()
}
