"""Rows of arrays in any order."""

import mmap
import os

import numpy as np

from . import _core
from ._dtypes import casting_advice, from_descr, is_foreign, is_pickled, to_cast, to_raw_descr
from ._map import map_of

_MODES = ("raise", "wrap", "clip")
_INT64 = np.dtype(np.int64)
_UINT8 = np.dtype(np.uint8)
_INT64_MAX = np.iinfo(np.int64).max


def as_bytes(array):
    """Return the bytes of an array that is contiguous in C order."""
    array = array if type(array) is np.ndarray else np.asarray(array)
    if array.nbytes == 0:
        return np.empty(0, np.uint8)
    try:
        # Without an axis there would be none in the view of a single byte.
        return array.view(_UINT8) if array.ndim else array.reshape(1).view(_UINT8)
    except ValueError:
        # The last axis has one element and any stride.
        return array.reshape(-1).view(_UINT8)


def contiguous(array):
    """Return an array that is contiguous in C order, with the bytes between its fields."""
    if array.dtype.names is None or array.itemsize == 0:
        return np.ascontiguousarray(array)
    # A copy of structs leaves padding as it was in memory that others have freed.
    whole = array.view(np.dtype((np.void, array.itemsize)))
    return np.ascontiguousarray(whole).view(array.dtype)


def as_indices(indices):
    """Return row numbers as an aligned, contiguous array of `int64`."""
    if type(indices) is np.ndarray and indices.dtype is _INT64:
        flags = indices.flags
        if flags.c_contiguous and flags.aligned:
            return indices
    indices = np.asarray(indices)
    if indices.dtype.kind not in "iu":
        if indices.dtype == object:
            _check_integers(indices)
        if indices.dtype == bool and indices.size:
            raise TypeError("row numbers of dtype bool: rows[mask] selects by a mask")
        if indices.size:
            raise TypeError(f"row numbers of dtype {indices.dtype}, expected integers")
        indices = indices.astype(np.int64)
    if indices.dtype == np.uint64 and indices.size and indices.max() > _INT64_MAX:
        raise IndexError(f"index {indices.max()} is out of bounds")
    indices = np.asarray(indices, np.int64, order="C")
    return indices if indices.flags.aligned else indices.copy()


def _check_integers(objects):
    """Raise `IndexError` for integers of more than 64 bits, which are objects in NumPy."""
    for number in objects.flat:
        if isinstance(number, int) and not -_INT64_MAX - 1 <= number <= _INT64_MAX:
            raise IndexError(f"index {number} is out of bounds")


def output(shape, dtype, out):
    """Return a new array, or `out` if it can be written as such an array."""
    if out is None:
        # Not `empty`, which gives the dtype "S0" a size.
        return np.ndarray(shape, dtype)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}, expected an array")
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}, expected {shape}")
    flags = out.flags
    if not (flags.c_contiguous and flags.writeable):
        raise ValueError("out must be writable and contiguous in C order")
    return out


def output_of(facts, out):
    """Return a new array of a shape, a dtype and an order, or `out` if it is such an array."""
    shape, dtype, is_fortran = facts
    if out is None:
        return np.ndarray(shape, dtype, order="F" if is_fortran else "C")
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}, expected an array")
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(f"out has shape {out.shape} and dtype {out.dtype}, the file {shape} and {dtype}")
    flags = out.flags
    if not (flags.f_contiguous if is_fortran else flags.c_contiguous) or not flags.writeable:
        order = "Fortran" if is_fortran else "C"
        raise ValueError(f"out must be writable and contiguous in {order} order, as the file")
    return out


def whole_bytes(array):
    """Return the bytes of a contiguous array, in the order of its memory."""
    if array.nbytes == 0:
        return np.empty(0, np.uint8)
    return array.reshape(-1, order="A").view(np.uint8)


