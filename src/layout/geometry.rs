//! Shape and byte strides, and what slicing, transposing, reshaping and
//! broadcasting make of them. Nothing here touches an element.

use std::ops::Range;

use ndarray::SliceInfoElem;

use crate::dtype::MAX_NDIM;
use crate::dtype::literal::tuple;
use crate::error::{Result, ShapeError};
use crate::layout::axes::Axes;

/// Where elements lie from the first byte on. Every index in the shape leads
/// to an element inside the bytes it was made for, and stays so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
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
    pub(crate) fn line(offset: usize, len: usize, itemsize: usize) -> Geometry {
        let axis = Axis { dim: len, stride: signed(itemsize) };
        Geometry::from_axes(offset, std::iter::once(axis))
    }

    pub(crate) fn ndim(&self) -> usize {
        self.shape.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Itself, unless it has more axes than an array, or more elements than
    /// can be counted, however its axes are turned and cut.
    pub(crate) fn check_countable(self, itemsize: usize) -> Result<Geometry> {
        if self.ndim() > MAX_NDIM {
            return Err(ShapeError::Axes { found: self.ndim() }.into());
        }
        match count(&self.shape) {
            Some(_) => Ok(self),
            None => Err(ShapeError::Size { shape: tuple(&self.shape), itemsize }.into()),
        }
    }

    /// The first byte of an element; `None` out of range or of another rank.
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

    /// The bytes from the first to the last element in memory.
    pub(crate) fn span(&self, itemsize: usize) -> Range<usize> {
        if self.len() == 0 {
            return self.offset..self.offset;
        }
        let (mut start, mut end) = (self.offset, self.offset);
        for Axis { dim, stride } in self.axes() {
            let reach = if stride < 0 { &mut start } else { &mut end };
            *reach = advance(*reach, dim - 1, stride);
        }
        start..end + itemsize
    }

    fn axes(&self) -> impl DoubleEndedIterator<Item = Axis> + '_ {
        self.shape.iter().zip(&self.strides).map(|(&dim, &stride)| Axis { dim, stride })
    }

    fn from_axes(offset: usize, axes: impl IntoIterator<Item = Axis>) -> Geometry {
        let (shape, strides) = axes.into_iter().map(|axis| (axis.dim, axis.stride)).unzip();
        Geometry { offset, shape, strides }
    }

    /// Takes one index of an axis, which is gone then.
    pub(crate) fn index_axis(&self, axis: usize, index: usize) -> Result<Geometry> {
        let Axis { dim, stride } = self.axis(axis)?;
        if index >= dim {
            return Err(self.outside(axis, format!("index {index}")));
        }
        let rest = self.axes().enumerate().filter(|(i, _)| *i != axis).map(|(_, axis)| axis);
        Ok(Geometry::from_axes(advance(self.offset, index, stride), rest))
    }

    /// The part of an axis from `start` on, of `len`, both inside it.
    pub(crate) fn axis_range(&self, axis: usize, start: usize, len: usize) -> Geometry {
        let mut offset = self.offset;
        let parts = self
            .axes()
            .enumerate()
            .map(|(i, own)| if i == axis { Axis { dim: len, ..own } } else { own });
        if let (Some(&stride), 1..) = (self.strides.get(axis), len) {
            offset = advance(offset, start, stride);
        }
        Geometry::from_axes(offset, parts)
    }

    /// Splits an axis at an index.
    pub(crate) fn split_at(&self, axis: usize, index: usize) -> Result<(Geometry, Geometry)> {
        let Axis { dim, .. } = self.axis(axis)?;
        if index > dim {
            return Err(self.outside(axis, format!("index {index}")));
        }
        Ok((self.axis_range(axis, 0, index), self.axis_range(axis, index, dim - index)))
    }

    /// Where parts of `size` along an axis start, and how long they are; the
    /// last may be shorter.
    pub(crate) fn chunks(
        &self,
        axis: usize,
        size: usize,
    ) -> Result<impl ExactSizeIterator<Item = Geometry> + '_> {
        let Axis { dim, .. } = self.axis(axis)?;
        if size == 0 {
            return Err(self.outside(axis, "chunk length 0"));
        }
        let chunk = move |i| self.axis_range(axis, i * size, size.min(dim - i * size));
        Ok((0..dim.div_ceil(size)).map(chunk))
    }

    /// What stands at an index of the first axis, which is gone then.
    pub(crate) fn index_first_axis(&self, index: usize) -> Geometry {
        let mut axes = self.axes();
        let stride = axes.next().map_or(0, |axis| axis.stride);
        Geometry::from_axes(advance(self.offset, index, stride), axes)
    }

    /// Puts the axes in another order.
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

    /// The axes before one, at index 0 of all others.
    pub(crate) fn first_axes(&self, count: usize) -> Geometry {
        Geometry::from_axes(self.offset, self.axes().take(count))
    }

    /// Without the axes along which all elements are the same one. There must
    /// be elements.
    pub(crate) fn without_repeats(&self) -> Geometry {
        Geometry::from_axes(self.offset, self.axes().filter(|axis| axis.stride != 0))
    }

    /// Without the axes of length 1.
    pub(crate) fn squeezed(&self) -> Geometry {
        Geometry::from_axes(self.offset, self.axes().filter(|axis| axis.dim != 1))
    }

    pub(crate) fn reversed_axes(&self) -> Geometry {
        Geometry::from_axes(self.offset, self.axes().rev())
    }

    /// Axes by falling stride and all strides positive: the order of memory.
    pub(crate) fn memory_order(&self) -> Geometry {
        let mut offset = self.offset;
        let mut axes: Axes<Axis> = self.axes().collect();
        for axis in axes.iter_mut() {
            if axis.stride < 0 && axis.dim > 0 {
                offset = advance(offset, axis.dim - 1, axis.stride);
            }
            axis.stride = axis.stride.saturating_abs();
        }
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.stride));
        Geometry::from_axes(offset, axes.iter().copied())
    }

    /// The same elements with as few axes as can say where they lie; each
    /// axis of the result is longer than 1.
    pub(crate) fn merged(&self) -> Geometry {
        let mut axes: Axes<Axis> = Axes::new();
        for axis in self.axes().filter(|axis| axis.dim != 1) {
            match axes.last_mut() {
                Some(outer) if runs_on(*outer, axis) => {
                    *outer = Axis { dim: outer.dim * axis.dim, stride: axis.stride };
                }
                _ => axes.push(axis),
            }
        }
        Geometry::from_axes(self.offset, axes.iter().copied())
    }

    /// True when the elements in C order are one run of bytes.
    pub(crate) fn is_contiguous(&self, itemsize: usize) -> bool {
        let mut expected = itemsize;
        self.len() == 0
            || self.axes().rev().all(|Axis { dim, stride }| {
                let fits = dim == 1 || usize::try_from(stride) == Ok(expected);
                expected = expected.saturating_mul(dim);
                fits
            })
    }

    /// The same elements in C order under another shape, if strides can say
    /// it: NumPy's `_attempt_nocopy_reshape`.
    pub(crate) fn reshaped(&self, shape: &[usize]) -> Result<Geometry> {
        let refused = |reason| {
            let (from, to) = (tuple(&self.shape), tuple(shape));
            crate::error::Error::from(ShapeError::Reshape { from, to, reason })
        };
        if shape.len() > MAX_NDIM {
            return Err(ShapeError::Axes { found: shape.len() }.into());
        }
        // An axis of length 0 excuses no other axis.
        if count(shape).is_none() || shape.iter().product::<usize>() != self.len() {
            return Err(refused("the numbers of elements differ"));
        }
        let mut new: Axes<Axis> = shape.iter().map(|&dim| Axis { dim, stride: 0 }).collect();
        if self.len() > 0 {
            let merged = self.merged();
            let mut rest = &mut *new;
            for run in merged.axes() {
                rest = cut(run, rest)
                    .ok_or_else(|| refused("strides cannot express it, copy the elements first"))?;
            }
        }
        Ok(Geometry::from_axes(self.offset, new.iter().copied()))
    }

    /// Repeats axes of length 1, and adds axes before the first, to fill a
    /// shape.
    pub(crate) fn broadcast(&self, shape: &[usize]) -> Result<Geometry> {
        let refused = || {
            let (from, to) = (tuple(&self.shape), tuple(shape));
            crate::error::Error::from(ShapeError::Broadcast { from, to })
        };
        let added = shape.len().checked_sub(self.ndim()).ok_or_else(refused)?;
        if shape.len() > MAX_NDIM {
            return Err(ShapeError::Axes { found: shape.len() }.into());
        }
        if count(shape).is_none() {
            return Err(refused());
        }
        let own = std::iter::repeat_n(Axis { dim: 1, stride: 0 }, added).chain(self.axes());
        let axes: Option<Axes<Axis>> = own
            .zip(shape)
            .map(|(axis, &dim)| match axis.dim {
                own if own == dim => Some(axis),
                1 => Some(Axis { dim, stride: 0 }),
                _ => None,
            })
            .collect();
        Ok(Geometry::from_axes(self.offset, axes.ok_or_else(refused)?.iter().copied()))
    }

    /// Takes what ndarray's `s![]` or [`Indices`](crate::Indices) say; axes
    /// they don't mention are whole.
    pub(crate) fn sliced(&self, info: &[SliceInfoElem]) -> Result<Geometry> {
        let mut offset = self.offset;
        let mut axes: Axes<Axis> = Axes::new();
        let mut own = self.axes().enumerate();
        for &element in info {
            if matches!(element, SliceInfoElem::NewAxis) {
                axes.push(Axis { dim: 1, stride: 0 });
                continue;
            }
            let (position, own_axis) = own.next().ok_or_else(|| self.too_many(info))?;
            match element {
                SliceInfoElem::Index(index) => {
                    let at = wrapped(index, own_axis.dim).filter(|&at| at < own_axis.dim);
                    let at = at.ok_or_else(|| self.outside(position, format!("index {index}")))?;
                    offset = advance(offset, at, own_axis.stride);
                }
                SliceInfoElem::Slice { step: 0, .. } => {
                    return Err(self.outside(position, "step 0"));
                }
                SliceInfoElem::Slice { start, end, step: by } => {
                    let (start, end) = range(own_axis.dim, start, end).ok_or_else(|| {
                        let asked = format!(
                            "range {start}..{}",
                            end.map_or(String::new(), |end| end.to_string())
                        );
                        self.outside(position, asked)
                    })?;
                    let (first, dim) = match (end - start, by) {
                        (0, _) => (None, 0),
                        (n, 1..) => (Some(start), n.div_ceil(by.unsigned_abs())),
                        (n, _) => (Some(end - 1), n.div_ceil(by.unsigned_abs())),
                    };
                    offset = first.map_or(offset, |first| advance(offset, first, own_axis.stride));
                    axes.push(Axis { dim, stride: own_axis.stride.saturating_mul(by) });
                }
                SliceInfoElem::NewAxis => {}
            }
        }
        axes.extend(own.map(|(_, axis)| axis));
        if axes.len() > MAX_NDIM {
            return Err(ShapeError::Axes { found: axes.len() }.into());
        }
        Ok(Geometry::from_axes(offset, axes.iter().copied()))
    }

    fn too_many(&self, info: &[SliceInfoElem]) -> crate::error::Error {
        let asked =
            info.iter().filter(|element| !matches!(element, SliceInfoElem::NewAxis)).count();
        ShapeError::Axis { asked: asked - 1, shape: tuple(&self.shape) }.into()
    }

    fn axis(&self, axis: usize) -> Result<Axis> {
        let found = self.axes().nth(axis);
        found.ok_or_else(|| ShapeError::Axis { asked: axis, shape: tuple(&self.shape) }.into())
    }

    fn outside(&self, axis: usize, asked: impl Into<String>) -> crate::error::Error {
        ShapeError::Index { axis, asked: asked.into(), shape: tuple(&self.shape) }.into()
    }
}

