//! NumPy's data types: the type and layout of one element.

mod compound;
mod descr;
pub(crate) mod literal;
mod name;
#[cfg(feature = "serde")]
mod serialize;
mod typestr;
mod unit;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use compact_str::CompactString;

use crate::dtype::literal::Reader;
use crate::error::{DTypeError, Error, Result};

pub(crate) use descr::{parse as parse_descr, to_descr as descr_text};
pub(crate) use typestr::{MAX_ITEMSIZE, parse as parse_typestr};
pub use unit::{Unit, UnitBase};

/// NumPy's largest number of axes.
pub(crate) const MAX_NDIM: usize = 64;

/// The deepest nesting of brackets in a descr: a header adds one level, and
/// [`literal`] has a limit.
const MAX_DEPTH: usize = literal::MAX_DEPTH - 1;

/// The byte order of a number, or of a text's code points.
///
/// # Examples
///
/// ```
/// use npymap::{ByteOrder, DType};
///
/// let dtype: DType = ">f4".parse()?;
/// assert_eq!(dtype.byte_order(), ByteOrder::Big);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first: `<`.
    Little,
    /// Most significant byte first: `>`.
    Big,
    /// Single bytes, or bytes that do not form a number: `|`.
    NotApplicable,
}

impl ByteOrder {
    /// The byte order of this machine.
    pub const NATIVE: ByteOrder =
        if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
}

/// The kind of value that an element holds, like NumPy's `dtype.kind`. However,
/// structs and subarrays have kinds of their own instead of void.
///
/// # Examples
///
/// ```
/// use npymap::{DType, dtype::Kind};
///
/// let array = npymap::MappedArray::load("data/penguins.npy")?;
/// assert_eq!(array.dtype().kind(), Kind::Float);
/// assert_eq!("<U10".parse::<DType>()?.kind(), Kind::Unicode);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A byte, true if not zero: `b`.
    Bool,
    /// A signed integer: `i`.
    Int,
    /// An unsigned integer: `u`.
    UInt,
    /// A float of 2, 4, 8 or 16 bytes: `f`. With 16 bytes it is x86-64's long
    /// double.
    Float,
    /// Two floats: `c`.
    Complex,
    /// A time difference: `m`.
    TimeDelta,
    /// A date: `M`.
    DateTime,
    /// Bytes, NUL-padded: `S`.
    Bytes,
    /// Text of UCS-4 code points, NUL-padded: `U`.
    Unicode,
    /// Opaque bytes: `V`.
    Void,
    /// Named fields.
    Struct,
    /// A small array of elements.
    Subarray,
}

/// The type of an array's elements, like NumPy's `dtype`.
///
/// Cloning is cheap. [`FromStr`] and [`Display`](fmt::Display) use `descr`, the
/// Python literal in `.npy` headers, which is read by the rules of
/// `numpy.lib.format.descr_to_dtype`. As in NumPy, alignment does not affect
/// equality.
///
/// # Examples
///
/// ```
/// use npymap::{ByteOrder, DType, dtype::Kind};
///
/// let dtype: DType = ">f8".parse()?;
/// assert_eq!((dtype.kind(), dtype.byte_order(), dtype.itemsize()), (Kind::Float, ByteOrder::Big, 8));
///
/// let event: DType = "[('t', '<M8[ns]'), ('pos', '<f4', (3,))]".parse()?;
/// assert_eq!(event.itemsize(), 20);
/// assert_eq!(event.field("pos")?.offset, 8);
/// assert_eq!(event.to_string(), "[('t', '<M8[ns]'), ('pos', '<f4', (3,))]");
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DType(DTypeRepr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum DTypeRepr {
    Scalar(ScalarType),
    Struct(Arc<Struct>),
    Subarray(Arc<Subarray>),
}

/// A dtype other than a struct or subarray.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ScalarType {
    kind: Kind,
    order: ByteOrder,
    itemsize: usize,
    unit: Option<Unit>,
}

#[derive(Clone)]
struct Struct {
    fields: Vec<Field>,
    itemsize: usize,
    alignment: usize,
    /// The nesting depth of the brackets in its descr.
    depth: usize,
}

impl PartialEq for Struct {
    #[inline]
    fn eq(&self, other: &Struct) -> bool {
        self.itemsize == other.itemsize && self.fields == other.fields
    }
}

impl Eq for Struct {}

