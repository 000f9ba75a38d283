//! How an array is opened.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, RequestError, excerpt};

/// How an array is opened; NumPy's modes under NumPy's names.
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
    /// `r`, `readonly`: nothing can be stored.
    ReadOnly,
    /// `r+`, `readwrite`: what is stored goes to the file.
    ReadWrite,
    /// `w+`, `write`: a new file, then as `r+`.
    Create,
    /// `c`, `copyonwrite`: what is stored stays in memory.
    CopyOnWrite,
}

impl FromStr for Mode {
    type Err = Error;

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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::ReadOnly => "r",
            Mode::ReadWrite => "r+",
            Mode::Create => "w+",
            Mode::CopyOnWrite => "c",
        })
    }
}
