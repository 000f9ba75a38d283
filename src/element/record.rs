//! What `#[derive(Record)]` is made of: fields found by name, and padding.

use std::fmt;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::fast::{FastPath, raw, sealed};
use super::part::Part as FieldPart;
use super::{Element, InPlace, Typed, short_name};
use crate::dtype::{ByteOrder, DType, Field, Kind};
use crate::error::{DTypeError, Error, Result};
use crate::kernel::ElementFormat;

/// Named padding of a record in place: bytes that no field stands for.
///
/// Rust's own padding has no value, so a record that is lent in place may
/// have none; a field of this type takes its place.
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

/// All padding is equal.
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
    /// Void; in a record it is no field at all.
    fn dtype() -> DType {
        DType::new_scalar(Kind::Void, ByteOrder::NotApplicable, N)
    }
}

/// Stands on any bytes of its size, reads them, and never writes them.
impl<const N: usize> Element for Pad<N> {
    type Codec = ();

    fn codec(_: &DType) -> Result<()> {
        Ok(())
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
        Padding
    }
}

/// Any bytes are padding, and it is never copied.
#[derive(Debug)]
struct Padding;

impl sealed::Sealed for Padding {}

impl<const N: usize> FastPath<Pad<N>> for Padding {
    fn padding(&self) -> Option<Pad<N>> {
        Some(Pad::default())
    }

    fn is_exact(&self, (): &()) -> bool {
        true
    }
}

impl<const N: usize> InPlace for Pad<N> {}

/// The fields of a dtype, as a record asks for them one after the other.
#[derive(Debug)]
pub struct Fields<'d> {
    record: &'static str,
    dtype: &'d DType,
    taken: Vec<&'d str>,
    difference: Option<Difference>,
}

/// Why elements are no values of a record as they lie: a field, and how it
/// differs.
pub type Difference = Arc<(String, String)>;

impl<'d> Fields<'d> {
    /// Refuses what is no struct.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType).
    pub fn new(record: &'static str, dtype: &'d DType) -> Result<Fields<'d>> {
        if dtype.kind() != Kind::Struct {
            return Err(super::unfit(dtype, record));
        }
        Ok(Fields { record, dtype, taken: Vec::new(), difference: None })
    }

    /// Finds a field by name or title. `place` is where the record has it in
    /// memory, when it is lent in place; `stated` the dtype it was said to
    /// be, of which kind and unit must be the same.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType).
    pub fn part<T: Element>(
        &mut self,
        name: &str,
        place: Option<usize>,
        stated: Option<&str>,
    ) -> Result<FieldPart<T::Codec>> {
        if T::fast_path().padding().is_some() {
            return FieldPart::of::<T>(self.dtype, None);
        }
        let field = self.find(name)?;
        self.taken.push(field.name());
        if let Some(stated) = stated {
            let stated: DType = stated.parse()?;
            if (stated.kind(), stated.unit()) != (field.dtype.kind(), field.dtype.unit()) {
                let reason = format!("stored as {}, expected {stated}", field.dtype);
                return Err(self.error(name, reason));
            }
        }
        let part = FieldPart::of::<T>(&field.dtype, Some(field.offset));
        let part = part.map_err(|error| self.error(name, error.message().to_string()))?;
        if let (Some(place), None) = (place, &self.difference) {
            self.difference = differs::<T>(field, place, part.codec())
                .map(|reason| Arc::new((name.to_owned(), reason)));
        }
        Ok(part)
    }

    /// Refuses fields the record doesn't have, unless it is a `subset`; then
    /// tells why the elements are no values of `size` bytes as they lie.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType).
    pub fn end(self, subset: bool, size: usize) -> Result<Option<Difference>> {
        let left = |field: &&Field| !self.taken.contains(&field.name());
        if let Some(field) = self.dtype.fields().iter().find(left).filter(|_| !subset) {
            let reason = format!(
                "stored as {}, and the record has no such field: add one, or ask for some of the fields with `#[record(subset)]`",
                field.dtype
            );
            return Err(self.error(field.name(), reason));
        }
        let itemsize = self.dtype.itemsize();
        let last = || self.taken.last().map_or(String::new(), |&name| name.to_owned());
        let longer = (itemsize != size).then(|| {
            let reason = format!(
                "elements have {itemsize} bytes and the record has {size}: say where the others are with `Pad<N>`, or use `view::<{}>()`",
                self.record
            );
            Arc::new((last(), reason))
        });
        Ok(self.difference.or(longer))
    }

    fn find(&self, name: &str) -> Result<&'d Field> {
        let found = self.dtype.field(name);
        found.map_err(|_| {
            let fields = self.dtype.fields().iter();
            let known: Vec<_> = fields.map(|field| format!("`{}`", field.name())).collect();
            self.error(name, format!("there is no such field, only {}", known.join(", ")))
        })
    }

    fn error(&self, field: &str, reason: String) -> Error {
        DTypeError::Record { record: self.record, field: field.to_owned(), reason }.into()
    }
}

