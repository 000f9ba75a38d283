//! The runtime half of `#[derive(Record)]`: fields found by name, and padding.

use std::fmt;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::cold_drop::ColdDrop;
use super::fast_path::{FastPath, sealed::SealedFastPath, zeroed_vec};
use super::field_codec::FieldCodec;
use super::{Element, InPlace, Typed, short_name};
use crate::dtype::{ByteOrder, DType, Field, Kind, MAX_ITEMSIZE};
use crate::error::{DTypeError, Error, Result, plural};
use crate::kernel::ElementFormat;

/// Explicit padding in a record borrowed in place.
///
/// The padding that Rust inserts is uninitialized, so a record borrowed in
/// place must have none. A field of this type fills the gap instead.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use npymap::{DType, Record, bytemuck, element::Pad};
///
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, Record)]
/// #[record(in_place)]
/// #[repr(C)]
/// struct Row {
///     flag: u8,
///     pad: Pad<3>,
///     x: f32,
/// }
/// assert_eq!(DType::of::<Row>(), DType::aligned([("flag", DType::of::<u8>()), ("x", DType::of::<f32>())])?);
/// # }
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub struct Pad<const N: usize>(pub [u8; N]);

impl<const N: usize> Default for Pad<N> {
    fn default() -> Pad<N> {
        Pad([0; N])
    }
}

/// All padding compares equal.
impl<const N: usize> PartialEq for Pad<N> {
    fn eq(&self, _: &Pad<N>) -> bool {
        true
    }
}

impl<const N: usize> Eq for Pad<N> {}

impl<const N: usize> fmt::Debug for Pad<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pad<{N}>")
    }
}

impl<const N: usize> Typed for Pad<N> {
    /// `|VN`. In the dtype of a record, padding is left out.
    fn dtype() -> DType {
        const { assert!(N <= MAX_ITEMSIZE, "elements have at most 2147483647 bytes") };
        DType::new_scalar(Kind::Void, ByteOrder::NotApplicable, N)
    }
}

/// Accepts any `N` bytes; encoding leaves them unchanged.
impl<const N: usize> Element for Pad<N> {
    type Codec = ();

    fn codec(dtype: &DType) -> Result<()> {
        if dtype.itemsize() == N { Ok(()) } else { Err(super::type_mismatch(dtype, "Pad<N>")) }
    }

    fn itemsize((): &()) -> usize {
        N
    }

    fn decode((): &(), bytes: &[u8]) -> Pad<N> {
        bytes.try_into().map_or_else(|_| Pad::default(), Pad)
    }

    fn encode(&self, (): &(), _: &mut [u8]) -> Result<()> {
        Ok(())
    }

    fn fast_path() -> impl FastPath<Self> {
        PadFastPath
    }
}

/// The fast path of [`Pad`]: any bytes are valid, and no bytes are copied.
#[derive(Debug)]
struct PadFastPath;

impl SealedFastPath for PadFastPath {}

impl<const N: usize> FastPath<Pad<N>> for PadFastPath {
    #[inline]
    fn always_fits(&self, (): &()) -> bool {
        true
    }

    fn padding(&self) -> Option<Pad<N>> {
        Some(Pad::default())
    }

    fn is_exact(&self, (): &()) -> bool {
        true
    }
}

impl<const N: usize> InPlace for Pad<N> {}

/// Matches the fields of a record to the fields of a dtype.
#[derive(Debug)]
pub struct FieldMatcher<'d> {
    record: &'static str,
    dtype: &'d DType,
    /// Names of the dtype's fields that the record has.
    matched: Vec<&'d str>,
    mismatch: Option<FieldMismatch>,
}

/// Why elements can't be borrowed as a record: a field, and how it differs.
pub type FieldMismatch = Arc<(String, String)>;

/// Keeps a mismatch in a codec.
pub type StoredMismatch = ColdDrop<FieldMismatch>;

