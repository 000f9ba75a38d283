//! Reads arrays of any dtype from streams, into page-aligned memory.

use std::io::Read;

use super::{MappedArray, MappedArrayMut, OpenOptions, Origin, Place};
use crate::error::invariant::{IN_BUFFER, Invariant, READ};
use crate::error::{HeaderError, Result, SystemError};
use crate::npy::{HeaderText, fill};
use crate::source::map::MapMut;

/// How much memory is mapped before anything is read, at most. The kernel
/// provides pages only when they are accessed.
const INITIAL_LEN: usize = 64 * 1024 * 1024;

impl OpenOptions {
    /// Reads an array of any dtype from a reader into page-aligned memory. The
    /// reader is left at the first byte after the elements, so several arrays may
    /// follow each other.
    ///
    /// The size in the header is not trusted: memory grows with the bytes read.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the reader does not
    /// start with a valid `.npy` header,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the elements are
    /// Python objects, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if
    /// the header is longer than the limit,
    /// [`Truncated`](crate::ErrorKind::Truncated) if elements are missing, and
    /// [`Io`](crate::ErrorKind::Io) if the reader fails or there is not enough
    /// memory.
    ///
    /// # Examples
    ///
    /// ```
    /// let stream = std::fs::File::open("data/penguins.npy")?;
    /// let penguins = npymap::OpenOptions::new().read_from(stream)?;
    /// assert_eq!(penguins.as_slice::<f64>()?[3], 3750.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_from(&self, mut from: impl Read) -> Result<MappedArrayMut> {
        self.expect_header()?;
        let header = HeaderText::read(&mut from, self.max_header_len)?.header()?;
        let place = Place::from_header(header, 0)?;
        let data = read_elements(&mut from, place.layout.nbytes())?;
        Ok(MappedArray { place, data, origin: Origin::with_offset() })
    }
}

/// Reads `needed` bytes into memory that doubles until it holds them.
fn read_elements(from: &mut impl Read, needed: usize) -> Result<MapMut> {
    let mut data = MapMut::anonymous(needed.min(INITIAL_LEN))?;
    let mut filled = 0;
    loop {
        let rest = data.as_mut().get_mut(filled..).invariant(READ);
        let asked = rest.len();
        let found = fill(from, rest).map_err(SystemError::io("read the elements"))?;
        filled += found;
        if found < asked {
            return Err(HeaderError::Eof { what: "elements", needed, found: filled }.into());
        }
        if filled == needed {
            return Ok(data);
        }
        let larger = (filled * 2).min(needed);
        let mut larger = MapMut::anonymous(larger)?;
        let start = larger.as_mut().get_mut(..filled).invariant(IN_BUFFER);
        start.copy_from_slice(data.as_ref());
        data = larger;
    }
}
