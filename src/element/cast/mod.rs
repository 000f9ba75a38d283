//! Which dtypes become which: NumPy's casting rules, and the casts.

mod number;
mod rules;

use std::fmt;
use std::str::FromStr;

use crate::dtype::DType;
use crate::error::{DTypeError, Error, Result, excerpt};

pub use number::Number;
pub(crate) use number::{WideNumber, is_same_value, nearest_half};

/// What may happen to values that change their dtype: NumPy's `casting`.
///
/// Each allows what those before it do.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Casting {
    /// Nothing changes: `no`.
    No,
    /// Byte order may change: `equiv`.
    Equiv,
    /// Only what keeps every value: `safe`.
    Safe,
    /// Safe casts, and those within a kind, as `f8` to `f4`: `same_kind`.
    SameKind,
    /// Any cast, but every value has to stay what it is: `same_value`, new in
    /// NumPy 2.4.
    SameValue,
    /// Any cast: `unsafe`.
    Unsafe,
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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, casting)| casting == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

impl FromStr for Casting {
    type Err = Error;

    /// Reads NumPy's names: `no`, `equiv`, `safe`, `same_kind`, `same_value`,
    /// `unsafe`.
    fn from_str(text: &str) -> Result<Casting> {
        let known = NAMES.iter().find(|(name, _)| *name == text);
        known.map(|(_, casting)| *casting).ok_or_else(|| {
            let value = format!("casting '{}'", excerpt(text));
            let expected = "no, equiv, safe, same_kind, same_value or unsafe".to_owned();
            DTypeError::Value { value, expected }.into()
        })
    }
}

impl DType {
    /// Whether values of this dtype may become values of another: NumPy's
    /// `can_cast`. Structs go field by field, by position.
    ///
    /// Of [`Casting::SameValue`] the values decide, so it is as
    /// [`Casting::Unsafe`] here.
    #[must_use]
    pub fn can_cast(&self, to: &DType, casting: Casting) -> bool {
        rules::needed(self, to).is_some_and(|needed| allows(casting, needed))
    }
}

fn allows(casting: Casting, needed: Casting) -> bool {
    needed <= casting || casting == Casting::SameValue
}

/// Refuses a cast that isn't allowed.
pub(crate) fn check_cast(from: &DType, to: &DType, casting: Casting) -> Result<()> {
    let needed = rules::needed(from, to);
    if needed.is_some_and(|needed| allows(casting, needed)) {
        return Ok(());
    }
    let works = match needed {
        Some(needed) => format!("allow it with casting `{needed}`"),
        None => "NumPy has no such cast".to_owned(),
    };
    Err(DTypeError::Cast {
        from: from.to_string(),
        to: to.to_string(),
        casting: casting.to_string(),
        works,
    }
    .into())
}
