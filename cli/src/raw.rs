//! `npymap raw`: what raw binary is when it is taken for an array.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use npymap::{DType, OpenOptions, Result, array::RawSpec};

use crate::array_info::RawArrayInfo;
use crate::error::CliError;
use crate::escape;
use crate::new_file::{self, OrderArg, ShapeArg};
use crate::{describe, digest, json, open};

/// Tells what a file without a header is, taken for an array: NumPy's memmap.
///
/// Without --shape it is one axis of as many elements as there are from
/// --offset to the end of the file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap raw tokens.bin --dtype u2
  npymap raw --json --digest frames.raw --dtype '>f4' --shape '(100, 480, 640)' --offset 512
  npymap raw points.bin --dtype \"[('x', '<f4'), ('y', '<f4')]\"

Exit status: 0 when the file can be taken so, 1 when not, 2 for wrong usage.")]
pub(crate) struct RawArgs {
    /// Any file
    file: PathBuf,

    /// A type string such as f8 or '>i4', or a list of fields
    #[arg(long, default_value = "u1")]
    dtype: DType,

    /// The length of each axis, as a tuple
    #[arg(long, value_parser = new_file::shape)]
    shape: Option<ShapeArg>,

    /// Bytes before the first element
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,

    /// Which axis varies fastest: the last one (C) or the first (F)
    #[arg(long, value_enum, default_value = "C", hide_possible_values = true, value_name = "C|F")]
    order: OrderArg,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    /// Tell the SHA-256 of the elements in C order, numbers little-endian and
    /// padding zero
    #[arg(long)]
    digest: bool,
}

impl RawArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let found = self.find();
        let out = &mut anstream::stdout().lock();
        if self.json {
            escape::json_line(out, &json::JsonEntry::raw(&self.file, &found))?;
        } else if let Ok(found) = &found {
            describe::raw_paragraph(out, &self.file, found)?;
        }
        out.flush()?;
        found.map_err(CliError::at(&self.file)).map(|_| ExitCode::SUCCESS)
    }

    fn find(&self) -> Result<RawArrayInfo> {
        let order = self.order.into();
        let raw = RawSpec::new(self.dtype.clone()).offset(self.offset).order(order);
        let raw = match &self.shape {
            Some(ShapeArg(shape)) => raw.shape(shape),
            None => raw,
        };
        let array = open::read(&self.file, &OpenOptions::new().raw(raw))?;
        let layout = array.layout().clone();
        let digest = self.digest.then(|| digest::sha256(&array)).transpose()?;
        Ok(RawArrayInfo { layout, order, offset: self.offset, digest })
    }
}
