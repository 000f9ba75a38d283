//! `npymap ls`: lists arrays in files and directories.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use npymap::npy::MAX_HEADER_LEN;
use serde_json::json;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::escape::{self, safe};
use crate::input::file_set;
use crate::input::globs::NamePattern;
use crate::input::inspect::{EntryContent, FileEntry, Inspector, MemberName};
use crate::input::messages;
use crate::input::natural_order;
use crate::input::style::DIRECTORY;
use crate::input::text;
use crate::input::url::shown;
use crate::input::walk::{self, Depth};
use crate::output::describe;
use crate::output::json::JsonEntry;
use crate::output::table::{self, Column};

/// List arrays with dtype, shape and size, and the totals.
///
/// This lists a line per .npy file, archive and directory in a directory, or
/// with -r a line per array in all of them. For an archive, it lists a line per
/// member. It reads headers only.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap ls
  npymap ls -r runs --sort size
  npymap ls weights.npz
  npymap ls 'weights.npz[layers.*]'
  npymap ls -r --match '*bias*' runs weights.npz
  npymap ls --json -r runs

JSON has the lines of `info --json`, and lines for directories and archives that
this does not search.

Exit status: 0 if everything could be listed, 1 if something could not, 2 for a
usage error.")]
pub(crate) struct LsArgs {
    /// Also list the members of archives in directories, and the contents of
    /// subdirectories
    #[arg(short, long)]
    recursive: bool,

    /// Order of the list: by name, or the largest first [default: as given, and
    /// directories by name]
    #[arg(
        long,
        value_name = "name|size",
        value_enum,
        hide_possible_values = true,
        conflicts_with = "json"
    )]
    sort: Option<SortKey>,

    /// List only entries with a matching member name, file name or full name.
    /// Use * and ? to match any characters, including slashes
    #[arg(long = "match", value_name = "GLOB")]
    pattern: Option<NamePattern>,

    /// Print a line of JSON for each array
    #[arg(long)]
    json: bool,

    /// Maximum header length, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// Directories, files, quoted patterns, or members: FILE[MEMBER], where
    /// MEMBER may be a pattern
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<ArrayPath>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SortKey {
    Name,
    Size,
}

/// A line of the list.
struct LsRow {
    /// The name, which can be used as an argument.
    name: String,
    content: RowContent,
    /// The bytes of its elements.
    nbytes: usize,
}

enum RowContent {
    Array {
        dtype: String,
        shape: String,
    },
    /// An archive that is not searched, with the number of its arrays.
    Archive(usize),
    /// A directory that is not searched.
    Directory,
    /// A member that is not an array.
    Other,
}

/// The results so far.
#[derive(Default)]
struct LsResult {
    rows: Vec<LsRow>,
    arrays: usize,
    files: BTreeSet<PathBuf>,
    nbytes: usize,
    failures: usize,
}

