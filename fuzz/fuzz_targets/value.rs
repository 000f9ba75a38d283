#![no_main]
#[path = "../bodies/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the others are targets of their own")]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::value(data));
