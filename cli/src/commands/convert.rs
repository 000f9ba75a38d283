//! `npymap convert`: converts arrays to another format, dtype or layout.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use npymap::npz::Compression;
use npymap::ten::TenWriteOptions;
use npymap::{ByteOrder, DType, MappedArray, Order, element::Casting};

use crate::input::array_bytes;
use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::input_args::{FileArgs, InputOptions};
use crate::input::inputs::{Input, Inputs};
use crate::input::memory;
use crate::input::platform;
use crate::input::shape_arg;
use crate::input::text_input::{TextInput, TextInputOptions};
use crate::input::threads;
use crate::output::archive_output::{self, MemberOptions};
use crate::output::convert_selection::{self, SelectionArgs, TextArgs};
use crate::output::draft::Draft;
use crate::output::new_file::NewFileArgs;
use crate::output::out_args::OutArgs;
use crate::output::output_format::OutputFormat;
use crate::output::report::ReportArgs;
use crate::output::row_output;
use crate::output::sink::Sink;
use crate::select::bfloat16::{self, TargetDType};
use crate::select::layout_args::{self, LayoutArgs};
use crate::select::limits;
use crate::select::matching;

/// Convert an array or archive to another format, dtype or layout.
///
/// This keeps everything that you don't change by an option. Without options,
/// OUT is what np.save writes for the array. An .npz or .ten OUT gets all
/// arrays of IN, with their names, or what you select of one of them. If IN is a .npy with several arrays, they will
/// be called `arr_0`, `arr_1` and so on, like in np.savez. Members that are not
/// arrays are skipped, or rejected if OUT replaces IN. OUT gets its name once it
/// is complete and on disk, so IN and OUT can be the same file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap convert events.csv events.npy
  npymap convert events.npy events.csv --nan ''
  npymap convert doubles.npy singles.npy --dtype f4 --force
  npymap convert 'weights.npz[layer1/w]' w.npy
  npymap convert fortran.npy -o c.npy --order C
  npymap convert old.npy old.npy --overwrite --byte-order native
  npymap convert long.npy long2.npy --version 2
  npymap convert packed.npz stored.npz
  npymap convert weights.npz packed.npz --deflate=9
  npymap convert batch.ten batch.npz
  npymap convert doubles.npy halves.npy --dtype bfloat16 --force
  npymap convert events.npy late.npy --select '900000:' --field t,temp
  npymap convert events.npy hot.npy --where 'temp > 27 and sensor == \"alpha\"'
  npymap convert frames.npy channels.npy --axes 2,0,1
  npymap convert image.npy pixels.npy --reshape -1,3
  npymap convert table.csv table.npy --dtype f4 --skip 2
  npymap convert events.npy events.csv --delimiter ';'
  npymap convert --raw '<i2' --offset 44 --shape -1,2 sound.wav sound.npy
  npymap convert - - --from jsonl --format csv < rows.jsonl

Several threads write a whole array to a .npy OUT, which is sparse if IN is
sparse. One thread writes other outputs. With --dtype, structs are cast field by
field, by position. If a value would change, the command fails and writes
nothing, unless you give --force. However, decimal numbers in text are rounded
to floats, like numpy.loadtxt does. This fails for numbers that are too large.
Without --dtype, it also fails for integers in text that would be rounded.

The first line of a CSV or TSV is a header if it looks like names, or if it has the
names of all fields of --dtype. With a --dtype without fields, a line of elements is
data, and for text dtypes (U, S) there is no header: use --skip 1. In CSV and TSV,
bytes are text, or b'...' if they are not UTF-8 or the text has this form. In JSON
lines, bytes are characters up to U+00FF, complex numbers are lists of two numbers, and
lists of a field have the same length in every line.

Exit status: 0 if OUT was written, 1 if not, 2 for a usage error.")]
pub(crate) struct ConvertArgs {
    /// .npy, .npz, .ten or tar file, FILE[MEMBER], .csv, .tsv or .jsonl, or -
    /// for standard input
    #[arg(value_name = "IN")]
    input: ArrayPath,

    #[command(flatten)]
    out: OutArgs,

    /// Memory order: the last axis varies fastest (C) or the first (F). With
    /// --raw, this is the order of IN, and OUT keeps it
    #[arg(long, value_parser = shape_arg::order_parser(), value_name = "C|F")]
    order: Option<Order>,

