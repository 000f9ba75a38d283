//! Dates as text, and their order.

use std::cmp::Ordering;
use std::fmt::Display;
use std::str::FromStr;

use super::{DateTime64, Ticks, TimeDelta64};
use crate::dtype::Unit;
use crate::element::value::{parse_date, units};
use crate::error::{Error, Result, excerpt};

impl DateTime64 {
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
        let ticks = ticks.ok_or_else(|| out_of_range(self, unit))?;
        Ok(DateTime64 { ticks, unit: Some(unit) })
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
        let invalid = |in_unit: &str| {
            let expected = format!("a date{in_unit}, such as 2020-02-29T12:00, or NaT");
            Error::invalid_value(format_args!("`{}`", excerpt(text)), expected)
        };
        let unit = units::unit_of_text(text).ok_or_else(|| invalid(""))?;
        let ticks = parse_date(text, unit);
        let ticks = ticks.ok_or_else(|| invalid(&format!(" in unit {unit}")))?;
        Ok(DateTime64 { ticks, unit: Some(unit) })
    }
}

impl TimeDelta64 {
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
        let ticks = match self.unit {
            Some(from) => units::convert_difference(self.ticks, from, unit),
            // Counts without a unit stay the same in any.
            None => Some(self.ticks),
        };
        let ticks = ticks.ok_or_else(|| out_of_range(self, unit))?;
        Ok(TimeDelta64 { ticks, unit: Some(unit) })
    }
}

fn out_of_range(value: impl Display, unit: Unit) -> Error {
    Error::invalid_value(value, format_args!("a 64-bit count in unit {unit}"))
}
