//! Shapes and byte strides, and slicing, transposing, reshaping and
//! broadcasting of them. No element is accessed here.

use std::ops::Range;

use ndarray::SliceInfoElem;

use crate::dtype::literal::tuple;
use crate::error::invariant::Invariant;
use crate::error::{Error, Result, ShapeError};
use crate::layout::axes::Axes;
use crate::layout::check_ndim;
use crate::layout::offsets::{advance, signed};

/// The shape and the byte strides of an array or a view, whose methods these are.
///
/// # Examples
///
/// ```
/// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
/// assert_eq!((penguins.shape(), penguins.ndim(), penguins.len()), (&[342, 4][..], 2, 1368));
/// assert_eq!(penguins.view::<f64>()?.t().byte_strides(), [8, 32]);
/// # Ok::<(), npymap::Error>(())
/// ```
//
// Every index within the shape refers to an element inside the buffer that the geometry
// was made for. All methods preserve that. The stride of each axis times its last index
// is an `isize`, also if there are no elements, and no stride is `isize::MIN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub(crate) offset: usize,
    pub(crate) shape: Axes<usize>,
    pub(crate) strides: Axes<isize>,
}

/// One axis.
#[derive(Clone, Copy, Debug, Default)]
struct Axis {
    dim: usize,
    stride: isize,
}

impl Geometry {
    /// One axis of `len` elements without gaps, from a byte on.
    #[inline]
    pub(crate) fn line(offset: usize, len: usize, itemsize: usize) -> Geometry {
        let axis = Axis { dim: len, stride: signed(itemsize) };
        Geometry::from_axes(offset, std::iter::once(axis))
    }

    /// Returns the length of each axis.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the bytes from one element to the next along each axis.
    #[must_use]
    #[inline]
    pub fn byte_strides(&self) -> &[isize] {
        &self.strides
    }

    /// Returns the number of axes.
    #[must_use]
    #[inline]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Returns the number of elements: 1 without axes, 0 if any axis has length 0.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns whether there are no elements.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that there are at most 64 axes, and that the number of elements
    /// is an `isize` even if empty axes are counted as 1, so that it is for
    /// every view of this one.
    #[inline]
    pub(crate) fn check_countable(self, itemsize: usize) -> Result<Geometry> {
        check_ndim(self.ndim())?;
        match count(&self.shape) {
            Some(_) => Ok(self),
            None => Err(ShapeError::Size { shape: tuple(&self.shape), itemsize }.into()),
        }
    }

    /// The offset of an element. Returns `None` if the index is out of bounds
    /// or has the wrong number of axes.
    #[inline]
    pub(crate) fn offset_of(&self, index: &[usize]) -> Option<usize> {
        let shape = self.shape.if_len(index.len())?;
        let strides = self.strides.first(index.len())?;
        let mut offset = self.offset;
        for ((&i, &dim), &stride) in index.iter().zip(shape).zip(strides) {
            if i >= dim {
                return None;
            }
            offset = advance(offset, i, stride);
        }
        Some(offset)
    }

    /// As [`offset_of`](Self::offset_of), for reading one element.
    ///
    /// Without an early return, the compiler makes a branch of each comparison instead of storing
    /// and combining their results: a scattered `get` takes 17 instead of 22 instructions. But a
    /// `set` takes 1.15 of the time.
    #[inline]
    pub(crate) fn offset_to_read(&self, index: &[usize]) -> Option<usize> {
        let shape = self.shape.if_len(index.len())?;
        let strides = self.strides.first(index.len())?;
        let (mut offset, mut is_inside) = (self.offset, true);
        for ((&i, &dim), &stride) in index.iter().zip(shape).zip(strides) {
            is_inside &= i < dim;
            offset = advance(offset, i, stride);
        }
        if is_inside { Some(offset) } else { None }
    }

    /// The range of bytes from the first to the last element in memory.
    #[inline]
    pub(crate) fn span(&self, itemsize: usize) -> Range<usize> {
        if self.is_empty() {
            return self.offset..self.offset;
        }
        let (mut start, mut end) = (self.offset, self.offset);
        for Axis { dim, stride } in self.axes() {
            let reach = if stride < 0 { &mut start } else { &mut end };
            *reach = advance(*reach, dim - 1, stride);
        }
        start..end + itemsize
    }

