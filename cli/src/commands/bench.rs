//! `npymap bench`: measures how fast a file can be read.

use std::hint::black_box;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use humansize::{DECIMAL, format_size};
use npymap::{DType, Error, ErrorKind, MappedArray, OpenOptions, Sampler, array::RawSpec};
use serde_json::json;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::escape;
use crate::input::input_args::InputArgs;
use crate::input::{open, platform, stream};
use crate::output::table::{self, Column};

/// Bytes read in sequence between two readings of the clock.
const CHUNK: usize = 16 << 20;

/// Measures how fast the rows of a file can be read, in sequence and at random.
///
/// Rows are copied through a plain map and by the library's sampling, each
/// first from the disk (the cached pages of the file are dropped for that) and
/// then from memory. Nothing is written. Arrays in Fortran order are measured
/// along their last axis, along which rows are contiguous.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap bench train.npy
  npymap bench train.npy --batch 1024 --seconds 2
  npymap bench train.npy --json

Exit status: 0 on success, 1 on failure, 2 for a usage error.")]
pub(crate) struct BenchArgs {
    /// .npy file, or FILE[MEMBER] that is not deflated
    file: ArrayPath,

    /// Number of rows to copy at a time
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,

    /// Maximum duration of each measurement, in seconds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,

    /// Print a JSON object for each measurement
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    read: InputArgs,
}

/// How much was read, and how long it took.
struct Measurement {
    name: &'static str,
    from: &'static str,
    rows: usize,
    bytes: usize,
    time: Duration,
}

/// The most bytes of rows that are copied at a time.
const MEMORY: usize = 256 << 20;

const STREAM: &str =
    "a stream cannot be read twice: write it to a file first, with `npymap convert - FILE.npy`";

impl BenchArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        let path = &self.file.path;
        if stream::is_standard(path) || platform::is_stream(path) {
            return Err(CliError::usage(self.file.name(), STREAM));
        }
        let to_error = CliError::with_path(self.file.name());
        let array = self.byte_rows().map_err(&to_error)?;
        let Some(measurements) =
            array.map(|array| self.measure(&array)).transpose().map_err(&to_error)?
        else {
            let what = "no rows to read, or none that are stored uncompressed".to_owned();
            return Err(CliError::Mismatch { path: self.file.name().to_owned(), what });
        };
        let out = &mut anstream::stdout().lock();
        if self.json { print_json(out, &measurements) } else { print_table(out, &measurements) }?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// The array as rows of bytes. `None` if it has no bytes, or none that are
    /// stored uncompressed.
    fn byte_rows(&self) -> npymap::Result<Option<MappedArray>> {
        let array = self.read.array(&self.file)?;
        let shape = array.shape();
        let ends = if array.layout().is_c_contiguous() { shape.first() } else { shape.last() };
        let (Some(&count), Some(offset), 1..) = (ends, array.data_offset(), array.nbytes()) else {
            return Ok(None);
        };
        let row = array.nbytes() / count;
        let raw = RawSpec::new(DType::of::<u8>()).shape(&[count, row]);
        open::read(&self.file.path, &OpenOptions::new().offset(offset).raw(raw)).map(Some)
    }

    fn measure(&self, array: &MappedArray) -> npymap::Result<Vec<Measurement>> {
        let mut measurements = Vec::new();
        // Only what was just read from the disk is read again from memory.
        array.drop_cache(..)?;
        let disk = self.read_in_sequence(array, "disk", usize::MAX)?;
        let memory = self.read_in_sequence(array, "memory", disk.bytes)?;
        measurements.extend([disk, memory]);
        let view = array.view::<u8>()?;
        measurements.extend(
            self.copy_at_random("at random, plain map", array, |rows, out| view.take(rows, out))?,
        );
        let rows = array.rows()?;
        measurements.extend(
            self.copy_at_random("at random, sampled", array, |indices, out| {
                rows.take(indices, out)
            })?,
        );
        Ok(measurements)
    }

    fn time_limit(&self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }

    /// Reads up to `limit` bytes, starting at the first row.
    fn read_in_sequence(
        &self,
        array: &MappedArray,
        from: &'static str,
        limit: usize,
    ) -> npymap::Result<Measurement> {
        let all = array.as_slice::<u8>()?;
        let all = all.get(..limit.min(all.len())).unwrap_or_default();
        let started = Instant::now();
        let mut bytes = 0;
        for chunk in all.chunks(CHUNK) {
            black_box(chunk.iter().fold(0_u8, |sum, byte| sum ^ byte));
            bytes += chunk.len();
            if started.elapsed() > self.time_limit() {
                break;
            }
        }
        let row = array.nbytes() / array.shape().first().copied().unwrap_or(1).max(1);
        let (rows, time) = (bytes / row.max(1), started.elapsed());
        Ok(Measurement { name: "in sequence", from, rows, bytes, time })
    }

    /// Copies batches of rows from the disk, then the same ones from memory.
    fn copy_at_random(
        &self,
        name: &'static str,
        array: &MappedArray,
        mut copy: impl FnMut(&[usize], &mut [u8]) -> npymap::Result<()>,
    ) -> npymap::Result<[Measurement; 2]> {
        array.drop_cache(..)?;
        let disk = self.copy_batches(name, "disk", array, usize::MAX, &mut copy)?;
        let memory = self.copy_batches(name, "memory", array, disk.rows, &mut copy)?;
        Ok([disk, memory])
    }

    /// Copies the same batches of rows in each call, until `limit` rows are
    /// copied or time is up.
    fn copy_batches(
        &self,
        name: &'static str,
        from: &'static str,
        array: &MappedArray,
        limit: usize,
        copy: &mut impl FnMut(&[usize], &mut [u8]) -> npymap::Result<()>,
    ) -> npymap::Result<Measurement> {
        let &[count, row] = array.shape() else {
            return Ok(Measurement { name, from, rows: 0, bytes: 0, time: Duration::ZERO });
        };
        // Rows of any size, in bounded memory.
        let most = (MEMORY / row.max(1)).max(1);
        let size = usize::try_from(self.batch).unwrap_or(usize::MAX).min(count).min(most);
        let mut out = Vec::new();
        if out.try_reserve_exact(size * row).is_err() {
            let text = format!("a row of {row} bytes does not fit into memory");
            return Err(Error::new(ErrorKind::LimitExceeded, text));
        }
        out.resize(size * row, 0);
        let (mut rows, mut time) = (0, Duration::ZERO);
        for batch in Sampler::shuffled(count, 0).batches(size) {
            let started = Instant::now();
            copy(&batch, out.get_mut(..batch.len() * row).unwrap_or_default())?;
            time += started.elapsed();
            rows += batch.len();
            if time > self.time_limit() || rows >= limit {
                break;
            }
        }
        Ok(Measurement { name, from, rows, bytes: rows * row, time })
    }
}

