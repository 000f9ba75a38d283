//! The header's text, decoded but not parsed.

use std::borrow::Cow;
use std::io::Read;

use super::preamble::{Preamble, Version};
use crate::error::invariant::{Invariant, to_usize_saturating};
use crate::error::{HeaderError, IoContext as _, Result};

/// The text of a header as in the file, including padding.
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
    /// Reads a header of at most `max_len` characters, leaving the reader at
    /// the first byte after it.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) for a wrong magic or an
    /// invalid text, [`Unsupported`](crate::ErrorKind::Unsupported) for an
    /// unknown version, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if
    /// the header is longer than the limit, and
    /// [`Truncated`](crate::ErrorKind::Truncated) if it is incomplete. Returns
    /// [`Io`](crate::ErrorKind::Io) if the reader fails. Memory is allocated
    /// for bytes as they are read, not for the announced length.
    pub fn read(mut from: impl Read, max_len: usize) -> Result<HeaderText<'static>> {
        let preamble = Preamble::read(&mut from)?;
        let needed = checked_len(preamble, max_len)?;
        let mut bytes = Vec::new();
        let mut rest = from.take(u64::from(preamble.header_len));
        let found = rest.read_to_end(&mut bytes).context("read the header")?;
        if found < needed {
            return Err(HeaderError::Eof { what: "header", needed, found }.into());
        }
        let text = HeaderText::decode(preamble, &bytes, max_len)?.text.into_owned();
        Ok(HeaderText { preamble, text: Cow::Owned(text) })
    }
}

impl<'a> HeaderText<'a> {
    /// Parses the header at the start of a buffer, of at most `max_len`
    /// characters.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) for a wrong magic or an
    /// invalid text, [`Unsupported`](crate::ErrorKind::Unsupported) for an
    /// unknown version, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if
    /// the header is longer than the limit, and
    /// [`Truncated`](crate::ErrorKind::Truncated) if it is incomplete.
    #[inline]
    pub fn parse(bytes: &'a [u8], max_len: usize) -> Result<HeaderText<'a>> {
        let preamble = Preamble::parse(bytes)?;
        HeaderText::decode(preamble, text_bytes(preamble, bytes, max_len)?, max_len)
    }

    /// Decodes the text: Latin-1 in versions 1.0 and 2.0, UTF-8 in 3.0.
    #[inline]
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
        // A text never has more characters than bytes.
        let found = if text.len() > max_len { text.chars().count() } else { 0 };
        if found > max_len {
            return Err(HeaderError::Limit { found, limit: max_len }.into());
        }
        Ok(HeaderText { preamble, text })
    }

    /// Returns the version and the header length.
    #[must_use]
    #[inline]
    pub fn preamble(&self) -> Preamble {
        self.preamble
    }

    /// Returns the decoded text.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Returns the announced length in bytes, unless it exceeds the limit.
#[inline]
fn checked_len(preamble: Preamble, max_len: usize) -> Result<usize> {
    let needed = to_usize_saturating(preamble.header_len.into());
    if preamble.exceeds(max_len) {
        return Err(HeaderError::Limit { found: needed, limit: max_len }.into());
    }
    Ok(needed)
}

/// The bytes of the text in a buffer that starts with the preamble.
#[inline]
pub(super) fn text_bytes(preamble: Preamble, bytes: &[u8], max_len: usize) -> Result<&[u8]> {
    let needed = checked_len(preamble, max_len)?;
    let rest = bytes
        .get(preamble.version().text_offset()..)
        .invariant("the bytes start with the preamble");
    rest.get(..needed)
        .ok_or_else(|| HeaderError::Eof { what: "header", needed, found: rest.len() }.into())
}
