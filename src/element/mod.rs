//! Rust types that elements are decoded to or borrowed as.

mod array;
mod boolean;
mod calendar;
pub(crate) mod cast;
pub(crate) mod cold_drop;
#[cfg(all(doctest, feature = "derive"))]
mod compile_fail;
mod date;
mod dispatch;
mod endian;
mod errors;
pub(crate) mod fast_path;
pub(crate) mod field_codec;
#[cfg(feature = "jiff")]
mod jiff;
mod real;
pub(crate) mod recode;
pub(crate) mod record;
mod scalar;
mod strings;
mod sums;
mod text;
mod tuple;
pub(crate) mod value;

use std::fmt::Debug;
use std::ops::Range;

use bytemuck::Pod;

use crate::dtype::{ByteOrder, DType, Kind};
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{DTypeError, Result, memory};
use crate::kernel;

pub use boolean::Bool;
pub use cast::{Casting, Number};
pub use date::{DateTime64, TimeDelta64};
pub use endian::{Be, Le};
use fast_path::{FastPath, NoFastPath};
pub use real::Real;
pub use record::Pad;
pub use scalar::{Scalar, Ticks};
pub use strings::{Bytes, CodePoint, Text};
pub(crate) use sums::{ROW_BLOCK, STREAMS};
pub(crate) use text::{decode_points, trim_nuls};
#[cfg(feature = "serde")]
pub use value::NamedValue;
pub use value::Value;

/// A type that elements of some dtype are decoded to and encoded from.
///
/// | dtype | types |
/// |---|---|
/// | `b1` | `bool`, [`Bool`] |
/// | `i1` … `i8`, `u1` … `u8` | `i8` … `i64`, `u8` … `u64` |
/// | `f2`, `f4`, `f8` | [`half::f16`], `f32`, `f64` |
/// | `c8`, `c16` | [`Complex<f32>`](num_complex::Complex), `Complex<f64>` |
/// | `M8`, `m8` | [`Ticks`], [`DateTime64`], [`TimeDelta64`] |
/// | `V2` written by `ml_dtypes` | [`half::bf16`] |
/// | `S`, `U` | [`String`], and if the length is known at compile time, [`Bytes`], [`Text`] |
/// | structs, fields by name | `derive(Record)`, with feature `derive` |
/// | subarrays | `[T; N]` |
/// | structs, fields by position | tuples of up to 12 |
/// | every dtype of `N` bytes | `[u8; N]`, the stored bytes |
/// | every dtype | [`Value`] |
///
/// Any byte order and alignment will do: the [`Codec`](Element::Codec) holds
/// what depends on the dtype at run time.
///
/// Derive it for a newtype around an element; derive [`Record`] for a struct:
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use npymap::{Element, MappedArray, bytemuck};
///
/// /// As fast as `u32`, and can be borrowed in place.
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, Element)]
/// #[bytemuck(crate = "npymap::bytemuck")]
/// #[repr(transparent)]
/// struct TokenId(u32);
///
/// let mut tokens = MappedArray::zeros(&"<u4".parse()?, &[10])?;
/// tokens.as_slice_mut::<TokenId>()?[3] = TokenId(7);
/// assert_eq!(tokens.view::<TokenId>()?.at(3).0, 7);
/// # }
/// # Ok::<(), npymap::Error>(())
/// ```
///
/// Implementing it by hand is safe: a wrong implementation gives wrong values,
/// never undefined behavior. [`Error::dtype_mismatch`](crate::Error::dtype_mismatch)
/// and [`Error::invalid_value`](crate::Error::invalid_value) make its errors.
///
/// [`Record`]: https://docs.rs/npymap/latest/npymap/derive.Record.html
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array element: use `u64` for `usize`, `i64` for `isize`, `String` for `&str`, `npymap::element::Text<1>` for `char`; for a struct `#[derive(npymap::Record)]`, for a newtype `#[derive(npymap::Element)]`",
    label = "not an element"
)]
pub trait Element: Sized + 'static {
    /// How to read and write the elements of one dtype: byte order, unit, field
    /// offsets.
    type Codec: Clone + Debug + Send + Sync;

    /// Returns the codec for elements with this dtype.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if elements of
    /// `dtype` are not of this type. The error names a type that works.
    fn codec(dtype: &DType) -> Result<Self::Codec>;

    /// Returns the size of one element in bytes.
    fn itemsize(codec: &Self::Codec) -> usize;

    /// Decodes one element from exactly its bytes.
    fn decode(codec: &Self::Codec, bytes: &[u8]) -> Self;

    /// Encodes one element to exactly its bytes. Whether it writes a byte must not
    /// depend on the value: edits keep the bytes that the first value does not write.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidValue`](crate::ErrorKind::InvalidValue) if the value
    /// doesn't fit the dtype.
    fn encode(&self, codec: &Self::Codec, bytes: &mut [u8]) -> Result<()>;

    /// Returns operations on many elements at once. The derives choose one. If
    /// you implement the trait by hand, there are none.
    #[doc(hidden)]
    #[must_use]
    fn fast_path() -> impl FastPath<Self> {
        NoFastPath
    }
}

