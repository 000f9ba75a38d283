//! Opens `.ten` files, and hands out their arrays.
#![allow(unsafe_code)]

use std::path::Path;
use std::sync::Arc;

use super::read::{Slot, scan};
use super::{TenOptions, check_extension};
use crate::archive::names::NameIndex;
use crate::array::{self, MappedArray, MappedArrayMut, on};
use crate::error::{ArchiveError, Error, Result, excerpt};
use crate::layout::Layout;
use crate::source::Source;
use crate::source::mode::Mode;

use super::header::TenHeader;

/// A list of arrays in a `.ten` file.
///
/// Each comes as a [`MappedArray`] that lives without the list. Elements start
/// at a multiple of 16 bytes at least, so those of native dtypes can be lent
/// in place.
///
/// # Examples
///
/// ```
/// use npymap::ndarray::arr1;
/// use npymap::ten::{Ten, TenOptions};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("batch.ten");
/// TenOptions::new().infos(&["x", "y"]).save(&path, &[&arr1(&[0.5_f32]), &arr1(&[7_u8])])?;
///
/// // SAFETY: nobody changes or truncates the file meanwhile.
/// let ten = unsafe { Ten::open(&path)? };
/// assert_eq!(ten.get(0)?.as_slice::<f32>()?, [0.5]);
/// assert_eq!(ten.named("y")?.as_slice::<u8>()?, [7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ten {
    source: Arc<Source>,
    /// Where it starts in the source.
    start: u64,
    slots: Vec<Slot>,
    index: NameIndex,
}

impl TenOptions {
    /// As [`Ten::open`].
    ///
    /// # Safety
    ///
    /// As [`Ten::open`].
    ///
    /// # Errors
    ///
    /// As [`Ten::open`].
    pub unsafe fn open(&self, path: impl AsRef<Path>) -> Result<Ten> {
        // SAFETY: asks for the same promises.
        on(path.as_ref(), |path| self.of(path, || unsafe { Source::mapped(path, false) }))
    }

    /// As [`Ten::open_mut`].
    ///
    /// # Safety
    ///
    /// As [`Ten::open`].
    ///
    /// # Errors
    ///
    /// As [`Ten::open`].
    pub unsafe fn open_mut(&self, path: impl AsRef<Path>) -> Result<Ten> {
        // SAFETY: asks for the same promises.
        on(path.as_ref(), |path| self.of(path, || unsafe { Source::mapped(path, true) }))
    }

    /// As [`Ten::read`].
    ///
    /// # Errors
    ///
    /// As [`Ten::open`].
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Ten> {
        on(path.as_ref(), |path| self.of(path, || Source::read(path)))
    }

    fn of(&self, path: &Path, open: impl FnOnce() -> Result<Source>) -> Result<Ten> {
        if !self.any_extension {
            check_extension(path)?;
        }
        let source = open()?;
        let len = source.len();
        Ten::within(Arc::new(source), 0, len)
    }
}

