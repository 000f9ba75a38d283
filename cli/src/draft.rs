//! A new file under a passing name, until it is complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use npymap::{CreateOptions, DType, MappedArrayMut};
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::place::Place;
use crate::{open, platform, signals};

/// A new file in the directory of its final place. Dropping it removes it,
/// and so does a signal that ends the program.
#[derive(Debug)]
pub(crate) struct Draft {
    new: NamedTempFile,
    /// As the person named it.
    path: PathBuf,
    /// Where that leads.
    place: PathBuf,
    old: Option<fs::Metadata>,
}

impl Draft {
    /// Makes an array of zeros; `path` itself is not touched.
    pub(crate) fn begin(
        path: &Path,
        overwrite: bool,
        dtype: &DType,
        shape: &[usize],
        options: &CreateOptions,
    ) -> Result<(Draft, MappedArrayMut), Failure> {
        let draft = Draft::empty(path, overwrite)?;
        let array = open::create(draft.file(), dtype, shape, options);
        let array = array.map_err(Failure::at(&draft.path))?;
        Ok((draft, array))
    }

    /// Makes an empty file.
    pub(crate) fn empty(path: &Path, overwrite: bool) -> Result<Draft, Failure> {
        let failed = Failure::file(path, "create");
        Place::from(path.as_os_str().to_owned()).no_member()?;
        let (place, old) = found(path, overwrite).map_err(&failed)?;
        let new = signals::guard(|| beside(&place, old.is_some())).map_err(&failed)?;
        Ok(Draft { new, path: path.to_owned(), place, old })
    }

    /// The file, as long as it has no name.
    pub(crate) fn file(&self) -> &fs::File {
        self.new.as_file()
    }

    /// Brings it to the disk, and gives it its name and the permissions of the
    /// file that had it.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        let Draft { new, path, place, old } = self;
        let failed = Failure::file(&path, "replace");
        new.as_file().sync_all().map_err(&failed)?;
        if let Some(old) = &old {
            platform::keep_access(new.path(), old).map_err(&failed)?;
        }
        let named = signals::release(new, |new| match old {
            Some(_) => new.persist(&place),
            None => new.persist_noclobber(&place),
        });
        named.map_err(|refused| failed(refused.error))?;
        platform::sync_directory(directory(&place)).map_err(&failed)
    }
}

/// Where the array goes, links followed, and what is there now.
fn found(path: &Path, overwrite: bool) -> io::Result<(PathBuf, Option<fs::Metadata>)> {
    match fs::metadata(path) {
        Ok(_) if !overwrite => Err(io::ErrorKind::AlreadyExists.into()),
        Ok(old) if !old.is_file() => Err(io::Error::other("it is no regular file")),
        Ok(old) => Ok((path.canonicalize()?, Some(old))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((end_of_links(path), None)),
        Err(error) => Err(error),
    }
}

/// Where links that lead to no file yet end.
fn end_of_links(path: &Path) -> PathBuf {
    let mut end = path.to_owned();
    // As many as Linux follows.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&end) else { break };
        end = directory(&end).join(target);
    }
    end
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes an empty file beside `path`, with the permissions of a new file; or,
/// when it replaces one that may be private, for nobody else's eyes.
fn beside(path: &Path, replaces: bool) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".npymap-");
    if !replaces {
        platform::permit_all(&mut builder);
    }
    builder.tempfile_in(directory(path))
}
