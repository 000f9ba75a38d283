//! `npymap get`: prints elements, or writes them to a file.

use std::io::{BufWriter, Write};
use std::path::Path;

use clap::Args;
use npymap::{array::Outline, view::DynView};

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::progress;
use crate::output::elements;
use crate::output::overwrite::OverwriteArgs;
use crate::output::row_output::RowFormatArgs;
use crate::output::sink::Sink;
use crate::select::bfloat16::ReadArgs;
use crate::select::filter::Filter;
use crate::select::limits;
use crate::select::matching;
use crate::select::rows::RowSelection;
use crate::select::selection::{IndexArg, Selected};

/// Print elements of an array, or write them to a file.
///
/// INDEX is what NumPy accepts in a[…]: integers, slices with steps, `...`,
/// `None`, and one list of integers. This copies the elements of a list to
/// memory. You can add a dot and a field name, for example 5.pos, and more of
/// them for nested fields, as in 5.pos.z, or a list of these: temp, pos.z. Names
/// without an index are fields of all elements.
#[derive(Debug, Args)]
#[command(mut_arg("json", |arg| arg.help("Print a line of JSON for each INDEX")), after_help = "\
Examples:
  npymap get embeddings.npy 0
  npymap get embeddings.npy '-1, ::100' ':3, 0' '[5, 7]'
  npymap get --json embeddings.npy 5
  npymap get 'weights.npz[layer1/w]' 0
  npymap get events.npy 5.pos.z :10.score '..., 0.x'
  npymap get events.npy temp 'temp, sensor' :100.temp,sensor
  npymap get embeddings.npy :1000 -o first.npy
  npymap get events.npy --where 'score > 0.5' --format csv --nan ''
  npymap get embeddings.npy ':, 3' --where 'value[0] > 0.5'
  npymap get --raw '<i2' --shape -1,2 recording.pcm '::100' --format tsv

In JSON, nan, inf and -inf are strings, complex numbers [re, im], records
objects, and NaT is null.

The format json is one list, as --json prints it. CSV, TSV and JSON lines have a line
per record, or per row along the last axis of other arrays. In CSV and TSV,
records have a line of names, for example with columns pos.0, pos.1, … for a
subarray pos. Numbers have all digits, and time differences are counts of their
unit. Text is written as it is. This means that a spreadsheet can execute what
starts with =, +, - or @ as a formula, so you should import such columns as
text.

In CONDITION, you compare fields with numbers, text in quotes, dates in quotes,
True and False by ==, !=, <, <=, > and >=, also in chains such as 0 <= x < 1, and
join comparisons by and, or and not. isnan(x) finds NaN and NaT. Elements without fields are called value[0] in
the first column. With value alone, a row is a single element, as in NumPy's
a[a > 3]. Put unusual names of fields in backticks.

Exit status: 0 on success, 1 if the file or an INDEX was rejected, 2 for a usage
error.")]
pub(crate) struct GetArgs {
    /// Print only rows that match CONDITION, one per line unless --format is
    /// given. INDEX applies to these rows
    #[arg(long = "where", value_name = "CONDITION")]
    filter: Option<Filter>,

    #[command(flatten)]
    format: RowFormatArgs,

    #[command(flatten)]
    read: ReadArgs,

    /// .npy file, or FILE[MEMBER] of an .npz, .ten or tar file, or - for
    /// standard input
    file: ArrayPath,

    /// Elements to print: `:` for all. With --format, --where and --output, give one
    /// or none
    #[arg(value_name = "INDEX", required_unless_present_any = ["format", "filter", "output"])]
    selections: Vec<IndexArg>,
}

const ONE_INDEX: &str = "--format, --where and --output take one INDEX";

impl GetArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        match self.format.format(self.file.name())? {
            None if self.filter.is_none() => self.print_all()?,
            None => self.with_rows(|rows| self.print_rows(rows))?,
            // If the output replaces the input, that one is locked before it is read,
            // and on Windows no longer mapped when it is replaced.
            Some(format) => {
                let mut output = self.format.begin(format, self.file.name())?;
                self.with_rows(|rows| output.write_all(rows))?;
                output.finish()?;
            }
        }
        Ok(())
    }

    /// Prints the elements of each INDEX as NumPy does, or as JSON.
    fn print_all(&self) -> Result<(), CliError> {
        let to_error = CliError::with_path(self.file.name());
        let array = self.read.input.array(&self.file).at(self.file.name())?;
        let all = array.outline();
        let selected = self.selections.iter().map(|selection| selection.select(&array, &all));
        let selected = selected.map(|selected| self.read.of_selected(&array, selected?));
        let selected = selected.collect::<npymap::Result<Vec<_>>>().at(self.file.name())?;
        let parts: Vec<_> = selected.iter().map(Selected::outline).collect();
        for part in &parts {
            self.check_count(self.file.name(), part)?;
        }
        progress::hide_on_terminal();
        let out = &mut BufWriter::new(std::io::stdout().lock());
        for (part, selected) in parts.iter().zip(&selected) {
            let array = selected.array(&array);
            elements::print_windows(out, array, part, self.format.json, &to_error)?;
        }
        Ok(out.flush()?)
    }

    /// Rejects more elements without bytes than are printed.
    fn check_count(&self, path: &Path, part: &Outline<'_>) -> Result<(), CliError> {
        if self.format.json {
            elements::check_json(path, part)
        } else {
            limits::check_count(path, part.itemsize(), part.len())
        }
    }

    /// Calls `process` with the selected rows of the file.
    fn with_rows(
        &self,
        process: impl FnOnce(&RowSelection<'_>) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let path = self.file.name();
        let index = match self.selections.as_slice() {
            [] => IndexArg::default(),
            [only] => only.clone(),
            _ => return Err(CliError::usage(path, ONE_INDEX)),
        };
        let array = self.read.input.array(&self.file).and_then(|array| self.read.of_array(array));
        let array = array.at(path)?;
        matching::with_rows(path, &array, (&index, &[]), self.filter.as_ref(), |rows| {
            self.check_count(path, &rows.template().at(path)?)?;
            process(rows)
        })
    }

    /// Prints each row by itself, or what an index of one row selects.
    fn print_rows(&self, rows: &RowSelection<'_>) -> Result<(), CliError> {
        let mut sink = Sink::begin(None, OverwriteArgs::default())?;
        if rows.is_single {
            let all = rows.with_whole(|all| self.text([all.clone()]));
            sink.write(&all.at(rows.path)?)?;
        } else {
            let text = |block: &DynView<'_>| self.text(block.outer_iter());
            rows.each_block(text, |text| sink.write(&text))?;
        }
        sink.finish()
    }

    /// The text of each of some views.
    fn text<'v>(&self, views: impl IntoIterator<Item = DynView<'v>>) -> npymap::Result<Vec<u8>> {
        type Print = fn(&mut Vec<u8>, &DynView<'_>) -> std::io::Result<()>;
        let print: Print = if self.format.json { elements::print_json } else { elements::print };
        let mut out = Vec::new();
        views.into_iter().try_for_each(|view| print(&mut out, &view))?;
        Ok(out)
    }
}
