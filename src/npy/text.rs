//! The header's text, decoded but not yet read.

use std::borrow::Cow;
use std::io::Read;

use super::preamble::{Preamble, Version};
use crate::error::invariant::{Invariant, to_usize_saturating};
use crate::error::{HeaderError, Result, SystemError};

/// The text of a header as it stands in a file, padding included.
///
/// # Examples
///
/// ```
/// use npymap::npy::{HeaderText, MAX_HEADER_LEN};
///
/// let file = std::fs::File::open("data/penguins.npy")?;
/// let text = HeaderText::read(&file, MAX_HEADER_LEN)?;
/// assert_eq!(text.as_str().trim_end(), "{'descr': '<f8', 'fortran_order': False, 'shape': (342, 4), }");
/// assert_eq!(text.header()?.shape, [342, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderText<'a> {
    preamble: Preamble,
    text: Cow<'a, str>,
}

impl HeaderText<'static> {
    /// Reads a header of at most `max_len` characters; the reader is left at
    /// the first byte behind it.
    ///
    /// # Errors
    ///
    /// As [`parse`](HeaderText::parse), and [`Io`](crate::ErrorKind::Io) when
    /// the reader fails. Memory is taken for what was read, not for what was
    /// announced.
    pub fn read(mut from: impl Read, max_len: usize) -> Result<HeaderText<'static>> {
        let preamble = Preamble::read(&mut from)?;
        let needed = announced(preamble, max_len)?;
        let mut bytes = Vec::new();
        let mut rest = from.take(u64::from(preamble.header_len()));
        let found = rest.read_to_end(&mut bytes).map_err(SystemError::io("read the header"))?;
        if found < needed {
            return Err(HeaderError::Eof { what: "header", needed, found }.into());
        }
        let text = HeaderText::decode(preamble, &bytes, max_len)?.text.into_owned();
        Ok(HeaderText { preamble, text: Cow::Owned(text) })
    }
}

impl<'a> HeaderText<'a> {
    /// Reads the header of at most `max_len` characters that a buffer starts
    /// with.
    ///
    /// # Errors
    ///
    /// Those of [`Preamble::parse`];
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded),
    /// [`Truncated`](crate::ErrorKind::Truncated),
    /// [`Damaged`](crate::ErrorKind::Damaged).
    pub fn parse(bytes: &'a [u8], max_len: usize) -> Result<HeaderText<'a>> {
        let preamble = Preamble::parse(bytes)?;
        HeaderText::decode(preamble, text_bytes(preamble, bytes, max_len)?, max_len)
    }

    /// Decodes a text's bytes: latin-1 in versions 1.0 and 2.0, UTF-8 in 3.0.
    pub(super) fn decode(
        preamble: Preamble,
        bytes: &'a [u8],
        max_len: usize,
    ) -> Result<HeaderText<'a>> {
        let is_v3 = preamble.version() == Version::V3;
        let text = match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() || is_v3 => Cow::Borrowed(text),
            Err(error) if is_v3 => return Err(HeaderError::Utf8 { at: error.valid_up_to() }.into()),
            _ => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
        };
        // What is short enough in bytes is so in characters.
        let found = if text.len() > max_len { text.chars().count() } else { 0 };
        if found > max_len {
            return Err(HeaderError::Limit { found, limit: max_len }.into());
        }
        Ok(HeaderText { preamble, text })
    }

    /// Version and length.
    #[must_use]
    pub fn preamble(&self) -> Preamble {
        self.preamble
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// The announced length in bytes, refused when it exceeds the limit.
fn announced(preamble: Preamble, max_len: usize) -> Result<usize> {
    let needed = to_usize_saturating(preamble.header_len().into());
    if preamble.exceeds(max_len) {
        return Err(HeaderError::Limit { found: needed, limit: max_len }.into());
    }
    Ok(needed)
}

/// The text's bytes, behind the preamble that a buffer starts with.
pub(super) fn text_bytes(preamble: Preamble, bytes: &[u8], max_len: usize) -> Result<&[u8]> {
    let needed = announced(preamble, max_len)?;
    let rest = bytes.get(preamble.text_offset()..).invariant("the bytes start with the preamble");
    rest.get(..needed)
        .ok_or_else(|| HeaderError::Eof { what: "header", needed, found: rest.len() }.into())
}
