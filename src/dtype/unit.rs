//! Units of dates and time differences: `25s`.

use std::fmt;
use std::str::FromStr;

use crate::error::{DTypeError, Error, excerpt};

/// The unit of a `datetime64` or `timedelta64` and its multiple: `25s`.
///
/// A dtype without a unit (`'<M8'`) has no `Unit`.
///
/// # Examples
///
/// ```
/// use npymap::{DType, dtype::{Unit, UnitBase}};
///
/// let dtype: DType = "<M8[25s]".parse()?;
/// assert_eq!(dtype.unit(), Some(Unit { base: UnitBase::Second, multiple: 25 }));
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unit {
    /// The base unit.
    pub base: UnitBase,
    /// The number of base units per count; NumPy does not print a 1.
    pub multiple: u32,
}

/// The base of a [`Unit`], with NumPy's letters for it.
///
/// # Examples
///
/// ```
/// use npymap::{DType, dtype::UnitBase};
///
/// let dtype: DType = "<M8[ns]".parse()?;
/// assert_eq!(dtype.unit().unwrap().base, UnitBase::Nanosecond);
/// assert!(UnitBase::Second < UnitBase::Nanosecond); // from the longest to the shortest
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnitBase {
    /// `Y`
    Year,
    /// `M`
    Month,
    /// `W`
    Week,
    /// `D`
    Day,
    /// `h`
    Hour,
    /// `m`
    Minute,
    /// `s`
    Second,
    /// `ms`
    Millisecond,
    /// `us`
    Microsecond,
    /// `ns`
    Nanosecond,
    /// `ps`
    Picosecond,
    /// `fs`
    Femtosecond,
    /// `as`
    Attosecond,
}

/// NumPy's letters and names, from the longest unit to the shortest.
const TEXTS: [(UnitBase, &str, &str); 13] = [
    (UnitBase::Year, "Y", "years"),
    (UnitBase::Month, "M", "months"),
    (UnitBase::Week, "W", "weeks"),
    (UnitBase::Day, "D", "days"),
    (UnitBase::Hour, "h", "hours"),
    (UnitBase::Minute, "m", "minutes"),
    (UnitBase::Second, "s", "seconds"),
    (UnitBase::Millisecond, "ms", "milliseconds"),
    (UnitBase::Microsecond, "us", "microseconds"),
    (UnitBase::Nanosecond, "ns", "nanoseconds"),
    (UnitBase::Picosecond, "ps", "picoseconds"),
    (UnitBase::Femtosecond, "fs", "femtoseconds"),
    (UnitBase::Attosecond, "as", "attoseconds"),
];

impl UnitBase {
    /// The letters, and the name in the plural.
    #[inline]
    pub(crate) fn texts(self) -> (&'static str, &'static str) {
        let texts = TEXTS.iter().find(|(base, ..)| *base == self);
        texts.map_or(("", ""), |&(_, letters, plural)| (letters, plural))
    }

    /// The length in attoseconds. Returns `None` for months and years, because
    /// their lengths vary.
    #[inline]
    pub(crate) fn attoseconds(self) -> Option<i128> {
        let second = 1_000_000_000_000_000_000_i128;
        match self {
            UnitBase::Year | UnitBase::Month => None,
            UnitBase::Week => Some(604_800 * second),
            UnitBase::Day => Some(86_400 * second),
            UnitBase::Hour => Some(3_600 * second),
            UnitBase::Minute => Some(60 * second),
            UnitBase::Second => Some(second),
            UnitBase::Millisecond => Some(second / 1_000),
            UnitBase::Microsecond => Some(second / 1_000_000),
            UnitBase::Nanosecond => Some(1_000_000_000),
            UnitBase::Picosecond => Some(1_000_000),
            UnitBase::Femtosecond => Some(1_000),
            UnitBase::Attosecond => Some(1),
        }
    }

    /// The number of these units in one `longer` unit. Returns `None` if it
    /// depends on the date, or is not an integer of 64 bits.
    #[inline]
    pub(crate) fn count_in(self, longer: UnitBase) -> Option<u64> {
        if (longer, self) == (UnitBase::Year, UnitBase::Month) {
            return Some(12);
        }
        let (short, long) = (self.attoseconds()?, longer.attoseconds()?);
        if self == longer {
            return Some(1);
        }
        (long % short == 0).then(|| u64::try_from(long / short).ok()).flatten()
    }
}

impl fmt::Display for UnitBase {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.texts().0)
    }
}

impl fmt::Display for Unit {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.multiple != 1 {
            write!(f, "{}", self.multiple)?;
        }
        self.base.fmt(f)
    }
}

impl FromStr for Unit {
    type Err = Error;

    /// Reads `ns` or `25s`, with `μs` for `us`. The multiple is at most 2³¹ −
    /// 1.
    fn from_str(text: &str) -> Result<Unit, Error> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (multiple, letters) = text.split_at(digits);
        let letters = if letters == "μs" { "us" } else { letters };
        let base = TEXTS.iter().find(|(_, known, _)| *known == letters);
        let multiple = if multiple.is_empty() { Some(1) } else { multiple.parse::<i32>().ok() };
        match (base, multiple.and_then(|n| u32::try_from(n).ok())) {
            (Some(&(base, ..)), Some(multiple)) => Ok(Unit { base, multiple }),
            _ => Err(DTypeError::Invalid {
                descr: format!("[{}]", excerpt(text)),
                reason: "unknown unit of time, expected Y, M, W, D, h, m, s, ms, us, ns, ps, fs or as after an optional multiple, as in `[25s]`".to_owned(),
            }
            .into()),
        }
    }
}
