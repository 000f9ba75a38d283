//! Locks on files.

use std::sync::{Mutex, PoisonError};

use npymap::source::FileLock;
use pyo3::prelude::*;

/// A lock on a file, until it is released or collected.
#[pyclass(frozen, module = "npymap._core")]
#[derive(Debug)]
pub(crate) struct Lock(Mutex<Option<FileLock>>);

impl Lock {
    pub(crate) fn new(lock: FileLock) -> Lock {
        Lock(Mutex::new(Some(lock)))
    }
}

#[pymethods]
impl Lock {
    /// Releases the lock. Has no effect if it was released before.
    fn release(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyAny>) {
        self.release();
    }
}
