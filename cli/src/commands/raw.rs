//! `npymap raw`: describes raw binary files interpreted as arrays.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use npymap::{DType, Result};

use crate::input::array_info::RawArrayInfo;
use crate::input::error::CliError;
use crate::input::escape;
use crate::input::open;
use crate::input::shape_arg::OrderArg;
use crate::input::shape_arg::{self, PartialShape};
use crate::output::{describe, json};

/// Describes a file without a header, interpreted as an array like NumPy's
/// memmap.
///
/// Without --shape, the array has one axis and extends from --offset to the end
/// of the file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap raw tokens.bin --dtype u2
  npymap raw --json --digest frames.raw --dtype '>f4' --shape '(100, 480, 640)' --offset 512
  npymap raw points.bin --dtype \"[('x', '<f4'), ('y', '<f4')]\"

Exit status: 0 if the file can be interpreted this way, 1 if not, 2 for a usage
error.")]
pub(crate) struct RawArgs {
    /// Any file
    file: PathBuf,

    /// Type string such as f8 or '>i4', or list of fields
    #[arg(long, default_value = "u1")]
    dtype: DType,

    /// Length of each axis, as a tuple; -1 is computed from the length of the file
    #[arg(long, value_parser = shape_arg::parse)]
    shape: Option<PartialShape>,

    /// Offset of the first element, in bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,

    /// Memory order: the last axis varies fastest (C) or the first (F)
    #[arg(long, value_enum, default_value = "C", hide_possible_values = true, value_name = "C|F")]
    order: OrderArg,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    /// Print the SHA-256 of the elements in C order, with little-endian numbers
    /// and zeroed padding
    #[arg(long)]
    digest: bool,
}

impl RawArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let array = self.inspect();
        let out = &mut anstream::stdout().lock();
        if self.json {
            escape::json_line(out, &json::JsonEntry::raw(&self.file, &array))?;
        } else if let Ok(array) = &array {
            describe::print_raw_paragraph(out, &self.file, array)?;
        }
        out.flush()?;
        array.map_err(CliError::with_path(&self.file)).map(|_| ExitCode::SUCCESS)
    }

    fn inspect(&self) -> Result<RawArrayInfo> {
        let order = self.order.into();
        let place = (self.offset, order);
        let (source, options) = open::raw(&self.file, &self.dtype, place, self.shape.as_ref())?;
        let array = options.open(source)?;
        RawArrayInfo::new(&array, order, self.digest)
    }
}
