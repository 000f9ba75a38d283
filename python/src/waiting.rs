//! Waits for servers, which signals such as Ctrl-C end.

use std::cell::RefCell;

use pyo3::prelude::*;

thread_local! {
    /// The exception of a signal that ended a wait.
    static INTERRUPTED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Calls a function without the interpreter's lock. If a signal handler raises an exception
/// while it waits for a server, it returns an error, of which
/// [`or_raise`](crate::errors::OrRaise::or_raise) makes that exception.
#[cfg(feature = "remote")]
pub(crate) fn detached<T: Send>(py: Python<'_>, run: impl FnOnce() -> T + Send) -> T {
    let is_interrupted = || {
        Python::attach(|py| {
            let handled = py.check_signals();
            handled.map_err(|error| INTERRUPTED.set(Some(error))).is_err()
        })
    };
    py.detach(|| npymap::source::remote::interruptible(is_interrupted, run))
}

#[cfg(not(feature = "remote"))]
pub(crate) fn detached<T: Send>(py: Python<'_>, run: impl FnOnce() -> T + Send) -> T {
    py.detach(run)
}

/// Calls a function, in which waits for servers end when `is_stopped` returns true.
#[cfg(feature = "remote")]
pub(crate) fn stoppable<T>(is_stopped: impl Fn() -> bool + 'static, run: impl FnOnce() -> T) -> T {
    npymap::source::remote::interruptible(is_stopped, run)
}

#[cfg(not(feature = "remote"))]
pub(crate) fn stoppable<T>(_: impl Fn() -> bool + 'static, run: impl FnOnce() -> T) -> T {
    run()
}

/// Raises the exception of a signal that ended a wait.
pub(crate) fn interrupted() -> PyResult<()> {
    INTERRUPTED.take().map_or(Ok(()), Err)
}
