"""Arrays that are read on request, and described in a few bytes."""

import operator
import os

import numpy as np

from . import _core
from ._dtypes import from_descr
from ._errors import FormatError
from ._open import MAX_HEADER_SIZE, open
from ._paths import to_path
from ._rows import Rows, as_bytes, as_indices


class ArrayFile:
    """A `.npy` file by its path: rows are read on request, nothing is mapped.

    A file that is truncated meanwhile raises `FormatError`, where a map would end the
    process. It pickles as path, shape and dtype, so schedulers send a few bytes, and
    workers read what they need.

        >>> a = npymap.ArrayFile("a.npy")
        >>> a.shape, a.dtype
        ((3, 4), dtype('float64'))
        >>> a[1:, 2]
        array([ 6., 10.])

    With `mode` "r" the file is mapped when elements are first used, once per process.

    Dask: `dask.array.from_array(npymap.ArrayFile(path), chunks=…)`.
    """

    def __init__(self, path, mode=None, *, at=0, max_header_size=MAX_HEADER_SIZE):
        if mode not in (None, "r"):
            raise ValueError(f"mode {mode!r}, expected None or 'r'")
        self._path = os.path.abspath(to_path(path))
        self._mode = mode
        self._at = at
        self._max_header_size = max_header_size
        self._file = self._array = None
        self._shape, self._dtype = self._open()

    def _open(self):
        """Read the header, and return shape and dtype."""
        self._file = _core.ReadFile(self._path, self._at, self._max_header_size)
        shape, descr = self._file.facts
        return shape, from_descr(descr)

    def _opened(self):
        """Return the open file, which has the shape and dtype that were pickled."""
        if self._file is None:
            found = self._open()
            if found != (self._shape, self._dtype):
                self._file = None
                text = (f"{self._path}: has shape {found[0]} and dtype {found[1]}, but had "
                        f"{self._shape} and {self._dtype} when it was pickled")
                raise FormatError(text, self._path, None, "Changed")
        return self._file

    @property
    def path(self):
        """The absolute path."""
        return self._path

    @property
    def shape(self):
        """The length of each axis."""
        return self._shape

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self._dtype

    @property
    def ndim(self):
        """The number of axes."""
        return len(self._shape)

    @property
    def size(self):
        """The number of elements."""
        return int(np.prod(self._shape, dtype=object))

    @property
    def nbytes(self):
        """The size of all elements in bytes."""
        return self.size * self._dtype.itemsize

    @property
    def rows(self):
        """The rows, read on request: see `Rows`."""
        if self._mode is not None:
            return self._mapped().rows
        return Rows(self._opened().rows, self)

    def __len__(self):
        if not self._shape:
            raise TypeError("len() of an array without axes")
        return self._shape[0]

    def __repr__(self):
        return f"<npymap.ArrayFile {self._path!r}: shape {self._shape}, dtype {self._dtype}>"

    def take(self, indices, out=None, *, dtype=None, casting="same_kind", mode="raise"):
        """Read rows, as `Rows.take`."""
        return self.rows.take(indices, out, dtype=dtype, casting=casting, mode=mode)

    def read(self, start=0, stop=None):
        """Read the rows from `start` up to `stop`, by default all."""
        return self[slice(start, stop)] if self._shape else self[()]

    def __getitem__(self, index):
        if self._mode is not None:
            return self._mapped()[index]
        index = index if isinstance(index, tuple) else (index,)
        if not self._shape:
            return self._read_all()[index]
        index = _expand(index, self.ndim)
        first, rest = index[0], index[1:]
        if isinstance(first, slice):
            start, stop, step = first.indices(len(self))
            read = self._read(range(start, stop, step))
            return read[(slice(None), *rest)] if rest else read
        try:
            row = operator.index(first)
        except TypeError:
            return self._read_list(first, rest)
        read = self.take([row])[0]
        return read[rest] if rest else read

    def _read_list(self, first, rest):
        """Read the rows of a list or mask."""
        first = np.asarray(first)
        if first.dtype == bool and first.ndim == 1:
            if len(first) != len(self):
                text = f"mask of length {len(first)} for axis 0 of shape {self._shape}"
                raise IndexError(text)
            first = np.flatnonzero(first)
        if first.dtype.kind not in "iu" and first.size or first.ndim != 1:
            raise IndexError("an ArrayFile is indexed by integers, slices and lists of rows")
        read = self.take(first)
        if any(not isinstance(part, slice) and np.ndim(part) for part in rest):
            return read[(np.arange(len(first)), *rest)]
        return read[(slice(None), *rest)] if rest else read

    def _read(self, rows):
        """Read a range of rows."""
        if rows.step in (1, -1) and rows:
            low, high = min(rows[0], rows[-1]), max(rows[0], rows[-1]) + 1
            out = np.empty((high - low, *self._shape[1:]), self._dtype)
            self._opened().read_into(low, high, as_bytes(out))
            return out if rows.step == 1 else out[::-1]
        return self.take(as_indices(np.arange(rows.start, rows.stop, rows.step)))

    def _read_all(self):
        out = np.empty(self._shape, self._dtype)
        self._opened().read_all_into(as_bytes(out))
        return out

    def _mapped(self):
        if self._array is None:
            self._array = open(self._path, self._mode, at=self._at,
                               max_header_size=self._max_header_size)
        return self._array

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("an ArrayFile is not in memory: its elements must be copied")
        array = self.read() if self._shape else self._read_all()
        return array if dtype is None else array.astype(dtype, copy=False)

    def reload(self):
        """Read the header again, for files that others append to."""
        self._array = None
        self._shape, self._dtype = self._open()

    def check(self):
        """Raise when the file got shorter, or its path leads to another file."""
        self._opened().check()

    def __dask_tokenize__(self):
        stat = os.stat(self._path)
        facts = stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
        return "npymap.ArrayFile", self._path, self._at, facts

    def __eq__(self, other):
        return isinstance(other, ArrayFile) and self.__getstate__() == other.__getstate__()

    def __hash__(self):
        return hash((self._path, self._at))

    def __getstate__(self):
        return (self._path, self._mode, self._at, self._max_header_size, self._shape,
                self._dtype)

    def __setstate__(self, state):
        self._path, self._mode, self._at, self._max_header_size = state[:4]
        self._shape, self._dtype = state[4:]
        self._file = self._array = None


def _expand(index, ndim):
    """Return an index whose first part is that of the first axis."""
    if any(part is None for part in index):
        raise IndexError("an ArrayFile is indexed without numpy.newaxis")
    dots = [i for i, part in enumerate(index) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if len(index) - len(dots) > ndim:
        raise IndexError(f"too many indices: {ndim} axes, but {len(index) - len(dots)} indices")
    if not dots:
        return index or (slice(None),)
    before, after = index[:dots[0]], index[dots[0] + 1:]
    return before + (slice(None),) * (ndim - len(before) - len(after)) + after
