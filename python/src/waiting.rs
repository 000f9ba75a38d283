//! Waits for servers, which signals such as Ctrl-C end.

use std::cell::{Cell, RefCell};

use pyo3::prelude::*;

thread_local! {
    /// The exception of a signal that ended a wait.
    static INTERRUPTED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// The process, and whether this is its main thread, which handles signals, once that is
    /// known. In a process that another thread forks, that one becomes the main one.
    static IS_MAIN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

/// Calls a function without the interpreter's lock. If a signal handler raises an exception
/// while the function waits for a server, the wait ends with an error, and
/// `OrRaise` raises that exception instead.
#[cfg(feature = "remote")]
pub(crate) fn detached<T: Send>(py: Python<'_>, run: impl FnOnce() -> T + Send) -> T {
    if !is_main(py) {
        return py.detach(run);
    }
    let is_interrupted = || {
        let interrupted = Python::try_attach(|py| {
            let handled = py.check_signals();
            handled.map_err(|error| INTERRUPTED.set(Some(error))).is_err()
        });
        interrupted.unwrap_or(false)
    };
    py.detach(|| npymap_remote::interruptible(is_interrupted, run))
}

/// Returns whether this is the main thread; `false` if that can't be determined.
#[cfg(feature = "remote")]
fn is_main(py: Python<'_>) -> bool {
    let process = std::process::id();
    let known = IS_MAIN.get().filter(|(known, _)| *known == process);
    known.map_or_else(|| find_is_main(py, process), |(_, is_main)| is_main)
}

#[cfg(feature = "remote")]
fn find_is_main(py: Python<'_>, process: u32) -> bool {
    let threading = py.import("threading");
    let is_main = threading.and_then(|threading| {
        let current = threading.call_method0("current_thread")?;
        Ok(current.is(&threading.call_method0("main_thread")?))
    });
    let is_main = is_main.unwrap_or(false);
    IS_MAIN.set(Some((process, is_main)));
    is_main
}

#[cfg(not(feature = "remote"))]
pub(crate) fn detached<T: Send>(py: Python<'_>, run: impl FnOnce() -> T + Send) -> T {
    py.detach(run)
}

/// Calls a function, in which waits for servers end when `is_stopped` returns true.
#[cfg(feature = "remote")]
pub(crate) fn stoppable<T>(is_stopped: impl Fn() -> bool + 'static, run: impl FnOnce() -> T) -> T {
    npymap_remote::interruptible(is_stopped, run)
}

#[cfg(not(feature = "remote"))]
pub(crate) fn stoppable<T>(_: impl Fn() -> bool + 'static, run: impl FnOnce() -> T) -> T {
    run()
}

/// Raises the exception of a signal that ended a wait.
pub(crate) fn interrupted() -> PyResult<()> {
    INTERRUPTED.take().map_or(Ok(()), Err)
}
