//! `npymap convert`: converts arrays to another format, dtype or layout.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use npymap::npz::Compression;
use npymap::ten::TenWriteOptions;
use npymap::{ByteOrder, DType, ErrorKind, Order, element::Casting, npy::MAX_HEADER_LEN};

use crate::archive_output::{self, MemberOptions};
use crate::array_path::ArrayPath;
use crate::draft::Draft;
use crate::error::CliError;
use crate::inputs::Inputs;
use crate::new_file::{NewFileArgs, OrderArg};
use crate::output_format::OutputFormat;
use crate::platform;
use crate::progress::Progress;

/// Converts arrays: format, dtype, memory order, byte order, version.
///
/// Whatever no option changes is kept; without options, OUT is what np.save
/// writes for the array. An .npz or .ten OUT gets all arrays of IN, with their
/// names; members that are not arrays are skipped, or rejected if OUT replaces
/// IN. OUT gets its name only when it is complete and on disk, so IN and OUT
/// may be the same file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap convert fortran.npy c.npy --order C
  npymap convert old.npy old.npy --overwrite --byte-order native
  npymap convert long.npy long2.npy --version 2
  npymap convert 'weights.npz[layer1/w]' w.npy
  npymap convert packed.npz stored.npz
  npymap convert weights.npz packed.npz --deflate=9
  npymap convert batch.ten batch.npz
  npymap convert doubles.npy singles.npy --dtype f4 --force

A .npy OUT of a sparse IN is sparse too. With --dtype, structs are cast field by field, by
position. If a value would change, the command fails and writes nothing, unless
--force is given.

Exit status: 0 if OUT was written, 1 if not, 2 for a usage error.")]
pub(crate) struct ConvertArgs {
    /// .npy, .npz, .ten or tar file, or FILE[MEMBER]
    #[arg(value_name = "IN")]
    input: ArrayPath,

    /// New file, whose extension selects its format: .npy, .npz, .ten or .tb
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Memory order: the last axis varies fastest (C) or the first (F)
    #[arg(long, value_enum, hide_possible_values = true, value_name = "C|F")]
    order: Option<OrderArg>,

    /// Byte order of all numbers
    #[arg(long, value_enum, hide_possible_values = true, value_name = "little|big|native")]
    byte_order: Option<ByteOrderArg>,

    /// Deflate the members of an .npz, at a level from 0 to 9
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true,
        default_missing_value = "6", value_parser = clap::value_parser!(u32).range(..=9))]
    deflate: Option<u32>,

    /// Allow u4 in a .ten, which webdataset cannot read
    #[arg(long)]
    allow_u4: bool,

    /// New dtype of the elements: type string such as f8 or '>i4', or list of
    /// fields
    #[arg(long)]
    dtype: Option<DType>,

    /// With --dtype, allow values to change: to be rounded, truncated or
    /// wrapped around
    #[arg(long, requires = "dtype")]
    force: bool,

    #[command(flatten)]
    new_file: NewFileArgs,

    /// Maximum header length, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,
}

/// A byte order.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ByteOrderArg {
    Little,
    Big,
    Native,
}

impl From<ByteOrderArg> for ByteOrder {
    fn from(bytes: ByteOrderArg) -> ByteOrder {
        match bytes {
            ByteOrderArg::Little => ByteOrder::Little,
            ByteOrderArg::Big => ByteOrder::Big,
            ByteOrderArg::Native => ByteOrder::NATIVE,
        }
    }
}

