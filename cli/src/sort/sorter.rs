//! Sorts an array, or finds its unique values.

use std::io::Write;
use std::path::Path;

use npymap::{MappedArray, MappedArrayMut, Result, array::Outline};

use crate::input::array_bytes;
use crate::input::lengths::{to_u64, to_usize};
use crate::input::memory;
use crate::input::parallel;
use crate::input::progress::Progress;
use crate::input::row_blocks::RowBlocks;
use crate::input::threads;

use crate::select::selection::IndexArg;
use crate::sort::batch::{self, Batch, ENTRY, RecordBatch};
use crate::sort::blocks::{BLOCK, Blocks, Visit, append};
use crate::sort::keys::Keys;
use crate::sort::merge;
use crate::sort::numbers::{KEY, NumberFormat, Numbers};
use crate::sort::parts;
use crate::sort::radix::CHUNK;
use crate::sort::records::{COUNT, Records, Unit};
use crate::sort::runs::{Run, RunFile, Runs};
use crate::sort::unique::Unique;

/// How to sort.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortOptions<'a> {
    pub(crate) unit: Unit,
    /// What to compare, or all of a record if empty.
    pub(crate) by: &'a [IndexArg],
    pub(crate) is_reversed: bool,
    /// Bytes of memory to use.
    pub(crate) memory: usize,
    /// Where to create temporary files.
    pub(crate) directory: &'a Path,
}

/// Runs that are merged at once, at least and at most.
const FAN_IN: (usize, usize) = (4, 512);

/// Memory per merged run, in bytes, if there are many.
const BUFFER: usize = 256 << 10;

/// The largest of these buffers.
const MAX_BUFFER: usize = 8 << 20;

/// How much one thread merges, in bytes, if there are many parts.
const PART: usize = 128 << 20;

/// Sorts the records of an array.
pub(crate) struct Sorter<'a> {
    keys: Keys<'a>,
    options: SortOptions<'a>,
    /// Whether equal records are counted, and only the first is kept.
    is_counted: bool,
}

