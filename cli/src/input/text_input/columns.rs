//! The columns of a text, as its first row has them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::iter;

use npymap::{DType, dtype::Kind};

use super::facts::{Cell, Facts, has_digit_first, is_any_date, is_missing, may_be_value};
use super::rows::{OwnedCell, Row, first_row};
use super::target;
use crate::input::text_format::TextFormat;

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
    /// The columns of a text that starts with a block, and the length of its header;
    /// `None` without rows. `may_have_header` is whether the first row may have names, and
    /// `dtype` the one of the array, if it is not inferred.
    pub(super) fn of_first_row(
        block: &[u8],
        format: TextFormat,
        may_have_header: bool,
        dtype: Option<&DType>,
    ) -> Result<Option<(Columns, usize)>, String> {
        let Some((Row { cells, lists }, len)) = first_row(block, format)? else { return Ok(None) };
        let count = cells.len();
        let (names, mut texts): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
        let objects = texts.iter_mut().map(|cell| std::mem::take(&mut cell.objects)).collect();
        let is_json = format == TextFormat::JsonLines;
        let pairs = texts.iter().map(|cell| cell.starts_pair).collect();
        let first: Vec<_> = texts.iter().map(OwnedCell::as_cell).collect();
        // An error in it is found with the other rows.
        let second = match block.get(len..) {
            Some(rest) if !is_json && may_have_header => first_row(rest, format).ok().flatten(),
            _ => None,
        };
        let second: Vec<_> = second.into_iter().flat_map(|(row, _)| row.cells).collect();
        let second: Vec<_> = second.iter().map(|(_, cell)| cell.as_cell()).collect();
        let has_header = !is_json && may_have_header && is_header(&first, &second, dtype);
        let names = if has_header {
            Some(texts.iter().map(|cell| cell.text.clone()).collect())
        } else {
            Some(names).filter(|names| is_json && names.iter().any(|name| !name.is_empty()))
        };
        let columns = Columns { names, objects, pairs, lists, count };
        Ok(Some((columns, if has_header { len } else { 0 })))
    }
}

/// The columns of a text by their names. Each is taken once.
pub(super) struct FreeColumns<'a> {
    /// The columns of each name, and then those with white space around it.
    named: HashMap<&'a str, VecDeque<usize>>,
    taken: HashSet<usize>,
}

impl<'a> FreeColumns<'a> {
    pub(super) fn new(names: &'a [String]) -> FreeColumns<'a> {
        let mut columns: HashMap<_, VecDeque<_>> = HashMap::new();
        let exact = names.iter().map(String::as_str).enumerate();
        let trimmed = exact.clone().filter(|(_, name)| name.trim() != *name);
        for (column, name) in exact.chain(trimmed.map(|(column, name)| (column, name.trim()))) {
            columns.entry(name).or_default().push_back(column);
        }
        FreeColumns { named: columns, taken: HashSet::new() }
    }

    /// Takes the first free column of this name, or else the first of this name with
    /// white space around it.
    pub(super) fn take(&mut self, name: &str) -> Option<usize> {
        let columns = self.named.get_mut(name)?;
        iter::from_fn(|| columns.pop_front()).find(|&column| self.taken.insert(column))
    }
}

/// Returns whether the first row has the names of the columns. Arrays without
/// fields are written without names, so a row that may be one of theirs is data.
fn is_header(cells: &[Cell<'_>], second: &[Cell<'_>], dtype: Option<&DType>) -> bool {
    let look_like_names = || look_like_names(cells, second);
    match dtype {
        Some(dtype) if dtype.kind() == Kind::Struct => {
            target::are_names_of(cells, dtype) || look_like_names()
        }
        Some(dtype) => {
            // Nobody names the columns of no elements.
            let is_alone = second.is_empty() && cells.iter().any(|cell| has_digit_first(cell.text));
            !target::are_elements_of(cells, dtype) && !is_alone && look_like_names()
        }
        None => look_like_names(),
    }
}

/// Returns whether the cells of a row look like names: some are text, and none is
/// a number, a date or a boolean. Text of the form of a date, such as `2020-01`, is a
/// name if the next row has a number there; other text that starts with a digit, such as
/// `1st`, unless the next row has such text there too, as in a column of times.
fn look_like_names(cells: &[Cell<'_>], second: &[Cell<'_>]) -> bool {
    let mut has_text = false;
    for (column, cell) in cells.iter().enumerate() {
        if cell.text.trim().is_empty() {
            continue;
        }
        if !facts(*cell).is_text() {
            return false;
        }
        let below = second.get(column).filter(|below| !is_missing(below.text));
        let is_above_number = below.is_some_and(|below| facts(*below).is_number());
        let is_text = |cell: &Cell<'_>| facts(*cell).is_text() && has_digit_first(cell.text);
        let is_value = may_be_value(cell.text) || is_text(cell) && below.is_some_and(is_text);
        has_text |= !is_value || is_any_date(cell.text) && is_above_number;
    }
    has_text
}

fn facts(cell: Cell<'_>) -> Facts {
    let mut facts = Facts::default();
    facts.add(cell);
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_taken_by_name_and_once() {
        let names = ["a", " b", "a", "b", " a "].map(str::to_owned);
        let mut free = FreeColumns::new(&names);
        for (name, expected) in [
            ("b", Some(3)),
            ("a", Some(0)),
            (" b", Some(1)),
            ("b", None),
            ("a", Some(2)),
            ("a", Some(4)),
            (" a ", None),
            ("c", None),
        ] {
            assert_eq!(free.take(name), expected, "{name:?}");
        }
    }
}
