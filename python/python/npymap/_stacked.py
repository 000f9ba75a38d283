"""Many files as one array."""

import os

from . import _core
from ._paths import to_absolute, to_path
from ._rows import Rows


class Stacked:
    """Many `.npy` files as one array along the first axis.

    All must have the same dtype and the same other axes. They are mapped, without a
    file descriptor each, so there may be thousands.

        >>> both = npymap.Stacked(["a.npy", "a.npy"])
        >>> both.shape
        (6, 4)
        >>> both.take([5, 0])[:, 0]
        array([8., 0.])
    """

    def __init__(self, paths):
        if isinstance(paths, (str, bytes, os.PathLike)):
            raise TypeError("expected an iterable of paths, got a single one")
        self._paths = [to_absolute(to_path(path)) for path in paths]
        try:
            core = _core.stack_rows(self._paths)
        except IndexError:
            raise ValueError("an array without axes, expected arrays of rows") from None
        # Without this object as source, which would refer to itself.
        self._rows = Rows(core, None)

    @classmethod
    def npy_stack(cls, directory):
        """Open the files of a directory that `dask.array.to_npy_stack` wrote."""
        return cls(_core.npy_stack_paths(to_path(directory)))

    @property
    def paths(self):
        """The absolute paths."""
        return list(self._paths)

    @property
    def rows(self):
        """The rows of all files: see `Rows`."""
        return Rows(self._rows._core, self)

    @property
    def shape(self):
        """The length of each axis; the first is the number of all rows."""
        return self._rows.shape

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self._rows.dtype

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    def __len__(self):
        return len(self._rows)

    def __repr__(self):
        return f"<npymap.Stacked: {len(self._paths)} files, shape {self.shape}, dtype {self.dtype}>"

    def take(self, indices, out=None, *, dtype=None, casting="same_kind", mode="raise"):
        """Copy rows, as `Rows.take`."""
        return self._rows.take(indices, out, dtype=dtype, casting=casting, mode=mode)

    def __getitem__(self, index):
        return self._rows[index]

    def __iter__(self):
        """Yield copies of the rows, one after another."""
        return (self._rows[index] for index in range(len(self)))

    def __array__(self, dtype=None, copy=None):
        return self._rows.__array__(dtype, copy)

    def __reduce__(self):
        return Stacked, (self._paths,)
