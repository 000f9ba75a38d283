//! Prints rows, as Markdown or JSON.

use serde_json::{Value, json};

use crate::rounds::{Row, Spread};

/// `peer` is what there is to say of NumPy, if it was asked for.
pub(crate) fn markdown(rows: &[Row], rounds: usize, peer: Option<&str>) -> String {
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
    lines.join("\n")
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

pub(crate) fn json(rows: &[Row]) -> Value {
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
    rows.iter().map(row).collect()
}
