//! `npymap info`: describes arrays.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::escape::{self, safe};
use crate::input::file_set;
use crate::input::input_args::InputArgs;
use crate::input::inspect::{ArrayInfo, EntryContent, FileEntry, Inspector, Wanted};
use crate::input::messages;
use crate::input::{parallel, threads};
use crate::output::describe;
use crate::output::json;

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
    read: InputArgs,
}

impl InfoArgs {
    pub(crate) fn run(&self) -> io::Result<ExitCode> {
        let (files, unknown) = file_set::all_found(&self.files, file_set::files);
        let files = files.as_slice();
        let out = &mut anstream::stdout().lock();
        let failures = if self.json {
            self.print_json(out, files)?
        } else if self.header {
            InfoArgs::print_headers(out, files)?
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
            escape::json_line(out, &json::line(self.shown(path), &entry))?;
            failures += usize::from(ok_or_print(path, entry.content).is_none());
            Ok(())
        })?;
        Ok(failures)
    }

    fn print_headers(out: &mut impl Write, files: &[ArrayPath]) -> io::Result<usize> {
        let mut failures = 0;
        for path in files {
            let mut count = 0;
            Inspector(Wanted::HeaderText).for_each_entry(path, &mut |entry| {
                match ok_or_print(path, entry.content) {
                    Some(EntryContent::Header(text)) => writeln!(out, "{}", safe(text))?,
                    Some(_) => return Ok(()),
                    None => failures += 1,
                }
                count += 1;
                Ok(())
            })?;
            if count == 0 {
                failures += 1;
                messages::print_error(&format!(
                    "{}: contains no array, so there is no header",
                    path.name().display()
                ));
            }
        }
        Ok(failures)
    }

    /// Prints a paragraph for a single array and for raw files, a table for several.
    fn print_text(&self, out: &mut impl Write, files: &[ArrayPath]) -> io::Result<usize> {
        let mut failures = 0;
        let mut rows = Vec::new();
        self.for_each_entry(files, |path, entry| {
            match ok_or_print(path, entry.content) {
                Some(content) => {
                    let entry = FileEntry { content: Ok(content), ..entry };
                    rows.push((self.shown(path).to_owned(), entry));
                }
                None => failures += 1,
            }
            Ok(())
        })?;
        match rows.as_slice() {
            [] if failures > 0 || files.is_empty() => {}
            [] => describe::print_empty(out, files)?,
            rows if self.read.file.is_raw() || files.len() == 1 && rows.len() == 1 => {
                for (number, row) in rows.iter().enumerate() {
                    out.write_all(if number > 0 { b"\n" } else { b"" })?;
                    describe::print_paragraph(out, row)?;
                }
            }
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
        let mut files = files.iter();
        let wanted = if self.digest { Wanted::Digests(threads::count()) } else { Wanted::Facts };
        let inspector = Inspector(wanted);
        if self.read.file.is_raw() {
            let options = self.read.options();
            return files.try_for_each(|file| {
                let content = options.array(file).and_then(|array| {
                    let (layout, offset) = (array.layout().clone(), array.data_offset());
                    inspector.array(ArrayInfo::new(layout, options.order, offset), || Ok(array))
                });
                visit(file, FileEntry { format: "raw", member: None, info: None, content })
            });
        }
        if !self.digest || files.len() == 1 {
            return files.try_for_each(|path| {
                inspector.for_each_entry(path, &mut |entry| visit(path, entry))
            });
        }
        let inspector = Inspector(Wanted::Digests(1));
        parallel::in_order(
            files,
            |path| Ok((path, inspector.entries(path)?)),
            |(path, entries)| entries.into_iter().try_for_each(|entry| visit(path, entry)),
        )
    }

    /// The path of a file in the output, in which brackets of a raw file have no meaning.
    fn shown<'a>(&self, file: &'a ArrayPath) -> &'a Path {
        if self.read.file.is_raw() { file.name() } else { &file.path }
    }
}

/// Returns the value, or prints the error.
fn ok_or_print<T>(path: &ArrayPath, result: npymap::Result<T>) -> Option<T> {
    result
        .map_err(CliError::of_input(path.name()))
        .inspect_err(|error| messages::print_error(error))
        .ok()
}
