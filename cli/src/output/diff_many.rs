//! Comparing the arrays of two archives or directories, by their names.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anstyle::Style;
use serde_json::json;

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::escape::{self, safe};
use crate::input::file_set::FileSet;
use crate::input::inputs::Input;
use crate::input::messages;
use crate::input::natural_order::by_name;
use crate::input::style::{ADDED, CHANGED, REMOVED};
use crate::input::url::shown;
use crate::input::walk::Listing;
use crate::output::diff_one::{self, DiffReport};
use crate::output::diff_options::{DiffOptions, DiffResult};
use crate::output::table::{self, Column};
use crate::output::terminal;

const NO_MATCH: &str =
    "no array of the two matches --match: list the names of one with `npymap ls`";

/// Compares two directories, or the files that match two patterns, file by file.
pub(crate) fn directories(
    args: &DiffOptions,
    roots: [&ArrayPath; 2],
    sets: [FileSet; 2],
    out: &mut dyn Write,
) -> Result<DiffResult, CliError> {
    let mut table = DiffTable::new(args, roots, out);
    let [(first_root, a), (second_root, b)] = sets.map(|set| (set.root, set.listing));
    let (a, b) = (files(&mut table, &first_root, a)?, files(&mut table, &second_root, b)?);
    let mut names: Vec<_> = a.union(&b).collect();
    names.sort_by(|a, b| by_name(a, b));
    for name in names {
        let [first, second] = [&first_root, &second_root].map(|root| root.join(name));
        let text = name.display().to_string();
        let compared = match (a.contains(name), b.contains(name)) {
            (true, true) if table.may_select(name) => table.compare_files(name, &first, &second),
            (true, false) if table.matches(&text) => table.add_only(&text, Side::A),
            (false, true) if table.matches(&text) => table.add_only(&text, Side::B),
            _ => Ok(()),
        };
        table.continue_after(compared)?;
    }
    table.finish()
}

/// The files with arrays in a directory.
fn files(
    table: &mut DiffTable<'_>,
    root: &Path,
    listing: Listing,
) -> Result<BTreeSet<PathBuf>, CliError> {
    for (inner, error) in listing.unreadable {
        table.continue_after(Err(CliError::io(&root.join(inner), "list")(error)))?;
    }
    Ok(listing.files.into_iter().collect())
}

