//! The files with arrays in a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::input::natural_order::by_name;

/// Extensions of files with arrays.
const EXTENSIONS: [&str; 5] = ["npy", "npz", "ten", "tb", "tar"];

/// Whether directories in a directory are searched as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    One,
    All,
}

/// The contents of a directory, sorted by name: numbers in names by their values.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The files whose extension is that of a file with arrays, relative to the
    /// directory.
    pub(crate) files: Vec<PathBuf>,
    /// The directories that were not searched.
    pub(crate) directories: Vec<PathBuf>,
    /// Those that could not be.
    pub(crate) unreadable: Vec<(PathBuf, io::Error)>,
}

/// Lists a directory. Links to files are followed, those to directories are
/// not: they may form cycles.
pub(crate) fn list(directory: &Path, depth: Depth) -> io::Result<Listing> {
    let mut listing = Listing::default();
    add(&mut listing, directory, Path::new(""), depth)?;
    listing.files.sort_by(|a, b| by_name(a, b));
    listing.directories.sort_by(|a, b| by_name(a, b));
    listing.unreadable.sort_by(|(a, _), (b, _)| by_name(a, b));
    Ok(listing)
}

fn add(listing: &mut Listing, root: &Path, inner: &Path, depth: Depth) -> io::Result<()> {
    for entry in fs::read_dir(root.join(inner))? {
        let entry = entry?;
        let (path, kind) = (inner.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            match depth {
                Depth::One => listing.directories.push(path),
                Depth::All => {
                    if let Err(error) = add(listing, root, &path, depth) {
                        listing.unreadable.push((path, error));
                    }
                }
            }
        } else if has_arrays(&path) && (kind.is_file() || root.join(&path).is_file()) {
            listing.files.push(path);
        }
    }
    Ok(())
}

/// Returns whether the name is that of a file with arrays.
fn has_arrays(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|own| EXTENSIONS.iter().any(|known| own.eq_ignore_ascii_case(known)))
}
