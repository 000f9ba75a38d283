//! Locks on files.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use npymap::source::FileLock;
use pyo3::prelude::*;

/// The first pause between attempts to lock a file, and the longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(10));

/// Calls a function until it returns a value. Meanwhile Python handles signals, which a
/// call of the system that waits for the lock would not allow.
pub(crate) fn wait<T>(
    py: Python<'_>,
    mut attempt: impl FnMut() -> PyResult<Option<T>>,
) -> PyResult<T> {
    let (mut pause, longest) = PAUSES;
    loop {
        if let Some(value) = attempt()? {
            return Ok(value);
        }
        py.check_signals()?;
        py.detach(|| thread::sleep(pause));
        pause = (2 * pause).min(longest);
    }
}

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
