//! `npymap create`: makes new arrays.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use npymap::{DType, Value};

use crate::draft::Draft;
use crate::error::CliError;
use crate::new_file::{self, NewFileArgs, OrderArg, ShapeArg};
use crate::output_format;

/// Makes an array of zeros, or of a value.
///
/// Its space is reserved, so that a full disk tells now and not later. It gets
/// its name when it is complete and on the disk.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap create scores.npy --shape '(1000, 3)'
  npymap create mask.npy --shape '(480, 640)' --dtype '|b1' --fill True
  npymap create huge.npy --shape '(1000000, 4096)' --dtype f4 --sparse --page-aligned
  npymap create events.npy --shape '(10,)' --dtype \"[('t', '<M8[ns]'), ('x', '<f4')]\"

Exit status: 0 when it was made, 1 when it could not be, 2 for wrong usage.")]
pub(crate) struct CreateArgs {
    /// The new .npy file
    file: PathBuf,

    /// The length of each axis, as a tuple
    #[arg(long, value_parser = new_file::shape)]
    shape: ShapeArg,

    /// A type string such as f8 or '>i4', or a list of fields
    #[arg(long, default_value = "f8")]
    dtype: DType,

    /// Which axis varies fastest: the last one (C) or the first (F)
    #[arg(long, value_enum, default_value = "C", hide_possible_values = true, value_name = "C|F")]
    order: OrderArg,

    /// What every element is
    #[arg(long, value_name = "VALUE")]
    fill: Option<String>,

    /// Reserve no space: the file takes what is written to it
    #[arg(long)]
    sparse: bool,

    /// Start the elements at a page, byte 4096
    #[arg(long)]
    page_aligned: bool,

    #[command(flatten)]
    made: NewFileArgs,
}

impl CreateArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        output_format::npy(&self.file)?;
        let failed = CliError::at(&self.file);
        let value = self.fill.as_ref().map(|text| Value::parse(text, &self.dtype));
        let value = value.transpose().map_err(&failed)?;
        let options = self.made.options(self.order.into());
        let options = options.sparse(self.sparse).page_aligned(self.page_aligned);
        let draft = Draft::begin(&self.file, self.made.existing())?;
        let mut array = draft.array(&self.dtype, &self.shape.0, &options)?;
        let filled = value.map_or(Ok(()), |value| array.write_fill(&value));
        filled.and_then(|()| array.close()).map_err(&failed)?;
        draft.commit()?;
        Ok(ExitCode::SUCCESS)
    }
}
