//! Dates and time differences with their units.

use std::fmt;

use super::scalar::{read, write};
use super::{Element, Ticks, type_mismatch};
use crate::dtype::{ByteOrder, DType, Kind, Unit};
use crate::element::value::{date_text, difference_text};
use crate::error::{DTypeError, Result};

/// A unit in an error message: `unit ns`.
#[inline]
pub(super) fn unit_name(unit: Option<Unit>) -> String {
    unit.map_or_else(|| "no unit".to_owned(), |unit| format!("unit {unit}"))
}

/// Returns whether ticks of a unit can be stored where the unit is `stored`. As in
/// NumPy, a `NaT` without a unit can be stored anywhere.
#[inline]
pub(super) fn fits_unit(ticks: Ticks, unit: Option<Unit>, stored: Option<Unit>) -> bool {
    unit == stored || (ticks == Ticks::NAT && unit.is_none())
}

macro_rules! with_unit {
    ($(#[$docs:meta])* $name:ident, $kind:ident, $to_text:ident) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name {
            /// The count of units, or [`Ticks::NAT`].
            pub ticks: Ticks,
            /// The unit. Returns `None` for NumPy's generic unit.
            pub unit: Option<Unit>,
        }

        impl $name {
            /// `NaT`, without a unit. It can be stored in arrays of any unit.
            pub const NAT: $name = $name { ticks: Ticks::NAT, unit: None };

            /// Returns whether this is `NaT`.
            #[must_use]
            #[inline]
            pub fn is_nat(self) -> bool {
                self.ticks == Ticks::NAT
            }
        }

        impl Element for $name {
            type Codec = (ByteOrder, Option<Unit>);

            fn codec(dtype: &DType) -> Result<Self::Codec> {
                if dtype.kind() == Kind::$kind {
                    Ok((dtype.byte_order(), dtype.unit()))
                } else {
                    Err(type_mismatch(dtype, stringify!($name)))
                }
            }

            fn itemsize(_: &Self::Codec) -> usize {
                8
            }

            fn decode(&(order, unit): &Self::Codec, bytes: &[u8]) -> Self {
                $name { ticks: read(order, bytes), unit }
            }

            /// Rejects a unit that differs from the dtype's, except of a `NaT` without one.
            fn encode(&self, &(order, unit): &Self::Codec, bytes: &mut [u8]) -> Result<()> {
                if !fits_unit(self.ticks, self.unit, unit) {
                    let value = format!("{self} in {}", unit_name(self.unit));
                    return Err(DTypeError::Value { value, expected: unit_name(unit) }.into());
                }
                write(self.ticks, order, bytes);
                Ok(())
            }
        }

        /// Prints as NumPy does.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&$to_text(self.ticks, self.unit))
            }
        }
    };
}

with_unit! {
    /// A date: NumPy's `datetime64`.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, element::{DateTime64, Ticks}};
    ///
    /// let mut days = MappedArray::zeros(&">M8[D]".parse()?, &[1])?;
    /// days.view_mut::<Ticks>()?.set(0, Ticks(18_321))?;
    /// assert_eq!(days.view::<DateTime64>()?.at(0).to_string(), "2020-02-29");
    /// # Ok::<(), npymap::Error>(())
    /// ```
    DateTime64, DateTime, date_text
}

with_unit! {
    /// A time difference: NumPy's `timedelta64`.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::element::{Ticks, TimeDelta64};
    ///
    /// let delta = TimeDelta64 { ticks: Ticks(5), unit: Some("25s".parse()?) };
    /// assert_eq!(delta.to_string(), "125 seconds");
    /// # Ok::<(), npymap::Error>(())
    /// ```
    TimeDelta64, TimeDelta, difference_text
}