impl Measurement {
    /// A count per second.
    fn rate(&self, count: usize) -> f64 {
        let count = u32::try_from(count / 1000).map_or(f64::INFINITY, f64::from) * 1000.0
            + u32::try_from(count % 1000).map_or(0.0, f64::from);
        count / self.time.as_secs_f64().max(1e-9)
    }
}

/// Prints a table with a row for each measurement.
fn print_table(out: &mut impl Write, measurements: &[Measurement]) -> io::Result<()> {
    let texts = ["rows", "from"].map(Column::text);
    let mut columns: Vec<_> =
        texts.into_iter().chain(["rows/s", "bytes/s", "read"].map(Column::numbers)).collect();
    for measurement in measurements {
        let cells = [
            measurement.name.to_owned(),
            measurement.from.to_owned(),
            format!("{:.0}", measurement.rate(measurement.rows)),
            format!("{:.1} MB", measurement.rate(measurement.bytes) / 1e6),
            format_size(measurement.bytes, DECIMAL),
        ];
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    table::print(out, &columns)
}

/// Prints a line of JSON for each measurement.
fn print_json(out: &mut impl Write, measurements: &[Measurement]) -> io::Result<()> {
    measurements.iter().try_for_each(|measurement| {
        let Measurement { name, from, rows, bytes, time } = measurement;
        let line = json!({
            "read": name, "from": from, "rows": rows, "bytes": bytes, "seconds": time.as_secs_f64(),
        });
        escape::json_line(out, &line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::input_args::FileArgs;

    #[test]
    fn rows_from_memory_are_among_those_from_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rows.bin");
        std::fs::write(&path, vec![0; 100 * 64]).unwrap();
        let raw = RawSpec::new(DType::of::<u8>()).shape(&[100, 64]);
        let array = open::read(&path, &OpenOptions::new().raw(raw)).unwrap();
        let bench = BenchArgs {
            file: path.into_os_string().into(),
            batch: 10,
            seconds: 1,
            json: false,
            read: InputArgs {
                file: FileArgs {
                    raw: None,
                    offset: None,
                    shape: None,
                    max_header_len: npymap::npy::MAX_HEADER_LEN,
                },
                raw_order: None,
            },
        };
        let mut read = Vec::new();
        let [disk, memory] = ["disk", "memory"].map(|cache| {
            let copied = bench.copy_batches("", cache, &array, 30, &mut |rows, _| {
                read.extend_from_slice(rows);
                Ok(())
            });
            copied.unwrap()
        });
        assert_eq!((disk.rows, memory.rows, memory.bytes), (30, 30, 30 * 64));
        assert_eq!(read[..30], read[30..]);
        let sequence = bench.read_in_sequence(&array, "memory", 640).unwrap();
        assert_eq!((sequence.rows, sequence.bytes), (10, 640));
    }
}
