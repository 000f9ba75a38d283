//! Buffers rows, and decides when they and the header of a file are written.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::stored_header::StoredHeader;
use crate::element::Element;
use crate::element::fast_path::stored_bytes;
use crate::error::invariant::{IN_BUFFER, Invariant, to_u64, to_usize_saturating};
use crate::error::{IoContext as _, Result, SystemError, memory};
use crate::source::lock::FileLock;
use crate::source::{atomic, file, platform};

/// The default size of the buffer in bytes.
pub(super) const BUFFER: usize = 64 * 1024;

/// An open file that ends with its elements, and a buffer of rows to be written
/// after them.
#[derive(Debug)]
pub(super) struct RowWriter {
    file: File,
    /// The absolute path, in case the working directory changes.
    path: PathBuf,
    /// Held until the last write.
    lock: Option<FileLock>,
    pub(super) head: StoredHeader,
    /// The length of the file.
    end: u64,
    /// Rows that are not written yet.
    pub(super) buffer: Vec<u8>,
    pub(super) capacity: usize,
    /// Whether the file was created or replaced since the last `sync`.
    is_renamed: bool,
    /// Whether the kernel failed to write something to the disk. It reports
    /// that once.
    has_lost: bool,
}

impl RowWriter {
    #[inline]
    pub(super) fn new(
        file: File,
        lock: Option<FileLock>,
        path: &Path,
        head: StoredHeader,
        is_renamed: bool,
    ) -> Result<RowWriter> {
        // Fails early if the dtype can't be written.
        head.header.encode_in_place()?;
        let path = platform::canonical(path).context("open")?;
        let end = head.end(head.rows())?;
        let (buffer, capacity) = (Vec::new(), BUFFER);
        Ok(RowWriter { file, path, lock, head, end, buffer, capacity, is_renamed, has_lost: false })
    }

