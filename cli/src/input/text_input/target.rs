//! The dtype of the array that a text becomes, and where each cell goes in an
//! element.

use std::collections::{HashMap, HashSet};

use npymap::{DType, Error, ErrorKind, Result, dtype::Kind};

use super::cell_parser::{CellParser, parser, value, without_rounding};
use super::columns::{Columns, FreeColumns};
use super::facts::{Cell, Facts};
use crate::input::row_blocks;
use crate::input::text::join;
use crate::input::text_format::MAX_COLUMNS;

/// How rows of cells become elements.
pub(super) struct Target {
    pub(super) dtype: DType,
    /// The number of elements in each row; `None` if a row is one element.
    pub(super) per_row: Option<usize>,
    /// For each column of the text, its place in the bytes of a row. Columns that
    /// the dtype does not name are left out.
    pub(super) places: Vec<Option<Place>>,
}

/// The place of a cell in the bytes of a row.
pub(super) struct Place {
    offset: usize,
    dtype: DType,
    parse: CellParser,
}

impl Place {
    fn new(offset: usize, dtype: DType) -> Result<Place> {
        Ok(Place { offset, parse: parser(&dtype)?, dtype })
    }

    fn without_rounding(self) -> Place {
        match self.dtype.kind() {
            Kind::Float => Place { parse: without_rounding(self.parse), ..self },
            _ => self,
        }
    }

    /// Stores a cell in the bytes of a row.
    pub(super) fn store(&self, cell: Cell<'_>, row: &mut [u8]) -> Result<()> {
        let end = self.offset + self.dtype.itemsize();
        let to = row.get_mut(self.offset..end).expect("the place is in the row");
        (self.parse)(cell, &self.dtype, to)
    }
}

impl Target {
    /// The size of a row, in bytes.
    pub(super) fn row_bytes(&self) -> usize {
        self.dtype.itemsize() * self.per_row.unwrap_or(1)
    }

    /// The shape of an array of this many rows.
    pub(super) fn shape(&self, rows: usize) -> Vec<usize> {
        std::iter::once(rows).chain(self.per_row).collect()
    }

    /// The target for a dtype that was requested.
    pub(super) fn requested(dtype: &DType, columns: &Columns) -> Result<Target> {
        if dtype.kind() != Kind::Struct {
            return Target::uniform(dtype.clone(), columns);
        }
        let places = match &columns.names {
            Some(names) => places_by_name(leaves(dtype)?, columns, names)?,
            None => places_in_order(dtype, columns)?,
        };
        if places.len() != columns.count {
            let text = format!(
                "has {} columns, and the dtype {}: name those to keep in a header",
                columns.count,
                places.len()
            );
            return Err(Error::new(ErrorKind::DTypeMismatch, text));
        }
        Ok(Target { dtype: dtype.clone(), per_row: None, places })
    }

    /// One dtype for all columns: an array of two axes, or one if each row has a
    /// single element.
    fn uniform(dtype: DType, columns: &Columns) -> Result<Target> {
        let mut places = Vec::new();
        let mut count = 0;
        while places.len() < columns.count {
            add_places(&mut places, &dtype, count * dtype.itemsize(), columns)?;
            count += 1;
        }
        let per_row = Some(count).filter(|&count| count != 1);
        Ok(Target { dtype, per_row, places })
    }

    /// The target for what the columns contain. With names, or if the columns
    /// have different kinds, rows are records.
    pub(super) fn inferred(facts: &[Facts], columns: &Columns) -> Result<Target> {
        let mut all = Facts::default();
        for facts in facts {
            all.merge(facts);
        }
        let is_uniform = facts.iter().all(Facts::is_number) || facts.len() == 1;
        if columns.names.is_none() && is_uniform {
            return Target::uniform(all.dtype()?, columns).map(Target::without_rounding);
        }
        let names = unique_names(columns);
        let found: Vec<_> = names
            .iter()
            .zip(facts)
            .enumerate()
            .map(|(at, (name, facts))| {
                let objects = columns.objects.get(at).map(Vec::as_slice).unwrap_or_default();
                FoundColumn { name, objects, facts }
            })
            .collect();
        let dtype = struct_of(&found)?;
        let places = places_in_order(&dtype, columns)?;
        Ok(Target { dtype, per_row: None, places }.without_rounding())
    }

