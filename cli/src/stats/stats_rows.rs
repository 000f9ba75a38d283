//! The statistics of the columns of an array, in a few passes over it.

use std::path::PathBuf;

use npymap::Result;
use npymap::dtype::Kind;

use crate::input::inspect::MemberName;
use crate::input::text::plural;
use crate::select::origins::Origins;
use crate::stats::columns::{Column, Columns};
use crate::stats::histogram::Bins;
use crate::stats::places::{self, Unwanted};
use crate::stats::quantiles;
use crate::stats::scan::{Ignored, Task};
use crate::stats::summary::Summary;

/// The statistics to compute besides a summary.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted<'a> {
    pub(crate) std: bool,
    pub(crate) quantiles: &'a [f64],
    pub(crate) bins: Option<usize>,
    pub(crate) ignored: Ignored,
    /// Elements to find the places of.
    pub(crate) unwanted: &'a [Unwanted],
    /// How many places to find.
    pub(crate) places: usize,
}

/// The statistics of an array, a field or a column.
#[expect(clippy::option_option, reason = "not requested, and requested of no elements")]
pub(crate) struct StatsRow {
    pub(crate) path: PathBuf,
    pub(crate) member: Option<MemberName>,
    pub(crate) field: String,
    /// The index of the column, with `None` for the axis along which it lies.
    pub(crate) index: Option<Vec<Option<usize>>>,
    pub(crate) dtype: String,
    pub(crate) kind: Kind,
    pub(crate) summary: Summary,
    /// The standard deviation, if requested.
    pub(crate) std: Option<Option<f64>>,
    /// The quantiles, if requested, each with its value.
    pub(crate) quantiles: Option<Vec<(f64, Option<f64>)>>,
    /// The histogram, if requested.
    pub(crate) histogram: Option<Option<Histogram>>,
    /// Where unwanted elements are.
    pub(crate) places: Option<Vec<Vec<usize>>>,
}

/// The number of elements in each bin.
pub(crate) struct Histogram {
    pub(crate) bins: Bins,
    pub(crate) counts: Vec<u64>,
}

impl StatsRow {
    fn new(column: &Column<'_>, ignored: Ignored) -> Result<StatsRow> {
        let empty = Summary::none(column.part.dtype(), ignored)?;
        Ok(StatsRow {
            path: PathBuf::new(),
            member: None,
            field: column.field.to_owned(),
            index: column.index.clone(),
            dtype: column.part.dtype().to_string(),
            kind: column.part.dtype().kind(),
            summary: empty,
            std: None,
            quantiles: None,
            histogram: None,
            places: None,
        })
    }

    /// Converts indices of a selection into those of the array.
    pub(crate) fn locate(&mut self, origins: &Origins) {
        if let Some(index) = &mut self.index {
            *index = origins.at(index);
        }
        for place in self.places.iter_mut().flatten() {
            let index: Vec<_> = place.iter().copied().map(Some).collect();
            *place = origins.at(&index).into_iter().flatten().collect();
        }
    }

    /// How many elements of a kind there are.
    fn count_of(&self, unwanted: Unwanted) -> usize {
        let Summary { nan, nat, infinite, .. } = self.summary;
        match unwanted {
            Unwanted::Nan => nan.unwrap_or(0) + nat.unwrap_or(0),
            Unwanted::Inf => infinite.unwrap_or(0),
        }
    }

    /// How many elements are unwanted, and where they are; `None` if none is.
    pub(crate) fn unwanted_report(&self, unwanted: &[Unwanted]) -> Option<String> {
        let names = [
            (Unwanted::Nan, if self.summary.nat.is_some() { "NaT" } else { "NaN" }),
            (Unwanted::Inf, "infinite"),
        ];
        let present = names.into_iter().filter(|(which, _)| unwanted.contains(which));
        let counts = present.map(|(which, name)| (self.count_of(which), name));
        let counts: Vec<_> = counts.filter(|(count, _)| *count > 0).collect();
        let places = self.places.as_ref()?;
        let total: usize = counts.iter().map(|(count, _)| count).sum();
        let names: Vec<_> = counts.iter().map(|(_, name)| *name).collect();
        let of = plural(self.summary.count, "element");
        let verb = if total == 1 { "is" } else { "are" };
        let field = if self.field.is_empty() { String::new() } else { format!(".{}", self.field) };
        let which = names.join(" or ");
        Some(format!("{total} of {of} {verb} {which}{}", places::text(places, &field, total)))
    }
}

