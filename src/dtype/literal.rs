//! Reads the Python literals that headers are made of: strings, integers,
//! `True`, `False`, `None`, and tuples, lists and dictionaries of them.
//!
//! A [`Reader`] is a position in a text. It borrows the text, allocates only
//! for strings that contain escapes, and limits the nesting of brackets.

use std::borrow::Cow;

use crate::error::invariant::Invariant;
use crate::error::{HeaderError, Result, excerpt};

/// The deepest nesting of brackets; Python's parser has the same limit.
pub(super) const MAX_DEPTH: usize = 200;

/// A position in Python literals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The number of open brackets.
    depth: usize,
    longs: bool,
    /// Whether an integer had the suffix `L`.
    has_longs: bool,
}

/// The state of reading the items of a bracket.
#[derive(Debug)]
pub(crate) struct Items {
    /// The bracket that closes them.
    pub(super) close: u8,
    count: usize,
    comma: bool,
}

impl Items {
    /// True if the items form a tuple: `(3,)` does, `(3)` does not.
    #[inline]
    pub(crate) fn is_tuple(&self) -> bool {
        self.count != 1 || self.comma
    }
}

impl<'a> Reader<'a> {
    /// Starts at the beginning of a text. `longs` allows Python 2's `3L`.
    #[inline]
    pub(crate) fn new(text: &'a str, longs: bool) -> Reader<'a> {
        Reader { text, at: 0, depth: 0, longs, has_longs: false }
    }

    /// Skips white space and returns the next byte without consuming it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while let Some(b' ' | b'\n' | b'\t' | b'\r' | b'\x0c') = bytes.get(at) {
            at += 1;
        }
        self.at = at;
        bytes.get(at).copied()
    }

    /// Consumes `byte` and white space before it, if it is next.
    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Consumes `byte`, or fails with the expected syntax.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<()> {
        if self.eat(byte) { Ok(()) } else { Err(self.error(expected)) }
    }

    /// Checks that only white space is left.
    #[inline]
    pub(crate) fn end(&mut self) -> Result<()> {
        if self.peek().is_none() { Ok(()) } else { Err(self.error("the end")) }
    }

    /// Returns whether an integer that was read had the suffix `L`.
    #[inline]
    pub(crate) fn has_longs(&self) -> bool {
        self.has_longs
    }

    /// Enters the bracket that is next, if it is `open`.
    #[inline]
    pub(crate) fn open(&mut self, open: u8) -> Result<Option<Items>> {
        if self.peek() != Some(open) {
            return Ok(None);
        }
        if self.depth == MAX_DEPTH {
            return Err(self.error("at most 200 nested brackets"));
        }
        self.at += 1;
        self.depth += 1;
        let close = match open {
            b'(' => b')',
            b'[' => b']',
            _ => b'}',
        };
        Ok(Some(Items { close, count: 0, comma: true }))
    }

    /// Advances to the next item of a bracket; false after the closing bracket.
    pub(crate) fn next_item(&mut self, items: &mut Items) -> Result<bool> {
        if items.count > 0 {
            items.comma = self.eat(b',');
        }
        if self.eat(items.close) {
            self.depth -= 1;
            return Ok(false);
        }
        if !items.comma {
            return Err(self.error(match items.close {
                b')' => "`,` or `)`",
                b']' => "`,` or `]`",
                _ => "`,` or `}`",
            }));
        }
        items.count += 1;
        Ok(true)
    }

    /// Reads `('…', '…')` as NumPy writes it, without escapes; consumes nothing
    /// if something else is next. Long lists of fields consist of these pairs,
    /// and this fast path halves the instructions that they take.
    #[inline]
    pub(crate) fn plain_pair(&mut self) -> Option<(&'a str, &'a str)> {
        let rest = self.text.get(self.at..)?;
        let (first, after) = until_quote(rest.strip_prefix("('")?)?;
        let (second, after) = until_quote(after.strip_prefix(", '")?)?;
        let after = after.strip_prefix(')')?;
        self.at = self.text.len() - after.len();
        Some((first, second))
    }

    /// Reads a string: `'…'`, `"…"` or `u'…'`, with Python's escapes.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>> {
        let first = self.peek();
        if matches!(first, Some(b'u' | b'U')) {
            self.at += 1;
        }
        let Some(quote @ (b'\'' | b'"')) = self.byte() else {
            return Err(self.error("a string"));
        };
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut at = start;
        while let Some(&byte) = bytes.get(at) {
            if byte == quote || matches!(byte, b'\\' | b'\n' | b'\r' | 0) {
                break;
            }
            at += 1;
        }
        self.at = at;
        match bytes.get(at) {
            Some(byte) if *byte == quote => {
                self.at += 1;
                Ok(Cow::Borrowed(
                    self.text.get(start..at).invariant("text is split at character boundaries"),
                ))
            }
            Some(b'\\') => self.escaped_string(start, quote).map(Cow::Owned),
            _ => Err(self.error("the string's closing quote")),
        }
    }

    /// Reads the rest of a string from its first backslash on.
    #[inline]
    fn escaped_string(&mut self, start: usize, quote: u8) -> Result<String> {
        let mut string = self.text_since(start).to_owned();
        loop {
            match self.character() {
                Some('\\') => self.escape(&mut string)?,
                Some('\n' | '\r' | '\0') | None => {
                    return Err(self.error("the string's closing quote"));
                }
                Some(c) if c == char::from(quote) => return Ok(string),
                Some(c) => string.push(c),
            }
        }
    }

    /// Reads the escape after a backslash, as Python's lexer does.
    #[inline]
    fn escape(&mut self, string: &mut String) -> Result<()> {
        let start = self.at;
        let value = match self.character() {
            Some('\n') => return Ok(()),
            // Python treats all line endings alike.
            Some('\r') => {
                self.at += usize::from(self.byte() == Some(b'\n'));
                return Ok(());
            }
            Some(c @ ('\\' | '\'' | '"')) => c,
            Some('a') => '\x07',
            Some('b') => '\x08',
            Some('f') => '\x0c',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\x0b',
            Some('x') => self.code_point(16, 2, 2)?,
            Some('u') => self.code_point(16, 4, 4)?,
            Some('U') => self.code_point(16, 8, 8)?,
            Some('0'..='7') => {
                self.at = start;
                self.code_point(8, 1, 3)?
            }
            Some('N') => {
                return Err(self.error("`\\x`, `\\u` or `\\U` with a number instead of a name"));
            }
            Some('\0') | None => return Err(self.error("the string's closing quote")),
            Some(c) => {
                string.push('\\');
                c
            }
        };
        string.push(value);
        Ok(())
    }

    /// Reads between `min` and `max` digits as a code point.
    fn code_point(&mut self, radix: u32, min: usize, max: usize) -> Result<char> {
        let rest = self.text.get(self.at..).invariant("text is split at character boundaries");
        let digits = rest.chars().take(max).take_while(|c| c.is_digit(radix)).count();
        let value = rest.get(..digits).and_then(|text| u32::from_str_radix(text, radix).ok());
        match value.and_then(char::from_u32) {
            Some(c) if digits >= min => {
                self.at += digits;
                Ok(c)
            }
            _ => Err(self.error("the number of a Unicode character")),
        }
    }

    /// Reads an integer, saturating its magnitude at 64 bits.
    #[inline]
    pub(crate) fn integer(&mut self) -> Result<i128> {
        let first = self.peek();
        if matches!(first, Some(b'-' | b'+')) {
            self.at += 1;
            self.peek();
        }
        let start = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        let digits = self.text_since(start);
        let value = digits.parse().unwrap_or(u64::MAX);
        if digits.is_empty() || (digits.starts_with('0') && value != 0) {
            self.at = start;
            return Err(self.error("a plain decimal integer"));
        }
        if self.longs && self.byte() == Some(b'L') {
            self.at += 1;
            self.has_longs = true;
        }
        if matches!(self.byte(), Some(b'_' | b'.' | b'a'..=b'z' | b'A'..=b'Z')) {
            return Err(self.error("a plain decimal integer"));
        }
        let value = i128::from(value);
        Ok(if first == Some(b'-') { -value } else { value })
    }

    /// Consumes a name such as `True`; empty if there is no name.
    #[inline]
    pub(crate) fn name(&mut self) -> &'a str {
        self.peek();
        let start = self.at;
        while let Some(b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') = self.byte() {
            self.at += 1;
        }
        self.text_since(start)
    }

    /// Skips one value of any kind and returns its text.
    #[inline]
    pub(crate) fn skip_value(&mut self) -> Result<&'a str> {
        self.peek();
        let start = self.at;
        self.skip_nested()?;
        Ok(self.text_since(start))
    }

    fn skip_nested(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'\'' | b'"') => self.string().map(drop),
            Some(b'0'..=b'9' | b'-' | b'+') => self.integer().map(drop),
            Some(open @ (b'(' | b'[' | b'{')) => {
                let Some(mut items) = self.open(open)? else { return Ok(()) };
                while self.next_item(&mut items)? {
                    self.skip_nested()?;
                    if open == b'{' {
                        self.expect(b':', "`:`")?;
                        self.skip_nested()?;
                    }
                }
                Ok(())
            }
            _ => self.skip_name(),
        }
    }

    /// Skips `True`, `False`, `None` or a string with a prefix.
    #[inline]
    fn skip_name(&mut self) -> Result<()> {
        let start = *self;
        let name = self.name();
        let next = self.byte();
        match (name, next) {
            ("u" | "U", Some(b'\'' | b'"')) => {
                *self = start;
                self.string().map(drop)
            }
            ("True" | "False" | "None", _) => Ok(()),
            (_, Some(b'(')) if name.contains("int") => {
                *self = start;
                Err(self.error("a plain integer (NumPy 2 writes shapes of NumPy integers this way, and cannot read them)"))
            }
            _ => {
                *self = start;
                Err(self.error("a Python literal"))
            }
        }
    }

    /// The error for text at this position that is not as `expected`.
    pub(crate) fn error(&self, expected: &'static str) -> crate::error::Error {
        let (before, after) = self.text.split_at_checked(self.at).unwrap_or((self.text, ""));
        let at = before.chars().count();
        let found = match after.chars().next() {
            None => "the end".to_owned(),
            Some(_) => format!("`{}`", excerpt(&after.chars().take(12).collect::<String>())),
        };
        HeaderError::Syntax { at, found, expected }.into()
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn character(&mut self) -> Option<char> {
        let next = self.text.get(self.at..)?.chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// The text between `start` and the current position.
    #[inline]
    fn text_since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).invariant("text is split at character boundaries")
    }
}

