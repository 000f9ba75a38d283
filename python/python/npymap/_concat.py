"""Many arrays as one."""

import os

from . import _core
from ._arrayfile import ArrayFile, map_or_read
from ._describe import check_version, version_of
from ._dtypes import from_descr
from ._paths import is_url, to_absolute, to_path
from ._rows import Rows, rows_of
from ._unmapped import is_unmapped


class Concat:
    """Joins many arrays along the first axis, without copying.

    Each array is the path or URL of a `.npy` file, or an object with rows: an array from a
    file or in memory, an `ArrayFile`, another `Concat`, or `Rows`. All must have the same dtype
    and the same other axes. Files that you pass by path need no file descriptors, so you can
    join thousands.

        >>> both = npymap.Concat(["a.npy", "a.npy"])
        >>> both.shape
        (6, 4)
        >>> both.take([5, 0])[:, 0]
        array([8., 0.])

    Pickles contain the paths, and raise `FormatError` if a file was replaced or modified in the
    meantime. Arrays that you did not pass by path are pickled themselves.
    """

    def __init__(self, arrays):
        if isinstance(arrays, (str, bytes, os.PathLike)):
            raise TypeError("expected an iterable of paths or arrays, got a single path")
        self._sources = [_to_source(array) for array in arrays]
        self._is_remote = any(getattr(source, "_is_remote", False) for source in self._sources)
        # Before files are opened, so that a change meanwhile is seen later.
        self._versions = [version_of(source) if isinstance(source, str) else None
                          for source in self._sources]
        self._connect()

    def _connect(self):
        if all(isinstance(source, str) for source in self._sources):
            try:
                self._core = _core.stack_rows(self._sources)
                self._dtype = from_descr(self._core.facts[1])
            except IndexError:
                raise ValueError("an array without axes, expected arrays of rows") from None
            except OSError as error:
                if not is_unmapped(error):
                    raise
                self._join(map(ArrayFile, self._sources))
        else:
            self._join(map_or_read(source) if isinstance(source, str) else source
                       for source in self._sources)
        self._process = os.getpid()

    def _join(self, sources):
        rows = [rows_of(source) for source in sources]
        self._core = _core.join_rows([rows_._core for rows_ in rows])
        self._dtype = rows[0].dtype
        for number, rows_ in enumerate(rows):
            if rows_.dtype != self._dtype:
                raise ValueError(f"array {number} has dtype {rows_.dtype}, the first {self._dtype}")

    @classmethod
    def npy_stack(cls, directory):
        """Open the files of a directory that `dask.array.to_npy_stack` wrote."""
        return cls(_core.npy_stack_paths(to_path(directory)))

    @property
    def paths(self):
        """The absolute paths, with None for arrays that you did not pass by path."""
        return [source if isinstance(source, str) else None for source in self._sources]

    @property
    def rows(self):
        """The rows of all arrays, as `Rows`."""
        if self._is_remote and self._process != os.getpid():
            # Connections do not survive a fork.
            self._connect()
        return Rows(self._core, self)

    @property
    def shape(self):
        """The length of each axis, starting with the number of all rows."""
        return self._core.facts[0]

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self._dtype

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<npymap.Concat: {len(self._sources)} arrays, shape {self.shape}, dtype {self.dtype}>"

    def take(self, indices, out=None, *, dtype=None, casting="same_kind", mode="raise"):
        """Copy rows like `Rows.take`."""
        return self.rows.take(indices, out, dtype=dtype, casting=casting, mode=mode)

    def __getitem__(self, index):
        return self.rows[index]

    def __iter__(self):
        """Yield copies of the rows in turn."""
        rows = self.rows
        return (rows[index] for index in range(len(self)))

    def __array__(self, dtype=None, copy=None):
        return self.rows.__array__(dtype, copy)

    def __reduce__(self):
        return _stack, (self._sources, self._versions)


def _to_source(array):
    """Return an absolute path, or an object with rows."""
    if isinstance(array, (str, bytes, os.PathLike)):
        path = to_absolute(array)
        return ArrayFile(path) if is_url(path) else path
    return array


def _stack(sources, versions):
    for source, version in zip(sources, versions):
        if isinstance(source, str):
            check_version(source, version)
    return Concat(sources)
