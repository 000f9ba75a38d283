//! Where an array lies in a file: as its header says, or a [`RawSpec`].

use std::thread;
use std::time::Duration;

use super::{OpenOptions, RawSpec};
use crate::dtype::literal::tuple;
use crate::error::invariant::{IN_BUFFER, Invariant, READ, to_usize_saturating};
use crate::error::{
    Error, ErrorDetail, ExtentError, HeaderError, RequestError, Result, ShapeError, SystemError,
};
use crate::layout::{Layout, Order};
use crate::npy::{Header, Preamble, Version};
use crate::source::Source;
use crate::source::mode::Mode;
use crate::source::storage::{self, ReadAt, Storage};

/// Enough for any header without many fields.
const FIRST_READ: usize = 1024;
const FIRST_READ_END: u64 = 1024;

/// How often a file is looked at again.
const RETRIES: usize = 2;

/// Time for a header that is being written to be whole. The write is one call
/// of a few bytes.
const PAUSE: Duration = Duration::from_micros(200);

/// Where an array lies in a file.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// How its elements lie from the first on.
    pub(crate) layout: Layout,
    /// Where in the file the first one is.
    pub(crate) offset: u64,
    pub(crate) order: Order,
    /// The header's version and length, if there is one.
    pub(crate) header: Option<(Version, usize)>,
}

impl Place {
    /// The place of an array whose header starts at `at`.
    pub(crate) fn from_header(header: &Header, at: u64) -> Result<Place> {
        let layout = header.layout().map_err(Error::treat_as_damage)?.with_offset(0);
        let offset = u64::try_from(header.data_offset).ok().and_then(|own| at.checked_add(own));
        let offset = offset.ok_or_else(|| too_large(&layout).treat_as_damage())?;
        let (order, header) = (header.order, Some((header.version, header.data_offset)));
        Ok(Place { layout, offset, order, header })
    }

    /// The place of an array of a member that starts at `start` of a file.
    #[cfg(any(feature = "npz", feature = "tar"))]
    pub(crate) fn moved_by(self, start: u64) -> Place {
        let offset = self.offset.saturating_add(start);
        let data_offset = to_usize_saturating(offset);
        let header = self.header.map(|(version, _)| (version, data_offset));
        Place { offset, header, ..self }
    }

    /// The header, if the array has one.
    pub(crate) fn header(&self) -> Option<Header> {
        let (version, data_offset) = self.header?;
        let (dtype, shape) = (self.layout.dtype().clone(), self.layout.shape().to_vec());
        Some(Header { dtype, shape, order: self.order, version, data_offset })
    }

    /// Where in the file the last element ends; `None` beyond all files.
    pub(crate) fn end(&self) -> Option<u64> {
        self.offset.checked_add(u64::try_from(self.layout.nbytes()).ok()?)
    }

    /// An error unless a file of so many bytes has all elements.
    pub(crate) fn check_inside(&self, len: u64) -> Result<()> {
        match self.end() {
            Some(end) if end <= len => Ok(()),
            Some(needed) => Err(ExtentError::ShortFile { needed, found: len }.into()),
            None => Err(self.too_large()),
        }
    }

    pub(crate) fn too_large(&self) -> Error {
        too_large(&self.layout)
    }
}

fn too_large(layout: &Layout) -> Error {
    let (shape, itemsize) = (tuple(layout.shape()), layout.dtype().itemsize());
    ShapeError::Size { shape, itemsize }.into()
}

impl OpenOptions {
    /// Finds the array that a source holds, with all its elements. A file that
    /// may be written is made as long as a raw array with a shape.
    pub(super) fn place_in<D>(&self, source: &Source<D>) -> Result<Place> {
        let storage = source.storage();
        match &self.raw {
            Some(raw) if raw.grows && source.mode() == Some(Mode::ReadWrite) => {
                self.make_room(raw, storage)
            }
            _ => self.place(storage),
        }
    }

    /// Finds an array, with all its elements.
    pub(crate) fn place(&self, storage: &Storage) -> Result<Place> {
        let len = storage.len();
        let place = match &self.raw {
            Some(_) if len == 0 => Err(ExtentError::Empty.into()),
            Some(raw) => self.raw_place(raw, len),
            None => settled(storage, |len| {
                let header = self.read_header(storage, len)?;
                let place = Place::from_header(&header, self.offset)?;
                place.check_inside(len)?;
                Ok(place)
            }),
        };
        place.map_err(|error| error.with_offset(self.offset))
    }

    /// The place of a raw array in a file of so many bytes, which has it all.
    fn raw_place(&self, raw: &RawSpec, len: u64) -> Result<Place> {
        let place = raw.place(self.offset, len)?;
        place.check_inside(len)?;
        Ok(place)
    }

    /// Reads the header of an array that is there with all its elements.
    pub(super) fn whole_header(&self, storage: &Storage) -> Result<Header> {
        self.expect_header()?;
        let place = self.place(storage)?;
        Ok(place.header().invariant("only raw binary has no header"))
    }

