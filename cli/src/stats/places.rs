//! Where the elements are that `stats --fail-on` rejects.

use clap::ValueEnum;
use npymap::element::{Real, Ticks};
use npymap::view::DynView;
use npymap::{Element, Result, View, dtype::Kind, with_type};

use crate::input::row_blocks;
use crate::stats::columns::{Column, Columns};
use crate::stats::scan::Ignored;
use crate::stats::summary::Summary;
use crate::stats::tiles::Tile;

/// The indices of some elements.
pub(crate) struct Places(pub(crate) Vec<Vec<usize>>);

impl Places {
    /// `: [0, 3], [7, 1] and 5 more`; empty if none are known.
    pub(crate) fn text(&self, field: &str, total: usize) -> String {
        let places = self.0.iter().map(|index| {
            let axes: Vec<_> = index.iter().map(ToString::to_string).collect();
            format!("{field}[{}]", axes.join(", "))
        });
        let places: Vec<_> = places.collect();
        match total - places.len().min(total) {
            _ if places.is_empty() => String::new(),
            0 => format!(": {}", places.join(", ")),
            more => format!(": {} and {more} more", places.join(", ")),
        }
    }
}

/// Finds the first unwanted elements of a column, in the order of memory.
pub(crate) fn find(
    columns: &Columns<'_>,
    column: &Column<'_>,
    unwanted: &[Unwanted],
    limit: usize,
) -> Result<Places> {
    let mut places = Vec::new();
    for tile in Tile::split(&column.part)? {
        if places.len() >= limit {
            break;
        }
        let window = columns.array.window(&tile.part)?;
        let view = window.view();
        if has_unwanted(&view, unwanted)? {
            for index in unwanted_in((&view, &tile.origin), unwanted, limit - places.len())? {
                places.push(whole_index(&index, column.index.as_deref()));
            }
        }
    }
    Ok(Places(places))
}

fn has_unwanted(view: &DynView<'_>, unwanted: &[Unwanted]) -> Result<bool> {
    let Summary { nan, nat, infinite, .. } = Summary::compute(view, Ignored::Nothing)?;
    let has_nan = nan.is_some_and(|count| count > 0) || nat.is_some_and(|count| count > 0);
    let has_infinite = infinite.is_some_and(|count| count > 0);
    Ok((has_nan && unwanted.contains(&Unwanted::Nan))
        || (has_infinite && unwanted.contains(&Unwanted::Inf)))
}

/// The first indices of unwanted elements in a tile.
fn unwanted_in(
    (view, origin): (&DynView<'_>, &[usize]),
    unwanted: &[Unwanted],
    limit: usize,
) -> Result<Vec<Vec<usize>>> {
    let mut indices = if matches!(view.dtype().kind(), Kind::DateTime | Kind::TimeDelta) {
        indices_of(&view.view::<Ticks>()?, limit, |ticks| ticks == Ticks::NAT)
    } else {
        with_type!(view.dtype(), float T => {
            indices_of(&view.view::<T>()?, limit, |element| {
                let number = element.to_f64();
                (number.is_nan() && unwanted.contains(&Unwanted::Nan))
                    || (number.is_infinite() && unwanted.contains(&Unwanted::Inf))
            })
        }, _ => Vec::new())
    };
    for index in &mut indices {
        index.iter_mut().zip(origin).for_each(|(at, origin)| *at += origin);
    }
    Ok(indices)
}

/// The first indices of elements for which `is_unwanted` returns `true`.
fn indices_of<T: Element>(
    view: &View<'_, T>,
    limit: usize,
    is_unwanted: impl Fn(T) -> bool,
) -> Vec<Vec<usize>> {
    let numbers = view
        .iter()
        .enumerate()
        .filter_map(|(number, element)| is_unwanted(element).then_some(number));
    numbers.take(limit).map(|number| row_blocks::index(view.shape(), number)).collect()
}

/// The index in the whole array of an element of a column.
fn whole_index(index: &[usize], column: Option<&[Option<usize>]>) -> Vec<usize> {
    let Some(column) = column else { return index.to_vec() };
    let mut along = index.iter().copied();
    column.iter().filter_map(|at| at.or_else(|| along.next())).collect()
}

/// Elements with which `--fail-on` fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unwanted {
    /// NaN and NaT
    Nan,
    /// Infinity of either sign
    Inf,
}
