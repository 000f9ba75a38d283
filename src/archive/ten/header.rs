//! The header of an array in a `.ten` file: type code, info and shape.

use zerocopy::byteorder::little_endian::I64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{damaged, misuse};
use crate::dtype::{ByteOrder, DType, Kind, MAX_NDIM};
use crate::error::invariant::{IN_BUFFER, Invariant, to_usize_saturating};
use crate::error::{DTypeError, Error, HeaderError, Result, excerpt, plural};
use crate::layout::{Layout, Order, check_ndim};

/// The largest number of axes that webdataset writes.
const MAX_WRITTEN_NDIM: usize = 9;

/// The length of the header without its axes.
const FIXED: usize = size_of::<RawHeader>();

/// The length of the longest accepted header.
pub(super) const MAX_LEN: usize = FIXED + 8 * MAX_NDIM;

#[derive(Clone, Copy, Debug, FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned)]
#[repr(C)]
struct RawHeader {
    code: [u8; 8],
    info: [u8; 8],
    ndim: I64,
}

/// The header of an array in a `.ten` file. See [`Ten::headers`](super::Ten::headers).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TenHeader {
    /// The dtype of the elements: little-endian numbers.
    pub dtype: DType,
    /// The length of each axis. Elements are in C order.
    pub shape: Vec<usize>,
    /// The info, or name, of the array: at most 8 bytes of ASCII, often empty.
    pub info: String,
}

impl TenHeader {
    /// Checks that the array can be written, and creates its header.
    #[inline]
    pub(super) fn new(dtype: &DType, shape: &[usize], info: &str) -> Result<TenHeader> {
        code(dtype)?;
        if shape.len() > MAX_WRITTEN_NDIM {
            return misuse(format!("{} axes", shape.len()), "a .ten array has at most 9");
        }
        if !info.is_ascii() || info.len() > 8 || info.starts_with('\0') || info.ends_with('\0') {
            return misuse(
                format!("the info `{}`", excerpt(info)),
                "expected ASCII of at most 8 bytes",
            );
        }
        let dtype = dtype.with_byte_order(ByteOrder::Little);
        Layout::new(dtype.clone(), shape, Order::C, 0)?;
        Ok(TenHeader { dtype, shape: shape.to_vec(), info: info.to_owned() })
    }

    /// Encodes the payload of the header's chunk.
    #[inline]
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let ndim =
            i64::try_from(self.shape.len()).invariant("slices have at most `isize::MAX` items");
        let code = code(&self.dtype)?;
        let raw = RawHeader {
            code: pad_to_word(&code),
            info: pad_to_word(&self.info),
            ndim: I64::new(ndim),
        };
        let mut payload = raw.as_bytes().to_vec();
        for &dim in &self.shape {
            let dim = i64::try_from(dim).invariant("an axis is at most `isize::MAX` long");
            payload.extend(dim.to_le_bytes());
        }
        Ok(payload)
    }

    /// Decodes the payload of a header's chunk.
    #[inline]
    pub(super) fn decode(payload: &[u8]) -> Result<TenHeader> {
        let Ok((raw, dims)) = RawHeader::read_from_prefix(payload) else {
            let (needed, found) = (FIXED, payload.len());
            return Err(HeaderError::Eof { what: "header of an array", needed, found }.into());
        };
        let Ok(ndim) = u64::try_from(raw.ndim.get()) else {
            return damaged(format!("an array of {} axes", raw.ndim), "expected 0 or more");
        };
        let ndim = to_usize_saturating(ndim);
        check_ndim(ndim).map_err(Error::treat_as_damage)?;
        if dims.len() != 8 * ndim {
            return damaged(
                format!("{} in a header of {} bytes", plural(ndim, "axis", "axes"), payload.len()),
                "a header has 24 bytes and 8 per axis",
            );
        }
        let dims = <[I64]>::ref_from_bytes(dims).invariant("lengths of axes have 8 bytes each");
        let shape = dims.iter().map(|dim| parse_dim(dim.get())).collect::<Result<Vec<_>>>()?;
        let dtype = parse_code(raw.code)?;
        Layout::new(dtype.clone(), &shape, Order::C, 0).map_err(Error::treat_as_damage)?;
        Ok(TenHeader { dtype, shape, info: parse_info(raw.info)? })
    }

    /// The layout of the elements.
    #[inline]
    pub(super) fn layout(&self) -> Result<Layout> {
        Layout::new(self.dtype.clone(), &self.shape, Order::C, 0)
    }
}

/// The format's code for a dtype, such as `f4`.
#[inline]
fn code(dtype: &DType) -> Result<String> {
    let letter = match (dtype.kind(), dtype.itemsize()) {
        (Kind::Float, 2 | 4 | 8) => 'f',
        (Kind::Int, _) => 'i',
        (Kind::UInt, _) => 'u',
        _ => {
            let reason =
                "a .ten file supports only f2, f4, f8, i1 to i8 and u1 to u8: use .npz".to_owned();
            return Err(DTypeError::Invalid { descr: dtype.to_string(), reason }.into());
        }
    };
    Ok(format!("{letter}{}", dtype.itemsize()))
}

/// Parses the length of an axis.
#[inline]
fn parse_dim(dim: i64) -> Result<usize> {
    let expected = if dim > 0 {
        "expected a length that this machine can address"
    } else {
        "expected 0 or more"
    };
    usize::try_from(dim).or_else(|_| damaged(format!("an axis of length {dim}"), expected))
}

/// Parses a code such as `f4`.
#[inline]
fn parse_code(code: [u8; 8]) -> Result<DType> {
    let name = match trim_nuls(&code) {
        code @ (b"f2" | b"f4" | b"f8" | b"i1" | b"i2" | b"i4" | b"i8" | b"u1" | b"u2" | b"u4"
        | b"u8") => code,
        other => {
            return damaged(
                format!("the type code b\"{}\"", other.escape_ascii()),
                "expected f2, f4, f8, i1, i2, i4, i8, u1, u2, u4 or u8",
            );
        }
    };
    format!("<{}", String::from_utf8_lossy(name)).parse()
}

#[inline]
fn parse_info(bytes: [u8; 8]) -> Result<String> {
    match std::str::from_utf8(trim_nuls(&bytes)) {
        Ok(text) if text.is_ascii() => Ok(text.to_owned()),
        _ => damaged(format!("the info b\"{}\"", bytes.escape_ascii()), "expected ASCII"),
    }
}

/// Removes NULs at both ends, as Python's `strip("\0")` does.
#[inline]
fn trim_nuls(word: &[u8; 8]) -> &[u8] {
    let start = word.iter().position(|&byte| byte != 0).unwrap_or(word.len());
    let end = word.iter().rposition(|&byte| byte != 0).map_or(start, |last| last + 1);
    word.get(start..end).invariant(IN_BUFFER)
}

/// Pads a text with NULs to 8 bytes.
#[inline]
fn pad_to_word(text: &str) -> [u8; 8] {
    let mut word = [0; 8];
    word.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
    word
}
