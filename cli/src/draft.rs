//! New files that get their names when they are complete.

use std::fs::File;
use std::path::{Path, PathBuf};

use npymap::{CreateOptions, DType, MappedArrayMut, source::AtomicFile};

use crate::array_path::ArrayPath;
use crate::error::CliError;
use crate::locking::WaitArgs;
use crate::{open, signals};

/// How a file that has the name of a new one is treated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IfExists {
    Refused,
    /// It is locked until the new file replaces it.
    Replaced(WaitArgs),
}

/// A new file without its name. Dropping it removes it, and so does a signal
/// that ends the program.
#[derive(Debug)]
pub(crate) struct Draft {
    new: AtomicFile,
    /// As the person named it.
    path: PathBuf,
}

impl Draft {
    /// Creates an empty file. Begin with it: a file that it replaces is locked
    /// from now on, and so may be read.
    pub(crate) fn begin(path: &Path, existing: IfExists) -> Result<Draft, CliError> {
        ArrayPath::from(path.as_os_str().to_owned()).no_member()?;
        Draft::named(path, existing)
    }

    /// As `begin`, for a name that is not a person's.
    pub(crate) fn named(path: &Path, existing: IfExists) -> Result<Draft, CliError> {
        signals::watch().map_err(CliError::file(path, "create"))?;
        let new = match existing {
            IfExists::Refused => AtomicFile::create_new(path),
            IfExists::Replaced(wait) => {
                wait.locking(path, |locking| AtomicFile::update(path, locking))
            }
        };
        Ok(Draft { new: new.map_err(CliError::at(path))?, path: path.to_owned() })
    }

    /// Makes it an array of zeros.
    pub(crate) fn array(
        &self,
        dtype: &DType,
        shape: &[usize],
        options: &CreateOptions,
    ) -> Result<MappedArrayMut, CliError> {
        let file = self.file().try_clone().map_err(CliError::file(&self.path, "create"))?;
        open::create(file, dtype, shape, options).map_err(CliError::at(&self.path))
    }

    pub(crate) fn file(&self) -> &File {
        self.new.file()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until it is on the disk and gives it its name.
    pub(crate) fn commit(self) -> Result<(), CliError> {
        self.new.commit_sync().map(drop).map_err(CliError::at(&self.path))
    }

    /// Gives it its name, and lets the system write it to the disk.
    pub(crate) fn commit_unsynced(self) -> Result<(), CliError> {
        self.new.commit().map(drop).map_err(CliError::at(&self.path))
    }
}
