//! New files that get their names when they are complete.

use std::fs::File;
use std::path::{Path, PathBuf};

use npymap::{CreateOptions, DType, MappedArrayMut, source::AtomicFile};

use crate::array_path::ArrayPath;
use crate::error::CliError;
use crate::locking::WaitArgs;
use crate::{open, signals};

/// How to treat a file that has the name of a new one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IfExists {
    Fail,
    /// The existing file is locked until the new one replaces it.
    Replace(WaitArgs),
}

/// A new file that has no name yet. It is removed when it is dropped or a
/// signal ends the program.
#[derive(Debug)]
pub(crate) struct Draft {
    new: AtomicFile,
    /// As the user named it.
    path: PathBuf,
}

impl Draft {
    /// Creates an empty file. If it replaces a file, that one is locked from
    /// now on; call this before reading it.
    pub(crate) fn begin(path: &Path, if_exists: IfExists) -> Result<Draft, CliError> {
        ArrayPath::from(path.as_os_str().to_owned()).reject_member()?;
        Draft::begin_at(path, if_exists)
    }

    /// As `begin`, for a name that is not an argument: brackets have no meaning
    /// in it.
    pub(crate) fn begin_at(path: &Path, if_exists: IfExists) -> Result<Draft, CliError> {
        signals::watch().map_err(CliError::io(path, "create"))?;
        let new = match if_exists {
            IfExists::Fail => AtomicFile::create_new(path),
            IfExists::Replace(wait) => {
                wait.with_lock(path, |locking| AtomicFile::update(path, locking))
            }
        };
        Ok(Draft { new: new.map_err(CliError::with_path(path))?, path: path.to_owned() })
    }

    /// Turns the file into an array of zeros.
    pub(crate) fn array(
        &self,
        dtype: &DType,
        shape: &[usize],
        options: &CreateOptions,
    ) -> Result<MappedArrayMut, CliError> {
        let file = self.file().try_clone().map_err(CliError::io(&self.path, "create"))?;
        open::create(file, dtype, shape, options).map_err(CliError::with_path(&self.path))
    }

    pub(crate) fn file(&self) -> &File {
        self.new.file()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the data is on disk and gives the file its name.
    pub(crate) fn commit(self) -> Result<(), CliError> {
        self.new.commit_sync().map(drop).map_err(CliError::with_path(&self.path))
    }

    /// Gives the file its name, without waiting for the disk.
    pub(crate) fn commit_unsynced(self) -> Result<(), CliError> {
        self.new.commit().map(drop).map_err(CliError::with_path(&self.path))
    }
}
