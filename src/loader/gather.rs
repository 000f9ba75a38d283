//! Copies rows of any source: checks a request, then decodes, converts or copies
//! the bytes that the source provides.
//!
//! Sources are trait objects here, so that the loops are compiled once per pair
//! of types instead of also once per type of source.

use std::io;
use std::ops::Range;

use bytemuck::allocation::try_zeroed_vec;
use bytemuck::cast_slice_mut;
use ndarray::{ArrayD, IxDyn};

use super::decode::{
    Bytes, CastBytes, Converted, DecodeRows, Elements, Numbers, Output, Values, WholeRows,
};
use super::row_source::RowSource;
use crate::array::resolve_rows as resolve_range;
use crate::dtype::literal::tuple;
use crate::dtype::{DType, Kind};
use crate::element::Element;
use crate::element::cast::{Casting, Number, check_cast};
use crate::element::fast_path::FastPath as _;
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{DTypeError, Error, Result, ShapeError, SystemError};
use crate::layout::row_index::{RowIndex, TakeMode, resolve};
use crate::layout::{Layout, Order, check_unbacked, geometry};
use crate::view::{AxisSlices, SliceCast, check_assign, check_len, field_geometry, number_cast};

/// The most bytes read before they are decoded, or copied to their places, unless one row
/// has more.
pub(super) const BLOCK: usize = 8 << 20;

/// Visits slices of `len` rows by reading them as they are stored, block by block: into the
/// output if this takes their bytes. With a field, visits only the bytes of that field.
pub(super) fn visit_stored(
    from: &(impl RowSource + ?Sized),
    starts: &[usize],
    len: usize,
    field: Option<&str>,
    decode: &mut dyn DecodeRows,
) -> Result<()> {
    let nbytes = len * from.row_len() * from.dtype().itemsize();
    let room = (BLOCK / nbytes.max(1)).clamp(1, starts.len().max(1));
    let read = |starts: &[usize], out: &mut [u8]| {
        let ranges: Vec<Range<usize>> = starts.iter().map(|&start| start..start + len).collect();
        from.read_ranges(&ranges, out)
    };
    if let (None, Some(out)) = (field, decode.stored()) {
        let mut blocks = starts.chunks(room).zip(out.chunks_mut((room * nbytes).max(1)));
        return blocks.try_for_each(|(starts, out)| read(starts, out));
    }
    let window = (len != 1).then_some(len);
    let row = from.shape().iter().skip(1).copied();
    let shape: Vec<usize> = std::iter::once(room).chain(window).chain(row).collect();
    let layout = Layout::new(from.dtype().clone(), &shape, Order::C, 0)?;
    let parts = match field {
        None => AxisSlices::rows(layout.geometry(), 0, layout.dtype().itemsize())?,
        Some(path) => {
            let (geometry, dtype) = field_geometry(layout.geometry(), layout.dtype(), path)?;
            AxisSlices::rows(&geometry, 0, dtype.itemsize())?
        }
    };
    let size = room * nbytes;
    // Aligned for the elements of any dtype. For a few rows, the heap is faster than a map.
    let mut block: Vec<u128> = try_zeroed_vec(size.div_ceil(size_of::<u128>()))
        .map_err(|()| SystemError::map("allocate", size, io::ErrorKind::OutOfMemory.into()))?;
    let block: &mut [u8] = cast_slice_mut(&mut block);
    for (number, starts) in starts.chunks(room).enumerate() {
        let bytes = block.get_mut(..starts.len() * nbytes).invariant(IN_BUFFER);
        read(starts, bytes)?;
        let rows: Vec<usize> = (0..starts.len()).collect();
        let first = number * room;
        decode.decode(parts.select(bytes, &rows), first..first + rows.len());
    }
    Ok(())
}

/// Checks that ranges of rows exist, and that `len` is their length in bytes.
#[inline]
pub(super) fn check_ranges(
    from: &dyn RowSource,
    ranges: &[Range<usize>],
    len: usize,
) -> Result<()> {
    let mut count = 0_usize;
    for range in ranges {
        count = count.saturating_add(resolve_range(from.shape(), range)?.len());
    }
    let nbytes = from.row_len() * from.dtype().itemsize();
    check_output(count.saturating_mul(nbytes), len)
}

/// The rows of ranges that are read to `out`: none if they have no bytes, because there may be
/// any number of these.
pub(super) fn rows_in(
    from: &dyn RowSource,
    ranges: &[Range<usize>],
    out: &[u8],
) -> Result<Vec<usize>> {
    check_ranges(from, ranges, out.len()).map_err(|error| from.add_path(error))?;
    Ok(if out.is_empty() { Vec::new() } else { ranges.iter().cloned().flatten().collect() })
}

/// The shape of `count` rows.
#[inline]
pub(super) fn rows_shape(count: usize, from: &[usize]) -> Vec<usize> {
    std::iter::once(count).chain(from.iter().skip(1).copied()).collect()
}

