"""Arrays backed by files."""

import errno
import math
import os
from pathlib import Path

import numpy as np

from . import _core
from ._dtypes import to_raw_descr
from ._describe import byte_bounds
from ._errors import FormatError
from ._map import Map, map_of
from ._paths import is_fortran, to_shape
from ._rows import rows_of_array, take_mapped
from ._unmapped import read_unmapped

_MODES = {"readonly": "r", "readwrite": "r+", "write": "w+", "copyonwrite": "c"}
_ALL_MODES = ["r", "c", "r+", "w+", *_MODES]


def to_mode(mode):
    """Return the short name of a `numpy.memmap` mode."""
    mode = _MODES.get(mode, mode)
    if mode not in ("r", "r+", "w+", "c"):
        raise ValueError(f"mode must be one of {_ALL_MODES!r} (got {mode!r})")
    return mode


def owner(array):
    """Return the file mapping that the array uses, if there is one."""
    return map_of(array)[1]


def wrap(mapping, kind=None, dtype=None):
    """Return a mapping's elements as an array, without copying.

    `dtype` has the same size, and more than a `descr` says: a class of scalars, an alignment,
    overlapping fields.
    """
    if dtype is None:
        return mapping.to_array(kind or memmap)
    shape, _, is_fortran_order = mapping.facts
    return _new(kind or memmap, shape, dtype, mapping, is_fortran_order)


def _new(kind, shape, dtype, mapping, is_fortran_order):
    order = "F" if is_fortran_order else "C"
    memory = mapping if mapping.mode is None else Map(mapping)
    return np.ndarray.__new__(kind, shape, dtype, memory, 0, None, order)