    /// Rejects numbers that a float would round to another integer, or to infinity: nobody
    /// has chosen that dtype.
    fn without_rounding(self) -> Target {
        let places = self.places.into_iter().map(|place| place.map(Place::without_rounding));
        Target { places: places.collect(), ..self }
    }
}

/// The places of the leaves of a struct in columns in the same order.
fn places_in_order(dtype: &DType, columns: &Columns) -> Result<Vec<Option<Place>>> {
    let mut places = Vec::new();
    for (_, dtype, offset) in leaves(dtype)? {
        add_places(&mut places, &dtype, offset, columns)?;
    }
    Ok(places)
}

/// The places of leaves in the columns of their names.
fn places_by_name(
    leaves: Leaves,
    columns: &Columns,
    names: &[String],
) -> Result<Vec<Option<Place>>> {
    let mut places: Vec<Option<Place>> = (0..columns.count).map(|_| None).collect();
    let mut free = FreeColumns::new(names);
    for (name, dtype, offset) in leaves {
        let found: Option<Vec<_>> = match (free.take(&name), part_of_complex(&dtype)) {
            (Some(column), _) => Some(vec![(column, dtype, offset)]),
            (None, Some(part)) => {
                let columns = [0, 1].map(|at| free.take(&format!("{name}.{at}")));
                let places = columns.into_iter().zip([offset, offset + part.itemsize()]);
                places.map(|(column, offset)| Some((column?, part.clone(), offset))).collect()
            }
            (None, None) => None,
        };
        let Some(found) = found else {
            let text = format!("has no column `{name}`, only: {}", names.join(", "));
            return Err(Error::new(ErrorKind::NotFound, text));
        };
        for (column, dtype, offset) in found {
            if let Some(place) = places.get_mut(column) {
                *place = Some(Place::new(offset, dtype)?);
            }
        }
    }
    Ok(places)
}

/// Adds the place of an element in the next column, or those of the parts of a
/// complex number if the next two columns are a pair.
fn add_places(
    places: &mut Vec<Option<Place>>,
    dtype: &DType,
    offset: usize,
    columns: &Columns,
) -> Result<()> {
    let is_pair = columns.pairs.get(places.len()).is_some_and(|&is_pair| is_pair);
    match part_of_complex(dtype) {
        Some(part) if is_pair => {
            let imag = offset + part.itemsize();
            places.push(Some(Place::new(offset, part.clone())?));
            places.push(Some(Place::new(imag, part)?));
        }
        _ => places.push(Some(Place::new(offset, dtype.clone())?)),
    }
    Ok(())
}

/// The dtype of the real and the imaginary part.
fn part_of_complex(dtype: &DType) -> Option<DType> {
    let part = match (dtype.kind(), dtype.itemsize()) {
        (Kind::Complex, 8) => DType::of::<f32>(),
        (Kind::Complex, 16) => DType::of::<f64>(),
        _ => return None,
    };
    Some(part.with_byte_order(dtype.byte_order()))
}

