//! Reads CSV, TSV and JSON lines as arrays, in two passes and constant memory:
//! one finds the dtype and counts the rows, one writes them.

mod blocks;
mod facts;
mod target;

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use npymap::{DType, MappedArray, MappedArrayMut, Order, dtype::Kind, layout::Layout};

use crate::error::CliError;
use crate::parallel;
use crate::progress::Progress;
use crate::stream;
use crate::text::plural;
use crate::text_output::TextFormat;
use blocks::{Blocks, Columns, OwnedCell, Row, Visitor, first_row};
use facts::{Cell, Facts};
use target::Target;

/// How to read a text.
#[derive(Clone, Debug)]
pub(crate) struct TextInputOptions {
    pub(crate) format: TextFormat,
    /// Lines to skip at the start.
    pub(crate) skip: usize,
    /// Whether the first row may have the names of the columns.
    pub(crate) header: bool,
    /// The dtype of the array, if it is not inferred.
    pub(crate) dtype: Option<DType>,
}

/// A text that is read as an array.
pub(crate) struct TextInput {
    path: PathBuf,
    file: File,
    options: TextInputOptions,
    /// Where the rows start, after the header.
    start: u64,
    columns: Columns,
}

impl TextInput {
    /// Opens a text and reads its first row.
    pub(crate) fn open(path: &Path, options: TextInputOptions) -> Result<TextInput, CliError> {
        let to_error = CliError::io(path, "read");
        let file = match stream::open(path).map_err(&to_error)? {
            Some(file) => file,
            None => File::open(path).map_err(CliError::io(path, "open"))?,
        };
        let start = first_byte(&file, options.skip).map_err(&to_error)?;
        let block = Blocks::new(&file, options.format, start).and_then(|mut blocks| blocks.next());
        let block = block.map_err(&to_error)?.unwrap_or_default();
        let first = first_row(&block, options.format).map_err(|text| text_error(path, text))?;
        let Some((Row { cells, lists }, len)) = first else {
            return Err(text_error(path, "has no rows to read an array from".to_owned()));
        };
        let count = cells.len();
        let (names, mut texts): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
        let objects = texts.iter_mut().map(|cell| std::mem::take(&mut cell.objects)).collect();
        let is_json = options.format == TextFormat::JsonLines;
        let pairs = texts.iter().map(|cell| cell.starts_pair).collect();
        let first: Vec<_> = texts.iter().map(OwnedCell::as_cell).collect();
        let has_header = !is_json && options.header && is_header(&first, options.dtype.as_ref());
        let names = if has_header {
            Some(texts.iter().map(|cell| cell.text.clone()).collect())
        } else {
            Some(names).filter(|names| is_json && names.iter().any(|name| !name.is_empty()))
        };
        let len = if has_header { len } else { 0 };
        let start = start + u64::try_from(len).unwrap_or(0);
        let columns = Columns { names, objects, pairs, lists, count };
        Ok(TextInput { path: path.to_owned(), file, options, start, columns })
    }

    /// Writes the rows to the array that `create` makes with a dtype and shape.
    pub(crate) fn write(
        &self,
        create: impl FnOnce(&DType, &[usize]) -> Result<MappedArrayMut, CliError>,
    ) -> Result<(), CliError> {
        let (facts, rows) = self.scan()?;
        let target = match &self.options.dtype {
            Some(dtype) => Target::requested(dtype, &self.columns),
            None => Target::inferred(&facts, &self.columns),
        };
        let to_error = CliError::with_path(&self.path);
        let target = target.map_err(&to_error)?;
        let array = create(&target.dtype, &target.shape(rows))?;
        // Bytes can be written whatever the dtype is.
        let bytes = Layout::new(DType::of::<u8>(), &[array.nbytes()], Order::C, 0);
        let bytes = bytes.and_then(|bytes| MappedArray::from_parts(array.into_data(), bytes));
        let mut array = bytes.map_err(&to_error)?;
        let mut written = 0;
        self.each_block(
            || Fill {
                columns: &self.columns,
                target: &target,
                bytes: Vec::new(),
                row: vec![0; target.row_bytes()],
                rows: 0,
            },
            |fill| fill.rows,
            |fill| {
                if !fill.bytes.is_empty() {
                    array.write_elements(&[written], &fill.bytes).map_err(&to_error)?;
                }
                written += fill.bytes.len();
                Ok(())
            },
        )?;
        array.close().map_err(to_error)
    }

    /// Returns facts about the columns, and the number of rows.
    fn scan(&self) -> Result<(Vec<Facts>, usize), CliError> {
        let mut facts = vec![Facts::default(); self.columns.count];
        let mut rows = 0;
        let needs_facts = self.options.dtype.is_none();
        self.each_block(
            || Scan {
                columns: &self.columns,
                facts: vec![Facts::default(); self.columns.count],
                needs_facts,
                rows: 0,
            },
            |scan| scan.rows,
            |scan| {
                facts.iter_mut().zip(&scan.facts).for_each(|(all, own)| all.merge(own));
                rows += scan.rows;
                Ok(())
            },
        )?;
        Ok((facts, rows))
    }

