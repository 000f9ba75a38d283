//! `npymap set`: sets elements in place.

use std::ffi::OsString;

use clap::Args;
use npymap::element::Casting;
use npymap::{MappedArray, Result, Source};
use serde_json::json;

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::escape::safe;
use crate::input::{members, open, platform, text};
use crate::output::locking::WaitArgs;
use crate::output::{edit, report};
use crate::select::edited::Edited;
use crate::select::filter::Filter;
use crate::select::new_value::NewValue;
use crate::select::selection::IndexArg;
use crate::select::set_matching;

/// Set elements to a value, in place.
///
/// INDEX is what NumPy accepts in a[…]: integers, slices and one list of
/// integers. A dot and a field name may follow, and a name alone is that field
/// of every element. `:` is every element, and `...` also works for an array without
/// axes. Only the bytes of the selected elements are written.
///
/// VALUE is a number, True or False, text, a date such as 2020-02-29T12:00,
/// `NaT`, a count of the unit for a time difference, b'\x00' for void, or a
/// record such as (1, 'a'). Lists such as [[1, 2], [3, 4]] and @FILE, the array
/// of a file or FILE[MEMBER], are broadcast to the elements as in NumPy. For
/// elements that are text, a list is text like any other: use @FILE.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap set embeddings.npy '5, 3' -1.5
  npymap set embeddings.npy '::2, -1' nan
  npymap set scores.npy : nan
  npymap set scores.npy : 0 --where 'isnan(value)'
  npymap set events.npy temp 20.5
  npymap set --flush events.npy 7.when 2020-02-29T12:00
  npymap set image.npy '10:20, 10:20' '[255, 0, 0]'
  npymap set embeddings.npy '[3, 5]' @row.npy

If VALUE does not fit the elements, FILE stays as it was. A .npy or .ten file is
changed in place. This means that if the command fails or is killed while it
writes, only some elements will have their new values, and one may be written in
part. An .npz is replaced when it is complete. Put text that starts
with a hyphen after `--`, and text that starts with @ in quotes of its own, as
in \"'@home'\".

Exit status: 0 if the elements were set, 1 if the file, INDEX or VALUE was
rejected, 2 for a usage error.")]
pub(crate) struct SetArgs {
    /// Wait until the data is on disk
    #[arg(long)]
    flush: bool,

    /// Allow the values of @FILE to change: to be rounded, truncated or wrapped
    /// around
    #[arg(long)]
    force: bool,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    /// Set only rows that match CONDITION, as for `npymap get`. INDEX then
    /// selects from them: with `0, 3`, column 3 of the first row that matches
    #[arg(long = "where", value_name = "CONDITION")]
    filter: Option<Filter>,

    #[command(flatten)]
    wait: WaitArgs,

    /// .npy file, or FILE[MEMBER] of an .npz, which is rewritten, or .ten file
    file: ArrayPath,

    /// Elements to set: `:` for all
    #[arg(value_name = "INDEX")]
    selection: IndexArg,

    /// Their new value, list of values, or @FILE
    value: String,
}

const SAME_FILE: &str = "is the file to change: copy the array first, with `npymap convert`";

impl SetArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        edit::reject_stream(&self.file)?;
        let file = self.value.strip_prefix('@').map(|name| ArrayPath::from(OsString::from(name)));
        let file = file.map(|path| self.open_value(&path)).transpose()?;
        let count =
            edit::edit(&self.file, self.wait, self.flush, |edited| self.change(edited, file))?;
        let path = self.file.name();
        let line = json!({ "path": path.to_string_lossy(), "set": count });
        let text = format!("{}: {} set", safe(path.display()), text::plural(count, "element"));
        report::done(path, "the elements were set", self.json.then_some(line), &text)
    }

    /// Opens the array whose elements are the new values. The file to change would
    /// change them while they are written.
    fn open_value(&self, path: &ArrayPath) -> Result<MappedArray, CliError> {
        let has_same_name = platform::is_same_file(&path.path, &self.file.path);
        let source = open::map_arrays(&path.path).at(path.name())?;
        // Standard input and hard links have other names.
        let target = Source::open(&self.file.path).ok().and_then(|file| file.file_id());
        let ids = source.file_id().zip(target);
        if has_same_name || ids.is_some_and(|(value, file)| value == file) {
            return Err(CliError::rejected(path.name(), SAME_FILE));
        }
        open::any_of(path, source, false)
            .and_then(|file| members::open(&file, path))
            .at(path.name())
    }

    fn casting(&self) -> Casting {
        if self.force { Casting::Unsafe } else { Casting::SameValue }
    }

    /// Sets the elements and returns how many there are.
    fn change(&self, edited: &mut Edited, file: Option<MappedArray>) -> Result<usize> {
        let dtype = match self.selection.field() {
            Some(field) => edited.stored.outline().field(field)?.dtype().clone(),
            None => edited.array.dtype().clone(),
        };
        let value = match file {
            Some(file) => NewValue::File(file),
            None => NewValue::parse(&self.value, &dtype)?,
        };
        // Everything is checked before the first element is written.
        value.check(&dtype, self.casting())?;
        let by = (&self.selection, self.filter.as_ref());
        set_matching::set(self.file.name(), edited, by, &value, self.casting())
    }
}
