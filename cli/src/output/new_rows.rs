//! Rows that are made in an array, and go to a file or to standard output in any format.

use std::path::Path;

use npymap::{CreateOptions, DType, MappedArrayMut, Order};

use crate::input::error::{At as _, CliError};
use crate::input::open::Temporary;
use crate::input::stream;
use crate::output::convert_selection::TextArgs;
use crate::output::draft::Draft;
use crate::output::new_file::NewFileArgs;
use crate::output::output_format::OutputFormat;
use crate::output::row_output;
use crate::output::sink::Sink;
use crate::select::fields::Fields;
use crate::select::rows::RowSelection;

/// Where rows go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewRows<'a> {
    /// `None` for standard output.
    pub(crate) output: Option<&'a Path>,
    pub(crate) format: OutputFormat,
    pub(crate) text: &'a TextArgs,
    pub(crate) new_file: &'a NewFileArgs,
}

/// Creates the array.
pub(crate) type Create<'a> = &'a dyn Fn(&DType, &[usize]) -> Result<MappedArrayMut, CliError>;

const ARCHIVE: &str = "archives are written by `npymap convert`: write a .npy file first";

impl NewRows<'_> {
    /// The output, as in messages.
    pub(crate) fn path(&self) -> &Path {
        self.output.unwrap_or(Path::new(stream::STANDARD))
    }

    /// Calls `fill`, which creates an array and fills it, and writes its rows. If they
    /// replace a file, that one is locked before `fill` is called.
    pub(crate) fn write(
        &self,
        fill: impl FnOnce(Create<'_>) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let path = self.path();
        match self.format {
            OutputFormat::Npy => {
                let draft = Draft::begin(path, self.new_file.if_exists())?;
                let options = self.new_file.options(Order::C);
                fill(&|dtype, shape| draft.array(dtype, shape, &options))?;
                draft.commit()
            }
            OutputFormat::Npz | OutputFormat::Ten => Err(CliError::usage(path, ARCHIVE)),
            _ => {
                let mut sink = Sink::begin(self.output, self.new_file.if_exists())?;
                self.write_rows(fill, &mut sink)?;
                sink.finish()
            }
        }
    }

    /// Writes the rows of a temporary array as text, or as their bytes.
    fn write_rows(
        &self,
        fill: impl FnOnce(Create<'_>) -> Result<(), CliError>,
        sink: &mut Sink,
    ) -> Result<(), CliError> {
        let path = self.path();
        let to_error = CliError::with_path(path);
        let copy = Temporary::new().map_err(CliError::io(path, "create a copy of"))?;
        fill(&|dtype, shape| copy.create(dtype, shape, &CreateOptions::new()).at(path))?;
        let array = copy.open().at(path)?;
        let rows = RowSelection::all(Some(&array), array.outline(), Fields::All).at(path)?;
        row_output::write(&rows, self.format, self.text.output(self.format), sink, path, &to_error)
    }
}
