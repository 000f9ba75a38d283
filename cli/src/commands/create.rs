//! `npymap create`: creates arrays.

use crate::input::lengths::to_u64;

use clap::{Args, ValueEnum};
use npymap::{DType, Order, Value, dtype::Kind, half::f16};

use crate::input::dtype_arg;
use crate::input::error::{At as _, CliError};
use crate::input::shape_arg;
use crate::output::draft::Draft;
use crate::output::generate::{self, FloatRange, Numbers};
use crate::output::new_file::{self, NewFileArgs, ShapeArg};
use crate::output::out_args::OutArgs;
use crate::output::output_format::{self, OutputFormat};
use crate::output::report::ReportArgs;

/// Create an array of zeros, of one value, or of test data.
///
/// Disk space is reserved, so that a full disk is reported now and not later.
/// The file gets its name only when it is complete and on disk.
///
/// Random numbers are the same on every machine and in every memory order. They
/// are computed from the outputs x0, x1, … of `SplitMix64`, with a state that
/// starts with the seed. For example, element i in C order is LOW + (xi ×
/// (HIGH - LOW) >> 64) for int. With u(x) = (x >> 11) / 2^53, it is LOW + (HIGH -
/// LOW) × u(xi) for uniform, and sqrt(-2 ln(1 - u(x2i))) × cos(2π u(x2i+1)) for
/// normal, rounded to the dtype. Like in NumPy, rounding can make a uniform
/// number HIGH.
#[derive(Debug, Args)]
#[command(mut_arg("output", |arg| arg.help("New .npy file, or - for standard output")), after_help = "\
Examples:
  npymap create --shape '(1000, 3)' -o scores.npy
  npymap create mask.npy --shape '(480, 640)' --dtype '|b1' --fill True
  npymap create huge.npy --shape '(1000000, 4096)' --dtype f4 --sparse --page-aligned
  npymap create events.npy --shape '(10,)' --dtype \"[('t', '<M8[ns]'), ('x', '<f4')]\"
  npymap create grid.npy --shape '(3, 4)' --dtype i4 --arange
  npymap create times.npy --shape 100 --arange=0,0.25
  npymap create noise.npy --shape '(1000, 3)' --random normal --seed 7
  npymap create dice.npy --shape 100 --dtype u1 --random int --low 1 --high 7

Exit status: 0 if the file was created, 1 if not, 2 for a usage error.")]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    out: OutArgs,

    /// Length of each axis, as a tuple
    #[arg(long, value_parser = new_file::parse_shape)]
    shape: ShapeArg,

    /// Type string such as f8 or '>i4', name such as float32 or bfloat16, or list of
    /// fields
    #[arg(long, default_value = "f8", value_parser = dtype_arg::parse)]
    dtype: DType,

    /// Memory order: the last axis varies fastest (C) or the first (F)
    #[arg(long, value_parser = shape_arg::order_parser(), default_value = "C", value_name = "C|F")]
    order: Order,

    /// Value of every element
    #[arg(long, value_name = "VALUE")]
    fill: Option<String>,

    /// Numbers in C order, START + i × STEP, computed as NumPy's arange does: by
    /// default 0, 1, 2 and so on
    #[arg(long, value_name = "START,STEP", num_args = 0..=1, require_equals = true,
        default_missing_value = "0,1", conflicts_with_all = ["fill", "random"])]
    arange: Option<String>,

    /// Random numbers: normal (mean 0, standard deviation 1), uniform or int
    #[arg(long, value_enum, value_name = "normal|uniform|int", conflicts_with = "fill")]
    random: Option<RandomArg>,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 0, requires = "random")]
    seed: u64,

    /// Lowest random number [default: 0, or for int the lowest of an integer
    /// dtype]
    #[arg(long, value_name = "X", requires = "random")]
    low: Option<String>,

    /// Upper bound of random numbers, exclusive before rounding [default: 1, or
    /// for int the full range of an integer dtype]
    #[arg(long, value_name = "X", requires = "random")]
    high: Option<String>,

    /// Reserve no disk space: the file takes space as it is written
    #[arg(long)]
    sparse: bool,

    /// Align the elements to a page: start them at byte 4096
    #[arg(long)]
    page_aligned: bool,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    new_file: NewFileArgs,
}