impl<'a> Sorter<'a> {
    /// Checks that the records of a part of an array can be compared.
    pub(crate) fn new(
        array: &'a MappedArray,
        part: Outline<'a>,
        options: SortOptions<'a>,
    ) -> Result<Sorter<'a>> {
        let records = Records::new(array, part, options.unit);
        let keys = Keys::new(records, options.by, options.is_reversed)?;
        Ok(Sorter { keys, options, is_counted: false })
    }

    /// Writes all records to a new array of the same dtype and shape, in order.
    pub(crate) fn sort(&self, to: MappedArrayMut) -> Result<()> {
        let mut to = array_bytes::as_bytes(to)?;
        let writer = to.element_writer()?;
        if self.records().nbytes() == 0 {
            return to.close();
        }
        let mut progress = self.progress();
        match self.sorted(&mut progress)? {
            Sorted::InMemory(batch) => {
                let mut written = 0;
                let mut visit = |block: &[u8]| {
                    writer.write(&[written], block)?;
                    written += block.len();
                    progress.add(block.len());
                    Ok(())
                };
                self.write(&mut visit, |blocks| batch.write(blocks))?;
            }
            Sorted::InRuns(file, runs) => {
                let runs = Runs { file: &file, size: self.stored_size(), ranges: &runs };
                let write = |at: usize, block: &[u8]| writer.write(&[at], block);
                self.merge_parts(runs, &write, &mut progress)?;
            }
        }
        to.close()
    }

    /// Finds the first of equal records, in order, and counts them.
    pub(crate) fn unique(mut self) -> Result<Unique<'a>> {
        (self.keys.has_one_nan, self.is_counted) = (true, true);
        // In memory if there are few.
        let SortOptions { memory, directory, .. } = self.options;
        let mut file = tempfile::spooled_tempfile_in(memory / 8, directory);
        match (self.records().size, self.records().count()) {
            (_, 0) => {}
            // All are equal.
            (0, count) => file.write_all(&to_u64(count).to_le_bytes())?,
            _ => self.write_unique(&mut file)?,
        }
        Unique::new(self.keys.records, file)
    }

    fn records(&self) -> &Records<'a> {
        &self.keys.records
    }

    fn progress(&self) -> Progress {
        let passes = if self.fits() { 1 } else { 2 };
        Progress::new(self.records().nbytes() * passes)
    }

    /// Returns whether all records fit into memory.
    fn fits(&self) -> bool {
        let needed = self.records().count().checked_mul(self.record_memory());
        needed.is_some_and(|needed| needed <= self.options.memory)
    }

    /// Sorts the records, of which there are some, with bytes.
    fn sorted(&self, progress: &mut Progress) -> Result<Sorted> {
        if !self.fits() {
            let (file, runs) = self.write_runs(progress)?;
            return self.fewer_runs(file, runs);
        }
        let count = self.records().count();
        let threads = threads::computing();
        if let Some(format) = self.keys.numbers() {
            let blocks = self.records().blocks(count.div_ceil(threads).max(CHUNK));
            let mut parts = Vec::new();
            let sort = |number| self.sorted_numbers(format, &blocks, number);
            parallel::on_threads(threads::computing(), 0..blocks.len(), sort, |part| {
                parts.push(part);
                Ok(())
            })?;
            return Ok(Sorted::InMemory(Batch::Numbers(format, parts)));
        }
        self.sorted_block(&self.records().blocks(count), 0, threads).map(Sorted::InMemory)
    }

    /// Reads and sorts a block of numbers.
    fn sorted_numbers(
        &self,
        format: NumberFormat,
        blocks: &RowBlocks,
        number: usize,
    ) -> Result<Numbers> {
        let (block, rows) = self.records().block(blocks, number)?;
        let mut numbers = Numbers::new(format, rows.len())?;
        self.records().read(&block, &mut |stored| numbers.push(stored))?;
        numbers.sort();
        Ok(numbers)
    }

    /// Reads and sorts a block of records, at least one byte each, on some threads. Numbers
    /// are sorted on this one.
    fn sorted_block(&self, blocks: &RowBlocks, number: usize, threads: usize) -> Result<Batch> {
        if let Some(format) = self.keys.numbers() {
            return Ok(Batch::Numbers(format, vec![self.sorted_numbers(format, blocks, number)?]));
        }
        let (block, rows) = self.records().block(blocks, number)?;
        let size = self.records().size;
        let mut records = memory::with_capacity(rows.len() * size)?;
        self.records().read(&block, &mut |part| append(&mut records, part))?;
        Ok(Batch::Records(RecordBatch::sorted(&self.keys, records, size, threads)?))
    }

    /// Writes the unique records and their counts.
    fn write_unique(&self, file: &mut impl Write) -> Result<()> {
        let mut visit = |block: &[u8]| Ok(file.write_all(block)?);
        match self.sorted(&mut self.progress())? {
            Sorted::InMemory(batch) => self.write(&mut visit, |blocks| batch.write(blocks)),
            Sorted::InRuns(file, runs) => {
                let buffer = self.buffer(runs.len(), 1);
                let runs = Runs { file: &file, size: self.stored_size(), ranges: &runs };
                self.write(&mut visit, |blocks| merge::merge(&self.keys, runs, buffer, blocks))
            }
        }
    }

    /// The memory that a record takes, in bytes.
    fn record_memory(&self) -> usize {
        if self.keys.numbers().is_some() {
            // Numbers that are apart in the file are copied while all threads read them.
            let part = &self.records().part;
            let stride = part.byte_strides().last().map(|stride| stride.unsigned_abs());
            let is_apart = stride.is_some_and(|stride| stride != part.itemsize());
            return if is_apart { 2 * KEY } else { KEY };
        }
        self.records().size + ENTRY + batch::rest_len(&self.keys)
    }

    /// The size of a record in a file.
    fn stored_size(&self) -> usize {
        self.records().size + if self.is_counted { COUNT } else { 0 }
    }

    /// Calls `write` with blocks that `visit` gets.
    fn write(
        &self,
        visit: Visit<'_>,
        write: impl FnOnce(&mut Blocks<'_>) -> Result<()>,
    ) -> Result<()> {
        let len = BLOCK.min(self.options.memory / 16);
        let mut blocks = Blocks::new(len, self.is_counted, visit);
        write(&mut blocks)?;
        blocks.finish()
    }

    /// Writes blocks to a file from an offset on, and returns their range.
    fn write_run(
        &self,
        file: &RunFile,
        start: u64,
        write: impl FnOnce(&mut Blocks<'_>) -> Result<()>,
    ) -> Result<Run> {
        let mut end = start;
        let mut to_file = |block: &[u8]| {
            file.write(block, end)?;
            end += to_u64(block.len());
            Ok(())
        };
        self.write(&mut to_file, write)?;
        Ok(start..end)
    }

    /// Sorts as many records as fit into memory at a time, on several threads.
    fn write_runs(&self, progress: &mut Progress) -> Result<(RunFile, Vec<Run>)> {
        let room = self.options.memory / threads::computing() / self.record_memory();
        let parts = self.records().blocks(room.max(1));
        let file = RunFile::create(self.options.directory)?;
        let mut runs = Vec::new();
        parallel::on_threads(
            threads::computing(),
            0..parts.len(),
            |number| {
                let batch = self.sorted_block(&parts, number, 1)?;
                let (_, rows) = self.records().block(&parts, number)?;
                let start = to_u64(rows.start) * to_u64(self.stored_size());
                let run = self.write_run(&file, start, |blocks| batch.write(blocks))?;
                Ok::<_, npymap::Error>((run, rows.len()))
            },
            |(run, rows)| {
                runs.push(run);
                progress.add(rows * self.records().size);
                Ok(())
            },
        )?;
        Ok((file, runs))
    }

    /// The memory per run when each thread merges as many, in bytes.
    fn buffer(&self, runs: usize, threads: usize) -> usize {
        (self.options.memory / threads / (runs + 1)).min(MAX_BUFFER)
    }

    /// Merges runs until few enough are left.
    fn fewer_runs(&self, mut file: RunFile, mut runs: Vec<Run>) -> Result<Sorted> {
        let size = self.stored_size();
        let threads = threads::computing();
        let fan_in = (self.options.memory / threads / BUFFER).clamp(FAN_IN.0, FAN_IN.1);
        while runs.len() > fan_in {
            let next = RunFile::create(self.options.directory)?;
            let mut merged = Vec::new();
            parallel::on_threads(
                threads::computing(),
                runs.chunks(fan_in),
                |runs| {
                    let start = runs.first().map_or(0, |run| run.start);
                    let buffer = self.buffer(runs.len(), threads);
                    let runs = Runs { file: &file, size, ranges: runs };
                    self.write_run(&next, start, |blocks| {
                        merge::merge(&self.keys, runs, buffer, blocks)
                    })
                },
                |run| {
                    merged.push(run);
                    Ok::<_, npymap::Error>(())
                },
            )?;
            (file, runs) = (next, merged);
        }
        Ok(Sorted::InRuns(file, runs))
    }

    /// Merges runs on several threads, and calls `write` with offsets in the output and
    /// blocks.
    fn merge_parts(
        &self,
        runs: Runs<'_>,
        write: &(dyn Fn(usize, &[u8]) -> Result<()> + Sync),
        progress: &mut Progress,
    ) -> Result<()> {
        let threads = threads::computing();
        let nbytes = self.records().nbytes();
        let parts = parts::split(&self.keys, runs, (nbytes / PART).max(4 * threads))?;
        let buffer = self.buffer(runs.ranges.len(), threads);
        let len = |part: &[Run]| part.iter().map(|run| run.end - run.start).sum::<u64>();
        let mut next = 0;
        let with_start = |part: Vec<Run>| {
            let start = next;
            next += to_usize(len(&part));
            (start, part)
        };
        parallel::on_threads(
            threads::computing(),
            parts.into_iter().map(with_start),
            |(start, part)| {
                let mut at = start;
                let mut visit = |block: &[u8]| {
                    write(at, block)?;
                    at += block.len();
                    Ok(())
                };
                let runs = Runs { ranges: &part, ..runs };
                self.write(&mut visit, |blocks| merge::merge(&self.keys, runs, buffer, blocks))?;
                Ok::<_, npymap::Error>(at - start)
            },
            |nbytes| {
                progress.add(nbytes);
                Ok(())
            },
        )
    }
}

/// Records in order.
enum Sorted {
    InMemory(Batch),
    /// In as few runs as can be merged at once.
    InRuns(RunFile, Vec<Run>),
}
