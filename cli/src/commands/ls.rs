//! `npymap ls`: lists arrays in files and directories.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::Style;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::escape::{self, safe};
use crate::input::file_set;
use crate::input::globs::NamePattern;
use crate::input::inspect::{EntryContent, FileEntry, Inspector, MemberName, Wanted};
use crate::input::messages;
use crate::input::natural_order;
use crate::input::style::DIRECTORY;
use crate::input::text;
use crate::input::url::shown;
use crate::input::walk::{self, Depth};
use crate::output::describe;
use crate::output::json;
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
    #[arg(long, value_enum, value_name = "name|size", conflicts_with = "json")]
    sort: Option<SortKey>,

    /// List only entries with a matching member name, file name or full name.
    /// Use * and ? to match any characters, including slashes
    #[arg(long = "match", value_name = "GLOB")]
    pattern: Option<NamePattern>,

    /// Print a line of JSON for each array
    #[arg(long)]
    json: bool,

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
    /// The style of the name.
    style: Style,
    /// The dtype, or what else it is, and the shape.
    cells: [String; 2],
    /// The bytes of its elements, unless it has none; `usize::MAX` for more, which sparse files
    /// may have together.
    nbytes: Option<usize>,
    is_array: bool,
}

/// Prints the list: JSON at once, and lines at the end.
struct Lister<'a> {
    args: &'a LsArgs,
    out: &'a mut dyn Write,
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
        let (rows, files) = (Vec::new(), BTreeSet::new());
        let mut lister = Lister { args: self, out, rows, arrays: 0, files, nbytes: 0, failures };
        for path in &paths {
            if path.member.is_none() && path.path.is_dir() {
                lister.list_directory(&path.path)?;
            } else {
                lister.list_file(path)?;
            }
        }
        if !self.json {
            lister.print()?;
        }
        lister.out.flush()?;
        Ok(if lister.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Lister<'_> {
    fn list_directory(&mut self, directory: &Path) -> io::Result<()> {
        let depth = if self.args.recursive { Depth::All } else { Depth::One };
        let listing = match walk::list(directory, depth) {
            Ok(listing) => listing,
            Err(error) => return self.print_unlisted(directory, error),
        };
        for (inner, error) in listing.unreadable {
            self.print_unlisted(&join(directory, &inner), error)?;
        }
        for inner in listing.directories {
            self.add_directory(&join(directory, &inner))?;
        }
        for file in listing.files {
            let file = ArrayPath::from_file(&join(directory, &file));
            if self.args.recursive {
                self.list_file(&file)?;
            } else {
                self.list_whole(&file)?;
            }
        }
        Ok(())
    }

    /// Reports a directory that cannot be listed.
    fn print_unlisted(&mut self, directory: &Path, error: io::Error) -> io::Result<()> {
        let error = CliError::io(directory, "list")(error);
        messages::print_error(&error);
        self.failures += 1;
        if !self.args.json {
            return Ok(());
        }
        let path = directory.to_string_lossy();
        let line = json!({ "path": path, "member": null, "error": error.to_string() });
        escape::json_line(&mut self.out, &line)
    }

    fn add_directory(&mut self, path: &Path) -> io::Result<()> {
        if !self.args.is_selected(path, None) {
            return Ok(());
        }
        if self.args.json {
            let line = json!({ "path": path.to_string_lossy(), "directory": true });
            return escape::json_line(&mut self.out, &line);
        }
        let name = format!("{}{}", path.display(), std::path::MAIN_SEPARATOR);
        self.rows.push(LsRow { style: DIRECTORY, ..LsRow::other(name, "directory") });
        Ok(())
    }

    /// Lists each array of a file.
    fn list_file(&mut self, file: &ArrayPath) -> io::Result<()> {
        let args = self.args;
        Inspector(Wanted::Facts).for_each_entry(file, &mut |entry| {
            let is_selected = args.is_selected(&file.path, entry.member.as_ref());
            if !is_selected && !may_have_members(&file.path, &entry) {
                return Ok(());
            }
            if is_selected && args.json {
                escape::json_line(&mut self.out, &json::line(&file.path, &entry))?;
            }
            let Some(row) = self.row(&file.path, entry) else { return Ok(()) };
            if is_selected {
                self.count(&file.path, &row);
                self.rows.extend((!args.json).then_some(row));
            }
            Ok(())
        })
    }

    /// Lists a file on one line.
    fn list_whole(&mut self, file: &ArrayPath) -> io::Result<()> {
        if !self.args.is_selected(&file.path, None) {
            return Ok(());
        }
        let entries = Inspector(Wanted::Facts).entries(file)?;
        if let [FileEntry { member: None, .. }] = entries.as_slice() {
            return self.list_file(file);
        }
        let (mut arrays, mut nbytes) = (0, 0);
        for entry in entries {
            if let Some(row) = self.row(&file.path, entry).filter(|row| row.is_array) {
                self.count(&file.path, &row);
                arrays += 1;
                nbytes = total(nbytes, &row);
            }
        }
        let name = shown(&file.path);
        if self.args.json {
            let line = json!({ "path": name, "arrays": arrays, "nbytes": nbytes });
            return escape::json_line(&mut self.out, &line);
        }
        let row = LsRow::other(name, &text::plural(arrays, "array"));
        self.rows.push(LsRow { nbytes: Some(nbytes), ..row });
        Ok(())
    }

    fn print(&mut self) -> io::Result<()> {
        match self.args.sort {
            Some(SortKey::Name) => {
                self.rows.sort_by(|a, b| natural_order::by_number(&a.name, &b.name));
            }
            Some(SortKey::Size) => self.rows.sort_by_key(|row| std::cmp::Reverse(row.nbytes)),
            None => {}
        }
        let mut columns = [
            Column::paths("name"),
            Column::text("dtype"),
            Column::text("shape"),
            Column::numbers("size"),
        ];
        for row in &self.rows {
            let [name, dtype, shape, size] = &mut columns;
            name.push_styled(safe(&row.name), row.style);
            dtype.push(&row.cells[0]);
            shape.push(&row.cells[1]);
            size.push(row.nbytes.map_or_else(String::new, text::size));
        }
        if !self.rows.is_empty() {
            table::print_fitted(&mut self.out, &mut columns)?;
        }
        let arrays = text::plural(self.arrays, "array");
        let files = text::plural(self.files.len(), "file");
        writeln!(self.out, "{arrays} in {files}, {}", text::size(self.nbytes))
    }

    /// The line of an entry. Prints an error if it cannot be opened.
    fn row(&mut self, path: &Path, entry: FileEntry) -> Option<LsRow> {
        let name = full_name(path, entry.member.as_ref());
        match entry.content {
            Ok(EntryContent::Array(array)) => {
                let layout = &array.layout;
                let cells = [describe::abbreviated(layout.dtype()), text::shape(layout.shape())];
                let (style, nbytes) = (Style::new(), Some(layout.nbytes()));
                Some(LsRow { name, style, cells, nbytes, is_array: true })
            }
            Ok(_) => Some(LsRow::other(name, "not an array")),
            Err(error) => {
                messages::print_error(&CliError::of_input(path)(error));
                self.failures += 1;
                None
            }
        }
    }

    /// Adds an array to the totals.
    fn count(&mut self, path: &Path, row: &LsRow) {
        if row.is_array {
            self.arrays += 1;
            self.nbytes = total(self.nbytes, row);
            self.files.insert(path.to_owned());
        }
    }
}

impl LsArgs {
    /// Returns whether a name matches the pattern.
    fn is_selected(&self, path: &Path, member: Option<&MemberName>) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        let member_name = member.map(MemberName::text);
        pattern.matches(&full_name(path, member))
            || member_name.is_some_and(|name| pattern.matches(&name))
            || (member.is_none()
                && path.file_name().is_some_and(|name| pattern.matches(&name.to_string_lossy())))
    }
}

impl LsRow {
    /// What is no array, or is not searched.
    fn other(name: String, what: &str) -> LsRow {
        let cells = [what.to_owned(), String::new()];
        LsRow { name, style: Style::new(), cells, nbytes: None, is_array: false }
    }
}

/// A sum of sizes, with those of a line.
fn total(nbytes: usize, row: &LsRow) -> usize {
    row.nbytes.map_or(nbytes, |own| nbytes.saturating_add(own))
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
