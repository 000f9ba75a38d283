//! The header of a file with a changing number of rows.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;

use crate::array::OpenOptions;
use crate::error::invariant::{IN_BUFFER, Invariant, to_u64};
use crate::error::{IoContext as _, Result, ShapeError, SystemError};
use crate::layout::Layout;
use crate::npy::Header;
use crate::source::atomic::{self, AtomicFile};
use crate::source::file;
use crate::source::lock::{self, FileLock, Locking};
use crate::source::storage;

/// A header, and its bytes as they are in the file.
#[derive(Debug)]
pub(super) struct StoredHeader {
    pub(super) header: Header,
    bytes: Vec<u8>,
    /// Whether the file has exactly these bytes. A failed write may have changed
    /// some of them.
    is_written: bool,
    pub(super) axis: usize,
    /// Where `bytes` has the digits of the number of rows. Empty until `write` has
    /// encoded the header, because other programs format it in other ways.
    digits: Range<usize>,
}

impl StoredHeader {
    #[inline]
    pub(super) fn new(header: Header, bytes: Vec<u8>) -> Result<StoredHeader> {
        let axis = header.growing_axis().ok_or(ShapeError::NoRows)?;
        Ok(StoredHeader { header, bytes, is_written: true, axis, digits: 0..0 })
    }

    /// Reads the header of a file with `len` bytes, whatever follows it.
    #[inline]
    pub(super) fn read(file: &File, len: u64, options: &OpenOptions) -> Result<StoredHeader> {
        let header = options.read_header(file, len)?;
        let mut bytes = vec![0; header.data_offset];
        storage::read_full_at(file, &mut bytes, 0).context("read the header")?;
        StoredHeader::new(header, bytes)
    }

    #[inline]
    pub(super) fn rows(&self) -> usize {
        *self.header.shape.get(self.axis).invariant("the axis of the rows is one of the array")
    }

    /// Returns whether the header in the file has this number of rows.
    #[inline]
    pub(super) fn has_rows(&self, rows: usize) -> bool {
        self.is_written && rows == self.rows()
    }

    /// The shape with this number of rows.
    #[inline]
    pub(super) fn shape(&self, rows: usize) -> Vec<usize> {
        let mut shape = self.header.shape.clone();
        shape.iter_mut().skip(self.axis).take(1).for_each(|dim| *dim = rows);
        shape
    }

    /// The layout of an array with `rows` rows.
    #[inline]
    pub(super) fn layout(&self, rows: usize) -> Result<Layout> {
        let Header { dtype, order, data_offset, .. } = &self.header;
        Layout::new(dtype.clone(), &self.shape(rows), *order, *data_offset)
    }

    /// The length of a file with `rows` rows.
    #[inline]
    pub(super) fn end(&self, rows: usize) -> Result<u64> {
        Ok(to_u64(self.layout(rows)?.end()))
    }

    #[inline]
    fn with_rows(&self, rows: usize) -> Header {
        Header { shape: self.shape(rows), ..self.header.clone() }
    }

    /// Changes the number of rows in place, with one write of the bytes that
    /// differ. `false` if the header has no room for the digits.
    #[inline]
    pub(super) fn write(&mut self, file: &File, rows: usize) -> Result<bool> {
        self.write_with(rows, |bytes, at| file::write_at(file, bytes, at))
    }

    /// Like `write`, with the function that writes bytes at an offset. If it
    /// fails, the new header may be partially written, so the old header is
    /// restored.
    fn write_with(
        &mut self,
        rows: usize,
        mut write_at: impl FnMut(&[u8], u64) -> io::Result<()>,
    ) -> Result<bool> {
        if self.has_rows(rows) {
            return Ok(true);
        }
        let Some((at, new)) = self.encode(rows)? else { return Ok(false) };
        let old = self.bytes.get_mut(at..at + new.len()).invariant(IN_BUFFER);
        // The whole header if the file may have parts of another one.
        let changed = if self.is_written { changed_range(old, &new) } else { 0..new.len() };
        let written = new.get(changed.clone()).invariant(IN_BUFFER);
        if let Err(error) = write_at(written, to_u64(at + changed.start)) {
            self.is_written = write_at(&self.bytes, 0).is_ok();
            return Err(SystemError::io("write the header", error));
        }
        old.copy_from_slice(&new);
        self.header.shape.iter_mut().skip(self.axis).take(1).for_each(|dim| *dim = rows);
        self.is_written = true;
        if at == 0 {
            self.digits = digits_of_rows(&self.bytes, self.axis);
        }
        Ok(true)
    }

    /// The bytes for this number of rows, and where they are in the header: only
    /// the digits, if there are as many as before, or else all. Encoding the header
    /// takes longer than writing a short row.
    #[inline]
    fn encode(&self, rows: usize) -> Result<Option<(usize, Vec<u8>)>> {
        let digits = rows.to_string();
        if self.is_written && digits.len() == self.digits.len() {
            return Ok(Some((self.digits.start, digits.into_bytes())));
        }
        Ok(self.with_rows(rows).encode_in_place()?.map(|bytes| (0, bytes)))
    }

