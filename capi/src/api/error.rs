//! Versions, and the last error of a thread.

use std::ffi::{CStr, c_char};

use crate::boundary::In;
use crate::error;
use crate::status::npymap_status;

/// Returns the version of the interface of the running library. If this is not
/// NPYMAP_ABI_VERSION of the header that you compiled with, you linked the wrong
/// library.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_abi_version() -> u32 {
    1
}

/// Returns the version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn npymap_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// Returns the text of the last error of this thread: the file, what was found, and
/// what you requested. This is never null, and valid until the next error of the
/// thread, or npymap_error_clear. A successful call does not change it.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_error() -> *const c_char {
    error::last_text()
}

/// Returns the status of the last error of this thread, or NPYMAP_OK if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_error_status() -> npymap_status {
    error::last_codes().0
}

/// Returns the code of the operating system for the last error of this thread. This is
/// `errno`, or GetLastError() on Windows, or 0 if the operating system was not the
/// reason.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_error_os_code() -> i32 {
    error::last_codes().1
}

/// Forgets the last error of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_error_clear() {
    error::clear();
}

/// Prints the last error of this thread on standard error, after `prefix` and a
/// colon unless `prefix` is null or empty, like perror(3).
#[unsafe(no_mangle)]
pub extern "C" fn npymap_perror(prefix: In<c_char>) {
    error::value((), || error::print(&prefix));
}
