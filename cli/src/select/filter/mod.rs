//! Selects rows that satisfy a condition: `--where 'temp > 27'`.

mod column;
mod syntax;

use std::borrow::Cow;
use std::str::FromStr;

use npymap::{DType, Error, ErrorKind, Result, dtype::Kind, view::DynView};

use column::Column;
use syntax::{Comparison, Condition, FieldRef, Operand};

pub(crate) use self::syntax::Number;

/// A condition on rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filter(Condition);

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Filter, String> {
        syntax::parse(text).map(Filter)
    }
}

/// The number of axes that enumerate the rows of an array: all axes of records,
/// all but the last of other arrays.
pub(crate) fn leading_axes(dtype: &DType, ndim: usize) -> usize {
    let is_record = dtype.kind() == Kind::Struct;
    if is_record || ndim < 2 { ndim } else { ndim - 1 }
}

/// The name of elements in arrays without fields.
const VALUE: &str = "value";

/// The most axes of an array.
const MAX_AXES: usize = 64;

impl Filter {
    /// The number of axes that enumerate the rows: all of records, and all if the
    /// condition is about each element, as `value > 3`; else all but the last.
    pub(crate) fn leading(&self, dtype: &DType, ndim: usize) -> usize {
        if dtype.kind() != Kind::Struct && self.0.is_about_elements() {
            ndim
        } else {
            leading_axes(dtype, ndim)
        }
    }

    /// Returns for each row whether it satisfies the condition. The first
    /// `leading` axes of `rows` enumerate the rows.
    pub(crate) fn mask(&self, rows: &DynView<'_>, leading: usize) -> Result<Vec<bool>> {
        Rows { rows, leading }.mask(&self.0)
    }
}

impl Condition {
    /// Returns whether each field is `value`, without an index.
    fn is_about_elements(&self) -> bool {
        let is_value = |field: &FieldRef| field.path == VALUE && field.index.is_empty();
        let is_value_if_field = |operand: &Operand| match operand {
            Operand::Field(field) => is_value(field),
            _ => true,
        };
        match self {
            Condition::Or(all) | Condition::And(all) => {
                all.iter().all(Condition::is_about_elements)
            }
            Condition::Not(condition) => condition.is_about_elements(),
            Condition::Compare(first, rest) => {
                is_value_if_field(first) && rest.iter().all(|(_, next)| is_value_if_field(next))
            }
            Condition::IsNan(field) | Condition::IsTrue(field) => is_value(field),
        }
    }
}

/// Rows of an array.
struct Rows<'a, 'v> {
    rows: &'v DynView<'a>,
    leading: usize,
}

impl Rows<'_, '_> {
    fn mask(&self, condition: &Condition) -> Result<Vec<bool>> {
        match condition {
            Condition::Or(all) => {
                joined(all.iter().map(|condition| self.mask(condition)), |a, b| a | b)
            }
            Condition::And(all) => {
                joined(all.iter().map(|condition| self.mask(condition)), |a, b| a & b)
            }
            Condition::Not(condition) => {
                Ok(self.mask(condition)?.into_iter().map(|holds| !holds).collect())
            }
            Condition::Compare(first, rest) => self.compare(first, rest),
            Condition::IsNan(field) => self.column(field)?.is_nan(),
            Condition::IsTrue(field) => self.column(field)?.is_true(),
        }
    }

    fn compare(&self, first: &Operand, rest: &[(Comparison, Operand)]) -> Result<Vec<bool>> {
        let lefts = std::iter::once(first).chain(rest.iter().map(|(_, operand)| operand));
        let masks = lefts.zip(rest).map(|(left, (comparison, right))| match (left, right) {
            (Operand::Field(a), Operand::Field(b)) => {
                self.column(a)?.compare(*comparison, &self.column(b)?)
            }
            (Operand::Field(field), constant) => {
                self.column(field)?.compare_with(*comparison, constant)
            }
            (constant, Operand::Field(field)) => {
                self.column(field)?.compare_with(comparison.reversed(), constant)
            }
            // Excluded by the parser.
            _ => Ok(Vec::new()),
        });
        joined(masks, |a, b| a & b)
    }

