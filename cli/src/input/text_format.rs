//! Text with a line for each row: CSV, TSV and JSON lines.

/// The most columns that elements of structs are written as, or read from.
pub(crate) const MAX_COLUMNS: usize = 1 << 20;

/// The byte order mark that a text may start with, U+FEFF in UTF-8.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// A format of text with a line for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFormat {
    /// Fields separated by a character, quoted where necessary.
    Separated(u8),
    JsonLines,
}

impl TextFormat {
    /// The format with another separator, if it is CSV.
    pub(crate) fn with_delimiter(self, delimiter: Option<u8>) -> TextFormat {
        match (self, delimiter) {
            (TextFormat::Separated(b','), Some(separator)) => TextFormat::Separated(separator),
            _ => self,
        }
    }
}

/// Parses the separator of the fields of a CSV: one ASCII character.
pub(crate) fn parse_delimiter(text: &str) -> Result<u8, &'static str> {
    match text.as_bytes() {
        br"\t" => Ok(b'\t'),
        [b] if !matches!(b, b'"' | b'\r' | b'\n') => Ok(*b),
        _ => Err(r"expected one ASCII character other than a quote, such as ';' or '\t'"),
    }
}

/// Returns whether a text has the form of bytes in Python, `b'…'` or `b"…"`, with
/// or without white space around it.
pub(crate) fn is_bytes_literal(text: &str) -> bool {
    let quoted = text.trim().strip_prefix('b').filter(|quoted| quoted.len() > 1);
    let is_in = |quote| quoted.is_some_and(|text| text.starts_with(quote) && text.ends_with(quote));
    is_in('\'') || is_in('"')
}
