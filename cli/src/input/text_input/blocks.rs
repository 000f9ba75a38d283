//! Reads text in blocks of whole rows.

use std::borrow::Cow;
use std::io::{self, Cursor, Read};

use csv::{ByteRecord, Reader, ReaderBuilder};
use memchr::{memchr, memrchr};

use crate::input::text_format::{MARK, TextFormat};

/// The size of a block, in bytes.
pub(super) const BLOCK: usize = 2 << 20;

/// The longest row, in bytes: a quote that is never closed makes everything
/// after it one cell.
const MAX_ROW: usize = 256 << 20;

/// A text to its end, as blocks of whole rows.
pub(super) struct Blocks<R> {
    text: R,
    format: TextFormat,
    /// The least number of bytes that are read.
    size: usize,
    /// Bytes that were read and not returned.
    rest: Vec<u8>,
    is_at_end: bool,
}

impl<R: Read> Blocks<R> {
    /// Divides a text into blocks of about `size` bytes.
    pub(super) fn new(text: R, format: TextFormat, size: usize) -> Blocks<R> {
        Blocks { text, format, size, rest: Vec::new(), is_at_end: false }
    }

    /// The next block, or `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if !self.is_at_end {
                let wanted = u64::try_from(self.size.max(self.rest.len())).unwrap_or(u64::MAX);
                let n = self.text.by_ref().take(wanted).read_to_end(&mut self.rest)?;
                self.is_at_end = n == 0;
            }
            if self.is_at_end && self.has_open_quote() {
                let text = "a quote in the last row is not closed";
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            let len = if self.is_at_end { self.rest.len() } else { self.whole_rows() };
            if len > 0 {
                let rest = self.rest.split_off(len);
                return Ok(Some(std::mem::replace(&mut self.rest, rest)));
            }
            if self.is_at_end {
                return Ok(None);
            }
            if self.rest.len() > MAX_ROW {
                let text = format!("a row has more than {MAX_ROW} bytes: is a quote not closed?");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        }
    }

    /// Returns whether the rows that are left end in quotes.
    fn has_open_quote(&self) -> bool {
        match self.format {
            TextFormat::Separated(separator) => {
                memchr(b'"', &self.rest).is_some() && ends_in_quotes(&self.rest, separator)
            }
            TextFormat::JsonLines => false,
        }
    }

    /// The length of the rows that are complete. Rows end where lines do, except
    /// in quotes.
    fn whole_rows(&self) -> usize {
        let last_line = memrchr(b'\n', &self.rest).map_or(0, |at| at + 1);
        match self.format {
            TextFormat::Separated(separator)
                if last_line == 0 || memchr(b'"', &self.rest).is_some() =>
            {
                whole_records(&self.rest, separator)
            }
            _ => last_line,
        }
    }
}

/// Returns whether bytes end in quotes: then a line after them is part of their
/// last record.
fn ends_in_quotes(bytes: &[u8], separator: char) -> bool {
    let count = |bytes: &[u8]| csv_reader(bytes, separator).into_byte_records().count();
    count(&[bytes, b"\nx"].concat()) == count(bytes)
}

/// The length of all records but the last, which may continue. Of `\r\n`, the
/// second character counts to the next record, which skips it.
fn whole_records(bytes: &[u8], separator: char) -> usize {
    let mut reader = csv_reader(bytes, separator);
    let mut record = ByteRecord::new();
    let (mut len, mut end) = (0, 0);
    while reader.read_byte_record(&mut record).unwrap_or(false) {
        len = end;
        end = position(&reader, bytes);
    }
    len
}

/// Reads records, each with any number of fields. A reader of the crate `csv` skips a
/// byte order mark at its start.
pub(super) fn csv_reader(bytes: &[u8], separator: char) -> Reader<Cursor<Cow<'_, [u8]>>> {
    let separator = u8::try_from(separator).unwrap_or(b',');
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).flexible(true).delimiter(separator);
    let is_skipped = bytes.starts_with(MARK);
    let bytes = if is_skipped { [MARK, bytes].concat().into() } else { bytes.into() };
    builder.from_reader(Cursor::new(bytes))
}

/// How many of the bytes a reader has read.
pub(super) fn position(reader: &Reader<impl Read>, bytes: &[u8]) -> usize {
    let skipped = if bytes.starts_with(MARK) { MARK.len() } else { 0 };
    usize::try_from(reader.position().byte()).map_or(usize::MAX, |at| at.saturating_sub(skipped))
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
        let mut blocks = Blocks::new(text.as_bytes(), TextFormat::Separated(','), BLOCK);
        let (mut all, mut count) = (Vec::new(), 0);
        while let Some(block) = blocks.next().unwrap() {
            assert!(block.ends_with(b"\r") || block.ends_with(b"pipe"));
            let mut rows = Rows(Vec::new());
            let columns = Columns { count: 2, ..Columns::default() };
            columns.visit(&block, TextFormat::Separated(','), &mut rows).unwrap();
            assert!(rows.0.iter().all(|&cells| cells == 2), "{:?}", rows.0);
            count += rows.0.len();
            all.extend(block);
        }
        assert_eq!((all, count), (text.into_bytes(), 21));
    }

    struct Rows(Vec<usize>);

    impl Visitor for Rows {
        fn cell(&mut self, _: usize, _: Cell<'_>) -> Result<(), String> {
            Ok(())
        }

        fn end_row(&mut self, cells: usize) -> Result<(), String> {
            self.0.push(cells);
            Ok(())
        }
    }
}