    /// Replaces the file, to make writes fail.
    #[cfg(test)]
    #[cfg(unix)]
    pub(super) fn swap_file(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file, file)
    }

    /// Adds values, without encoding them if they are stored as in memory.
    pub(super) fn push_slice<T: Element>(&mut self, codec: &T::Codec, values: &[T]) -> Result<()> {
        match stored_bytes(codec, &self.head.header.dtype, values)? {
            Some(bytes) => self.push_bytes(bytes),
            None => self.push_values(codec, values.iter()),
        }
    }

    /// Encodes and adds values.
    pub(super) fn push_values<'v, T: Element>(
        &mut self,
        codec: &T::Codec,
        values: impl Iterator<Item = &'v T>,
    ) -> Result<()> {
        let size = self.head.header.dtype.itemsize();
        for value in values {
            if self.buffer.len() >= self.capacity.max(BUFFER) {
                self.write_buffer()?;
            }
            let at = self.buffer.len();
            memory::resize(&mut self.buffer, at + size)?;
            value.encode(codec, self.buffer.get_mut(at..).invariant(IN_BUFFER))?;
        }
        Ok(())
    }

    /// Adds bytes. If the buffer has no room for them, they are written directly.
    #[inline]
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() < self.capacity {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.write_buffer()?;
        self.write(bytes)
    }

    /// Removes everything after `rows` rows from the buffer and the file.
    #[inline]
    pub(super) fn truncate(&mut self, rows: usize) -> Result<()> {
        let end = self.head.end(rows)?;
        if let Some(kept) = end.checked_sub(self.end) {
            self.buffer.truncate(to_usize_saturating(kept));
            return Ok(());
        }
        self.buffer.clear();
        // Without locks, another writer may have appended rows or written another file.
        self.check_len()?;
        self.end = end;
        self.file.set_len(end).context("undo the write")
    }

    /// The length that the file has once the buffer is written.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.end + to_u64(self.buffer.len())
    }

    /// Returns whether rows added since the `len` of before must be written out now:
    /// some of them are in the file already, or the buffer is full.
    #[inline]
    pub(super) fn must_write_out(&self, before: u64) -> bool {
        self.end > before || self.buffer.len() >= self.capacity
    }

    /// Writes the buffer, then the number of rows to the header.
    #[inline]
    pub(super) fn write_out(&mut self, rows: usize) -> Result<()> {
        self.write_buffer()?;
        if self.head.write(&self.file, rows)? { Ok(()) } else { self.rewrite(rows) }
    }

    /// Like `write_out`, but waits for the elements to be on the disk before it
    /// writes the header, and then for the header. It is an error if the path
    /// leads to another file now, where the rows are not.
    #[inline]
    pub(super) fn sync(&mut self, rows: usize) -> Result<()> {
        self.write_buffer()?;
        if !self.head.has_rows(rows) {
            self.sync_file()?;
            self.write_out(rows)?;
        }
        self.sync_file()?;
        if self.is_renamed {
            let synced = atomic::sync_directory(&self.path);
            self.has_lost = synced.is_err();
            synced.context("sync")?;
            self.is_renamed = false;
        }
        self.check_path()
    }

    /// Returns an error if another program has replaced, renamed or removed the file.
    #[inline]
    fn check_path(&self) -> Result<()> {
        let found = match std::fs::metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let text = "it was renamed or removed: the rows are not under this name";
                return Err(SystemError::io("find it", io::Error::new(error.kind(), text)));
            }
            // Without the permission to search the directory, this is not known.
            Err(_) => return Ok(()),
        };
        let is_same = platform::file_id(&found) == file::stat(&self.file)?.id;
        if is_same { Ok(()) } else { Err(SystemError::Replaced.into()) }
    }

    /// Changes the number of rows from `old` to `rows`: adds zeros and reserves
    /// their space, or replaces the file by a shorter copy.
    #[inline]
    pub(super) fn resize(&mut self, old: usize, rows: usize) -> Result<()> {
        let end = self.head.end(rows)?;
        self.write_out(old)?;
        self.check_len()?;
        if rows < old {
            return self.rewrite(rows);
        }
        file::extend(&self.file, end).context("reserve space")?;
        self.end = end;
        let resized = self.write_out(rows);
        if resized.is_err() {
            // Best effort: the first error is returned.
            let _ = self.truncate(old);
        }
        resized
    }

    /// Replaces the file by a copy of `rows` rows.
    #[inline]
    fn rewrite(&mut self, rows: usize) -> Result<()> {
        self.head.rewrite(&mut self.file, &mut self.lock, &self.path, rows)?;
        self.end = self.head.end(rows)?;
        self.is_renamed = true;
        Ok(())
    }

    #[inline]
    fn write_buffer(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let written = self.write(&buffer);
        self.buffer = buffer;
        if written.is_ok() {
            self.buffer.clear();
        }
        written
    }

    /// Writes at the end of the file.
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.check_len()?;
        if let Err(error) = file::write_at(&self.file, bytes, self.end) {
            // Removes a partial write, and nothing else. If that fails, the next write
            // reports the wrong length.
            let partial = self.end..=self.end + to_u64(bytes.len());
            if file::len(&self.file).is_ok_and(|len| partial.contains(&len)) {
                let _ = self.file.set_len(self.end);
            }
            return Err(SystemError::io("write the elements", error));
        }
        self.end += to_u64(bytes.len());
        Ok(())
    }

    /// Returns an error if another writer changed the file's length.
    #[inline]
    fn check_len(&self) -> Result<()> {
        let (expected, found) = (self.end, file::len(&self.file)?);
        if found == expected {
            Ok(())
        } else {
            Err(SystemError::Changed { expected, found }.into())
        }
    }

    #[inline]
    fn sync_file(&mut self) -> Result<()> {
        let synced = if self.has_lost {
            Err(io::Error::other("it failed before, so rows may be lost: check the file"))
        } else {
            self.file.sync_data()
        };
        self.has_lost = synced.is_err();
        synced.context("sync")
    }
}