    /// Replaces the file by a copy of `rows` rows, no more than it has. Programs that have
    /// the old file open keep using it.
    #[inline]
    pub(super) fn rewrite(
        &mut self,
        file: &mut File,
        lock: &mut Option<FileLock>,
        path: &Path,
        rows: usize,
    ) -> Result<()> {
        let mut header = self.with_rows(rows);
        let encoded = header.encode(Some(header.version)).or_else(|_| header.encode(None))?;
        header.version = encoded.version;
        header.data_offset = encoded.bytes.len();
        let nbytes = to_u64(header.layout()?.nbytes());
        let new = AtomicFile::replace(path, file::stat(file)?.id)?;
        new.file().write_all(&encoded.bytes).context("write the header")?;
        self.copy_elements(file, new.file(), nbytes).context("write the elements")?;
        // Once this copy is renamed, it is the only one.
        new.file().sync_all().context("sync")?;
        let head = StoredHeader::new(header, encoded.bytes)?;
        // Locked before it is renamed, so that no waiting process locks it first.
        let locking = if lock.is_some() { Locking::Try } else { Locking::Off };
        let new_lock = lock::lock_open_file(new.file(), locking)?;
        atomic::commit_over(new, file)?;
        (*self, *lock) = (head, new_lock);
        Ok(())
    }

    /// Copies `nbytes` bytes of elements to the position of `to`.
    #[inline]
    fn copy_elements(&self, mut file: &File, mut to: &File, nbytes: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(to_u64(self.header.data_offset)))?;
        let done = io::copy(&mut io::Read::take(&mut file, nbytes), &mut to)?;
        if done < nbytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { to.flush() }
    }
}

/// Where a header that this library encoded has the length of an axis.
#[inline]
fn digits_of_rows(bytes: &[u8], axis: usize) -> Range<usize> {
    // Only the shape follows the last opening parenthesis.
    let shape = bytes.iter().rposition(|&byte| byte == b'(').map_or(bytes.len(), |at| at + 1);
    let dims = bytes.get(shape..).unwrap_or_default().split_inclusive(|&byte| byte == b' ');
    let start = shape + dims.take(axis).map(<[u8]>::len).sum::<usize>();
    let digits = bytes.iter().skip(start).take_while(|byte| byte.is_ascii_digit());
    start..start + digits.count()
}

/// The smallest range that covers all differences between two headers, or between
/// the same part of both.
#[inline]
fn changed_range(old: &[u8], new: &[u8]) -> Range<usize> {
    let start = new.iter().zip(old).take_while(|(new, old)| new == old).count();
    let same = new.iter().zip(old).rev().take_while(|(new, old)| new == old).count();
    start..(new.len() - same).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Order;

    /// A file in memory. Each write takes the last limit, while there is one, and
    /// fails after that many bytes.
    struct Failing {
        bytes: Vec<u8>,
        limits: Vec<usize>,
    }

    impl Failing {
        fn write_at(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
            let at = usize::try_from(at).unwrap();
            let count = self.limits.pop().map_or(bytes.len(), |limit| bytes.len().min(limit));
            self.bytes[at..at + count].copy_from_slice(&bytes[..count]);
            if count < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }

        fn shape(&self) -> Vec<usize> {
            Header::parse(&self.bytes).unwrap().shape
        }
    }

    fn head(rows: usize) -> (StoredHeader, Failing) {
        let header = Header::new("<i4".parse().unwrap(), &[rows], Order::C).unwrap();
        let encoded = header.encode(None).unwrap();
        let header = Header::parse(&encoded.bytes).unwrap();
        let file = Failing { bytes: encoded.bytes.clone(), limits: Vec::new() };
        (StoredHeader::new(header, encoded.bytes).unwrap(), file)
    }

    #[test]
    fn changed_digits_make_the_same_header_as_encoding_all_of_it() {
        let shapes: [(&[usize], Order); 5] = [
            (&[7], Order::C),
            (&[7], Order::F),
            (&[7, 12], Order::C),
            (&[3, 10, 7], Order::F),
            (&[7, 0], Order::C),
        ];
        for (shape, order) in shapes {
            let dtype = "[('f(1, 2', '<i4', (2,)), ('y', '<f8')]".parse().unwrap();
            let encoded = Header::new(dtype, shape, order).unwrap().encode(None).unwrap();
            // Another program's spaces.
            let text = String::from_utf8_lossy(&encoded.bytes[10..]).replacen("': (", "':(", 1);
            let mut bytes = encoded.bytes.clone();
            bytes.splice(10.., text.trim_end().bytes().chain(*b"   "));
            bytes.resize(encoded.bytes.len(), b' ');
            let mut file = Failing { bytes: bytes.clone(), limits: Vec::new() };
            let mut head = StoredHeader::new(Header::parse(&bytes).unwrap(), bytes).unwrap();
            for rows in [8, 9, 10, 11, 99, 10, 100, 999, 1000, 1001, 7, 6] {
                assert!(head.write_with(rows, |bytes, at| file.write_at(bytes, at)).unwrap());
                assert_eq!(Some(&file.bytes), head.header.encode_in_place().unwrap().as_ref());
                assert_eq!((file.shape(), head.rows()), (head.shape(rows), rows));
            }
        }
    }

    #[test]
    fn a_partially_written_header_is_restored() {
        let (mut head, mut file) = head(199);
        file.limits = vec![1];
        head.write_with(204, |bytes, at| file.write_at(bytes, at)).unwrap_err();
        assert_eq!((head.rows(), file.shape()), (199, vec![199]));
        assert!(head.write_with(304, |bytes, at| file.write_at(bytes, at)).unwrap());
        assert_eq!((head.rows(), file.shape()), (304, vec![304]));
    }

    #[test]
    fn a_header_that_could_not_be_restored_is_rewritten_completely() {
        for next in [199, 299, 1000] {
            let (mut head, mut file) = head(199);
            // Writes the `20` of `204`, then nothing of the old header.
            file.limits = vec![0, 2];
            head.write_with(204, |bytes, at| file.write_at(bytes, at)).unwrap_err();
            assert_eq!(file.shape(), [209]);
            assert!(head.write_with(next, |bytes, at| file.write_at(bytes, at)).unwrap());
            assert_eq!((head.rows(), file.shape()), (next, vec![next]));
        }
    }
}
