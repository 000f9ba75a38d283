//! `npymap set`: changes elements in place.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;
use npymap::{Format, MAX_HEADER_LEN, MappedArrayMut, Value};

use crate::failure::Failure;
use crate::place::Place;
use crate::selection::Selection;
use crate::{open, rewrite, words};

/// Sets elements to a value, in place.
///
/// INDEX is what would stand in a[…] in NumPy, with a field behind a dot; all
/// it selects get the value. Only their bytes are written. VALUE is a number,
/// True or False, text, a date as 2020-02-29T12:00, `NaT`, a count of the unit
/// for a time difference, b'\x00' for void, a record as (1, 'a') or a subarray
/// as [1, 2].
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap set embeddings.npy '5, 3' -1.5
  npymap set embeddings.npy '::2, -1' nan
  npymap set --flush events.npy 7.when 2020-02-29T12:00

When VALUE doesn't fit the elements, nothing is written. Text that starts with
a hyphen goes behind `--`.

Exit status: 0 when it was set, 1 when the file, INDEX or VALUE is refused, 2
for wrong usage.")]
pub(crate) struct Set {
    /// Wait until it is on the disk
    #[arg(long)]
    flush: bool,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy file, or FILE[MEMBER] of an .npz or .ten file; an .npz is written
    /// anew
    file: Place,

    /// Which elements
    #[arg(value_name = "INDEX")]
    selection: Selection,

    /// What they become
    value: String,
}

const IN_PLACE: &str = "can't be changed: name an array of an .npz or .ten as FILE[MEMBER], take one out of a tar file with `npymap convert`";

impl Set {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let count = self.set()?;
        let elements = words::plural(count, "element");
        writeln!(std::io::stdout(), "{}: {elements} set", self.file.name().display())?;
        Ok(ExitCode::SUCCESS)
    }

    /// Sets the elements and returns how many there are.
    fn set(&self) -> Result<usize, Failure> {
        let Place { path, member, .. } = &self.file;
        let format = Format::recognize(path).map_err(Failure::library)?;
        match (format, member) {
            (Format::Npy, None) | (Format::Ten, Some(_)) => {
                self.in_place().map_err(Failure::at(self.file.name()))
            }
            (Format::Npz, Some(name)) => {
                rewrite::member(path, name, self.max_header_len, |array| self.change(array))
            }
            _ => {
                let (path, reason) = (self.file.name().to_owned(), IN_PLACE);
                Err(Failure::Refused { path, reason })
            }
        }
    }

    fn in_place(&self) -> npymap::Result<usize> {
        let mut array = open::write_array(&self.file, self.max_header_len)?;
        let count = self.change(&mut array)?;
        if self.flush {
            array.close()?;
        }
        Ok(count)
    }

    fn change(&self, array: &mut MappedArrayMut) -> npymap::Result<usize> {
        let mut view = self.selection.of_mut(array.dyn_view_mut()?)?;
        let value = Value::parse(&self.value, view.dtype())?;
        view.fill(&value)?;
        Ok(view.len())
    }
}
