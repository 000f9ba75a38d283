//! The digest of an array: the same for equal arrays, however they are stored.

use npymap::{ByteOrder, MappedArray, Result};
use sha2::{Digest as _, Sha256};

use crate::input::progress::Progress;

/// SHA-256 of the elements in C order, with little-endian numbers and zeroed
/// padding, in hexadecimal.
pub(crate) fn sha256(array: &MappedArray) -> Result<String> {
    let mut progress = Progress::new(array.nbytes());
    let mut hasher = Sha256::new();
    let blocks = array.dyn_view()?.byte_blocks().byte_order(ByteOrder::Little).zero_padding();
    blocks.try_for_each(|block| {
        hasher.update(block);
        progress.add(block.len());
        Ok::<(), npymap::Error>(())
    })?;
    Ok(hex(&hasher.finalize()))
}

/// Bytes in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