    /// Refuses to look for a header where raw binary was announced.
    pub(super) fn expect_header(&self) -> Result<()> {
        if self.raw.is_none() {
            return Ok(());
        }
        let value = "raw binary has no header".to_owned();
        let expected = "options without `raw`; `open` checks raw binary".to_owned();
        Err(RequestError::Argument { found: value, expected }.into())
    }

    /// Finds a raw array, and makes the file as long as it is.
    fn make_room(&self, raw: &RawSpec, storage: &Storage) -> Result<Place> {
        let len = storage.len();
        let place = raw.place(self.offset, len).map_err(|error| error.with_offset(self.offset))?;
        let end = place.end().ok_or_else(|| place.too_large())?;
        if end > len && place.layout.nbytes() > 0 {
            storage.extend(len, end)?;
        }
        Ok(place)
    }

    /// Reads the header, with one call unless it is long, then with two.
    pub(crate) fn read_header(&self, from: &(impl ReadAt + ?Sized), len: u64) -> Result<Header> {
        let mut first = [0; FIRST_READ];
        let filled = read_at(from, &mut first, self.offset)?;
        let start = first.get(..filled).invariant(READ);
        let preamble = Preamble::parse(start)?;
        let end = to_usize_saturating(preamble.data_offset());
        if end <= filled || filled < FIRST_READ || preamble.exceeds(self.max_header_len) {
            return Header::parse_after(preamble, start, self.max_header_len);
        }
        let mut whole = start.to_vec();
        let there = len.saturating_sub(self.offset).max(FIRST_READ_END);
        whole.resize(end.min(to_usize_saturating(there)), 0);
        let rest = whole.get_mut(FIRST_READ..).invariant(IN_BUFFER);
        let found = FIRST_READ + read_at(from, rest, self.offset.saturating_add(FIRST_READ_END))?;
        Header::parse_after(preamble, whole.get(..found).invariant(READ), self.max_header_len)
    }
}

/// Looks at storage of some length, and again if an append can have come in
/// between.
///
/// An appender writes rows first and the header after them. So the length that
/// was asked before the header was read may be too small for it, and the
/// header may be seen half written.
fn settled<T>(storage: &Storage, look: impl Fn(u64) -> Result<T>) -> Result<T> {
    retried(storage.len(), || storage.current_len(), || thread::sleep(PAUSE), look)
}

/// As [`settled`], with the length asked by `measure` and time spent by
/// `pause`.
fn retried<T>(
    mut len: u64,
    measure: impl Fn() -> Result<u64>,
    pause: impl Fn(),
    look: impl Fn(u64) -> Result<T>,
) -> Result<T> {
    let mut left = RETRIES;
    loop {
        let error = match look(len) {
            Err(error) if left > 0 => error,
            found => return found,
        };
        left -= 1;
        match error.detail() {
            ErrorDetail::Extent(ExtentError::ShortFile { .. }) => {
                let before = len;
                len = measure()?;
                if len == before {
                    return Err(error);
                }
            }
            ErrorDetail::Header(
                HeaderError::Syntax { .. } | HeaderError::Value { .. } | HeaderError::Keys { .. },
            ) => {
                pause();
                len = measure()?;
            }
            _ => return Err(error),
        }
    }
}

/// Reads part of the header.
fn read_at(from: &(impl ReadAt + ?Sized), buffer: &mut [u8], offset: u64) -> Result<usize> {
    storage::read_full_at(from, buffer, offset).map_err(SystemError::io("read the header"))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How often a file is looked at, and how often there is a pause, when
    /// every look fails with this error and the file grows by `grows`.
    fn looks(kind: impl Fn() -> Error, grows: u64) -> (usize, usize) {
        let (looks, pauses, len) = (Cell::new(0), Cell::new(0), Cell::new(100));
        let measure = || {
            len.set(len.get() + grows);
            Ok(len.get())
        };
        let failed = retried::<()>(
            100,
            measure,
            || pauses.set(pauses.get() + 1),
            |_| {
                looks.set(looks.get() + 1);
                Err(kind())
            },
        );
        assert!(failed.is_err());
        (looks.get(), pauses.get())
    }

    #[test]
    fn only_what_an_append_can_cause_is_looked_at_again() {
        let short = || ExtentError::ShortFile { needed: 200, found: 100 }.into();
        assert_eq!(looks(short, 0), (1, 0));
        assert_eq!(looks(short, 1), (RETRIES + 1, 0));
        assert_eq!(looks(|| HeaderError::Magic { found: Vec::new() }.into(), 1), (1, 0));
        assert_eq!(looks(|| ExtentError::Empty.into(), 1), (1, 0));
        let half_written = b"\x93NUMPY\x01\x00\x04\x00{'a\n";
        let (looks, pauses) = (Cell::new(0), Cell::new(0));
        let found = retried(
            100,
            || Ok(100),
            || pauses.set(pauses.get() + 1),
            |_| {
                looks.set(looks.get() + 1);
                if looks.get() <= RETRIES { Header::parse(half_written).map(drop) } else { Ok(()) }
            },
        );
        assert!(found.is_ok());
        assert_eq!((looks.get(), pauses.get()), (RETRIES + 1, RETRIES));
    }
}
