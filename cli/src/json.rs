//! What is said of an array for programs to read: one JSON object a line.

use std::path::Path;

use npymap::{Order, Result};
use serde::Serialize;

use crate::failure::advised;
use crate::found::{Found, FoundRaw};
use crate::members::{Item, Name, What};
use crate::words;

/// One line of `--json`.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    path: String,
    member: Option<Name>,
    #[serde(flatten)]
    what: Said,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Said {
    /// An array that can be opened.
    Array(Array),
    /// A member that is none.
    Other { array: bool },
    /// A file or member that can't.
    Failure { error: String },
}

/// What an array is and where it lies.
#[derive(Debug, Serialize)]
struct Array {
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

impl Line {
    /// The line of an array, or of what stands where one could.
    pub(crate) fn new(path: &Path, item: &Item) -> Line {
        let what = match &item.what {
            Ok(What::Array(found)) => {
                Said::Array(Array::new(words::format(item.format), item.info.clone(), found))
            }
            Ok(What::Other) => Said::Other { array: false },
            Err(error) => Said::Failure { error: advised(error) },
        };
        Line { path: path.to_string_lossy().into_owned(), member: item.member.clone(), what }
    }

    /// The line of a file without a header.
    pub(crate) fn raw(path: &Path, found: &Result<FoundRaw>) -> Line {
        let what = match found {
            Ok(raw) => Said::Array(Array::new("raw", None, &Found::from(raw))),
            Err(error) => Said::Failure { error: advised(error) },
        };
        Line { path: path.to_string_lossy().into_owned(), member: None, what }
    }
}

impl Array {
    fn new(format: &'static str, info: Option<String>, found: &Found) -> Array {
        let layout = &found.layout;
        Array {
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
