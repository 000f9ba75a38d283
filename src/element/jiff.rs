//! Conversion of dates and time differences to and from jiff's types.
//!
//! NumPy's dates have no time zone. By convention they are UTC, which is assumed
//! when converting to and from instants.

use std::fmt::Display;

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

use super::{DateTime64, Ticks, TimeDelta64};
use crate::dtype::{Unit, UnitBase};
use crate::element::value::units;
use crate::error::{Error, Result};

/// NumPy's first date.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
const NANOSECONDS: Unit = Unit { base: UnitBase::Nanosecond, multiple: 1 };
const SECONDS: Unit = Unit { base: UnitBase::Second, multiple: 1 };

impl DateTime64 {
    /// Returns the date and time of day, rounded down to nanoseconds.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) for `NaT`,
    /// dates without a unit, and dates outside the years -9999 to 9999.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::element::DateTime64;
    ///
    /// let date: DateTime64 = "2020-02-29T12:34:56.5".parse()?;
    /// assert_eq!(date.to_civil()?.to_string(), "2020-02-29T12:34:56.5");
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn to_civil(self) -> Result<DateTime> {
        let expected = "a date in the years -9999 to 9999";
        self.checked_civil().ok_or_else(|| Error::invalid_value(self, expected))
    }

    #[inline]
    fn checked_civil(self) -> Option<DateTime> {
        let (Some(unit), false) = (self.unit, self.is_nat()) else { return None };
        let (day, attoseconds) = units::to_days(self.ticks, unit);
        let days = SignedDuration::from_secs(i64::try_from(day).ok()?.checked_mul(86_400)?);
        let rest = i64::try_from(attoseconds / 1_000_000_000).ok()?;
        EPOCH.checked_add(days).ok()?.checked_add(SignedDuration::from_nanos(rest)).ok()
    }

    /// Returns the instant in UTC, rounded down to nanoseconds.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) for `NaT`,
    /// dates without a unit, and dates before [`Timestamp::MIN`] or after
    /// [`Timestamp::MAX`].
    #[inline]
    pub fn to_timestamp(self) -> Result<Timestamp> {
        self.checked_timestamp().ok_or_else(|| {
            let (first, last) = (Timestamp::MIN, Timestamp::MAX);
            Error::invalid_value(self, format_args!("a date from {first} to {last}"))
        })
    }

    #[inline]
    fn checked_timestamp(self) -> Option<Timestamp> {
        let (Some(unit), false) = (self.unit, self.is_nat()) else { return None };
        let (seconds, attoseconds) = units::to_seconds(self.ticks, unit);
        let nanoseconds = i32::try_from(attoseconds / 1_000_000_000).ok()?;
        Timestamp::new(i64::try_from(seconds).ok()?, nanoseconds).ok()
    }

    /// Returns a date in `unit`, rounded down.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the count
    /// doesn't fit 64 bits. For nanoseconds, this is outside the years 1677 to
    /// 2262.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::element::DateTime64;
    ///
    /// let noon: DateTime64 = "2020-02-29T12:00:00".parse()?;
    /// assert_eq!(DateTime64::from_civil(noon.to_civil()?, "D".parse()?)?.to_string(), "2020-02-29");
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn from_civil(date: DateTime, unit: Unit) -> Result<DateTime64> {
        let ticks = units::date_from_nanoseconds(date.duration_since(EPOCH).as_nanos(), unit);
        let ticks = ticks.ok_or_else(|| uncountable(date, "date", unit))?;
        Ok(DateTime64 { ticks, unit: Some(unit) })
    }

    /// Returns an instant as a UTC date in `unit`, rounded down.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the count
    /// does not fit 64 bits. For nanoseconds, this is outside the years 1677 to
    /// 2262.
    #[inline]
    pub fn from_timestamp(instant: Timestamp, unit: Unit) -> Result<DateTime64> {
        let ticks = units::date_from_nanoseconds(instant.as_nanosecond(), unit);
        let ticks = ticks.ok_or_else(|| uncountable(instant, "date", unit))?;
        Ok(DateTime64 { ticks, unit: Some(unit) })
    }
}

impl TimeDelta64 {
    /// Returns the duration, rounded down to nanoseconds, or to seconds if it
    /// is longer than 292 years.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) for `NaT`,
    /// differences without a unit, differences in months and years, and
    /// differences with more seconds than fit 64 bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::element::{Ticks, TimeDelta64};
    ///
    /// let delta = TimeDelta64 { ticks: Ticks(-1500), unit: Some("ms".parse()?) };
    /// assert_eq!(delta.to_duration()?.as_millis(), -1500);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn to_duration(self) -> Result<SignedDuration> {
        let expected = "a duration that 64 bits can count in seconds";
        self.checked_duration().ok_or_else(|| Error::invalid_value(self, expected))
    }

    #[inline]
    fn checked_duration(self) -> Option<SignedDuration> {
        let (Some(unit), false) = (self.unit, self.is_nat()) else { return None };
        if let Some(Ticks(count)) = units::convert_difference(self.ticks, unit, NANOSECONDS) {
            return Some(SignedDuration::from_nanos(count));
        }
        let seconds = units::convert_difference(self.ticks, unit, SECONDS)?;
        Some(SignedDuration::from_secs(seconds.0))
    }

    /// Returns a duration as a difference in `unit`, rounded down.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if `unit` is
    /// months or years, or the count doesn't fit 64 bits.
    #[inline]
    pub fn from_duration(duration: SignedDuration, unit: Unit) -> Result<TimeDelta64> {
        let ticks = units::difference_from_nanoseconds(duration.as_nanos(), unit);
        let ticks = ticks.ok_or_else(|| uncountable(duration, "duration", unit))?;
        Ok(TimeDelta64 { ticks, unit: Some(unit) })
    }
}

fn uncountable(value: impl Display, noun: &str, unit: Unit) -> Error {
    Error::invalid_value(value, format_args!("a {noun} that 64 bits can count in unit {unit}"))
}
