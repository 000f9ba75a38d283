//! The header's text, decoded but not yet read.

use std::borrow::Cow;
use std::io::Read;

use super::preamble::{Preamble, Version};
use crate::error::{ErrorKind, Result};

/// The text of a header as it stands in a file, padding included.
///
/// # Examples
///
/// ```
/// use npymap::{HeaderText, MAX_HEADER_LEN};
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
    /// As [`parse`](HeaderText::parse), and [`ErrorKind::Io`] when the reader
    /// fails. Memory is taken for what was read, not for what was announced.
    pub fn read(mut from: impl Read, max_len: usize) -> Result<HeaderText<'static>> {
        let preamble = Preamble::read(&mut from)?;
        let needed = announced(preamble, max_len)?;
        let mut bytes = Vec::new();
        let mut rest = from.take(u64::from(preamble.header_len()));
        let found = rest.read_to_end(&mut bytes).map_err(ErrorKind::io("read the header"))?;
        if found < needed {
            return Err(ErrorKind::Eof { what: "header", needed, found }.into());
        }
        let text = decode(preamble, &bytes, max_len)?.into_owned();
        Ok(HeaderText { preamble, text: Cow::Owned(text) })
    }
}

impl<'a> HeaderText<'a> {
    /// Reads the header of at most `max_len` characters that a buffer starts
    /// with.
    ///
    /// # Errors
    ///
    /// Those of [`Preamble::parse`]; [`ErrorKind::HeaderLimit`],
    /// [`ErrorKind::Eof`], [`ErrorKind::Utf8`].
    pub fn parse(bytes: &'a [u8], max_len: usize) -> Result<HeaderText<'a>> {
        let preamble = Preamble::parse(bytes)?;
        let needed = announced(preamble, max_len)?;
        let rest = bytes.get(preamble.text_offset()..).unwrap_or_default();
        match rest.get(..needed) {
            Some(header) => Ok(HeaderText { preamble, text: decode(preamble, header, max_len)? }),
            None => Err(ErrorKind::Eof { what: "header", needed, found: rest.len() }.into()),
        }
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
    let needed = usize::try_from(preamble.header_len()).unwrap_or(usize::MAX);
    if preamble.exceeds(max_len) {
        return Err(ErrorKind::HeaderLimit { found: needed, limit: max_len }.into());
    }
    Ok(needed)
}

/// Decodes the bytes: latin-1 in versions 1.0 and 2.0, UTF-8 in 3.0.
fn decode(preamble: Preamble, bytes: &[u8], max_len: usize) -> Result<Cow<'_, str>> {
    match std::str::from_utf8(bytes) {
        Ok(text)
            if text.len() <= max_len && (preamble.version() == Version::V3 || text.is_ascii()) =>
        {
            Ok(Cow::Borrowed(text))
        }
        Ok(text) if preamble.version() == Version::V3 => match text.chars().count() {
            found if found > max_len => {
                Err(ErrorKind::HeaderLimit { found, limit: max_len }.into())
            }
            _ => Ok(Cow::Borrowed(text)),
        },
        Err(error) if preamble.version() == Version::V3 => {
            Err(ErrorKind::Utf8 { at: error.valid_up_to() }.into())
        }
        _ => Ok(Cow::Owned(bytes.iter().copied().map(char::from).collect())),
    }
}
