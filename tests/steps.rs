//! Geometry changes that are applied to a view and to an ndarray model.

use npymap::ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, Order as Ordering, SliceInfoElem};
use npymap::{Element, View, ViewMut};

/// A change of a view's geometry.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Slice(Vec<SliceInfoElem>),
    IndexAxis(usize, usize),
    Permute(Vec<usize>),
    T,
    Reshape(Vec<usize>),
    Broadcast(Vec<usize>),
    Split { axis: usize, at: usize, high: bool },
    Chunk { axis: usize, size: usize, nth: usize },
    Outer(usize),
}

impl Step {
    /// Chooses a change that is valid for `shape`.
    pub(crate) fn choose(numbers: &[u32], shape: &[usize]) -> Option<Step> {
        let mut numbers = numbers.iter().map(|&n| n as usize);
        let mut below = move |n: usize| numbers.next().unwrap_or(0) % n.max(1);
        let kind = below(14);
        let axis = below(shape.len());
        let dim = shape.get(axis).copied();
        Some(match kind {
            0..=4 => Step::Slice(slice_info(shape, below)),
            5 => match dim? {
                0 => return None,
                dim => Step::IndexAxis(axis, below(dim)),
            },
            6 => {
                let mut order: Vec<usize> = (0..shape.len()).collect();
                (1..order.len()).for_each(|i| order.swap(i, below(i + 1)));
                Step::Permute(order)
            }
            7 => Step::T,
            8 | 9 => Step::Reshape(reshaped(shape, below)),
            10 => {
                let added = if shape.len() < 5 { below(2) } else { 0 };
                let mut to = vec![2; added];
                to.extend(shape.iter().map(|&dim: &usize| if dim == 1 { below(4) } else { dim }));
                Step::Broadcast(to)
            }
            11 => Step::Split { axis, at: below(dim? + 1), high: below(2) == 1 },
            12 => {
                let dim = dim.filter(|&dim| dim > 0)?;
                let size = 1 + below(dim);
                Step::Chunk { axis, size, nth: below(dim.div_ceil(size)) }
            }
            _ => Step::Outer(below(*shape.first().filter(|&&dim| dim > 0)?)),
        })
    }

    /// Applies the change to the model; `None` if ndarray has no such view.
    pub(crate) fn of_model(&self, places: &ArrayD<usize>, size: usize) -> Option<ArrayD<usize>> {
        Some(
            match self {
                Step::Slice(info) => to_standard_layout(&places.slice(info.as_slice())),
                Step::IndexAxis(axis, index) => {
                    to_standard_layout(&places.index_axis(Axis(*axis), *index))
                }
                Step::Permute(axes) => {
                    to_standard_layout(&places.view().permuted_axes(axes.as_slice()))
                }
                Step::T => to_standard_layout(&places.t()),
                Step::Reshape(shape) => {
                    let reshaped = places.to_shape((shape.as_slice(), Ordering::C)).unwrap();
                    // Elements of zero bytes all have the same address.
                    (size == 0 || is_affine(&to_standard_layout(&reshaped.view())))
                        .then(|| to_standard_layout(&reshaped.view()))?
                }
                Step::Broadcast(shape) => {
                    to_standard_layout(&places.broadcast(shape.as_slice()).unwrap())
                }
                Step::Split { axis, at, high } => {
                    let (low, rest) = places.view().split_at(Axis(*axis), *at);
                    to_standard_layout(if *high { &rest } else { &low })
                }
                Step::Chunk { axis, size, nth } => to_standard_layout(
                    &places.axis_chunks_iter(Axis(*axis), *size).nth(*nth).unwrap(),
                ),
                Step::Outer(nth) => to_standard_layout(&places.outer_iter().nth(*nth).unwrap()),
            }
            .as_standard_layout()
            .to_owned(),
        )
    }

