//! Where an array lies in a file: as its header says, or a [`RawSpec`].

use std::fs::File;

use super::OpenOptions;
use crate::dtype::literal::tuple;
use crate::error::{Error, ExtentError, Result, ShapeError, SystemError};
use crate::layout::{Layout, Order};
use crate::npy::{Header, Preamble, Version};
use crate::source::file;

/// Enough for any header without many fields.
const FIRST_READ: usize = 1024;
const FIRST_READ_END: u64 = 1024;

/// How often a header that makes no sense is looked at again.
const LOOKS: usize = 3;

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
    pub(crate) fn of(header: &Header, at: u64) -> Result<Place> {
        let layout = header.layout().map_err(Error::in_contents)?.at(0);
        let offset = u64::try_from(header.data_offset).ok().and_then(|own| at.checked_add(own));
        let offset = offset.ok_or_else(|| too_large(&layout).in_contents())?;
        let (order, header) = (header.order, Some((header.version, header.data_offset)));
        Ok(Place { layout, offset, order, header })
    }

    /// Where in the file the last element ends; `None` beyond all files.
    pub(crate) fn end(&self) -> Option<u64> {
        self.offset.checked_add(u64::try_from(self.layout.nbytes()).ok()?)
    }

    /// Finds all elements in a file of so many bytes.
    pub(crate) fn inside(self, len: u64) -> Result<Place> {
        match self.end() {
            Some(end) if end <= len => Ok(self),
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
    /// Finds an array, with all its elements, in a file of `len` bytes.
    pub(crate) fn place(&self, file: &File, len: u64) -> Result<Place> {
        let place = match &self.raw {
            Some(_) if len == 0 => Err(ExtentError::Empty.into()),
            Some(raw) => raw.place(self.at, len).and_then(|place| place.inside(len)),
            None => settled(file, len, |len| {
                let header = self.read_header(file, len)?;
                Place::of(&header, self.at)?.inside(len)
            }),
        };
        place.map_err(|error| error.inside(self.at))
    }

    /// Reads the header of an array that is there with all its elements, in a
    /// file of `len` bytes.
    pub(crate) fn whole_header(&self, file: &File, len: u64) -> Result<Header> {
        let found = settled(file, len, |len| {
            let header = self.read_header(file, len)?;
            Place::of(&header, self.at)?.inside(len)?;
            Ok(header)
        });
        found.map_err(|error| error.inside(self.at))
    }

    /// As [`place`](OpenOptions::place), in a file that may be written: raw
    /// arrays with a shape make it as long as they are.
    pub(crate) fn place_mut(&self, file: &File, len: u64) -> Result<Place> {
        let Some(raw) = self.raw.as_ref().filter(|raw| raw.grows) else {
            return self.place(file, len);
        };
        let place = raw.place(self.at, len).map_err(|error| error.inside(self.at))?;
        let end = place.end().ok_or_else(|| place.too_large())?;
        if end > len && place.layout.nbytes() > 0 {
            file::extend(file, len, end).map_err(SystemError::io("make it longer"))?;
        }
        Ok(place)
    }

    /// Reads the header, with one call unless it is long, then with two.
    pub(crate) fn read_header(&self, file: &File, len: u64) -> Result<Header> {
        let mut first = [0; FIRST_READ];
        let filled = read_at(file, &mut first, self.at)?;
        let start = first.get(..filled).unwrap_or_default();
        let preamble = Preamble::parse(start)?;
        let end = usize::try_from(preamble.data_offset()).unwrap_or(usize::MAX);
        if end <= filled || filled < FIRST_READ || preamble.exceeds(self.max_header_len) {
            return Header::behind(preamble, start, self.max_header_len);
        }
        let mut whole = start.to_vec();
        let there = len.saturating_sub(self.at).max(FIRST_READ_END);
        whole.resize(end.min(usize::try_from(there).unwrap_or(usize::MAX)), 0);
        let rest = whole.get_mut(FIRST_READ..).unwrap_or_default();
        let found = FIRST_READ + read_at(file, rest, self.at.saturating_add(FIRST_READ_END))?;
        Header::behind(preamble, whole.get(..found).unwrap_or_default(), self.max_header_len)
    }
}

/// Looks at a file of `len` bytes.
///
/// Who adds rows meanwhile writes first behind the elements and then to the
/// header, so one that doesn't fit the file is looked at again.
fn settled<T>(file: &File, mut len: u64, look: impl Fn(u64) -> Result<T>) -> Result<T> {
    let mut again = 0..LOOKS;
    loop {
        match look(len) {
            Err(error) if error.is_about_contents() && again.next().is_some() => {
                len = file::len(file)?;
            }
            found => return found,
        }
    }
}

/// Reads part of the header.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> Result<usize> {
    file::read_at(file, buffer, offset).map_err(SystemError::io("read the header"))
}
