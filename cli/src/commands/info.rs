//! `npymap info`: describes arrays.

use std::io::{self, Write};
use std::num::NonZero;
use std::process::ExitCode;

use clap::Args;

use crate::input::array_info::ArrayInfo;
use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::escape::{self, safe};
use crate::input::file_set;
use crate::input::input_args::InputArgs;
use crate::input::inspect::{FileEntry, Inspector};
use crate::input::messages;
use crate::input::parallel;
use crate::input::threads::ThreadArgs;
use crate::output::describe::{self, DescribedEntry};
use crate::output::json::JsonEntry;

/// Describe arrays: dtype, shape, order, size.
///
/// This reads headers only, so it is fast however large the files are. However,
/// --digest reads all elements.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap info embeddings.npy
  npymap info --json *.npy | jq .shape
  npymap info runs
  npymap info --header embeddings.npy
  npymap info --digest a.npy b.npy
  npymap info weights.npz 'weights.npz[layer1/w]'
  npymap info --raw '>f4' --shape -1,480,640 --offset 512 frames.raw
  npymap info --raw \"[('x', '<f4'), ('y', '<f4')]\" --json points.bin

Exit status: 0 if all arrays could be opened, 1 if one could not, 2 for a usage
error.")]
pub(crate) struct InfoArgs {
    /// .npy, .npz, .ten and tar files, FILE[MEMBER], directories or quoted
    /// patterns, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<ArrayPath>,

    /// Print a line of JSON for each array
    #[arg(long)]
    json: bool,

    /// Print the header's text as stored in the file, or the binary header of a
    /// .ten array as a Python dict
    #[arg(long, conflicts_with_all = ["json", "raw"])]
    header: bool,

    /// Print the SHA-256 of the elements in C order, with little-endian numbers
    /// and zeroed padding. Equal arrays have equal digests however they are
    /// stored, if equal numbers have equal bytes. This does not hold for long
    /// doubles
    #[arg(long, conflicts_with = "header")]
    digest: bool,

    #[command(flatten)]
    threads: ThreadArgs,

    #[command(flatten)]
    read: InputArgs,
}

impl InfoArgs {
    pub(crate) fn run(&self) -> io::Result<ExitCode> {
        let (files, unknown) = file_set::all_found(&self.files, file_set::files);
        let files = files.as_slice();
        let out = &mut anstream::stdout().lock();
        let failures = if self.read.file.is_raw() {
            self.print_raw(out, files)?
        } else if self.json {
            self.print_json(out, files)?
        } else if self.header {
            self.print_headers(out, files)?
        } else {
            self.print_text(out, files)?
        };
        out.flush()?;
        Ok(if failures + unknown == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Prints a line of JSON for each entry and returns how many cannot be
    /// opened.
    fn print_json(&self, out: &mut impl Write, files: &[ArrayPath]) -> io::Result<usize> {
        let mut failures = 0;
        self.for_each_entry(files, |path, entry| {
            escape::json_line(out, &JsonEntry::new(&path.path, &entry))?;
            failures += usize::from(ok_or_print(path, entry.content).is_none());
            Ok(())
        })?;
        Ok(failures)
    }

    /// Describes raw files, and returns how many cannot be opened.
    fn print_raw(&self, out: &mut impl Write, files: &[ArrayPath]) -> io::Result<usize> {
        let (mut failures, mut gap) = (0, "");
        let options = self.read.options();
        for path in files {
            let info = options
                .array(path)
                .and_then(|array| ArrayInfo::from_raw(&array, options.raw_order(), self.digest));
            if self.json {
                escape::json_line(out, &JsonEntry::raw(path.name(), &info))?;
            } else if let Ok(info) = &info {
                out.write_all(gap.as_bytes())?;
                gap = "\n";
                describe::print_raw_paragraph(out, path.name(), info)?;
            }
            failures += usize::from(ok_or_print(path, info).is_none());
        }
        Ok(failures)
    }

    fn print_headers(&self, out: &mut impl Write, files: &[ArrayPath]) -> io::Result<usize> {
        let mut failures = 0;
        for path in files {
            let texts = ok_or_print(path, self.inspector(NonZero::<usize>::MIN).header_texts(path));
            failures += usize::from(texts.is_none());
            if texts.as_ref().is_some_and(Vec::is_empty) {
                failures += 1;
                messages::print_error(&format!(
                    "{}: contains no array, so there is no header",
                    path.name().display()
                ));
            }
            for text in texts.into_iter().flatten() {
                match ok_or_print(path, text) {
                    Some(text) => writeln!(out, "{}", safe(text))?,
                    None => failures += 1,
                }
            }
        }
        Ok(failures)
    }

    /// Prints a paragraph for a single array, a table for several.
    fn print_text(&self, out: &mut impl Write, files: &[ArrayPath]) -> io::Result<usize> {
        let mut failures = 0;
        let mut rows = Vec::new();
        self.for_each_entry(files, |path, FileEntry { format, member, info, content }| {
            match ok_or_print(path, content) {
                Some(content) => {
                    let path = path.path.clone();
                    rows.push(DescribedEntry { path, format, member, info, content });
                }
                None => failures += 1,
            }
            Ok(())
        })?;
        match rows.as_slice() {
            [] if failures > 0 || files.is_empty() => {}
            [] => describe::print_empty(out, files)?,
            [row] if files.len() == 1 => describe::print_paragraph(out, row)?,
            rows => describe::print_table(out, rows)?,
        }
        Ok(failures)
    }

    /// Calls `visit` with the entries of all files, in order. With --digest,
    /// several are read at a time.
    fn for_each_entry(
        &self,
        files: &[ArrayPath],
        mut visit: impl FnMut(&ArrayPath, FileEntry) -> io::Result<()>,
    ) -> io::Result<()> {
        let threads = self.threads.count();
        if !self.digest || files.len() == 1 {
            let inspector = self.inspector(threads);
            let mut files = files.iter();
            return files.try_for_each(|path| {
                inspector.for_each_entry(path, &mut |entry| visit(path, entry))
            });
        }
        let inspector = self.inspector(NonZero::<usize>::MIN);
        let mut files = files.iter();
        parallel::pipeline(
            threads.get(),
            || Ok(files.next()),
            |path| {
                let mut entries = Vec::new();
                inspector.for_each_entry(path, &mut |entry| {
                    entries.push(entry);
                    Ok(())
                })?;
                Ok((path, entries))
            },
            |(path, entries)| entries.into_iter().try_for_each(|entry| visit(path, entry)),
        )
    }

    fn inspector(&self, threads: NonZero<usize>) -> Inspector {
        let inspector = Inspector::new(self.read.file.max_header_len);
        if self.digest { inspector.with_digests(threads) } else { inspector }
    }
}

/// Returns the value, or prints the error.
fn ok_or_print<T>(path: &ArrayPath, result: npymap::Result<T>) -> Option<T> {
    result
        .map_err(CliError::of_input(path.name()))
        .inspect_err(|error| messages::print_error(error))
        .ok()
}
