//! Capabilities of the terminal, and numbers short enough for legends.

use std::io;

use anstream::{AutoStream, ColorChoice};
use npymap::Value;

use crate::output::table;

/// How many colours standard output can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Palette {
    /// No colours: not a terminal, `NO_COLOR` or `TERM=dumb`.
    None,
    /// The 256 colours of xterm.
    Indexed,
    /// All colours.
    Rgb,
}

/// The colours of standard output.
pub(crate) fn palette() -> Palette {
    if AutoStream::choice(&io::stdout()) == ColorChoice::Never {
        return Palette::None;
    }
    match variable("COLORTERM").as_str() {
        "truecolor" | "24bit" => Palette::Rgb,
        _ => Palette::Indexed,
    }
}

/// The columns and lines of the terminal, or of a usual one.
pub(crate) fn size() -> (usize, usize) {
    let lines = table::terminal_side("LINES", |_, height| height.0);
    (table::terminal_width().unwrap_or(80), lines.unwrap_or(24))
}

/// Returns whether block characters can be printed.
pub(crate) fn is_unicode() -> bool {
    if variable("TERM") == "dumb" {
        return false;
    }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(variable);
    let locale = locale.iter().find(|value| !value.is_empty()).map(|name| name.to_lowercase());
    // Without a locale, as in containers, terminals expect UTF-8 nowadays.
    locale.is_none_or(|name| name.contains("utf") || !matches!(name.as_str(), "c" | "posix"))
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// A number with at most four significant digits.
pub(crate) fn brief(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    if !number.is_finite() {
        return Value::F64(number).to_string();
    }
    let rounded: f64 = format!("{number:.3e}").parse().expect("it is a number");
    let rounded = Value::F64(rounded).to_string();
    rounded.strip_suffix(".0").unwrap_or(&rounded).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legends_have_four_digits() {
        for (number, expected) in [
            (11.342_91, "11.34"),
            (-0.000_123_456, "-0.0001235"),
            (3.0, "3"),
            (0.0, "0"),
            (-0.0, "0"),
            (1e300, "1e+300"),
            (123_456.0, "123500"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(brief(number), expected);
        }
    }
}