/// The number of elements there would be if no axis were empty; `None` when
/// it exceeds what `isize` holds.
pub(crate) fn count(shape: &[usize]) -> Option<isize> {
    shape.iter().try_fold(1_isize, |n, &dim| n.checked_mul(isize::try_from(dim.max(1)).ok()?))
}

/// The first byte of the `index`th element of an axis.
///
/// Geometries lead nowhere outside their bytes, so this never wraps.
#[inline]
pub(crate) fn advance(offset: usize, index: usize, stride: isize) -> usize {
    let distance = signed(index).wrapping_mul(stride);
    offset.wrapping_add_signed(distance)
}

/// The bytes of the element at `start`, inside its bytes as `at` found it.
///
/// No start has the bit that is cleared. Seeing that, the compiler leaves out
/// a comparison at each element: whether the range wraps around.
#[inline]
pub(crate) fn element(start: usize, itemsize: usize) -> Range<usize> {
    let start = start & (usize::MAX >> 1);
    start..start.wrapping_add(itemsize)
}

/// A length as a signed number; none is larger than that holds.
#[inline]
pub(crate) fn signed(n: usize) -> isize {
    bytemuck::cast(n)
}

/// True when the outer axis steps over just the whole inner one.
fn runs_on(outer: Axis, inner: Axis) -> bool {
    signed(inner.dim).checked_mul(inner.stride) == Some(outer.stride)
}

