"""The elements that an index of an array in a file needs."""

import operator

import numpy as np

from ._rows import as_indices

_EXPECTED = "an ArrayFile is indexed by integers, slices and lists of rows"


def expand(index, ndim):
    """Return an index with a part per axis."""
    index = index if isinstance(index, tuple) else (index,)
    if any(part is None for part in index):
        raise IndexError("an ArrayFile is indexed without numpy.newaxis")
    if any(_is_bool(part) for part in index):
        raise IndexError(_EXPECTED)
    dots = [i for i, part in enumerate(index) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if len(index) - len(dots) > ndim:
        raise IndexError(f"too many indices: {ndim} axes, but {len(index) - len(dots)} indices")
    before, after = (index, ()) if not dots else (index[:dots[0]], index[dots[0] + 1:])
    return before + (slice(None),) * (ndim - len(before) - len(after)) + after


def with_dots(selected, index):
    """Return a selection with a part per axis, with the ellipsis of its index.

    NumPy puts the axis of lists first if anything separates them, even an ellipsis for no
    axis. With an ellipsis, a single element is an array.
    """
    index = index if isinstance(index, tuple) else (index,)
    dots = next((i for i, part in enumerate(index) if part is ...), None)
    if dots is None:
        return selected
    dots = len(selected) if len(index) <= len(selected) else dots
    return (*selected[:dots], ..., *selected[dots:])


def is_basic(index):
    """Return whether an index has only integers and slices, so that NumPy makes a view."""
    return all(isinstance(part, slice) or is_integer(part) for part in index)


def is_integer(part):
    """Return whether a part of an index selects one element."""
    if isinstance(part, np.ndarray):
        return part.ndim == 0 and part.dtype.kind in "iu"
    if _is_bool(part):
        return False
    try:
        # Arrays of other packages have the method for single elements only.
        operator.index(part)
    except (TypeError, ValueError):
        return False
    return True


def _is_bool(part):
    """Return whether a part of an index is a single boolean, which adds an axis."""
    if isinstance(part, np.ndarray):
        return part.ndim == 0 and part.dtype == bool
    return isinstance(part, (bool, np.bool_))


def split(index, shape, first=0):
    """Return a range of each axis, and the index of the selected elements in these ranges.

    `first` is the number of the first axis.
    """
    parts = [_split_axis(part, axis, length)
             for axis, (part, length) in enumerate(zip(index, shape), first)]
    return [span for span, _ in parts], tuple(inner for _, inner in parts)


def _split_axis(part, axis, length):
    if isinstance(part, slice):
        selected = range(*part.indices(length))
        if not selected:
            return (0, 0), slice(None)
        span = min(selected[0], selected[-1]), max(selected[0], selected[-1]) + 1
        return span, slice(None, None, selected.step)
    if is_integer(part):
        number = operator.index(part)
        if not -length <= number < length:
            text = f"index {number} is out of bounds for axis {axis} with size {length}"
            raise IndexError(text)
        number %= length
        return (number, number + 1), 0
    numbers = in_bounds(to_numbers(part, axis, length), axis, length)
    if not len(numbers):
        return (0, 0), numbers
    low, high = int(numbers.min()), int(numbers.max())
    return (low, high + 1), numbers - low


def in_bounds(numbers, axis, length):
    """Return numbers from 0, counting negative numbers from the end, or raise `IndexError`."""
    outside = numbers[(numbers < -length) | (numbers >= length)]
    if len(outside):
        raise IndexError(f"index {outside[0]} is out of bounds for axis {axis} with size {length}")
    return np.where(numbers < 0, numbers + length, numbers)


def to_ranges(numbers):
    """Return where the ranges of adjacent numbers, which increase, start and stop."""
    is_break = np.diff(numbers) != 1
    starts = numbers[np.append(True, is_break)[:len(numbers)]]
    stops = numbers[np.append(is_break, True)[:len(numbers)]] + 1
    return starts, stops


def to_numbers(part, axis, length):
    """Return the numbers that a list or a mask selects along an axis."""
    part = np.asarray(part)
    if part.dtype == bool and part.ndim == 1:
        if len(part) != length:
            raise IndexError(f"mask of length {len(part)} for axis {axis} of length {length}")
        part = np.flatnonzero(part)
    if part.dtype.kind not in "iu" and part.size or part.ndim != 1:
        raise IndexError(_EXPECTED)
    return as_indices(part)


def strides_of(shape, itemsize, is_fortran):
    """Return the strides of an array in a file."""
    strides, stride = [], itemsize
    for length in shape if is_fortran else reversed(shape):
        strides.append(stride)
        stride *= length
    return tuple(strides if is_fortran else reversed(strides))
