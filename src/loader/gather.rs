//! Copies rows of any source: checks a request, then decodes, converts or copies
//! the bytes that the source provides.

use ndarray::{ArrayD, IxDyn};

use super::row_source::RowSource;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::element::cast::{Casting, Number, check_cast};
use crate::element::fast_path::FastPath as _;
use crate::error::{DTypeError, Result, ShapeError};
use crate::layout::check_unbacked;
use crate::layout::row_index::{RowIndex, TakeMode, resolve};
use crate::view::{AxisSlices, check_len};
use crate::with_type;

/// A source that provides the bytes of rows.
pub(super) trait Gather: RowSource {
    /// Adds the path of the file to an error.
    fn name_file<T>(&self, result: Result<T>) -> Result<T>;

    /// Provides the bytes of rows, which must exist. A row has `each` items of
    /// `out`.
    ///
    /// Calls `copy` with the parts of a row, the bytes that contain them, the
    /// rows to copy, and the part of `out` to copy them to. If there are more
    /// rows than fit, those beyond are the next ones, to be fetched ahead.
    fn gather<U>(
        &self,
        rows: &[usize],
        each: usize,
        out: &mut [U],
        copy: impl FnMut(&AxisSlices, &[u8], &[usize], &mut [U]),
    ) -> Result<()>;
}

/// Copies rows, decoded.
pub(super) fn take<T: Element>(
    from: &impl Gather,
    indices: &[impl RowIndex],
    out: &mut [T],
) -> Result<()> {
    let codec = T::codec(from.dtype())?;
    let rows = check_rows(from, indices, out.len())?;
    from.gather(&rows, from.row_len(), out, |parts, bytes, rows, out| {
        parts.decode_over(bytes, &codec, rows, out);
    })
}

/// Copies rows, each element converted.
pub(super) fn take_with<T: Element + Copy, U>(
    from: &impl Gather,
    indices: &[impl RowIndex],
    out: &mut [U],
    convert: impl Fn(T) -> U,
) -> Result<()> {
    let codec = T::codec(from.dtype())?;
    let rows = check_rows(from, indices, out.len())?;
    from.gather(&rows, from.row_len(), out, |parts, bytes, rows, out| {
        parts.convert_over(bytes, &codec, rows, out, &convert);
    })
}

/// Copies rows, cast to another type of number.
pub(super) fn take_as<U: Number>(
    from: &impl Gather,
    indices: &[impl RowIndex],
    out: &mut [U],
) -> Result<()> {
    check_cast(from.dtype(), &U::dtype(), Casting::SameKind)?;
    with_type!(from.dtype(), number T => {
        take_with(from, indices, out, |value: T| value.cast())
    }, _ => {
        let works = "only numbers can be cast: select a field, or copy with `take`".to_owned();
        let (from, to) = (from.dtype().to_string(), U::dtype().to_string());
        Err(DTypeError::Cast { from, to, casting: Casting::SameKind.to_string(), works }.into())
    })
}

/// Copies the bytes of rows as they are stored.
pub(super) fn take_bytes(
    from: &impl Gather,
    indices: &[impl RowIndex],
    out: &mut [u8],
) -> Result<()> {
    let each = from.row_len() * from.dtype().itemsize();
    check_len(each.saturating_mul(indices.len()), out.len())?;
    let rows = resolve_rows(from, indices)?;
    if each == 0 {
        // There may be any number of elements without bytes.
        return Ok(());
    }
    from.gather(&rows, each, out, |parts, bytes, rows, out| {
        let rows = rows.get(..out.len() / each).unwrap_or(rows);
        parts.copy(bytes, rows, out);
    })
}

/// Copies rows into an array.
pub(super) fn take_array<T: Element>(
    from: &impl Gather,
    indices: &[impl RowIndex],
) -> Result<ArrayD<T>> {
    let mut shape = from.shape().to_vec();
    if let Some(dim) = shape.first_mut() {
        *dim = indices.len();
    }
    let itemsize = size_of::<T>().max(1);
    let len = indices.len().checked_mul(from.row_len());
    let len = len.filter(|len| len.checked_mul(itemsize).is_some());
    let len = len.ok_or_else(|| ShapeError::Size { shape: tuple(&shape), itemsize })?;
    // Check the request before anything is allocated.
    let codec = T::codec(from.dtype())?;
    let rows = check_rows(from, indices, len)?;
    let elements = if let Some(mut out) = T::fast_path().zeros(len) {
        from.gather(&rows, from.row_len(), &mut out, |parts, bytes, rows, out| {
            parts.decode_over(bytes, &codec, rows, out);
        })?;
        out
    } else {
        collect(from, &rows, &codec, len)?
    };
    Ok(ArrayD::from_shape_vec(IxDyn(&shape), elements).expect("the shape has `len` elements"))
}

/// Copies rows of elements without a zero value. Sources provide rows in any
/// order, so each element is an `Option` until it is decoded.
fn collect<T: Element>(
    from: &impl Gather,
    rows: &[usize],
    codec: &T::Codec,
    len: usize,
) -> Result<Vec<T>> {
    let each = from.row_len();
    let mut out: Vec<Option<T>> = std::iter::repeat_with(|| None).take(len).collect();
    from.gather(rows, each, &mut out, |parts, bytes, rows, out| {
        let rows = rows.get(..out.len() / each.max(1)).unwrap_or(rows);
        let mut values = Vec::with_capacity(out.len());
        parts.decode_onto(bytes, codec, rows, &mut values);
        out.iter_mut().zip(values).for_each(|(place, value)| *place = Some(value));
    })?;
    Ok(out.into_iter().map(|value| value.expect("a source provides every row")).collect())
}

/// Resolves indices to rows, and checks that an output of `len` elements has the
/// right length for them.
fn check_rows(from: &impl Gather, indices: &[impl RowIndex], len: usize) -> Result<Vec<usize>> {
    let rows = resolve_rows(from, indices)?;
    let expected = rows.len().saturating_mul(from.row_len());
    check_unbacked(from.dtype().itemsize(), from.shape(), expected)?;
    check_len(expected, len)?;
    Ok(rows)
}

/// Resolves indices to rows, and checks that these exist.
pub(super) fn resolve_rows(from: &impl Gather, indices: &[impl RowIndex]) -> Result<Vec<usize>> {
    let shape = from.shape();
    let Some(&count) = shape.first() else {
        return Err(ShapeError::Axis { asked: 0, shape: tuple(shape) }.into());
    };
    resolve(TakeMode::Raise, indices, count, 0, shape)
}
