//! Files of any format as C knows them: a list of named arrays.

use std::ffi::CString;

use npymap::any::AnyFile;
use npymap::array::AnyArray;
use npymap::source::{AnySource, MapMut};
use npymap::{Source, open_any};

use crate::array::Array;
use crate::error::{Failure, Result};
use crate::status;

/// An open file, and the names of its arrays.
#[derive(Debug)]
pub struct Archive {
    file: File,
    /// Empty if the file is one array without a name.
    names: Vec<String>,
    /// The names as C reads them. One with a NUL byte is empty here, and only
    /// found by its position.
    c_names: Vec<CString>,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is only one per file")]
enum File {
    ReadOnly(AnyFile),
    Writable(AnyFile<MapMut>),
}

const fn assert_shareable<T: Send + Sync>() {}
const _: () = assert_shareable::<Archive>();

impl Archive {
    pub(crate) fn open(source: AnySource) -> Result<Archive> {
        let (file, names) = match source {
            AnySource::ReadOnly(source) => {
                let file = open_any(source)?;
                let names = file.names();
                (File::ReadOnly(file), names)
            }
            AnySource::Writable(source) => {
                let file = open_any(source)?;
                let names = file.names();
                (File::Writable(file), names)
            }
        };
        let mut c_names: Vec<_> =
            names.iter().map(|name| CString::new(name.as_str()).unwrap_or_default()).collect();
        if file.is_npy() {
            c_names.push(CString::default());
        }
        Ok(Archive { file, names, c_names })
    }

    /// Opens a copy of a file in memory.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Archive> {
        Archive::open(AnySource::Writable(Source::bytes(copy(bytes)?)))
    }

    /// The names of the arrays; that of the array of a `.npy` is empty.
    pub(crate) fn names(&self) -> &[CString] {
        &self.c_names
    }

    /// Opens the array with a name, or the only one.
    pub(crate) fn get(&self, name: Option<&str>) -> Result<Array> {
        Ok(match &self.file {
            File::ReadOnly(file) => AnyArray::ReadOnly(file.get(name)?).into(),
            File::Writable(file) => AnyArray::Writable(file.get(name)?).into(),
        })
    }

    /// Opens the array at a position.
    pub(crate) fn get_at(&self, position: usize) -> Result<Array> {
        if position >= self.c_names.len() {
            return Err(self.no_position(position));
        }
        self.get(self.names.get(position).map(String::as_str))
    }

    /// The error for a position after the last array.
    pub(crate) fn no_position(&self, position: usize) -> Failure {
        let text =
            format!("position {position} is out of bounds for {} arrays", self.c_names.len());
        Failure::new(status::NPYMAP_ERROR_OUT_OF_BOUNDS, text)
    }
}

impl File {
    /// Whether the file is one array without a name.
    fn is_npy(&self) -> bool {
        match self {
            File::ReadOnly(file) => matches!(file, AnyFile::Npy(_)),
            File::Writable(file) => matches!(file, AnyFile::Npy(_)),
        }
    }
}

/// Copies bytes of C, which may not outlive the call.
pub(crate) fn copy(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    if copy.try_reserve_exact(bytes.len()).is_err() {
        let text = format!("there is no memory for {} bytes", bytes.len());
        return Err(Failure::new(status::NPYMAP_ERROR_IO, text));
    }
    copy.extend_from_slice(bytes);
    Ok(copy)
}
