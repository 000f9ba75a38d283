//! `npymap append`: appends rows to an array.

use std::path::Path;

use clap::Args;
use npymap::{
    Appender, CreateOptions, DType, ErrorKind, OpenOptions, Order, write::RecoverOptions,
};
use serde_json::json;

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::escape::safe;
use crate::input::file_set;
use crate::input::input_args::{FileArgs, InputArgs};
use crate::input::input_rows::{self, RowSpec};
use crate::input::progress::Progress;
use crate::input::promotion::{PromotionArgs, is_same};
use crate::input::shape_arg::PartialShape;
use crate::input::{header_len, open, text};
use crate::output::locking::WaitArgs;
use crate::output::{edit, report, signals};

/// Append the rows of arrays to a .npy file, in place.
///
/// Rows are added along the first axis, or along the last axis if FILE is in
/// Fortran order. An array with one axis fewer is a single row. Rows are
/// converted to the byte order and memory order of FILE, unless its fields
/// differ in byte order, and with --promote or --dtype to its dtype. Everything
/// else must match. This appends all rows or none, and concurrent readers will
/// see either the previous array or the longer array.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap append log.npy today.npy
  npymap append --flush all.npy part-1.npy part-2.npy part-3.npy
  npymap append --create --promote log.npy today.npy
  npymap append --json log.npy today.npy
  npymap convert today.csv - | npymap append log.npy -
  head -c 320 points.bin | npymap append log.npy - --raw f8

With --raw, rows have FILE's row shape and memory order, unless you give
--shape or --order.

FILE must exist, unless you give --create. If FILE has bytes after its elements,
see `npymap recover`.

Exit status: 0 if all rows were appended, 1 if the append failed or --flush
could not wait for the disk, 2 for a usage error.")]
pub(crate) struct AppendArgs {
    /// Wait until the data is on disk
    #[arg(long)]
    flush: bool,

    /// Create FILE if it does not exist, with rows like the first array's. This is
    /// safe in several processes at once
    #[arg(long)]
    create: bool,

    #[command(flatten)]
    promotion: PromotionArgs,

    /// Print a JSON object: the number of appended rows, and the new shape
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    read: InputArgs,

    /// .npy file to append to
    file: ArrayPath,

    /// .npy files, FILE[MEMBER], directories or quoted patterns, to append, or -
    /// for standard input
    #[arg(value_name = "ROWS", required = true)]
    rows: Vec<ArrayPath>,
}

const MEMBER: &str = "members of archives cannot be appended to: write the longer array to a .npy file with `npymap concat`";

const UNFINISHED: &str = "its last writer did not finish: `npymap recover` repairs it, and `npymap recover --dry-run` shows how";

