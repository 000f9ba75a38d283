//! `npymap info`: describes arrays.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use npymap::{Result, npy::MAX_HEADER_LEN};

use crate::array_path::ArrayPath;
use crate::describe::{self, DescribedEntry};
use crate::escape::{self, safe};
use crate::inspect::{FileEntry, Inspector};
use crate::json::JsonEntry;
use crate::text;

/// Describes arrays: dtype, shape, order, size.
///
/// Reads headers only, so it is fast however large the files are; with --digest
/// it reads all elements.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap info embeddings.npy
  npymap info --json *.npy | jq .shape
  npymap info --header embeddings.npy
  npymap info --digest a.npy b.npy
  npymap info weights.npz 'weights.npz[layer1/w]'

Exit status: 0 if all arrays could be opened, 1 if one could not, 2 for a usage
error.")]
pub(crate) struct InfoArgs {
    /// .npy, .npz, .ten and tar files, or members of them: FILE[MEMBER]
    #[arg(required = true, value_name = "FILE")]
    files: Vec<ArrayPath>,

    /// Print a line of JSON for each array
    #[arg(long)]
    json: bool,

    /// Print the header's text as stored in the file; the binary header of a
    /// .ten array is shown as a Python dict
    #[arg(long, conflicts_with = "json")]
    header: bool,

    /// Print the SHA-256 of the elements in C order, with little-endian numbers
    /// and zeroed padding: equal arrays have equal digests however they are
    /// stored
    #[arg(long, conflicts_with = "header")]
    digest: bool,

    /// Maximum header length, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,
}

impl InfoArgs {
    pub(crate) fn run(&self) -> io::Result<ExitCode> {
        let out = &mut anstream::stdout().lock();
        let failures = if self.json {
            self.json(out)?
        } else if self.header {
            self.header_texts(out)?
        } else {
            self.words(out)?
        };
        out.flush()?;
        Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Prints a line for each array and returns how many can't be opened.
    fn json(&self, out: &mut impl Write) -> io::Result<usize> {
        let mut failures = 0;
        for place in &self.files {
            self.asked().each(place, &mut |item| {
                escape::json_line(out, &JsonEntry::new(&place.path, &item))?;
                failures += usize::from(told(item.what).is_none());
                io::Result::Ok(())
            })?;
        }
        Ok(failures)
    }

    fn header_texts(&self, out: &mut impl Write) -> io::Result<usize> {
        let mut failures = 0;
        for place in &self.files {
            let texts = told(self.asked().header_texts(place));
            failures += usize::from(texts.is_none());
            if texts.as_ref().is_some_and(Vec::is_empty) {
                failures += 1;
                text::error(&format!("{}: contains no array, so there is no header", place.name().display()));
            }
            for text in texts.into_iter().flatten() {
                match told(text) {
                    Some(text) => writeln!(out, "{}", safe(text))?,
                    None => failures += 1,
                }
            }
        }
        Ok(failures)
    }

    /// Prints a paragraph for one array, a table for several.
    fn words(&self, out: &mut impl Write) -> io::Result<usize> {
        let mut failures = 0;
        let mut rows = Vec::new();
        for place in &self.files {
            self.asked().each(place, &mut |FileEntry { format, member, info, what }| {
                match told(what) {
                    Some(what) => {
                        rows.push(DescribedEntry {
                            path: place.path.clone(),
                            format,
                            member,
                            info,
                            what,
                        });
                    }
                    None => failures += 1,
                }
                io::Result::Ok(())
            })?;
        }
        match rows.as_slice() {
            [] if failures > 0 => {}
            [] => describe::empty(out, &self.files)?,
            [row] if self.files.len() == 1 => describe::paragraph(out, row)?,
            rows => describe::table(out, rows)?,
        }
        Ok(failures)
    }

    fn asked(&self) -> Inspector {
        Inspector { max_header_len: self.max_header_len, digest: self.digest }
    }
}

/// Takes the value, or says on standard error why there is none.
fn told<T>(result: Result<T>) -> Option<T> {
    result.inspect_err(|error| text::error(error)).ok()
}