impl<'d> FieldMatcher<'d> {
    /// Starts to match the fields of `dtype`, which must be a struct.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if `dtype` is not a
    /// struct.
    #[inline]
    pub fn new(record: &'static str, dtype: &'d DType) -> Result<FieldMatcher<'d>> {
        if dtype.kind() != Kind::Struct {
            return Err(super::type_mismatch(dtype, record));
        }
        Ok(FieldMatcher { record, dtype, matched: Vec::new(), mismatch: None })
    }

    /// Finds a field by name or title.
    ///
    /// `offset` is its offset in the record if records are borrowed in place.
    /// `declared` is the dtype from the field's attribute. The stored field
    /// must have its kind and unit.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if there is no such
    /// field, or it is not a `T`.
    pub fn field<T: Element>(
        &mut self,
        name: &str,
        offset: Option<usize>,
        declared: Option<&str>,
    ) -> Result<FieldCodec<T::Codec>> {
        if T::fast_path().padding().is_some() {
            let bytes = DType::new_scalar(Kind::Void, ByteOrder::NotApplicable, size_of::<T>());
            return FieldCodec::new::<T>(&bytes, None);
        }
        let field = self.find(name)?;
        if self.matched.contains(&field.name()) {
            let reason = format!("another field of the record is stored as `{}`", field.name());
            return Err(self.error(name, reason));
        }
        self.matched.push(field.name());
        if let Some(declared) = declared {
            let declared: DType = declared.parse()?;
            if !T::fast_path().has_kinds_of(&field.dtype, &declared) {
                let reason = format!("stored as {}, expected {declared}", field.dtype);
                return Err(self.error(name, reason));
            }
        }
        let codec = FieldCodec::new::<T>(&field.dtype, Some(field.offset));
        let codec = codec.map_err(|error| self.error(name, error.message().to_string()))?;
        if let (Some(offset), None) = (offset, &self.mismatch) {
            self.mismatch = field_mismatch::<T>(field, offset, &codec.codec)
                .map(|reason| Arc::new((name.to_owned(), reason)));
        }
        Ok(codec)
    }

    /// Rejects fields that the record doesn't have, unless `subset` is set,
    /// and returns why elements can't be borrowed as records of `size` bytes,
    /// if so.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the dtype has
    /// more fields, unless `subset` is set.
    #[inline]
    pub fn finish(self, subset: bool, size: usize) -> Result<StoredMismatch> {
        let mut unmatched =
            self.dtype.fields().iter().filter(|field| !self.matched.contains(&field.name()));
        if let (Some(field), false) = (unmatched.next(), subset) {
            let reason = format!(
                "stored as {}, but the record has no such field: add it, or allow other fields with `#[record(subset)]`",
                field.dtype
            );
            return Err(self.error(field.name(), reason));
        }
        let itemsize = self.dtype.itemsize();
        let size_mismatch = (itemsize != size).then(|| {
            let reason = format!(
                "elements have {} and the record has {size}: add fields of type `Pad<N>` for padding, or use `view::<{}>()`",
                plural(itemsize, "byte", "bytes"),
                self.record
            );
            let last = self.matched.last().copied().unwrap_or_default();
            Arc::new((last.to_owned(), reason))
        });
        Ok(ColdDrop::new(self.mismatch.or(size_mismatch)))
    }

    #[inline]
    fn find(&self, name: &str) -> Result<&'d Field> {
        let found = self.dtype.field(name);
        found.map_err(|_| {
            let fields = self.dtype.fields().iter();
            let known: Vec<_> = fields.map(|field| format!("`{}`", field.name())).collect();
            self.error(name, format!("the dtype has no such field, only {}", known.join(", ")))
        })
    }

    #[inline]
    fn error(&self, field: &str, reason: String) -> Error {
        DTypeError::Record { record: self.record, field: field.to_owned(), reason }.into()
    }
}

/// Why a stored field can't be borrowed as a `T` at `offset` in the record.
fn field_mismatch<T: Element>(field: &Field, offset: usize, codec: &T::Codec) -> Option<String> {
    let name = short_name::<T>();
    if let Some(error) = T::fast_path().mismatch(codec) {
        return Some(error.message().to_string());
    }
    if !T::fast_path().is_exact(codec) {
        return Some(format!(
            "stored as {}, asked for `{name}` in place: use `{}`",
            field.dtype,
            super::suggested_type(&field.dtype)
        ));
    }
    (field.offset != offset).then(|| {
        format!("stored at byte {}, but at byte {offset} of the record: reorder the fields, or add `Pad<N>` between them", field.offset)
    })
}

