//! Options of commands that read arrays.

use clap::Args;
use npymap::npy::MAX_HEADER_LEN;

/// How to read inputs.
#[derive(Args, Clone, Debug)]
pub(crate) struct InputArgs {
    /// Maximum header length, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,
}

impl InputArgs {
    /// The maximum header length.
    pub(crate) fn options(&self) -> usize {
        self.max_header_len
    }
}