/// The codec of a subarray's elements if its first axis has length `len`.
fn subarray_codec<T: Element>(dtype: &DType, len: usize) -> Result<T::Codec> {
    match dtype.subarray() {
        Some((base, [first])) if *first == len => T::codec(base),
        Some((base, [first, rest @ ..])) if *first == len => {
            T::codec(&DType::array(base.clone(), rest)?)
        }
        _ => {
            let (stored, element) = (dtype.to_string(), short_name::<T>());
            let asked = format!("[{element}; {len}]");
            // The last axis of the array may have the length `len`.
            let works = match T::codec(dtype) {
                Ok(_) => format!("{element}` and then `View::as_arrays"),
                Err(_) => suggested_type(dtype),
            };
            Err(DTypeError::Fit { stored, asked, works }.into())
        }
    }
}

/// An element that can be borrowed in place, because its stored bytes are a
/// value of the type: every [`Element`] of this crate but `bool`, `String`,
/// dates (use [`Ticks`]), tuples and [`Value`].
///
/// Plain numbers need this machine's byte order and an aligned address;
/// [`Le`] and [`Be`] numbers work at any address. `derive(Element)` and
/// `derive(Record)` implement it. Implementing it by hand is safe, because the
/// promise is [`Pod`]'s; override [`is_in_place`](InPlace::is_in_place) then.
///
/// # Examples
///
/// ```
/// use npymap::{Le, MappedArray};
///
/// let mut events = MappedArray::zeros(&"[('id', '<u2'), ('energy', '<f4')]".parse()?, &[10])?;
/// events.as_slice_mut::<[u8; 6]>()?[3] = [1, 0, 0, 0, 0xc0, 0x3f];
/// assert_eq!(events.view::<(u16, f32)>()?.at(3), (1, 1.5));
/// # Ok::<(), npymap::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be borrowed in place: use `npymap::element::Bool` for `bool`, `npymap::element::Bytes` or `npymap::element::Text` for text, `u64` for `usize`; for a struct `#[derive(npymap::Record)]` with `#[record(in_place)]`, for a newtype `#[derive(npymap::Element)]` with `#[repr(transparent)]`",
    label = "cannot be borrowed in place; `view` decodes elements"
)]
pub trait InPlace: Element + Pod {
    /// Returns whether stored elements are values of this type, regardless of
    /// their address. Override it when implementing the trait by hand: the
    /// default returns true only for derived types.
    #[must_use]
    fn is_in_place(codec: &Self::Codec) -> bool {
        Self::fast_path().is_exact(codec)
    }
}

/// A type that determines its dtype.
///
/// # Examples
///
/// ```
/// use npymap::{DType, element::Typed};
///
/// assert_eq!(<[f32; 3]>::dtype(), DType::array(DType::of::<f32>(), &[3])?);
/// # Ok::<(), npymap::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not determine a dtype: parse one, such as `\"<U8\".parse::<DType>()`, and write `WithDType::new(&array, dtype)`; records have one with `#[record(typed)]`",
    note = "in a record, declare the dtype: `#[record(dtype = \"<M8[ns]\")]`"
)]
pub trait Typed {
    /// Returns the dtype, in this machine's byte order unless the type has its
    /// own.
    fn dtype() -> DType;
}

impl DType {
    /// Returns the dtype of a Rust type, in this machine's byte order unless
    /// the type has its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Be, DType};
    ///
    /// assert_eq!(DType::of::<u8>().to_string(), "'|u1'");
    /// assert_eq!(DType::of::<Be<f32>>().to_string(), "'>f4'");
    /// ```
    #[must_use]
    pub fn of<T: Typed>() -> DType {
        T::dtype()
    }
}

/// The error for viewing elements of `dtype` as a type that does not match.
fn type_mismatch(dtype: &DType, asked: impl Into<String>) -> crate::error::Error {
    DTypeError::Fit { stored: dtype.to_string(), asked: asked.into(), works: suggested_type(dtype) }
        .into()
}

/// A type that elements of `dtype` can be viewed as: the plain number if it is
/// stored in this machine's byte order.
pub(crate) fn suggested_type(dtype: &DType) -> String {
    if let Some((base, shape)) = dtype.subarray() {
        let axes = shape.iter().rev();
        return axes.fold(suggested_type(base), |element, len| format!("[{element}; {len}]"));
    }
    let name = match (dtype.kind(), dtype.itemsize()) {
        (Kind::Bool, _) => "Bool".to_owned(),
        (Kind::Int, size) => format!("i{}", 8 * size),
        (Kind::UInt, size) => format!("u{}", 8 * size),
        (Kind::Float, size @ (2 | 4 | 8)) => format!("f{}", 8 * size),
        (Kind::Complex, size @ (8 | 16)) => format!("Complex<f{}>", 4 * size),
        (Kind::DateTime | Kind::TimeDelta, _) => "Ticks".to_owned(),
        (_, itemsize) => return format!("[u8; {itemsize}]"),
    };
    match dtype.byte_order() {
        order if order == ByteOrder::NATIVE || order == ByteOrder::NotApplicable => name,
        ByteOrder::Big => format!("Be<{name}>"),
        _ => format!("Le<{name}>"),
    }
}