    /// Byte order of all numbers
    #[arg(long, value_parser = byte_order_parser(), value_name = "little|big|native")]
    byte_order: Option<ByteOrder>,

    /// Deflate the members of an .npz, at a level from 0 to 9
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true,
        default_missing_value = "6", value_parser = clap::value_parser!(u32).range(..=9))]
    deflate: Option<u32>,

    /// Allow u4 in a .ten, which webdataset cannot read
    #[arg(long)]
    allow_u4: bool,

    /// New dtype of the elements: type string such as f8 or '>i4', bfloat16, or
    /// list of fields
    #[arg(long)]
    dtype: Option<TargetDType>,

    /// With --dtype, allow values of an array to change: to be rounded, truncated
    /// or wrapped around
    #[arg(long, requires = "dtype")]
    force: bool,

    #[command(flatten)]
    selection: SelectionArgs,

    #[command(flatten)]
    layout: LayoutArgs,

    #[command(flatten)]
    text: TextArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    new_file: NewFileArgs,

    #[command(flatten)]
    read: FileArgs,
}

const NO_TEXT: &str = "--delimiter, --from, --skip, --max-row-len, --no-header and --nan are for CSV, TSV and JSON lines";
const NO_FORCE: &str = "--force is for arrays: text is parsed as --dtype, and nothing is cast";
const BFLOAT16: &str = "bfloat16 is for .npy files of all rows: convert to one in a first step, with --where or from an archive";

const LAYOUT: &str = "--axes and --reshape are for .npy files: convert in two steps";

const SINGLE: &str = "--select, --field and --where are for one array: name it as FILE[MEMBER]";

const ORDER: &str = "--order is for .npy and .npz files";

const RESHAPE: &str = "--reshape writes C order: use --order F in a second step";

const ALL_ROWS: &str = "--axes and --reshape are for all rows: use --where in a first step";

const NO_DTYPE: &str = "text has no dtype: convert to .npy with --dtype or --byte-order first";

fn byte_order_parser() -> impl TypedValueParser<Value = ByteOrder> {
    PossibleValuesParser::new(["little", "big", "native"]).map(|name| match name.as_str() {
        "little" => ByteOrder::Little,
        "big" => ByteOrder::Big,
        _ => ByteOrder::NATIVE,
    })
}

