//! The parsers are modules of the program, which is not a library.
#![no_main]
#![allow(dead_code, reason = "the program uses the rest")]

/// The modules that the parsers use, where the program has them.
mod input {
    #[path = "../../../cli/src/input/row_blocks.rs"]
    pub(crate) mod row_blocks;
    #[path = "../../../cli/src/input/text.rs"]
    pub(crate) mod text;
    #[path = "../../../cli/src/input/text_format.rs"]
    pub(crate) mod text_format;
    #[path = "../../bodies/text_input.rs"]
    pub(crate) mod text_input;
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| input::text_input::fuzzed::text(data));
