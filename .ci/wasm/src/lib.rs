//! Exports the checks of `tests/in_memory.rs` to JavaScript.

use std::sync::Mutex;

#[path = "../../../tests/in_memory.rs"]
mod in_memory;

/// Why a check failed. A panic ends the instance, but its memory can be read.
static MESSAGE: Mutex<String> = Mutex::new(String::new());

/// Runs all checks. Returns 0 if they pass.
#[unsafe(no_mangle)]
pub extern "C" fn check() -> u32 {
    std::panic::set_hook(Box::new(|info| *MESSAGE.lock().unwrap() = info.to_string()));
    in_memory::all().unwrap();
    0
}

/// The address of the message.
#[unsafe(no_mangle)]
pub extern "C" fn message() -> *const u8 {
    MESSAGE.lock().unwrap().as_ptr()
}

/// The length of the message in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn message_len() -> usize {
    MESSAGE.lock().unwrap().len()
}
