//! Structs and subarrays of other dtypes.

use std::sync::Arc;

use compact_str::CompactString;

use super::{
    DType, DTypeRepr, Field, MAX_DEPTH, MAX_ITEMSIZE, MAX_NDIM, Struct, Subarray, literal,
};
use crate::error::{DTypeError, Error, Result};

impl DType {
    /// Returns a struct without padding between its fields.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if two fields
    /// have the same name, the struct is larger than 2³¹ − 1 bytes, or its
    /// `descr` has more than 199 nested brackets.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::DType;
    ///
    /// let dtype = DType::packed([("id", DType::of::<u8>()), ("x", DType::of::<f64>())])?;
    /// assert_eq!(dtype.itemsize(), 9);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn packed<'a>(fields: impl IntoIterator<Item = (&'a str, DType)>) -> Result<DType> {
        let fields = fields.into_iter().map(|(name, dtype)| (name.into(), None, dtype));
        DType::consecutive(fields.collect(), false)
    }

    /// Returns a struct with the layout of a C compiler: NumPy's `align=True`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if two fields
    /// have the same name, the struct is larger than 2³¹ − 1 bytes, or its
    /// `descr` has more than 199 nested brackets.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::DType;
    ///
    /// let dtype = DType::aligned([("id", DType::of::<u8>()), ("x", DType::of::<f64>())])?;
    /// assert_eq!((dtype.itemsize(), dtype.alignment()), (16, 8));
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn aligned<'a>(fields: impl IntoIterator<Item = (&'a str, DType)>) -> Result<DType> {
        let fields = fields.into_iter().map(|(name, dtype)| (name.into(), None, dtype));
        DType::consecutive(fields.collect(), true)
    }

    /// Returns a subarray, NumPy's `(base, shape)`: each element is a small
    /// array. Without axes it is `base` itself.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if `base` has
    /// no size, such as `|S0`, or if the subarray has more than 64 axes, 2³¹ −
    /// 1 bytes or elements, or 199 nested brackets in its `descr`.
    pub fn array(base: DType, shape: &[usize]) -> Result<DType> {
        if shape.is_empty() {
            return Ok(base);
        }
        let depth = 1 + base.depth().max(1);
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        // As in NumPy, the number of elements is limited even if they have no bytes. Any
        // number that is too large for `usize` is above the limit.
        let count = shape.iter().fold(1_usize, |count, &dim| count.saturating_mul(dim));
        let itemsize = count.saturating_mul(base.itemsize());
        let reason = if base.is_unsized() {
            "elements of a subarray need a size, as in '|S3'"
        } else if shape.len() > MAX_NDIM {
            "subarrays have at most 64 axes"
        } else if shape.iter().any(|&dim| dim > MAX_ITEMSIZE) {
            "axes have a length of at most 2147483647"
        } else if count.max(itemsize) > MAX_ITEMSIZE {
            "elements have at most 2147483647 bytes"
        } else {
            let shape = shape.to_vec();
            let array = Subarray { base, shape, itemsize, depth };
            return Ok(DType(DTypeRepr::Subarray(Arc::new(array))));
        };
        let descr = format!("({base}, {})", literal::tuple(shape));
        Err(DTypeError::Invalid { descr, reason: reason.to_owned() }.into())
    }

    /// Lays out fields in turn, at multiples of their alignment if `align`.
    pub(super) fn consecutive(
        fields: Vec<(CompactString, Option<String>, DType)>,
        align: bool,
    ) -> Result<DType> {
        let mut end = 0_usize;
        let mut alignment = 1;
        let mut placed = Vec::with_capacity(fields.len());
        for (name, title, dtype) in fields {
            if align {
                alignment = alignment.max(dtype.alignment());
                end = end.next_multiple_of(dtype.alignment());
            }
            let offset = end;
            end = field_end(offset, &dtype)?;
            placed.push(Field { name, title, offset, dtype });
        }
        let itemsize = end.next_multiple_of(alignment);
        DType::from_fields(placed, itemsize, alignment)
    }

    /// Makes a struct of fields with known offsets, checking their names and
    /// the size.
    pub(crate) fn from_fields(
        fields: Vec<Field>,
        itemsize: usize,
        alignment: usize,
    ) -> Result<DType> {
        let mut names: Vec<&str> = Vec::with_capacity(fields.len());
        let (mut depth, mut is_too_large) = (0, itemsize > MAX_ITEMSIZE);
        for field in &fields {
            names.push(field.name());
            if let Some(title) = &field.title {
                names.push(title);
                // A title is in brackets with the name.
                depth = depth.max(1);
            }
            is_too_large |= field.offset > MAX_ITEMSIZE;
            depth = depth.max(match &field.dtype.0 {
                // The descr of a subarray field has no brackets of its own.
                DTypeRepr::Subarray(array) => array.base.depth().max(1),
                _ => field.dtype.depth(),
            });
        }
        // Names in ascending order are distinct.
        if !names.is_sorted_by(|a, b| a < b) {
            names.sort_unstable();
            let mut pairs = names.windows(2);
            if let Some([name, ..]) = pairs.find(|pair| pair.first() == pair.last()) {
                return Err(invalid_struct(format!(
                    "`{name}` is the name or title of two fields, expected distinct ones"
                )));
            }
        }
        if is_too_large {
            return Err(too_large());
        }
        let depth = 2 + depth;
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        Ok(DType(DTypeRepr::Struct(Arc::new(Struct { fields, itemsize, alignment, depth }))))
    }
}

/// The end of a field, which is limited like the size of an element.
#[inline]
pub(super) fn field_end(offset: usize, dtype: &DType) -> Result<usize> {
    let end = offset.checked_add(dtype.itemsize()).filter(|&end| end <= MAX_ITEMSIZE);
    end.ok_or_else(too_large)
}

#[inline]
fn too_large() -> Error {
    invalid_struct("elements have at most 2147483647 bytes".to_owned())
}

/// Deeper dtypes could not be read back from a header, and would overflow the
/// stack in recursive functions.
#[inline]
fn too_deep() -> Error {
    invalid_struct(format!("at most {MAX_DEPTH} nested brackets"))
}

fn invalid_struct(reason: String) -> Error {
    DTypeError::Invalid { descr: "[…]".to_owned(), reason }.into()
}
