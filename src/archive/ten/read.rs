//! Reads lists of arrays from buffers and streams.

use std::io::Read;

use super::chunk::{self, PREFIX_LEN};
use super::header::{self, TenHeader};
use super::{damaged, truncated};
use crate::archive::entries::ArchiveEntry;
use crate::array::{MappedArray, Place, read_elements};
use crate::error::invariant::{IN_BUFFER, Invariant, READ, to_u64, to_usize_saturating};
use crate::error::{HeaderError, Result};
use crate::layout::Order;
use crate::source::map::Map;

/// An array with its info.
///
/// # Examples
///
/// ```
/// use npymap::{ndarray::arr1, ten};
///
/// let bytes = ten::TenWriteOptions::new().infos(&["cls"]).encode_buffer(&[&arr1(&[1_u8, 2])])?;
/// for named in ten::decode_buffer(&bytes)? {
///     println!("{}: {:?}", named.info, named.array.shape());
/// }
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NamedArray<D = Map> {
    /// The info, or name; often empty.
    pub info: String,
    /// The array.
    pub array: MappedArray<D>,
}

/// One array in a file or buffer.
#[derive(Clone, Debug)]
pub(super) struct TenEntry {
    pub(super) header: TenHeader,
    /// The offset of the elements.
    pub(super) offset: u64,
}

impl ArchiveEntry for TenEntry {
    fn name(&self) -> &str {
        &self.header.info
    }
}

/// Finds all arrays in a file or buffer of `len` bytes, which `read` reads at an
/// offset.
pub(super) fn scan(
    len: u64,
    read: &dyn Fn(&mut [u8], u64) -> std::io::Result<usize>,
) -> Result<Vec<TenEntry>> {
    let mut entries = Vec::new();
    let mut at = 0;
    while at < len {
        let (entry, next) = read_entry(at, len, read)?;
        entries.push(entry);
        at = next;
    }
    Ok(entries)
}

/// The number of bytes that are read for each array: enough for the chunk of the
/// header and the prefix of the next chunk.
const READ_LEN: usize = (PREFIX_LEN + header::MAX_LEN).next_multiple_of(64) + 64;

/// Reads the headers of the array at byte `at`. Also returns the offset of the
/// next array.
fn read_entry(
    at: u64,
    len: u64,
    read: &dyn Fn(&mut [u8], u64) -> std::io::Result<usize>,
) -> Result<(TenEntry, u64)> {
    let mut bytes = [0; READ_LEN];
    let found = read(&mut bytes, at).map_err(chunk::read_error())?;
    let bytes = bytes.get(..found).invariant(READ);
    let size = chunk::parse_prefix(bytes, Some(at))?;
    let Some(size) = usize::try_from(size).ok().filter(|size| *size <= header::MAX_LEN) else {
        return damaged(
            format!("at byte {at}: the header of an array has {size} bytes"),
            "expected 24 bytes and 8 per axis",
        );
    };
    let rest = bytes.get(PREFIX_LEN..).invariant(IN_BUFFER);
    let Some(payload) = rest.get(..size) else {
        let what = "header of an array";
        return Err(HeaderError::Eof { what, needed: size, found: rest.len() }.into());
    };
    let header = TenHeader::decode(payload)?;
    let next = PREFIX_LEN + size.next_multiple_of(64);
    let Some(rest) = bytes.get(next..).filter(|rest| !rest.is_empty()) else {
        let found = format!("at byte {at}: a header without elements");
        return truncated(&found, "the file was truncated, or is still being written");
    };
    let start = at.saturating_add(to_u64(next));
    let size = chunk::parse_prefix(rest, Some(start))?;
    let needed = check_nbytes(&header, size)?;
    let offset = start.saturating_add(to_u64(PREFIX_LEN));
    let left = len.saturating_sub(offset);
    if size > left {
        let found = to_usize_saturating(left);
        return Err(HeaderError::Eof { what: "elements", needed, found }.into());
    }
    let end = chunk::padded_len(size).and_then(|size| offset.checked_add(size)).unwrap_or(u64::MAX);
    Ok((TenEntry { header, offset }, end))
}

/// Checks that a chunk of `size` bytes is as long as its array, and returns that
/// length.
fn check_nbytes(header: &TenHeader, size: u64) -> Result<usize> {
    let needed = header.layout()?.nbytes();
    if u64::try_from(needed).is_ok_and(|needed| needed == size) {
        return Ok(needed);
    }
    damaged(
        format!("an array of {needed} bytes in a chunk of {size}"),
        "the file is damaged: the shape and the number of elements differ",
    )
}

