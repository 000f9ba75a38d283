//! `npymap fill`: makes every element the same.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;
use npymap::{MappedArrayMut, Mode, Value, npy::MAX_HEADER_LEN};

use crate::array_path::ArrayPath;
use crate::edit::EditOptions;
use crate::error::CliError;
use crate::escape::safe;
use crate::locking::WaitArgs;
use crate::text;

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
pub(crate) struct FillArgs {
    /// Wait until it is on the disk
    #[arg(long)]
    flush: bool,

    #[command(flatten)]
    wait: WaitArgs,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy file, or FILE[MEMBER] of an .npz or .ten file; an .npz is written
    /// anew
    file: ArrayPath,

    /// What every element becomes
    value: String,
}

impl FillArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let asked =
            EditOptions { flush: self.flush, max_header_len: self.max_header_len, wait: self.wait };
        let count = asked.array(&self.file, |array| self.fill(array))?;
        let elements = text::plural(count, "element");
        writeln!(std::io::stdout(), "{}: {elements} set", safe(self.file.name().display()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Fills the array and returns how many elements it has.
    fn fill(&self, array: &mut MappedArrayMut) -> npymap::Result<usize> {
        let value = Value::parse(&self.value, array.dtype())?;
        match array.mode() {
            Some(Mode::ReadWrite) => array.write_fill(&value)?,
            // A copy that an archive is written from.
            _ => array.dyn_view_mut()?.fill(&value)?,
        }
        Ok(array.len())
    }
}
