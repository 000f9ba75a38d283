//! What is said of an array for programs to read: one JSON object a line.

use std::path::Path;

use npymap::{Order, Result};
use serde::Serialize;

use crate::found::{Found, FoundRaw};

/// One line of `--json`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Line {
    /// An array that can be opened.
    Array(Array),
    /// A file that can't.
    Failure(Failure),
}

/// What an array is and where it lies.
#[derive(Debug, Serialize)]
pub(crate) struct Array {
    path: String,
    member: Option<String>,
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

/// Why a file can't be opened.
#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    path: String,
    member: Option<String>,
    error: String,
}

impl Line {
    /// The line of a `.npy` file.
    pub(crate) fn npy(path: &Path, found: &Result<Found>) -> Line {
        let path = path.to_string_lossy().into_owned();
        match found {
            Ok(Found { header, layout, digest }) => Line::Array(Array {
                path,
                member: None,
                format: "npy",
                version: Some([header.version.major(), header.version.minor()]),
                descr: header.dtype.to_string(),
                shape: header.shape.clone(),
                fortran_order: header.order == Order::F,
                data_offset: u64::try_from(header.data_offset).ok(),
                itemsize: header.dtype.itemsize(),
                nbytes: layout.nbytes(),
                mapped: true,
                sha256: digest.clone(),
            }),
            Err(error) => Line::Failure(Failure { path, member: None, error: error.to_string() }),
        }
    }

    /// The line of a file without a header.
    pub(crate) fn raw(path: &Path, found: &Result<FoundRaw>) -> Line {
        let path = path.to_string_lossy().into_owned();
        match found {
            Ok(FoundRaw { layout, order, offset, digest }) => Line::Array(Array {
                path,
                member: None,
                format: "raw",
                version: None,
                descr: layout.dtype().to_string(),
                shape: layout.shape().to_vec(),
                fortran_order: *order == Order::F,
                data_offset: Some(*offset),
                itemsize: layout.dtype().itemsize(),
                nbytes: layout.nbytes(),
                mapped: true,
                sha256: digest.clone(),
            }),
            Err(error) => Line::Failure(Failure { path, member: None, error: error.to_string() }),
        }
    }
}
