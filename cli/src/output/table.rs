//! Tables for people: columns as wide as their widest cell, narrowed to fit the
//! terminal.

use std::io::{self, Write};

use anstyle::Style;
use terminal_size::{Height, Width};
use unicode_width::UnicodeWidthStr as _;

use crate::input::style::HEADING_CELL;

/// Spaces between two columns.
pub(crate) const GAP: usize = 2;

/// The width below which no column is cut.
const MIN_CUT_WIDTH: usize = 8;

/// A heading and a cell for each row.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) heading: String,
    /// Each with its style.
    pub(crate) cells: Vec<(String, Style)>,
    /// Aligned to the right.
    is_right: bool,
    cut: CutSide,
    /// The widest cell so far, in terminal columns.
    pub(crate) width: usize,
}

/// Where a cell is cut if the line is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CutSide {
    Neither,
    Start,
    End,
}

impl Column {
    /// A column of text.
    pub(crate) fn text(heading: impl Into<String>) -> Column {
        let heading = heading.into();
        Column {
            width: width(&heading),
            heading,
            cells: Vec::new(),
            is_right: false,
            cut: CutSide::End,
        }
    }

    /// A column of paths, which are cut at their start.
    pub(crate) fn paths(heading: impl Into<String>) -> Column {
        Column { cut: CutSide::Start, ..Column::text(heading) }
    }

    /// A column of numbers, aligned to the right and never cut.
    pub(crate) fn numbers(heading: impl Into<String>) -> Column {
        Column { is_right: true, cut: CutSide::Neither, ..Column::text(heading) }
    }

    /// A column of indices, which are cut at their start.
    pub(crate) fn indices(heading: impl Into<String>) -> Column {
        Column { is_right: true, ..Column::paths(heading) }
    }

    /// A column of numbers or of text.
    pub(crate) fn values(heading: impl Into<String>, are_numbers: bool) -> Column {
        if are_numbers { Column::numbers(heading) } else { Column::text(heading) }
    }

    /// The column with these cells.
    pub(crate) fn with_cells(mut self, cells: impl IntoIterator<Item = String>) -> Column {
        cells.into_iter().for_each(|cell| self.push(cell));
        self
    }

    pub(crate) fn push(&mut self, cell: impl Into<String>) {
        self.push_styled(cell, Style::new());
    }

    pub(crate) fn push_styled(&mut self, cell: impl Into<String>, style: Style) {
        let cell = cell.into();
        self.width = self.width.max(width(&cell));
        self.cells.push((cell, style));
    }

    /// Makes the column at least as wide as another.
    pub(crate) fn widen(&mut self, other: &Column) {
        self.width = self.width.max(other.width);
    }

    /// Cuts heading and cells to a width of `room`.
    pub(crate) fn shorten(&mut self, room: usize) {
        let cut = if self.cut == CutSide::Start { truncate_start } else { truncate_end };
        self.heading = cut(&self.heading, room);
        self.cells.iter_mut().for_each(|(cell, _)| *cell = cut(cell, room));
        self.width = self.width.min(room);
    }
}

/// The width of the terminal, if standard output is one. `COLUMNS` overrides
/// it.
pub(crate) fn terminal_width() -> Option<usize> {
    terminal_side("COLUMNS", |width, _| width.0)
}

/// The width or height of the terminal, if standard output is one. The variable overrides it.
pub(crate) fn terminal_side(variable: &str, side: fn(Width, Height) -> u16) -> Option<usize> {
    let configured = std::env::var(variable).ok().and_then(|length| length.parse().ok());
    configured.filter(|&length| length > 0).or_else(|| {
        let (width, height) = terminal_size::terminal_size_of(io::stdout())?;
        Some(side(width, height).into())
    })
}

/// The width of a line, in terminal columns.
pub(crate) fn line_width(columns: &[Column]) -> usize {
    1 + left(columns.iter().map(|column| column.width + GAP).sum(), GAP)
}

/// What is left of a width, which may be too narrow.
pub(crate) fn left(width: usize, used: usize) -> usize {
    width.saturating_sub(used)
}

