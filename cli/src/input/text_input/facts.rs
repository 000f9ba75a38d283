//! Common properties of the cells of a column, and the dtype that holds them all.

use npymap::{DType, Value};

use crate::input::text_format::is_bytes_literal;

/// A cell of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell<'a> {
    pub(super) text: &'a str,
    /// Whether it is text even if it looks like a number: a string of JSON.
    pub(super) is_string: bool,
}

/// The kinds of cells in a column, and their sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The kinds, one bit each.
    kinds: u8,
    /// The finest unit of the dates.
    date: Option<DateUnit>,
    /// The length of the longest cell, in characters.
    chars: usize,
}

const MISSING: u8 = 1;
const BOOL: u8 = 1 << 1;
const INT: u8 = 1 << 2;
const NEGATIVE: u8 = 1 << 3;
/// Integers beyond 63 bits.
const LARGE: u8 = 1 << 4;
const FLOAT: u8 = 1 << 5;
const TEXT: u8 = 1 << 6;

/// How fine the unit of dates is, and their dtype.
type DateUnit = (u8, &'static str);

const DAY: DateUnit = (0, "<M8[D]");

/// Returns whether a cell has no value: it is empty, or says so.
pub(super) fn is_missing(text: &str) -> bool {
    matches!(trimmed(text), "" | "NA" | "null")
}

/// The text without white space around it, which few cells have.
pub(super) fn trimmed(text: &str) -> &str {
    let ends = [text.as_bytes().first(), text.as_bytes().last()];
    let is_bare = ends.iter().all(|end| end.is_some_and(u8::is_ascii_graphic));
    if is_bare { text } else { text.trim() }
}

impl Facts {
    /// Takes a cell into account.
    pub(super) fn add(&mut self, cell: Cell<'_>) {
        let Cell { text, is_string } = cell;
        // The length in bytes is at least that in characters.
        if text.len() > self.chars {
            self.chars = self.chars.max(text.chars().count());
        }
        if self.has(TEXT) {
            return;
        }
        let trimmed = trimmed(text);
        if !is_string && is_missing(trimmed) {
            self.kinds |= MISSING;
            return;
        }
        if !is_string && starts_like_number(trimmed) {
            let number = number(trimmed);
            if number == Some(Number::Integer) && !self.has(FLOAT) && self.add_integer(trimmed) {
                return;
            }
            if number.is_some() {
                self.kinds |= FLOAT;
                return;
            }
        }
        if is_string && matches!(trimmed, "nan" | "inf" | "-inf") {
            self.kinds |= FLOAT;
        } else if !is_string && parse_bool(trimmed).is_some() {
            self.kinds |= BOOL;
        } else if trimmed == "NaT" {
            self.kinds |= MISSING;
            self.date = self.date.max(Some(DAY));
        } else if let Some(unit) = date_unit(trimmed) {
            self.date = self.date.max(Some(unit));
        } else {
            self.kinds |= TEXT;
        }
    }

    /// Returns whether there is a cell of one of these kinds.
    fn has(&self, kinds: u8) -> bool {
        self.kinds & kinds != 0
    }

    /// Takes an integer into account; returns false for other numbers.
    fn add_integer(&mut self, text: &str) -> bool {
        if let Ok(int) = text.parse::<i64>() {
            self.kinds |= if int < 0 { INT | NEGATIVE } else { INT };
            return true;
        }
        let is_large = text.parse::<u64>().is_ok();
        self.kinds |= if is_large { LARGE } else { 0 };
        is_large
    }

    /// Joins the facts of two parts of a column, or of several columns.
    pub(super) fn merge(&mut self, other: &Facts) {
        self.kinds |= other.kinds;
        self.date = self.date.max(other.date);
        self.chars = self.chars.max(other.chars);
    }

    /// Returns whether a cell is text of no other kind.
    pub(super) fn is_text(&self) -> bool {
        self.has(TEXT)
    }

    /// Returns whether all cells are numbers.
    pub(super) fn is_number(&self) -> bool {
        !self.has(TEXT | BOOL) && self.date.is_none()
    }

    /// The smallest of the usual dtypes that holds all cells.
    pub(super) fn dtype(&self) -> npymap::Result<DType> {
        match self.date {
            Some((_, dtype)) if !self.has(TEXT | BOOL | INT | LARGE | FLOAT) => {
                return dtype.parse();
            }
            Some(_) => return self.text_dtype(),
            None => {}
        }
        if self.has(TEXT) || self.has(BOOL) && self.has(INT | LARGE | FLOAT | MISSING) {
            return self.text_dtype();
        }
        let is_float = self.has(FLOAT | MISSING) || !self.has(INT | LARGE);
        let name = if self.has(BOOL) {
            "|b1"
        } else if is_float || self.has(LARGE) && self.has(NEGATIVE) {
            "<f8"
        } else if self.has(LARGE) {
            "<u8"
        } else {
            "<i8"
        };
        name.parse()
    }

    fn text_dtype(&self) -> npymap::Result<DType> {
        format!("<U{}", self.chars.max(1)).parse()
    }
}

/// Returns whether a text that has no dtype of its own here was probably printed
/// from a value: a complex number, bytes, or a date of another unit. A name could
/// still have this form, as a column for each month.
pub(super) fn may_be_value(text: &str) -> bool {
    let text = trimmed(text);
    is_bytes_literal(text) || text.starts_with('(') && text.ends_with("j)") || is_any_date(text)
}

/// Returns whether a text starts with a year and a month, and ends there or
/// continues with a day, as NumPy prints dates.
pub(super) fn is_any_date(text: &str) -> bool {
    let year = text.strip_prefix('-').unwrap_or(text);
    let (digits, rest) = split_digits(year.as_bytes());
    let (Some(rest), 4..) = (rest.strip_prefix(b"-"), digits) else { return false };
    let (digits, rest) = split_digits(rest);
    match rest.strip_prefix(b"-").map(split_digits) {
        _ if digits != 2 => false,
        None => rest.is_empty(),
        Some((digits, rest)) => digits == 2 && (rest.is_empty() || rest.starts_with(b"T")),
    }
}

/// Returns whether a text starts with a digit, or a sign and a digit.
pub(super) fn has_digit_first(text: &str) -> bool {
    without_sign(trimmed(text).as_bytes()).first().is_some_and(u8::is_ascii_digit)
}

/// Parses a boolean as Python, JSON and spreadsheets write it.
pub(super) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "True" | "true" | "TRUE" => Some(true),
        "False" | "false" | "FALSE" => Some(false),
        _ => None,
    }
}