/// Why a field can't be lent at a place of a record in memory.
fn differs<T: Element>(field: &Field, place: usize, codec: &T::Codec) -> Option<String> {
    let name = short_name::<T>();
    if let Some(error) = T::fast_path().inexact(codec) {
        return Some(error.message().to_string());
    }
    if !T::fast_path().is_exact(codec) {
        return Some(format!(
            "stored as {}, asked for `{name}` in place: use `{}`",
            field.dtype,
            super::works_for(&field.dtype)
        ));
    }
    (field.offset != place).then(|| {
        format!("lies at byte {} and in the record at byte {place}: order the fields so, with `Pad<N>` between them", field.offset)
    })
}

/// What the codec of a derived record tells of it.
pub trait RecordCodec {
    /// The record's name.
    const RECORD: &'static str;

    /// Why elements are not values of the record as they are.
    fn difference(&self) -> Option<&Difference>;
}

/// Records in place: what `derive(Record)` chooses for `#[record(in_place)]`.
#[derive(Debug)]
pub struct Records;

impl sealed::Sealed for Records {}

impl<T: Element<Codec: RecordCodec> + Pod> FastPath<T> for Records {
    fn is_exact(&self, codec: &T::Codec) -> bool {
        codec.difference().is_none()
    }

    fn inexact(&self, codec: &T::Codec) -> Option<Error> {
        let record = T::Codec::RECORD;
        let (field, reason) = &**codec.difference()?;
        Some(DTypeError::Record { record, field: field.clone(), reason: reason.clone() }.into())
    }

    fn borrow<'a>(&self, codec: &T::Codec, bytes: &'a [u8]) -> Option<&'a [T]> {
        if codec.difference().is_none() { bytemuck::try_cast_slice(bytes).ok() } else { None }
    }

    fn bytes_of<'a>(&self, codec: &T::Codec, values: &'a [T]) -> Option<&'a [u8]> {
        codec.difference().is_none().then(|| bytemuck::cast_slice(values))
    }

    fn raw<'a>(
        &self,
        codec: &T::Codec,
        values: &'a mut [T],
    ) -> Option<(ElementFormat, &'a mut [u8])> {
        if codec.difference().is_none() { raw(values) } else { None }
    }

    fn zeros(&self, len: usize) -> Option<Vec<T>> {
        Some(bytemuck::zeroed_vec(len))
    }
}

/// A field of a record's dtype; `None` for padding.
#[must_use]
pub fn slot<T: Element>(
    name: &str,
    place: usize,
    dtype: impl FnOnce() -> DType,
) -> Option<(String, usize, DType)> {
    T::fast_path().padding().is_none().then(|| (name.to_owned(), place, dtype()))
}

/// The dtype a field was said to be.
///
/// # Panics
///
/// When it is none, or none of `T`.
#[must_use]
#[track_caller]
pub fn stated<T: Element>(record: &str, field: &str, descr: &str) -> DType {
    let dtype = descr.parse::<DType>().and_then(|dtype| T::codec(&dtype).map(|_| dtype));
    match dtype {
        Ok(dtype) => dtype,
        Err(error) => panic!("record `{record}`, field `{field}`: {error}"),
    }
}

/// The dtype of a record: fields at places, in elements of `size` bytes; one
/// after the other without a size.
///
/// # Panics
///
/// When it takes more than 2³¹ − 1 bytes.
#[must_use]
#[track_caller]
pub fn dtype(
    record: &str,
    slots: Vec<Option<(String, usize, DType)>>,
    size: Option<usize>,
) -> DType {
    let mut end = 0;
    let fields = slots.into_iter().flatten().map(|(name, place, dtype)| {
        let offset = if size.is_some() { place } else { end };
        end = offset + dtype.itemsize();
        Field::new(&name, offset, dtype)
    });
    let fields: Vec<Field> = fields.collect();
    match DType::from_fields(fields, size.unwrap_or(end), 1) {
        Ok(dtype) => dtype,
        Err(error) => panic!("record `{record}`: {error}"),
    }
}
