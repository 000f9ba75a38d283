//! Finds arrays in members of archives.

use std::io::Read;

use super::Place;
use crate::error::invariant::{Invariant, READ, to_usize_saturating};
use crate::error::{HeaderError, Result, SystemError};
use crate::npy::{Header, HeaderText, MAGIC, fill};

/// What a member of an archive is.
pub(crate) enum Found {
    /// A `.npy`: its header, and its place if the member starts at byte 0.
    Array(Box<Header>, Place),
    /// Something else, which starts with these bytes.
    Other(Vec<u8>),
}

impl Found {
    /// The array, or an error that says what is there instead.
    pub(crate) fn array(self) -> Result<Place> {
        match self {
            Found::Array(_, place) => Ok(place),
            Found::Other(found) => Err(HeaderError::Magic { found }.into()),
        }
    }

    /// The header, if it is an array.
    pub(crate) fn header(self) -> Option<Header> {
        match self {
            Found::Array(header, _) => Some(*header),
            Found::Other(_) => None,
        }
    }
}

/// Finds the array that a member of `size` bytes is, and checks that all its
/// elements are there. As in NumPy, the magic bytes tell, not the name.
pub(crate) fn find(from: &mut impl Read, size: u64, max_header_len: usize) -> Result<Found> {
    let mut magic = [0; MAGIC.len()];
    let found = fill(from, &mut magic).map_err(SystemError::io("read the header"))?;
    let magic = magic.get(..found).invariant(READ);
    if magic != MAGIC {
        return Ok(Found::Other(magic.to_vec()));
    }
    let header = HeaderText::read(magic.chain(from), max_header_len)?.header()?;
    let place = Place::of(&header, 0)?;
    if place.end().is_none_or(|end| end > size) {
        let needed = place.layout.nbytes();
        let left = size.saturating_sub(place.offset);
        let found = to_usize_saturating(left);
        return Err(HeaderError::Eof { what: "elements", needed, found }.into());
    }
    Ok(Found::Array(Box::new(header), place))
}
