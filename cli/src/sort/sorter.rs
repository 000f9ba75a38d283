//! Sorts an array, or finds its unique values.

use std::num::NonZero;
use std::path::Path;

use npymap::{DType, MappedArrayMut, Result, view::DynView};

use crate::input::parallel;
use crate::input::progress::Progress;
use crate::input::threads;
use crate::select::cast;
use crate::select::selection::IndexArg;
use crate::sort::batch::{Batch, ENTRY, PREFIX};
use crate::sort::blocks::{BLOCK, Blocks, Visit};
use crate::sort::keys::Keys;
use crate::sort::merge::{self, Runs};
use crate::sort::records::{COUNT, Records, Unit};
use crate::sort::runs::{Run, RunFile};
use crate::sort::unique::{Collected, Unique};

/// How to sort.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortOptions<'a> {
    pub(crate) unit: Unit,
    /// What is compared; all of a record if empty.
    pub(crate) by: &'a [IndexArg],
    pub(crate) is_reversed: bool,
    /// Bytes of memory to use.
    pub(crate) memory: usize,
    /// Where temporary files are created; `None` for the system's directory.
    pub(crate) directory: Option<&'a Path>,
}

/// Runs that are merged at once, at least and at most.
const FAN_IN: (usize, usize) = (4, 512);

/// Memory for each run that is merged, in bytes, if there are many.
const BUFFER: usize = 256 << 10;

/// The largest of these buffers.
const MAX_BUFFER: usize = 8 << 20;

/// Sorts the records of an array.
pub(crate) struct Sorter<'a> {
    keys: Keys<'a>,
    options: SortOptions<'a>,
    /// Whether equal records are counted, and only the first is kept.
    is_counted: bool,
}

impl<'a> Sorter<'a> {
    /// Checks that the records can be compared.
    pub(crate) fn new(array: DynView<'a>, options: SortOptions<'a>) -> Result<Sorter<'a>> {
        let records = Records::new(array, options.unit);
        let keys = Keys::new(records, options.by, options.is_reversed)?;
        Ok(Sorter { keys, options, is_counted: false })
    }

    pub(crate) fn dtype(&self) -> &DType {
        self.records().dtype()
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.records().view().shape()
    }

    /// Writes all records to a new array of the same dtype and shape, in order.
    pub(crate) fn sort(&self, to: MappedArrayMut) -> Result<()> {
        let mut to = cast::as_bytes(to)?;
        let (writer, mut written) = (to.element_writer()?, 0);
        self.visit(&mut |block| {
            writer.write(&[written], block)?;
            written += block.len();
            Ok(())
        })?;
        to.close()
    }

    /// Finds the first of equal records, in order, and counts them.
    pub(crate) fn unique(mut self) -> Result<Unique<'a>> {
        self = Sorter { keys: self.keys.with_one_nan(), is_counted: true, ..self };
        let mut unique = Collected::new(self.options.memory / 8, self.options.directory);
        match (self.records().size(), self.records().count()) {
            (_, 0) => {}
            // All are equal.
            (0, count) => unique.push(&u64::try_from(count).unwrap_or(u64::MAX).to_le_bytes())?,
            _ => self.visit(&mut |block| unique.push(block))?,
        }
        Ok(unique.finish(self.keys.into_records()))
    }

    fn records(&self) -> &Records<'a> {
        self.keys.records()
    }

    /// Calls `visit` with blocks of the sorted records.
    fn visit(&self, visit: Visit<'_>) -> Result<()> {
        let (count, size) = (self.records().count(), self.records().size());
        if count == 0 || size == 0 {
            return Ok(());
        }
        let nbytes = count.saturating_mul(size);
        // Merging the parts of several threads takes half of the entries again.
        let record = self.record_memory().saturating_add(ENTRY / 2);
        if count.saturating_mul(record) > self.options.memory {
            let mut progress = Progress::new(nbytes.saturating_mul(2));
            let (file, runs) = self.write_runs(&mut progress)?;
            return self.merge(file, runs, &mut progress, visit);
        }
        let mut progress = Progress::new(nbytes);
        let (records, _) = self.records().read(&self.records().blocks(count), 0)?;
        let batch = Batch::sorted(&self.keys, records, size, threads::processors())?;
        let mut visit = |block: &[u8]| {
            progress.add(block.len());
            visit(block)
        };
        self.write(&mut visit, |blocks| batch.write(blocks))
    }

    /// The memory that a record takes, in bytes.
    fn record_memory(&self) -> usize {
        let rest = self.keys.len().saturating_sub(PREFIX);
        self.records().size().saturating_add(ENTRY).saturating_add(rest)
    }

    /// The size of a record in a file.
    fn stored_size(&self) -> usize {
        self.records().size() + if self.is_counted { COUNT } else { 0 }
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
            end += u64::try_from(block.len()).unwrap_or(0);
            Ok(())
        };
        self.write(&mut to_file, write)?;
        Ok(start..end)
    }

    /// Sorts as many records as fit into memory at a time, on several threads.
    fn write_runs(&self, progress: &mut Progress) -> Result<(RunFile, Vec<Run>)> {
        let room = self.options.memory / threads::processors().get() / self.record_memory();
        let parts = self.records().blocks(room.max(1));
        let file = RunFile::create(self.options.directory)?;
        let mut runs = Vec::new();
        parallel::in_order(
            parts.len(),
            |number| {
                let (records, first) = self.records().read(&parts, number)?;
                let (nbytes, size) = (records.len(), self.records().size());
                let batch = Batch::sorted(&self.keys, records, size, NonZero::<usize>::MIN)?;
                let [first, size] = [first, self.stored_size()].map(u64::try_from);
                let start = first.unwrap_or(u64::MAX).saturating_mul(size.unwrap_or(1));
                let run = self.write_run(&file, start, |blocks| batch.write(blocks))?;
                Ok::<_, npymap::Error>((run, nbytes))
            },
            |_, (run, nbytes)| {
                runs.push(run);
                progress.add(nbytes);
                Ok(())
            },
        )?;
        Ok((file, runs))
    }

    /// Merges runs until few enough are left, and calls `visit` with the result.
    fn merge(
        &self,
        mut file: RunFile,
        mut runs: Vec<Run>,
        progress: &mut Progress,
        visit: Visit<'_>,
    ) -> Result<()> {
        let (memory, size) = (self.options.memory, self.stored_size());
        let fan_in = (memory / BUFFER).clamp(FAN_IN.0, FAN_IN.1);
        while runs.len() > fan_in {
            let next = RunFile::create(self.options.directory)?;
            let mut merged = Vec::new();
            for runs in runs.chunks(fan_in) {
                let start = runs.first().map_or(0, |run| run.start);
                let runs = Runs { file: &file, size, runs };
                let buffer = memory / (fan_in + 1);
                merged.push(self.write_run(&next, start, |blocks| {
                    merge::merge(&self.keys, runs, buffer, blocks)
                })?);
            }
            (file, runs) = (next, merged);
        }
        let buffer = (memory / (runs.len() + 1)).min(MAX_BUFFER);
        let mut visit = |block: &[u8]| {
            progress.add(block.len());
            visit(block)
        };
        let runs = Runs { file: &file, size, runs: &runs };
        self.write(&mut visit, |blocks| merge::merge(&self.keys, runs, buffer, blocks))
    }
}
