//! Where the elements are that `stats --fail-on` rejects.

use clap::ValueEnum;
use npymap::element::{Real, Ticks};
use npymap::view::DynView;
use npymap::{Element, Result, View, dtype::Kind, with_type};

use crate::input::row_blocks;
use crate::stats::columns::{Column, Columns};
use crate::stats::tiles::Tile;

/// `: [0, 3], [7, 1] and 5 more`; empty if none are known.
pub(crate) fn text(places: &[Vec<usize>], field: &str, total: usize) -> String {
    let places = places.iter().map(|index| {
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

/// Finds the first unwanted elements of a column, in the order of memory.
pub(crate) fn find(
    columns: &Columns<'_>,
    column: &Column<'_>,
    unwanted: &[Unwanted],
    limit: usize,
) -> Result<Vec<Vec<usize>>> {
    let mut places = Vec::new();
    for tile in Tile::split(&column.part)? {
        if places.len() >= limit {
            break;
        }
        let window = columns.array.window(&tile.part)?;
        let view = window.view();
        for number in numbers_of(&view, unwanted, limit - places.len())? {
            let mut index = row_blocks::index(view.shape(), number);
            index.iter_mut().zip(&tile.origin).for_each(|(at, origin)| *at += origin);
            places.push(whole_index(&index, column.index.as_deref()));
        }
    }
    Ok(places)
}

/// The positions of the first unwanted elements, in C order.
fn numbers_of(view: &DynView<'_>, unwanted: &[Unwanted], limit: usize) -> Result<Vec<usize>> {
    if matches!(view.dtype().kind(), Kind::DateTime | Kind::TimeDelta) {
        return Ok(first_numbers(&view.view::<Ticks>()?, limit, |ticks| ticks == Ticks::NAT));
    }
    let has = |kind| unwanted.contains(&kind);
    with_type!(view.dtype(), float T => {
        let view = view.view::<T>()?;
        let stats = view.stats();
        if (stats.nan == 0 || !has(Unwanted::Nan)) && (stats.infinite == 0 || !has(Unwanted::Inf)) {
            return Ok(Vec::new());
        }
        Ok(first_numbers(&view, limit, |element| {
            let number = element.to_f64();
            (number.is_nan() && has(Unwanted::Nan)) || (number.is_infinite() && has(Unwanted::Inf))
        }))
    }, _ => Ok(Vec::new()))
}

/// The positions of the first elements that `is_unwanted` accepts, in C order.
fn first_numbers<T: Element>(
    view: &View<'_, T>,
    limit: usize,
    is_unwanted: impl Fn(T) -> bool,
) -> Vec<usize> {
    let numbers = view.iter().enumerate();
    numbers.filter_map(|(number, x)| is_unwanted(x).then_some(number)).take(limit).collect()
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
