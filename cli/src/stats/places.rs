//! Where the elements are that `stats --fail-on` rejects.

use clap::ValueEnum;
use npymap::element::{Real, Ticks};
use npymap::view::DynView;
use npymap::{Result, dtype::Kind, with_type};

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
        for number in numbers_of(&view, unwanted)?.into_iter().take(limit - places.len()) {
            let mut index = row_blocks::index(view.shape(), number);
            index.iter_mut().zip(&tile.origin).for_each(|(at, origin)| *at += origin);
            places.push(whole_index(&index, column.index.as_deref()));
        }
    }
    Ok(places)
}

/// The positions of unwanted elements, in C order.
fn numbers_of(view: &DynView<'_>, unwanted: &[Unwanted]) -> Result<Vec<usize>> {
    if matches!(view.dtype().kind(), Kind::DateTime | Kind::TimeDelta) {
        return Ok(view.view::<Ticks>()?.flatnonzero(|ticks| ticks == Ticks::NAT));
    }
    with_type!(view.dtype(), float T => {
        Ok(view.view::<T>()?.flatnonzero(|element| {
            let number = element.to_f64();
            (number.is_nan() && unwanted.contains(&Unwanted::Nan))
                || (number.is_infinite() && unwanted.contains(&Unwanted::Inf))
        }))
    }, _ => Ok(Vec::new()))
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
