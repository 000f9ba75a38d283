//! Directories and quoted patterns, which are sets of files where many are taken.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::globs::NamePattern;
use crate::input::messages;
use crate::input::natural_order::by_name;
use crate::input::url;
use crate::input::walk::{self, Depth, Listing};

/// The files of a directory and below it, or those that match a pattern.
#[derive(Debug)]
pub(crate) struct FileSet {
    /// What the names are relative to: the directory, or the part of the pattern before its
    /// first special character.
    pub(crate) root: PathBuf,
    pub(crate) listing: Listing,
}

const NO_MATCH: &str = "no file matches this pattern";

const NO_ARRAYS: &str = "is a directory without files of arrays: .npy, .npz, .ten, .tb or .tar";

impl FileSet {
    /// The files of a directory or a pattern, sorted by their names; `None` if the argument
    /// is a single file.
    pub(crate) fn find(path: &ArrayPath) -> Result<Option<FileSet>, CliError> {
        if path.member.is_some() {
            return Ok(None);
        }
        if path.path.is_dir() {
            let listing = walk::list(&path.path, Depth::All);
            let listing = listing.map_err(CliError::io(path.name(), "list"))?;
            return Ok(Some(FileSet { root: path.path.clone(), listing }));
        }
        let Some(matching) = matching(path)? else { return Ok(None) };
        let root = split(&path.path).0;
        let mut listing = Listing::default();
        for found in matching {
            let name = found.strip_prefix(&root).unwrap_or(&found).to_owned();
            if found.is_dir() {
                let inner = walk::list(&found, Depth::All);
                let inner = inner.map_err(CliError::io(&found, "list"))?;
                listing.files.extend(inner.files.iter().map(|file| name.join(file)));
                let unreadable = inner.unreadable.into_iter();
                listing.unreadable.extend(unreadable.map(|(path, error)| (name.join(path), error)));
            } else {
                listing.files.push(name);
            }
        }
        Ok(Some(FileSet { root, listing }))
    }
}

/// Replaces patterns by the files and directories that match, as a shell does: those of
/// `FILE[MEMBER]`, too.
pub(crate) fn matched(paths: &[ArrayPath]) -> Result<Vec<ArrayPath>, CliError> {
    let mut found = Vec::new();
    for path in paths {
        match matching(path)? {
            Some(matching) => found.extend(matching.iter().map(|file| path.of_file(file))),
            None => found.push(path.clone()),
        }
    }
    Ok(found)
}

/// Replaces patterns and directories by their files.
pub(crate) fn files(paths: &[ArrayPath]) -> Result<Vec<ArrayPath>, CliError> {
    let mut found = Vec::new();
    for path in matched(paths)? {
        let Some(FileSet { root, listing }) = FileSet::find(&path)? else {
            found.push(path);
            continue;
        };
        if let Some((inner, error)) = listing.unreadable.into_iter().next() {
            return Err(CliError::io(&root.join(inner), "list")(error));
        }
        CliError::rejected_if(listing.files.is_empty(), path.name(), NO_ARRAYS)?;
        found.extend(listing.files.iter().map(|file| ArrayPath::from_file(&root.join(file))));
    }
    Ok(found)
}

/// As `matched` or `files`, for commands that go on after an error: prints those of arguments,
/// and returns their number.
pub(crate) fn all_found(
    paths: &[ArrayPath],
    find: impl Fn(&[ArrayPath]) -> Result<Vec<ArrayPath>, CliError>,
) -> (Vec<ArrayPath>, usize) {
    let (mut found, mut failures) = (Vec::new(), 0);
    for path in paths {
        match find(std::slice::from_ref(path)) {
            Ok(files) => found.extend(files),
            Err(error) => {
                messages::print_error(&error);
                failures += 1;
            }
        }
    }
    (found, failures)
}

/// The files and directories that match a pattern; `None` if the path is no pattern, or
/// names a file.
fn matching(path: &ArrayPath) -> Result<Option<Vec<PathBuf>>, CliError> {
    let text = path.path.to_str().filter(|text| NamePattern::is_pattern(text));
    if text.is_none() || url::is_url(&path.path) || path.path.exists() {
        return Ok(None);
    }
    let (root, parts) = split(&path.path);
    let patterns: Option<Vec<NamePattern>> = parts.iter().map(|part| part.parse().ok()).collect();
    // It is the name of a file that does not exist.
    let Some(patterns) = patterns else { return Ok(None) };
    let mut found = Vec::new();
    let parts: Vec<_> = parts.iter().map(String::as_str).zip(&patterns).collect();
    add_matching(&mut found, &root, &parts).map_err(CliError::io(path.name(), "list"))?;
    found.sort_by(|a, b| by_name(a, b));
    found.dedup();
    CliError::rejected_if(found.is_empty(), path.name(), NO_MATCH)?;
    Ok(Some(found))
}

/// The directory before the first part of a pattern with a special character, and the parts
/// from there on.
fn split(path: &Path) -> (PathBuf, Vec<String>) {
    let (mut root, mut parts) = (PathBuf::new(), Vec::new());
    for part in path.components() {
        let text = part.as_os_str().to_string_lossy();
        let is_pattern = matches!(part, Component::Normal(_)) && NamePattern::is_pattern(&text);
        if parts.is_empty() && !is_pattern {
            root.push(part);
        } else {
            parts.push(text.into_owned());
        }
    }
    (root, parts)
}

/// Adds the paths in a directory whose parts match. As in a shell, `*` matches no hidden
/// names, and `**` any directories or none.
fn add_matching(
    found: &mut Vec<PathBuf>,
    directory: &Path,
    parts: &[(&str, &NamePattern)],
) -> io::Result<()> {
    let Some(((text, pattern), rest)) = parts.split_first() else {
        found.push(directory.to_owned());
        return Ok(());
    };
    if *text == "**" {
        add_matching(found, directory, rest)?;
    }
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = match fs::read_dir(listed) {
        Ok(entries) => entries,
        // It is not a directory, or does not exist: nothing in it matches.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_hidden = name.starts_with('.') && !text.starts_with('.');
        if is_hidden || !pattern.matches(name) {
            continue;
        }
        let path = directory.join(name);
        if *text != "**" {
            add_matching(found, &path, rest)?;
        } else if entry.file_type()?.is_dir() {
            add_matching(found, &path, parts)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_relative_to_the_part_before_a_pattern() {
        for (text, root, parts) in [
            ("a/b/*.npy", "a/b", vec!["*.npy"]),
            ("*.npy", "", vec!["*.npy"]),
            ("/x/r?n/2/*", "/x", vec!["r?n", "2", "*"]),
            ("../*/w[0-9].npy", "..", vec!["*", "w[0-9].npy"]),
        ] {
            let (found, rest) = split(Path::new(text));
            assert_eq!((found.as_path(), rest), (Path::new(root), parts_of(&parts)), "{text}");
        }
    }

    fn parts_of(parts: &[&str]) -> Vec<String> {
        parts.iter().map(|part| (*part).to_owned()).collect()
    }
}
