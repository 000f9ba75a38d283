//! Prints rows, as Markdown or JSON.

use serde_json::{Value, json};

use crate::rounds::{Row, Spread};
use crate::sparse::Growth;

/// `numpy` names the versions of NumPy and other packages, if they took part.
pub(crate) fn markdown(
    rows: &[Row],
    growths: &[Growth],
    rounds: usize,
    numpy: Option<&str>,
) -> String {
    let mut lines = vec![
        format!(
            "{}{rounds} rounds; times are medians.",
            numpy.map(|numpy| format!("{numpy}; ")).unwrap_or_default()
        ),
        String::new(),
        "| benchmark | compared with | ours, µs | theirs, µs | ratio min / median / max | target | |"
            .to_owned(),
        "|---|---|---:|---:|---:|---:|---|".to_owned(),
    ];
    lines.extend(rows.iter().map(line));
    if !growths.is_empty() {
        lines.extend([
            String::new(),
            "| benchmark | program | touched, MiB | memory, MiB | page cache, MiB | bound, MiB | |"
                .to_owned(),
            "|---|---|---:|---:|---:|---:|---|".to_owned(),
        ]);
    }
    lines.extend(growths.iter().map(growth_line));
    lines.join("\n")
}

fn growth_line(growth: &Growth) -> String {
    format!(
        "| {} | {} | {} | {} | {} | ≤ {} | {} |",
        Growth::NAME,
        growth.program,
        Growth::TOUCHED >> 20,
        growth.memory.map(|bytes| (bytes >> 20).to_string()).unwrap_or_default(),
        growth.cache >> 20,
        Growth::BOUND >> 20,
        growth.verdict().unwrap_or_default(),
    )
}

pub(crate) fn line(row: &Row) -> String {
    let Spread { min, median, max } = row.ratio;
    format!(
        "| {} | {} | {:.2} | {:.2} | {min:.3} / **{median:.3}** / {max:.3} | {} | {} |",
        row.benchmark,
        row.peer,
        row.ours_ns.median / 1e3,
        row.theirs_ns.median / 1e3,
        row.target.map_or(String::new(), |target| format!("≤ {target}")),
        verdict(row).unwrap_or_default(),
    )
}

/// Whether the median reaches the target.
fn verdict(row: &Row) -> Option<&'static str> {
    row.target.map(|target| if row.ratio.median <= target { "pass" } else { "short" })
}

pub(crate) fn json(rows: &[Row], growths: &[Growth]) -> Value {
    rows.iter().map(row_json).chain(growths.iter().map(growth_json)).collect()
}

fn row_json(row: &Row) -> Value {
    json!({
        "benchmark": row.benchmark,
        "peer": row.peer,
        "ours_ns": spread_json(row.ours_ns),
        "theirs_ns": spread_json(row.theirs_ns),
        "ratio": spread_json(row.ratio),
        "target": row.target,
        "verdict": verdict(row),
    })
}

fn growth_json(growth: &Growth) -> Value {
    json!({
        "benchmark": Growth::NAME,
        "program": growth.program,
        "touched": Growth::TOUCHED,
        "memory": growth.memory,
        "page_cache": growth.cache,
        "bound": Growth::BOUND,
        "verdict": growth.verdict(),
    })
}

fn spread_json(Spread { min, median, max }: Spread) -> Value {
    json!({"min": min, "median": median, "max": max})
}
