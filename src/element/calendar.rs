//! Arithmetic on dates and time differences, as in NumPy: operands are converted
//! to a common unit, and `NaT` stays `NaT`.

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

    /// Parses an ISO date in `unit`: `2020-02-29`, or
    /// `2020-02-29T12:34:56.789`, with `T` or a space, or `NaT`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the text is
    /// not a date, is more precise than the unit, or doesn't fit 64 bits. NumPy
    /// truncates more precise text.
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
    #[inline]
    pub fn parse(text: &str, unit: Unit) -> Result<DateTime64> {
        let ticks =
            if text == "NaT" { Some(Ticks::NAT) } else { parse_date(text, unit).map(Ticks) };
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

    /// Adds a time difference, in the common unit of both.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the count
    /// doesn't fit 64 bits, or if the operands have no common unit: months or
    /// years can't be added to dates in weeks or shorter units.
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
    #[inline]
    pub fn checked_add(self, difference: TimeDelta64) -> Result<DateTime64> {
        self.offset_by(difference, i128::checked_add)
    }

    /// Subtracts a time difference, in the common unit of both.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the count
    /// does not fit 64 bits, or if the operands have no common unit: months or
    /// years can't be subtracted from dates in weeks or shorter units.
    #[inline]
    pub fn checked_sub(self, difference: TimeDelta64) -> Result<DateTime64> {
        self.offset_by(difference, i128::checked_sub)
    }

    /// Returns the time from `other` to this date, in the common unit of both.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the count
    /// doesn't fit 64 bits.
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
    #[inline]
    pub fn duration_since(self, other: DateTime64) -> Result<TimeDelta64> {
        let unit = common_unit(self.unit, other.unit, &other)?;
        let end = convert(self.ticks, self.unit, unit, units::convert_date);
        let start = convert(other.ticks, other.unit, unit, units::convert_date);
        let ticks = combine(end, start, i128::checked_sub);
        ticks.map(|ticks| TimeDelta64 { ticks, unit }).ok_or_else(|| out_of_range(&other, unit))
    }

    #[inline]
    fn offset_by(
        self,
        difference: TimeDelta64,
        operation: fn(i128, i128) -> Option<i128>,
    ) -> Result<DateTime64> {
        let unit = common_unit(self.unit, difference.unit, &difference)?;
        let date = convert(self.ticks, self.unit, unit, units::convert_date);
        let steps = convert(difference.ticks, difference.unit, unit, units::convert_difference);
        let ticks = combine(date, steps, operation);
        ticks.map(|ticks| DateTime64 { ticks, unit }).ok_or_else(|| out_of_range(&difference, unit))
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

    /// Parses an ISO date in the unit of its last part, as `numpy.datetime64`
    /// does.
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

    /// Adds two differences, in the common unit of both.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the count
    /// doesn't fit 64 bits, or the operands have no common unit.
    #[inline]
    pub fn checked_add(self, other: TimeDelta64) -> Result<TimeDelta64> {
        self.combine(other, i128::checked_add)
    }

    /// Subtracts two differences, in the common unit of both.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the count
    /// does not fit 64 bits, or the operands have no common unit.
    #[inline]
    pub fn checked_sub(self, other: TimeDelta64) -> Result<TimeDelta64> {
        self.combine(other, i128::checked_sub)
    }

    /// Multiplies the difference by `factor`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the count
    /// doesn't fit 64 bits.
    #[inline]
    pub fn checked_mul(self, factor: i64) -> Result<TimeDelta64> {
        let product = i128::from(self.ticks.0).checked_mul(factor.into());
        let ticks =
            if self.is_nat() { Some(Ticks::NAT) } else { product.and_then(units::to_ticks) };
        let unit = self.unit;
        ticks.map(|ticks| TimeDelta64 { ticks, unit }).ok_or_else(|| out_of_range(&self, unit))
    }

    /// Compares two differences in any units. Returns `None` if one is `NaT`,
    /// or there is no common unit.
    #[must_use]
    #[inline]
    pub fn compare(self, other: TimeDelta64) -> Option<Ordering> {
        if self.is_nat() || other.is_nat() {
            return None;
        }
        match (self.unit, other.unit) {
            (Some(own), Some(others)) => {
                units::compare_differences((self.ticks, own), (other.ticks, others))
            }
            _ => Some(self.ticks.cmp(&other.ticks)),
        }
    }

    #[inline]
    fn combine(
        self,
        other: TimeDelta64,
        operation: fn(i128, i128) -> Option<i128>,
    ) -> Result<TimeDelta64> {
        let unit = common_unit(self.unit, other.unit, &other)?;
        let a = convert(self.ticks, self.unit, unit, units::convert_difference);
        let b = convert(other.ticks, other.unit, unit, units::convert_difference);
        let ticks = combine(a, b, operation);
        ticks.map(|ticks| TimeDelta64 { ticks, unit }).ok_or_else(|| out_of_range(&other, unit))
    }
}

/// The common unit of two operands. If only one has a unit, that. An error
/// names the second operand.
#[inline]
fn common_unit(
    first: Option<Unit>,
    second: Option<Unit>,
    operand: &dyn ToString,
) -> Result<Option<Unit>> {
    match (first, second) {
        (Some(first), Some(second)) => match units::common_unit(first, second) {
            Some(unit) => Ok(Some(unit)),
            None => Err(out_of_range(operand, Some(first))),
        },
        (unit, None) | (None, unit) => Ok(unit),
    }
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

/// Adds or subtracts counts. Returns `None` if one is, or if the result doesn't
/// fit.
#[inline]
fn combine(
    a: Option<Ticks>,
    b: Option<Ticks>,
    operation: fn(i128, i128) -> Option<i128>,
) -> Option<Ticks> {
    match (a?, b?) {
        (Ticks::NAT, _) | (_, Ticks::NAT) => Some(Ticks::NAT),
        (a, b) => units::to_ticks(operation(a.0.into(), b.0.into())?),
    }
}

#[inline]
fn invalid_date(text: &str, unit: Option<Unit>) -> Error {
    let value = format!("`{}`", excerpt(text));
    let in_unit = unit.map_or(String::new(), |unit| format!(" in unit {unit}"));
    let expected = format!("a date{in_unit}, such as 2020-02-29T12:00, or NaT");
    DTypeError::Value { value, expected }.into()
}

#[inline]
fn out_of_range(value: &dyn ToString, unit: Option<Unit>) -> Error {
    let expected = match unit {
        Some(unit) => format!("a 64-bit count in unit {unit}"),
        None => "a 64-bit count without a unit".to_owned(),
    };
    DTypeError::Value { value: value.to_string(), expected }.into()
}