class Rows:
    """Reads rows of an array in any order, as fast as the disk delivers them.

    `array.rows` returns it. A row is the part at one index of the first axis. This copies rows
    without holding the GIL, and requests rows that are not in memory from the disk together.
    Threads can share one object.

        >>> rows = npymap.open("a.npy").rows
        >>> rows.take([2, 0])
        array([[ 8.,  9., 10., 11.],
               [ 0.,  1.,  2.,  3.]])
        >>> rows.windows(2).take([1]).shape
        (1, 2, 4)

    Rows pickle with their source: an array with its elements.
    """

    __slots__ = ("_dtype", "_native", "_path", "_process", "_shape", "_source")

    def __init__(self, core, source, path=()):
        shape, descr = core.facts
        self._native, self._process = core, process_of(source)
        # The object whose `rows` these are, and the calls that led here.
        self._source = source
        self._path = path
        self._shape = shape
        # That of an array may say more than a `descr`.
        is_same = source is not None and all(method == "windows" for method, _ in path)
        self._dtype = source.dtype if is_same else from_descr(descr)

    @property
    def _core(self):
        if self._process is not None and self._process != os.getpid():
            self._native = _rebuild(self._source, self._path)._native
            self._process = os.getpid()
        return self._native

    @property
    def shape(self):
        """The length of each axis, starting with the number of rows."""
        return self._shape

    @property
    def dtype(self):
        """The dtype of the elements in the file."""
        return self._dtype

    def __len__(self):
        return self._shape[0]

    def __repr__(self):
        return f"<npymap.Rows: shape {self._shape}, dtype {self._dtype}>"

    def take(self, indices, out=None, *, dtype=None, casting="same_kind", mode="raise"):
        """Copy rows, in the order of `indices`, which may have any shape.

        With `dtype`, elements are cast to it as `casting` allows. With `out`, they are
        written there, and cast to its dtype. Casts of real numbers are several times faster
        to native "f4", "f8" and "i8" than to other dtypes.

        With the mode "raise", negative indices count from the end, and indices out of bounds
        raise `IndexError`. "wrap" and "clip" mean the same as for `numpy.take`.
        """
        if casting != "same_kind":
            _core.check_casting(casting)
        if dtype is not None and isinstance(out, np.ndarray) and out.dtype != np.dtype(dtype):
            raise TypeError(f"out has dtype {out.dtype}, but dtype is {np.dtype(dtype)}")
        if out is not None and overlaps(self._source, self._core, out):
            taken = self.take(indices, dtype=out.dtype if dtype is None else dtype,
                              casting=casting, mode=mode)
            output(taken.shape, taken.dtype, out)[...] = taken
            return out
        if dtype is None:
            taken = self._core.take(indices, mode, out, self._dtype)
            if taken is not None:
                return taken
        # The arguments must be checked or converted.
        indices = as_indices(indices)
        if indices.ndim != 1:
            shape, indices = indices.shape + self._shape[1:], indices.reshape(-1)
        else:
            shape = (len(indices), *self._shape[1:])
        if dtype is not None:
            dtype = np.dtype(dtype)
        elif isinstance(out, np.ndarray):
            dtype = out.dtype
        else:
            dtype = self._dtype
        if dtype != self._dtype and (is_foreign(dtype) or is_foreign(self._dtype)):
            # The library does not know the elements.
            taken = output(shape, self._dtype, None)
            self._core.take_into(indices, mode, as_bytes(taken), None)
            return _cast(taken, dtype, casting, out)
        cast = None
        if dtype is not self._dtype and dtype != self._dtype:
            cast = to_cast(dtype, casting, self._dtype)
        out = output(shape, dtype, out)
        self._core.take_into(indices, mode, as_bytes(out), cast)
        return out

    def __getitem__(self, index):
        if isinstance(index, tuple):
            raise IndexError("rows are selected along the first axis: expected a number, a slice, a "
                             "list or a mask, not a tuple")
        if isinstance(index, slice):
            return self.take(numbers_of(range(*index.indices(len(self)))))
        index = np.asarray(index)
        if index.dtype == bool:
            if index.shape != (len(self),):
                raise IndexError(f"a mask of shape {index.shape} for {len(self)} rows")
            index = np.flatnonzero(index)
        return self.take(index)

    def __iter__(self):
        """Yield copies of the rows in turn."""
        return map(self.take, range(len(self)))

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("rows are read from a file: their elements must be copied")
        rows = self.take(np.arange(len(self)))
        return rows if dtype is None else rows.astype(dtype, copy=False)

    def prefetch(self, indices, *, mode="raise"):
        """Start to read rows from the disk, and return at once.

        This reads ahead only rows of a map, and windows of a single map.
        """
        self._core.prefetch(as_indices(indices).reshape(-1), mode)

    def windows(self, length):
        """Return the sliding windows of `length` rows, for example sequences of tokens.

        Window `i` has the rows from `i` up to `i + length`. `take` copies the windows you need,
        and this copies no rows.
        """
        return Rows(self._core.windows(length), self._source, (*self._path, ("windows", length)))

    def field(self, name):
        """Return one field of each element: `"x"`, or `"pos.x"` for a nested one."""
        return Rows(self._core.field(name), self._source, (*self._path, ("field", name)))

    def __reduce__(self):
        return _rebuild, (self._source, self._path)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        # Rows cannot be changed.
        return self


