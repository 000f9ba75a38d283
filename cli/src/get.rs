//! `npymap get`: prints elements.

use std::io::{BufWriter, Write as _};
use std::process::ExitCode;

use clap::Args;
use npymap::npy::MAX_HEADER_LEN;

use crate::array_path::ArrayPath;
use crate::error::CliError;
use crate::selection::{IndexArg, Selected};
use crate::{elements, open};

/// Prints elements: one, some or all.
///
/// INDEX is what NumPy accepts in a[…]: integers, slices with steps, `...`,
/// `None` and one list of integers, whose elements are copied to memory. A dot
/// and a field name may follow, as in 5.pos, and more of them for nested fields,
/// as in 5.pos.z.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap get embeddings.npy 0
  npymap get embeddings.npy '-1, ::100' ':3, 0' '[5, 7]'
  npymap get --json embeddings.npy 5
  npymap get 'weights.npz[layer1/w]' 0
  npymap get events.npy 5.pos.z :10.score '..., 0.x'

In JSON, nan, inf and -inf are strings, complex numbers [re, im], records
objects, and NaT is null.

Exit status: 0 on success, 1 if the file or an INDEX was rejected, 2 for a usage
error.")]
pub(crate) struct GetArgs {
    /// Print a line of JSON for each INDEX
    #[arg(long)]
    json: bool,

    /// Maximum header length, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy file, or FILE[MEMBER] of an .npz, .ten or tar file
    file: ArrayPath,

    /// Elements to print
    #[arg(required = true, value_name = "INDEX")]
    selections: Vec<IndexArg>,
}

impl GetArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let to_error = CliError::with_path(self.file.name());
        let array = open::array(&self.file, self.max_header_len).map_err(&to_error)?;
        let all = array.dyn_view().map_err(&to_error)?;
        let selected = self.selections.iter().map(|selection| selection.select(&all));
        let selected = selected.collect::<npymap::Result<Vec<_>>>();
        let selected = selected.map_err(&to_error)?;
        let views = selected.iter().map(Selected::view).collect::<npymap::Result<Vec<_>>>();
        let views = views.map_err(&to_error)?;
        for view in &views {
            elements::check_count(self.file.name(), view.itemsize(), view.len())?;
        }
        let out = &mut BufWriter::new(std::io::stdout().lock());
        for view in &views {
            if self.json { elements::print_json(out, view) } else { elements::print(out, view) }?;
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
