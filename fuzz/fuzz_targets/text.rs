//! The parsers are modules of the program, which is not a library.
#![no_main]
#![allow(dead_code, reason = "the program uses the rest")]

#[path = "../../cli/src/input/lengths.rs"]
mod lengths;
#[path = "../../cli/src/input/row_blocks.rs"]
mod row_blocks;
#[path = "../../cli/src/input/text.rs"]
mod text;
#[path = "../../cli/src/input/text_format.rs"]
mod text_format;
#[path = "../bodies/text_input.rs"]
mod text_input;

/// Where the program has these modules.
mod input {
    pub(crate) use crate::{lengths, row_blocks, text, text_format};
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| text_input::fuzzed::text(data));