    #[inline]
    fn axes(&self) -> impl DoubleEndedIterator<Item = Axis> + '_ {
        self.shape.iter().zip(&self.strides).map(|(&dim, &stride)| Axis { dim, stride })
    }

    fn from_axes(offset: usize, axes: impl IntoIterator<Item = Axis>) -> Geometry {
        let (shape, strides) = axes.into_iter().map(|axis| (axis.dim, axis.stride)).unzip();
        Geometry { offset, shape, strides }
    }

    /// Selects one index along `axis`, removing that axis.
    #[inline]
    pub(crate) fn index_axis(&self, axis: usize, index: usize) -> Result<Geometry> {
        let (rest, dim, stride) = self.remove_axis(axis)?;
        if index >= dim {
            return Err(self.out_of_bounds(axis, format!("index {index}")));
        }
        Ok(Geometry { offset: advance(self.offset, index, stride), ..rest })
    }

    /// Removes an axis, and also returns its length and stride. The remaining
    /// geometry starts at the axis's first index.
    #[inline]
    pub(crate) fn remove_axis(&self, axis: usize) -> Result<(Geometry, usize, isize)> {
        let Axis { dim, stride } = self.axis(axis)?;
        let rest = self.axes().enumerate().filter(|(i, _)| *i != axis).map(|(_, axis)| axis);
        Ok((Geometry::from_axes(self.offset, rest), dim, stride))
    }

    /// Selects `len` indices along `axis`, starting at `start`. All must be in
    /// bounds.
    #[inline]
    pub(crate) fn axis_range(&self, axis: usize, start: usize, len: usize) -> Geometry {
        let mut offset = self.offset;
        let resized = self
            .axes()
            .enumerate()
            .map(|(i, old)| if i == axis { Axis { dim: len, ..old } } else { old });
        if let (Some(&stride), 1..) = (self.strides.get(axis), len) {
            offset = advance(offset, start, stride);
        }
        Geometry::from_axes(offset, resized)
    }

    /// Splits an axis at an index.
    #[inline]
    pub(crate) fn split_at(&self, axis: usize, index: usize) -> Result<(Geometry, Geometry)> {
        let Axis { dim, .. } = self.axis(axis)?;
        if index > dim {
            return Err(self.out_of_bounds(axis, format!("index {index}")));
        }
        Ok((self.axis_range(axis, 0, index), self.axis_range(axis, index, dim - index)))
    }

    /// How many chunks of `size` indices an axis has. The last chunk may be
    /// shorter.
    #[inline]
    pub(crate) fn chunk_count(&self, axis: usize, size: usize) -> Result<usize> {
        let Axis { dim, .. } = self.axis(axis)?;
        if size == 0 {
            return Err(self.out_of_bounds(axis, "chunk length 0"));
        }
        Ok(dim.div_ceil(size))
    }

    /// A chunk of `size` indices along an axis: one of the [`chunk_count`](Geometry::chunk_count).
    #[inline]
    pub(crate) fn chunk(&self, axis: usize, size: usize, number: usize) -> Geometry {
        let dim = *self.shape.get(axis).invariant("chunks are along an axis that exists");
        let start = number * size;
        self.axis_range(axis, start, size.min(dim - start))
    }

    /// Selects one index along the first axis, removing that axis. The index
    /// must be in bounds.
    #[inline]
    pub(crate) fn index_first_axis(&self, index: usize) -> Geometry {
        let mut axes = self.axes();
        let stride = axes.next().map_or(0, |axis| axis.stride);
        Geometry::from_axes(advance(self.offset, index, stride), axes)
    }

    /// Permutes the axes.
    #[inline]
    pub(crate) fn permuted(&self, axes: &[usize]) -> Result<Geometry> {
        let mut seen: Axes<usize> = Axes::from_slice(axes);
        seen.sort_unstable();
        if !seen.iter().copied().eq(0..self.ndim()) {
            let asked = tuple(axes);
            return Err(ShapeError::Permutation { asked, ndim: self.ndim() }.into());
        }
        let all: Axes<Axis> = self.axes().collect();
        let chosen = axes.iter().filter_map(|&axis| all.get(axis).copied());
        Ok(Geometry::from_axes(self.offset, chosen))
    }

    /// The first `count` axes, at index 0 of the rest.
    #[inline]
    pub(crate) fn first_axes(&self, count: usize) -> Geometry {
        Geometry::from_axes(self.offset, self.axes().take(count))
    }

    /// Removes the axes of stride 0, because they repeat the same elements.
    /// There must be elements.
    #[inline]
    pub(crate) fn without_repeats(&self) -> Geometry {
        Geometry::from_axes(self.offset, self.axes().filter(|axis| axis.stride != 0))
    }

    #[inline]
    pub(crate) fn reversed_axes(&self) -> Geometry {
        Geometry::from_axes(self.offset, self.axes().rev())
    }

    /// The same elements in the order of memory: all strides are positive, and
    /// decrease from axis to axis.
    #[inline]
    pub(crate) fn memory_order(&self) -> Geometry {
        let ascending = self.flipped(&self.descending_axes());
        let mut axes: Axes<Axis> = ascending.axes().collect();
        sort_by_stride(&mut axes, |axis| axis.stride.unsigned_abs());
        Geometry::from_axes(ascending.offset, axes.iter().copied())
    }

    /// The axes of negative stride.
    #[inline]
    pub(crate) fn descending_axes(&self) -> Axes<usize> {
        (0..self.ndim()).filter(|&axis| self.strides.get(axis).is_some_and(|&s| s < 0)).collect()
    }

    /// Reverses the order of the elements along some axes.
    #[inline]
    pub(crate) fn flipped(&self, axes: &[usize]) -> Geometry {
        let mut offset = self.offset;
        let flipped: Axes<Axis> = (self.axes().enumerate())
            .map(|(at, axis)| {
                if !axes.contains(&at) {
                    return axis;
                }
                offset = advance(offset, axis.dim.max(1) - 1, axis.stride);
                Axis { stride: -axis.stride, ..axis }
            })
            .collect();
        Geometry::from_axes(offset, flipped.iter().copied())
    }

    /// The axes by decreasing stride.
    #[inline]
    pub(crate) fn axes_by_stride(&self) -> Axes<usize> {
        let mut axes: Axes<usize> = (0..self.ndim()).collect();
        sort_by_stride(&mut axes, |&axis| {
            self.strides.get(axis).map_or(0, |stride| stride.unsigned_abs())
        });
        axes
    }

    /// The same elements with as few axes as possible, each longer than 1.
    #[inline]
    pub(crate) fn merged(&self) -> Geometry {
        let mut axes: Axes<Axis> = Axes::new();
        for axis in self.axes().filter(|axis| axis.dim != 1) {
            match axes.last_mut() {
                // One step along the outer axis is the whole inner axis.
                Some(outer) if signed(axis.dim).checked_mul(axis.stride) == Some(outer.stride) => {
                    *outer = Axis { dim: outer.dim * axis.dim, stride: axis.stride };
                }
                _ => axes.push(axis),
            }
        }
        Geometry::from_axes(self.offset, axes.iter().copied())
    }

    /// True if the elements are contiguous in C order.
    #[inline]
    pub(crate) fn is_contiguous(&self, itemsize: usize) -> bool {
        let mut expected = itemsize;
        self.is_empty()
            || self.axes().rev().filter(|axis| axis.dim != 1).all(|Axis { dim, stride }| {
                let fits = usize::try_from(stride) == Ok(expected);
                if fits {
                    expected *= dim;
                }
                fits
            })
    }

    /// The same elements in C order with a new shape, if strides can express
    /// it: NumPy's `_attempt_nocopy_reshape`.
    #[inline]
    pub(crate) fn reshaped(&self, shape: &[usize]) -> Result<Geometry> {
        check_ndim(shape.len())?;
        // Other axes are checked even if one has length 0.
        if count(shape).is_none() || shape.iter().product::<usize>() != self.len() {
            return Err(self.cannot_reshape(shape, "the numbers of elements differ"));
        }
        let mut new: Axes<Axis> = shape.iter().map(|&dim| Axis { dim, stride: 0 }).collect();
        if !self.is_empty() {
            let merged = self.merged();
            let mut rest = &mut *new;
            for run in merged.axes() {
                rest = split_run(run, rest).ok_or_else(|| {
                    self.cannot_reshape(shape, "strides cannot express it, copy the elements first")
                })?;
            }
        }
        Ok(Geometry::from_axes(self.offset, new.iter().copied()))
    }

    /// Broadcasts to a shape: adds axes before the first, and repeats axes of
    /// length 1.
    #[inline]
    pub(crate) fn broadcast(&self, shape: &[usize]) -> Result<Geometry> {
        let Some(added) = shape.len().checked_sub(self.ndim()) else {
            return Err(self.cannot_broadcast(shape));
        };
        check_ndim(shape.len())?;
        if count(shape).is_none() {
            return Err(self.cannot_broadcast(shape));
        }
        let padded = std::iter::repeat_n(Axis { dim: 1, stride: 0 }, added).chain(self.axes());
        let axes: Option<Axes<Axis>> = padded
            .zip(shape)
            .map(|(axis, &dim)| match axis.dim {
                old if old == dim => Some(axis),
                1 => Some(Axis { dim, stride: 0 }),
                _ => None,
            })
            .collect();
        let axes = axes.ok_or_else(|| self.cannot_broadcast(shape))?;
        Ok(Geometry::from_axes(self.offset, axes.iter().copied()))
    }

    /// Selects by ndarray's `s![]` or [`IndexExpr`](crate::IndexExpr); axes after
    /// the listed axes are kept whole.
    #[inline]
    pub(crate) fn sliced(&self, info: &[SliceInfoElem]) -> Result<Geometry> {
        let mut offset = self.offset;
        let mut axes: Axes<Axis> = Axes::new();
        let mut remaining = self.axes().enumerate();
        for &element in info {
            if matches!(element, SliceInfoElem::NewAxis) {
                axes.push(Axis { dim: 1, stride: 0 });
                continue;
            }
            let (position, old) = remaining.next().ok_or_else(|| self.too_many_indices(info))?;
            match element {
                SliceInfoElem::Index(index) => {
                    let at = resolve_index(index, old.dim).filter(|&at| at < old.dim);
                    let at =
                        at.ok_or_else(|| self.out_of_bounds(position, format!("index {index}")))?;
                    offset = advance(offset, at, old.stride);
                }
                SliceInfoElem::Slice { step: 0, .. } => {
                    return Err(self.out_of_bounds(position, "step 0"));
                }
                SliceInfoElem::Slice { start, end, step: by } => {
                    let (start, end) = resolve_range(old.dim, start, end).ok_or_else(|| {
                        let asked = format!(
                            "range {start}..{}",
                            end.map_or(String::new(), |end| end.to_string())
                        );
                        self.out_of_bounds(position, asked)
                    })?;
                    let (first, dim) = match (end - start, by) {
                        (0, _) => (None, 0),
                        (n, 1..) => (Some(start), n.div_ceil(by.unsigned_abs())),
                        (n, _) => (Some(end - 1), n.div_ceil(by.unsigned_abs())),
                    };
                    offset = first.map_or(offset, |first| advance(offset, first, old.stride));
                    // A product that overflows belongs to an axis of at most one index.
                    let stride = old.stride.checked_mul(by).filter(|&stride| stride != isize::MIN);
                    axes.push(Axis { dim, stride: stride.unwrap_or(0) });
                }
                SliceInfoElem::NewAxis => {}
            }
        }
        axes.extend(remaining.map(|(_, axis)| axis));
        check_ndim(axes.len())?;
        Ok(Geometry::from_axes(offset, axes.iter().copied()))
    }

    #[inline]
    fn cannot_reshape(&self, shape: &[usize], reason: &'static str) -> Error {
        ShapeError::Reshape { from: tuple(&self.shape), to: tuple(shape), reason }.into()
    }

    #[inline]
    fn cannot_broadcast(&self, shape: &[usize]) -> Error {
        ShapeError::Broadcast { from: tuple(&self.shape), to: tuple(shape) }.into()
    }

    #[inline]
    fn too_many_indices(&self, info: &[SliceInfoElem]) -> Error {
        let asked =
            info.iter().filter(|element| !matches!(element, SliceInfoElem::NewAxis)).count();
        ShapeError::Axis { asked: asked - 1, shape: tuple(&self.shape) }.into()
    }

    #[inline]
    fn axis(&self, axis: usize) -> Result<Axis> {
        let found = self.axes().nth(axis);
        found.ok_or_else(|| ShapeError::Axis { asked: axis, shape: tuple(&self.shape) }.into())
    }

    fn out_of_bounds(&self, axis: usize, asked: impl Into<String>) -> Error {
        ShapeError::Index { axis, asked: asked.into(), shape: tuple(&self.shape) }.into()
    }
}

