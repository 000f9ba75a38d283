//! The digest of an array: the same for equal arrays, however they are stored.

use npymap::{ByteOrder, MappedArray, Order, Result};
use sha2::{Digest as _, Sha256};

use crate::input::input_rows::each_block;
use crate::input::progress::Progress;

/// SHA-256 of the elements in C order, with little-endian numbers and zeroed
/// padding, in hexadecimal.
pub(crate) fn sha256(array: &MappedArray) -> Result<String> {
    let mut progress = Progress::new(array.nbytes());
    let mut hasher = Sha256::new();
    each_block(array, Order::C, &mut |block| {
        let blocks = block.byte_blocks().byte_order(ByteOrder::Little).zero_padding();
        blocks.try_for_each(|block| {
            hasher.update(block);
            progress.add(block.len());
            Ok(())
        })
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