/// Decodes a buffer into arrays that borrow from it: webdataset's
/// `decode_buffer`.
///
/// The padding of the last array may be missing.
///
/// # Errors
///
/// [`Damaged`](crate::ErrorKind::Damaged),
/// [`Truncated`](crate::ErrorKind::Truncated),
/// [`InvalidInput`](crate::ErrorKind::InvalidInput), those of
/// [`Layout::new`](crate::layout::Layout::new).
///
/// # Examples
///
/// ```
/// use npymap::{ndarray::arr1, ten};
///
/// let bytes = ten::encode_buffer(&[&arr1(&[1_u8, 2]), &arr1(&[0.5_f64])])?;
/// let arrays = ten::decode_buffer(&bytes)?;
/// assert_eq!(arrays[0].array.as_slice::<u8>()?, [1, 2]);
/// # Ok::<(), npymap::Error>(())
/// ```
pub fn decode_buffer(bytes: &[u8]) -> Result<Vec<NamedArray<&[u8]>>> {
    let payloads = chunk::decode_chunks(bytes)?;
    decode_list(&payloads)
}

/// Decodes the payloads of chunks, two for each array: webdataset's
/// `decode_list`.
///
/// # Errors
///
/// As [`decode_buffer`].
///
/// # Examples
///
/// ```
/// use npymap::{ndarray::arr1, ten};
///
/// let bytes = ten::encode_buffer(&[&arr1(&[1_u8, 2])])?;
/// let payloads = ten::decode_chunks(&bytes)?; // a header and its elements
/// let arrays = ten::decode_list(&payloads)?;
/// assert_eq!(arrays[0].array.as_slice::<u8>()?, [1, 2]);
/// # Ok::<(), npymap::Error>(())
/// ```
pub fn decode_list<'a>(payloads: &[&'a [u8]]) -> Result<Vec<NamedArray<&'a [u8]>>> {
    payloads.chunks(2).map(decode_pair).collect()
}

/// Decodes the two payloads of an array.
fn decode_pair<'a>(pair: &[&'a [u8]]) -> Result<NamedArray<&'a [u8]>> {
    let [header, elements] = *pair else {
        let found = "a header without elements";
        return truncated(found, "the file was truncated, or is still being written");
    };
    let header = TenHeader::decode(header)?;
    check_nbytes(&header, to_u64(elements.len()))?;
    let array = MappedArray::from_parts(elements, header.layout()?)?;
    Ok(NamedArray { info: header.info, array })
}

/// Reads the first `n` arrays of a stream, or all if there are fewer, into
/// memory: webdataset's `read`. The position of the reader is then after the
/// padding of the last array.
///
/// Memory use is proportional to the bytes read, not to the lengths in the
/// stream.
///
/// # Errors
///
/// As [`decode_buffer`], and [`Io`](crate::ErrorKind::Io).
///
/// # Examples
///
/// ```
/// use npymap::{ten, ndarray::arr1};
///
/// let mut stream = Vec::new();
/// ten::write(&mut stream, &[&arr1(&[1_u8, 2]), &arr1(&[0.5_f64])])?;
/// let first = ten::read(stream.as_slice(), 1)?;
/// assert_eq!(first[0].array.as_slice::<u8>()?, [1, 2]);
/// # Ok::<(), npymap::Error>(())
/// ```
pub fn read(mut from: impl Read, n: usize) -> Result<Vec<NamedArray>> {
    let mut arrays = Vec::new();
    while arrays.len() < n {
        let Some(array) = read_array(&mut from)? else { break };
        arrays.push(array);
    }
    Ok(arrays)
}

fn read_array(from: &mut impl Read) -> Result<Option<NamedArray>> {
    let Some(size) = chunk::read_prefix(from)? else { return Ok(None) };
    let mut payload = Vec::new();
    let most = to_u64(header::MAX_LEN);
    if size > most {
        return damaged(
            format!("the header of an array has {size} bytes"),
            "expected 24 bytes and 8 per axis",
        );
    }
    let found = from.by_ref().take(size).read_to_end(&mut payload).map_err(chunk::read_error())?;
    chunk::check_len("header of an array", size, found)?;
    chunk::read_padding(from, size)?;
    let header = TenHeader::decode(&payload)?;
    let Some(size) = chunk::read_prefix(from)? else {
        let found = "a header without elements";
        return truncated(found, "the stream ended too early");
    };
    let needed = check_nbytes(&header, size)?;
    let data = read_elements(from, needed)?.into_read_only()?;
    chunk::read_padding(from, size)?;
    let layout = header.layout()?;
    let place = Place { layout, offset: 0, order: Order::C, header: None };
    let array = MappedArray::from_unpacked(data, place, None, &header.info);
    Ok(Some(NamedArray { info: header.info, array }))
}
