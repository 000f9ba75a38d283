//! The program's module `text_input`, without files.

#[path = "../../cli/src/input/text_input/blocks.rs"]
mod blocks;
#[path = "../../cli/src/input/text_input/cell_parser.rs"]
mod cell_parser;
#[path = "../../cli/src/input/text_input/columns.rs"]
mod columns;
#[path = "../../cli/src/input/text_input/facts.rs"]
mod facts;
#[path = "text.rs"]
pub(crate) mod fuzzed;
#[path = "../../cli/src/input/text_input/passes.rs"]
mod passes;
#[path = "../../cli/src/input/text_input/rows.rs"]
mod rows;
#[path = "../../cli/src/input/text_input/target.rs"]
mod target;
