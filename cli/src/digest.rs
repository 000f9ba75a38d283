//! The digest of an array: the same for equal arrays, however they are stored.

use npymap::{ByteOrder, MappedArray, Order};
use sha2::{Digest as _, Sha256};

use crate::plan::{Padding, Plan};
use crate::progress::Progress;
use crate::region::Region;

/// SHA-256 of the elements in C order, each number little-endian, bytes no
/// field covers as zero, in hexadecimal.
pub(crate) fn sha256(array: MappedArray) -> String {
    let layout = array.layout().clone();
    let plan = Plan::new(layout.dtype(), Some(ByteOrder::Little), Padding::Zero);
    let mut progress = Progress::new(layout.nbytes());
    let mut hasher = Sha256::new();
    let map = array.into_data();
    Region::new(map.as_ref(), &layout, Order::C).blocks(&plan, &mut |block: &[u8]| {
        hasher.update(block);
        progress.add(block.len());
    });
    hex(&hasher.finalize())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