/// Cuts a run of elements into the next axes that fill it, last axis first;
/// returns the axes that are left.
fn cut(run: Axis, axes: &mut [Axis]) -> Option<&mut [Axis]> {
    let mut filled = 1;
    let mut count = 0;
    for axis in axes.iter() {
        if filled == run.dim && axis.dim != 1 {
            break;
        }
        filled *= axis.dim;
        count += 1;
    }
    if filled != run.dim {
        return None;
    }
    let (own, rest) = axes.split_at_mut_checked(count)?;
    let mut stride = run.stride;
    for axis in own.iter_mut().rev() {
        axis.stride = stride;
        stride = stride.checked_mul(signed(axis.dim))?;
    }
    Some(rest)
}

/// An index counted from the end when negative.
fn wrapped(index: isize, dim: usize) -> Option<usize> {
    if index < 0 { dim.checked_add_signed(index) } else { Some(index.unsigned_abs()) }
}

/// The bounds of a slice, as ndarray understands them: negative ones count
/// from the end, and an end before the start selects nothing.
fn range(dim: usize, start: isize, end: Option<isize>) -> Option<(usize, usize)> {
    let start = wrapped(start, dim).filter(|&start| start <= dim)?;
    let end = end.map_or(Some(dim), |end| wrapped(end, dim)).filter(|&end| end <= dim)?;
    Some((start, end.max(start)))
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayD, IxDyn, s};

    use super::*;

    /// The elements of 0, 1, 2, … that a geometry over bytes leads to.
    fn elements(geometry: &Geometry) -> Vec<usize> {
        let shape = IxDyn(&geometry.shape);
        let index = |i: ndarray::IxDyn| geometry.offset_of(ndarray::Dimension::slice(&i)).unwrap();
        ndarray::indices(shape).into_iter().map(index).collect()
    }

    fn bytes(shape: &[usize]) -> (Geometry, ArrayD<usize>) {
        let count = shape.iter().product();
        let array = ArrayD::from_shape_vec(shape, (0..count).collect()).unwrap();
        let strides = array.strides().iter().copied().collect();
        (Geometry { offset: 0, shape: Axes::from_slice(shape), strides }, array)
    }

    #[test]
    fn slices_are_ndarrays() {
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
            assert_eq!(elements(&ours), sliced.iter().copied().collect::<Vec<_>>());
        }
        assert!(geometry.sliced(s![5, .., ..].as_ref()).is_err());
        assert!(geometry.sliced(s![..6, .., ..].as_ref()).is_err());
        assert!(geometry.sliced(s![0, 0, 0, 0].as_ref()).is_err());
    }

    #[test]
    fn reshapes_are_numpys() {
        let (geometry, array) = bytes(&[4, 6]);
        for shape in [&[24][..], &[2, 2, 6], &[4, 2, 3], &[1, 4, 1, 6, 1], &[8, 3]] {
            assert_eq!(
                elements(&geometry.reshaped(shape).unwrap()),
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
    fn the_order_of_memory_has_falling_positive_strides() {
        let (geometry, _) = bytes(&[2, 3, 4]);
        let turned =
            geometry.permuted(&[2, 0, 1]).unwrap().sliced(s![..;-1, .., ..].as_ref()).unwrap();
        assert_eq!(turned.memory_order(), geometry);
        assert_eq!(geometry.merged().shape[..], [24]);
    }
}
