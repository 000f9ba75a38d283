//! `npymap demo`: creates, edits and reads an array larger than memory.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use humansize::{BINARY, format_size};
use npymap::ndarray::s;
use npymap::{DType, Header, OpenOptions, Order, Sampler, layout::Layout, source::Advice};
use serde_json::json;

use crate::input::error::CliError;
use crate::input::escape::{self, safe};
use crate::input::style::HEADING;
use crate::input::{open, platform};
use crate::output::table::{self, Column};

/// Numbers per row: rows of 4 KiB.
const ROW: usize = 1024;

/// Number of elements that are set one by one, spread over the array.
const SCATTERED: usize = 1000;

/// Number of rows that are filled: 16 MiB.
const FILLED: usize = 4096;

/// Number of rows in a batch.
const BATCH: usize = 256;

/// The value that they are filled with.
const FILL: f32 = 0.5;

/// The maximum disk space of the array, in bytes.
const SPACE: u64 = 64 << 20;

/// Demonstrates the library on an array larger than memory.
///
/// Creates an array of 64 GiB in a sparse temporary file, opens it, edits it in
/// place and reads it back, and reports the time and memory of each step. The
/// file has no name and disappears when the program exits.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap demo --size 100 --directory .
  npymap demo --json

Exit status: 0 on success, 1 on failure, 2 for a usage error.")]
pub(crate) struct DemoArgs {
    /// Size of the array, in GiB
    #[arg(long, value_name = "GIB", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    size: u16,

    /// Directory of the file [default: the directory for temporary files]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,

    /// Print a JSON object for each step
    #[arg(long)]
    json: bool,
}

/// The cost of a step.
struct Step {
    name: String,
    time: Duration,
    /// Memory of the process after the step, in bytes, if the system reports
    /// it.
    memory: Option<u64>,
    /// Disk space of the file after the step, in bytes, if the system reports
    /// it.
    disk: Option<u64>,
}

impl DemoArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let directory = self.directory.clone().unwrap_or_else(std::env::temp_dir);
        let steps = self.steps(&directory)?;
        let out = &mut anstream::stdout().lock();
        if self.json {
            print_json(out, &steps)
        } else {
            self.print_table(out, &directory, &steps)
        }?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    fn steps(&self, directory: &Path) -> Result<Vec<Step>, CliError> {
        let to_error = CliError::with_path(directory);
        check_space(directory)?;
        let rows = usize::from(self.size).saturating_mul((1 << 30) / (4 * ROW));
        let middle = rows / 2..rows / 2 + FILLED;
        let file =
            tempfile::tempfile_in(directory).map_err(CliError::io(directory, "create a file"))?;
        let mut steps = Steps { file, taken: Vec::new() };

        steps.run("create a sparse file", |file| make_sparse(file, rows, directory))?;
        let options = OpenOptions::new();
        let mut array = steps.run("open it read-write", |file| {
            open::write_file(clone_file(file, directory)?, &options).map_err(&to_error)
        })?;
        steps.run(&format!("set {SCATTERED} scattered elements"), |_| {
            let mut view = array.view_mut::<f32>().map_err(&to_error)?;
            let mut pairs = scattered_indices(rows).zip(scattered_values());
            pairs.try_for_each(|(index, value)| view.set(index, value)).map_err(&to_error)
        })?;
        steps.run("fill 16 MiB in the middle", |_| {
            let view = array.view_mut::<f32>();
            let part = view.and_then(|view| view.try_slice(s![middle.clone(), ..]));
            part.and_then(|mut part| part.fill(&FILL)).map_err(&to_error)
        })?;
        steps.run("flush it to disk and close it", |_| array.close().map_err(&to_error))?;

        let options = options.advice(Advice::Random);
        let array = steps.run("open it read-only", |file| {
            open::read_file(clone_file(file, directory)?, &options).map_err(&to_error)
        })?;
        let view = &array.view::<f32>().map_err(&to_error)?;
        steps.run(&format!("read the {SCATTERED} elements"), |_| {
            let stored = scattered_indices(rows)
                .zip(scattered_values())
                .filter(|([row, _], _)| !middle.contains(row));
            check_equal(directory, stored.map(|(index, value)| (view.get(index), value)))
        })?;
        steps.run("read the 16 MiB", |_| {
            let part = view.try_slice(s![middle.clone(), ..]).map_err(&to_error)?;
            check_equal(directory, part.iter().map(|element| (Some(element), FILL)))
        })?;
        steps.run("read 1000 rows of zeros", |_| {
            let between =
                scattered_indices(rows).map(|[row, _]| row + 1).filter(|row| !middle.contains(row));
            let rows = between.flat_map(|row| (0..ROW).map(move |column| view.get([row, column])));
            check_equal(directory, rows.map(|element| (element, 0.0)))
        })?;
        steps.run("sample 2560 rows in batches", |_| {
            let mut zeros = Sampler::shuffled(rows, 1)
                .filter(|row| !middle.contains(row) && !row.is_multiple_of(rows / SCATTERED))
                .take(10 * BATCH);
            let (sampled, mut batch) = (array.rows().map_err(&to_error)?, vec![1.0; BATCH * ROW]);
            (0..10).try_for_each(|_| {
                let indices: Vec<usize> = zeros.by_ref().take(BATCH).collect();
                sampled.take(&indices, &mut batch).map_err(&to_error)?;
                check_equal(directory, batch.iter().map(|element| (Some(*element), 0.0)))
            })
        })?;
        Ok(steps.taken)
    }

    /// Prints a table with a row for each step.
    fn print_table(
        &self,
        out: &mut impl Write,
        directory: &Path,
        steps: &[Step],
    ) -> io::Result<()> {
        writeln!(
            out,
            "{HEADING}An array of {} GiB in {}{HEADING:#}\n",
            self.size,
            safe(directory.display())
        )?;
        let texts = [Column::text("step")];
        let mut columns: Vec<_> =
            texts.into_iter().chain(["time", "memory", "on disk"].map(Column::numbers)).collect();
        for Step { name, time, memory, disk } in steps {
            let cells = [name.clone(), format!("{time:.1?}"), size_text(*memory), size_text(*disk)];
            columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
        }
        table::print(out, &columns)
    }
}