/// A number as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Integer,
    /// With a point or an exponent, or not finite.
    Float,
}

/// Recognizes the numbers that `f64` is parsed from, without computing them.
fn number(text: &str) -> Option<Number> {
    let (whole, rest) = split_digits(without_sign(text.as_bytes()));
    if rest.is_empty() && whole > 0 {
        return Some(Number::Integer);
    }
    let (fraction, rest) = rest.strip_prefix(b".").map_or((0, rest), split_digits);
    if whole + fraction == 0 {
        return text.parse::<f64>().is_ok().then_some(Number::Float);
    }
    let [b'e' | b'E', rest @ ..] = rest else {
        return rest.is_empty().then_some(Number::Float);
    };
    let (exponent, rest) = split_digits(without_sign(rest));
    (exponent > 0 && rest.is_empty()).then_some(Number::Float)
}

fn without_sign(number: &[u8]) -> &[u8] {
    match number {
        [b'-' | b'+', rest @ ..] => rest,
        _ => number,
    }
}

/// The number of digits at the start, and the rest.
fn split_digits(bytes: &[u8]) -> (usize, &[u8]) {
    let count = bytes.iter().position(|b| !b.is_ascii_digit()).unwrap_or(bytes.len());
    (count, bytes.split_at(count).1)
}

/// Returns whether a text may be a number: most other texts need not be parsed.
fn starts_like_number(text: &str) -> bool {
    text.starts_with(|c: char| {
        c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'n' | 'N' | 'i' | 'I')
    })
}

