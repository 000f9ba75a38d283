//! Arithmetic on dates and time differences, as NumPy's: units are promoted
//! to the one both count in, and `NaT` stays `NaT`.

use std::cmp::Ordering;
use std::str::FromStr;

use super::{DateTime64, Ticks, TimeDelta64};
use crate::dtype::Unit;
use crate::element::value::{date_ticks, units};
use crate::error::{DTypeError, Error, Result, excerpt};

impl DateTime64 {
    /// No date, in no unit.
    pub const NAT: DateTime64 = DateTime64 { ticks: Ticks::NAT, unit: None };

    /// True for `NaT`.
    #[must_use]
    pub fn is_nat(self) -> bool {
        self.ticks == Ticks::NAT
    }

    /// Reads ISO text as a date of a unit: `2020-02-29`, or
    /// `2020-02-29T12:34:56.789`, with `T` or a space; `NaT` too.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for text that is not a
    /// date, has more parts than the unit, or is beyond it. NumPy drops the
    /// parts.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::element::DateTime64;
    ///
    /// let date = DateTime64::parse("2020-02-29T12:00", "s".parse()?)?;
    /// assert_eq!(date.ticks.0, 1_582_977_600);
    /// assert!(DateTime64::parse("2020-02-30", "s".parse()?).is_err());
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn parse(text: &str, unit: Unit) -> Result<DateTime64> {
        let ticks =
            if text == "NaT" { Some(Ticks::NAT) } else { date_ticks(text, unit).map(Ticks) };
        let unit = Some(unit);
        ticks.map(|ticks| DateTime64 { ticks, unit }).ok_or_else(|| no_date(text, unit))
    }

    /// The date in another unit, rounded down to it.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when it doesn't fit 64
    /// bits, where NumPy wraps around; and for dates without a unit.
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
    pub fn to_unit(self, unit: Unit) -> Result<DateTime64> {
        let ticks = match self.unit {
            _ if self.is_nat() => Some(Ticks::NAT),
            Some(own) => units::convert_date(self.ticks, own, unit),
            None => None,
        };
        let unit = Some(unit);
        ticks.map(|ticks| DateTime64 { ticks, unit }).ok_or_else(|| beyond(&self, unit))
    }

    /// The date so much later, in the unit both count in.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when it doesn't fit 64
    /// bits, and for adding months or years to dates of days or less, which
    /// have no such unit.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::element::{DateTime64, Ticks, TimeDelta64};
    ///
    /// let date: DateTime64 = "2020-02-28".parse()?;
    /// let hours = TimeDelta64 { ticks: Ticks(36), unit: Some("h".parse()?) };
    /// assert_eq!(date.checked_add(hours)?.to_string(), "2020-02-29T12");
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn checked_add(self, difference: TimeDelta64) -> Result<DateTime64> {
        let unit = promoted(self.unit, difference.unit, &difference)?;
        let date = at(self.ticks, self.unit, unit, units::convert_date);
        let steps = at(difference.ticks, difference.unit, unit, units::convert_difference);
        let ticks = sum(date, steps, i128::checked_add);
        ticks.map(|ticks| DateTime64 { ticks, unit }).ok_or_else(|| beyond(&difference, unit))
    }

    /// The date so much earlier, as [`checked_add`](DateTime64::checked_add).
    ///
    /// # Errors
    ///
    /// As [`checked_add`](DateTime64::checked_add).
    pub fn checked_sub(self, difference: TimeDelta64) -> Result<DateTime64> {
        let unit = promoted(self.unit, difference.unit, &difference)?;
        let date = at(self.ticks, self.unit, unit, units::convert_date);
        let steps = at(difference.ticks, difference.unit, unit, units::convert_difference);
        let ticks = sum(date, steps, i128::checked_sub);
        ticks.map(|ticks| DateTime64 { ticks, unit }).ok_or_else(|| beyond(&difference, unit))
    }

    /// How much later it is than another, in the unit both count in.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when that doesn't fit
    /// 64 bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::element::DateTime64;
    ///
    /// let (from, to): (DateTime64, DateTime64) = ("2020-01".parse()?, "2020-03-01".parse()?);
    /// assert_eq!(to.duration_since(from)?.to_string(), "60 days");
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn duration_since(self, other: DateTime64) -> Result<TimeDelta64> {
        let unit = promoted(self.unit, other.unit, &other)?;
        let own = at(self.ticks, self.unit, unit, units::convert_date);
        let others = at(other.ticks, other.unit, unit, units::convert_date);
        let ticks = sum(own, others, i128::checked_sub);
        ticks.map(|ticks| TimeDelta64 { ticks, unit }).ok_or_else(|| beyond(&other, unit))
    }

    /// Which of two dates is earlier, whatever their units; `None` when one is
    /// `NaT`, or no unit counts both.
    #[must_use]
    pub fn compare(self, other: DateTime64) -> Option<Ordering> {
        if self.is_nat() || other.is_nat() {
            return None;
        }
        if self.unit == other.unit {
            return Some(self.ticks.cmp(&other.ticks));
        }
        Some(units::place(self.ticks, self.unit?).cmp(&units::place(other.ticks, other.unit?)))
    }
}

impl FromStr for DateTime64 {
    type Err = Error;