/// Returns whether cells have the names of all columns that a struct needs.
pub(super) fn are_names_of(cells: &[Cell<'_>], dtype: &DType) -> bool {
    let cells: HashSet<&str> =
        cells.iter().flat_map(|cell| [cell.text, cell.text.trim()]).collect();
    let are_all = |names: Vec<String>| {
        !names.is_empty() && names.iter().all(|name| cells.contains(name.as_str()))
    };
    column_names(dtype).is_ok_and(are_all)
}

/// Returns whether cells may be elements of a dtype. Any text may be one of a
/// dtype of text, or be too long for it.
pub(super) fn are_elements_of(cells: &[Cell<'_>], dtype: &DType) -> bool {
    matches!(dtype.kind(), Kind::Unicode | Kind::Bytes)
        || cells.iter().all(|cell| value(*cell, dtype).is_ok())
}

/// The names of the cells of a struct.
pub(crate) fn column_names(dtype: &DType) -> Result<Vec<String>> {
    Ok(leaves(dtype)?.into_iter().map(|(name, ..)| name).collect())
}

/// A name, dtype and offset for each cell of a struct.
type Leaves = Vec<(String, DType, usize)>;

fn leaves(dtype: &DType) -> Result<Leaves> {
    let mut leaves = Vec::new();
    add_leaves(dtype, "", 0, &mut leaves)?;
    Ok(leaves)
}

fn add_leaves(dtype: &DType, name: &str, offset: usize, leaves: &mut Leaves) -> Result<()> {
    for field in dtype.fields() {
        let name = join(name, field.name());
        add_elements(&field.dtype, &name, offset + field.offset, leaves)?;
    }
    Ok(())
}

/// Adds the cells of a field: one, or those of a nested struct or a subarray.
fn add_elements(dtype: &DType, name: &str, offset: usize, leaves: &mut Leaves) -> Result<()> {
    match (dtype.kind(), dtype.subarray()) {
        (Kind::Struct, _) => add_leaves(dtype, name, offset, leaves),
        (_, Some((base, shape))) => {
            let some = usize::from(!shape.contains(&0));
            let count = shape.iter().try_fold(some, |count, dim| count.checked_mul(*dim));
            // If there are too many to count, the limit on cells is reached.
            for number in (0..).take_while(|number| Some(*number) != count) {
                let before = leaves.len();
                let index = row_blocks::index(shape, number);
                let index: Vec<_> = index.iter().map(ToString::to_string).collect();
                let name = join(name, &index.join("."));
                add_elements(base, &name, offset + number * base.itemsize(), leaves)?;
                // A struct without fields, as all others.
                if leaves.len() == before {
                    break;
                }
            }
            Ok(())
        }
        _ if leaves.len() >= MAX_COLUMNS => {
            let text =
                format!("has more than {MAX_COLUMNS} elements in a row, which text can't have");
            Err(Error::new(ErrorKind::LimitExceeded, text))
        }
        _ => {
            leaves.push((name.to_owned(), dtype.clone(), offset));
            Ok(())
        }
    }
}

/// The names of fields as NumPy's genfromtxt chooses them: `f0`, `f1`, … for
/// those without a name, and `a_1` for a second `a`.
fn unique_names(columns: &Columns) -> Vec<String> {
    let mut taken = HashSet::new();
    // The last number that was tried for each name.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    (0..columns.count)
        .map(|column| {
            let given = columns.names.as_ref().and_then(|names| names.get(column));
            let given = given.map(|name| name.trim()).filter(|name| !name.is_empty());
            let name = given.map_or_else(|| format!("f{column}"), str::to_owned);
            let mut unique = name.clone();
            while !taken.insert(unique.clone()) {
                let number = numbers.entry(name.clone()).or_insert(0);
                *number += 1;
                unique = format!("{name}_{number}");
            }
            unique
        })
        .collect()
}

/// A column, and where it goes in a struct.
#[derive(Clone, Copy)]
struct FoundColumn<'a> {
    name: &'a str,
    /// The names of the structs that it is in, from the outermost.
    objects: &'a [String],
    facts: &'a Facts,
}

impl FoundColumn<'_> {
    /// The column without the outermost struct, which has this name.
    fn inside(self, object: &str) -> Self {
        let inner = self.name.strip_prefix(object).and_then(|rest| rest.strip_prefix('.'));
        FoundColumn {
            name: inner.unwrap_or(self.name),
            objects: self.objects.split_at(1).1,
            ..self
        }
    }
}