def _cast(array, dtype, casting, out):
    if casting == "same_value":
        raise TypeError(f"elements of {array.dtype} are not cast with casting `same_value`")
    if out is not None:
        output(array.shape, dtype, out)
    with casting_advice():
        if out is None:
            return array.astype(dtype, casting=casting)
        np.copyto(out, array, casting=casting)
    return out


def process_of(source):
    """Return this process if its connections, which do not survive a fork, read the source."""
    return os.getpid() if getattr(source, "_is_remote", False) else None


def _rebuild(source, path):
    rows = rows_of(source)
    for method, argument in path:
        rows = getattr(rows, method)(argument)
    return rows


def numbers_of(rows):
    """Return the numbers of a range, even if its step is larger than an int64."""
    most = abs(rows.stop - rows.start) + 1
    return np.arange(rows.start, rows.stop, max(-most, min(rows.step, most)), np.int64)


def overlaps(source, core, out):
    """Return whether an output may share memory with the array that rows are read from.

    Their file may be mapped twice, so the library cannot notice it.
    """
    if not isinstance(out, np.ndarray):
        return False
    if _shares_memory(source, out):
        return True
    mapping = map_of(out)[1]
    if mapping is not None:
        return core.shares_file(mapping)
    while isinstance(out, np.ndarray):
        out = out.base
    # Of which file is not known.
    return isinstance(out.obj if isinstance(out, memoryview) else out, mmap.mmap)


def _shares_memory(source, out):
    if isinstance(source, Rows):
        source = source._source
    if isinstance(source, np.ndarray):
        return np.may_share_memory(source, out)
    return any(_shares_memory(part, out) for part in getattr(source, "_sources", ()))


def rows_of(source):
    """Return the rows of an array or of any object that has rows, or raise `TypeError`."""
    if isinstance(source, Rows):
        return source
    rows = getattr(source, "rows", None)
    if isinstance(rows, Rows):
        return rows
    if isinstance(source, np.ndarray):
        return rows_of_array(source)
    advice = ""
    if hasattr(source, "take_padded"):
        advice = ", whose rows have different lengths: use its take_padded or take_packed"
    elif isinstance(source, (str, bytes, os.PathLike)):
        advice = ": use npymap.open(path)"
    raise TypeError("expected an array, an ArrayFile, a Concat or Rows, got "
                    f"{type(source).__name__}{advice}")


def rows_of_array(array):
    """Return the rows of an array in a file or in memory."""
    if array.ndim == 0:
        raise TypeError("an array without axes has no rows: use array.reshape(1)")
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("rows of a masked array: use those of its data and of its mask")
    if is_pickled(array.dtype):
        raise TypeError(f"rows of {array.dtype}, which are Python objects: convert them to another dtype")
    return Rows(_mapped_rows(array) or _rows_in_memory(array), array)