impl AppendArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let path = self.file.require_file(MEMBER)?;
        edit::reject_stream(&self.file)?;
        let options = header_len::options();
        signals::watch().map_err(CliError::io(path, "open"))?;
        let inputs = file_set::files(&self.rows)?;
        let new = if self.create && !path.exists() { Some(self.new_rows(&inputs)?) } else { None };
        let opened = self.wait.with_lock(path, |locking| {
            let options = options.clone().locking(locking);
            match &new {
                Some(new) => open_or_create(path, &options, new),
                None => options.append(path),
            }
        });
        let mut array = opened.map_err(|error| AppendArgs::explain(path, error))?;
        let asked = self.promotion.dtype.as_ref();
        if let Some(asked) = asked.filter(|asked| !is_same(asked, array.dtype())) {
            let what = format!("dtype {}, not that of --dtype, {asked}", array.dtype());
            return Err(CliError::mismatch(path, what));
        }
        let (dtype, shape, order) = (array.dtype().clone(), array.shape().to_vec(), array.order());
        let axis = if order == Order::C { 0 } else { shape.len().max(1) - 1 };
        let casting = self.promotion.casting();
        let spec = RowSpec { path, dtype: &dtype, shape: &shape, axis, casting };
        let args = self.row_args(&shape, axis);
        let order_of_rows = self.read.raw_order.unwrap_or(order);
        let rows = input_rows::open_all(&spec, &inputs, args.options(order_of_rows))?;
        let count = input_rows::count(&rows);
        let mut progress = Progress::new(input_rows::nbytes(&rows));
        let appended = array.append_parts(count, |write| {
            rows.iter().try_for_each(|rows| {
                rows.blocks(order, &mut |block| {
                    progress.add(block.len());
                    write(block)
                })
            })
        });
        appended.at(path)?;
        let flushed = if self.flush { array.sync() } else { array.flush() };
        flushed.map_err(|error| self.explain_failure(path, array.shape(), error))?;
        let (rows, shape) = (text::plural(count, "row"), text::shape(array.shape()));
        let line =
            json!({ "path": path.to_string_lossy(), "appended": count, "shape": array.shape() });
        let text = format!("{}: {rows} added, shape {shape}", safe(path.display()));
        report::done(path, "the rows were added", self.json.then_some(line), &text)
    }

    /// The dtype and the shape of the rows of a new file. Checks all arrays before it exists.
    fn new_rows(&self, inputs: &[ArrayPath]) -> Result<(DType, Vec<usize>), CliError> {
        let options = self.read.options();
        let dtype = self.promotion.result(inputs, options)?;
        let Some(first) = inputs.first() else { return Ok((dtype, Vec::new())) };
        let array = options.whole().array(first).at(first.name())?;
        let Some(row) = array.shape().get(1..).map(<[usize]>::to_vec) else {
            let what = "shape (), but the first array gives the shape of rows".to_owned();
            return Err(CliError::mismatch(first.name(), what));
        };
        let (shape, casting) = ([&[0], &*row].concat(), self.promotion.casting());
        let spec = RowSpec { path: first.name(), dtype: &dtype, shape: &shape, axis: 0, casting };
        input_rows::open_all(&spec, inputs, options)?;
        Ok((dtype, row))
    }

    /// Says so if readers see the rows although waiting for the disk failed.
    fn explain_failure(&self, path: &Path, shape: &[usize], error: npymap::Error) -> CliError {
        let header =
            open::read_source(path).and_then(|source| header_len::options().header(&source));
        if self.flush && header.is_ok_and(|header| header.shape == shape) {
            let text =
                format!("{}: the rows were added, but may not be on the disk", error.message());
            return CliError::rejected(path, text);
        }
        CliError::with_path(path)(error)
    }

    /// How to read ROWS: with --raw, as rows of FILE unless they have a shape.
    fn row_args(&self, shape: &[usize], axis: usize) -> FileArgs {
        let own = PartialShape::unknown_along(shape, axis);
        let args = self.read.file.clone();
        FileArgs { shape: Some(args.shape.unwrap_or(own)), ..args }
    }

    /// Explains why rows cannot be appended, and suggests `recover` if a writer
    /// did not finish.
    fn explain(path: &Path, error: npymap::Error) -> CliError {
        let options = RecoverOptions::new().open_options(header_len::options());
        let is_damaged = matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Truncated);
        if is_damaged && options.plan(path).is_ok_and(|recovery| !recovery.is_complete()) {
            return CliError::rejected(path, UNFINISHED);
        }
        CliError::with_path(path)(error)
    }
}

/// Creates a file, or opens the one that another process has just created, whatever its rows
/// are: they are checked later.
fn open_or_create(
    path: &Path,
    options: &OpenOptions,
    (dtype, row): &(DType, Vec<usize>),
) -> npymap::Result<Appender> {
    match options.append_or_create(path, dtype, row, &CreateOptions::new()) {
        Err(error)
            if matches!(error.kind(), ErrorKind::DTypeMismatch | ErrorKind::ShapeMismatch) =>
        {
            options.append(path)
        }
        opened => opened,
    }
}