impl LsArgs {
    pub(crate) fn run(&self) -> io::Result<ExitCode> {
        let out = &mut io::BufWriter::new(anstream::stdout().lock());
        let (paths, failures) = file_set::all_found(&self.paths, file_set::matched);
        let mut found = LsResult { failures, ..LsResult::default() };
        for path in &paths {
            if path.member.is_none() && path.path.is_dir() {
                self.list_directory(out, &mut found, &path.path)?;
            } else {
                self.list_file(out, &mut found, path)?;
            }
        }
        if !self.json {
            self.print(out, &mut found)?;
        }
        out.flush()?;
        Ok(if found.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn list_directory(
        &self,
        out: &mut impl Write,
        found: &mut LsResult,
        directory: &Path,
    ) -> io::Result<()> {
        let depth = if self.recursive { Depth::All } else { Depth::One };
        let listing = match walk::list(directory, depth) {
            Ok(listing) => listing,
            Err(error) => return self.print_unlisted(out, found, directory, error),
        };
        for (inner, error) in listing.unreadable {
            self.print_unlisted(out, found, &join(directory, &inner), error)?;
        }
        for inner in listing.directories {
            self.add_directory(out, found, &join(directory, &inner))?;
        }
        for file in listing.files {
            let file = ArrayPath::from_file(&join(directory, &file));
            if self.recursive {
                self.list_file(out, found, &file)?;
            } else {
                self.list_whole(out, found, &file)?;
            }
        }
        Ok(())
    }

    /// Reports a directory that cannot be listed.
    fn print_unlisted(
        &self,
        out: &mut impl Write,
        found: &mut LsResult,
        directory: &Path,
        error: io::Error,
    ) -> io::Result<()> {
        let error = CliError::io(directory, "list")(error);
        messages::print_error(&error);
        found.failures += 1;
        if !self.json {
            return Ok(());
        }
        let path = directory.to_string_lossy();
        escape::json_line(out, &json!({ "path": path, "member": null, "error": error.to_string() }))
    }

    fn add_directory(
        &self,
        out: &mut impl Write,
        found: &mut LsResult,
        path: &Path,
    ) -> io::Result<()> {
        if !self.is_selected(path, None) {
            return Ok(());
        }
        if self.json {
            return escape::json_line(
                out,
                &json!({ "path": path.to_string_lossy(), "directory": true }),
            );
        }
        let name = format!("{}{}", path.display(), std::path::MAIN_SEPARATOR);
        found.rows.push(LsRow { name, content: RowContent::Directory, nbytes: 0 });
        Ok(())
    }

    /// Lists each array of a file.
    fn list_file(
        &self,
        out: &mut impl Write,
        found: &mut LsResult,
        file: &ArrayPath,
    ) -> io::Result<()> {
        self.inspector().for_each_entry(file, &mut |entry| {
            let is_selected = self.is_selected(&file.path, entry.member.as_ref());
            if !is_selected && !may_have_members(&file.path, &entry) {
                return Ok(());
            }
            if is_selected && self.json {
                escape::json_line(out, &JsonEntry::new(&file.path, &entry))?;
            }
            let Some(row) = found.row(&file.path, entry) else { return Ok(()) };
            if is_selected {
                found.count(&file.path, &row);
                found.rows.extend((!self.json).then_some(row));
            }
            Ok(())
        })
    }

    /// Lists a file on one line.
    fn list_whole(
        &self,
        out: &mut impl Write,
        found: &mut LsResult,
        file: &ArrayPath,
    ) -> io::Result<()> {
        if !self.is_selected(&file.path, None) {
            return Ok(());
        }
        let mut entries = Vec::new();
        self.inspector().for_each_entry(file, &mut |entry| {
            entries.push(entry);
            Ok(())
        })?;
        if let [FileEntry { member: None, .. }] = entries.as_slice() {
            return self.list_file(out, found, file);
        }
        let rows = entries.into_iter().filter_map(|entry| found.row(&file.path, entry));
        let rows: Vec<_> = rows.filter(LsRow::is_array).collect();
        for row in &rows {
            found.count(&file.path, row);
        }
        let nbytes = rows.iter().map(|row| row.nbytes).fold(0, usize::saturating_add);
        if self.json {
            let path = shown(&file.path);
            let line = json!({ "path": path, "arrays": rows.len(), "nbytes": nbytes });
            return escape::json_line(out, &line);
        }
        let (name, content) = (shown(&file.path), RowContent::Archive(rows.len()));
        found.rows.push(LsRow { name, content, nbytes });
        Ok(())
    }

    /// Returns whether a name matches the pattern.
    fn is_selected(&self, path: &Path, member: Option<&MemberName>) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        let file = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let member_name = member.map(MemberName::text);
        pattern.matches(&full_name(path, member))
            || member_name.is_some_and(|name| pattern.matches(&name))
            || (member.is_none() && pattern.matches(&file))
    }

    fn print(&self, out: &mut impl Write, found: &mut LsResult) -> io::Result<()> {
        match self.sort {
            Some(SortKey::Name) => {
                found.rows.sort_by(|a, b| natural_order::by_number(&a.name, &b.name));
            }
            Some(SortKey::Size) => found.rows.sort_by_key(|row| std::cmp::Reverse(row.nbytes)),
            None => {}
        }
        let mut columns = [
            Column::paths("name"),
            Column::text("dtype"),
            Column::text("shape"),
            Column::numbers("size"),
        ];
        found.rows.iter().for_each(|row| row.push_to(&mut columns));
        if let Some(width) = table::terminal_width() {
            table::fit(&mut columns, width);
        }
        if !found.rows.is_empty() {
            table::print(out, &columns)?;
        }
        let arrays = text::plural(found.arrays, "array");
        let files = text::plural(found.files.len(), "file");
        writeln!(out, "{arrays} in {files}, {}", text::size(found.nbytes))
    }

    fn inspector(&self) -> Inspector {
        Inspector::new(self.max_header_len)
    }
}

impl LsResult {
    /// The line of an entry. Prints an error if it cannot be opened.
    fn row(&mut self, path: &Path, entry: FileEntry) -> Option<LsRow> {
        let name = full_name(path, entry.member.as_ref());
        match entry.content {
            Ok(EntryContent::Array(array)) => {
                let layout = &array.layout;
                let (dtype, shape) =
                    (describe::abbreviated(layout.dtype()), text::shape(layout.shape()));
                let content = RowContent::Array { dtype, shape };
                Some(LsRow { name, content, nbytes: layout.nbytes() })
            }
            Ok(EntryContent::Other) => Some(LsRow { name, content: RowContent::Other, nbytes: 0 }),
            Err(error) => {
                let input = ArrayPath::from_file(path);
                messages::print_error(&CliError::of_input(input.name())(error));
                self.failures += 1;
                None
            }
        }
    }