/// The codec of types that can be borrowed in place: derived records, and `()` of types with
/// stored bytes that are always a valid value.
pub trait RecordCodec {
    /// The record's name.
    const RECORD: &'static str;

    /// Why elements can't be borrowed as records, if they can't.
    fn mismatch(&self) -> Option<&FieldMismatch>;
}

impl RecordCodec for () {
    const RECORD: &'static str = "";

    #[inline]
    fn mismatch(&self) -> Option<&FieldMismatch> {
        None
    }
}

/// The fast path of elements that are in memory as they are stored, unless their codec says
/// why not. `derive(Record)` chooses it for `#[record(in_place)]`.
#[derive(Debug)]
pub struct StoredFastPath;

impl SealedFastPath for StoredFastPath {}

impl<T: Element<Codec: RecordCodec> + Pod> FastPath<T> for StoredFastPath {
    fn is_exact(&self, codec: &T::Codec) -> bool {
        codec.mismatch().is_none()
    }

    fn mismatch(&self, codec: &T::Codec) -> Option<Error> {
        let record = T::Codec::RECORD;
        let (field, reason) = &**codec.mismatch()?;
        Some(DTypeError::Record { record, field: field.clone(), reason: reason.clone() }.into())
    }

    fn borrow<'a>(&self, codec: &T::Codec, bytes: &'a [u8]) -> Option<&'a [T]> {
        if codec.mismatch().is_none() { bytemuck::try_cast_slice(bytes).ok() } else { None }
    }

    fn bytes_of<'a>(&self, codec: &T::Codec, values: &'a [T]) -> Option<&'a [u8]> {
        codec.mismatch().is_none().then(|| bytemuck::cast_slice(values))
    }

    fn copy_target<'a>(
        &self,
        codec: &T::Codec,
        values: &'a mut [T],
    ) -> Option<(ElementFormat, &'a mut [u8])> {
        let size = size_of::<T>();
        (size > 0 && codec.mismatch().is_none())
            .then(|| (ElementFormat::opaque(size), bytemuck::cast_slice_mut(values)))
    }

    #[inline]
    fn always_fits(&self, codec: &T::Codec) -> bool {
        codec.mismatch().is_none()
    }

    fn zeros(&self, len: usize) -> Option<Vec<T>> {
        Some(zeroed_vec(len))
    }
}

/// Returns a field of a record's dtype. Returns `None` for padding.
#[must_use]
pub fn typed_field<T: Element>(
    name: &str,
    title: Option<&str>,
    offset: usize,
    dtype: impl FnOnce() -> DType,
) -> Option<Field> {
    T::fast_path().padding().is_none().then(|| {
        let mut field = Field::new(name, offset, dtype());
        field.title = title.map(str::to_owned);
        field
    })
}

/// Returns the dtype that a field's attribute declares.
///
/// # Panics
///
/// When `descr` is not a dtype, or not one of `T`.
#[must_use]
#[track_caller]
pub fn declared_dtype<T: Element>(record: &str, field: &str, descr: &str) -> DType {
    let dtype = descr.parse::<DType>().and_then(|dtype| T::codec(&dtype).map(|_| dtype));
    match dtype {
        Ok(dtype) => dtype,
        Err(error) => panic!("record `{record}`, field `{field}`: {error}"),
    }
}

/// Returns the dtype of a record: fields at their offsets in elements of `size`
/// bytes, or packed without a `size`.
///
/// # Panics
///
/// When an element takes more than 2³¹ − 1 bytes.
#[must_use]
#[track_caller]
pub fn record_dtype(record: &str, fields: Vec<Option<Field>>, size: Option<usize>) -> DType {
    let mut end = 0;
    let mut fields: Vec<Field> = fields.into_iter().flatten().collect();
    if size.is_none() {
        for field in &mut fields {
            field.offset = end;
            end += field.dtype.itemsize();
        }
    }
    match DType::from_fields(fields, size.unwrap_or(end), 1) {
        Ok(dtype) => dtype,
        Err(error) => panic!("record `{record}`: {error}"),
    }
}