    /// The values of a field, one per row.
    fn column(&self, field: &FieldRef) -> Result<Column> {
        let (name, mut view, index) = self.field(field)?;
        let axes = view.ndim() - self.leading;
        if index.len() > axes {
            let text = if axes == 0 {
                format!("`{name}` has a single value in each row: omit the index")
            } else {
                format!("`{name}` takes at most {axes} of the {} indices", index.len())
            };
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        for &at in &index {
            let dim = *view.shape().get(self.leading).expect("there is an axis for each index");
            let from_start = if at < 0 { dim.wrapping_add_signed(at) } else { at.unsigned_abs() };
            if from_start >= dim {
                let text = format!(
                    "index {at} of `{}` is out of range for an axis of length {dim}",
                    field.path
                );
                return Err(Error::new(ErrorKind::OutOfBounds, text));
            }
            view = view.index_axis(self.leading, from_start)?;
        }
        if let Some(dim) = view.shape().get(self.leading) {
            let (path, most) = (&field.path, dim.max(&1) - 1);
            let text = format!(
                "`{path}` has several values in each row: select one by an index for each axis, such as `{path}[0]`, up to {most}"
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        Column::new(field.to_string(), &view)
    }

    /// The path of a field, its view, and the indices of the axes that it adds. The
    /// parts of a path such as `pos.0` or `points.1.x` that are numbers, as in the columns
    /// of CSV, are indices unless a field has that name.
    fn field<'f>(&self, field: &'f FieldRef) -> Result<(Cow<'f, str>, DynView<'_>, Vec<isize>)> {
        let (mut path, mut numbers) = (field.path.as_str(), Vec::new());
        let whole = self.whole_field(path);
        let mut found = whole.as_ref().ok().cloned();
        // Others can't be indices.
        while found.is_none() && numbers.len() < MAX_AXES {
            let Some((parent, number)) = path.rsplit_once('.') else { break };
            let Ok(number) = number.parse() else { break };
            numbers.push(number);
            path = parent;
            found = self.whole_field(path).ok();
        }
        let mut path = Cow::Borrowed(path);
        if found.is_none() {
            let (names, between) = without_numbers(&field.path);
            if between.len() <= MAX_AXES {
                (path, numbers) = (names.into(), between);
                found = self.whole_field(&path).ok();
            }
        }
        // The error names the field as it was given.
        let view = found.map_or(whole, Ok)?;
        let index = numbers.into_iter().rev().chain(field.index.iter().copied());
        Ok((path, view, index.collect()))
    }

    /// The view of a field, or of elements without fields.
    fn whole_field(&self, path: &str) -> Result<DynView<'_>> {
        if self.rows.dtype().kind() == Kind::Struct {
            return self.rows.field(path);
        }
        if path == VALUE {
            return Ok(self.rows.clone());
        }
        let text = format!(
            "has no field `{path}`: elements are called `{VALUE}`, or `{VALUE}[0]` in the first column"
        );
        Err(Error::new(ErrorKind::NotFound, text))
    }
}

/// A path without the parts that are numbers, and these, last first.
fn without_numbers(path: &str) -> (String, Vec<isize>) {
    let (numbers, names): (Vec<_>, Vec<_>) =
        path.split('.').partition(|part| part.parse::<isize>().is_ok());
    let numbers = numbers.iter().rev().filter_map(|number| number.parse().ok());
    (names.join("."), numbers.collect())
}

/// Joins the masks of several conditions.
fn joined(
    mut masks: impl Iterator<Item = Result<Vec<bool>>>,
    join: fn(bool, bool) -> bool,
) -> Result<Vec<bool>> {
    let mut mask = masks.next().expect("there is a condition")?;
    for next in masks {
        mask.iter_mut().zip(next?).for_each(|(holds, next)| *holds = join(*holds, next));
    }
    Ok(mask)
}