/// Compares two archives member by member.
pub(crate) fn archives(
    args: &DiffOptions,
    roots: [&ArrayPath; 2],
    out: &mut impl Write,
    a: &[Input<'_>],
    b: &[Input<'_>],
) -> Result<DiffResult, CliError> {
    let mut table = DiffTable::new(args, roots, out);
    table.compare_members(None, a, b)?;
    table.finish()
}

/// Which of the two has an array.
#[derive(Clone, Copy, Debug)]
enum Side {
    A,
    B,
}

/// The results so far. Rows are printed at the end, JSON at once.
struct DiffTable<'a> {
    args: &'a DiffOptions,
    /// The two that are compared.
    roots: [&'a ArrayPath; 2],
    out: &'a mut dyn Write,
    rows: Vec<DiffRow>,
    equal: usize,
    different: usize,
    only: [usize; 2],
    result: DiffResult,
}

/// A line of the table.
struct DiffRow {
    /// The name, the status, the elements, how many differ, the largest and the mean absolute
    /// difference, and the rms.
    cells: [String; 7],
    /// The style of the status.
    style: Style,
}

impl<'a> DiffTable<'a> {
    fn new(
        args: &'a DiffOptions,
        roots: [&'a ArrayPath; 2],
        out: &'a mut dyn Write,
    ) -> DiffTable<'a> {
        let (rows, only, result) = (Vec::new(), [0, 0], DiffResult::Equal);
        DiffTable { args, roots, out, rows, equal: 0, different: 0, only, result }
    }

    /// Compares two files of the same name.
    fn compare_files(&mut self, name: &Path, a: &Path, b: &Path) -> Result<(), CliError> {
        let [a, b] = [a, b].map(ArrayPath::from_file);
        let (a, b) = (self.args.open_file(&a)?, self.args.open_file(&b)?);
        self.compare_members(Some(&name.display().to_string()), &a.arrays()?, &b.arrays()?)
    }

    /// Compares the members of two archives, or the arrays of two `.npy`.
    fn compare_members(
        &mut self,
        file: Option<&str>,
        a: &[Input<'_>],
        b: &[Input<'_>],
    ) -> Result<(), CliError> {
        let others: HashMap<_, _> = b.iter().map(|input| (&input.name, input)).collect();
        let names: BTreeSet<_> = a.iter().map(|input| &input.name).collect();
        let of_a = a.iter().map(|input| (input, others.get(&input.name), Side::A));
        let only_b = b.iter().filter(|input| !names.contains(&input.name));
        for (input, other, side) in of_a.chain(only_b.map(|input| (input, None, Side::B))) {
            let name = full_name(file, input);
            if !self.is_selected(&name, input) {
                continue;
            }
            let compared = match other {
                Some(other) => self.compare(&name, input, other),
                // A damaged one is an error.
                None => (input.open)().at(&input.path).and_then(|_| self.add_only(&name, side)),
            };
            self.continue_after(compared)?;
        }
        Ok(())
    }

    /// Returns whether the pattern can match an array of a file: of one that is a single
    /// array, its name decides.
    fn may_select(&self, file: &Path) -> bool {
        let is_array = file.extension().is_some_and(|extension| extension == "npy");
        !is_array || self.matches(&file.display().to_string())
    }

    fn is_selected(&self, name: &str, input: &Input<'_>) -> bool {
        self.matches(name) || self.matches(&input.name)
    }

    fn matches(&self, name: &str) -> bool {
        self.args.pattern.as_ref().is_none_or(|pattern| pattern.matches(name))
    }

    /// Prints an error about an array and goes on with the next one.
    fn continue_after(&mut self, compared: Result<(), CliError>) -> Result<(), CliError> {
        if messages::ok_or_print(compared)?.is_none() {
            self.result = DiffResult::Trouble;
        }
        Ok(())
    }

    fn compare(&mut self, name: &str, a: &Input<'_>, b: &Input<'_>) -> Result<(), CliError> {
        let (report, paths) = self.args.compare_inputs(a, b)?;
        if report.is_equal {
            self.equal += 1;
            if self.args.only_changed {
                return Ok(());
            }
        } else {
            self.different += 1;
            self.result = self.result.max(DiffResult::Different);
        }
        if self.args.json {
            return Ok(diff_one::print_json(&mut self.out, &paths, Some(name), &report)?);
        }
        self.rows.push(DiffRow::new(name, &report));
        Ok(())
    }

    /// Adds an array, or a file, that only one of the two has.
    fn add_only(&mut self, name: &str, side: Side) -> Result<(), CliError> {
        let [in_a, in_b] = &mut self.only;
        let (count, which, style) = match side {
            Side::A => (in_a, "a", REMOVED),
            Side::B => (in_b, "b", ADDED),
        };
        *count += 1;
        self.result = self.result.max(DiffResult::Different);
        if self.args.json {
            let line = json!({ "name": name, "equal": false, "only": which });
            return Ok(escape::json_line(&mut self.out, &line)?);
        }
        let mut cells = [const { String::new() }; 7];
        (cells[0], cells[1]) = (safe(name), format!("only in {which}"));
        self.rows.push(DiffRow { cells, style });
        Ok(())
    }

    fn finish(mut self) -> Result<DiffResult, CliError> {
        if self.args.pattern.is_some() && self.count() == 0 && self.result == DiffResult::Equal {
            let [first, _] = self.roots;
            return Err(CliError::rejected(first.name(), NO_MATCH));
        }
        if !self.args.json {
            self.print()?;
        }
        self.out.flush()?;
        Ok(self.result)
    }

    fn print(&mut self) -> io::Result<()> {
        if !self.rows.is_empty() {
            let mut columns = vec![
                Column::paths("name"),
                Column::text("status"),
                Column::text("elements"),
                Column::numbers("differ"),
                Column::numbers("largest"),
                Column::numbers("mean"),
                Column::numbers("rms"),
            ];
            for row in &self.rows {
                for (number, (column, cell)) in columns.iter_mut().zip(&row.cells).enumerate() {
                    column.push_styled(cell, if number == 1 { row.style } else { Style::new() });
                }
            }
            table::print_fitted(&mut self.out, &mut columns)?;
        }
        let mut parts = Vec::new();
        for (count, what) in [(self.equal, "equal"), (self.different, "different")] {
            parts.extend((count > 0).then(|| format!("{count} {what}")));
        }
        for (count, path) in self.only.iter().zip(self.roots) {
            let name = safe(shown(path.name()));
            parts.extend((*count > 0).then(|| format!("{count} only in {name}")));
        }
        let parts = if parts.is_empty() { "none to compare".to_owned() } else { parts.join(", ") };
        writeln!(self.out, "{}: {parts}", crate::input::text::plural(self.count(), "array"))
    }

    /// How many arrays either has.
    fn count(&self) -> usize {
        self.equal + self.different + self.only.iter().sum::<usize>()
    }
}

/// The name of an array in a directory, or in an archive.
fn full_name(file: Option<&str>, input: &Input<'_>) -> String {
    match (file, &input.member) {
        (Some(file), Some(_)) => format!("{file}[{}]", input.name),
        (Some(file), None) => file.to_owned(),
        (None, _) => input.name.clone(),
    }
}

impl DiffRow {
    fn new(name: &str, report: &DiffReport) -> DiffRow {
        let (status, style) =
            if report.is_equal { ("equal", Style::new()) } else { ("different", CHANGED) };
        let changed = report.elements.as_ref().filter(|comparison| comparison.count > 0);
        let distances = changed.map_or([None; 3], |all| [all.largest, all.mean(), all.rms()]);
        let is_same_shape = report.shapes[0] == report.shapes[1];
        let elements = match (report.is_same_type, is_same_shape) {
            (true, true) => format!("{} {}", report.dtype_text(), report.shape_text()),
            (false, true) => report.dtype_text(),
            (true, false) => report.shape_text(),
            (false, false) => format!("{}, {}", report.dtype_text(), report.shape_text()),
        };
        let compared = report.elements.as_ref();
        let count = compared.map_or_else(String::new, |compared| compared.count.to_string());
        let [largest, mean, rms] =
            distances.map(|distance| distance.map_or_else(String::new, terminal::brief));
        let cells = [safe(name), status.into(), elements, count, largest, mean, rms];
        DiffRow { cells, style }
    }
}