/// The name of a type, without the paths of the modules in it.
pub(crate) fn short_name<T>() -> String {
    without_modules(std::any::type_name::<T>())
}

#[inline]
fn without_modules(type_name: &str) -> String {
    let mut name = String::new();
    let mut word = String::new();
    for c in type_name.chars() {
        match c {
            ':' => word.clear(),
            _ if c.is_alphanumeric() || c == '_' => word.push(c),
            _ => {
                name.push_str(&word);
                name.push(c);
                word.clear();
            }
        }
    }
    name + &word
}

/// Encodes one element over its old bytes, which stay the same if it does not fit.
#[inline]
pub(crate) fn replace<T: Element>(value: &T, codec: &T::Codec, bytes: &mut [u8]) -> Result<()> {
    if T::fast_path().always_fits(codec) {
        value.encode(codec, bytes)
    } else {
        replace_parts(value, codec, bytes)
    }
}

/// Elements of several parts can fail after some of them have been encoded.
fn replace_parts<T: Element>(value: &T, codec: &T::Codec, bytes: &mut [u8]) -> Result<()> {
    let (mut inline, mut heap) = ([0; 64], Vec::new());
    let old = if let Some(old) = inline.get_mut(..bytes.len()) {
        old
    } else {
        memory::resize(&mut heap, bytes.len())?;
        heap.as_mut_slice()
    };
    old.copy_from_slice(bytes);
    value.encode(codec, bytes).inspect_err(|_| bytes.copy_from_slice(old))
}

/// Decodes elements that start `stride` bytes apart, at least `itemsize`, and
/// appends them to `out`.
pub(crate) fn decode_onto<T: Element>(
    codec: &T::Codec,
    bytes: &[u8],
    stride: usize,
    out: &mut Vec<T>,
) {
    let mut pieces = chunks(bytes, stride, T::itemsize(codec));
    if T::fast_path().copy_target(codec, &mut []).is_none() {
        return out.extend(pieces.map(|piece| T::decode(codec, piece)));
    }
    let Some(first) = pieces.next() else { return };
    let start = out.len();
    // `T` has no default value, so extend with copies of the first element,
    // which are then overwritten.
    out.resize_with(start + bytes.len().div_ceil(stride), || T::decode(codec, first));
    decode_over(codec, bytes, stride, out.get_mut(start..).invariant(IN_BUFFER));
}

/// Decodes elements that start `stride` bytes apart, at least `itemsize`, into
/// `out`.
pub(crate) fn decode_over<T: Element>(
    codec: &T::Codec,
    bytes: &[u8],
    stride: usize,
    out: &mut [T],
) {
    if let Some((part, to)) = T::fast_path().copy_target(codec, out) {
        return kernel::copy(part, bytes, stride, to);
    }
    let mut out = out.iter_mut();
    chunks(bytes, stride, T::itemsize(codec)).for_each(|piece| {
        if let Some(to) = out.next() {
            *to = T::decode(codec, piece);
        }
    });
}

/// Splits `bytes` into pieces of `size` bytes that start `stride` bytes apart.
/// Internal iteration (`for_each`, `fold`) is fastest.
#[inline]
pub(crate) fn chunks(
    bytes: &[u8],
    stride: usize,
    size: usize,
) -> impl DoubleEndedIterator<Item = &[u8]> {
    let whole = bytes.chunks_exact(stride.max(1));
    // The last piece need not be followed by a full stride.
    let last = whole.remainder().get(..size).filter(|piece| !piece.is_empty());
    whole.filter_map(move |chunk| chunk.get(..size)).chain(last)
}

/// The mutable version of [`chunks`].
#[inline]
pub(crate) fn chunks_mut(
    bytes: &mut [u8],
    stride: usize,
    size: usize,
) -> impl Iterator<Item = &mut [u8]> {
    let whole = bytes.len() - bytes.len() % stride.max(1);
    let (whole, last) = bytes.split_at_mut(whole);
    let last = last.get_mut(..size).filter(|piece| !piece.is_empty());
    let whole = whole.chunks_exact_mut(stride.max(1));
    whole.filter_map(move |chunk| chunk.get_mut(..size)).chain(last)
}

/// The bytes of a field or item of an element, or none if `bytes` is empty: a
/// placeholder is decoded from no bytes, and so are its fields.
#[inline]
fn item(bytes: &[u8], range: Range<usize>) -> &[u8] {
    bytes.get(range).unwrap_or_default()
}

/// The mutable version of [`item`]. If the range is out of bounds, encoding
/// into the empty slice reports the error.
#[inline]
fn item_mut(bytes: &mut [u8], range: Range<usize>) -> &mut [u8] {
    bytes.get_mut(range).unwrap_or_default()
}
