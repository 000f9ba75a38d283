//! Elements of dtypes `S` and `U` as `String`.

use super::scalar::{read, write};
use super::strings::{check_text, store_bytes, to_char_lossy};
use super::{Element, type_mismatch};
use crate::dtype::{ByteOrder, DType, Kind};
use crate::error::Result;
use crate::error::invariant::{IN_BUFFER, Invariant};

/// How text is stored: its size and encoding.
#[derive(Clone, Copy, Debug)]
pub struct TextCodec {
    itemsize: usize,
    /// The byte order of UCS-4 code points. Returns `None` for bytes.
    points: Option<ByteOrder>,
}

/// Text without its trailing NULs, as NumPy reads it. Bytes of dtype `S` are
/// taken as UTF-8. In either dtype, invalid text is decoded to U+FFFD.
impl Element for String {
    type Codec = TextCodec;

    #[inline]
    fn codec(dtype: &DType) -> Result<TextCodec> {
        let itemsize = dtype.itemsize();
        match dtype.kind() {
            Kind::Bytes => Ok(TextCodec { itemsize, points: None }),
            Kind::Unicode => Ok(TextCodec { itemsize, points: Some(dtype.byte_order()) }),
            _ => Err(type_mismatch(dtype, "String")),
        }
    }

    #[inline]
    fn itemsize(text: &TextCodec) -> usize {
        text.itemsize
    }

    #[inline]
    fn decode(text: &TextCodec, bytes: &[u8]) -> String {
        let Some(order) = text.points else {
            return String::from_utf8_lossy(trim_nuls(bytes)).into_owned();
        };
        decode_points(order, bytes).map(to_char_lossy).collect()
    }

    /// Rejects text that is too long or ends in NUL, which NumPy would cut off.
    #[inline]
    fn encode(&self, text: &TextCodec, bytes: &mut [u8]) -> Result<()> {
        let Some(order) = text.points else { return store_bytes(self.as_bytes(), bytes) };
        check_text(self, bytes.len() / 4)?;
        bytes.fill(0);
        let points = bytes.chunks_exact_mut(4).zip(self.chars());
        points.for_each(|(to, c)| write(u32::from(c), order, to));
        Ok(())
    }
}

/// Code points without their trailing NULs.
#[inline]
pub(crate) fn decode_points(order: ByteOrder, bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let points = bytes.chunks_exact(4).map(move |point| read::<u32>(order, point));
    let length = points.clone().rposition(|point| point != 0).map_or(0, |last| last + 1);
    points.take(length)
}

/// Bytes without their trailing NULs.
#[inline]
pub(crate) fn trim_nuls(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    bytes.get(..length).invariant(IN_BUFFER)
}