/// Sorts axes by decreasing stride; axes of equal strides stay in order. There
/// are so few axes that insertion is fastest, and it is little code.
fn sort_by_stride<T>(axes: &mut [T], stride: impl Fn(&T) -> usize) {
    for end in 1..axes.len() {
        for i in (0..end).rev() {
            match axes.get_mut(i..i + 2) {
                Some([before, after]) if stride(before) < stride(after) => {
                    std::mem::swap(before, after);
                }
                _ => break,
            }
        }
    }
}

/// The number of elements if empty axes are counted as 1. Returns `None` if it
/// exceeds `isize::MAX`.
#[inline]
pub(crate) fn count(shape: &[usize]) -> Option<isize> {
    shape.iter().try_fold(1_isize, |n, &dim| n.checked_mul(isize::try_from(dim.max(1)).ok()?))
}

/// Splits a merged axis into the first of `axes`, setting their strides;
/// returns the remaining axes, or `None` if they do not fit.
#[inline]
fn split_run(run: Axis, axes: &mut [Axis]) -> Option<&mut [Axis]> {
    let mut len = 1;
    let mut count = 0;
    for axis in axes.iter() {
        if len == run.dim && axis.dim != 1 {
            break;
        }
        len *= axis.dim;
        count += 1;
    }
    if len != run.dim {
        return None;
    }
    let (filled, rest) = axes.split_at_mut_checked(count)?;
    let mut stride = run.stride;
    for axis in filled.iter_mut().rev() {
        axis.stride = stride;
        stride = stride.checked_mul(signed(axis.dim))?;
    }
    Some(rest)
}

