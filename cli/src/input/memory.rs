//! Running out of memory is an error with status 1, not an abort.
//!
//! Memory whose size a file or an option decides is reserved by `zeros` and
//! `with_capacity`, and in the library, which say how many bytes are missing. Everything
//! else, also in dependencies, panics or aborts: both are turned into an error here, if this
//! thread could not allocate memory before. On systems other than Unix, an abort stays one.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt;
use std::io::{self, Write as _};
use std::panic;

use npymap::array::CopyOptions;
use npymap::source::AtomicFile;
use npymap::{Error, Result};

use crate::input::platform;

thread_local! {
    /// The size of the last allocation that failed on this thread; 0 if none did.
    static MISSING: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which remembers what it could not allocate.
struct Remembering;

#[global_allocator]
static ALLOCATOR: Remembering = Remembering;

fn remember(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        MISSING.set(size);
    }
    memory
}

// SAFETY: it is `System`, with a note about null that allocates nothing and cannot panic.
unsafe impl GlobalAlloc for Remembering {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promised.
        remember(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promised.
        remember(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promised.
        remember(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Ends the program with status 1, instead of a panic or an abort, when there is no memory.
pub(crate) fn exit_if_exhausted() {
    // Allocates the list of files that are removed.
    drop(AtomicFile::remove_unfinished());
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        exit_if_missing();
        if panic.payload().downcast_ref::<String>().is_some_and(|text| text.starts_with(NO_STACK)) {
            exit_exhausted(format_args!("cannot start a thread"));
        }
        default(panic);
        // Nothing is unwound, so nothing else removes temporary files.
        #[cfg(panic = "abort")]
        {
            let _held = AtomicFile::remove_unfinished();
            platform::exit_at_once(101)
        }
    }));
    #[cfg(unix)]
    {
        // SAFETY: a thread that aborts raises the signal itself, where it ran out of memory
        // or found a fault, and so not inside a function that is called here.
        let registered = unsafe {
            signal_hook::low_level::register(signal_hook::consts::SIGABRT, exit_if_missing)
        };
        // If that fails, the program aborts.
        let _ = registered;
    }
}

/// How the standard library panics in a new thread that has no memory for its signal stack.
const NO_STACK: &str = "failed to allocate an alternative stack";

/// Ends the program if this thread could not allocate memory. Nothing is allocated, and
/// nothing waits for a lock of the standard library, which another thread may hold
/// that waits for this one.
fn exit_if_missing() {
    let missing = MISSING.replace(0);
    if missing > 0 {
        exit_exhausted(format_args!("cannot allocate {missing} bytes"));
    }
}

fn exit_exhausted(what: fmt::Arguments<'_>) -> ! {
    let mut text = [0; 96];
    let mut rest = text.as_mut_slice();
    let _ = writeln!(rest, "error: out of memory: {what}");
    let left = rest.len();
    platform::write_error(text.get(..text.len() - left).unwrap_or_default());
    // No file gets its name from now on.
    let _held = AtomicFile::remove_unfinished();
    platform::exit_at_once(1)
}

/// Fails if there is not enough memory for another thread: the C library aborts if one
/// starts without what it needs beside its stack.
pub(crate) fn check_thread() -> Result<()> {
    with_capacity::<u8>(4 << 20)?;
    Ok(())
}

/// Address space below which memory is used sparingly, in bytes.
const LITTLE: u64 = 1 << 30;

/// Returns whether the process may have little address space: `ulimit -v`.
pub(crate) fn is_limited() -> bool {
    platform::address_space().is_some_and(|limit| limit < LITTLE)
}

/// How to copy arrays: with at most this memory for elements that are not in the order of
/// the file.
pub(crate) fn copy_options() -> CopyOptions {
    CopyOptions::new().memory(if is_limited() { 16 << 20 } else { 32 << 20 })
}

/// Zeros of any type, or an error.
pub(crate) fn zeros<T: Clone + Default>(count: usize) -> Result<Vec<T>> {
    let mut zeros = with_capacity(count)?;
    zeros.resize(count, T::default());
    Ok(zeros)
}

/// An empty vector with room for some elements, or an error.
pub(crate) fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(count).map_err(|_| {
        // For the message only.
        let nbytes = count.saturating_mul(size_of::<T>());
        let text = format!("cannot allocate {nbytes} bytes");
        Error::from(io::Error::new(io::ErrorKind::OutOfMemory, text))
    })?;
    Ok(elements)
}
