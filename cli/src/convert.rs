//! `npymap convert`: the same array stored another way.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use npymap::npz::Compression;
use npymap::ten::TenWriteOptions;
use npymap::{ByteOrder, DType, ErrorKind, Order, element::Casting, npy::MAX_HEADER_LEN};

use crate::archive_output::{self, MemberOptions};
use crate::array_path::ArrayPath as Place;
use crate::draft::Draft;
use crate::error::CliError;
use crate::inputs::Inputs;
use crate::new_file::{NewFileArgs, OrderArg as Axes};
use crate::output_format::OutputFormat as Written;
use crate::platform;
use crate::progress::Progress;

/// Stores arrays another way: format, dtype, order of axes, byte order,
/// version.
///
/// What isn't asked for stays; without options OUT is what np.save makes of
/// the array. Of a file of several arrays an .npz or .ten takes all, with
/// their names; members that are not arrays are left out, or refused where OUT
/// is IN. OUT gets its name when it is complete and on the disk, so IN
/// and OUT may be one file.
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

A sparse IN makes a sparse OUT. With --dtype, structs are cast field by field,
by position. A value that would change is an error, and no OUT is made, unless
--force allows it.

Exit status: 0 when OUT is complete, 1 when it could not be made, 2 for wrong
usage.")]
pub(crate) struct Convert {
    /// .npy, .npz, .ten or tar file, or FILE[MEMBER]
    #[arg(value_name = "IN")]
    input: Place,

    /// The new file, whose ending is its format: .npy, .npz, .ten or .tb
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Which axis varies fastest: the last one (C) or the first (F)
    #[arg(long, value_enum, hide_possible_values = true, value_name = "C|F")]
    order: Option<Axes>,

    /// The order of the bytes of all numbers
    #[arg(long, value_enum, hide_possible_values = true, value_name = "little|big|native")]
    byte_order: Option<Bytes>,

    /// Deflate the members of an .npz, at a level from 0 to 9
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true,
        default_missing_value = "6", value_parser = clap::value_parser!(u32).range(..=9))]
    deflate: Option<u32>,

    /// Write u4 into a .ten, which no webdataset can read
    #[arg(long)]
    allow_u4: bool,
    /// What the elements become: a type string such as f8 or '>i4', or a list
    /// of fields
    #[arg(long)]
    dtype: Option<DType>,

    /// With --dtype, also cast values that become others: rounded, cut off or
    /// wrapped around
    #[arg(long, requires = "dtype")]
    force: bool,

    #[command(flatten)]
    new_file: NewFileArgs,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,
}

/// A byte order by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Bytes {
    Little,
    Big,
    Native,
}

impl From<Bytes> for ByteOrder {
    fn from(bytes: Bytes) -> ByteOrder {
        match bytes {
            Bytes::Little => ByteOrder::Little,
            Bytes::Big => ByteOrder::Big,
            Bytes::Native => ByteOrder::NATIVE,
        }
    }
}

impl Convert {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let written = Written::from_extension(&self.output)?;
        // It may replace the input, which is locked before it is read.
        let draft = Draft::begin(&self.output, self.new_file.if_exists())?;
        let inputs = Inputs::open(&self.input, self.max_header_len);
        let mut inputs = inputs.map_err(CliError::Library)?;
        inputs.replaced_by(&self.output);
        match written {
            Written::Npz => self.npz(&inputs, &draft)?,
            Written::Ten => self.ten(&inputs, &draft)?,
            Written::Npy => self.npy(&inputs, &draft)?,
        }
        // It may take the place of what was read, which some systems don't
        // allow while that is open.
        drop(inputs);
        draft.commit()?;
        Ok(ExitCode::SUCCESS)
    }

    fn npz(&self, inputs: &Inputs<'_>, draft: &Draft) -> Result<(), CliError> {
        self.refuse(
            self.new_file.version.is_some(),
            "members of an .npz have no --version of choice",
        )?;
        self.refuse(self.allow_u4, "--allow-u4 is for .ten files")?;
        let options = MemberOptions {
            bytes: self.byte_order.map(ByteOrder::from),
            order: self.order.map(Order::from),
            dtype: self.dtype.clone(),
            casting: self.casting(),
            compression: self.deflate.map_or(Compression::Stored, Compression::Deflated),
        };
        archive_output::write_npz(draft, &inputs.arrays()?, &options)
    }

    fn ten(&self, inputs: &Inputs<'_>, draft: &Draft) -> Result<(), CliError> {
        let is_c = matches!(self.order, None | Some(Axes::C));
        let is_little = matches!(self.byte_order, None | Some(Bytes::Little))
            || self.byte_order.map(ByteOrder::from) == Some(ByteOrder::Little);
        self.refuse(!is_c || !is_little, "a .ten is in C order and little-endian")?;
        self.refuse(self.new_file.version.is_some(), "a .ten has no --version")?;
        self.refuse(self.deflate.is_some(), "a .ten can't be deflated: use .npz")?;
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

    fn npy(&self, inputs: &Inputs<'_>, draft: &Draft) -> Result<(), CliError> {
        self.refuse(self.deflate.is_some(), "a .npy can't be deflated: use .npz")?;
        self.refuse(self.allow_u4, "--allow-u4 is for .ten files")?;
        let from = inputs.one().map_err(CliError::Library)?;
        let bytes = self.byte_order.map(ByteOrder::from);
        let dtype = self.dtype.as_ref().unwrap_or(from.dtype());
        let dtype = bytes.map_or(dtype.clone(), |order| dtype.with_byte_order(order));
        let order = archive_output::output_order(self.order.map(Order::from), from.layout());
        let is_sparse = from.path().is_some_and(platform::is_sparse);
        let options = self.new_file.options(order).sparse(is_sparse);
        let mut array = draft.array(&dtype, from.shape(), &options)?;
        let casting = if self.dtype.is_some() { self.casting() } else { Casting::Equiv };
        let mut progress = Progress::new(array.nbytes());
        let done = |bytes| progress.add(bytes);
        let written = if is_sparse {
            array.write_array_over_zeros(&from, casting, done)
        } else {
            array.write_array(&from, casting, done)
        };
        written.map_err(|error| self.not_written(error))?;
        array.close().map_err(CliError::with_path(&self.output))
    }

    /// Why the elements could not be written.
    fn not_written(&self, error: npymap::Error) -> CliError {
        match error.kind() {
            ErrorKind::InvalidValue if !self.force => {
                CliError::ValueChanged { path: self.input.name().to_owned(), error }
            }
            ErrorKind::InvalidValue | ErrorKind::InvalidInput | ErrorKind::WrongDType => {
                CliError::with_path(self.input.name())(error)
            }
            _ => CliError::with_path(&self.output)(error),
        }
    }

    fn casting(&self) -> Casting {
        if self.force { Casting::Unsafe } else { Casting::SameValue }
    }

    fn refuse(&self, is_asked: bool, reason: &'static str) -> Result<(), CliError> {
        let path = self.output.clone();
        if is_asked { Err(CliError::Rejected { path, reason }) } else { Ok(()) }
    }
}
