//! A selection of an array's elements: `5, ::2.pos.z`.

use std::convert::Infallible;
use std::str::FromStr;

use npymap::{Indices, MappedArray, MappedArrayMut, Result, element::Casting, view::DynView};

/// An index in NumPy's notation, followed by a field path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    index: String,
    field: Option<String>,
}

impl FromStr for Selection {
    type Err = Infallible;

    /// Splits a text at the first dot that does not belong to an ellipsis.
    fn from_str(text: &str) -> Result<Selection, Infallible> {
        let mut dots = text.match_indices('.').map(|(at, _)| at);
        let mut rest = 0;
        let dot = dots.find(|&at| {
            let is_ellipsis = at >= rest && text.get(at..).is_some_and(|t| t.starts_with("..."));
            if is_ellipsis {
                rest = at + 3;
            }
            at >= rest
        });
        let parts = dot.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)));
        let (index, field) = parts.map_or((text, None), |(index, field)| (index, Some(field)));
        Ok(Selection { index: index.to_owned(), field: field.map(str::to_owned) })
    }
}

/// Selected elements: a view of the file, or a copy of rows that a list names.
pub(crate) enum Selected<'a> {
    View(DynView<'a>),
    Copy(MappedArrayMut),
}

impl Selected<'_> {
    pub(crate) fn view(&self) -> Result<DynView<'_>> {
        match self {
            Selected::View(view) => Ok(view.clone()),
            Selected::Copy(copy) => copy.dyn_view(),
        }
    }
}

impl Selection {
    /// The selected elements.
    pub(crate) fn of<'a>(&self, all: &DynView<'a>) -> Result<Selected<'a>> {
        let Some(list) = List::parse(&self.index, all.shape())? else {
            let view = all.try_slice(Indices::parse(&self.index, all.shape())?)?;
            return Ok(Selected::View(self.field_of(view)?));
        };
        let whole = all.try_slice(Indices::parse(&list.with(":"), all.shape())?)?;
        let places = list.places(all.ndim());
        let whole = self.field_of(moved(&whole, places)?)?;
        copy(&whole, places.1, &list.rows).map(Selected::Copy)
    }

    /// The selected parts of a shape, to be written: one part, or one for each
    /// integer of a list.
    pub(crate) fn parts(&self, shape: &[usize]) -> Result<Vec<Indices>> {
        let texts = match List::parse(&self.index, shape)? {
            None => vec![self.index.clone()],
            Some(list) if list.rows.is_empty() => vec![list.with("0:0")],
            Some(list) => list.rows.iter().map(|row| list.with(&row.to_string())).collect(),
        };
        texts.iter().map(|text| Indices::parse(text, shape)).collect()
    }

    /// The field of them, if one is named.
    pub(crate) fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    fn field_of<'a>(&self, view: DynView<'a>) -> Result<DynView<'a>> {
        match &self.field {
            Some(field) => view.field(field),
            None => Ok(view),
        }
    }
}

/// An index with one list of integers in it: `:, [1, 3], 0`.
struct List {
    items: Vec<String>,
    /// Which item is the list.
    place: usize,
    /// Its integers, counted from the start of the axis.
    rows: Vec<usize>,
}

impl List {
    /// Finds the list of an index, if it has one.
    fn parse(text: &str, shape: &[usize]) -> Result<Option<List>> {
        let items = items(text);
        let Some(place) = items.iter().position(|item| item.starts_with('[')) else {
            return Ok(None);
        };
        let mut list = List { items, place, rows: Vec::new() };
        // Refuses whatever else is wrong, a second list too.
        Indices::parse(&list.with(":"), shape)?;
        let item = list.items.get(place).map_or("", String::as_str);
        let inner = item.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let inner = inner.unwrap_or(item).trim();
        let numbers = inner.strip_suffix(',').unwrap_or(inner).split(',').map(str::trim);
        let numbers = numbers.filter(|_| !inner.is_empty());
        list.rows = numbers.map(|number| list.row(number, shape)).collect::<Result<_>>()?;
        Ok(Some(list))
    }