/// The unit of an ISO date such as `2020-02-29` or `2020-02-29T12:00:00.5`.
fn date_unit(text: &str) -> Option<DateUnit> {
    let day = text.get(..10)?;
    let is_day = day.bytes().enumerate().all(|(at, b)| match at {
        4 | 7 => b == b'-',
        _ => b.is_ascii_digit(),
    });
    if !is_day {
        return None;
    }
    let time = text.get(10..)?;
    let time = time.strip_suffix('Z').unwrap_or(time);
    let unit = match time.split_once('.').map(|(_, fraction)| fraction.len()) {
        _ if time.is_empty() => DAY,
        None => (1, "<M8[s]"),
        Some(..=3) => (2, "<M8[ms]"),
        Some(..=6) => (3, "<M8[us]"),
        Some(..=9) => (4, "<M8[ns]"),
        Some(_) => return None,
    };
    let dtype: DType = unit.1.parse().expect("it is a dtype");
    Value::parse(text, &dtype).is_ok().then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dtype(cells: &[&str]) -> String {
        let mut facts = Facts::default();
        for text in cells {
            facts.add(Cell { text, is_string: false });
        }
        facts.dtype().unwrap().to_string()
    }

    #[test]
    fn the_dtype_holds_all_cells() {
        for (cells, expected) in [
            (&["1", "-2"][..], "'<i8'"),
            (&["1", "18446744073709551615"], "'<u8'"),
            (&["-1", "18446744073709551615"], "'<f8'"),
            (&["1", "18446744073709551616"], "'<f8'"),
            (&["1", ""], "'<f8'"),
            (&["1", "2.5", "NA"], "'<f8'"),
            (&["nan", "-inf", "1e3"], "'<f8'"),
            (&["", "null"], "'<f8'"),
            (&["True", "false"], "'|b1'"),
            (&["True", ""], "'<U4'"),
            (&["True", "1"], "'<U4'"),
            (&["2020-02-29", "NaT"], "'<M8[D]'"),
            (&["2020-02-29", "2020-02-29T12:00", ""], "'<M8[s]'"),
            (&["2020-02-29T12:00:00.5"], "'<M8[ms]'"),
            (&["2020-02-29T12:00:00.123456789"], "'<M8[ns]'"),
            (&["2020-02-29T12:00:00.123456789Z"], "'<M8[ns]'"),
            (&["2020-02-29T12:00:00.123Z"], "'<M8[ms]'"),
            (&["2020-02-29T12:00:00Z"], "'<M8[s]'"),
            (&["2020-02-29Z"], "'<U11'"),
            (&["2020-02-30"], "'<U10'"),
            (&["2020-02-29", "5"], "'<U10'"),
            (&["größe", "a"], "'<U5'"),
            (&["1", "a"], "'<U1'"),
            (&[" 1 ", "2"], "'<i8'"),
            (&["1_000"], "'<U5'"),
            (&["n/a"], "'<U3'"),
        ] {
            assert_eq!(dtype(cells), expected, "{cells:?}");
            let mut merged = Facts::default();
            for text in cells {
                let mut one = Facts::default();
                one.add(Cell { text, is_string: false });
                merged.merge(&one);
            }
            assert_eq!(merged.dtype().unwrap().to_string(), expected, "{cells:?}, merged");
        }
    }

    #[test]
    fn numbers_are_those_that_floats_are_parsed_from() {
        let parts = ["", "-", "+", "0", "12", ".", "e", "E", "inf", "nan", "Infinity", " ", "_"];
        for first in parts {
            for second in parts {
                for third in parts {
                    for fourth in parts {
                        let text = [first, second, third, fourth].concat();
                        let parsed = text.parse::<f64>().is_ok();
                        let digits = text.trim_start_matches(['-', '+']);
                        let is_integer = parsed && digits.bytes().all(|b| b.is_ascii_digit());
                        let expected = match (parsed, is_integer) {
                            (false, _) => None,
                            (true, false) => Some(Number::Float),
                            (true, true) => Some(Number::Integer),
                        };
                        assert_eq!(number(&text), expected, "{text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn strings_of_json_are_not_numbers() {
        let mut facts = Facts::default();
        facts.add(Cell { text: "5", is_string: true });
        assert_eq!(facts.dtype().unwrap().to_string(), "'<U1'");
        let mut facts = Facts::default();
        facts.add(Cell { text: "nan", is_string: true });
        facts.add(Cell { text: "5", is_string: false });
        assert_eq!(facts.dtype().unwrap().to_string(), "'<f8'");
    }
}
