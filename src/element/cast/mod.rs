//! Casts: which of them NumPy's rules allow, why one is rejected, and how numbers
//! are converted.

mod number;
mod rules;

use std::fmt;
use std::str::FromStr;

use crate::dtype::DType;
use crate::error::{DTypeError, Error, Result, excerpt};

pub use number::Number;
pub(crate) use number::{WideNumber, is_same_value, nearest_half};

/// The casts that a call allows, like NumPy's `casting`.
///
/// Up to `same_kind`, each rule allows all casts that the rules before it allow.
/// `same_value` depends on the values, and `unsafe` allows all.
///
/// # Examples
///
/// ```
/// use npymap::{DType, element::Casting};
///
/// let (from, to): (DType, DType) = ("<i4".parse()?, "<f4".parse()?);
/// assert!(!from.can_cast(&to, Casting::Safe));
/// assert!(from.can_cast(&to, Casting::SameKind));
/// assert!(from.can_cast(&"<f8".parse()?, "safe".parse()?));
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Casting {
    /// No cast: `no`.
    No,
    /// Only changes of byte order: `equiv`.
    Equiv,
    /// Only casts that preserve every value: `safe`.
    Safe,
    /// Safe casts and casts within a kind, such as `f8` to `f4`: `same_kind`.
    SameKind,
    /// Any cast, if every value is preserved: `same_value`, new in NumPy 2.4.
    SameValue,
    /// Any cast: `unsafe`.
    Unsafe,
}

impl Casting {
    /// How many casts the rule allows, as far as dtypes tell.
    #[inline]
    fn looseness(self) -> u8 {
        match self {
            Casting::No => 0,
            Casting::Equiv => 1,
            Casting::Safe => 2,
            Casting::SameKind => 3,
            Casting::SameValue | Casting::Unsafe => 4,
        }
    }

    /// The one of two rules that allows more.
    #[inline]
    fn looser(self, other: Casting) -> Casting {
        if other.looseness() > self.looseness() { other } else { self }
    }

    /// Whether the rule allows a cast that requires another one, as far as dtypes tell.
    #[inline]
    fn allows(self, required: Casting) -> bool {
        self.looseness() >= required.looseness()
    }
}

/// NumPy's names.
const NAMES: [(&str, Casting); 6] = [
    ("no", Casting::No),
    ("equiv", Casting::Equiv),
    ("safe", Casting::Safe),
    ("same_kind", Casting::SameKind),
    ("same_value", Casting::SameValue),
    ("unsafe", Casting::Unsafe),
];

impl fmt::Display for Casting {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, casting)| casting == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

impl FromStr for Casting {
    type Err = Error;

    /// Parses NumPy's names: `no`, `equiv`, `safe`, `same_kind`, `same_value`,
    /// `unsafe`.
    #[inline]
    fn from_str(text: &str) -> Result<Casting> {
        let known = NAMES.iter().find(|(name, _)| *name == text);
        known.map(|(_, casting)| *casting).ok_or_else(|| {
            let expected = "no, equiv, safe, same_kind, same_value or unsafe";
            Error::invalid_value(format_args!("casting '{}'", excerpt(text)), expected)
        })
    }
}

impl DType {
    /// Returns whether values of this dtype can be cast to another: NumPy's
    /// `can_cast`. Structs are compared field by field, by position.
    ///
    /// [`Casting::SameValue`] depends on the values, so it is treated as
    /// [`Casting::Unsafe`] here.
    #[must_use]
    #[inline]
    pub fn can_cast(&self, to: &DType, casting: Casting) -> bool {
        rules::required_casting(self, to).is_some_and(|required| casting.allows(required))
    }
}

/// Returns an error if a cast isn't allowed.
#[inline]
pub(crate) fn check_cast(from: &DType, to: &DType, casting: Casting) -> Result<()> {
    let required = rules::required_casting(from, to);
    if required.is_some_and(|required| casting.allows(required)) {
        return Ok(());
    }
    let works = match required {
        Some(required) => format!("allow it with casting `{required}`"),
        None => "NumPy has no such cast".to_owned(),
    };
    Err(cannot_cast(from, to, casting, works))
}

/// The error for a cast that is not allowed, with what would work.
pub(crate) fn cannot_cast(
    from: &DType,
    to: &DType,
    casting: Casting,
    works: impl Into<String>,
) -> Error {
    let (from, to, casting) = (from.to_string(), to.to_string(), casting.to_string());
    DTypeError::Cast { from, to, casting, works: works.into() }.into()
}