    /// Adds an array to the totals.
    fn count(&mut self, path: &Path, row: &LsRow) {
        if row.is_array() {
            self.arrays += 1;
            self.nbytes = self.nbytes.saturating_add(row.nbytes);
            if !self.files.contains(path) {
                self.files.insert(path.to_owned());
            }
        }
    }
}

impl LsRow {
    fn is_array(&self) -> bool {
        matches!(self.content, RowContent::Array { .. })
    }

    fn push_to(&self, columns: &mut [Column; 4]) {
        let (dtype, shape) = match &self.content {
            RowContent::Array { dtype, shape } => (dtype.clone(), shape.clone()),
            RowContent::Archive(arrays) => (text::plural(*arrays, "array"), String::new()),
            RowContent::Directory => ("directory".to_owned(), String::new()),
            RowContent::Other => ("not an array".to_owned(), String::new()),
        };
        let has_size = matches!(self.content, RowContent::Array { .. } | RowContent::Archive(_));
        let size = if has_size { text::size(self.nbytes) } else { String::new() };
        let is_directory = matches!(self.content, RowContent::Directory);
        let style = if is_directory { DIRECTORY } else { anstyle::Style::new() };
        let [name, ..] = columns;
        name.push_styled(safe(&self.name), style);
        for (column, cell) in columns.iter_mut().skip(1).zip([dtype, shape, size]) {
            column.push(cell);
        }
    }
}

/// `weights.npz[layer1/w]`
fn full_name(path: &Path, member: Option<&MemberName>) -> String {
    match member {
        Some(member) => format!("{}[{}]", shown(path), member.text()),
        None => shown(path),
    }
}

/// The path of a file in a directory; without that of the current one.
fn join(directory: &Path, inner: &Path) -> PathBuf {
    if directory == Path::new(".") { inner.to_owned() } else { directory.join(inner) }
}

/// Returns whether an entry is an error about a file that may have several arrays, whose
/// names are not known.
fn may_have_members(path: &Path, entry: &FileEntry) -> bool {
    let is_array = path.extension().is_some_and(|extension| extension == "npy");
    entry.member.is_none() && entry.content.is_err() && !is_array
}
