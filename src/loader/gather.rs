//! Copies rows of any source: checks a request, then decodes, converts or
//! copies what the source brings.

use ndarray::{ArrayD, IxDyn};

use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::element::cast::{Casting, Number, check_cast};
use crate::element::fast_path::FastPath as _;
use crate::error::{DTypeError, Result, ShapeError};
use crate::layout::check_unbacked;
use crate::layout::row_index::{RowIndex, TakeMode, resolve};
use crate::view::{AxisSlices, check_len};
use crate::with_type;

/// Where rows come from.
pub(super) trait Gather {
    /// The dtype of the elements.
    fn dtype(&self) -> &DType;

    /// The length of each axis; the first is the number of rows.
    fn shape(&self) -> &[usize];

    /// Names the file in an error.
    fn named<T>(&self, result: Result<T>) -> Result<T>;

    /// Brings rows, which are all there, `each` items of `out` for each.
    ///
    /// Calls `copy` with parts, the bytes that these lie in, which of them to
    /// copy, and where to. There may be more parts than the place has room
    /// for: these are next.
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
    let rows = checked(from, indices, out.len())?;
    from.gather(&rows, row_len(from), out, |parts, bytes, rows, out| {
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
    let rows = checked(from, indices, out.len())?;
    from.gather(&rows, row_len(from), out, |parts, bytes, rows, out| {
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
    let each = row_len(from) * from.dtype().itemsize();
    check_len(each.saturating_mul(indices.len()), out.len())?;
    let rows = found(from, indices)?;
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
    let len = indices.len().checked_mul(row_len(from));
    let len = len.filter(|len| len.checked_mul(itemsize).is_some());
    let len = len.ok_or_else(|| ShapeError::Size { shape: tuple(&shape), itemsize })?;
    // Nothing is allocated for a request that is refused.
    let codec = T::codec(from.dtype())?;
    let rows = checked(from, indices, len)?;
    let elements = if let Some(mut out) = T::fast_path().zeros(len) {
        from.gather(&rows, row_len(from), &mut out, |parts, bytes, rows, out| {
            parts.decode_over(bytes, &codec, rows, out);
        })?;
        out
    } else {
        collect(from, &rows, &codec, len)?
    };
    Ok(ArrayD::from_shape_vec(IxDyn(&shape), elements).expect("as many elements as the shape has"))
}

/// Copies rows of elements that have no zero. Sources bring rows in any order,
/// so that their places are empty first.
fn collect<T: Element>(
    from: &impl Gather,
    rows: &[usize],
    codec: &T::Codec,
    len: usize,
) -> Result<Vec<T>> {
    let each = row_len(from);
    let mut out: Vec<Option<T>> = std::iter::repeat_with(|| None).take(len).collect();
    from.gather(rows, each, &mut out, |parts, bytes, rows, out| {
        let rows = rows.get(..out.len() / each.max(1)).unwrap_or(rows);
        let mut values = Vec::with_capacity(out.len());
        parts.decode_onto(bytes, codec, rows, &mut values);
        out.iter_mut().zip(values).for_each(|(place, value)| *place = Some(value));
    })?;
    Ok(out.into_iter().map(|value| value.expect("a source brings every row")).collect())
}

/// The rows that indices name, for an output of `len` elements.
fn checked(from: &impl Gather, indices: &[impl RowIndex], len: usize) -> Result<Vec<usize>> {
    let rows = found(from, indices)?;
    let expected = rows.len().saturating_mul(row_len(from));
    check_unbacked(from.dtype().itemsize(), from.shape(), expected)?;
    check_len(expected, len)?;
    Ok(rows)
}

/// The rows that indices name.
pub(super) fn found(from: &impl Gather, indices: &[impl RowIndex]) -> Result<Vec<usize>> {
    let shape = from.shape();
    let Some(&count) = shape.first() else {
        return Err(ShapeError::Axis { asked: 0, shape: tuple(shape) }.into());
    };
    resolve(TakeMode::Raise, indices, count, 0, shape)
}

/// The number of elements of a row.
pub(super) fn row_len(from: &impl Gather) -> usize {
    from.shape().iter().skip(1).product()
}
