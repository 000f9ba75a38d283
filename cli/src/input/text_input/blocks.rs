//! Reads text in blocks of whole rows.

use crate::input::lengths::{part, to_u64, to_usize};
use std::borrow::Cow;
use std::io::{self, Cursor, Read};

use csv::{Reader, ReaderBuilder};
use memchr::{memchr, memchr_iter, memrchr, memrchr2};

use crate::input::text_format::{MARK, TextFormat};

/// The size of a block, in bytes.
pub(crate) const BLOCK: usize = 2 << 20;

/// The longest row, in bytes, by default: a quote that is never closed makes everything
/// after it one cell.
pub(crate) const MAX_ROW: usize = 64 << 20;

/// A text to its end, as blocks of whole rows.
pub(super) struct Blocks<R> {
    text: R,
    format: TextFormat,
    /// The least number of bytes that are read.
    size: usize,
    /// The longest row that is read if it does not end in a block of that size.
    max_row: usize,
    /// Bytes that were read and not returned.
    rest: Vec<u8>,
    /// The number of the line in which they start.
    line: usize,
    is_at_end: bool,
}

impl<R: Read> Blocks<R> {
    /// Divides a text into blocks of about `size` bytes.
    pub(super) fn new(text: R, format: TextFormat, size: usize) -> Blocks<R> {
        let (rest, line) = (Vec::new(), 1);
        Blocks { text, format, size, max_row: MAX_ROW, rest, line, is_at_end: false }
    }

    /// Sets the longest row, and the number of the line in which the text starts.
    pub(super) fn limited(self, max_row: usize, line: usize) -> Blocks<R> {
        Blocks { max_row, line, ..self }
    }

    /// The next block, or `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if !self.is_at_end {
                let read = self.rest.len();
                let left = self.max_row - read.min(self.max_row);
                // One more shows that a row is too long.
                let wanted = to_u64(self.size.max(if read <= left { read } else { left + 1 }));
                let n = self.text.by_ref().take(wanted).read_to_end(&mut self.rest)?;
                self.is_at_end = n == 0;
            }
            let rows = self.rows();
            if let (Some(quote), true) = (rows.open_quote, self.is_at_end) {
                let line = self.line_at(quote);
                return Err(refusal(format!("the quote in line {line} is not closed")));
            }
            let len = if self.is_at_end { self.rest.len() } else { rows.whole };
            if len > 0 {
                self.line = self.line_at(len);
                let rest = self.rest.split_off(len);
                return Ok(Some(std::mem::replace(&mut self.rest, rest)));
            }
            if self.is_at_end {
                return Ok(None);
            }
            if self.rest.len() > self.max_row {
                return Err(self.too_long(rows.open_quote));
            }
        }
    }

    /// The number of the line of a byte that is left.
    fn line_at(&self, at: usize) -> usize {
        self.line + memchr_iter(b'\n', self.rest.split_at(at).0).count()
    }

    fn too_long(&self, quote: Option<usize>) -> io::Error {
        let (line, most) = (self.line, self.max_row);
        let quote = quote.map_or_else(String::new, |at| {
            format!("close the quote in line {}, or ", self.line_at(at))
        });
        refusal(format!(
            "the row in line {line} has more than {most} bytes: {quote}raise the limit with --max-row-len"
        ))
    }

    /// The rows that are left. Rows end where lines do, except in quotes.
    fn rows(&self) -> Rows {
        match self.format {
            TextFormat::Separated(separator) => Rows::find(&self.rest, separator),
            TextFormat::JsonLines => {
                let whole = memrchr(b'\n', &self.rest).map_or(0, |at| at + 1);
                Rows { whole, open_quote: None }
            }
        }
    }
}

fn refusal(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// How bytes consist of rows, as the crate `csv` finds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rows {
    /// The length of those that are complete. Of `\r\n`, the second character may count to
    /// the next row, which skips it.
    whole: usize,
    /// Where the quote is that is open at the end.
    open_quote: Option<usize>,
}

