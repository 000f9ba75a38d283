//! Descriptions of arrays as JSON, one object per line.

use std::path::Path;

use npymap::Order;
use npymap::array::Trailing;
use serde_json::{Value, json};

use crate::input::error::rephrase_advice;
use crate::input::inspect::{ArrayInfo, EntryContent, FileEntry};
use crate::input::url;

/// A line of `info --json`.
pub(crate) fn line(path: &Path, entry: &FileEntry) -> Value {
    let content = match &entry.content {
        Ok(EntryContent::Array(array)) => facts(path, entry, array),
        Ok(_) => json!({ "array": false }),
        Err(error) => json!({ "error": url::without_queries(&rephrase_advice(error)) }),
    };
    let mut line = json!({ "path": url::shown(path), "member": entry.member });
    if let (Value::Object(line), Value::Object(content)) = (&mut line, content) {
        line.extend(content);
    }
    line
}

/// The facts about an array. Those that few arrays have are left out for others.
fn facts(path: &Path, entry: &FileEntry, array: &ArrayInfo) -> Value {
    let layout = &array.layout;
    let trailing = |&Trailing { offset, nbytes, rows, is_array, .. }: &Trailing| json!({ "offset": offset, "nbytes": nbytes, "rows": rows, "array": is_array });
    let mut facts = json!({
        "info": entry.info,
        "format": entry.format,
        "version": array.version.map(|version| [version.major(), 0]),
        "descr": layout.dtype().to_string(),
        "shape": layout.shape(),
        "fortran_order": array.order == Order::F,
        "data_offset": array.data_offset,
        "itemsize": layout.dtype().itemsize(),
        "nbytes": layout.nbytes(),
        "mapped": array.data_offset.is_some() && !url::is_url(path),
        "sha256": array.digest,
        "trailing": array.trailing.as_ref().map(trailing),
    });
    let is_kept = |key: &str, value: &Value| {
        !value.is_null() || !matches!(key, "info" | "sha256" | "trailing")
    };
    if let Some(facts) = facts.as_object_mut() {
        facts.retain(|key, value| is_kept(key, value));
    }
    facts
}
