//! The output of `diff` for a pair of arrays.

use crate::input::json_value::JsonValue;
use std::io::{self, Write};

use npymap::{DType, Value};
use serde_json::{Value as Json, json};

use crate::input::escape::{self, safe};
use crate::input::json_value::JsonScalar;
use crate::input::style::{HEADING, LABEL};
use crate::input::{float_text, text};
use crate::output::table::{self, Column};
use crate::stats::compare::{Comparison, Pair};

/// The result of comparing two arrays.
pub(crate) struct DiffReport {
    pub(crate) dtypes: [DType; 2],
    pub(crate) shapes: [Vec<usize>; 2],
    pub(crate) is_equal: bool,
    /// Dtypes are equal, or may differ.
    pub(crate) is_same_type: bool,
    /// `None` if the elements can't be compared.
    pub(crate) elements: Option<Comparison>,
}

impl DiffReport {
    /// The number of pairs of elements.
    pub(crate) fn len(&self) -> usize {
        self.shapes[0].iter().product()
    }

    /// The dtype of both, or both dtypes.
    pub(crate) fn dtype_text(&self) -> String {
        describe_pair(&self.dtypes.each_ref().map(ToString::to_string))
    }

    /// The shape of both, or both shapes.
    pub(crate) fn shape_text(&self) -> String {
        describe_pair(&self.shapes.each_ref().map(|shape| text::shape(shape)))
    }
}

/// Prints a few lines about a pair, and its first elements that differ.
pub(crate) fn print_text(
    out: &mut impl Write,
    names: &[String; 2],
    report: &DiffReport,
) -> io::Result<()> {
    let verdict = if report.is_equal { "equal" } else { "different" };
    let [a, b] = names.each_ref().map(safe);
    writeln!(out, "{HEADING}{a}{HEADING:#} and {HEADING}{b}{HEADING:#}: {verdict}")?;
    let mut lines = vec![
        ("dtype ", report.dtype_text()),
        ("shape ", report.shape_text()),
        ("values", values_text(report)),
    ];
    let changed = report.elements.as_ref().filter(|comparison| comparison.count > 0);
    if let Some((mean, rms)) = changed.and_then(|changed| changed.mean().zip(changed.rms())) {
        let [mean, rms] = [mean, rms].map(|number| float_text::text(&Value::F64(number)));
        lines.push(("mean  ", format!("{mean} absolute difference, rms {rms}")));
    }
    for (label, text) in lines {
        writeln!(out, "  {LABEL}{label}{LABEL:#}  {text}")?;
    }
    match changed {
        Some(comparison) if !comparison.first.is_empty() => print_pairs(out, names, comparison),
        _ => Ok(()),
    }
}

fn values_text(report: &DiffReport) -> String {
    let all = text::plural(report.len(), "element");
    match &report.elements {
        None => "not compared".to_owned(),
        Some(Comparison { count: 0, .. }) => format!("{all} equal"),
        Some(Comparison { count, largest, .. }) => {
            let by = largest.map(|most| {
                let rounded = float_text::rounded(&Value::F64(most));
                rounded.unwrap_or_else(|| most.to_string())
            });
            let by = by.map_or(String::new(), |most| format!(", by at most {most}"));
            format!("{count} of {all} differ{by}")
        }
    }
}

/// Prints a table of the first pairs that differ.
fn print_pairs(
    out: &mut impl Write,
    names: &[String; 2],
    comparison: &Comparison,
) -> io::Result<()> {
    let mut columns = vec![Column::text("index")];
    columns.extend(names.each_ref().map(|name| Column::text(safe(name))));
    for Pair { index, a, b } in &comparison.first {
        let index: Vec<_> = index.iter().map(ToString::to_string).collect();
        let cells = [format!("[{}]", index.join(", ")), safe(a), safe(b)];
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    writeln!(out)?;
    table::print_fitted(out, &mut columns)?;
    let more = comparison.count - comparison.first.len();
    if more > 0 { writeln!(out, "… and {more} more") } else { Ok(()) }
}

/// Prints a JSON object about a pair.
pub(crate) fn print_json(
    out: &mut impl Write,
    names: &[String; 2],
    name: Option<&str>,
    report: &DiffReport,
) -> io::Result<()> {
    let [a, b] = names;
    let elements = report.elements.as_ref();
    let mut line = json!({
        "a": a,
        "b": b,
        "equal": report.is_equal,
        "descr": report.dtypes.each_ref().map(ToString::to_string),
        "shape": report.shapes,
        "differ": elements.map(|comparison| comparison.count),
        "largest": JsonScalar::float(elements.and_then(|comparison| comparison.largest)),
        "mean": JsonScalar::float(elements.and_then(Comparison::mean)),
        "rms": JsonScalar::float(elements.and_then(Comparison::rms)),
    });
    let pairs = elements.into_iter().flat_map(|comparison| &comparison.first);
    let first: Vec<Json> = pairs.map(|pair| json_pair(pair, report)).collect();
    if let Some(line) = line.as_object_mut() {
        if let Some(name) = name {
            line.insert("name".to_owned(), name.into());
        }
        line.insert("first".to_owned(), first.into());
    }
    escape::json_line(out, &line)
}

fn json_pair(pair: &Pair, report: &DiffReport) -> Json {
    let [a, b] = &report.dtypes;
    json!({
        "index": pair.index,
        "a": JsonValue(&pair.a, a),
        "b": JsonValue(&pair.b, b),
    })
}

/// The text for two arrays, or for both if it is the same.
fn describe_pair([a, b]: &[String; 2]) -> String {
    if a == b { a.clone() } else { format!("{a} against {b}") }
}