class memmap(np.memmap):
    """An array backed by a file: a `numpy.memmap` with more methods.

    `npymap.open` returns it. Slices and other views refer to the same file, and keep it mapped.
    A pickle contains the elements, like NumPy's. However, `multiprocessing`, loky, joblib, Dask
    and Ray send only a few hundred bytes, and the other process opens the file (`describe`).
    They send the elements of copy-on-write arrays, and if the path no longer leads to the
    array's file.

    The constructor is the same as NumPy's, for files without a header. In mode "w+" this
    replaces an existing file instead of truncating it, so arrays that map it stay valid. It
    keeps a `.npy` file with bytes after its elements, unless `discard_trailing=True`. In the modes
    "r" and "c", a file that cannot be mapped is read into a plain `numpy.ndarray`, with a warning.

    The methods below accept `rows`: a slice along the first axis, or a pair of start and stop.
    The default is the whole array. For a view, this means the part of the file that it covers,
    rounded to whole rows of the file.
    """

    __array_finalize__ = np.ndarray.__array_finalize__  # type: ignore[assignment]

    def __new__(cls, filename, dtype=np.uint8, mode="r+", offset=0, shape=None, order="C", *,
                discard_trailing=False):
        mode = to_mode(mode)
        if mode == "w+" and shape is None:
            raise ValueError("shape must be given if mode == 'w+'")
        dtype = np.dtype(dtype)
        if dtype.hasobject:
            raise ValueError("Array can't be memory-mapped: Python objects in dtype.")
        shape = None if shape is None else to_shape(shape)
        # NumPy makes "A" and "K" the order of C, as None.
        is_fortran_order = order not in (None, "A", "a", "K", "k") and is_fortran(order)
        inner = ()
        if dtype.subdtype is not None:
            dtype, inner = dtype.subdtype
            shape = None if shape is None else shape + inner
        elements = to_raw_descr(dtype), shape, is_fortran_order, offset
        try:
            if hasattr(filename, "read"):
                mapping = _map_open_file(filename, mode, elements)
            elif mode == "w+":
                # As in NumPy, pages that are never written take no space.
                creation = None, True, True, False, True, discard_trailing
                mapping = _core.create(filename, elements, creation)
            else:
                mapping = _map_path(filename, mode, elements)
        except OSError as error:
            path = f"/dev/fd/{filename.fileno()}" if hasattr(filename, "read") else filename
            array = read_unmapped(error, path, mode, elements, dtype)
            if inner and shape is None:
                shape = _with_subarrays(len(array), inner)
                return array.reshape(shape, order="F" if is_fortran_order else "C")
            return array
        if inner and shape is None:
            self = _of_subarrays(cls, mapping, dtype, inner, is_fortran_order)
        else:
            self = wrap(mapping, cls, dtype)
        if hasattr(filename, "read"):
            name = getattr(filename, "name", None)
            self.__dict__["_filename"] = os.path.abspath(name) if isinstance(name, str) else None
            self.__dict__["_mode"] = mode
        return self

    def _find(self, name, default):
        """Return an attribute of the array, or of an array that it is a view of."""
        array = self
        while isinstance(array, np.ndarray):
            if name in getattr(array, "__dict__", ()):
                return array.__dict__[name]
            array = array.base
        return default

    @property
    def _mmap(self):
        base = map_of(self)[0]
        return base if base is None else base.base

    @property
    def filename(self):
        """The absolute path: a `pathlib.Path` if the file was opened by one."""
        mapping = owner(self)
        if mapping is None:
            return None
        if mapping.path is None:
            return self._find("_filename", None)
        if mapping.is_path_object:
            return Path(mapping.path).resolve()
        return os.path.abspath(mapping.path)

    @property
    def mode(self):
        """The mode of the file, or None for arrays in memory."""
        mapping = owner(self)
        return mapping and self._find("_mode", mapping.mode)

    @property
    def offset(self):
        """The offset in the file of the array that this is a view of."""
        mapping = owner(self)
        return mapping and mapping.offset

    @property
    def member(self):
        """The name of the array in its archive, or None without an archive."""
        mapping = owner(self)
        return mapping and mapping.member

    def __getitem__(self, index):
        if (type(index) is np.ndarray or type(index) is list) and type(self) is memmap:
            rows = take_mapped(self, index)
            if rows is not None:
                return rows
        result = np.ndarray.__getitem__(self, index)
        if type(result) is memmap and owner(result) is None:
            return result.view(np.ndarray)
        return result

    @property
    def rows(self):
        """The rows of the array, as `Rows` for random access.

        If the elements are adjacent in a file, this reads the rows of a batch from the file
        together. Otherwise, and for copy-on-write arrays, it copies them from memory, where each
        row waits for its own page fault.
        """
        return rows_of_array(self)

    def take(self, indices, axis=None, out=None, mode="raise"):
        """Copy elements like `numpy.take`. Rows are read like by `Rows.take`."""
        if type(self) is memmap and (axis == 0 or axis is None and self.ndim == 1):
            rows = take_mapped(self, indices, out, mode)
            if rows is not None:
                return rows
        array = self.view(np.ndarray) if type(self) is memmap else self
        return np.ndarray.take(_with_characters(array), indices, axis, out, mode)

    def compress(self, condition, axis=None, out=None):
        """Select slices along an axis, like `numpy.compress`."""
        return np.ndarray.compress(_with_characters(self), condition, axis, out)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        array = np.ndarray.__array_wrap__(self, array, context)
        if self is array or type(self) is not memmap:
            return array
        if return_scalar:
            return array[()]
        return array.view(np.ndarray)

    def flush(self, rows=None, *, wait=True):
        """Write changes to the disk, and wait until they are there.

        With `wait=False`, this only starts to write. It does nothing unless the mode is "r+"
        or "w+".
        """
        mapping = owner(self)
        if mapping is not None:
            mapping.flush(self._span(mapping, rows), wait)

    def advise(self, advice, rows=None):
        """Advise the kernel how you will use the elements.

        "normal" reads a few pages ahead, "random" no pages, "sequential" many, and "willneed"
        all of the elements, now.
        """
        mapping = self._mapping()
        mapping.advise(advice, self._span(mapping, rows))

    def prefetch(self, rows=None):
        """Start to read the elements into memory, and return at once."""
        mapping = self._mapping()
        mapping.prefetch(self._span(mapping, rows))

    def populate(self, rows=None):
        """Read the elements into memory.

        This raises if they cannot be read. If you used them, the process would get a signal
        instead. Other threads can run while this waits.
        """
        mapping = self._mapping()
        mapping.populate(self._span(mapping, rows))

    def drop_cache(self, rows=None):
        """Write changes to the disk and drop the elements from memory."""
        mapping = self._mapping()
        mapping.drop_cache(self._span(mapping, rows))

    def resident_bytes(self, rows=None):
        """Return how many bytes are in memory, or None if the kernel does not tell."""
        mapping = self._mapping()
        return mapping.resident_bytes(self._span(mapping, rows))

    def check_unchanged(self):
        """Raise if the file got shorter, or its path leads to a different file.

        The exception is a `FormatError` of the kind "Truncated" or "Changed", or a
        `FileNotFoundError`.
        """
        self._mapping().check_unchanged()

    def lock(self, kind="shared", *, wait=True):
        """Lock the file until the returned context manager is left.

        Locks are advisory, so they do not block code that does not lock. With
        `wait=False`, this raises `BlockingIOError` if another process holds the lock.
        """
        lock = self._mapping().lock(kind, wait)
        if lock is None:
            raise BlockingIOError(errno.EWOULDBLOCK, "is locked by another process or by another handle "
                                  "in this process", self.filename)
        return lock

    def _mapping(self):
        mapping = owner(self)
        if mapping is None:
            raise ValueError("the array is in memory, not in a file")
        return mapping

    def _span(self, mapping, rows):
        """Return the range of bytes of the mapping that rows of this array cover.

        None stands for the whole mapping.
        """
        part = self
        if rows is not None:
            if not isinstance(rows, slice):
                try:
                    start, stop = rows
                except (TypeError, ValueError):
                    raise TypeError(f"rows {rows!r}, expected a slice, or a start and a stop") from None
                rows = slice(start, stop)
            part = np.ndarray.__getitem__(self, rows)
        elif type(self.base) is Map:
            return None
        low, high = byte_bounds(part)
        return low - mapping.address, high - mapping.address

    def __reduce_ex__(self, protocol):
        mapping = owner(self)
        if mapping is not None:
            _check_length(mapping)
        array = self.view(np.ndarray) if type(self) is memmap else self
        return np.ndarray.__reduce_ex__(array, protocol)

    def __reduce__(self):
        # NumPy's `__reduce_ex__` calls this method.
        return self.__reduce_ex__(2) if type(self) is memmap else np.ndarray.__reduce__(self)


