//! Units of dates and time differences: `25s`.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, excerpt};

/// The unit of a `datetime64` or `timedelta64` and its multiple: `25s`.
///
/// A dtype without a unit (`'<M8'`) has none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unit {
    /// What is counted.
    pub base: UnitBase,
    /// How many of them one step is; NumPy writes 1 as nothing.
    pub multiple: u32,
}

/// What a [`Unit`] counts; NumPy's letters for them.
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

/// NumPy's letters, from long to short.
const LETTERS: [(UnitBase, &str); 13] = [
    (UnitBase::Year, "Y"),
    (UnitBase::Month, "M"),
    (UnitBase::Week, "W"),
    (UnitBase::Day, "D"),
    (UnitBase::Hour, "h"),
    (UnitBase::Minute, "m"),
    (UnitBase::Second, "s"),
    (UnitBase::Millisecond, "ms"),
    (UnitBase::Microsecond, "us"),
    (UnitBase::Nanosecond, "ns"),
    (UnitBase::Picosecond, "ps"),
    (UnitBase::Femtosecond, "fs"),
    (UnitBase::Attosecond, "as"),
];

impl fmt::Display for UnitBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters =
            LETTERS.iter().find(|(base, _)| base == self).map_or("", |(_, letters)| letters);
        f.write_str(letters)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.multiple != 1 {
            write!(f, "{}", self.multiple)?;
        }
        self.base.fmt(f)
    }
}

impl FromStr for Unit {
    type Err = Error;

    /// Reads `ns` or `25s`, and `μs` for `us`; the multiple is at most 2³¹ − 1.
    fn from_str(text: &str) -> Result<Unit, Error> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (multiple, letters) = text.split_at(digits);
        let letters = if letters == "μs" { "us" } else { letters };
        let base = LETTERS.iter().find(|(_, known)| *known == letters);
        let multiple = if multiple.is_empty() { Some(1) } else { multiple.parse::<i32>().ok() };
        match (base, multiple.and_then(|n| u32::try_from(n).ok())) {
            (Some(&(base, _)), Some(multiple)) => Ok(Unit { base, multiple }),
            _ => Err(ErrorKind::DType {
                descr: format!("[{}]", excerpt(text)),
                reason: "no unit of time, expected Y, M, W, D, h, m, s, ms, us, ns, ps, fs or as behind an optional multiple, as in `[25s]`".to_owned(),
            }
            .into()),
        }
    }
}
