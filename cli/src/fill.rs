//! `npymap fill`: makes every element the same.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use npymap::{MAX_HEADER_LEN, OpenOptions, Value};

use crate::failure::Failure;
use crate::{open, words};

/// Sets every element of an array to a value, in place.
///
/// VALUE is what `npymap set` takes. The file is written, not mapped, which
/// for whole files is faster.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap fill scores.npy nan
  npymap fill --flush mask.npy False

Exit status: 0 when it was filled, 1 when the file or VALUE is refused, 2 for
wrong usage.")]
pub(crate) struct Fill {
    /// Wait until it is on the disk
    #[arg(long)]
    flush: bool,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy file
    file: PathBuf,

    /// What every element becomes
    value: String,
}

impl Fill {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let count = self.fill().map_err(Failure::at(&self.file))?;
        let elements = words::plural(count, "element");
        writeln!(std::io::stdout(), "{}: {elements} set", self.file.display())?;
        Ok(ExitCode::SUCCESS)
    }

    /// Fills the array and returns how many elements it has.
    fn fill(&self) -> npymap::Result<usize> {
        let mut options = OpenOptions::new();
        let mut array = open::write(&self.file, options.max_header_len(self.max_header_len))?;
        array.write_fill(&Value::parse(&self.value, array.dtype())?)?;
        let count = array.len();
        if self.flush {
            array.close()?;
        }
        Ok(count)
    }
}
