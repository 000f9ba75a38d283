//! Where a command with one input writes its new file.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::input::url;

/// The new file: `-o OUT`, or the last argument.
#[derive(Debug, Args)]
pub(crate) struct OutArgs {
    /// The same as --output OUT
    #[arg(value_name = "OUT", required_unless_present = "output", conflicts_with = "output",
        value_parser = url::parser())]
    last: Option<PathBuf>,

    /// New file, whose extension selects its format, or - for standard output
    #[arg(short, long, value_name = "OUT", value_parser = url::parser())]
    output: Option<PathBuf>,
}

impl OutArgs {
    /// The path of the new file.
    pub(crate) fn path(&self) -> &Path {
        self.output.as_deref().or(self.last.as_deref()).expect("one of the two is required")
    }
}
