//! `npymap create`: creates arrays.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use npymap::{DType, Value};

use crate::draft::Draft;
use crate::error::CliError;
use crate::new_file::{self, NewFileArgs, OrderArg, ShapeArg};
use crate::output_format;

/// Creates an array of zeros, or filled with a value.
///
/// Disk space is reserved, so that a full disk is reported now and not later.
/// The file gets its name only when it is complete and on disk.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap create scores.npy --shape '(1000, 3)'
  npymap create mask.npy --shape '(480, 640)' --dtype '|b1' --fill True
  npymap create huge.npy --shape '(1000000, 4096)' --dtype f4 --sparse --page-aligned
  npymap create events.npy --shape '(10,)' --dtype \"[('t', '<M8[ns]'), ('x', '<f4')]\"

Exit status: 0 if the file was created, 1 if not, 2 for a usage error.")]
pub(crate) struct CreateArgs {
    /// New .npy file
    file: PathBuf,

    /// Length of each axis, as a tuple
    #[arg(long, value_parser = new_file::parse_shape)]
    shape: ShapeArg,

    /// Type string such as f8 or '>i4', or list of fields
    #[arg(long, default_value = "f8")]
    dtype: DType,

    /// Memory order: the last axis varies fastest (C) or the first (F)
    #[arg(long, value_enum, default_value = "C", hide_possible_values = true, value_name = "C|F")]
    order: OrderArg,

    /// Value of every element
    #[arg(long, value_name = "VALUE")]
    fill: Option<String>,

    /// Reserve no disk space: the file takes space as it is written
    #[arg(long)]
    sparse: bool,

    /// Align the elements to a page: start them at byte 4096
    #[arg(long)]
    page_aligned: bool,

    #[command(flatten)]
    new_file: NewFileArgs,
}

impl CreateArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        output_format::require_npy(&self.file)?;
        let to_error = CliError::with_path(&self.file);
        let value = self.fill.as_ref().map(|text| Value::parse(text, &self.dtype));
        let value = value.transpose().map_err(&to_error)?;
        let options = self.new_file.options(self.order.into());
        let options = options.sparse(self.sparse).page_aligned(self.page_aligned);
        let draft = Draft::begin(&self.file, self.new_file.if_exists())?;
        let mut array = draft.array(&self.dtype, &self.shape.0, &options)?;
        let filled = value.map_or(Ok(()), |value| array.write_fill(&value));
        filled.and_then(|()| array.close()).map_err(&to_error)?;
        draft.commit()?;
        Ok(ExitCode::SUCCESS)
    }
}
