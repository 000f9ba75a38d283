//! Descriptions of arrays as JSON, one object per line.

use std::path::Path;

use npymap::array::Trailing;
use npymap::{Order, Result};
use serde::Serialize;

use crate::input::array_info::ArrayInfo;
use crate::input::error::rephrase_advice;
use crate::input::inspect::{EntryContent, FileEntry, MemberName};
use crate::input::text;
use crate::input::url;

/// A line of `info --json`.
#[derive(Debug, Serialize)]
pub(crate) struct JsonEntry {
    path: String,
    member: Option<MemberName>,
    #[serde(flatten)]
    content: JsonContent,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum JsonContent {
    /// An array.
    Array(JsonArray),
    /// A member that is not an array.
    Other { array: bool },
    /// A file or member that cannot be opened.
    Failure { error: String },
}

/// The facts about an array.
#[derive(Debug, Serialize)]
struct JsonArray {
    #[serde(skip_serializing_if = "Option::is_none")]
    info: Option<String>,
    format: &'static str,
    version: Option<[u8; 2]>,
    descr: String,
    shape: Vec<usize>,
    fortran_order: bool,
    data_offset: Option<u64>,
    itemsize: usize,
    nbytes: usize,
    mapped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// What follows the elements in a `.npy` file.
    #[serde(skip_serializing_if = "Option::is_none")]
    trailing: Option<JsonTrailing>,
}

#[derive(Debug, Serialize)]
struct JsonTrailing {
    offset: u64,
    nbytes: u64,
    rows: u64,
    /// Whether another array follows.
    array: bool,
}

impl JsonEntry {
    /// The line of an entry of a file.
    pub(crate) fn new(path: &Path, entry: &FileEntry) -> JsonEntry {
        let content = match &entry.content {
            Ok(EntryContent::Array(array)) => JsonContent::Array(JsonArray::new(
                text::format_name(entry.format),
                entry.info.clone(),
                array,
                url::is_url(path),
            )),
            Ok(EntryContent::Other) => JsonContent::Other { array: false },
            Err(error) => {
                JsonContent::Failure { error: url::without_queries(&rephrase_advice(error)) }
            }
        };
        JsonEntry { path: url::shown(path), member: entry.member.clone(), content }
    }

    /// The line of a file without a header.
    pub(crate) fn raw(path: &Path, array: &Result<ArrayInfo>) -> JsonEntry {
        let content = match array {
            Ok(array) => JsonContent::Array(JsonArray::new("raw", None, array, url::is_url(path))),
            Err(error) => {
                JsonContent::Failure { error: url::without_queries(&rephrase_advice(error)) }
            }
        };
        JsonEntry { path: url::shown(path), member: None, content }
    }
}

impl JsonArray {
    fn new(
        format: &'static str,
        info: Option<String>,
        array: &ArrayInfo,
        is_remote: bool,
    ) -> JsonArray {
        let layout = &array.layout;
        JsonArray {
            info,
            format,
            version: array.version.map(|version| [version.major(), 0]),
            descr: layout.dtype().to_string(),
            shape: layout.shape().to_vec(),
            fortran_order: array.order == Order::F,
            data_offset: array.data_offset,
            itemsize: layout.dtype().itemsize(),
            nbytes: layout.nbytes(),
            mapped: array.data_offset.is_some() && !is_remote,
            sha256: array.digest.clone(),
            trailing: array.trailing.as_ref().map(JsonTrailing::new),
        }
    }
}

impl JsonTrailing {
    fn new(found: &Trailing) -> JsonTrailing {
        let &Trailing { offset, nbytes, rows, is_array, .. } = found;
        JsonTrailing { offset, nbytes, rows, array: is_array }
    }
}
