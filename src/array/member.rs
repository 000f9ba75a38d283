//! Finds arrays in the members of archives.

use std::io::Read;

use super::Place;
use crate::error::invariant::{Invariant, READ, to_usize_saturating};
use crate::error::{HeaderError, IoContext as _, Result};
use crate::npy::{Header, HeaderText, MAGIC, fill};

/// The contents of an archive member.
pub(crate) enum MemberContent {
    /// A `.npy`, with a place that counts from the start of the member.
    Array(Box<Place>),
    /// Something else, which starts with these bytes.
    Other(Vec<u8>),
}

impl MemberContent {
    /// Reads the header of a member of `size` bytes, and checks that the member
    /// contains all elements. As in NumPy, the magic bytes decide whether it is
    /// an array, not the name.
    pub(crate) fn read(
        from: &mut impl Read,
        size: u64,
        max_header_len: usize,
    ) -> Result<MemberContent> {
        let mut magic = [0; MAGIC.len()];
        let found = fill(from, &mut magic).context("read the header")?;
        let magic = magic.get(..found).invariant(READ);
        if magic != MAGIC {
            return Ok(MemberContent::Other(magic.to_vec()));
        }
        let header = HeaderText::read(magic.chain(from), max_header_len)?.header()?;
        let place = Place::from_header(header, 0)?;
        if !place.end().is_ok_and(|end| end <= size) {
            let needed = place.layout.nbytes();
            let found = to_usize_saturating(size - place.offset.min(size));
            return Err(HeaderError::Eof { what: "elements", needed, found }.into());
        }
        Ok(MemberContent::Array(Box::new(place)))
    }

    /// The place of the array, or an error with the bytes found instead.
    #[inline]
    pub(crate) fn into_place(self) -> Result<Place> {
        match self {
            MemberContent::Array(place) => Ok(*place),
            MemberContent::Other(found) => Err(HeaderError::Magic { found }.into()),
        }
    }

    /// The header, if the member is an array.
    #[inline]
    pub(crate) fn into_header(self) -> Option<Header> {
        match self {
            MemberContent::Array(place) => place.header,
            MemberContent::Other(_) => None,
        }
    }
}