impl Ten {
    /// Opens a file whose arrays are mapped. Its name ends in `.ten` or
    /// `.tb`; see [`TenOptions::any_extension`].
    ///
    /// # Safety
    ///
    /// As [`MappedArray::open`], for the elements of each array that is taken
    /// from it, as long as that array or a clone lives.
    ///
    /// # Errors
    ///
    /// [`Damaged`](crate::ErrorKind::Damaged) for a wrong magic, negative
    /// lengths, unknown types, other names;
    /// [`Truncated`](crate::ErrorKind::Truncated) when it ends too early;
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput),
    /// [`Io`](crate::ErrorKind::Io), those of [`Layout::new`].
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Ten> {
        // SAFETY: asks for the same promises.
        unsafe { TenOptions::new().open(path) }
    }

    /// Opens a file whose arrays can be written in place; see
    /// [`get_mut`](Ten::get_mut).
    ///
    /// # Safety
    ///
    /// As [`open`](Ten::open).
    ///
    /// # Errors
    ///
    /// As [`open`](Ten::open).
    pub unsafe fn open_mut(path: impl AsRef<Path>) -> Result<Ten> {
        // SAFETY: asks for the same promises.
        unsafe { TenOptions::new().open_mut(path) }
    }

    /// Opens a file whose arrays are copied into memory when they are asked
    /// for; safe, since nothing is mapped.
    ///
    /// # Errors
    ///
    /// As [`open`](Ten::open).
    pub fn read(path: impl AsRef<Path>) -> Result<Ten> {
        TenOptions::new().read(path)
    }

    /// Uses the list that stands in `bytes`; arrays are copied when they are
    /// asked for. For arrays in place see
    /// [`decode_buffer`](super::decode_buffer).
    ///
    /// # Errors
    ///
    /// As [`open`](Ten::open).
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Ten> {
        let source = Source::memory(Arc::new(bytes));
        let len = source.len();
        Ten::within(Arc::new(source), 0, len)
    }

    /// The list that is a part of a source.
    pub(crate) fn within(source: Arc<Source>, start: u64, len: u64) -> Result<Ten> {
        let read = |buffer: &mut [u8], at: u64| {
            let left = usize::try_from(len.saturating_sub(at)).unwrap_or(usize::MAX);
            let asked = left.min(buffer.len());
            source.read_at(buffer.get_mut(..asked).unwrap_or_default(), start.saturating_add(at))
        };
        let slots = scan(len, &read)?;
        Ok(Ten { source, start, slots, index: NameIndex::default() })
    }

    /// The path it was opened by.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.source.path()
    }

    /// The number of arrays.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True when there are no arrays.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// What the arrays are, in order.
    #[must_use]
    pub fn headers(&self) -> impl ExactSizeIterator<Item = &TenHeader> {
        self.slots.iter().map(|slot| &slot.header)
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
            |position| self.slots.get(position).map_or("", |slot: &Slot| &slot.header.info);
        let found = self.index.find(self.slots.len(), info_at, info);
        found.map(|(first, _)| first).ok_or_else(|| {
            let shown: Vec<_> = self.infos().take(8).map(|info| format!("`{info}`")).collect();
            let has = match self.len() {
                0 => "are none".to_owned(),
                n if n > 8 => format!("are {} and {} more", shown.join(", "), n - 8),
                _ => format!("are {}", shown.join(", ")),
            };
            self.named_file(ArchiveError::NoMember { asked: excerpt(info), has }.into())
        })
    }

    /// Where the elements of an array start in the file.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound).
    pub fn data_offset(&self, index: usize) -> Result<u64> {
        self.slot(index).map(|slot| self.offset(slot))
    }

    /// Opens an array by its position, read-only: in place, or copied into
    /// memory of its own.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), [`Io`](crate::ErrorKind::Io).
    pub fn get(&self, index: usize) -> Result<MappedArray> {
        self.made(index, Mode::ReadOnly, |offset, len| self.source.map(offset, len))
    }

    /// Opens an array by its name, read-only; the first of equal ones.
    ///
    /// # Errors
    ///
    /// As [`get`](Ten::get).
    pub fn named(&self, info: &str) -> Result<MappedArray> {
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

    /// Opens an array so that it can be written, which changes no file.
    ///
    /// # Errors
    ///
    /// As [`get`](Ten::get).
    pub fn get_copy_on_write(&self, index: usize) -> Result<MappedArrayMut> {
        self.made(index, Mode::CopyOnWrite, |offset, len| self.source.map_private(offset, len))
    }

    /// Opens an array read-write: what is stored goes to the file, which must
    /// have been opened by [`open_mut`](Ten::open_mut). One that was copied
    /// changes no file.
    ///
    /// # Safety
    ///
    /// As [`MappedArray::open_mut`]; other arrays taken of the same position
    /// are such other maps.
    ///
    /// # Errors
    ///
    /// As [`get`](Ten::get).
    pub unsafe fn get_mut(&self, index: usize) -> Result<MappedArrayMut> {
        self.made(index, Mode::ReadWrite, |offset, len| {
            // SAFETY: asks for the same promises.
            unsafe { self.source.map_shared(offset, len) }
        })
    }

    fn slot(&self, index: usize) -> Result<&Slot> {
        self.slots.get(index).ok_or_else(|| {
            let has = match self.len() {
                0 => "are none".to_owned(),
                n => format!("are {n}, from 0"),
            };
            self.named_file(ArchiveError::NoMember { asked: index.to_string(), has }.into())
        })
    }

    fn offset(&self, slot: &Slot) -> u64 {
        self.start.saturating_add(slot.offset)
    }

    fn made<D>(
        &self,
        index: usize,
        mode: Mode,
        map: impl FnOnce(u64, usize) -> Result<D>,
    ) -> Result<MappedArray<D>> {
        let slot = self.slot(index)?;
        let position = index.to_string();
        let layout: Layout = slot.header.layout()?;
        let data = map(self.offset(slot), layout.nbytes())
            .map_err(|error| self.named_file(error.of_member(&position)))?;
        let (path, mode) = (self.source.path(), self.source.mode(mode));
        let offset = Some(self.offset(slot));
        let from = array::Member { path, name: &position, mode, offset, id: self.source.id() };
        Ok(MappedArray::of_member(data, layout, None, from))
    }

    fn named_file(&self, error: Error) -> Error {
        match self.source.path() {
            Some(path) => error.at(path),
            None => error,
        }
    }
}
