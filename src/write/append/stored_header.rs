//! The header of a file whose number of rows changes.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;

use crate::array::OpenOptions;
use crate::error::invariant::{IN_BUFFER, Invariant, to_u64};
use crate::error::{Result, ShapeError, SystemError};
use crate::layout::Layout;
use crate::npy::Header;
use crate::source::atomic::AtomicFile;
use crate::source::file;

/// A header, and its bytes as they are in the file.
#[derive(Debug)]
pub(super) struct StoredHeader {
    header: Header,
    bytes: Vec<u8>,
    /// Whether the file has exactly these bytes: not after a failed write,
    /// which may have changed some of them.
    is_written: bool,
    axis: usize,
}

impl StoredHeader {
    pub(super) fn new(header: Header, bytes: Vec<u8>) -> Result<StoredHeader> {
        let axis = header.growing_axis().ok_or(ShapeError::NoRows)?;
        Ok(StoredHeader { header, bytes, is_written: true, axis })
    }

    /// Reads the header of a file of `len` bytes, whatever follows it.
    pub(super) fn read(file: &File, len: u64, options: &OpenOptions) -> Result<StoredHeader> {
        let header = options.read_header(file, len)?;
        let mut bytes = vec![0; header.data_offset];
        file::read_at(file, &mut bytes, 0).map_err(SystemError::io("read the header"))?;
        StoredHeader::new(header, bytes)
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// The axis that rows are counted on.
    pub(super) fn axis(&self) -> usize {
        self.axis
    }

    pub(super) fn rows(&self) -> usize {
        *self.header.shape.get(self.axis).invariant("the axis of the rows is one of the array")
    }

    /// Whether the file's header has this number of rows.
    pub(super) fn says(&self, rows: usize) -> bool {
        self.is_written && rows == self.rows()
    }

    /// The shape with another number of rows.
    pub(super) fn shape(&self, rows: usize) -> Vec<usize> {
        let mut shape = self.header.shape.clone();
        shape.iter_mut().skip(self.axis).take(1).for_each(|dim| *dim = rows);
        shape
    }

    /// Where the elements lie when there are so many rows.
    pub(super) fn layout(&self, rows: usize) -> Result<Layout> {
        let Header { dtype, order, data_offset, .. } = &self.header;
        Layout::new(dtype.clone(), &self.shape(rows), *order, *data_offset)
    }

    /// Where the file ends when there are so many rows.
    pub(super) fn end(&self, rows: usize) -> Result<u64> {
        Ok(to_u64(self.layout(rows)?.end()))
    }

    /// Where the first element starts.
    pub(super) fn data_offset(&self) -> u64 {
        to_u64(self.header.data_offset)
    }

    fn with_rows(&self, rows: usize) -> Header {
        Header { shape: self.shape(rows), ..self.header.clone() }
    }

    /// Changes the number of rows in place, with one write of the bytes that
    /// differ. False when there is no room.
    pub(super) fn write(&mut self, file: &File, rows: usize) -> Result<bool> {
        self.write_by(rows, |bytes, at| file::write_at(file, bytes, at))
    }

    /// As `write`, with the function that writes. When that fails, the old
    /// header is written again, since a part of the new one may be there.
    fn write_by(
        &mut self,
        rows: usize,
        mut put: impl FnMut(&[u8], u64) -> io::Result<()>,
    ) -> Result<bool> {
        if self.says(rows) {
            return Ok(true);
        }
        let header = self.with_rows(rows);
        let Some(bytes) = header.encode_in_place()? else { return Ok(false) };
        // All of a header that may be there in part only.
        let changed = if self.is_written { changed(&self.bytes, &bytes) } else { 0..bytes.len() };
        let new = bytes.get(changed.clone()).invariant(IN_BUFFER);
        if let Err(error) = put(new, to_u64(changed.start)) {
            self.is_written = put(&self.bytes, 0).is_ok();
            return Err(SystemError::io("write the header")(error));
        }
        (self.header, self.bytes, self.is_written) = (header, bytes, true);
        Ok(true)
    }

    /// Makes a file with so many rows, and as many of the elements as that is,
    /// that is to take the place of this one.
    pub(super) fn rewritten(
        &self,
        file: &File,
        path: &Path,
        rows: usize,
    ) -> Result<(AtomicFile, StoredHeader)> {
        let mut header = self.with_rows(rows);
        let same = header.encode(Some(header.version));
        let encoded = same.or_else(|_| header.encode(None))?;
        header.version = encoded.version;
        header.data_offset = encoded.bytes.len();
        let nbytes = to_u64(header.layout()?.nbytes());
        let new = AtomicFile::replacing(path, file::stat(file)?.id)?;
        new.file().write_all(&encoded.bytes).map_err(SystemError::io("write the header"))?;
        self.copy(file, new.file(), nbytes).map_err(SystemError::io("write the elements"))?;
        // The only other copy goes when this one gets its name.
        new.file().sync_all().map_err(SystemError::io("sync"))?;
        Ok((new, StoredHeader::new(header, encoded.bytes)?))
    }

    /// Copies elements to where `to` stands.
    fn copy(&self, mut file: &File, mut to: &File, nbytes: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(self.data_offset()))?;
        let done = io::copy(&mut io::Read::take(&mut file, nbytes), &mut to)?;
        if done < nbytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { to.flush() }
    }
}

/// The range that covers all bytes in which two texts differ.
fn changed(old: &[u8], new: &[u8]) -> Range<usize> {
    let pairs = || new.iter().zip(old);
    let start = pairs().take_while(|(new, old)| new == old).count();
    let same = pairs().rev().take_while(|(new, old)| new == old).count();
    start..new.len().saturating_sub(same).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Order;

    /// A file in memory whose writes fail after so many bytes each, for as
    /// many writes as there are limits.
    struct Failing {
        bytes: Vec<u8>,
        limits: Vec<usize>,
    }

    impl Failing {
        fn put(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
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
    fn a_header_that_was_written_in_part_is_put_back() {
        let (mut head, mut file) = head(199);
        file.limits = vec![1];
        head.write_by(204, |bytes, at| file.put(bytes, at)).unwrap_err();
        assert_eq!((head.rows(), file.shape()), (199, vec![199]));
        assert!(head.write_by(304, |bytes, at| file.put(bytes, at)).unwrap());
        assert_eq!((head.rows(), file.shape()), (304, vec![304]));
    }

    #[test]
    fn a_header_that_could_not_be_put_back_is_written_whole() {
        for next in [199, 299, 1000] {
            let (mut head, mut file) = head(199);
            // Of `204` the `20` is written, and nothing of the old header.
            file.limits = vec![0, 2];
            head.write_by(204, |bytes, at| file.put(bytes, at)).unwrap_err();
            assert_eq!(file.shape(), [209]);
            assert!(head.write_by(next, |bytes, at| file.put(bytes, at)).unwrap());
            assert_eq!((head.rows(), file.shape()), (next, vec![next]));
        }
    }
}
