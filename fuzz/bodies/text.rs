//! CSV, TSV and JSON lines, as the program reads them. This is a module of the
//! program's `text_input`, whose tests run it over `fuzz/corpus/text`.

use csv::ReaderBuilder;
use npymap::DType;

use super::blocks::{BLOCK, Blocks};
use super::columns::Columns;
use super::facts::Cell;
use super::passes::{Fill, Scan};
use super::rows::Visitor;
use super::target::Target;
use crate::input::text_format::TextFormat;

/// Dtypes that are requested instead of the inferred one.
const DTYPES: [&str; 8] = [
    "<i8",
    ">f4",
    "|b1",
    "|S3",
    "<U2",
    "<M8[s]",
    "<c16",
    "[('a', '<i4'), ('b', '<f8', (2,)), ('c', [('d', '|V2')])]",
];

/// A text has the same rows however it is divided into blocks, those of the crate `csv`,
/// and the inferred dtype holds all cells, except numbers that it would round, or make infinite.
pub(crate) fn text(data: &[u8]) {
    let [kind, size, text @ ..] = data else { return };
    let format = match kind % 4 {
        0 => TextFormat::Separated(b','),
        1 => TextFormat::Separated(b';'),
        2 => TextFormat::Separated(b'\t'),
        _ => TextFormat::JsonLines,
    };
    let requested = DTYPES.get(usize::from(kind >> 4)).map(|dtype| dtype.parse().unwrap());
    let Ok(Some(first)) = Blocks::new(text, format, BLOCK).next() else { return };
    let may_have_header = kind & 4 != 0;
    let columns = Columns::of_first_row(&first, format, may_have_header, requested.as_ref());
    let Ok(Some((columns, start))) = columns else { return };
    let text = &text[start..];

    let rows = rows(&columns, text, format, BLOCK);
    assert_eq!(self::rows(&columns, text, format, usize::from(*size) + 1), rows);
    if let (TextFormat::Separated(separator), Some(rows)) = (format, &rows) {
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).flexible(true).delimiter(separator);
        // The crate skips a byte order mark.
        let text = [b"\xef\xbb\xbf", text].concat();
        let reader = builder.from_reader(&text[..]);
        let records = reader.into_records().map(|record| {
            record.unwrap().iter().map(|text| (text.to_owned(), false)).collect::<Vec<_>>()
        });
        assert!(records.eq(rows.iter().cloned()));
    }

    let mut scan = Scan::new(&columns, true);
    let scanned = columns.visit(text, format, &mut scan);
    let inferred = Target::inferred(&scan.facts, &columns);
    if let (Ok(()), Ok(target)) = (scanned, inferred) {
        check_size(&target, &columns);
        let mut fill = Fill::new(&columns, &target);
        match columns.visit(text, format, &mut fill) {
            Ok(()) => {
                assert_eq!(fill.rows, scan.rows);
                assert_eq!(fill.bytes.len(), scan.rows * target.row_bytes());
            }
            Err(error) => assert!(error.contains("in the inferred dtype"), "{error}"),
        }
    }
    if let Some(target) =
        requested.and_then(|dtype: DType| Target::requested(&dtype, &columns).ok())
    {
        check_size(&target, &columns);
        let mut fill = Fill::new(&columns, &target);
        if let Err(error) = columns.visit(text, format, &mut fill) {
            assert!(!error.is_empty());
        }
    }
}

/// There is a place for each column, and a row has the elements of the shape.
fn check_size(target: &Target, columns: &Columns) {
    assert_eq!(target.places.len(), columns.count);
    let per_row: usize = target.shape(1).iter().product();
    assert_eq!(target.row_bytes(), per_row * target.dtype.itemsize());
}

/// The cells of all rows, each with whether it is a string of JSON; `None` if a row
/// can't be read.
fn rows(
    columns: &Columns,
    text: &[u8],
    format: TextFormat,
    size: usize,
) -> Option<Vec<Vec<(String, bool)>>> {
    let mut blocks = Blocks::new(text, format, size);
    let mut cells = Cells::default();
    while let Some(block) = blocks.next().ok()? {
        assert!(!block.is_empty());
        columns.visit(&block, format, &mut cells).ok()?;
    }
    assert!(cells.row.is_empty());
    Some(cells.rows)
}

/// Collects cells.
#[derive(Default)]
struct Cells {
    rows: Vec<Vec<(String, bool)>>,
    row: Vec<(String, bool)>,
}

impl Visitor for Cells {
    fn cell(&mut self, _: usize, cell: Cell<'_>) -> Result<(), String> {
        self.row.push((cell.text.to_owned(), cell.is_string));
        Ok(())
    }

    fn end_row(&mut self, cells: usize) -> Result<(), String> {
        assert_eq!(self.row.len(), cells);
        self.rows.push(std::mem::take(&mut self.row));
        Ok(())
    }
}
