//! Opens `.ten` files, and hands out their arrays.

use std::path::Path;
use std::sync::Arc;

use super::check_extension;
use super::read::{TenEntry, scan};
use crate::archive::names::NameIndex;
use crate::array::{MappedArray, Place};
use crate::error::invariant::{IN_BUFFER, Invariant, to_usize_saturating};
use crate::error::{ArchiveError, Error, Result, excerpt};
use crate::layout::Order;
use crate::source::Source;
use crate::source::map::Map;
use crate::source::pages::Mapping;

use super::header::TenHeader;

/// A list of arrays in a `.ten` file.
///
/// Each array is a [`MappedArray`] that outlives the list, and can be written
/// if the source's arrays can. Elements start at a multiple of 16 bytes at
/// least, so those of native dtypes can be borrowed in place.
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
/// // SAFETY: nobody changes or truncates the file meanwhile.
/// let ten = Ten::open(unsafe { Source::map(&path)? })?;
/// assert_eq!(ten.get(0)?.as_slice::<f32>()?, [0.5]);
/// assert_eq!(ten.get_by_info("y")?.as_slice::<u8>()?, [7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ten<D = Map> {
    source: Arc<Source<D>>,
    /// Where it starts in the source.
    start: u64,
    entries: Vec<TenEntry>,
    index: NameIndex,
}

impl<D> Clone for Ten<D> {
    fn clone(&self) -> Ten<D> {
        let source = Arc::clone(&self.source);
        let (entries, index) = (self.entries.clone(), self.index.clone());
        Ten { source, start: self.start, entries, index }
    }
}

/// How to open a list of arrays.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct TenOptions {
    any_extension: bool,
}

impl TenOptions {
    /// The defaults: file names that end in `.ten` or `.tb`.
    pub fn new() -> TenOptions {
        TenOptions::default()
    }

    /// Lets file names end in something else than `.ten` or `.tb`:
    /// webdataset's `nocheck`.
    pub fn any_extension(self, any: bool) -> TenOptions {
        TenOptions { any_extension: any }
    }

    /// Opens the list that a source holds.
    ///
    /// # Errors
    ///
    /// As [`Ten::open`].
    pub fn open<D: Mapping>(&self, source: Source<D>) -> Result<Ten<D>> {
        let source = Arc::new(source);
        let opened = || {
            if let Some(path) = source.path().filter(|_| !self.any_extension) {
                check_extension(path)?;
            }
            Ten::open_range(Arc::clone(&source), 0, source.nbytes())
        };
        source.storage().add_path_on_err(opened())
    }
}

impl<D: Mapping> Ten<D> {
    /// Opens the list that a source holds. If that has a name, it ends in
    /// `.ten` or `.tb`; see [`TenOptions::any_extension`].
    ///
    /// # Errors
    ///
    /// [`Damaged`](crate::ErrorKind::Damaged) for a wrong magic, negative lengths, unknown
    /// types, other names; [`Truncated`](crate::ErrorKind::Truncated) when it ends too early;
    /// [`Unsupported`](crate::ErrorKind::Unsupported), [`Io`](crate::ErrorKind::Io), those of
    /// [`Layout::new`](crate::layout::Layout::new).
    pub fn open(source: Source<D>) -> Result<Ten<D>> {
        TenOptions::new().open(source)
    }

    /// The list that is a part of a source.
    pub(crate) fn open_range(source: Arc<Source<D>>, start: u64, len: u64) -> Result<Ten<D>> {
        let read = |buffer: &mut [u8], at: u64| {
            let left = to_usize_saturating(len.saturating_sub(at));
            let asked = left.min(buffer.len());
            source
                .storage()
                .read_at(buffer.get_mut(..asked).invariant(IN_BUFFER), start.saturating_add(at))
        };
        let entries = scan(len, &read)?;
        Ok(Ten { source, start, entries, index: NameIndex::default() })
    }

    /// The path it was opened by.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.source.path()
    }

    /// The number of arrays.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there are no arrays.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What the arrays are, in order.
    #[must_use]
    pub fn headers(&self) -> impl ExactSizeIterator<Item = &TenHeader> {
        self.entries.iter().map(|entry| &entry.header)
    }

    /// Their names, often empty.
    #[must_use]
    pub fn infos(&self) -> impl ExactSizeIterator<Item = &str> {
        self.headers().map(|header| header.info.as_str())
    }

    /// The position of the first array of this name.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound).
    pub fn position(&self, info: &str) -> Result<usize> {
        let info_at =
            |position| self.entries.get(position).map_or("", |entry: &TenEntry| &entry.header.info);
        let found = self.index.find(self.entries.len(), info_at, info);
        found.map(|(first, _)| first).ok_or_else(|| {
            let shown: Vec<_> = self.infos().take(8).map(|info| format!("`{info}`")).collect();
            let members = match self.len() {
                0 => "there are no members".to_owned(),
                1 => format!("the only member is {}", shown.join(", ")),
                n if n > 8 => format!("the members are {} and {} more", shown.join(", "), n - 8),
                _ => format!("the members are {}", shown.join(", ")),
            };
            self.name_file(ArchiveError::NoMember { asked: excerpt(info), members }.into())
        })
    }

    /// Where the elements of an array start in the file.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound).
    pub fn data_offset(&self, index: usize) -> Result<u64> {
        self.entry(index).map(|entry| self.offset(entry))
    }

    /// Opens an array by its position: in place, or copied into memory of its
    /// own.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), [`Io`](crate::ErrorKind::Io), [`Io`](crate::ErrorKind::Io);
    /// [`Truncated`](crate::ErrorKind::Truncated) when the file was truncated since it was opened;
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when what is stored would go to the file, and
    /// another array of the same position is in use.
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

    /// Opens an array by its name; the first of equal ones.
    ///
    /// # Errors
    ///
    /// As [`get`](Ten::get).
    pub fn get_by_info(&self, info: &str) -> Result<MappedArray<D>> {
        self.get(self.position(info)?)
    }

    /// The position that digits say, or else that of the first array of this
    /// name.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound).
    pub fn index(&self, text: &str) -> Result<usize> {
        match text.parse() {
            Ok(index) if index < self.len() => Ok(index),
            _ => self.position(text),
        }
    }

    fn entry(&self, index: usize) -> Result<&TenEntry> {
        self.entries.get(index).ok_or_else(|| {
            let members = match self.len() {
                0 => "there are no members".to_owned(),
                n => format!("members are numbered 0..{n}"),
            };
            self.name_file(ArchiveError::NoMember { asked: index.to_string(), members }.into())
        })
    }

    fn offset(&self, entry: &TenEntry) -> u64 {
        self.start.saturating_add(entry.offset)
    }

    fn name_file(&self, error: Error) -> Error {
        self.source.storage().add_path(error)
    }
}
