//! `npymap._core`: the library as a Python module, without NumPy's C API.
//!
//! Each file has the classes and functions of one subject. They take and return
//! plain Python objects and buffers; `python/npymap/` makes NumPy arrays of them.
#![allow(
    clippy::needless_pass_by_value,
    reason = "Python's arguments are converted to owned values"
)]

mod archive;
mod batches;
mod errors;
mod grow;
mod header;
mod joined;
mod locate;
mod lock;
mod mapping;
mod memory;
mod number;
mod open;
mod path;
mod place;
mod ragged;
mod read_file;
mod reader;
mod recover;
mod rows;
mod sampler;
mod to_numpy;
mod url;
mod waiting;
mod writer;

/// The native part of npymap: see the package `npymap`.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use crate::archive::{Npz, Tar, Ten};
    #[pymodule_export]
    use crate::batches::Batches;
    #[pymodule_export]
    use crate::grow::{Appender, RaggedAppender};
    #[pymodule_export]
    use crate::header::{encode_header, has_longs, parse_header, read_header};
    #[pymodule_export]
    use crate::lock::Lock;
    #[pymodule_export]
    use crate::mapping::Mapping;
    #[pymodule_export]
    use crate::memory::{Buffer, Map, Memory};
    #[pymodule_export]
    use crate::open::{create, map_elements, open_member, open_npy, open_raw, open_raw_descriptor};
    #[pymodule_export]
    use crate::place::{created, read_version};
    #[pymodule_export]
    use crate::ragged::Ragged;
    #[pymodule_export]
    use crate::read_file::ReadFile;
    #[pymodule_export]
    use crate::reader::Reader;
    #[pymodule_export]
    use crate::recover::{Recovery, recover, resize};
    #[pymodule_export]
    use crate::rows::{
        Rows, check_casting, join_rows, npy_stack_paths, rows_at, rows_in_memory, rows_of,
        stack_rows,
    };
    #[pymodule_export]
    use crate::sampler::Sampler;
    #[pymodule_export]
    use crate::url::{is_url_in_python, shown_in_python};
    #[pymodule_export]
    use crate::writer::{NewFile, NpzWriter, save, update_npz};
}
