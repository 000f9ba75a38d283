//! Prints rows, as Markdown or JSON.

use serde_json::{Value, json};

use crate::rounds::{Row, Spread};
use crate::sparse::Growth;

/// `peer` is what there is to say of NumPy, if it was asked for.
pub(crate) fn markdown(
    rows: &[Row],
    growths: &[Growth],
    rounds: usize,
    peer: Option<&str>,
) -> String {
    let mut lines = vec![
        format!(
            "{}{rounds} rounds; times are medians.",
            peer.map(|peer| format!("{peer}; ")).unwrap_or_default()
        ),
        String::new(),
        "| work | contestant | ours, µs | theirs, µs | ratio min / median / max | target | |"
            .to_owned(),
        "|---|---|---:|---:|---:|---:|---|".to_owned(),
    ];
    lines.extend(rows.iter().map(line));
    if !growths.is_empty() {
        lines.extend([
            String::new(),
            "| work | contestant | touched, MiB | memory, MiB | page cache, MiB | bound, MiB | |"
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
        Growth::WORK,
        growth.contestant,
        Growth::TOUCHED >> 20,
        growth.memory.map(|bytes| (bytes >> 20).to_string()).unwrap_or_default(),
        growth.cache >> 20,
        Growth::BOUND >> 20,
        growth.verdict().unwrap_or_default(),
    )
}

fn line(row: &Row) -> String {
    let Spread { min, median, max } = row.ratio;
    format!(
        "| {} | {} | {:.2} | {:.2} | {min:.3} / **{median:.3}** / {max:.3} | {} | {} |",
        row.work,
        row.contestant,
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
    let spread = |Spread { min, median, max }| json!({"min": min, "median": median, "max": max});
    let row = |row: &Row| {
        json!({
            "work": row.work,
            "contestant": row.contestant,
            "ours_ns": spread(row.ours_ns),
            "theirs_ns": spread(row.theirs_ns),
            "ratio": spread(row.ratio),
            "target": row.target,
            "verdict": verdict(row),
        })
    };
    let growth = |growth: &Growth| {
        json!({
            "work": Growth::WORK,
            "contestant": growth.contestant,
            "touched": Growth::TOUCHED,
            "memory": growth.memory,
            "page_cache": growth.cache,
            "bound": Growth::BOUND,
            "verdict": growth.verdict(),
        })
    };
    rows.iter().map(row).chain(growths.iter().map(growth)).collect()
}
