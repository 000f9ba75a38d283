//! `npymap fill`: sets all elements to one value.

use std::process::ExitCode;

use clap::Args;
use npymap::{MappedArrayMut, Mode, Value, npy::MAX_HEADER_LEN};

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::output::edit::{self, EditOptions};
use crate::output::locking::WaitArgs;

/// Sets every element of an array to a value, in place.
///
/// VALUE is one value, written as for `npymap set`. The file is written without mapping
/// it, which is faster for whole files.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap fill scores.npy nan
  npymap fill --flush mask.npy False

Exit status: 0 if the array was filled, 1 if the file or VALUE was rejected, 2
for a usage error.")]
pub(crate) struct FillArgs {
    /// Wait until the data is on disk
    #[arg(long)]
    flush: bool,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    wait: WaitArgs,

    /// Maximum header length, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy file, or FILE[MEMBER] of an .npz or .ten file; an .npz is rewritten
    file: ArrayPath,

    /// Value of every element
    value: String,
}

const FILES: &str = "VALUE starts with `@`, which names a file for `npymap set`: use that, or quote text as in '\"@text\"'";

impl FillArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        if self.value.starts_with('@') {
            return Err(CliError::usage(self.file.name(), FILES));
        }
        let options =
            EditOptions { flush: self.flush, max_header_len: self.max_header_len, wait: self.wait };
        let count = options.edit(&self.file, |array| self.fill(array))?;
        edit::report(self.file.name(), count, self.json)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Fills the array and returns how many elements it has.
    fn fill(&self, array: &mut MappedArrayMut) -> npymap::Result<usize> {
        let value = Value::parse(&self.value, array.dtype())?;
        match array.mode() {
            Some(Mode::ReadWrite) => array.write_fill(&value)?,
            // A copy, from which the archive is rewritten.
            _ => array.dyn_view_mut()?.fill(&value)?,
        }
        Ok(array.len())
    }
}