/// Checks the length of an output in bytes. It is expected to be `usize::MAX`, which no output
/// has, if it is more: indices may repeat, and elements may have no bytes.
#[inline]
fn check_output(expected: usize, found: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(ShapeError::OutputBytes { found, expected }.into()) }
}

/// Copies rows, decoded.
pub(super) fn take<T: Element>(
    from: &dyn RowSource,
    indices: &[impl RowIndex],
    out: &mut [T],
) -> Result<()> {
    let codec = T::codec(from.dtype())?;
    let rows = check_rows(from, indices, out.len())?;
    let out = Output { items: out, each: from.row_len() };
    from.visit(&rows, 1, &mut Elements { codec, out })
}

/// Copies rows, each element converted.
pub(super) fn take_with<T: Element + Copy, U>(
    from: &dyn RowSource,
    indices: &[impl RowIndex],
    out: &mut [U],
    convert: impl Fn(T) -> U,
) -> Result<()> {
    // The error of the dtype comes first.
    let codec = T::codec(from.dtype())?;
    let rows = check_rows(from, indices, out.len())?;
    let out = Output { items: out, each: from.row_len() };
    from.visit(&rows, 1, &mut Converted { codec, out, convert })
}

/// Copies rows, cast to another type of number.
pub(super) fn take_as<U: Number>(
    from: &dyn RowSource,
    indices: &[impl RowIndex],
    out: &mut [U],
) -> Result<()> {
    check_same_kind(from.dtype(), &U::dtype())?;
    let rows = check_rows(from, indices, out.len())?;
    let Some(cast) = number_cast(from.dtype()) else {
        return Err(not_numbers::<U>(from.dtype()));
    };
    let out = Output { items: out, each: from.row_len() };
    from.visit(&rows, 1, &mut Numbers { cast, from: from.dtype(), out })
}

/// Checks that a cast of the same kind is allowed. `other` is the method that casts
/// in other ways.
#[inline]
fn check_same_kind(from: &DType, to: &DType) -> Result<()> {
    let casting = Casting::SameKind;
    if from.can_cast(to, casting) || !from.can_cast(to, Casting::Unsafe) {
        return check_cast(from, to, casting);
    }
    let works = "use `take_bytes_as` with casting `unsafe`".to_owned();
    let (from, to, casting) = (from.to_string(), to.to_string(), casting.to_string());
    Err(DTypeError::Cast { from, to, casting, works }.into())
}

/// The error for elements that are not numbers, although a cast is allowed.
fn not_numbers<U: Number>(from: &DType) -> Error {
    let works = "only numbers can be cast: select a field, or copy with `take`".to_owned();
    let (from, to) = (from.to_string(), U::dtype().to_string());
    DTypeError::Cast { from, to, casting: Casting::SameKind.to_string(), works }.into()
}

/// Converts rows as a whole, each to `out_len` items of `out`.
pub(super) fn take_rows_with<T: Element, U>(
    from: &dyn RowSource,
    indices: &[impl RowIndex],
    out: &mut [U],
    out_len: usize,
    convert: impl Fn(&[T], &mut [U]),
) -> Result<()> {
    let codec = T::codec(from.dtype())?;
    let rows = resolve_rows(from, indices)?;
    let len = rows.len().saturating_mul(from.row_len());
    check_unbacked(from.dtype().itemsize(), from.shape(), len)?;
    check_len(rows.len().saturating_mul(out_len), out.len())?;
    let out = Output { items: out, each: out_len };
    from.visit(&rows, 1, &mut WholeRows { codec, out, convert })
}

/// Copies the bytes of rows as they are stored.
pub(super) fn take_bytes(
    from: &dyn RowSource,
    indices: &[impl RowIndex],
    out: &mut [u8],
) -> Result<()> {
    let each = from.row_len() * from.dtype().itemsize();
    check_output(indices.len().saturating_mul(each), out.len())?;
    let rows = resolve_rows(from, indices)?;
    if each == 0 {
        // There may be any number of elements without bytes.
        return Ok(());
    }
    from.visit(&rows, 1, &mut Bytes(Output { items: out, each }))
}

/// Copies rows, cast to a dtype known only at run time.
pub(super) fn take_bytes_as(
    from: &dyn RowSource,
    indices: &[impl RowIndex],
    out: &mut [u8],
    dtype: &DType,
    casting: Casting,
) -> Result<()> {
    if from.dtype() == dtype {
        return take_bytes(from, indices, out);
    }
    let cast = checked_cast(from.dtype(), dtype, casting)?;
    let each = from.row_len().saturating_mul(dtype.itemsize());
    check_output(indices.len().saturating_mul(each), out.len())?;
    let rows = resolve_rows(from, indices)?;
    if each == 0 {
        return Ok(());
    }
    let mut cast = CastBytes { cast, out: Output { items: out, each }, result: Ok(()) };
    from.visit(&rows, 1, &mut cast)?;
    cast.result
}