    /// Reads ISO text in the unit of its last part, as `numpy.datetime64`
    /// does.
    fn from_str(text: &str) -> Result<DateTime64> {
        if text == "NaT" {
            return Ok(DateTime64::NAT);
        }
        let unit = units::unit_of(text).ok_or_else(|| no_date(text, None))?;
        DateTime64::parse(text, unit)
    }
}

impl TimeDelta64 {
    /// No time difference, in no unit.
    pub const NAT: TimeDelta64 = TimeDelta64 { ticks: Ticks::NAT, unit: None };

    /// True for `NaT`.
    #[must_use]
    pub fn is_nat(self) -> bool {
        self.ticks == Ticks::NAT
    }

    /// The difference in another unit, rounded down to it.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when it doesn't fit 64
    /// bits, where NumPy wraps around; and from months and years, whose length
    /// differs, to weeks and less, or back.
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
    pub fn to_unit(self, unit: Unit) -> Result<TimeDelta64> {
        let ticks = at(self.ticks, self.unit, Some(unit), units::convert_difference);
        let unit = Some(unit);
        ticks.map(|ticks| TimeDelta64 { ticks, unit }).ok_or_else(|| beyond(&self, unit))
    }

    /// The sum of two differences, in the unit both count in.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when it doesn't fit 64
    /// bits, or no unit counts both.
    pub fn checked_add(self, other: TimeDelta64) -> Result<TimeDelta64> {
        self.joined(other, i128::checked_add)
    }

    /// The difference of two differences, as [`checked_add`](TimeDelta64::checked_add).
    ///
    /// # Errors
    ///
    /// As [`checked_add`](TimeDelta64::checked_add).
    pub fn checked_sub(self, other: TimeDelta64) -> Result<TimeDelta64> {
        self.joined(other, i128::checked_sub)
    }

    /// So many times the difference.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when it doesn't fit 64
    /// bits.
    pub fn checked_mul(self, factor: i64) -> Result<TimeDelta64> {
        let factor = Some(Ticks(factor));
        let ticks = if self.is_nat() { Some(Ticks::NAT) } else { product(self.ticks, factor) };
        let unit = self.unit;
        ticks.map(|ticks| TimeDelta64 { ticks, unit }).ok_or_else(|| beyond(&self, unit))
    }

    /// Which of two differences is less, whatever their units; `None` when one
    /// is `NaT`, or no unit counts both.
    #[must_use]
    pub fn compare(self, other: TimeDelta64) -> Option<Ordering> {
        if self.is_nat() || other.is_nat() {
            return None;
        }
        match (self.unit, other.unit) {
            (Some(own), Some(others)) => units::compare((self.ticks, own), (other.ticks, others)),
            _ => Some(self.ticks.cmp(&other.ticks)),
        }
    }

    fn joined(
        self,
        other: TimeDelta64,
        join: fn(i128, i128) -> Option<i128>,
    ) -> Result<TimeDelta64> {
        let unit = match (self.unit, other.unit) {
            (Some(own), Some(others)) => {
                let unit = units::common(own, others).ok_or_else(|| beyond(&other, Some(own)))?;
                Some(unit)
            }
            (unit, None) | (None, unit) => unit,
        };
        let own = at(self.ticks, self.unit, unit, units::convert_difference);
        let others = at(other.ticks, other.unit, unit, units::convert_difference);
        let ticks = sum(own, others, join);
        ticks.map(|ticks| TimeDelta64 { ticks, unit }).ok_or_else(|| beyond(&other, unit))
    }
}

/// The unit that counts both; of what has none, the other's.
fn promoted(own: Option<Unit>, other: Option<Unit>, what: &dyn ToString) -> Result<Option<Unit>> {
    match (own, other) {
        (Some(own), Some(other)) => match units::common(own, other) {
            Some(unit) => Ok(Some(unit)),
            None => Err(beyond(&what.to_string(), Some(own))),
        },
        (unit, None) | (None, unit) => Ok(unit),
    }
}

/// A count in another unit; counts without a unit are of any.
fn at(
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

fn sum(a: Option<Ticks>, b: Option<Ticks>, join: fn(i128, i128) -> Option<i128>) -> Option<Ticks> {
    match (a?, b?) {
        (Ticks::NAT, _) | (_, Ticks::NAT) => Some(Ticks::NAT),
        (a, b) => units::ticks(join(a.0.into(), b.0.into())?),
    }
}

fn product(a: Ticks, b: Option<Ticks>) -> Option<Ticks> {
    units::ticks(i128::from(a.0).checked_mul(b?.0.into())?)
}

fn no_date(text: &str, unit: Option<Unit>) -> Error {
    let value = format!("`{}`", excerpt(text));
    let of = unit.map_or(String::new(), |unit| format!(" in unit {unit}"));
    DTypeError::Value { value, expected: format!("a date{of}, such as 2020-02-29T12:00, or NaT") }
        .into()
}

fn beyond(what: &dyn ToString, unit: Option<Unit>) -> Error {
    let unit = unit.map_or_else(|| "without a unit".to_owned(), |unit| format!("in unit {unit}"));
    DTypeError::Value { value: what.to_string(), expected: format!("a 64-bit count {unit}") }.into()
}
