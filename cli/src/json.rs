//! What is said of an array for programs to read: one JSON object a line.

use std::path::Path;

use npymap::{Order, Result};
use serde::Serialize;

use crate::array_info::{ArrayInfo, RawArrayInfo};
use crate::error::advised;
use crate::inspect::{EntryContent, FileEntry, MemberName};
use crate::text;

/// One line of `--json`.
#[derive(Debug, Serialize)]
pub(crate) struct JsonEntry {
    path: String,
    member: Option<MemberName>,
    #[serde(flatten)]
    what: JsonContent,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum JsonContent {
    /// An array that can be opened.
    Array(JsonArray),
    /// A member that is none.
    Other { array: bool },
    /// A file or member that can't.
    Failure { error: String },
}

/// What an array is and where it lies.
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
}

impl JsonEntry {
    /// The line of an array, or of what stands where one could.
    pub(crate) fn new(path: &Path, item: &FileEntry) -> JsonEntry {
        let what = match &item.what {
            Ok(EntryContent::Array(found)) => JsonContent::Array(JsonArray::new(
                text::format(item.format),
                item.info.clone(),
                found,
            )),
            Ok(EntryContent::Other) => JsonContent::Other { array: false },
            Err(error) => JsonContent::Failure { error: advised(error) },
        };
        JsonEntry { path: path.to_string_lossy().into_owned(), member: item.member.clone(), what }
    }

    /// The line of a file without a header.
    pub(crate) fn raw(path: &Path, found: &Result<RawArrayInfo>) -> JsonEntry {
        let what = match found {
            Ok(raw) => JsonContent::Array(JsonArray::new("raw", None, &ArrayInfo::from(raw))),
            Err(error) => JsonContent::Failure { error: advised(error) },
        };
        JsonEntry { path: path.to_string_lossy().into_owned(), member: None, what }
    }
}

impl JsonArray {
    fn new(format: &'static str, info: Option<String>, found: &ArrayInfo) -> JsonArray {
        let layout = &found.layout;
        JsonArray {
            info,
            format,
            version: found.version.map(|version| [version.major(), version.minor()]),
            descr: layout.dtype().to_string(),
            shape: layout.shape().to_vec(),
            fortran_order: found.order == Order::F,
            data_offset: found.data_offset,
            itemsize: layout.dtype().itemsize(),
            nbytes: layout.nbytes(),
            mapped: found.data_offset.is_some(),
            sha256: found.digest.clone(),
        }
    }
}