/// Checks that rows can be cast to a dtype.
#[inline]
pub(super) fn checked_cast<'a>(
    from: &'a DType,
    to: &'a DType,
    casting: Casting,
) -> Result<SliceCast<'a>> {
    check_assign(from, to, casting)?;
    if to.kind() != Kind::Subarray {
        return Ok(SliceCast { from, to, casting });
    }
    let works = "cast to the dtype of its elements".to_owned();
    let (from, to, casting) = (from.to_string(), to.to_string(), casting.to_string());
    Err(DTypeError::Cast { from, to, casting, works }.into())
}

/// Copies rows into an array.
pub(super) fn take_array<T: Element>(
    from: &dyn RowSource,
    indices: &[impl RowIndex],
) -> Result<ArrayD<T>> {
    let shape = rows_shape(indices.len(), from.shape());
    // Check the request before anything is allocated.
    let codec = T::codec(from.dtype())?;
    let rows = check_rows(from, indices, indices.len().saturating_mul(from.row_len()))?;
    let len = check_vec::<T>(from, rows.len())?;
    let each = from.row_len();
    let elements = if let Some(mut items) = T::fast_path().zeros(len) {
        let out = Output { items: &mut items, each };
        from.visit(&rows, 1, &mut Elements { codec, out })?;
        items
    } else {
        check_vec::<Option<T>>(from, rows.len())?;
        let mut items: Vec<Option<T>> = std::iter::repeat_with(|| None).take(len).collect();
        let out = Output { items: &mut items, each };
        from.visit(&rows, 1, &mut Values { codec, out })?;
        items.into_iter().map(|value| value.expect("a source provides every row")).collect()
    };
    Ok(ArrayD::from_shape_vec(IxDyn(&shape), elements).expect("the shape has `len` elements"))
}

/// Copies rows into a vector. This reuses its memory if there is enough.
pub(super) fn take_vec<T: Element>(
    from: &dyn RowSource,
    indices: &[impl RowIndex],
    out: &mut Vec<T>,
) -> Result<()> {
    let len = indices.len().saturating_mul(from.row_len());
    if out.len() != len {
        T::codec(from.dtype())?;
        check_rows(from, indices, len)?;
        check_vec::<T>(from, indices.len())?;
        if !resize(out, len) {
            *out = take_array(from, indices)?.into_raw_vec_and_offset().0;
            return Ok(());
        }
    }
    take(from, indices, out)
}

/// Like [`take_vec`], cast to another type of number.
pub(super) fn take_vec_as<U: Number>(
    from: &dyn RowSource,
    indices: &[impl RowIndex],
    out: &mut Vec<U>,
) -> Result<()> {
    let len = indices.len().saturating_mul(from.row_len());
    if out.len() != len {
        check_same_kind(from.dtype(), &U::dtype())?;
        check_rows(from, indices, len)?;
        check_vec::<U>(from, indices.len())?;
        resize(out, len);
    }
    take_as(from, indices, out)
}

/// Changes the length of a vector so that the copied rows fit; `false` if its
/// elements have no zero value.
fn resize<T: Element>(out: &mut Vec<T>, len: usize) -> bool {
    let missing = if out.capacity() < len { len } else { len.max(out.len()) - out.len() };
    let Some(mut zeros) = T::fast_path().zeros(missing) else { return false };
    if out.capacity() < len {
        *out = zeros;
    } else {
        out.truncate(len);
        out.append(&mut zeros);
    }
    true
}

/// Checks that the elements of `count` rows can be a vector of type `T`, and
/// returns their number.
pub(super) fn check_vec<T>(from: &dyn RowSource, count: usize) -> Result<usize> {
    let itemsize = size_of::<T>().max(1);
    let shape = rows_shape(count, from.shape());
    let len = count.checked_mul(from.row_len());
    let nbytes = len.and_then(|len| len.checked_mul(itemsize));
    // ndarray also limits the other axes of an array with an empty axis.
    let is_array = geometry::count(&shape).is_some();
    let fits = is_array && nbytes.is_some_and(|nbytes| isize::try_from(nbytes).is_ok());
    match len {
        Some(len) if fits => Ok(len),
        _ => Err(ShapeError::Size { shape: tuple(&shape), itemsize }.into()),
    }
}

/// Resolves indices to rows, and checks that an output of `len` elements has the
/// right length for them.
fn check_rows(from: &dyn RowSource, indices: &[impl RowIndex], len: usize) -> Result<Vec<usize>> {
    let rows = resolve_rows(from, indices)?;
    let expected = rows.len().saturating_mul(from.row_len());
    check_unbacked(from.dtype().itemsize(), from.shape(), expected)?;
    check_len(expected, len)?;
    Ok(rows)
}

/// Resolves indices to rows, and checks that these exist.
pub(super) fn resolve_rows(from: &dyn RowSource, indices: &[impl RowIndex]) -> Result<Vec<usize>> {
    let shape = from.shape();
    let Some(&count) = shape.first() else {
        return Err(ShapeError::Axis { asked: 0, shape: tuple(shape) }.into());
    };
    resolve(TakeMode::Raise, indices, count, 0, shape)
}
