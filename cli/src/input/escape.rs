//! Makes text from files safe to print: it cannot move the cursor, start a new
//! line, reorder or hide other text, or send commands to the terminal.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// Replaces characters that are unsafe to print by Python's escapes.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        let code = u32::from(c);
        // Writing to a string cannot fail.
        let _ = match c {
            '\t' => safe.write_str("\\t"),
            '\n' => safe.write_str("\\n"),
            '\r' => safe.write_str("\\r"),
            _ if !is_unsafe(c) => safe.write_char(c),
            _ if code <= 0xff => write!(safe, "\\x{code:02x}"),
            _ if code <= 0xffff => write!(safe, "\\u{code:04x}"),
            _ => write!(safe, "\\U{code:08x}"),
        };
    }
    safe.into()
}

/// Formats a value with unsafe characters escaped.
pub(crate) fn safe(text: impl Display) -> String {
    escaped(&text.to_string()).into_owned()
}

/// Returns whether a character is a control (C0 or C1), a line separator, or a
/// format character that is invisible or changes the direction of text.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Writes a line of JSON, with characters that are unsafe to print as `\uXXXX`.
pub(crate) fn json_line(out: &mut impl io::Write, value: &impl Serialize) -> io::Result<()> {
    json(out, value)?;
    writeln!(out)
}

/// Writes JSON without a newline.
pub(crate) fn json(out: &mut impl io::Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Escaping)).map_err(io::Error::from)
}

/// Writes part of a JSON string, without quotes.
pub(crate) fn json_fragment(out: &mut impl io::Write, text: &str) -> io::Result<()> {
    let mut rest = text;
    while let Some(at) = rest.find(is_unsafe) {
        let (before, after) = rest.split_at(at);
        out.write_all(before.as_bytes())?;
        let mut after = after.chars();
        for unit in after.next().into_iter().flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec()) {
            write!(out, "\\u{unit:04x}")?;
        }
        rest = after.as_str();
    }
    out.write_all(rest.as_bytes())
}

struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        mut writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        json_fragment(&mut writer, fragment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_characters_are_escaped_and_no_others() {
        for (text, expected) in [
            ("plain ü 漢 é 👍🏽", "plain ü 漢 é 👍🏽"),
            ("\u{1b}[2J\u{7}\0", "\\x1b[2J\\x07\\x00"),
            ("a\nb\tc\rd\u{7f}", "a\\nb\\tc\\rd\\x7f"),
            ("\u{9b}31m\u{85}", "\\x9b31m\\x85"),
            ("\u{202e}cod.exe\u{2066}", "\\u202ecod.exe\\u2066"),
            ("z\u{200b}w\u{feff}\u{2028}", "z\\u200bw\\ufeff\\u2028"),
            ("\u{e0041}", "\\U000e0041"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn json_escapes_decode_to_the_same_text() {
        let text = "\u{1b}\"\\\n\u{9b}\u{202e}\u{e0041}\u{7f}ü";
        let mut out = Vec::new();
        json(&mut out, &text).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out, r#""\u001b\"\\\n\u009b\u202e\udb40\udc41\u007fü""#);
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
    }
}