impl Hash for Struct {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.itemsize.hash(state);
        self.fields.hash(state);
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Subarray {
    base: DType,
    shape: Vec<usize>,
    itemsize: usize,
    /// The nesting depth of the brackets in its descr.
    depth: usize,
}

/// A named field of a struct.
///
/// # Examples
///
/// ```
/// let dtype: npymap::DType = "[('id', '<u4'), ('pos', '<f4', (3,))]".parse()?;
/// for field in dtype.fields() {
///     println!("{} at byte {}: {}", field.name(), field.offset, field.dtype);
/// }
/// assert_eq!(dtype.fields()[1].offset, 4);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Field {
    name: CompactString,
    /// A second name for it.
    pub title: Option<String>,
    /// Bytes from the start of the struct.
    pub offset: usize,
    /// Its dtype.
    pub dtype: DType,
}

impl Field {
    /// A field without a title.
    #[inline]
    pub(crate) fn new(name: &str, offset: usize, dtype: DType) -> Field {
        Field { name: name.into(), title: None, offset, dtype }
    }

    /// Returns the name, which NumPy allows to be empty.
    #[must_use]
    #[inline]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its bytes in an element of the struct.
    #[inline]
    pub(crate) fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.dtype.itemsize()
    }

    #[inline]
    pub(crate) fn has_name_or_title(&self, name: &str) -> bool {
        self.name == name || self.title.as_deref() == Some(name)
    }
}