def _mapped_rows(array):
    """Return the rows of an array if they are adjacent in a file, or None."""
    root, mapping = map_of(array)
    if root is None or root.ndim == 0 or root.dtype.itemsize == 0:
        return None
    start = 0 if array is root else _first_row(array, root)
    if start is not None:
        core = _core_rows(root, mapping)
        if core is None or array is root:
            return core
        return core.range(start, start + len(array))
    flags = array.flags
    if not flags.forc or array.size == 0:
        return None
    first = array.__array_interface__["data"][0] - mapping.address
    descr = to_raw_descr(array.dtype)
    try:
        return _core.rows_at(mapping, first, descr, array.shape, not flags.c_contiguous)
    except (OSError, ValueError):
        return None


def _rows_in_memory(array):
    array = np.asarray(array)
    descr = to_raw_descr(array.dtype)
    if array.dtype.itemsize == 0:
        # Rows without bytes are anywhere.
        return _core.rows_in_memory(np.ndarray(array.shape, array.dtype, np.empty(8, np.uint8)), descr)
    # NumPy has no buffers of some dtypes, such as dates.
    return _core.rows_in_memory(array.view(np.dtype((np.void, array.itemsize))), descr)


def take_mapped(array, indices, out=None, mode="raise"):
    """Return rows of a mapped array, or None if NumPy must take them."""
    indices = np.asarray(indices)
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or array.ndim == 0:
        return None
    if mode not in _MODES:
        return None
    root, mapping = map_of(array)
    if root is None:
        return None
    if out is not None and not isinstance(out, np.ndarray):
        return None
    start = 0
    if array is not root:
        start = _first_row(array, root)
        if start is None:
            return None
    core = _core_rows(root, mapping)
    if core is None:
        return None
    shape = indices.shape + array.shape[1:]
    if out is not None and overlaps(root, core, out):
        taken = take_mapped(array, indices, None, mode)
        if taken is None or out.shape != shape or out.dtype != array.dtype:
            return None
        out[...] = taken
        return out
    if start or len(array) != len(root):
        core = core.range(start, start + len(array))
    taken = core.take(indices, mode, out, array.dtype)
    if taken is not None:
        return taken
    if out is not None and (out.shape != shape or out.dtype != array.dtype
                            or not out.flags.c_contiguous or not out.flags.writeable):
        return None
    out = output(shape, array.dtype, out)
    core.take_into(as_indices(indices), mode, as_bytes(out))
    return out


def _core_rows(root, mapping):
    """Return the rows of a whole array, or None if its file has none.

    The file of a writable array is opened again by its path: it may have been deleted, or
    have been passed as an open file.
    """
    if root.ndim == 0:
        return None
    own = getattr(root, "__dict__", {})
    # The shape and the dtype of an array can be set.
    layout = root.shape, root.strides, root.dtype
    known, core = own.get("_rows", (None, None))
    if known != layout:
        try:
            core = _open_rows(root, mapping)
        except (OSError, ValueError):
            core = None
        own["_rows"] = layout, core
    return core


def _open_rows(root, mapping):
    shape, descr, is_fortran = mapping.facts
    flags = root.flags
    # Strides can be set, and those of a reversed array are sent.
    in_order = flags.f_contiguous if is_fortran else flags.c_contiguous
    if in_order and shape == root.shape and (
            is_foreign(root.dtype) or from_descr(descr) == root.dtype):
        return _core.rows_of(mapping)
    # An array that was described has its bytes mapped, whatever their dtype.
    if not flags.forc:
        return None
    descr = to_raw_descr(root.dtype)
    first = root.__array_interface__["data"][0] - mapping.address
    return _core.rows_at(mapping, first, descr, root.shape, not flags.c_contiguous)


def _first_row(array, root):
    """Return the number of the row at which a range of rows starts."""
    if array.strides != root.strides or array.shape[1:] != root.shape[1:]:
        return None
    if array.dtype != root.dtype or len(array) > len(root):
        return None
    each = root.strides[0]
    first = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    if each <= 0 or first < 0 or first % each:
        return None
    start = first // each
    return start if start + len(array) <= len(root) else None