/// Cuts columns of text, the widest first, until a line fits into `room`.
pub(crate) fn fit(columns: &mut [Column], room: usize) {
    loop {
        let excess = left(line_width(columns), room);
        let cuttable = columns.iter_mut().filter(|column| column.cut != CutSide::Neither);
        let widest = cuttable.max_by_key(|column| column.width);
        match widest.filter(|column| excess > 0 && column.width > MIN_CUT_WIDTH) {
            // A quarter at most, so that other wide columns are cut as well.
            Some(column) => column
                .shorten(left(column.width, excess).max(column.width * 3 / 4).max(MIN_CUT_WIDTH)),
            None => return,
        }
    }
}

/// Prints columns, cut so that they fit the terminal.
pub(crate) fn print_fitted(out: &mut impl Write, columns: &mut [Column]) -> io::Result<()> {
    if let Some(width) = terminal_width() {
        fit(columns, width);
    }
    print(out, columns)
}

/// Prints headings and rows.
pub(crate) fn print(out: &mut impl Write, columns: &[Column]) -> io::Result<()> {
    print_headings(out, columns)?;
    print_rows(out, columns)
}

pub(crate) fn print_headings(out: &mut impl Write, columns: &[Column]) -> io::Result<()> {
    print_line(out, columns.iter().map(|column| (column, column.heading.as_str(), HEADING_CELL)))
}

pub(crate) fn print_rows(out: &mut impl Write, columns: &[Column]) -> io::Result<()> {
    let count = columns.iter().map(|column| column.cells.len()).fold(0, usize::max);
    (0..count).try_for_each(|row| {
        let cells = columns.iter().map(|column| match column.cells.get(row) {
            Some((cell, style)) => (column, cell.as_str(), *style),
            None => (column, "", Style::new()),
        });
        print_line(out, cells)
    })
}

/// Prints a line without trailing spaces.
fn print_line<'a>(
    out: &mut impl Write,
    cells: impl Iterator<Item = (&'a Column, &'a str, Style)>,
) -> io::Result<()> {
    let mut spaces = 1;
    for (column, text, style) in cells {
        let room = left(column.width, width(text));
        if text.trim_end().is_empty() {
            spaces += column.width + GAP;
            continue;
        }
        let (before, after) = if column.is_right { (room, 0) } else { (0, room) };
        write!(out, "{:1$}{style}{text}{style:#}", "", spaces + before)?;
        spaces = after + GAP;
    }
    writeln!(out)
}

/// The width of text, in terminal columns.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// The start of a text that fits into `room`, with an ellipsis if it is cut.
pub(crate) fn truncate_end(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    take_width(text.chars(), room).into_iter().chain(['…']).collect()
}

/// The end of a text that fits into `room`, with an ellipsis if it is cut.
pub(crate) fn truncate_start(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    take_width(text.chars().rev(), room).into_iter().chain(['…']).rev().collect()
}

/// The first characters, with room left for an ellipsis.
fn take_width(text: impl Iterator<Item = char>, room: usize) -> Vec<char> {
    let mut rest = left(room, 1);
    text.map_while(|c| {
        rest = rest.checked_sub(width(c.encode_utf8(&mut [0; 4])))?;
        Some(c)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_numbers_stay_whole() {
        let mut path = Column::paths("file");
        path.push("/a/long/way/to/the/file.npy");
        let mut text = Column::text("dtype");
        text.push("a description that goes on");
        let mut number = Column::numbers("count");
        number.push("12345678901234567890");
        let mut columns = [path, text, number];
        fit(&mut columns, 50);
        assert!(line_width(&columns) <= 50);
        let mut out = Vec::new();
        print(&mut out, &columns).unwrap();
        let out = String::from_utf8(out).unwrap();
        let last = out.lines().last().unwrap();
        assert!(last.contains("file.npy") && last.contains(" 12345678901234567890"), "{out}");
        assert!(last.chars().count() <= 50, "{out}");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(
            (truncate_end("漢字漢字", 5), truncate_start("漢字漢字", 5)),
            ("漢字…".into(), "…漢字".into())
        );
        assert_eq!(
            (truncate_end("abcd", 4), truncate_start("abcde", 4)),
            ("abcd".into(), "…cde".into())
        );
    }
}
