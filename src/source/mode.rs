//! How to open an array.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, RequestError, excerpt};

/// How to open an array, with NumPy's modes.
///
/// # Examples
///
/// ```
/// use npymap::Mode;
///
/// assert_eq!("r+".parse::<Mode>()?, Mode::ReadWrite);
/// assert_eq!("copyonwrite".parse::<Mode>()?, Mode::CopyOnWrite);
/// assert_eq!(Mode::Create.to_string(), "w+");
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `r`, `readonly`: read-only.
    ReadOnly,
    /// `r+`, `readwrite`: stores change the file.
    ReadWrite,
    /// `w+`, `write`: creates the file, then as `r+`.
    Create,
    /// `c`, `copyonwrite`: stores change memory only.
    CopyOnWrite,
}

impl FromStr for Mode {
    type Err = Error;

    #[inline]
    fn from_str(text: &str) -> Result<Mode, Error> {
        match text {
            "r" | "readonly" => Ok(Mode::ReadOnly),
            "r+" | "readwrite" => Ok(Mode::ReadWrite),
            "w+" | "write" => Ok(Mode::Create),
            "c" | "copyonwrite" => Ok(Mode::CopyOnWrite),
            _ => Err(RequestError::Mode { found: excerpt(text) }.into()),
        }
    }
}

impl fmt::Display for Mode {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::ReadOnly => "r",
            Mode::ReadWrite => "r+",
            Mode::Create => "w+",
            Mode::CopyOnWrite => "c",
        })
    }
}