/// Resolves an index that counts from the end if negative.
#[inline]
fn resolve_index(index: isize, dim: usize) -> Option<usize> {
    if index < 0 { dim.checked_add_signed(index) } else { Some(index.unsigned_abs()) }
}

/// Resolves the bounds of a slice as ndarray does: negative indices count from
/// the end, and an end before the start makes an empty selection.
#[inline]
fn resolve_range(dim: usize, start: isize, end: Option<isize>) -> Option<(usize, usize)> {
    let start = resolve_index(start, dim).filter(|&start| start <= dim)?;
    let end = end.map_or(Some(dim), |end| resolve_index(end, dim)).filter(|&end| end <= dim)?;
    Some((start, end.max(start)))
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayD, IxDyn, s};

    use super::*;

    /// The offsets of all elements in C order.
    fn offsets(geometry: &Geometry) -> Vec<usize> {
        let shape = IxDyn(&geometry.shape);
        ndarray::indices(shape)
            .into_iter()
            .map(|index| geometry.offset_of(ndarray::Dimension::slice(&index)).unwrap())
            .collect()
    }

    fn bytes(shape: &[usize]) -> (Geometry, ArrayD<usize>) {
        let count = shape.iter().product();
        let array = ArrayD::from_shape_vec(shape, (0..count).collect()).unwrap();
        let strides = array.strides().iter().copied().collect();
        (Geometry { offset: 0, shape: Axes::from_slice(shape), strides }, array)
    }

    #[test]
    fn slices_equal_those_of_ndarray() {
        let (geometry, array) = bytes(&[5, 4, 3]);
        for info in [
            s![1..4, .., ..].as_ref(),
            s![..;-1, 1..;2, 0].as_ref(),
            s![-2, 1..3;-1, ..;2].as_ref(),
            s![3..3, .., ..;-2].as_ref(),
        ] {
            let sliced = array.slice(info);
            let ours = geometry.sliced(info).unwrap();
            assert_eq!(*ours.shape, *sliced.shape());
            assert_eq!(offsets(&ours), sliced.iter().copied().collect::<Vec<_>>());
        }
        assert!(geometry.sliced(s![5, .., ..].as_ref()).is_err());
        assert!(geometry.sliced(s![..6, .., ..].as_ref()).is_err());
        assert!(geometry.sliced(s![0, 0, 0, 0].as_ref()).is_err());
    }

    #[test]
    fn reshapes_equal_those_of_numpy() {
        let (geometry, array) = bytes(&[4, 6]);
        for shape in [&[24][..], &[2, 2, 6], &[4, 2, 3], &[1, 4, 1, 6, 1], &[8, 3]] {
            assert_eq!(
                offsets(&geometry.reshaped(shape).unwrap()),
                array.iter().copied().collect::<Vec<_>>()
            );
        }
        let transposed = geometry.reversed_axes();
        assert_eq!(transposed.reshaped(&[3, 2, 4]).unwrap().strides[..], [2, 1, 6]);
        assert!(transposed.reshaped(&[24]).is_err());
        assert!(geometry.reshaped(&[5, 5]).is_err());
        let reversed = geometry.sliced(s![..;-1, ..].as_ref()).unwrap();
        assert!(reversed.reshaped(&[24]).is_err());
        assert_eq!(reversed.reshaped(&[2, 2, 6]).unwrap().strides[..], [-12, -6, 1]);
    }

    #[test]
    fn memory_order_has_decreasing_positive_strides() {
        let (geometry, _) = bytes(&[2, 3, 4]);
        let turned =
            geometry.permuted(&[2, 0, 1]).unwrap().sliced(s![..;-1, .., ..].as_ref()).unwrap();
        assert_eq!(turned.memory_order(), geometry);
        assert_eq!(geometry.merged().shape[..], [24]);
    }
}