/// The dtype of records of these columns: objects are structs, and consecutive
/// indices subarrays.
fn struct_of(columns: &[FoundColumn<'_>]) -> Result<DType> {
    let mut fields: Vec<(String, DType)> = Vec::new();
    let mut rest = columns;
    while let Some(first) = rest.first() {
        let len = if let Some(object) = first.objects.first() {
            let inner = rest.iter().take_while(|column| column.objects.first() == Some(object));
            let inner: Vec<_> = inner.map(|column| column.inside(object)).collect();
            fields.push((object.clone(), struct_of(&inner)?));
            inner.len()
        } else {
            let own = rest.iter().take_while(|column| column.objects.is_empty());
            let names = own.map(|column| column.name);
            let (field, shape) = subarray(names).unwrap_or((first.name, Vec::new()));
            let len = shape.iter().product::<usize>().max(1);
            let mut facts = Facts::default();
            rest.iter().take(len).for_each(|column| facts.merge(column.facts));
            let dtype = facts.dtype()?;
            let dtype = if shape.is_empty() { dtype } else { DType::array(dtype, &shape)? };
            fields.push((field.to_owned(), dtype));
            len
        };
        rest = rest.split_at(len).1;
    }
    DType::packed(fields.iter().map(|(name, dtype)| (name.as_str(), dtype.clone())))
}

/// The name and shape of a subarray whose elements are the first columns: `pos.0`,
/// `pos.1`, ….
fn subarray<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<(&'a str, Vec<usize>)> {
    let (name, first) = split_index(names.next()?)?;
    // The rest is looked at only from a column that may be the first of many.
    if first.iter().any(|&at| at > 0) {
        return None;
    }
    let axes = first.len();
    let mut indices = vec![first];
    let others = names.map_while(split_index);
    for (_, index) in others.take_while(|(other, at)| *other == name && at.len() == axes) {
        if indices.last().is_some_and(|before| *before >= index) {
            return None;
        }
        indices.push(index);
    }
    let shape = indices.last()?.iter().map(|at| at.checked_add(1));
    let shape = shape.collect::<Option<Vec<usize>>>()?;
    let count = shape.iter().try_fold(1_usize, |count, dim| count.checked_mul(*dim))?;
    let is_whole = count == indices.len()
        && indices
            .iter()
            .enumerate()
            .all(|(number, found)| *found == row_blocks::index(&shape, number));
    is_whole.then_some((name, shape))
}

/// Splits `pos.0.1` into a name and an index.
fn split_index(name: &str) -> Option<(&str, Vec<usize>)> {
    let mut rest = name;
    let mut index = Vec::new();
    while let Some((before, number)) = rest.rsplit_once('.') {
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        let Some(at) = is_number.then(|| number.parse().ok()).flatten() else { break };
        index.push(at);
        rest = before;
    }
    index.reverse();
    (!index.is_empty() && !rest.is_empty()).then_some((rest, index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(names: Option<Vec<String>>, count: usize) -> Columns {
        Columns { names, count, ..Columns::default() }
    }

    fn names(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    #[test]
    fn consecutive_indices_are_a_subarray() {
        for (text, expected) in [
            ("pos.0,pos.1,pos.2,t", Some(("pos", vec![3]))),
            ("m.0.0,m.0.1,m.1.0,m.1.1", Some(("m", vec![2, 2]))),
            ("x.0", Some(("x", vec![1]))),
            ("a.b.0,a.b.1", Some(("a.b", vec![2]))),
            ("pos.0,pos.2", None),
            ("pos.1,pos.2", None),
            ("m.0.0,m.0.1,m.1.0", None),
            ("x.0,x.1,x.00", None),
            ("x.0,x.1,y.2,x.3", Some(("x", vec![2]))),
            ("m.99999999999.99999999999", None),
            ("sepal.length,sepal.width", None),
            ("5,6", None),
            ("", None),
        ] {
            assert_eq!(subarray(text.split(',')), expected, "{text}");
        }
        assert_eq!(subarray(["x.0", &format!("x.{}", usize::MAX)].into_iter()), None);
    }

    #[test]
    fn names_are_unique() {
        let named = columns(Some(names("a,,a,a_1, b ,a")), 6);
        assert_eq!(unique_names(&named), ["a", "f1", "a_1", "a_1_1", "b", "a_2"]);
        assert_eq!(unique_names(&columns(None, 2)), ["f0", "f1"]);
    }
}
