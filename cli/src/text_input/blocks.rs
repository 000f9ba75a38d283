//! Reads text in blocks of whole rows, and rows as cells.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use csv::{ByteRecord, Reader, ReaderBuilder, StringRecord};
use memchr::{memchr, memchr_iter, memchr2_iter, memrchr};
use serde_json::Value as Json;

use super::facts::Cell;
use crate::text::plural;
use crate::text_output::TextFormat;

/// The size of a block, in bytes.
const BLOCK: usize = 2 << 20;

/// The longest row, in bytes: a quote that is never closed makes everything
/// after it one cell.
const MAX_ROW: usize = 256 << 20;

/// A file from a position to its end, as blocks of whole rows.
pub(super) struct Blocks<'a> {
    file: &'a File,
    format: TextFormat,
    /// Bytes that were read and not returned.
    rest: Vec<u8>,
    is_at_end: bool,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(
        mut file: &'a File,
        format: TextFormat,
        start: u64,
    ) -> io::Result<Blocks<'a>> {
        file.seek(SeekFrom::Start(start))?;
        Ok(Blocks { file, format, rest: Vec::new(), is_at_end: false })
    }

    /// The next block, or `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if !self.is_at_end {
                let wanted = u64::try_from(BLOCK.max(self.rest.len())).unwrap_or(u64::MAX);
                let mut file = self.file;
                let n = file.by_ref().take(wanted).read_to_end(&mut self.rest)?;
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
        end = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
    }
    len
}

fn csv_reader(bytes: &[u8], separator: char) -> Reader<&[u8]> {
    let separator = u8::try_from(separator).unwrap_or(b',');
    ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator).from_reader(bytes)
}

/// Receives the cells of a block, row by row.
pub(super) trait Visitor {
    fn cell(&mut self, column: usize, cell: Cell<'_>) -> Result<(), String>;

    /// Called after the cells of a row, with their number.
    fn end_row(&mut self, cells: usize) -> Result<(), String>;
}

/// The columns of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) names: Option<Vec<String>>,
    /// The names of the JSON objects that each column is in, from the outermost.
    pub(super) objects: Vec<Vec<String>>,
    /// Whether each column is the first of a JSON list of two numbers, which may
    /// be the parts of a complex number.
    pub(super) pairs: Vec<bool>,
    /// The JSON lists of each row.
    pub(super) lists: Lists,
    pub(super) count: usize,
}

/// The lists in a row of JSON, each with its name, or else the number of its first
/// cell, and its length.
pub(super) type Lists = Vec<(String, usize)>;

impl Columns {
    /// The column of this name, with or without white space around it, of those
    /// that are free.
    pub(super) fn position(&self, name: &str, is_free: impl Fn(usize) -> bool) -> Option<usize> {
        let names = self.names.as_deref().unwrap_or_default();
        let mut found = names.iter().enumerate();
        let exact = found.find(|(at, known)| *known == name && is_free(*at));
        let mut found = names.iter().enumerate();
        let found =
            exact.or_else(|| found.find(|(at, known)| known.trim() == name && is_free(*at)));
        found.map(|(at, _)| at)
    }

    /// Calls `visitor` with all cells of a block.
    pub(super) fn visit(
        &self,
        block: &[u8],
        format: TextFormat,
        visitor: &mut impl Visitor,
    ) -> Result<(), String> {
        match format {
            TextFormat::Separated(separator) => visit_records(block, separator, visitor),
            TextFormat::JsonLines => {
                let lines = block.split(|&b| b == b'\n');
                let mut lines = lines.filter(|line| !line.trim_ascii().is_empty());
                lines.try_for_each(|line| self.visit_json(line, visitor))
            }
        }
    }

    fn visit_json(&self, line: &[u8], visitor: &mut impl Visitor) -> Result<(), String> {
        let Row { cells: row, lists } = json_row(line)?;
        let Some(names) = &self.names else {
            // A row with another number of cells is refused by the visitor.
            if row.len() == self.count && lists != self.lists {
                return Err("has lists of other lengths than the first row".to_owned());
            }
            for (column, (_, cell)) in row.iter().enumerate() {
                visitor.cell(column, cell.as_cell())?;
            }
            return visitor.end_row(row.len());
        };
        self.check_lists(&lists)?;
        let mut seen = 0;
        for (position, (name, cell)) in row.iter().enumerate() {
            // Rows usually have their keys in the same order.
            let column = match names.get(position) {
                Some(known) if known == name => Some(position),
                _ => names.iter().position(|known| known == name),
            };
            let Some(column) = column else {
                return Err(format!("has `{name}`, which the first row does not have"));
            };
            visitor.cell(column, cell.as_cell())?;
            seen += 1;
        }
        if seen < names.len() {
            for (column, name) in names.iter().enumerate() {
                if !row.iter().any(|(known, _)| known == name) {
                    visitor.cell(column, Cell { text: "", is_string: false })?;
                }
            }
        }
        visitor.end_row(names.len())
    }