/// Splits a text at its first single quote, unless an escape or control
/// character comes before it.
#[inline]
fn until_quote(text: &str) -> Option<(&str, &str)> {
    let length = text.bytes().take_while(|b| !matches!(b, b'\'' | b'\\' | ..b' ')).count();
    Some((text.get(..length)?, text.get(length..)?.strip_prefix('\'')?))
}

/// Prints a string as Python's `repr` does.
///
/// As in Python's `str.isprintable`, all characters are printable except the
/// Unicode categories C and Z. The space is printable.
pub(crate) fn quoted(string: &str) -> String {
    quoted_chars(string.chars(), is_printable)
}

/// Prints bytes as Python's `repr` does, without the `b` before the quote.
pub(crate) fn quoted_bytes(bytes: &[u8]) -> String {
    quoted_chars(bytes.iter().copied().map(char::from), |c| (' '..='~').contains(&c))
}

fn quoted_chars(
    chars: impl Iterator<Item = char> + Clone,
    is_printable: fn(char) -> bool,
) -> String {
    let has = |quote| chars.clone().any(|c| c == quote);
    let quote = if has('\'') && !has('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in chars {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            _ if c == quote => out.extend(['\\', c]),
            _ if is_printable(c) => out.push(c),
            _ => out.push_str(&escaped(c)),
        }
    }
    out.push(quote);
    out
}