/// The distribution of random numbers.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum RandomArg {
    Normal,
    Uniform,
    Int,
}

const NO_NUMBERS: &str = "only integers and floats, and for --arange dates and time differences, can be generated: choose another --dtype, or set them with `npymap set`";

const NORMAL_BOUNDS: &str = "--low and --high are for uniform and int";

impl CreateArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        output_format::require_npy(self.out.path())?;
        self.report.check(self.out.path())?;
        let value = self.fill.as_ref().map(|text| Value::parse(text, &self.dtype));
        let value = value.transpose().at(self.out.path())?;
        let numbers = self.numbers()?;
        let options = self.new_file.options(self.order);
        let options = options.sparse(self.sparse).page_aligned(self.page_aligned);
        let draft = Draft::begin(self.out.path(), self.new_file.replace)?;
        let array = draft.array(&self.dtype, &self.shape.0, &options)?;
        let written = match (numbers, value) {
            (Some(numbers), _) => numbers.write(array),
            (None, Some(value)) => generate::write_value(array, &value),
            (None, None) => array.close(),
        };
        written.at(self.out.path())?;
        draft.commit()?;
        self.report.print(self.out.path(), OutputFormat::Npy)
    }

    /// The numbers of the elements, if any were requested.
    fn numbers(&self) -> Result<Option<Numbers>, CliError> {
        if let Some(range) = &self.arange {
            return self.range(range).map(Some);
        }
        let Some(random) = self.random else { return Ok(None) };
        let seed = self.seed;
        let is_float = matches!(self.dtype.kind(), Kind::Float | Kind::Complex);
        match random {
            RandomArg::Int => self.random_integers().map(Some),
            _ if !is_float => {
                Err(self.mismatch("whose random numbers are integers: use --random int"))
            }
            RandomArg::Normal if self.low.is_some() || self.high.is_some() => {
                Err(CliError::usage(self.out.path(), NORMAL_BOUNDS))
            }
            RandomArg::Normal => Ok(Some(Numbers::Normal { seed })),
            RandomArg::Uniform => {
                let low = self.low.as_deref().map_or(Ok(0.0), |text| self.bound(text))?;
                let high = self.high.as_deref().map_or(Ok(1.0), |text| self.bound(text))?;
                if low >= high {
                    let what = format!("and no numbers from {low} to below {high}");
                    return Err(self.mismatch(&what));
                }
                if (high - low).is_infinite() {
                    let what = format!("and {high:e} - {low:e} is infinite");
                    return Err(self.mismatch(&what));
                }
                Ok(Some(Numbers::Uniform { seed, low, high }))
            }
        }
    }

    fn range(&self, text: &str) -> Result<Numbers, CliError> {
        let (start, step) = text.split_once(',').unwrap_or((text, "1"));
        match self.dtype.kind() {
            Kind::Float | Kind::Complex => {
                let (start, step) = (self.bound(start)?, self.float(step)?);
                // The last number, which has the largest distance from the start.
                let steps = to_u64(self.count().max(1) - 1);
                let range = FloatRange::new(start, step, &self.dtype).at(self.out.path())?;
                let last = range.at(steps);
                let largest = self.largest();
                if last.abs() <= largest {
                    return Ok(Numbers::FloatRange(range));
                }
                let end = if last.is_finite() { format!("{last:e}") } else { "more".to_owned() };
                Err(self.mismatch(&format!("whose largest number is {largest:e}, and not {end}")))
            }
            Kind::Int | Kind::UInt | Kind::DateTime | Kind::TimeDelta => {
                let (start, step) = (self.integer(start)?, self.integer(step)?);
                let count = self.count();
                let steps = i128::from(to_u64(count.max(1) - 1));
                // Beyond 128 bits, it is out of range as well.
                let last = start.saturating_add(step.saturating_mul(steps));
                let (lowest, highest) = self.bounds();
                if count > 0 && (start.min(last) < lowest || start.max(last) > highest) {
                    let what = format!("which holds {lowest} to {highest}, not {start} to {last}");
                    return Err(self.mismatch(&what));
                }
                Ok(Numbers::IntRange { start, step })
            }
            _ => Err(CliError::usage(self.out.path(), NO_NUMBERS)),
        }
    }

    fn random_integers(&self) -> Result<Numbers, CliError> {
        let is_float = self.dtype.kind() == Kind::Float;
        let is_integer = matches!(self.dtype.kind(), Kind::Int | Kind::UInt);
        CliError::usage_if(!is_float && !is_integer, self.out.path(), NO_NUMBERS)?;
        let (lowest, highest) = self.bounds();
        let low = self.low.as_deref().map(|text| self.integer(text)).transpose()?;
        let high = self.high.as_deref().map(|text| self.integer(text)).transpose()?;
        if is_float && high.is_none() {
            return Err(self.mismatch("for which --random int needs --high"));
        }
        let low = low.unwrap_or(if is_float { 0 } else { lowest });
        let high = high.unwrap_or(highest + 1);
        if low >= high || low < lowest || high > highest + 1 {
            let what = format!(
                "which holds {lowest} to {highest}, so integers from {low} to below {high} cannot be drawn"
            );
            return Err(self.mismatch(&what));
        }
        Ok(Numbers::Int { seed: self.seed, low, range: high.abs_diff(low) })
    }

    /// The lowest and the highest integer that an element holds exactly.
    fn bounds(&self) -> (i128, i128) {
        let bits = self.dtype.itemsize() * 8;
        match (self.dtype.kind(), bits) {
            (Kind::UInt, 1..=64) => (0, (1 << bits) - 1),
            (Kind::Float, 16) => (-2048, 2048),
            (Kind::Float, 32) => (-(1 << 24), 1 << 24),
            (Kind::Float, _) => (-(1 << 53), 1 << 53),
            // The lowest number of dates is NaT.
            (Kind::DateTime | Kind::TimeDelta, _) => (-i128::from(i64::MAX), i64::MAX.into()),
            (_, 1..=64) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            _ => (0, 0),
        }
    }

    fn integer(&self, text: &str) -> Result<i128, CliError> {
        let parsed = text.trim().parse().ok();
        // Up to the end of all 64-bit integers.
        let parsed = parsed.filter(|number| (i64::MIN.into()..=1 << 64).contains(number));
        parsed.ok_or_else(|| self.mismatch(&format!("and `{text}` is not an integer of 64 bits")))
    }

    fn float(&self, text: &str) -> Result<f64, CliError> {
        match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(self.mismatch(&format!("and `{text}` is not a finite number"))),
        }
    }

    /// A bound of random floats, which is finite in the dtype too.
    fn bound(&self, text: &str) -> Result<f64, CliError> {
        let (bound, largest) = (self.float(text)?, self.largest());
        if bound.abs() <= largest {
            return Ok(bound);
        }
        Err(self.mismatch(&format!("whose largest number is {largest:e}, and not `{text}`")))
    }

    /// The number of elements. A larger one is rejected when the array is created.
    fn count(&self) -> usize {
        self.shape.0.iter().fold(1_usize, |count, dim| count.saturating_mul(*dim))
    }

    /// The largest number of a dtype of floats.
    fn largest(&self) -> f64 {
        match (self.dtype.kind(), self.dtype.itemsize()) {
            (Kind::Float, 2) => f64::from(f16::MAX),
            (Kind::Float, 4) | (Kind::Complex, 8) => f64::from(f32::MAX),
            _ => f64::MAX,
        }
    }

    /// The error for numbers that do not suit the dtype.
    fn mismatch(&self, what: &str) -> CliError {
        CliError::usage(self.out.path(), format!("has dtype {}, {what}", self.dtype))
    }
}