/// Computes the statistics of all columns.
pub(crate) fn compute(columns: &Columns<'_>, wanted: &Wanted<'_>) -> Result<Vec<StatsRow>> {
    let mut rows = columns.each(|column| StatsRow::new(column, wanted.ignored))?;
    columns.pass(
        |column| column.compute(|view| Summary::compute(view, wanted.ignored), Summary::repeated),
        |number, summary| {
            if let Some(row) = rows.get_mut(number) {
                row.summary.merge(summary);
            }
        },
    )?;
    add_details(&mut rows, columns, wanted)?;
    add_quantiles(&mut rows, columns, wanted)?;
    add_places(&mut rows, columns, wanted)?;
    Ok(rows)
}

/// Adds standard deviations and histograms, in one pass.
fn add_details(rows: &mut [StatsRow], columns: &Columns<'_>, wanted: &Wanted<'_>) -> Result<()> {
    if !wanted.std && wanted.bins.is_none() {
        return Ok(());
    }
    let mut tasks = Vec::new();
    for (number, row) in rows.iter_mut().enumerate() {
        row.std = wanted.std.then_some(None);
        row.histogram = wanted.bins.map(|_| None);
        let mean = row.summary.mean().filter(|_| wanted.std);
        tasks.extend(mean.map(|mean| (number, Task::Squares(mean))));
        let bins = row.summary.finite.zip(wanted.bins);
        let bins = bins.map(|((min, max), count)| Bins::new(min, max, count));
        tasks.extend(bins.map(|bins| (number, Task::Histogram(bins))));
    }
    let answers = columns.answers(&tasks, wanted.ignored)?;
    for ((number, task), answer) in tasks.into_iter().zip(answers) {
        let Some(row) = rows.get_mut(number) else { continue };
        match task {
            Task::Squares(_) => row.std = Some(row.summary.std(answer.sum)),
            Task::Histogram(bins) => {
                row.histogram = Some(Some(Histogram { bins, counts: answer.counts }));
            }
            Task::Count(_) | Task::Collect(_) => {}
        }
    }
    Ok(())
}

fn add_quantiles(rows: &mut [StatsRow], columns: &Columns<'_>, wanted: &Wanted<'_>) -> Result<()> {
    if wanted.quantiles.is_empty() {
        return Ok(());
    }
    let populations = rows.iter().map(|row| row.summary.population(row.kind));
    let populations: Vec<_> = populations.collect();
    // In the order in which each is first requested.
    let all = wanted.quantiles;
    let distinct = all.iter().enumerate().filter(|(at, one)| !all.split_at(*at).0.contains(one));
    let distinct: Vec<f64> = distinct.map(|(_, quantile)| *quantile).collect();
    let found =
        quantiles::find(&populations, &distinct, |tasks| columns.answers(tasks, wanted.ignored))?;
    for (row, found) in rows.iter_mut().zip(found) {
        let found = found.into_iter().map(Some).chain(std::iter::repeat(None));
        row.quantiles = Some(distinct.iter().copied().zip(found).collect());
    }
    Ok(())
}

fn add_places(rows: &mut [StatsRow], columns: &Columns<'_>, wanted: &Wanted<'_>) -> Result<()> {
    let found = columns.each(|column| {
        let is_unwanted = |row: &&StatsRow| wanted.unwanted.iter().any(|&of| row.count_of(of) > 0);
        let row = rows.get(column.number).filter(is_unwanted);
        row.map(|_| places::find(columns, column, wanted.unwanted, wanted.places)).transpose()
    })?;
    rows.iter_mut().zip(found).for_each(|(row, places)| row.places = places);
    Ok(())
}
