//! The output of `stats`: a table, paragraphs or JSON.

use std::io::{self, Write};

use npymap::Value;
use serde_json::{Value as Json, json};

use crate::input::escape::{self, safe};
use crate::input::float_text;

use crate::input::json_value::JsonScalar;
use crate::input::style::LABEL;
use crate::input::url::shown;
use crate::output::table::{self, Column};
use crate::output::terminal;
use crate::stats::histogram;
use crate::stats::stats_rows::{Histogram, StatsRow};

/// Formats a statistic of a row, if the row has it.
type CellFn = fn(&StatsRow) -> Option<String>;

/// The cell of a statistic that a row does not have.
const NONE: &str = "-";

const CELLS: [(&str, CellFn); 11] = [
    ("field", |row| Some(safe(&row.field)).filter(|field| !field.is_empty())),
    ("column", |row| row.index.as_deref().map(index_text)),
    ("dtype", |row| Some(row.dtype.clone())),
    ("count", |row| Some(row.summary.count.to_string())),
    ("NaN", |row| row.summary.nan.map(|count| count.to_string())),
    ("NaT", |row| row.summary.nat.map(|count| count.to_string())),
    ("infinite", |row| row.summary.infinite.map(|count| count.to_string())),
    ("min", |row| row.summary.min.as_ref().map(float_text::text)),
    ("mean", |row| row.summary.mean().map(float)),
    ("max", |row| row.summary.max.as_ref().map(float_text::text)),
    ("sum", |row| row.summary.sum.map(|sum| sum.to_string())),
];

/// Prints a table with a row for each array, field or column, without
/// statistics that no row has. If a row does not fit the terminal, prints a
/// paragraph for each.
pub(crate) fn print_table(out: &mut impl Write, rows: &[StatsRow]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut columns = names(rows);
    for (heading, cell) in CELLS {
        let is_text = ["field", "column", "dtype"].contains(&heading);
        let own: Vec<_> = rows.iter().map(cell).collect();
        columns.extend(column(heading, !is_text, own));
    }
    let std = rows.iter().map(|row| row.std.flatten().map(float)).collect();
    columns.extend(column("std", true, std));
    columns.extend(quantiles(rows));
    let bars = rows.iter().map(|row| row.histogram.as_ref().and_then(Option::as_ref).map(bars));
    columns.extend(column("histogram", false, bars.collect()));
    match table::terminal_width() {
        Some(width) if table::line_width(&columns) > width => {
            print_paragraphs(out, &columns, rows.len(), width)
        }
        _ => table::print(out, &columns),
    }
}

/// A column of cells; `None` if all are empty.
fn column(heading: &str, are_numbers: bool, cells: Vec<Option<String>>) -> Option<Column> {
    let is_shown = cells.iter().any(Option::is_some);
    let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| NONE.to_owned()));
    is_shown.then(|| Column::values(heading, are_numbers).with_cells(cells))
}

/// The files and members, if there are several.
fn names(rows: &[StatsRow]) -> Vec<Column> {
    let mut columns = Vec::new();
    let is_same = |other: &StatsRow| rows.first().is_some_and(|row| row.path == other.path);
    if !rows.iter().all(is_same) {
        let paths = rows.iter().map(|row| safe(shown(&row.path)));
        columns.push(Column::paths("file").with_cells(paths));
    }
    let first = rows.first().and_then(|row| row.member.as_ref());
    if !columns.is_empty() || rows.iter().any(|row| row.member.as_ref() != first) {
        let members =
            rows.iter().map(|row| row.member.as_ref().map(|member| safe(member.text()))).collect();
        columns.extend(column("member", false, members));
    }
    columns
}

/// A column for each quantile.
fn quantiles(rows: &[StatsRow]) -> Vec<Column> {
    let requested = rows.first().and_then(|row| row.quantiles.as_ref());
    let requested = requested.into_iter().flatten().enumerate();
    let columns = requested.filter_map(|(number, (quantile, _))| {
        let cells = rows.iter().map(|row| row.quantiles.as_ref()?.get(number)?.1.map(float));
        column(&percent(*quantile), true, cells.collect())
    });
    columns.collect()
}

/// `2.5%`
fn percent(quantile: f64) -> String {
    // Without the rounding error of the product.
    let text = format!("{:.10}", quantile * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

fn float(number: f64) -> String {
    float_text::text(&Value::F64(number))
}

/// `11.34 ▁▁▁▃▅██▇▆▅▅▆▇██▇▄▂▁ 29.11`
fn bars(histogram: &Histogram) -> String {
    let bars = histogram::sparkline(&histogram.counts, terminal::is_unicode());
    let edges = &histogram.bins.edges;
    let (Some(first), Some(last)) = (edges.first(), edges.last()) else { return bars };
    format!("{} {bars} {}", terminal::brief(*first), terminal::brief(*last))
}

fn index_text(index: &[Option<usize>]) -> String {
    let axes = index.iter().map(|at| at.map_or_else(|| ":".to_owned(), |at| at.to_string()));
    axes.collect::<Vec<_>>().join(", ")
}

/// Prints a paragraph for each row, with a line for each statistic that it has.
fn print_paragraphs(
    out: &mut impl Write,
    columns: &[Column],
    rows: usize,
    width: usize,
) -> io::Result<()> {
    let headings = columns.iter().map(|column| table::width(&column.heading));
    let room = headings.fold(8, usize::max);
    for row in 0..rows {
        if row > 0 {
            writeln!(out)?;
        }
        for column in columns {
            let cell = column.cells.get(row).map_or("", |(cell, _)| cell);
            if cell == NONE {
                continue;
            }
            let cell = table::truncate_end(cell, table::left(width, room + 4));
            let heading = &column.heading;
            writeln!(out, "  {LABEL}{heading:room$}{LABEL:#}  {cell}")?;
        }
    }
    Ok(())
}

/// Prints a line of JSON. What was not requested is left out.
pub(crate) fn print_json(out: &mut impl Write, row: &StatsRow) -> io::Result<()> {
    let summary = &row.summary;
    let mut line = json!({
        "path": shown(&row.path),
        "member": row.member,
        "field": Some(&row.field).filter(|field| !field.is_empty()),
        "index": row.index,
        "descr": row.dtype,
        "count": summary.count,
        "nan": summary.nan,
        "nat": summary.nat,
        "infinite": summary.infinite,
        "min": summary.min.clone().map(JsonScalar),
        "max": summary.max.clone().map(JsonScalar),
        "sum": summary.sum,
        "mean": JsonScalar::float(summary.mean()),
    });
    let quantiles = row.quantiles.as_ref().map(|found| {
        let found = found.iter();
        found
            .map(|(quantile, value)| (quantile.to_string(), json!(JsonScalar::float(*value))))
            .collect()
    });
    let histogram = row.histogram.as_ref().map(|histogram| match histogram {
        Some(Histogram { bins, counts }) => json!({ "counts": counts, "edges": bins.edges }),
        None => Json::Null,
    });
    let requested = [
        ("std", row.std.map(|std| json!(JsonScalar::float(std)))),
        ("quantiles", quantiles),
        ("histogram", histogram),
        ("places", row.places.as_ref().map(|places| json!(places))),
    ];
    if let Some(line) = line.as_object_mut() {
        line.extend(requested.into_iter().filter_map(|(key, value)| Some((key.into(), value?))));
    }
    escape::json_line(out, &line)
}
