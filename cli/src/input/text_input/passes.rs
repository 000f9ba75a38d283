//! The two passes over the rows of a text: one finds facts about its columns, one
//! converts its cells to bytes.

use super::columns::Columns;
use super::facts::{Cell, Facts};
use super::rows::Visitor;
use super::target::Target;
use crate::input::text::plural;

/// Collects what columns contain.
pub(super) struct Scan<'a> {
    columns: &'a Columns,
    pub(super) facts: Vec<Facts>,
    pub(super) rows: usize,
}

impl<'a> Scan<'a> {
    /// Counts rows. Collects facts only if they are needed.
    pub(super) fn new(columns: &'a Columns, needs_facts: bool) -> Scan<'a> {
        let count = if needs_facts { columns.count } else { 0 };
        Scan { columns, facts: vec![Facts::default(); count], rows: 0 }
    }
}

impl Visitor for Scan<'_> {
    fn cell(&mut self, column: usize, cell: Cell<'_>) -> Result<(), String> {
        if let Some(facts) = self.facts.get_mut(column) {
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
pub(super) struct Fill<'a> {
    columns: &'a Columns,
    target: &'a Target,
    pub(super) bytes: Vec<u8>,
    /// The row that is being filled.
    row: Vec<u8>,
    pub(super) rows: usize,
}

impl<'a> Fill<'a> {
    pub(super) fn new(columns: &'a Columns, target: &'a Target) -> Fill<'a> {
        Fill { columns, target, bytes: Vec::new(), row: vec![0; target.row_bytes()], rows: 0 }
    }
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