    /// Rejects lists that are longer or shorter than in the first row.
    fn check_lists(&self, lists: &Lists) -> Result<(), String> {
        if *lists == self.lists {
            return Ok(());
        }
        for (name, len) in lists {
            let known = self.lists.iter().find(|(known, _)| known == name);
            if let Some((_, expected)) = known.filter(|(_, expected)| expected != len) {
                let found = plural(*len, "element");
                return Err(format!("`{name}` has {found}, and in the first row {expected}"));
            }
        }
        Ok(())
    }
}

fn visit_records(block: &[u8], separator: char, visitor: &mut impl Visitor) -> Result<(), String> {
    if let Some(text) = unquoted(block) {
        return visit_lines(text, separator, visitor);
    }
    let mut reader = csv_reader(block, separator);
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| reason(&error))? {
        for (column, text) in record.iter().enumerate() {
            visitor.cell(column, Cell { text, is_string: false })?;
        }
        visitor.end_row(record.len())?;
    }
    Ok(())
}

/// The block as text, if its rows end at `\n` or `\r\n`, and their cells at each
/// separator: nothing is quoted. Such text is read several times faster.
fn unquoted(block: &[u8]) -> Option<&str> {
    let mut returns = memchr_iter(b'\r', block);
    if memchr(b'"', block).is_some() || returns.any(|at| block.get(at + 1) != Some(&b'\n')) {
        return None;
    }
    std::str::from_utf8(block).ok()
}

fn visit_lines(text: &str, separator: char, visitor: &mut impl Visitor) -> Result<(), String> {
    let bytes = text.as_bytes();
    let separator = u8::try_from(separator).unwrap_or(b',');
    let (mut start, mut cells) = (0, 0);
    for end in memchr2_iter(separator, b'\n', bytes).chain([bytes.len()]) {
        let mut text = text.get(start..end).unwrap_or_default();
        start = end + 1;
        let is_last = bytes.get(end) != Some(&separator);
        if is_last {
            text = text.strip_suffix('\r').unwrap_or(text);
            // Empty lines are skipped, as by the `csv` crate.
            if cells == 0 && text.is_empty() {
                continue;
            }
        }
        visitor.cell(cells, Cell { text, is_string: false })?;
        cells += 1;
        if is_last {
            visitor.end_row(std::mem::take(&mut cells))?;
        }
    }
    Ok(())
}

fn reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => "is not UTF-8: convert it with iconv".to_owned(),
        _ => error.to_string(),
    }
}

/// The first row of a block, and the length of its bytes.
pub(super) fn first_row(block: &[u8], format: TextFormat) -> Result<Option<(Row, usize)>, String> {
    match format {
        TextFormat::Separated(separator) => {
            let mut reader = csv_reader(block, separator);
            let mut record = StringRecord::new();
            if !reader.read_record(&mut record).map_err(|error| reason(&error))? {
                return Ok(None);
            }
            let len = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
            let cells = record.iter().map(|text| (String::new(), OwnedCell::of_csv(text)));
            Ok(Some((Row { cells: cells.collect(), lists: Lists::new() }, len)))
        }
        TextFormat::JsonLines => {
            let mut lines = block.split(|&b| b == b'\n');
            let Some(line) = lines.find(|line| !line.trim_ascii().is_empty()) else {
                return Ok(None);
            };
            json_row(line).map(|row| Some((row, 0)))
        }
    }
}

/// A cell that owns its text.
#[derive(Clone, Debug)]
pub(super) struct OwnedCell {
    pub(super) text: String,
    is_string: bool,
    /// The names of the JSON objects that it is in, from the outermost.
    pub(super) objects: Vec<String>,
    /// Whether it is the first of a list of two numbers.
    pub(super) starts_pair: bool,
}

impl OwnedCell {
    fn of_csv(text: &str) -> OwnedCell {
        OwnedCell {
            text: text.to_owned(),
            is_string: false,
            objects: Vec::new(),
            starts_pair: false,
        }
    }