def _check_length(mapping):
    """Raise if a file became too short, because copying its elements would kill the process."""
    try:
        mapping.check_unchanged()
    except (OSError, ValueError) as error:
        if getattr(error, "kind", None) == "Truncated":
            raise


def _with_characters(array):
    """Return an array, or an array of empty text if its elements have no size.

    `take` and `compress` of NumPy copy a character of each, as if there were one.
    """
    return array if array.itemsize else np.zeros(array.shape, array.dtype)


def _of_subarrays(kind, mapping, dtype, inner, is_fortran_order):
    """Return an array of as many subarrays as a file has."""
    (count,), _, _ = mapping.facts
    return _new(kind, _with_subarrays(count, inner), dtype, mapping, is_fortran_order)


def _with_subarrays(count, inner):
    """Return the shape of as many subarrays as there are elements for."""
    each = math.prod(inner)
    if each == 0 or count % each:
        raise ValueError(f"the file has {count} elements, expected a multiple of the {each} of a "
                         f"subarray of shape {inner}")
    return count // each, *inner


def _map_path(path, mode, elements):
    try:
        return _core.open_raw(path, mode, elements)
    except FormatError as error:
        if mode != "r+" and os.path.getsize(path) == 0:
            raise _empty(os.fsdecode(path)) from None
        raise error


def _map_open_file(file, mode, elements):
    file.flush()
    descriptor = file.fileno()
    # As in NumPy, a file that is already open is extended, not replaced.
    mode = "r+" if mode == "w+" else mode
    try:
        return _core.open_raw_descriptor(descriptor, mode, elements)
    except FormatError as error:
        if mode != "r+" and os.fstat(descriptor).st_size == 0:
            raise _empty(getattr(file, "name", None)) from None
        raise error


def _empty(name):
    shown = f"{name}: " if isinstance(name, str) else ""
    return FormatError(f"{shown}cannot map an empty file", name, None, "Truncated")
