//! Options of commands that sort: what is compared, and where the result goes.

use std::path::Path;

use clap::Args;
use npymap::MappedArray;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::input_args::InputArgs;
use crate::input::{memory_arg, stream, url};
use crate::output::convert_selection::{self, TextArgs};
use crate::output::new_file::NewFileArgs;
use crate::output::new_rows::{Create, NewRows};
use crate::output::output_format::OutputFormat;
use crate::output::report::ReportArgs;
use crate::select::selection::IndexArg;
use crate::select::small_floats::ValueArgs;
use crate::sort::sorter::SortOptions;

/// How to sort, read and write.
#[derive(Debug, Args)]
pub(crate) struct SortingArgs {
    /// Compare rows only by what INDEX selects of them: temp or 'temp, sensor'
    /// for fields, ':, 3' for a column, ':, [3, 0]' for several, and : for all
    /// columns in turn
    #[arg(long, value_name = "INDEX")]
    pub(crate) by: Vec<IndexArg>,

    /// Memory to use, in MiB or with a unit, as in 512M or 2G. More than fits
    /// is sorted in temporary files beside the output
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = memory_arg::parse)]
    memory: usize,

    #[command(flatten)]
    text: TextArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    new_file: NewFileArgs,

    #[command(flatten)]
    values: ValueArgs,

    #[command(flatten)]
    read: InputArgs,
}

const REPORT: &str = "--json reports on a new file: name one with --output";

/// Sorts an array, and writes the result to one that `Create` makes.
type Process<'p> = &'p dyn Fn(&MappedArray, &SortOptions<'_>, Create<'_>) -> Result<(), CliError>;

impl SortingArgs {
    /// Opens the input, and writes what `process` makes of it.
    pub(crate) fn run(
        &self,
        input: &ArrayPath,
        output: Option<&Path>,
        options: &SortOptions<'_>,
        process: Process<'_>,
    ) -> Result<(), CliError> {
        let path = input.name();
        let format = match (self.text.format(), output) {
            (Some(format), _) => format,
            (None, Some(output)) => OutputFormat::from_extension(output)?,
            (None, None) => OutputFormat::Csv,
        };
        let text = if self.read.file.is_raw() { None } else { self.text.input(input, None) };
        self.text.check(&input.path, text.as_ref(), format)?;
        self.new_file.check(path, output.is_some(), format == OutputFormat::Npy)?;
        match output {
            Some(output) => self.report.check(output)?,
            None => self.report.reject(path, REPORT)?,
        }
        // Temporary files are where there is room for the output.
        let directory = output.filter(|output| !stream::is_output(output) && !url::is_url(output));
        let directory = directory.and_then(Path::parent).filter(|parent| parent.is_dir());
        let options = SortOptions { memory: self.memory, directory, ..*options };
        let rows = NewRows { output, format, text: &self.text, new_file: &self.new_file };
        rows.write(|create| {
            let array = if let Some(text) = text {
                convert_selection::read_text(&input.path, text)?
            } else {
                let array = self.read.options().whole().array(input);
                let array = array.and_then(|array| self.values.of_array(array));
                array.map_err(CliError::of_input(path))?
            };
            process(&array, &options, create)
        })?;
        output.map_or(Ok(()), |output| self.report.print(output, format))
    }
}
