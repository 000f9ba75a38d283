//! The header of a file whose number of rows changes.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::array::OpenOptions;
use crate::error::{ErrorKind, Result};
use crate::layout::Layout;
use crate::npy::Header;
use crate::source::file;
use crate::source::replace::Replacement;

/// A header, and its bytes as they stand in the file.
#[derive(Debug)]
pub(super) struct Head {
    header: Header,
    bytes: Vec<u8>,
    axis: usize,
}

impl Head {
    pub(super) fn new(header: Header, bytes: Vec<u8>) -> Result<Head> {
        let axis = header.growing_axis().ok_or(ErrorKind::NoRows)?;
        Ok(Head { header, bytes, axis })
    }

    /// Reads the header of a file of `len` bytes, whatever follows it.
    pub(super) fn read(file: &File, len: u64, options: &OpenOptions) -> Result<Head> {
        let header = options.read_header(file, len)?;
        let mut bytes = vec![0; header.data_offset];
        file::read_at(file, &mut bytes, 0).map_err(ErrorKind::io("read the header"))?;
        Head::new(header, bytes)
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// The axis that rows are counted on.
    pub(super) fn axis(&self) -> usize {
        self.axis
    }

    pub(super) fn rows(&self) -> usize {
        self.header.shape.get(self.axis).copied().unwrap_or(0)
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
        Ok(u64::try_from(self.layout(rows)?.end()).unwrap_or(u64::MAX))
    }

    /// Where the first element starts.
    pub(super) fn data_offset(&self) -> u64 {
        u64::try_from(self.header.data_offset).unwrap_or(u64::MAX)
    }

    fn with_rows(&self, rows: usize) -> Header {
        Header { shape: self.shape(rows), ..self.header.clone() }
    }

    /// Changes the number of rows where it stands, with one write of the bytes
    /// that differ. False when there is no room.
    pub(super) fn write(&mut self, file: &File, rows: usize) -> Result<bool> {
        let header = self.with_rows(rows);
        let Some(bytes) = header.encode_in_place()? else { return Ok(false) };
        let pairs = || bytes.iter().zip(&self.bytes);
        let start = pairs().take_while(|(new, old)| new == old).count();
        let same = pairs().rev().take_while(|(new, old)| new == old).count();
        let end = bytes.len().saturating_sub(same).max(start);
        let at = u64::try_from(start).unwrap_or(u64::MAX);
        file::write_at(file, bytes.get(start..end).unwrap_or_default(), at)
            .map_err(ErrorKind::io("write the header"))?;
        (self.header, self.bytes) = (header, bytes);
        Ok(true)
    }

    /// Makes a file with so many rows, and as many of the elements as that is,
    /// that is to take the place of this one.
    pub(super) fn rewritten(
        &self,
        file: &File,
        path: &Path,
        rows: usize,
    ) -> Result<(Replacement, Head)> {
        let mut header = self.with_rows(rows);
        let same = header.encode(Some(header.version));
        let encoded = same.or_else(|_| header.encode(None))?;
        header.version = encoded.version;
        header.data_offset = encoded.bytes.len();
        let nbytes = u64::try_from(header.layout()?.nbytes()).unwrap_or(u64::MAX);
        if !is_at(file, path)? {
            let moved = io::Error::other("another file has its name");
            return Err(ErrorKind::io("replace")(moved));
        }
        let new = Replacement::begin(path, true)?;
        new.file().write_all(&encoded.bytes).map_err(ErrorKind::io("write the header"))?;
        self.copy(file, new.file(), nbytes).map_err(ErrorKind::io("write the elements"))?;
        // The only other copy goes when this one gets its name.
        new.file().sync_all().map_err(ErrorKind::io("sync"))?;
        Ok((new, Head::new(header, encoded.bytes)?))
    }

    /// Copies elements to where `to` stands.
    fn copy(&self, mut file: &File, mut to: &File, nbytes: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(self.data_offset()))?;
        let done = io::copy(&mut io::Read::take(&mut file, nbytes), &mut to)?;
        if done < nbytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { to.flush() }
    }
}

/// True when the file is the one a path leads to, as far as the system tells.
fn is_at(file: &File, path: &Path) -> Result<bool> {
    Ok(file::stat(file)?.id == file::open(path, false)?.1.id)
}
