//! The end of a file that rows are added to, and what is to follow there.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::stored_header::StoredHeader;
use crate::element::Element;
use crate::element::fast_path::FastPath as _;
use crate::error::invariant::{IN_BUFFER, Invariant, to_u64, to_usize_saturating};
use crate::error::{Result, SystemError};
use crate::source::lock::FileLock;
use crate::source::{atomic, file, platform};

/// What is gathered before it is written, in bytes.
pub(super) const BUFFER: usize = 64 * 1024;

/// An open file that ends with its elements, and what was put behind them but
/// is not written yet.
#[derive(Debug)]
pub(super) struct RowWriter {
    file: File,
    /// Where it is, whatever becomes of the working directory.
    place: PathBuf,
    /// Held until the last write.
    lock: Option<FileLock>,
    head: StoredHeader,
    /// Where the file ends.
    end: u64,
    /// What is to follow there.
    buffer: Vec<u8>,
    pub(super) capacity: usize,
    /// Whether the file got its name since the last `sync`.
    is_renamed: bool,
}

impl RowWriter {
    pub(super) fn new(
        file: File,
        lock: Option<FileLock>,
        path: &Path,
        head: StoredHeader,
        is_renamed: bool,
    ) -> Result<RowWriter> {
        // A dtype that can't be written is refused before there are rows.
        head.header().encode_in_place()?;
        let place = platform::canonical(path).map_err(SystemError::io("open"))?;
        let end = head.end(head.rows())?;
        let (buffer, capacity) = (Vec::new(), BUFFER);
        Ok(RowWriter { file, place, lock, head, end, buffer, capacity, is_renamed })
    }

    pub(super) fn head(&self) -> &StoredHeader {
        &self.head
    }

    /// How many bytes are not written yet.
    pub(super) fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Puts values as they are stored.
    pub(super) fn put_slice<T: Element>(&mut self, codec: &T::Codec, values: &[T]) -> Result<()> {
        match T::fast_path().bytes_of(codec, values) {
            Some(bytes) => self.put_bytes(bytes),
            None => self.put_each(codec, values.iter()),
        }
    }

    /// Puts values, each encoded.
    pub(super) fn put_each<'v, T: Element>(
        &mut self,
        codec: &T::Codec,
        values: impl Iterator<Item = &'v T>,
    ) -> Result<()> {
        let size = self.head.header().dtype.itemsize();
        for value in values {
            if self.buffer.len() >= self.capacity.max(BUFFER) {
                self.write_buffer()?;
            }
            let at = self.buffer.len();
            self.buffer.resize(at + size, 0);
            value.encode(codec, self.buffer.get_mut(at..).invariant(IN_BUFFER))?;
        }
        Ok(())
    }

    /// Puts bytes; many are written at once.
    pub(super) fn put_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() < self.capacity {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.write_buffer()?;
        self.write(bytes)
    }

    /// Forgets what was put behind so many rows.
    pub(super) fn cut(&mut self, rows: usize) -> Result<()> {
        let end = self.head.end(rows)?;
        if let Some(kept) = end.checked_sub(self.end) {
            self.buffer.truncate(to_usize_saturating(kept));
            return Ok(());
        }
        self.buffer.clear();
        self.end = end;
        self.file.set_len(end).map_err(SystemError::io("undo the write"))
    }

    /// True when what was put since there were so many rows ought to be
    /// counted: a part of it is written, or the buffer is full.
    pub(super) fn is_due(&self, rows: usize) -> Result<bool> {
        Ok(self.end > self.head.end(rows)? || self.buffer.len() >= self.capacity)
    }

    /// Writes the buffer, then the number of rows to the header.
    pub(super) fn write_out(&mut self, rows: usize) -> Result<()> {
        self.write_buffer()?;
        if self.head.write(&self.file, rows)? { Ok(()) } else { self.rewrite(rows) }
    }

    /// As `write_out`, each on the disk before the next begins.
    pub(super) fn sync(&mut self, rows: usize) -> Result<()> {
        self.write_buffer()?;
        if !self.head.says(rows) {
            self.sync_file()?;
            self.write_out(rows)?;
        }
        self.sync_file()?;
        if self.is_renamed {
            atomic::sync_directory(&self.place).map_err(SystemError::io("sync"))?;
            self.is_renamed = false;
        }
        Ok(())
    }

    /// Makes it `rows` instead of `old`: with zeros, their space reserved, or
    /// by a new file.
    pub(super) fn resize(&mut self, old: usize, rows: usize) -> Result<()> {
        let end = self.head.end(rows)?;
        self.write_out(old)?;
        if rows < old {
            return self.rewrite(rows);
        }
        self.unchanged()?;
        let reserved = file::reserve(&self.file, end).map_err(SystemError::io("reserve space"));
        // A part of it may be there.
        self.end = end;
        let resized = reserved.and_then(|()| self.write_out(rows));
        if resized.is_err() {
            // The error says why.
            let _ = self.cut(old);
        }
        resized
    }

    /// Goes on with a new file of so many rows; whoever has the old one open
    /// keeps it.
    fn rewrite(&mut self, rows: usize) -> Result<()> {
        let (new, head) = self.head.rewritten(&self.file, &self.place, rows)?;
        // Locked before it has the name that waiting processes look at.
        let lock = self.lock.as_ref().and_then(|_| FileLock::of_new(new.file()));
        atomic::commit_over(new, &mut self.file)?;
        self.lock = lock;
        self.head = head;
        self.end = self.head.end(rows)?;
        self.is_renamed = true;
        Ok(())
    }

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
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.unchanged()?;
        if let Err(error) = file::write_at(&self.file, bytes, self.end) {
            // A part may be there; if it can't go, the next write says so.
            let _ = self.file.set_len(self.end);
            return Err(SystemError::io("write the elements")(error));
        }
        self.end += to_u64(bytes.len());
        Ok(())
    }

    /// An error if somebody else changed the file's length.
    fn unchanged(&self) -> Result<()> {
        let (expected, found) = (self.end, file::len(&self.file)?);
        if found == expected {
            Ok(())
        } else {
            Err(SystemError::Changed { expected, found }.into())
        }
    }

    fn sync_file(&self) -> Result<()> {
        self.file.sync_data().map_err(SystemError::io("sync"))
    }
}
