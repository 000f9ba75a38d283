//! The rows of a block of text, as cells.

use std::collections::{HashMap, HashSet};

use csv::StringRecord;
use memchr::{memchr, memchr_iter, memchr2_iter};
use serde_json::Value as Json;

use super::blocks::{csv_reader, position};
use super::columns::{Columns, Lists};
use super::facts::Cell;
use crate::input::text::{join, plural};
use crate::input::text_format::{MAX_COLUMNS, TextFormat};

/// Receives the cells of a block, row by row.
pub(super) trait Visitor {
    fn cell(&mut self, column: usize, cell: Cell<'_>) -> Result<(), String>;

    /// Called after the cells of a row, with their number.
    fn end_row(&mut self, cells: usize) -> Result<(), String>;
}

impl Columns {
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
        if let Some(names) = &self.names {
            self.check_lists(&lists)?;
            // Rows usually have their keys in the same order.
            let has_same_keys = row.iter().map(|(name, _)| name).eq(names)
                && row.iter().map(|(_, cell)| &cell.objects).eq(&self.objects);
            if !has_same_keys {
                return self.visit_by_name(&row, names, visitor);
            }
        } else if row.iter().any(|(name, _)| !name.is_empty()) {
            return Err("has an object, and the first row has none".to_owned());
        } else if row.len() == self.count && lists != self.lists {
            // A row with another number of cells is refused by the visitor.
            return Err("has lists of other lengths than the first row".to_owned());
        }
        for (column, (_, cell)) in row.iter().enumerate() {
            visitor.cell(column, cell.as_cell())?;
        }
        visitor.end_row(row.len())
    }

    /// Calls `visitor` with the cells of a row whose names are in another order than those
    /// of the columns, or are not all of them.
    fn visit_by_name(
        &self,
        row: &[(String, OwnedCell)],
        names: &[String],
        visitor: &mut impl Visitor,
    ) -> Result<(), String> {
        let mut cells: HashMap<_, Vec<_>> = HashMap::new();
        for (name, cell) in row.iter().rev() {
            cells.entry(name).or_default().push(cell);
        }
        for (column, (name, objects)) in names.iter().zip(&self.objects).enumerate() {
            let cell = cells.get_mut(name).and_then(|cells| {
                // Several have one name in `{"a.b": 1, "a": {"b": 2}}`, in different objects.
                let own = cells.iter().rposition(|cell| cell.objects == *objects);
                own.map(|own| cells.remove(own)).or_else(|| cells.pop())
            });
            let missing = Cell { text: "", is_string: false };
            visitor.cell(column, cell.map_or(missing, OwnedCell::as_cell))?;
        }
        let is_left = |name| cells.get(name).is_some_and(|cells| !cells.is_empty());
        if let Some((name, _)) = row.iter().find(|(name, _)| is_left(name)) {
            return Err(match name.as_str() {
                "" => "is not an object, and the first row is".to_owned(),
                _ => format!("has `{name}`, which the first row does not have"),
            });
        }
        visitor.end_row(names.len())
    }

    /// Rejects lists that are longer or shorter than in the first row.
    fn check_lists(&self, lists: &Lists) -> Result<(), String> {
        if *lists == self.lists {
            return Ok(());
        }
        let known: HashMap<_, _> = self.lists.iter().map(|(name, len)| (name, len)).collect();
        let values: HashSet<_> = self.names.iter().flatten().collect();
        for (name, len) in lists {
            if values.contains(name) {
                return Err(format!("`{name}` is a list, and in the first row it is not"));
            }
            if let Some(expected) = known.get(name).filter(|expected| **expected != len) {
                let found = plural(*len, "element");
                return Err(format!("`{name}` has {found}, and in the first row {expected}"));
            }
        }
        Ok(())
    }
}

fn visit_records(block: &[u8], separator: u8, visitor: &mut impl Visitor) -> Result<(), String> {
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

fn visit_lines(text: &str, separator: u8, visitor: &mut impl Visitor) -> Result<(), String> {
    let bytes = text.as_bytes();
    let (mut start, mut cells) = (0, 0);
    for end in memchr2_iter(separator, b'\n', bytes).chain([bytes.len()]) {
        let mut text = text.get(start..end).expect("separators are characters");
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
            if record.len() > MAX_COLUMNS {
                return Err(has_too_many());
            }
            let len = position(&reader, block);
            let cells = record.iter().map(|text| {
                (String::new(), OwnedCell { text: text.to_owned(), ..OwnedCell::default() })
            });
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
#[derive(Clone, Debug, Default)]
pub(super) struct OwnedCell {
    pub(super) text: String,
    is_string: bool,
    /// The names of the JSON objects that it is in, from the outermost.
    pub(super) objects: Vec<String>,
    /// Whether it is the first of a list of two numbers.
    pub(super) starts_pair: bool,
}

impl OwnedCell {
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
    row.add(value, "", &mut Vec::new(), false)?;
    Ok(row)
}

fn has_too_many() -> String {
    format!("has more than {MAX_COLUMNS} values")
}

impl Row {
    /// Adds the cells of a value. The depth of JSON is limited by its parser.
    fn add(
        &mut self,
        value: Json,
        name: &str,
        objects: &mut Vec<String>,
        starts_pair: bool,
    ) -> Result<(), String> {
        let (text, is_string) = match value {
            Json::Object(fields) => {
                for (field, value) in fields {
                    let name = join(name, &field);
                    let is_object = value.is_object();
                    if is_object {
                        objects.push(field);
                    }
                    self.add(value, &name, objects, false)?;
                    if is_object {
                        objects.pop();
                    }
                }
                return Ok(());
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
                    self.add(item, &name, objects, is_pair && at == 0)?;
                }
                return Ok(());
            }
            Json::Null => (String::new(), false),
            Json::Bool(value) => (value.to_string(), false),
            Json::Number(number) => (number.to_string(), false),
            Json::String(text) => (text, true),
        };
        if self.cells.len() == MAX_COLUMNS {
            return Err(has_too_many());
        }
        let cell = OwnedCell { text, is_string, objects: objects.clone(), starts_pair };
        self.cells.push((name.to_owned(), cell));
        Ok(())
    }
}

/// Returns whether a value is a number. JSON has only finite ones; the others are text.
fn is_number(value: &Json) -> bool {
    value.is_number() || matches!(value.as_str(), Some("nan" | "inf" | "-inf"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_quotes_is_read_as_by_the_csv_crate() {
        for text in [
            "",
            "a",
            "a,b\n",
            "a,,b\n\n,\n",
            ",\n,,\n",
            "\u{feff}a\n\u{feff}b",
            "a,b\r\nc,ü\r\n\r\nd",
            "\na,b",
            "a,\r\n\r\n",
            "a;b,c\n d , e \n",
        ] {
            for separator in [b',', b';'] {
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
}
