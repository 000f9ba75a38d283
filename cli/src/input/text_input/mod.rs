//! Reads CSV, TSV and JSON lines as arrays, in two passes and constant memory:
//! one finds the dtype and counts the rows, one writes them.

mod blocks;
mod cell_parser;
mod columns;
mod facts;
#[cfg(test)]
#[path = "../../../../fuzz/bodies/text.rs"]
mod fuzzed;
mod passes;
mod rows;
mod target;

pub(crate) use self::target::column_names;

use crate::input::lengths::{to_u64, to_usize};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use memchr::memchr_iter;
use npymap::{DType, MappedArrayMut};

use crate::input::array_bytes::ArrayBytes;
use crate::input::error::{At as _, CliError};
use crate::input::parallel;
use crate::input::progress::Progress;
use crate::input::stream::{self, Content};
use crate::input::text_format::{MARK, TextFormat};
use crate::input::threads;
use crate::input::url;
use blocks::Blocks;
pub(crate) use blocks::{BLOCK, MAX_ROW};
use columns::Columns;
use facts::Facts;
use passes::{Fill, Scan};
use rows::Visitor;
use target::Target;

/// How to read a text.
#[derive(Clone, Debug)]
pub(crate) struct TextInputOptions {
    pub(crate) format: TextFormat,
    /// Lines to skip at the start.
    pub(crate) skip: usize,
    /// The longest row, in bytes.
    pub(crate) max_row: usize,
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
    /// The number of the line in which they start.
    line: usize,
    columns: Columns,
}

impl TextInput {
    /// Opens a text and reads its first row.
    pub(crate) fn open(path: &Path, options: TextInputOptions) -> Result<TextInput, CliError> {
        let to_error = CliError::io(path, "read");
        check_stream(path, &options).map_err(&to_error)?;
        let file = match stream::open(path, Content::ALL).map_err(&to_error)? {
            Some(file) => file,
            None => File::open(path).map_err(CliError::io(path, "open"))?,
        };
        let start = first_byte(&file, options.skip).map_err(&to_error)?;
        let line = options.skip + 1;
        let text = at(&file, start).map_err(&to_error)?;
        let mut blocks = Blocks::new(text, options.format, BLOCK).limited(options.max_row, line);
        let block = blocks.next().map_err(&to_error)?.unwrap_or_default();
        let dtype = options.dtype.as_ref();
        let first = Columns::of_first_row(&block, options.format, options.header, dtype);
        let first = first.map_err(|text| CliError::rejected(path, text))?;
        let Some((columns, len)) = first else {
            return Err(CliError::rejected(path, "has no rows to read an array from"));
        };
        let header = block.split_at(len).0;
        let line = line + memchr_iter(b'\n', header).count();
        let start = start + to_u64(len);
        Ok(TextInput { path: path.to_owned(), file, options, start, line, columns })
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
        let target = target.at(&self.path)?;
        let array = create(&target.dtype, &target.shape(rows))?;
        let mut array = ArrayBytes::new(array).at(&self.path)?;
        self.each_block(
            || Fill::new(&self.columns, &target),
            |fill| fill.rows,
            |fill| array.push(&fill.bytes).at(&self.path),
        )?;
        array.close().at(&self.path)
    }

    /// Returns facts about the columns, and the number of rows.
    fn scan(&self) -> Result<(Vec<Facts>, usize), CliError> {
        let mut facts = vec![Facts::default(); self.columns.count];
        let mut rows = 0;
        let needs_facts = self.options.dtype.is_none();
        self.each_block(
            || Scan::new(&self.columns, needs_facts),
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
        let file = at(&self.file, self.start).map_err(&to_error)?;
        let mut blocks = Blocks::new(file, format, BLOCK).limited(self.options.max_row, self.line);
        let size = self.file.metadata().map_or(0, |metadata| metadata.len());
        let mut progress = Progress::new(to_usize(size));
        let mut before = 0;
        parallel::pipeline(
            threads::computing(),
            || blocks.next().map_err(&to_error),
            |block| {
                let mut visitor = visitor();
                let visited = self.columns.visit(&block, format, &mut visitor);
                Ok((visitor, visited, block.len()))
            },
            |(visitor, visited, len)| {
                let own = rows(&visitor);
                visited.map_err(|text| {
                    CliError::rejected(&self.path, format!("row {}: {text}", before + own))
                })?;
                before += own;
                progress.add(len);
                merge(visitor)
            },
        )
    }
}

/// The file, to be read from a position.
fn at(mut file: &File, start: u64) -> io::Result<&File> {
    file.seek(io::SeekFrom::Start(start))?;
    Ok(file)
}

/// Reads the first row of a stream, which may be endless, before the rest is copied.
fn check_stream(path: &Path, options: &TextInputOptions) -> io::Result<()> {
    if url::is_url(path) {
        return Ok(());
    }
    let Some(mut copy) = stream::begin(path)? else { return Ok(()) };
    let mut text = BufReader::new(&mut copy);
    for line in 0..options.skip {
        let most = to_u64(options.max_row);
        if text.by_ref().take(most).skip_until(b'\n')? == options.max_row {
            let text = format!("line {}, to be skipped, has {most} bytes or more", line + 1);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
    }
    Blocks::new(text, options.format, BLOCK).limited(options.max_row, options.skip + 1).next()?;
    copy.finish(Content::ALL)
}

/// The position of the first row: after a byte order mark, and lines to skip.
fn first_byte(mut file: &File, skip: usize) -> io::Result<u64> {
    file.rewind()?;
    let mut reader = BufReader::new(file);
    let mut mark = [0; 3];
    let n = reader.by_ref().take(3).read(&mut mark)?;
    let mut at = if n == 3 && mark == *MARK { 3 } else { 0 };
    reader.seek(io::SeekFrom::Start(at))?;
    for _ in 0..skip {
        at += to_u64(reader.skip_until(b'\n')?);
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::fuzzed;

    #[test]
    fn the_fuzz_target_holds_for_its_corpus() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/text");
        let mut inputs = 0;
        for entry in fs::read_dir(&folder).unwrap() {
            fuzzed::text(&fs::read(entry.unwrap().path()).unwrap());
            inputs += 1;
        }
        assert!(inputs > 0, "{}", folder.display());
    }
}
