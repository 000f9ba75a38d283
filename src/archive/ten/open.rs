//! Opens `.ten` files and their arrays.

use std::sync::Arc;

use super::read::{TenEntry, scan};
use crate::archive::entries::{EntryList, no_member};
use crate::array::{MappedArray, Place};
use crate::error::{ArchiveError, Error, Result};
use crate::layout::Order;
use crate::source::Source;
use crate::source::map::Map;
use crate::source::pages::Mapping;

use super::header::TenHeader;

/// A list of arrays in a `.ten` file.
///
/// Each array is a [`MappedArray`] that outlives the list, and is writable if
/// the source is. Elements are aligned to at least 16 bytes, so you can borrow
/// native dtypes in place.
///
/// # Examples
///
/// ```
/// use npymap::Source;
/// use npymap::ndarray::arr1;
/// use npymap::ten::{Ten, TenWriteOptions};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("batch.ten");
/// TenWriteOptions::new().infos(&["x", "y"]).save(&path, &[&arr1(&[0.5_f32]), &arr1(&[7_u8])])?;
///
/// // SAFETY: no other process writes to or truncates this file.
/// let ten = Ten::open(unsafe { Source::map(&path)? })?;
/// assert_eq!(ten.get(0)?.as_slice::<f32>()?, [0.5]);
/// assert_eq!(ten.get(ten.position("y")?)?.as_slice::<u8>()?, [7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ten<D = Map> {
    source: Arc<Source<D>>,
    /// The offset of the list in the source.
    start: u64,
    entries: Arc<EntryList<TenEntry>>,
}

impl<D> Clone for Ten<D> {
    fn clone(&self) -> Ten<D> {
        let source = Arc::clone(&self.source);
        Ten { source, start: self.start, entries: Arc::clone(&self.entries) }
    }
}

impl<D: Mapping> Ten<D> {
    /// Opens a list of arrays. An empty file is an empty list, whatever its name.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the bytes have a wrong
    /// magic, a negative length or an unknown type, or describe an array larger
    /// than the address space, and [`Truncated`](crate::ErrorKind::Truncated) if
    /// they end too early. Returns [`Io`](crate::ErrorKind::Io) if reading
    /// fails.
    pub fn open(source: Source<D>) -> Result<Ten<D>> {
        let (nbytes, source) = (source.nbytes(), Arc::new(source));
        let opened = Ten::open_range(Arc::clone(&source), 0, nbytes);
        source.storage().add_path_on_err(opened)
    }

    /// Opens the list in the `len` bytes of a source from `start` on.
    pub(crate) fn open_range(source: Arc<Source<D>>, start: u64, len: u64) -> Result<Ten<D>> {
        let storage = source.storage();
        let entries = scan(len, &|buffer: &mut [u8], offset: u64| {
            storage.read_part(&(start..start + len), buffer, offset)
        })?;
        let entries = Arc::new(EntryList::new(entries, |entry| &entry.header.info));
        Ok(Ten { source, start, entries })
    }

    /// Returns the headers of the arrays, in order.
    #[must_use]
    pub fn headers(&self) -> impl ExactSizeIterator<Item = &TenHeader> {
        self.entries.iter().map(|entry| &entry.header)
    }

    /// Returns the position of the first array with this info.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if no array has this
    /// info.
    pub fn position(&self, info: &str) -> Result<usize> {
        let first = self.entries.positions(info).first().copied();
        first.ok_or_else(|| {
            self.name_file(no_member(info, self.headers().map(|header| header.info.as_str())))
        })
    }

    /// Returns the offset of an array's elements in the source.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if there are not that
    /// many arrays.
    pub fn data_offset(&self, index: usize) -> Result<u64> {
        self.entry(index).map(|entry| self.offset(entry))
    }

    /// Opens an array by its position: in place if the source is mapped.
    /// Otherwise, it is copied into memory.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if there are not that
    /// many arrays, [`Truncated`](crate::ErrorKind::Truncated) if the file was
    /// truncated after it was opened,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the source is mapped
    /// read-write and an earlier array of the same position is still in use,
    /// and [`Io`](crate::ErrorKind::Io) if reading or mapping fails.
    pub fn get(&self, index: usize) -> Result<MappedArray<D>> {
        let entry = self.entry(index)?;
        let place = Place {
            layout: entry.header.layout()?,
            offset: self.offset(entry),
            order: Order::C,
            header: None,
        };
        let (source, position) = (&*self.source, index.to_string());
        let data = source
            .obtain_checked(place.offset, place.layout.nbytes())
            .map_err(|error| source.storage().add_path(error.with_member(&position)))?;
        Ok(MappedArray::from_place(source, data, place, Some(&position)))
    }

    /// Parses `text` as a position, in decimal without a sign or zeros before it. If it is
    /// not one, returns the position of the first array whose info is `text`.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if `text` is neither
    /// the position of an array nor an info.
    pub fn index(&self, text: &str) -> Result<usize> {
        match text.parse::<usize>() {
            Ok(index) if index < self.entries.len() && index.to_string() == text => Ok(index),
            _ => self.position(text),
        }
    }

    fn entry(&self, index: usize) -> Result<&TenEntry> {
        self.entries.get(index).ok_or_else(|| {
            let members = match self.entries.len() {
                0 => "there are no members".to_owned(),
                n => format!("members are numbered 0..{n}"),
            };
            self.name_file(ArchiveError::NoMember { asked: index.to_string(), members }.into())
        })
    }

    fn offset(&self, entry: &TenEntry) -> u64 {
        self.start + entry.offset
    }

    pub(in crate::archive) fn name_file(&self, error: Error) -> Error {
        self.source.storage().add_path(error)
    }
}
