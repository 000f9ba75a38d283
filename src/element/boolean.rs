//! Stored booleans.

use std::fmt;

use bytemuck::{Pod, Zeroable};

use super::fast_path::{FastPath, plain_element, sealed::SealedFastPath, zeroed_vec};
use super::{Element, InPlace, Typed, type_mismatch};
use crate::dtype::{ByteOrder, DType, Kind};
use crate::error::Result;

/// A stored boolean: one byte, true if it is not zero.
///
/// The bytes of a boolean array can have any value, while Rust's `bool` allows
/// only 0 and 1.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, element::Bool};
///
/// let mut seen = MappedArray::zeros(&"|b1".parse()?, &[8])?;
/// seen.as_slice_mut::<Bool>()?[2] = Bool::new(true);
/// assert!(seen.as_slice::<Bool>()?[2].get());
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// Stores 1 or 0, as NumPy does.
    #[must_use]
    #[inline]
    pub fn new(value: bool) -> Bool {
        Bool(u8::from(value))
    }

    /// Returns whether the byte is not zero, as NumPy reads it.
    #[must_use]
    #[inline]
    pub fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    #[inline]
    fn from(value: bool) -> Bool {
        Bool::new(value)
    }
}

impl From<Bool> for bool {
    #[inline]
    fn from(value: Bool) -> bool {
        value.get()
    }
}

impl PartialEq for Bool {
    #[inline]
    fn eq(&self, other: &Bool) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Bool {}

impl fmt::Debug for Bool {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(), f)
    }
}

impl fmt::Display for Bool {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.get(), f)
    }
}

impl Typed for Bool {
    #[inline]
    fn dtype() -> DType {
        DType::new_scalar(Kind::Bool, ByteOrder::NotApplicable, 1)
    }
}

plain_element!([] Bool, dtype => dtype.kind() == Kind::Bool, "Bool");

impl Typed for bool {
    #[inline]
    fn dtype() -> DType {
        Bool::dtype()
    }
}

impl Element for bool {
    type Codec = ();

    #[inline]
    fn codec(dtype: &DType) -> Result<()> {
        if dtype.kind() == Kind::Bool { Ok(()) } else { Err(type_mismatch(dtype, "bool")) }
    }

    #[inline]
    fn itemsize((): &()) -> usize {
        1
    }

    #[inline]
    fn decode((): &(), bytes: &[u8]) -> bool {
        Bool::decode(&(), bytes).get()
    }

    #[inline]
    fn encode(&self, (): &(), bytes: &mut [u8]) -> Result<()> {
        Bool::new(*self).encode(&(), bytes)
    }

    #[inline]
    fn fast_path() -> impl FastPath<Self> {
        BoolFastPath
    }
}

/// A `bool` is a valid stored byte, but not every stored byte is a valid `bool`.
#[derive(Debug)]
struct BoolFastPath;

impl SealedFastPath for BoolFastPath {}

impl FastPath<bool> for BoolFastPath {
    #[inline]
    fn always_fits(&self, (): &()) -> bool {
        true
    }

    #[inline]
    fn bytes_of<'a>(&self, (): &(), values: &'a [bool]) -> Option<&'a [u8]> {
        Some(bytemuck::cast_slice(values))
    }

    #[inline]
    fn zeros(&self, len: usize) -> Option<Vec<bool>> {
        Some(zeroed_vec(len))
    }
}