    /// Reads one of its integers.
    fn row(&self, number: &str, shape: &[usize]) -> Result<usize> {
        // Refuses what is out of range.
        Indices::parse(&self.with(number), shape)?;
        let Ok(at) = number.parse::<isize>() else {
            let item = self.items.get(self.place).map_or("", String::as_str);
            return Indices::parse(&format!("[{item}]"), shape).map(|_| 0);
        };
        let dim = shape.get(self.axis(shape.len())).copied().unwrap_or(0);
        Ok(if at < 0 { dim.wrapping_add_signed(at) } else { at.unsigned_abs() })
    }

    /// The same index with something else in place of the list.
    fn with(&self, other: &str) -> String {
        let mut items = self.items.clone();
        if let Some(item) = items.get_mut(self.place) {
            other.clone_into(item);
        }
        items.join(", ")
    }

    fn before(&self) -> &[String] {
        self.items.get(..self.place).unwrap_or_default()
    }

    /// The axes that `...` covers among `ndim`.
    fn unnamed(&self, ndim: usize) -> usize {
        let named =
            self.items.iter().filter(|item| !["...", "None", "newaxis"].contains(&item.as_str()));
        ndim.saturating_sub(named.count())
    }

    /// The axis of the array that the list indexes.
    fn axis(&self, ndim: usize) -> usize {
        self.before()
            .iter()
            .map(|item| match item.as_str() {
                "..." => self.unnamed(ndim),
                "None" | "newaxis" => 0,
                _ => 1,
            })
            .sum()
    }

    /// Where the list's axis is among those selected with a `:` in its place,
    /// and where NumPy puts it: first, if anything other than integers lies
    /// between the list and an integer.
    fn places(&self, ndim: usize) -> (usize, usize) {
        let own = self
            .before()
            .iter()
            .map(|item| match item.as_str() {
                "..." => self.unnamed(ndim),
                item => usize::from(item.parse::<isize>().is_err()),
            })
            .sum();
        let is_advanced = |item: &String| item.starts_with('[') || item.parse::<isize>().is_ok();
        let first = self.items.iter().position(is_advanced).unwrap_or(0);
        let last = self.items.iter().rposition(is_advanced).unwrap_or(0);
        let together = self.items.get(first..=last).unwrap_or_default().iter().all(is_advanced);
        (own, if together { own } else { 0 })
    }
}

/// The parts of an index between its commas, lists whole.
fn items(text: &str) -> Vec<String> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let mut depth = 0_usize;
    let mut items = vec![String::new()];
    for c in inner.unwrap_or(text).chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match items.last_mut() {
            Some(item) if c != ',' || depth > 0 => item.push(c),
            _ => items.push(String::new()),
        }
    }
    if items.len() > 1 && items.last().is_some_and(|item| item.trim().is_empty()) {
        items.pop();
    }
    items.into_iter().map(|item| item.trim().to_owned()).collect()
}

/// Moves an axis from one place to another.
fn moved<'a>(view: &DynView<'a>, (from, to): (usize, usize)) -> Result<DynView<'a>> {
    let mut axes: Vec<usize> = (0..view.ndim()).filter(|&axis| axis != from).collect();
    axes.insert(to.min(axes.len()), from);
    view.permuted_axes(&axes)
}

/// Copies the elements at some places of an axis to memory.
fn copy(from: &DynView<'_>, axis: usize, places: &[usize]) -> Result<MappedArrayMut> {
    let mut shape = from.shape().to_vec();
    if let Some(dim) = shape.get_mut(axis) {
        *dim = places.len();
    }
    let mut copy = MappedArray::anonymous(from.dtype(), &shape)?;
    let mut to = copy.dyn_view_mut()?;
    for (own, &place) in places.iter().enumerate() {
        let from = from.index_axis(axis, place)?;
        to.reborrow().index_axis(axis, own)?.assign_as(&from, Casting::Unsafe)?;
    }
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_path_starts_at_the_first_dot_that_is_no_ellipsis() {
        for (text, index, field) in [
            ("5", "5", None),
            ("5.pos.z", "5", Some("pos.z")),
            (":10.score", ":10", Some("score")),
            ("..., 0.x", "..., 0", Some("x")),
            ("...", "...", None),
            ("....x", "...", Some("x")),
            ("0, ....x.y", "0, ...", Some("x.y")),
            (".x", "", Some("x")),
            ("", "", None),
            ("5.a...b", "5", Some("a...b")),
            ("..x", "", Some(".x")),
        ] {
            let field = field.map(str::to_owned);
            let expected = Selection { index: index.to_owned(), field };
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }
}