    /// Visits the rows of each block with a new visitor, on several threads, and
    /// calls `merge` with the visitors in order.
    fn each_block<V: Visitor + Send>(
        &self,
        visitor: impl Fn() -> V + Sync,
        rows: impl Fn(&V) -> usize,
        mut merge: impl FnMut(V) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let to_error = CliError::io(&self.path, "read");
        let format = self.options.format;
        let mut blocks = Blocks::new(&self.file, format, self.start).map_err(&to_error)?;
        let size = self.file.metadata().map_or(0, |metadata| metadata.len());
        let mut progress = Progress::new(usize::try_from(size).unwrap_or(usize::MAX));
        let mut before = 0;
        parallel::pipeline(
            usize::MAX,
            || blocks.next().map_err(&to_error),
            |block| {
                let mut visitor = visitor();
                let visited = self.columns.visit(&block, format, &mut visitor);
                Ok((visitor, visited, block.len()))
            },
            |(visitor, visited, len)| {
                let own = rows(&visitor);
                visited.map_err(|text| {
                    text_error(&self.path, format!("row {}: {text}", before + own))
                })?;
                before += own;
                progress.add(len);
                merge(visitor)
            },
        )
    }
}

fn text_error(path: &Path, text: String) -> CliError {
    CliError::Text { path: path.to_owned(), text }
}

/// The position of the first row: after a byte order mark, and lines to skip.
fn first_byte(mut file: &File, skip: usize) -> io::Result<u64> {
    file.rewind()?;
    let mut reader = BufReader::new(file);
    let mut mark = [0; 3];
    let n = reader.by_ref().take(3).read(&mut mark)?;
    let mut at = if n == 3 && mark == *b"\xef\xbb\xbf" { 3 } else { 0 };
    reader.seek(io::SeekFrom::Start(at))?;
    for _ in 0..skip {
        at += u64::try_from(reader.skip_until(b'\n')?).unwrap_or(0);
    }
    Ok(at)
}

/// Returns whether the first row has the names of the columns. Arrays without
/// fields are written without names, so a row that may be one of theirs is data.
fn is_header(cells: &[Cell<'_>], dtype: Option<&DType>) -> bool {
    match dtype {
        Some(dtype) if dtype.kind() == Kind::Struct => {
            target::are_names_of(cells, dtype) || look_like_names(cells)
        }
        Some(dtype) => !target::are_elements_of(cells, dtype) && look_like_names(cells),
        None => look_like_names(cells),
    }
}

/// Returns whether the cells of a row look like names: some are text, and none is
/// a number, a date or a boolean.
fn look_like_names(cells: &[Cell<'_>]) -> bool {
    let mut has_text = false;
    for cell in cells {
        let mut facts = Facts::default();
        facts.add(*cell);
        if cell.text.trim().is_empty() {
            continue;
        }
        if !facts.is_text() {
            return false;
        }
        has_text |= !facts::may_be_value(cell.text);
    }
    has_text
}

/// Collects what columns contain.
struct Scan<'a> {
    columns: &'a Columns,
    facts: Vec<Facts>,
    needs_facts: bool,
    rows: usize,
}

impl Visitor for Scan<'_> {
    fn cell(&mut self, column: usize, cell: Cell<'_>) -> Result<(), String> {
        if let (true, Some(facts)) = (self.needs_facts, self.facts.get_mut(column)) {
            facts.add(cell);
        }
        Ok(())
    }

    fn end_row(&mut self, cells: usize) -> Result<(), String> {
        check_count(self.columns, cells)?;
        self.rows += 1;
        Ok(())
    }
}

/// Converts rows to bytes.
struct Fill<'a> {
    columns: &'a Columns,
    target: &'a Target,
    bytes: Vec<u8>,
    /// The row that is being filled.
    row: Vec<u8>,
    rows: usize,
}

impl Visitor for Fill<'_> {
    fn cell(&mut self, column: usize, cell: Cell<'_>) -> Result<(), String> {
        let Some(Some(place)) = self.target.places.get(column) else { return Ok(()) };
        place.store(cell, &mut self.row).map_err(|error| {
            let name = self.columns.names.as_ref().and_then(|names| names.get(column));
            let column = name.map_or_else(|| column.to_string(), |name| format!("`{name}`"));
            format!("column {column}: {}", error.message())
        })
    }

    fn end_row(&mut self, cells: usize) -> Result<(), String> {
        check_count(self.columns, cells)?;
        self.bytes.extend_from_slice(&self.row);
        self.row.fill(0);
        self.rows += 1;
        Ok(())
    }
}

fn check_count(columns: &Columns, cells: usize) -> Result<(), String> {
    if cells == columns.count {
        return Ok(());
    }
    let found = plural(cells, "field");
    Err(format!(
        "has {found}, and the first row has {}: skip lines before the rows with --skip",
        columns.count
    ))
}