/// Prints a character as `\x`, `\u` or `\U` and its code point.
#[inline]
fn escaped(c: char) -> String {
    match u32::from(c) {
        code @ 0..=0xff => format!("\\x{code:02x}"),
        code @ 0x100..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

/// Python's `str.isprintable` for one character.
#[inline]
fn is_printable(c: char) -> bool {
    use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};
    c == ' '
        || c.is_ascii_graphic()
        || !matches!(
            c.general_category_group(),
            GeneralCategoryGroup::Other | GeneralCategoryGroup::Separator
        )
}

/// Prints a shape as Python prints a tuple.
pub(crate) fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> Result<Cow<'_, str>> {
        Reader::new(text, false).string()
    }

    #[test]
    fn strings_hold_pythons_escapes() {
        assert_eq!(string(r#"'a\'b"\\\n\x41\u00e9\U0001f600\101\0'"#).unwrap(), "a'b\"\\\nAé😀A\0");
        assert_eq!(
            string(
                r"'\q\
x'"
            )
            .unwrap(),
            "\\qx"
        );
        for end in ["\n", "\r", "\r\n"] {
            assert_eq!(string(&format!("'a\\{end}b'")).unwrap(), "ab");
        }
        assert_eq!(string("u'x'").unwrap(), "x");
        assert!(matches!(string("'plain'").unwrap(), Cow::Borrowed("plain")));
    }

    #[test]
    fn invalid_strings_are_rejected() {
        for text in [
            "'open",
            "'a\\\0'",
            "'a\nb'",
            "'a\rb'",
            r"'\x4'",
            r"'\ud800'",
            r"'\N{DASH}'",
            r"'\U00110000'",
            "b'x'",
            "5",
            r"'\",
        ] {
            assert!(string(text).is_err(), "{text}");
        }
    }

    fn integer(text: &str, longs: bool) -> Result<i128> {
        Reader::new(text, longs).integer()
    }

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn integers_are_plain_and_never_overflow() {
        assert_eq!(integer(" -3", false).unwrap(), -3);
        assert_eq!(integer("+3", false).unwrap(), 3);
        assert_eq!(integer("00", false).unwrap(), 0);
        assert_eq!(integer("2L", true).unwrap(), 2);
        assert_eq!(integer(&"9".repeat(100), false).unwrap(), i128::from(u64::MAX));
        for text in ["2L", "0x10", "1_000", "1.5", "007", "1e3", "", "-", "x"] {
            assert!(integer(text, false).is_err(), "{text}");
        }
    }

    #[test]
    fn values_of_any_kind_are_skipped() {
        let text = "  {'a': [1, (2,), u'x', ()], 'b': None,} , rest";
        assert_eq!(
            Reader::new(text, false).skip_value().unwrap(),
            "{'a': [1, (2,), u'x', ()], 'b': None,}"
        );
        for text in ["[1 2]", "{1, 2}", "(", "[,]", "maybe", "(1,,)", "-True"] {
            assert!(Reader::new(text, false).skip_value().is_err(), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        assert!(Reader::new(&nested(200), false).skip_value().is_ok());
        assert!(Reader::new(&nested(201), false).skip_value().is_err());
        assert!(Reader::new(&"(".repeat(1 << 20), false).skip_value().is_err());
    }

    #[test]
    fn quotes_are_pythons() {
        assert_eq!(quoted("a"), "'a'");
        assert_eq!(quoted("a'b"), "\"a'b\"");
        assert_eq!(quoted("a'b\"c"), r#"'a\'b"c'"#);
        assert_eq!(
            quoted("\\\n\r\t\x00\x7f\u{a0}\u{ad}é整😀\u{2028}\u{e000}"),
            r"'\\\n\r\t\x00\x7f\xa0\xadé整😀\u2028\ue000'"
        );
        assert_eq!(quoted("\u{e0001}"), r"'\U000e0001'");
    }
}