impl ConvertArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let format = self.text.output_format(self.out.path())?;
        let text = self.text_input();
        let has_text = text.is_some() || format.text().is_some();
        CliError::usage_if(self.text.is_given() && !has_text, self.out.path(), NO_TEXT)?;
        self.text.check(&self.input.path, text.as_ref(), format)?;
        self.report.check(self.out.path())?;
        self.check(format, text.is_some())?;
        self.write(format, text)?;
        self.report.print(self.out.path(), format)
    }

    fn write(&self, format: OutputFormat, text: Option<TextInputOptions>) -> Result<(), CliError> {
        // Without headers, files are written row by row, from their start.
        if !format.has_headers() {
            let mut sink = Sink::begin(Some(self.out.path()), self.new_file.replace)?;
            self.write_rows(&self.open_single(text)?, format, &mut sink)?;
            return sink.finish();
        }
        // If the output replaces the input, that one is locked before it is
        // read.
        let draft = Draft::begin(self.out.path(), self.new_file.replace)?;
        match (format, text) {
            (OutputFormat::Npy, Some(text)) if self.is_plain() => {
                let options = self.new_file.options(Order::C);
                TextInput::open(&self.input.path, text)?
                    .write(|dtype, shape| draft.array(dtype, shape, &options))?;
            }
            (OutputFormat::Npy, text) => self.write_npy(&self.open_single(text)?, &draft)?,
            (format, text) => self.write_archive(format, text, &draft)?,
        }
        draft.commit()
    }

    /// How to read the input, if it is text.
    fn text_input(&self) -> Option<TextInputOptions> {
        if self.read.is_raw() {
            return None;
        }
        let doubles = DType::of::<f64>();
        let dtype = if self.is_bfloat16() { Some(&doubles) } else { self.stored_dtype() };
        self.text.input(&self.input, dtype)
    }

    /// The requested order of OUT: with --raw, the option describes IN.
    fn out_order(&self) -> Option<Order> {
        if self.read.is_raw() { None } else { self.order }
    }

    fn read_options(&self) -> InputOptions<'_> {
        self.read.options(self.order.unwrap_or(Order::C)).whole()
    }

    /// Returns whether a text is written as it is read.
    fn is_plain(&self) -> bool {
        !self.selection.is_given()
            && !self.layout.is_given()
            && self.out_order().is_none()
            && self.byte_order.is_none()
            && !self.is_bfloat16()
    }

    fn is_bfloat16(&self) -> bool {
        matches!(self.dtype, Some(TargetDType::BFloat16))
    }

    /// The dtype that elements are cast to when they are written.
    fn stored_dtype(&self) -> Option<&DType> {
        match &self.dtype {
            Some(TargetDType::Stored(dtype)) => Some(dtype),
            _ => None,
        }
    }

    /// The only array of the input, or that of a text.
    fn open_single(&self, text: Option<TextInputOptions>) -> Result<MappedArray, CliError> {
        // Numbers in text are rounded.
        let casting = if text.is_some() { Casting::Unsafe } else { self.casting() };
        let array = if let Some(text) = text {
            convert_selection::read_text(&self.input.path, text)?
        } else {
            let options = self.read_options();
            options.array(&self.input).map_err(CliError::of_input(self.input.name()))?
        };
        if self.is_bfloat16() {
            return bfloat16::to_bfloat16(&array, casting).at(self.input.name());
        }
        Ok(array)
    }

    /// Writes all arrays of the input, that of a text, or what is selected of one, to an
    /// archive.
    fn write_archive(
        &self,
        format: OutputFormat,
        text: Option<TextInputOptions>,
        draft: &Draft,
    ) -> Result<(), CliError> {
        let inputs;
        let mut arrays = if let Some(text) = text {
            let array = convert_selection::read_text(&self.input.path, text)?;
            vec![Input::of_array(self.input.name(), array)]
        } else {
            let options = self.read_options().taking_all();
            let mut file = Inputs::open(&self.input, options)
                .map_err(CliError::of_input(self.input.name()))?;
            file.set_output(self.out.path());
            inputs = file;
            let arrays = inputs.all_arrays(options)?;
            inputs.check_lost(&arrays.iter().filter_map(|array| array.key.clone()).collect())?;
            arrays
        };
        if self.selection.is_given() {
            let [one] = arrays.as_mut_slice() else {
                return Err(CliError::usage(self.input.name(), SINGLE));
            };
            let array = (one.open)().map_err(CliError::Library)?;
            let selected = self.selection.with_rows(&one.path, &array, matching::copy_rows)?;
            one.open = Box::new(move || Ok(selected.clone()));
        }
        let options = MemberOptions {
            bytes: self.byte_order,
            order: self.out_order(),
            dtype: self.stored_dtype().cloned(),
            casting: self.casting(),
            compression: self.deflate.map_or(Compression::Stored, Compression::Deflated),
        };
        if format == OutputFormat::Npz {
            return archive_output::write_npz(draft, &arrays, &options);
        }
        let ten_options = TenWriteOptions::new().allow_u4(self.allow_u4);
        archive_output::write_ten(draft, &arrays, &ten_options, &options)
    }

    /// Writes the selected rows as text or as raw elements.
    fn write_rows(
        &self,
        array: &MappedArray,
        format: OutputFormat,
        sink: &mut Sink,
    ) -> Result<(), CliError> {
        let path = self.input.name();
        limits::check_count(path, array.dtype().itemsize(), array.len())?;
        self.selection.with_rows(path, array, |rows| {
            if format != OutputFormat::Raw {
                return row_output::write(rows, format, self.text.output(format), sink);
            }
            let dtype = self.output_dtype(&rows.dtype().at(path)?);
            row_output::write_raw(rows, (&dtype, self.casting_of_output()), sink)
        })
    }

    /// The dtype of the output, given that of the input.
    fn output_dtype(&self, stored: &DType) -> DType {
        let dtype = self.stored_dtype().unwrap_or(stored);
        self.byte_order.map_or(dtype.clone(), |order| dtype.with_byte_order(order))
    }

    fn casting_of_output(&self) -> Casting {
        if self.stored_dtype().is_some() { self.casting() } else { Casting::Equiv }
    }

    /// Rejects options that the output does not have.
    fn check(&self, format: OutputFormat, is_text: bool) -> Result<(), CliError> {
        use OutputFormat as F;
        let (is_npy, is_ten) = (format == F::Npy, format == F::Ten);
        let is_big = self.byte_order.is_some_and(|order| order == ByteOrder::Big);
        let is_f = self.out_order() == Some(Order::F);
        let (is_filtered, is_arranged) = (self.selection.is_filtered(), self.layout.is_given());
        let is_cast = self.byte_order.is_some() || self.dtype.is_some();
        let not_deflated = match format {
            F::Npy => "a .npy can't be deflated: use .npz",
            F::Ten => "a .ten can't be deflated: use .npz",
            _ => "text and raw files can't be deflated: use .npz",
        };
        let no_version = match format {
            F::Npz => "--version does not apply to members of an .npz",
            F::Ten => "--version does not apply to .ten files",
            _ => "--version is for .npy files",
        };
        let reasons = [
            (self.force && is_text, NO_FORCE),
            (self.is_bfloat16() && (is_filtered || matches!(format, F::Npz | F::Ten)), BFLOAT16),
            (self.deflate.is_some() && format != F::Npz, not_deflated),
            (self.allow_u4 && !is_ten, "--allow-u4 is for .ten files"),
            (self.new_file.version.is_some() && !is_npy, no_version),
            (self.out_order().is_some() && !format.has_headers(), ORDER),
            (is_ten && (is_f || is_big), "a .ten is in C order and little-endian"),
            (is_arranged && !is_npy, LAYOUT),
            (is_arranged && is_f && self.layout.reshape.is_some(), RESHAPE),
            (is_arranged && is_filtered, ALL_ROWS),
            (is_npy && is_f && is_filtered, "--where writes C order"),
            (is_cast && !is_text && !format.has_headers() && format != F::Raw, NO_DTYPE),
        ];
        CliError::usage_if_any(self.out.path(), reasons)
    }

    fn write_npy(&self, from: &MappedArray, draft: &Draft) -> Result<(), CliError> {
        if self.layout.is_given() {
            return self.write_arranged(from, draft);
        }
        if self.selection.is_given() {
            return self.write_selection(from, draft);
        }
        let dtype = self.output_dtype(from.dtype());
        let order = archive_output::output_order(self.out_order(), from.layout());
        let is_sparse = from.path().is_some_and(platform::is_sparse);
        let options = self.new_file.options(order).sparse(is_sparse);
        let array = draft.array(&dtype, from.shape(), &options)?;
        let copying = memory::copy_options()
            .casting(self.casting_of_output())
            .over_zeros(is_sparse)
            .threads(threads::count());
        array_bytes::fill(array, from, &copying).map_err(self.write_error())
    }

    /// Writes an array with other axes, in C order unless --order is given.
    fn write_arranged(&self, from: &MappedArray, draft: &Draft) -> Result<(), CliError> {
        let order = self.out_order().unwrap_or(Order::C);
        self.selection.with_rows(self.input.name(), from, |rows| {
            let part = rows.unfiltered().at(self.input.name())?;
            let (part, shape) = self.layout.arrange(&part).at(self.input.name())?;
            let dtype = self.output_dtype(part.dtype());
            let array = draft.array(&dtype, &shape, &self.new_file.options(order))?;
            let written = layout_args::write(&part, array, self.casting_of_output());
            written.map_err(self.write_error())
        })
    }

    /// Writes the selected part of an array, in C order unless --order is given.
    fn write_selection(&self, from: &MappedArray, draft: &Draft) -> Result<(), CliError> {
        let order = self.out_order().unwrap_or(Order::C);
        self.selection.with_rows(self.input.name(), from, |rows| {
            let (dtype, shape) = rows.dtype_and_shape().at(self.input.name())?;
            let dtype = self.output_dtype(&dtype);
            let array = draft.array(&dtype, &shape, &self.new_file.options(order))?;
            rows.write(array, self.out.path(), self.casting_of_output())
        })
    }

    fn write_error(&self) -> impl Fn(npymap::Error) -> CliError {
        CliError::of_copy(self.input.name(), self.out.path())
    }

    fn casting(&self) -> Casting {
        if self.force { Casting::Unsafe } else { Casting::SameValue }
    }
}
