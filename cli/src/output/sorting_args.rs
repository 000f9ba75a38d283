//! Options of commands that sort: what is compared, and where the result goes.

use std::path::Path;

use clap::Args;
use npymap::{CreateOptions, DType, MappedArray, MappedArrayMut, Order};

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::open::Temporary;
use crate::input::{memory_arg, stream, url};
use crate::output::convert_selection::{self, TextArgs};
use crate::output::draft::Draft;
use crate::output::new_file::NewFileArgs;
use crate::output::output_format::OutputFormat;
use crate::output::report::ReportArgs;
use crate::output::row_output;
use crate::output::sink::Sink;
use crate::select::bfloat16::ReadArgs;
use crate::select::fields::Fields;
use crate::select::rows::RowSelection;
use crate::select::selection::IndexArg;
use crate::sort::records::Unit;
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
    read: ReadArgs,
}

const REPORT: &str = "--json reports on a new file: name one with --output";

/// Sorts an array, and writes the result to one that `Create` makes.
type Process<'p> = &'p dyn Fn(&MappedArray, &SortOptions<'_>, Create<'_>) -> Result<(), CliError>;

/// Creates the array.
type Create<'a> = &'a dyn Fn(&DType, &[usize]) -> Result<MappedArrayMut, CliError>;

const ARCHIVE: &str = "archives are written by `npymap convert`: write a .npy file first";

impl SortingArgs {
    /// Opens the input, and writes what `process` makes of it.
    pub(crate) fn run(
        &self,
        input: &ArrayPath,
        output: Option<&Path>,
        (unit, is_reversed): (Unit, bool),
        process: Process<'_>,
    ) -> Result<(), CliError> {
        let path = input.name();
        let format = match (self.text.format, output) {
            (Some(format), _) => format,
            (None, Some(output)) => OutputFormat::from_extension(output)?,
            (None, None) => OutputFormat::Csv,
        };
        let text = if self.read.input.file.is_raw() { None } else { self.text.input(input, None) };
        self.text.check(&input.path, text.as_ref(), format)?;
        self.new_file.check(path, output.is_some(), format == OutputFormat::Npy)?;
        match output {
            Some(output) => self.report.check(output)?,
            None => CliError::usage_if(self.report.json, path, REPORT)?,
        }
        // Temporary files are where there is room for the output.
        let directory = output.filter(|output| !stream::is_output(output) && !url::is_url(output));
        let directory = directory.and_then(Path::parent).filter(|parent| parent.is_dir());
        let directory = directory.map_or_else(std::env::temp_dir, Path::to_owned);
        let (by, memory) = (self.by.as_slice(), self.memory);
        let options = SortOptions { unit, by, is_reversed, memory, directory: &directory };
        self.write(output, format, |create| {
            let array = if let Some(text) = text {
                convert_selection::read_text(&input.path, text)?
            } else {
                let array = self.read.input.options().whole().array(input);
                let array = array.and_then(|array| self.read.of_array(array));
                array.map_err(CliError::of_input(path))?
            };
            process(&array, &options, create)
        })?;
        output.map_or(Ok(()), |output| self.report.print(output, format))
    }

    /// Calls `fill`, which creates an array and fills it, and writes its rows. If they
    /// replace a file, that one is locked before `fill` is called.
    fn write(
        &self,
        output: Option<&Path>,
        format: OutputFormat,
        fill: impl FnOnce(Create<'_>) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let (path, replace) = (output.unwrap_or(Path::new("-")), self.new_file.replace);
        match format {
            OutputFormat::Npy => {
                let draft = Draft::begin(path, replace)?;
                let options = self.new_file.options(Order::C);
                fill(&|dtype, shape| draft.array(dtype, shape, &options))?;
                draft.commit()
            }
            OutputFormat::Npz | OutputFormat::Ten => Err(CliError::usage(path, ARCHIVE)),
            // The rows of a temporary array, as text or as their bytes.
            _ => {
                let mut sink = Sink::begin(output, replace)?;
                let copy = Temporary::new().map_err(CliError::io(path, "create a copy of"))?;
                fill(&|dtype, shape| copy.create(dtype, shape, &CreateOptions::new()).at(path))?;
                let array = copy.open().at(path)?;
                let rows =
                    RowSelection::all(path, Some(&array), array.outline(), Fields::default());
                let text = self.text.output(format);
                row_output::write(&rows.at(path)?, format, text, &mut sink)?;
                sink.finish()
            }
        }
    }
}
