//! Puts a new file under a name only when it is whole.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{ErrorKind, Result};
use crate::file;

/// A file under a passing name in the directory of its final one. Dropping it
/// removes it.
#[derive(Debug)]
pub(crate) struct Replacement {
    new: NamedTempFile,
    path: PathBuf,
    old: Option<Metadata>,
}

impl Replacement {
    /// Makes the file; `path` itself is not touched. Links are followed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Exists`] when a file is there that may not be replaced,
    /// [`ErrorKind::NotRegular`] when it is none that can be,
    /// [`ErrorKind::Io`].
    pub(crate) fn begin(path: &Path, overwrite: bool) -> Result<Replacement> {
        let old = match fs::metadata(path) {
            Ok(_) if !overwrite => return Err(ErrorKind::Exists.into()),
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(ErrorKind::io("create")(error)),
        };
        if let Some(found) = old.as_ref().and_then(file::irregular) {
            return Err(ErrorKind::NotRegular { found }.into());
        }
        let path = if old.is_some() { path.canonicalize() } else { Ok(path.to_owned()) };
        let path = path.map_err(ErrorKind::io("create"))?;
        let new = beside(&path).map_err(ErrorKind::io("create"))?;
        Ok(Replacement { new, path, old })
    }

    /// The new file.
    pub(crate) fn file(&self) -> &File {
        self.new.as_file()
    }

    /// Gives it its name, and the permissions and owner of the file that had
    /// it. The owner stays the caller where the system allows no other.
    pub(crate) fn commit(self) -> Result<()> {
        match self.old {
            Some(old) => {
                keep_access(self.new.as_file(), &old)
                    .map_err(ErrorKind::io("keep the permissions"))?;
                self.new
                    .persist(&self.path)
                    .map_err(|refused| ErrorKind::io("replace")(refused.error))?;
            }
            None => {
                self.new.persist_noclobber(&self.path).map_err(|refused| {
                    match refused.error.kind() {
                        io::ErrorKind::AlreadyExists => ErrorKind::Exists.into(),
                        _ => ErrorKind::io("create")(refused.error),
                    }
                })?;
            }
        }
        Ok(())
    }
}

/// Makes an empty file beside `path`, with the permissions of a new file.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let directory =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".npymap-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(directory)
}

#[cfg(unix)]
fn keep_access(new: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    match fchown(new, Some(old.uid()), Some(old.gid())) {
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
        _ => {}
    }
    new.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn keep_access(new: &File, old: &Metadata) -> io::Result<()> {
    new.set_permissions(old.permissions())
}
