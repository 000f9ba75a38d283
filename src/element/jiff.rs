//! Dates as those of jiff, and back.
//!
//! NumPy's dates are of no time zone; by custom they are UTC, and are taken
//! for it where an instant is asked for.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{DateTime64, Ticks, TimeDelta64};
use crate::dtype::{Unit, UnitBase};
use crate::element::value::units;
use crate::error::{DTypeError, Error, Result};

const NANOSECONDS: Unit = Unit { base: UnitBase::Nanosecond, multiple: 1 };
const SECONDS: Unit = Unit { base: UnitBase::Second, multiple: 1 };

impl DateTime64 {
    /// The date and time of day, to the nanosecond below.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for `NaT`, dates
    /// without a unit, and those outside the years -9999 to 9999.
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
    pub fn to_civil(self) -> Result<DateTime> {
        Ok(TimeZone::UTC.to_datetime(self.to_timestamp()?))
    }

    /// The instant, the date being UTC, to the nanosecond below.
    ///
    /// # Errors
    ///
    /// As [`to_civil`](DateTime64::to_civil).
    pub fn to_timestamp(self) -> Result<Timestamp> {
        let unit = self.unit.filter(|_| !self.is_nat());
        let refused = || refused(&self, "a date in the years -9999 to 9999");
        let (seconds, rest) = units::seconds(self.ticks, unit.ok_or_else(refused)?);
        let nanoseconds = i32::try_from(rest / 1_000_000_000).map_err(|_| refused())?;
        let seconds = i64::try_from(seconds).map_err(|_| refused())?;
        Timestamp::new(seconds, nanoseconds).map_err(|_| refused())
    }

    /// A date of a unit, rounded down to it.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when it doesn't fit 64
    /// bits: of nanoseconds, those outside the years 1677 to 2262.
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
    pub fn from_civil(date: DateTime, unit: Unit) -> Result<DateTime64> {
        let expected = format!("a date that 64 bits can count in unit {unit}");
        let instant = TimeZone::UTC.to_timestamp(date);
        DateTime64::from_timestamp(instant.map_err(|_| refused(&date, &expected))?, unit)
    }

    /// An instant as a date in UTC, rounded down to its unit.
    ///
    /// # Errors
    ///
    /// As [`from_civil`](DateTime64::from_civil).
    pub fn from_timestamp(instant: Timestamp, unit: Unit) -> Result<DateTime64> {
        let ticks = units::of_nanoseconds(instant.as_nanosecond(), unit);
        let expected = || format!("a date that 64 bits can count in unit {unit}");
        let ticks = ticks.ok_or_else(|| refused(&instant, &expected()))?;
        Ok(DateTime64 { ticks, unit: Some(unit) })
    }
}

impl TimeDelta64 {
    /// The length, to the nanosecond below; to the second below when it is
    /// longer than 292 years.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for `NaT`, differences
    /// without a unit, months and years, and what is longer than 64 bits count
    /// seconds.
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
    pub fn to_duration(self) -> Result<SignedDuration> {
        let refused = || refused(&self, "a duration that 64 bits can count in seconds");
        let unit = self.unit.filter(|_| !self.is_nat()).ok_or_else(refused)?;
        if let Some(Ticks(count)) = units::convert_difference(self.ticks, unit, NANOSECONDS) {
            return Ok(SignedDuration::from_nanos(count));
        }
        let seconds = units::convert_difference(self.ticks, unit, SECONDS).ok_or_else(refused)?;
        Ok(SignedDuration::from_secs(seconds.0))
    }

    /// A length in a unit, rounded down to it.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for months and years,
    /// and when it doesn't fit 64 bits.
    pub fn from_duration(duration: SignedDuration, unit: Unit) -> Result<TimeDelta64> {
        let expected = format!("a duration that 64 bits can count in unit {unit}");
        let ticks = units::steps(duration.as_nanos(), unit);
        let ticks = ticks.ok_or_else(|| refused(&duration, &expected))?;
        Ok(TimeDelta64 { ticks, unit: Some(unit) })
    }
}

fn refused(what: &dyn ToString, expected: &str) -> Error {
    DTypeError::Value { value: what.to_string(), expected: expected.to_owned() }.into()
}
