//! `npymap set`: sets elements in place.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;
use npymap::{Indices, MappedArrayMut, Mode, Value, npy::MAX_HEADER_LEN};

use crate::array_path::ArrayPath;
use crate::edit::EditOptions;
use crate::error::CliError;
use crate::escape::safe;
use crate::locking::WaitArgs;
use crate::selection::IndexArg;
use crate::text;

/// Sets elements to a value, in place.
///
/// INDEX is what NumPy accepts in a[…]: integers, slices and one list of
/// integers. A dot and a field name may follow. All selected elements are set
/// to VALUE, and only their bytes are written. VALUE is a number, True or
/// False, text, a date such as 2020-02-29T12:00, `NaT`, a count of the unit for
/// a time difference, b'\x00' for void, a record such as (1, 'a') or a subarray
/// such as [1, 2].
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap set embeddings.npy '5, 3' -1.5
  npymap set embeddings.npy '::2, -1' nan
  npymap set --flush events.npy 7.when 2020-02-29T12:00

If VALUE does not fit the elements, nothing is written. Put text that starts
with a hyphen after `--`.

Exit status: 0 if the elements were set, 1 if the file, INDEX or VALUE was
rejected, 2 for a usage error.")]
pub(crate) struct SetArgs {
    /// Wait until the data is on disk
    #[arg(long)]
    flush: bool,

    #[command(flatten)]
    wait: WaitArgs,

    /// Maximum header length, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy file, or FILE[MEMBER] of an .npz or .ten file; an .npz is rewritten
    file: ArrayPath,

    /// Elements to set
    #[arg(value_name = "INDEX")]
    selection: IndexArg,

    /// Their new value
    value: String,
}

impl SetArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let options =
            EditOptions { flush: self.flush, max_header_len: self.max_header_len, wait: self.wait };
        let count = options.edit(&self.file, |array| self.change(array))?;
        let elements = text::plural(count, "element");
        writeln!(std::io::stdout(), "{}: {elements} set", safe(self.file.name().display()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Sets the elements and returns how many there are.
    fn change(&self, array: &mut MappedArrayMut) -> npymap::Result<usize> {
        let field = self.selection.field();
        let dtype = match field {
            Some(field) => array.field(field)?.dtype().clone(),
            None => array.dtype().clone(),
        };
        let value = Value::parse(&self.value, &dtype)?;
        // All are checked before the first is written.
        let parts = self.selection.parts(array.shape())?;
        parts.into_iter().try_fold(0, |count, part| Ok(count + set(array, part, field, &value)?))
    }
}

/// Sets the elements of a part, or a field of them, and returns how many there
/// are.
fn set(
    array: &mut MappedArrayMut,
    part: Indices,
    field: Option<&str>,
    value: &Value,
) -> npymap::Result<usize> {
    if array.mode() == Some(Mode::ReadWrite) {
        return array.write_fill_slice(part, field, value);
    }
    // A copy, from which the archive is rewritten.
    let view = array.dyn_view_mut()?.try_slice(part)?;
    let mut view = match field {
        Some(field) => view.into_field(field)?,
        None => view,
    };
    view.fill(value)?;
    Ok(view.len())
}