impl Rows {
    fn find(bytes: &[u8], separator: u8) -> Rows {
        let is_end = |byte| matches!(byte, b'\r' | b'\n');
        let (mut whole, mut at) = (0, 0);
        loop {
            // A quote elsewhere in a field, also after one that was closed, is text.
            let rest = bytes.split_at(at).1;
            let mut quotes = memchr_iter(b'"', rest).map(|quote| at + quote);
            let quote = quotes.find(|quote| {
                let before = quote.checked_sub(1).and_then(|before| bytes.get(before));
                before.is_none_or(|&byte| byte == separator || is_end(byte))
            });
            let plain = part(bytes, at..quote.unwrap_or(bytes.len()));
            if let Some(end) = memrchr2(b'\r', b'\n', plain) {
                whole = at + end + 1;
            }
            let Some(quote) = quote else { return Rows { whole, open_quote: None } };
            // Two quotes inside are one of the text.
            let mut inside = quote + 1;
            loop {
                let Some(end) = memchr(b'"', bytes.split_at(inside).1) else {
                    return Rows { whole, open_quote: Some(quote) };
                };
                inside += end + 1;
                if bytes.get(inside) != Some(&b'"') {
                    break;
                }
                inside += 1;
            }
            at = inside;
        }
    }
}

/// Reads records, each with any number of fields. A reader of the crate `csv` skips a
/// byte order mark at its start.
pub(super) fn csv_reader(bytes: &[u8], separator: u8) -> Reader<Cursor<Cow<'_, [u8]>>> {
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).flexible(true).delimiter(separator);
    let is_skipped = bytes.starts_with(MARK);
    let bytes = if is_skipped { [MARK, bytes].concat().into() } else { bytes.into() };
    builder.from_reader(Cursor::new(bytes))
}

/// How many of the bytes a reader has read.
pub(super) fn position(reader: &Reader<impl Read>, bytes: &[u8]) -> usize {
    let skipped = if bytes.starts_with(MARK) { MARK.len() } else { 0 };
    let at = to_usize(reader.position().byte());
    at - skipped.min(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::text_input::columns::Columns;
    use crate::input::text_input::facts::Cell;
    use crate::input::text_input::rows::Visitor;

    #[test]
    fn blocks_end_where_rows_do() {
        let long = "x".repeat(BLOCK / 3);
        let mut text = String::new();
        for number in 0..20 {
            text.extend([&number.to_string(), ",\"a\n\"\"b,", &long, "\"\r\n"]);
        }
        text.push_str("last,5\" pipe");
        let mut blocks = Blocks::new(text.as_bytes(), TextFormat::Separated(b','), BLOCK);
        let (mut all, mut count) = (Vec::new(), 0);
        while let Some(block) = blocks.next().unwrap() {
            assert!(block.ends_with(b"\n") || block.ends_with(b"pipe"));
            let mut rows = Counts(Vec::new());
            let columns = Columns { count: 2, ..Columns::default() };
            columns.visit(&block, TextFormat::Separated(b','), &mut rows).unwrap();
            assert!(rows.0.iter().all(|&cells| cells == 2), "{:?}", rows.0);
            count += rows.0.len();
            all.extend(block);
        }
        assert_eq!((all, count), (text.into_bytes(), 21));
    }

    /// All texts of up to five characters, and what follows them in the crate `csv`.
    #[test]
    fn rows_and_quotes_are_those_of_the_csv_crate() {
        let count = |text: &[u8]| csv_reader(text, b',').into_byte_records().count();
        let letters = b"a,\"\n\r";
        let mut texts = vec![Vec::new()];
        for len in 0..=5 {
            for text in &texts {
                let rows = Rows::find(text, b',');
                let is_open = count(&[text, &b"\nx"[..]].concat()) == count(text);
                assert_eq!(rows.open_quote.is_some(), is_open && !text.is_empty(), "{text:?}");
                if let Some(quote) = rows.open_quote {
                    assert_eq!(text[quote], b'"');
                    assert!(Rows::find(&text[..quote], b',').open_quote.is_none(), "{text:?}");
                }
                let (whole, rest) = text.split_at(rows.whole);
                assert_eq!(count(whole) + count(rest), count(text), "{text:?}");
                assert_eq!(Rows::find(rest, b',').whole, 0, "{text:?}");
            }
            if len < 5 {
                let longer = |text: &Vec<u8>| letters.map(|letter| [&text[..], &[letter]].concat());
                texts = texts.iter().flat_map(longer).collect();
            }
        }
    }

    struct Counts(Vec<usize>);

    impl Visitor for Counts {
        fn cell(&mut self, _: usize, _: Cell<'_>) -> Result<(), String> {
            Ok(())
        }

        fn end_row(&mut self, cells: usize) -> Result<(), String> {
            self.0.push(cells);
            Ok(())
        }
    }
}
