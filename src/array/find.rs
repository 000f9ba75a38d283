//! Finds arrays in members of archives.

use std::io::Read;

use crate::error::{Error, HeaderError, Result, SystemError};
use crate::layout::Layout;
use crate::npy::{Header, HeaderText, MAGIC, fill};

/// What a `.npy` member is; or the first bytes of what is none.
pub(crate) type Found = Result<(Header, Layout), Vec<u8>>;

/// Finds the array that a member of `size` bytes is, and checks that all its
/// elements are there. As in NumPy, the magic bytes tell, not the name.
pub(crate) fn find(from: &mut impl Read, size: u64, max_header_len: usize) -> Result<Found> {
    let mut magic = [0; MAGIC.len()];
    let found = fill(from, &mut magic).map_err(SystemError::io("read the header"))?;
    let magic = magic.get(..found).unwrap_or_default();
    if magic != MAGIC {
        return Ok(Err(magic.to_vec()));
    }
    let header = HeaderText::read(magic.chain(from), max_header_len)?.header()?;
    let layout = header.layout().map_err(Error::in_contents)?;
    let held = usize::try_from(size).unwrap_or(usize::MAX);
    if layout.end() > held {
        let (needed, found) = (layout.nbytes(), held.saturating_sub(layout.offset()));
        return Err(HeaderError::Eof { what: "elements", needed, found }.into());
    }
    Ok(Ok((header, layout)))
}
