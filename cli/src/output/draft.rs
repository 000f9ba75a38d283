//! New files that get their names when they are complete.

use std::fs::File;
use std::io::{self, IsTerminal as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use npymap::{CreateOptions, DType, MappedArrayMut, source::AtomicFile};

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::{open, remote, stream};
use crate::output::overwrite::OverwriteArgs;
use crate::output::signals;

/// A new file that has no name yet. It is removed when it is dropped or a
/// signal ends the program.
#[derive(Debug)]
pub(crate) struct Draft {
    target: Target,
    /// As the user named it.
    path: PathBuf,
}

/// Where a new file goes when it is complete.
#[derive(Debug)]
enum Target {
    Named(Box<AtomicFile>),
    /// To standard output or a pipe, from a temporary file without a name.
    Stream(File),
    /// To a store, from a temporary file without a name.
    Object(File, Box<remote::Upload>),
}

impl Draft {
    /// Creates an empty file; `-`, pipes and URLs get the contents of a temporary one.
    /// If it replaces a file, that one is locked from
    /// now on; call this before reading it.
    pub(crate) fn begin(path: &Path, replace: OverwriteArgs) -> Result<Draft, CliError> {
        ArrayPath::from(path.as_os_str().to_owned()).reject_member()?;
        let upload = remote::upload(path, replace.overwrite).at(path)?;
        let target = if let Some(upload) = upload {
            signals::watch().map_err(CliError::io(path, "create"))?;
            Target::Object(temporary(path)?, Box::new(upload))
        } else if stream::is_output(path) {
            let is_terminal = stream::is_standard(path) && io::stdout().is_terminal();
            CliError::rejected_if(is_terminal, path, TERMINAL)?;
            Target::Stream(temporary(path)?)
        } else {
            return Draft::begin_at(path, replace);
        };
        Ok(Draft { target, path: path.to_owned() })
    }

    /// As `begin`, for a name that is not an argument: brackets have no meaning
    /// in it.
    pub(crate) fn begin_at(path: &Path, replace: OverwriteArgs) -> Result<Draft, CliError> {
        signals::watch().map_err(CliError::io(path, "create"))?;
        let OverwriteArgs { overwrite, discard_trailing, wait } = replace;
        let new = if overwrite {
            let update =
                if discard_trailing { AtomicFile::update_discarding } else { AtomicFile::update };
            wait.with_lock(path, |locking| update(path, locking))
        } else {
            AtomicFile::create_new(path)
        };
        let target = Target::Named(Box::new(new.at(path)?));
        Ok(Draft { target, path: path.to_owned() })
    }

    /// Turns the file into an array of zeros.
    pub(crate) fn array(
        &self,
        dtype: &DType,
        shape: &[usize],
        options: &CreateOptions,
    ) -> Result<MappedArrayMut, CliError> {
        let file = self.file().try_clone().map_err(CliError::io(&self.path, "create"))?;
        open::create(file, dtype, shape, options).at(&self.path)
    }

    pub(crate) fn file(&self) -> &File {
        match &self.target {
            Target::Named(new) => new.file(),
            Target::Stream(file) | Target::Object(file, _) => file,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the data is on disk and gives the file its name. A stream or a
    /// store gets all of it at once.
    pub(crate) fn commit(self) -> Result<(), CliError> {
        self.commit_by(AtomicFile::commit_sync)
    }

    /// Gives the file its name, without waiting for the disk.
    pub(crate) fn commit_unsynced(self) -> Result<(), CliError> {
        self.commit_by(AtomicFile::commit)
    }

    fn commit_by(self, commit: fn(AtomicFile) -> npymap::Result<File>) -> Result<(), CliError> {
        match self.target {
            Target::Named(new) => commit(*new).map(drop),
            Target::Stream(file) => return send(file, &self.path),
            Target::Object(file, upload) => remote::finish(*upload, file),
        }
        .at(&self.path)
    }
}

/// A file without a name, whose contents go to `path`.
fn temporary(path: &Path) -> Result<File, CliError> {
    tempfile::tempfile().map_err(CliError::io(path, "create a copy of"))
}

const TERMINAL: &str =
    "standard output is a terminal, and this output is binary: redirect it, or name a file";

/// Copies a complete file to standard output or a pipe.
fn send(mut file: File, path: &Path) -> Result<(), CliError> {
    file.rewind()?;
    if stream::is_standard(path) {
        let mut out = io::stdout().lock();
        io::copy(&mut file, &mut out)?;
        out.flush()?;
    } else {
        let mut out = File::options().write(true).open(path).map_err(CliError::io(path, "open"))?;
        io::copy(&mut file, &mut out).map_err(CliError::io(path, "write"))?;
    }
    Ok(())
}
