//! Changes an array where it is: a file, or a member of one.

use npymap::{MappedArrayMut, any::Format, source::FileLock};

use crate::array_path::ArrayPath;
use crate::error::CliError;
use crate::locking::WaitArgs;
use crate::{open, rewrite};

const REFUSED: &str = "cannot be edited: name an array of an .npz or .ten as FILE[MEMBER], extract one from a tar file with `npymap convert`";

/// What is asked of every change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EditOptions {
    /// Wait until it is on the disk.
    pub(crate) flush: bool,
    pub(crate) max_header_len: usize,
    pub(crate) wait: WaitArgs,
}

impl EditOptions {
    /// Changes an array, and returns what `change` does: in place, or, if it
    /// is a member of an `.npz`, by writing the archive anew.
    pub(crate) fn array(
        self,
        place: &ArrayPath,
        change: impl FnOnce(&mut MappedArrayMut) -> npymap::Result<usize>,
    ) -> Result<usize, CliError> {
        let ArrayPath { path, member, .. } = place;
        let format = open::format(path).map_err(CliError::library)?;
        match (format, member) {
            (Format::Npy, None) | (Format::Ten, Some(_)) => {
                self.in_place(place, change).map_err(CliError::at(place.name()))
            }
            (Format::Npz, Some(name)) => rewrite::member(path, name, self, change),
            _ => Err(CliError::Refused { path: place.name().to_owned(), reason: REFUSED }),
        }
    }

    fn in_place(
        self,
        place: &ArrayPath,
        change: impl FnOnce(&mut MappedArrayMut) -> npymap::Result<usize>,
    ) -> npymap::Result<usize> {
        let path = &place.path;
        let lock = self.wait.locking(path, |locking| FileLock::exclusive(path, locking))?;
        let mut array = open::write_array(place, self.max_header_len)?;
        // A program that doesn't lock may have replaced the file before it was opened.
        lock.as_ref().map_or(Ok(()), |lock| lock.check(path))?;
        let count = change(&mut array)?;
        if self.flush {
            array.close()?;
        }
        Ok(count)
    }
}
