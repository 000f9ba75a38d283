//! Files to append rows to that have no name yet.

use std::path::{Path, PathBuf};

use super::appender::Appender;
use super::stored_header::StoredHeader;
use crate::array::{CreateOptions, with_path_in_errors};
use crate::dtype::DType;
use crate::error::{RequestError, Result};
use crate::layout::Order;
use crate::source::atomic::AtomicFile;
use crate::source::lock::{self, Locking};

/// An [`Appender`] of a file that has no name yet.
pub(crate) struct NewAppender {
    /// The path as given.
    path: PathBuf,
    file: AtomicFile,
    head: StoredHeader,
}

impl NewAppender {
    /// Like [`Appender::create`], but the file appears under its name when it
    /// is finished.
    #[inline]
    pub(crate) fn begin(
        path: &Path,
        dtype: &DType,
        row: &[usize],
        options: &CreateOptions,
    ) -> Result<NewAppender> {
        with_path_in_errors(path, |path| {
            let mut shape = row.to_vec();
            shape.insert(if options.order == Order::F { row.len() } else { 0 }, 0);
            if options.raw.is_some() {
                return Err(RequestError::Placed.into());
            }
            let (header, plan) = options.plan(dtype, &shape)?;
            let file = options.begin_locked(path)?;
            plan.write(file.file())?;
            let head = StoredHeader::new(header, plan.head)?;
            Ok(NewAppender { path: path.to_owned(), file, head })
        })
    }

    /// Gives the file its name.
    #[inline]
    pub(crate) fn finish(self) -> Result<Appender> {
        let NewAppender { path, file, head } = self;
        with_path_in_errors(&path, |path| {
            // Locked before other processes can open it.
            let lock = lock::lock_open_file(file.file(), Locking::Try)?;
            Appender::new(file.finish()?, lock, path, head, true)
        })
    }
}