/// The file, and the steps taken so far.
struct Steps {
    file: File,
    taken: Vec<Step>,
}

impl Steps {
    /// Runs a step and records its cost.
    fn run<T>(
        &mut self,
        name: &str,
        step: impl FnOnce(&File) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let started = Instant::now();
        let result = step(&self.file)?;
        let time = started.elapsed();
        let (memory, disk) = (platform::memory(), platform::space_taken(&self.file));
        self.taken.push(Step { name: name.to_owned(), time, memory, disk });
        Ok(result)
    }
}

/// Prints a line of JSON for each step.
fn print_json(out: &mut impl Write, steps: &[Step]) -> io::Result<()> {
    steps.iter().try_for_each(|Step { name, time, memory, disk }| {
        let seconds = time.as_secs_f64();
        let line = json!({ "step": name, "seconds": seconds, "memory": memory, "disk": disk });
        escape::json_line(out, &line)
    })
}

/// The indices of the scattered elements, in an array of `rows` rows.
fn scattered_indices(rows: usize) -> impl Iterator<Item = [usize; 2]> {
    (0..SCATTERED).map(move |i| [i * (rows / SCATTERED), i % ROW])
}

/// The values that the scattered elements are set to.
fn scattered_values() -> impl Iterator<Item = f32> {
    std::iter::successors(Some(1.0), |value| Some(value + 1.0))
}

fn clone_file(file: &File, directory: &Path) -> Result<File, CliError> {
    file.try_clone().map_err(CliError::io(directory, "open"))
}

fn size_text(bytes: Option<u64>) -> String {
    bytes.map_or("-".to_owned(), |bytes| format_size(bytes, BINARY))
}

/// Checks that the elements read are those stored.
fn check_equal(
    directory: &Path,
    mut pairs: impl Iterator<Item = (Option<f32>, f32)>,
) -> Result<(), CliError> {
    if pairs.all(|(element, stored)| element.map(f32::to_bits) == Some(stored.to_bits())) {
        return Ok(());
    }
    Err(CliError::io(directory, "read back what was stored")(io::ErrorKind::InvalidData.into()))
}

/// Extends the file to the length of the array, and checks that it takes no
/// disk space.
fn make_sparse(file: &File, rows: usize, directory: &Path) -> Result<(), CliError> {
    let header = Header::new(DType::of::<f32>(), &[rows, ROW], Order::C);
    let encoded =
        header.and_then(|header| header.encode(None)).map_err(CliError::with_path(directory))?;
    let layout = Layout::new(DType::of::<f32>(), &[rows, ROW], Order::C, encoded.bytes.len());
    let end = layout.map_err(CliError::with_path(directory))?.end();
    let extended = (&mut &*file)
        .write_all(&encoded.bytes)
        .and_then(|()| file.set_len(u64::try_from(end).unwrap_or(u64::MAX)));
    extended.map_err(CliError::io(directory, "create such a large file"))?;
    match platform::space_taken(file) {
        Some(taken) if taken > SPACE => {
            Err(CliError::io(directory, "create a sparse file")(io::Error::other(
                "this file system does not support sparse files: choose another --directory",
            )))
        }
        _ => Ok(()),
    }
}

/// Rejects a directory whose disk is nearly full.
fn check_space(directory: &Path) -> Result<(), CliError> {
    let free = platform::free_space(directory);
    let free = free.map_err(CliError::io(directory, "determine the free space"))?;
    let Some(free) = free.filter(|free| *free < SPACE) else { return Ok(()) };
    let (free, needed) = (format_size(free, BINARY), format_size(SPACE, BINARY));
    let text = format!("{free} are free, {needed} are needed: choose another --directory");
    Err(CliError::io(directory, "create a file")(io::Error::other(text)))
}