impl DType {
    /// Returns the kind of value that it describes.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> Kind {
        match &self.0 {
            DTypeRepr::Scalar(scalar) => scalar.kind,
            DTypeRepr::Struct(_) => Kind::Struct,
            DTypeRepr::Subarray(_) => Kind::Subarray,
        }
    }

    /// Returns the byte order. Structs and subarrays have no byte order of
    /// their own, so this returns `NotApplicable` for them.
    #[must_use]
    #[inline]
    pub fn byte_order(&self) -> ByteOrder {
        self.scalar().map_or(ByteOrder::NotApplicable, |scalar| scalar.order)
    }

    /// Returns the size of one element in bytes, including padding. This can be
    /// 0, for example for `S0`.
    #[must_use]
    #[inline]
    pub fn itemsize(&self) -> usize {
        match &self.0 {
            DTypeRepr::Scalar(scalar) => scalar.itemsize,
            DTypeRepr::Struct(fields) => fields.itemsize,
            DTypeRepr::Subarray(array) => array.itemsize,
        }
    }

    /// Returns NumPy's `dtype.alignment` on x86-64, in bytes. This is 1 for
    /// structs, unless [`aligned`](DType::aligned) made them.
    #[must_use]
    #[inline]
    pub fn alignment(&self) -> usize {
        match &self.0 {
            DTypeRepr::Scalar(scalar) => match scalar.kind {
                Kind::Bytes | Kind::Void => 1,
                Kind::Unicode => 4,
                Kind::Complex => scalar.itemsize / 2,
                _ => scalar.itemsize,
            },
            DTypeRepr::Struct(fields) => fields.alignment,
            DTypeRepr::Subarray(array) => array.base.alignment(),
        }
    }

    /// Returns the unit of a date or time difference, if any.
    #[must_use]
    #[inline]
    pub fn unit(&self) -> Option<Unit> {
        self.scalar()?.unit
    }

    /// Returns the fields of a struct in order; empty for other dtypes.
    #[must_use]
    #[inline]
    pub fn fields(&self) -> &[Field] {
        match &self.0 {
            DTypeRepr::Struct(fields) => &fields.fields,
            _ => &[],
        }
    }

    /// Returns the field with this name or title.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if there is none. The
    /// message lists the existing fields.
    #[inline]
    pub fn field(&self, name: &str) -> Result<&Field> {
        let mut fields = self.fields().iter();
        fields.find(|field| field.has_name_or_title(name)).ok_or_else(|| {
            let known: Vec<_> =
                self.fields().iter().map(|field| format!("`{}`", field.name)).collect();
            let reason = match known.as_slice() {
                [] => format!("has no fields, asked for `{name}`"),
                _ => format!("no field `{name}`, expected {}", known.join(", ")),
            };
            DTypeError::NoField { descr: self.to_string(), reason }.into()
        })
    }

    /// A struct with some of the fields, selected by name or title, or by path: `pos.z`
    /// is a nested field, and its name in the new struct. Offsets and itemsize stay the
    /// same, as in NumPy's `a[['x', 'y']]`.
    #[inline]
    pub(crate) fn select(&self, names: &[&str]) -> Result<DType> {
        let fields = names.iter().map(|path| self.nested_field(path)).collect::<Result<_>>()?;
        // As in NumPy, it is not aligned, even if the struct is.
        DType::from_fields(fields, self.itemsize(), 1)
    }

    /// The field that a path names, with its offset in this struct.
    #[inline]
    fn nested_field(&self, path: &str) -> Result<Field> {
        let (name, rest) = self.split_path(path);
        let field = self.field(name)?;
        let Some(rest) = rest else { return Ok(field.clone()) };
        let inner = field.dtype.nested_field(rest)?;
        Ok(Field { name: path.into(), offset: field.offset + inner.offset, ..inner })
    }

    /// Splits a path after its first field. Names may contain dots, so the longest
    /// prefix that names a field wins.
    #[inline]
    pub(crate) fn split_path<'p>(&self, path: &'p str) -> (&'p str, Option<&'p str>) {
        let dots = path.rmatch_indices('.').map(|(at, _)| (path.get(..at), path.get(at + 1..)));
        let whole = std::iter::once((Some(path), None));
        let mut splits = whole.chain(dots);
        let is_field = |name| self.fields().iter().any(|field| field.has_name_or_title(name));
        match splits.find(|(name, _)| name.is_some_and(is_field)) {
            Some((Some(name), rest)) => (name, rest),
            _ => path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest))),
        }
    }

    /// Returns the base dtype and shape of a subarray.
    #[must_use]
    #[inline]
    pub fn subarray(&self) -> Option<(&DType, &[usize])> {
        match &self.0 {
            DTypeRepr::Subarray(array) => Some((&array.base, &array.shape)),
            _ => None,
        }
    }

    /// Returns the same dtype with all its numbers in this byte order. Dtypes
    /// without a byte order do not change.
    #[must_use]
    pub fn with_byte_order(&self, order: ByteOrder) -> DType {
        match &self.0 {
            DTypeRepr::Scalar(scalar) => {
                let meant =
                    scalar.order != ByteOrder::NotApplicable && order != ByteOrder::NotApplicable;
                DType(DTypeRepr::Scalar(ScalarType {
                    order: if meant { order } else { scalar.order },
                    ..*scalar
                }))
            }
            DTypeRepr::Struct(fields) => {
                let mut fields = Struct::clone(fields);
                for field in &mut fields.fields {
                    field.dtype = field.dtype.with_byte_order(order);
                }
                DType(DTypeRepr::Struct(Arc::new(fields)))
            }
            DTypeRepr::Subarray(array) => {
                let base = array.base.with_byte_order(order);
                DType(DTypeRepr::Subarray(Arc::new(Subarray { base, ..Subarray::clone(array) })))
            }
        }
    }

    /// A scalar dtype. The caller is responsible for a valid size.
    #[inline]
    pub(crate) const fn new_scalar(kind: Kind, order: ByteOrder, itemsize: usize) -> DType {
        DType(DTypeRepr::Scalar(ScalarType { kind, order, itemsize, unit: None }))
    }

    /// True if NumPy treats the dtype as one without a size yet: it has neither
    /// bytes nor fields.
    #[inline]
    pub(crate) fn is_unsized(&self) -> bool {
        self.itemsize() == 0 && self.kind() != Kind::Struct
    }

    #[inline]
    pub(crate) fn scalar(&self) -> Option<&ScalarType> {
        match &self.0 {
            DTypeRepr::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The nesting depth of the brackets in its descr.
    #[inline]
    fn depth(&self) -> usize {
        match &self.0 {
            DTypeRepr::Scalar(_) => 0,
            DTypeRepr::Struct(fields) => fields.depth,
            DTypeRepr::Subarray(array) => array.depth,
        }
    }
}

impl From<ScalarType> for DType {
    #[inline]
    fn from(scalar: ScalarType) -> DType {
        DType(DTypeRepr::Scalar(scalar))
    }
}

impl FromStr for DType {
    type Err = Error;

    /// Reads a type string (`<f8`) or a descr (`[('x', '<f8')]`).
    #[inline]
    fn from_str(text: &str) -> Result<DType> {
        if !text.trim_start().starts_with(['[', '(', '{', '\'', '"']) {
            return typestr::parse(text).map(DType::from);
        }
        let mut reader = Reader::new(text, false);
        let dtype = descr::parse(&mut reader)?;
        reader.end()?;
        Ok(dtype)
    }
}

impl fmt::Display for DType {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&descr::to_text(self))
    }
}

impl fmt::Debug for DType {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DType({self})")
    }
}