    pub(super) fn as_cell(&self) -> Cell<'_> {
        Cell { text: &self.text, is_string: self.is_string }
    }
}

/// A row of text.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// The cells, each with the name of its column if the row has names.
    pub(super) cells: Vec<(String, OwnedCell)>,
    pub(super) lists: Lists,
}

/// The cells of a line of JSON, with names such as `pos.0` for those inside an
/// object.
fn json_row(line: &[u8]) -> Result<Row, String> {
    let value: Json =
        serde_json::from_slice(line).map_err(|error| format!("is not JSON: {error}"))?;
    let mut row = Row::default();
    row.add(value, "", &mut Vec::new(), false);
    Ok(row)
}

impl Row {
    /// Adds the cells of a value. The depth of JSON is limited by its parser.
    fn add(&mut self, value: Json, name: &str, objects: &mut Vec<String>, starts_pair: bool) {
        let (text, is_string) = match value {
            Json::Object(fields) => {
                for (field, value) in fields {
                    let name = join(name, &field);
                    let is_object = value.is_object();
                    if is_object {
                        objects.push(field);
                    }
                    self.add(value, &name, objects, false);
                    if is_object {
                        objects.pop();
                    }
                }
                return;
            }
            Json::Array(items) => {
                // Lists without names differ in their first cell.
                let list =
                    if name.is_empty() { self.cells.len().to_string() } else { name.to_owned() };
                self.lists.push((list, items.len()));
                let is_pair = items.len() == 2 && items.iter().all(is_number);
                for (at, item) in items.into_iter().enumerate() {
                    let name =
                        if name.is_empty() { String::new() } else { join(name, &at.to_string()) };
                    self.add(item, &name, objects, is_pair && at == 0);
                }
                return;
            }
            Json::Null => (String::new(), false),
            Json::Bool(value) => (value.to_string(), false),
            Json::Number(number) => (number.to_string(), false),
            Json::String(text) => (text, true),
        };
        let cell = OwnedCell { text, is_string, objects: objects.clone(), starts_pair };
        self.cells.push((name.to_owned(), cell));
    }
}

/// Returns whether a value is a number, of which JSON has only the finite ones.
fn is_number(value: &Json) -> bool {
    value.is_number() || matches!(value.as_str(), Some("nan" | "inf" | "-inf"))
}

fn join(name: &str, part: &str) -> String {
    if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn blocks_end_where_rows_do() {
        let long = "x".repeat(BLOCK / 3);
        let mut text = String::new();
        for number in 0..20 {
            text.extend([&number.to_string(), ",\"a\n\"\"b,", &long, "\"\r\n"]);
        }
        text.push_str("last,5\" pipe");
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut blocks = Blocks::new(&file, TextFormat::Separated(','), 0).unwrap();
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

    #[test]
    fn text_without_quotes_is_read_as_by_the_csv_crate() {
        for text in [
            "",
            "a",
            "a,b\n",
            "a,,b\n\n,\n",
            ",\n,,\n",
            "a,b\r\nc,ü\r\n\r\nd",
            "\na,b",
            "a,\r\n\r\n",
            "a;b,c\n d , e \n",
        ] {
            for separator in [',', ';'] {
                let (mut own, mut expected) = (Texts::default(), Vec::new());
                let plain = unquoted(text.as_bytes()).unwrap();
                visit_lines(plain, separator, &mut own).unwrap();
                let mut reader = csv_reader(text.as_bytes(), separator);
                for record in reader.records() {
                    let record = record.unwrap();
                    expected.push(record.iter().map(str::to_owned).collect());
                }
                expected.push(Vec::new());
                assert_eq!(own.0, expected, "{text:?}");
            }
        }
        for text in ["\"a\"", "a\rb", "a\r", "\u{fc}\r\r\n"] {
            assert_eq!(unquoted(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(unquoted(b"\xff"), None);
    }

    /// The cells of each row; the last one is incomplete.
    struct Texts(Vec<Vec<String>>);

    impl Default for Texts {
        fn default() -> Texts {
            Texts(vec![Vec::new()])
        }
    }

    impl Visitor for Texts {
        fn cell(&mut self, _: usize, cell: Cell<'_>) -> Result<(), String> {
            self.0.last_mut().unwrap().push(cell.text.to_owned());
            Ok(())
        }

        fn end_row(&mut self, cells: usize) -> Result<(), String> {
            assert_eq!(self.0.last().unwrap().len(), cells);
            self.0.push(Vec::new());
            Ok(())
        }
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