impl ConvertArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let format = OutputFormat::from_extension(&self.output)?;
        // If the output replaces the input, that one is locked before it is
        // read.
        let draft = Draft::begin(&self.output, self.new_file.if_exists())?;
        let inputs = Inputs::open(&self.input, self.max_header_len);
        let mut inputs = inputs.map_err(CliError::Library)?;
        inputs.set_output(&self.output);
        match format {
            OutputFormat::Npz => self.write_npz(&inputs, &draft)?,
            OutputFormat::Ten => self.write_ten(&inputs, &draft)?,
            OutputFormat::Npy => self.write_npy(&inputs, &draft)?,
        }
        // The output may replace the input, which Windows does not do while it
        // is mapped.
        drop(inputs);
        draft.commit()?;
        Ok(ExitCode::SUCCESS)
    }

    fn write_npz(&self, inputs: &Inputs<'_>, draft: &Draft) -> Result<(), CliError> {
        self.reject_if(
            self.new_file.version.is_some(),
            "--version does not apply to members of an .npz",
        )?;
        self.reject_if(self.allow_u4, "--allow-u4 is for .ten files")?;
        let options = MemberOptions {
            bytes: self.byte_order.map(ByteOrder::from),
            order: self.order.map(Order::from),
            dtype: self.dtype.clone(),
            casting: self.casting(),
            compression: self.deflate.map_or(Compression::Stored, Compression::Deflated),
        };
        archive_output::write_npz(draft, &inputs.arrays()?, &options)
    }

    fn write_ten(&self, inputs: &Inputs<'_>, draft: &Draft) -> Result<(), CliError> {
        let is_c = matches!(self.order, None | Some(OrderArg::C));
        let is_little = matches!(self.byte_order, None | Some(ByteOrderArg::Little))
            || self.byte_order.map(ByteOrder::from) == Some(ByteOrder::Little);
        self.reject_if(!is_c || !is_little, "a .ten is in C order and little-endian")?;
        self.reject_if(self.new_file.version.is_some(), "--version does not apply to .ten files")?;
        self.reject_if(self.deflate.is_some(), "a .ten can't be deflated: use .npz")?;
        let inputs = inputs.arrays()?;
        let options = MemberOptions {
            bytes: None,
            order: None,
            dtype: self.dtype.clone(),
            casting: self.casting(),
            compression: Compression::Stored,
        };
        archive_output::write_ten(
            draft,
            &inputs,
            &TenWriteOptions::new().allow_u4(self.allow_u4),
            &options,
        )
    }

    fn write_npy(&self, inputs: &Inputs<'_>, draft: &Draft) -> Result<(), CliError> {
        self.reject_if(self.deflate.is_some(), "a .npy can't be deflated: use .npz")?;
        self.reject_if(self.allow_u4, "--allow-u4 is for .ten files")?;
        let from = inputs.single().map_err(CliError::Library)?;
        let bytes = self.byte_order.map(ByteOrder::from);
        let dtype = self.dtype.as_ref().unwrap_or(from.dtype());
        let dtype = bytes.map_or(dtype.clone(), |order| dtype.with_byte_order(order));
        let order = archive_output::output_order(self.order.map(Order::from), from.layout());
        let is_sparse = from.path().is_some_and(platform::is_sparse);
        let options = self.new_file.options(order).sparse(is_sparse);
        let mut array = draft.array(&dtype, from.shape(), &options)?;
        let casting = if self.dtype.is_some() { self.casting() } else { Casting::Equiv };
        let mut progress = Progress::new(array.nbytes());
        let written = if is_sparse {
            array.write_array_over_zeros(&from, casting, |bytes| progress.add(bytes))
        } else {
            array.write_array(&from, casting, |bytes| progress.add(bytes))
        };
        written.map_err(|error| self.write_error(error))?;
        array.close().map_err(CliError::with_path(&self.output))
    }

    /// Attaches the path of the input to errors about values and dtypes, that
    /// of the output to others.
    fn write_error(&self, error: npymap::Error) -> CliError {
        match error.kind() {
            ErrorKind::InvalidValue | ErrorKind::InvalidInput | ErrorKind::WrongDType => {
                CliError::cast(self.input.name(), self.casting(), error)
            }
            _ => CliError::with_path(&self.output)(error),
        }
    }

    fn casting(&self) -> Casting {
        if self.force { Casting::Unsafe } else { Casting::SameValue }
    }

    fn reject_if(&self, is_given: bool, reason: &'static str) -> Result<(), CliError> {
        let path = self.output.clone();
        if is_given { Err(CliError::Rejected { path, reason }) } else { Ok(()) }
    }
}