    pub(crate) fn of_view<'a, T: Element>(
        &self,
        view: &View<'a, T>,
    ) -> npymap::Result<View<'a, T>> {
        Ok(match self {
            Step::Slice(info) => view.slice(info)?,
            Step::IndexAxis(axis, index) => view.index_axis(*axis, *index)?,
            Step::Permute(axes) => view.permuted_axes(axes)?,
            Step::T => view.t(),
            Step::Reshape(shape) => view.reshape(shape)?,
            Step::Broadcast(shape) => view.broadcast(shape)?,
            Step::Split { axis, at, high } => {
                let (low, rest) = view.split_at(*axis, *at)?;
                if *high { rest } else { low }
            }
            Step::Chunk { axis, size, nth } => {
                let mut chunks = view.axis_chunks(*axis, *size)?;
                assert_eq!(chunks.len(), view.shape()[*axis].div_ceil(*size));
                chunks.nth(*nth).unwrap()
            }
            Step::Outer(nth) => {
                let mut parts = view.outer_iter();
                assert_eq!(parts.len(), view.shape()[0]);
                parts.nth(*nth).unwrap()
            }
        })
    }

    /// Applies the change to a mutable view; `None` if these don't have it.
    pub(crate) fn of_view_mut<'a, T: Element>(
        &self,
        view: ViewMut<'a, T>,
    ) -> Option<npymap::Result<ViewMut<'a, T>>> {
        Some(match self {
            Step::Slice(info) => view.slice(info),
            Step::IndexAxis(axis, index) => view.index_axis(*axis, *index),
            Step::Permute(axes) => view.permuted_axes(axes),
            Step::T => {
                let axes: Vec<usize> = (0..view.ndim()).rev().collect();
                view.permuted_axes(&axes)
            }
            Step::Reshape(shape) => view.reshape(shape),
            Step::Split { axis, at, high } => {
                view.split_at(*axis, *at).map(|(low, rest)| if *high { rest } else { low })
            }
            Step::Chunk { axis, size, nth } => {
                view.axis_chunks(*axis, *size).map(|parts| parts.into_iter().nth(*nth).unwrap())
            }
            Step::Broadcast(_) | Step::Outer(_) => return None,
        })
    }
}

/// Slices of `s![]` for a shape, including some that are out of bounds.
fn slice_info(shape: &[usize], mut below: impl FnMut(usize) -> usize) -> Vec<SliceInfoElem> {
    let mut info = Vec::new();
    for &dim in shape {
        let length = dim as isize;
        let (kind, first, second) = (below(8), below(dim + 1), below(dim + 1));
        let step = [1, 1, -1, 2, -2, 3, -3, 7][kind] as isize;
        match kind {
            0 if dim > 0 => {
                let index = first.min(dim - 1) as isize;
                let index = if second % 2 == 0 { index } else { index - length };
                info.push(SliceInfoElem::Index(index));
            }
            1 => info.extend([
                SliceInfoElem::NewAxis,
                SliceInfoElem::Slice { start: first as isize, end: None, step },
            ]),
            // If the bounds are reversed, the slice is empty.
            2 => info.push(SliceInfoElem::Slice {
                start: first as isize,
                end: Some(second as isize),
                step,
            }),
            _ => {
                let (start, end) = (first.min(second) as isize, first.max(second) as isize);
                info.push(SliceInfoElem::Slice {
                    start: if kind % 2 == 0 { start } else { 0 },
                    end: Some(if kind == 5 { from_end(length, end) } else { end }),
                    step,
                });
            }
        }
        if info.len() > 5 {
            break;
        }
    }
    // ndarray needs an element for every axis.
    let named = info.iter().filter(|e| !matches!(e, SliceInfoElem::NewAxis)).count();
    let whole = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
    info.extend(std::iter::repeat_n(whole, shape.len() - named));
    info
}

fn from_end(length: isize, at: isize) -> isize {
    if at < length { at - length } else { at }
}

/// Another shape with the same number of elements.
fn reshaped(shape: &[usize], mut below: impl FnMut(usize) -> usize) -> Vec<usize> {
    let mut left: usize = shape.iter().product();
    let mut to = Vec::new();
    while left > 1 && to.len() < 4 {
        let divisors: Vec<usize> = (1..=left).filter(|n| left % n == 0).collect();
        let dim = divisors[below(divisors.len())];
        to.push(dim);
        left /= dim;
    }
    if left != 1 || below(3) == 0 {
        to.push(left);
    }
    to
}

/// A copy in C order.
pub(crate) fn to_standard_layout(places: &ArrayViewD<'_, usize>) -> ArrayD<usize> {
    ArrayD::from_shape_vec(places.shape(), places.iter().copied().collect()).unwrap()
}

/// Whether strides can describe the positions of the elements.
pub(crate) fn is_affine(places: &ArrayD<usize>) -> bool {
    let Some(&first) = places.first() else { return true };
    let strides: Vec<isize> = (0..places.ndim())
        .map(|axis: usize| {
            let mut index = IxDyn(&vec![0; places.ndim()]);
            index[axis] = 1;
            places.get(index).map_or(0, |&next| next as isize - first as isize)
        })
        .collect();
    places.indexed_iter().all(|(index, &place)| {
        let index = npymap::ndarray::Dimension::slice(&index);
        let away: isize = index.iter().zip(&strides).map(|(&i, s)| i as isize * s).sum();
        first as isize + away == place as isize
    })
}

/// Whether the elements are contiguous in memory.
pub(crate) fn is_run(places: &ArrayD<usize>) -> bool {
    let first = places.first().copied().unwrap_or(0);
    places.iter().copied().eq(first..first + places.len())
}
