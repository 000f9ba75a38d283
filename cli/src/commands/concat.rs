//! `npymap concat`: joins arrays.

use std::path::PathBuf;

use clap::Args;
use npymap::array::Outline;
use npymap::ndarray::{Axis, SliceInfoElem};
use npymap::{MappedArray, MappedArrayMut, Order};

use crate::input::array_bytes::ArrayBytes;
use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::file_set;
use crate::input::input_args::InputArgs;
use crate::input::input_rows::{self, InputRows, RowSpec};
use crate::input::lengths::with_length;
use crate::input::progress::Progress;
use crate::input::promotion::PromotionArgs;
use crate::input::url;
use crate::output::draft::Draft;
use crate::output::new_file::NewFileArgs;
use crate::output::output_format::{self, OutputFormat};
use crate::output::report::ReportArgs;
use crate::select::{axis_arg, cast};

/// Bytes written at a time when each row combines parts of several files.
const BLOCK: usize = 64 << 20;

/// Join arrays along an axis, like NumPy's concatenate or stack.
///
/// The files of a directory or a pattern such as 'part-*.npy' are joined in the
/// order of their names. This compares numbers by value, so part-2 is before
/// part-10. OUT is in C order and has the dtype of the first array. Other arrays
/// must have the same dtype, except for their byte order and memory order, unless
/// --promote or --dtype casts them. With --stack, all must have the same shape.
/// OUT gets its name once it is complete and on disk.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap concat part-1.npy part-2.npy part-3.npy -o all.npy
  npymap concat 'part-*.npy' -o all.npy
  npymap concat all.npy more.npy -o all.npy --overwrite
  npymap concat 'a.npz[x]' 'b.npz[x]' -o x.npy
  npymap concat --axis 1 features.npy more.npy -o wide.npy
  npymap concat --stack x.npy y.npy -o both.npy
  npymap concat --promote x.npy y.npy -o xy.npy

Exit status: 0 if OUT was written, 1 if not, 2 for a usage error.")]
pub(crate) struct ConcatArgs {
    /// Join along a new axis at the position --axis, with one index for each array
    #[arg(long)]
    stack: bool,

    /// Axis to join along, where -1 is the last axis
    #[arg(long, value_name = "N", default_value = "0", value_parser = axis_arg::parse)]
    axis: isize,

    #[command(flatten)]
    promotion: PromotionArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    new_file: NewFileArgs,

    #[command(flatten)]
    read: InputArgs,

    /// .npy files, FILE[MEMBER], directories or quoted patterns, to join
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<ArrayPath>,

    /// New .npy file, or - for standard output. With --overwrite, this can be
    /// one of the inputs
    #[arg(short, long, value_name = "OUT", value_parser = url::parser())]
    output: PathBuf,
}

impl ConcatArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        output_format::require_npy(&self.output)?;
        self.report.check(&self.output)?;
        let inputs = file_set::files(&self.inputs)?;
        let Some(input) = inputs.first() else { return Ok(()) };
        // If the output replaces an input, that one is locked before it is read.
        let draft = Draft::begin(&self.output, self.new_file.replace)?;
        let first = self.read.options().whole().array(input).at(input.name())?;
        let mut shape = first.shape().to_vec();
        drop(first);
        let dtype = self.promotion.result(&inputs, self.read.options())?;
        // With --stack, each array is one row of the result.
        shape.extend(self.stack.then_some(1));
        let axis = axis_arg::resolve(self.axis, &shape);
        let axis = axis.map_err(|what| CliError::mismatch(input.name(), what))?;
        if self.stack {
            shape.pop();
            shape.insert(axis, 1);
        }
        let casting = self.promotion.casting();
        let spec = RowSpec { path: input.name(), dtype: &dtype, shape: &shape, axis, casting };
        let rows = input_rows::open_all(&spec, &inputs, self.read.options())?;
        for (rows, input) in rows.iter().zip(&inputs) {
            if rows.array.ndim() + usize::from(self.stack) != shape.len() {
                return Err(spec.shape_error(input, rows.array.shape()));
            }
        }
        let count = input_rows::count(&rows);
        let shape = with_length(&shape, axis, count);
        let options = self.new_file.options(Order::C);
        let array = draft.array(&dtype, &shape, &options)?;
        let filled = if axis == 0 {
            write_in_sequence(&rows, array)
        } else {
            write_interleaved(&rows, axis, array)
        };
        filled.at(&self.output)?;
        // The output may replace one of them, which Windows does not do while
        // it is mapped.
        drop(rows);
        draft.commit()?;
        self.report.print(&self.output, OutputFormat::Npy)
    }
}

/// Writes arrays one after another.
fn write_in_sequence(rows: &[InputRows], array: MappedArrayMut) -> npymap::Result<()> {
    let mut progress = Progress::new(array.nbytes());
    let mut all = ArrayBytes::new(array)?;
    rows.iter().try_for_each(|rows: &InputRows| {
        rows.blocks(Order::C, &mut |block| {
            progress.add(block.len());
            all.push(block)
        })
    })?;
    all.close()
}

/// Writes arrays joined along an axis other than the first: assembles a block
/// of the output in memory, writes it, then the next.
fn write_interleaved(rows: &[InputRows], axis: usize, array: MappedArrayMut) -> npymap::Result<()> {
    let (dtype, shape) = (array.dtype().clone(), array.shape().to_vec());
    let along = shape.iter().take(axis).position(|&dim| dim > 1).unwrap_or(0);
    let dims = *shape.get(along).expect("the array has the axis");
    let nbytes = array.nbytes();
    if nbytes == 0 {
        return array.close();
    }
    let (mut all, mut progress) = (ArrayBytes::new(array)?, Progress::new(nbytes));
    let step = (BLOCK / (nbytes / dims)).clamp(1, dims);
    for start in (0..dims).step_by(step) {
        let end = dims.min(start + step);
        let mut block = MappedArray::zeros(&dtype, &with_length(&shape, along, end - start))?;
        let mut position = 0;
        for rows in rows {
            let mut from = rows.array.outline();
            if from.ndim() < shape.len() {
                from = with_axis(&from, axis)?;
            }
            let from =
                from.slice(cast::axis_range(from.ndim(), Axis(along), start, end - start))?;
            let to = block.dyn_view_mut()?;
            let part = cast::axis_range(to.ndim(), Axis(axis), position, rows.count);
            let from = rows.array.window(&from)?;
            cast::copy_whole(to.slice(part)?, &from.view(), rows.casting)?;
            position += rows.count;
        }
        all.push(block.as_bytes()?)?;
        progress.add(block.nbytes());
    }
    all.close()
}

/// Elements with a new axis of length 1.
fn with_axis<'a>(part: &Outline<'a>, axis: usize) -> npymap::Result<Outline<'a>> {
    let mut slice = cast::axis_range(part.ndim(), Axis(part.ndim()), 0, 0);
    slice.insert(axis, SliceInfoElem::NewAxis);
    part.slice(slice)
}
