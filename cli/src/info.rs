//! `npymap info`: what arrays are, without reading their elements unless asked
//! for their digest.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use npymap::{MAX_HEADER_LEN, OpenOptions, Result};

use crate::found::Found;
use crate::{digest, json, open, words};

/// Tells what arrays are: dtype, shape, order, size.
///
/// Reads headers only, so it takes no time whatever the size of the files;
/// with --digest it reads all elements.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap info embeddings.npy
  npymap info --json *.npy | jq .shape
  npymap info --header embeddings.npy
  npymap info --digest a.npy b.npy

Exit status: 0 when all files could be opened, 1 when one could not, 2 for
wrong usage.")]
pub(crate) struct Info {
    /// .npy files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print a JSON object a line for each array
    #[arg(long)]
    json: bool,

    /// Print the header's text as it stands in the file
    #[arg(long, conflicts_with = "json")]
    header: bool,

    /// Tell the SHA-256 of the elements in C order, numbers little-endian and
    /// padding zero: the same for equal arrays however they are stored
    #[arg(long, conflicts_with = "header")]
    digest: bool,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,
}

impl Info {
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

    /// Prints a line for each file and returns how many can't be opened.
    fn json(&self, out: &mut impl Write) -> io::Result<usize> {
        let mut failures = 0;
        for path in &self.files {
            let found = self.find(path);
            let line = serde_json::to_string(&json::Line::npy(path, &found))?;
            writeln!(out, "{line}")?;
            failures += usize::from(told(found).is_none());
        }
        Ok(failures)
    }

    fn header_texts(&self, out: &mut impl Write) -> io::Result<usize> {
        let mut failures = 0;
        for path in &self.files {
            match told(self.options().header_text(path)) {
                Some(text) => writeln!(out, "{}", text.as_str().trim_end())?,
                None => failures += 1,
            }
        }
        Ok(failures)
    }

    /// Prints a paragraph for one file, a table for several.
    fn words(&self, out: &mut impl Write) -> io::Result<usize> {
        let found = self.files.iter().map(|path| (path.as_path(), told(self.find(path))));
        let arrays: Vec<_> = found.filter_map(|(path, array)| Some((path, array?))).collect();
        match (self.files.as_slice(), arrays.as_slice()) {
            (_, []) => {}
            ([_], [(path, array)]) => words::paragraph(out, path, array)?,
            _ => words::table(out, &arrays)?,
        }
        Ok(self.files.len() - arrays.len())
    }

    fn find(&self, path: &Path) -> Result<Found> {
        let header = self.options().header(path)?;
        let layout = header.layout()?;
        let digest = if self.digest { Some(self.digest(path)?) } else { None };
        Ok(Found { header, layout, digest })
    }

    fn digest(&self, path: &Path) -> Result<String> {
        Ok(digest::sha256(open::read(path, &self.options())?))
    }

    fn options(&self) -> OpenOptions {
        let mut options = OpenOptions::new();
        options.max_header_len(self.max_header_len);
        options
    }
}

/// Takes the value, or says on standard error why there is none.
fn told<T>(result: Result<T>) -> Option<T> {
    result.inspect_err(|error| words::error(error)).ok()
}
