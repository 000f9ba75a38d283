"""Rows of different lengths."""

import operator
import os

import numpy as np

from . import _core
from ._describe import describe
from ._dtypes import check_text, from_descr, to_cast
from ._grow import as_elements, kept_dtype, row_descr
from ._paths import to_path, to_shape
from ._rows import as_bytes, as_indices, contiguous, output, overlaps, process_of, rows_of


class Ragged:
    """Rows of different lengths: an array of all elements, and one of offsets.

    Row `i` is `data[offsets[i]:offsets[i + 1]]`. Both arrays are mapped; offsets are
    checked when they are used.

        >>> with npymap.RaggedAppender("data.npy", "offsets.npy", dtype="u2") as to:
        ...     to.append([1, 2, 3])
        ...     to.append([4])
        >>> texts = npymap.Ragged("data.npy", "offsets.npy")
        >>> len(texts), texts[0]
        (2, array([1, 2, 3], dtype=uint16))
        >>> texts.take_padded([1, 0], 2, fill=-100, dtype="i8")
        (array([[   4, -100],
               [   1,    2]]), array([1, 3]))
    """

    def __init__(self, data, offsets):
        data, offsets = _array(data, "data"), _array(offsets, "offsets")
        self._arrays = data, offsets
        rows = rows_of(data)
        self._shape, self._dtype = rows.shape[1:], rows.dtype
        self._connect()

    def _connect(self):
        data, offsets = self._arrays
        self._native = _core.Ragged(rows_of(data)._core, rows_of(offsets)._core)
        self._process = process_of(data) or process_of(offsets)

    @property
    def _core(self):
        if self._process is not None and self._process != os.getpid():
            self._connect()
        return self._native

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self._dtype

    def __len__(self):
        return len(self._core)

    def __repr__(self):
        return f"<npymap.Ragged: {len(self)} rows, dtype {self._dtype}>"

    def __getitem__(self, index):
        """Return a copy of one row."""
        return self.take_packed([operator.index(index)])[0]

    def __iter__(self):
        """Yield copies of the rows, one after another."""
        return (self[index] for index in range(len(self)))

    def take_packed(self, indices):
        """Copy rows one after another, and return them with their offsets."""
        starts, ends = self._core.spans(as_indices(indices).reshape(-1))
        offsets = np.zeros(len(starts) + 1, np.int64)
        np.cumsum(np.array(ends, np.int64) - np.array(starts, np.int64), out=offsets[1:])
        out = output((int(offsets[-1]), *self._shape), self._dtype, None)
        self._core.read_into(starts, ends, as_bytes(out))
        return out, offsets

    def take_padded(self, indices, length, fill=None, out=None, *, dtype=None,
                    casting="same_kind"):
        """Copy rows, each padded with `fill` or truncated to `length`.

        Returns them with their original lengths. With `dtype`, elements are cast to it,
        and `fill` is of that dtype. Without `fill`, padding is zeros, or empty text; for
        structs, `fill` is a tuple. A number is cast as "same_kind" allows, so 1.7 is a
        `TypeError` for integers, and an integer out of range an `OverflowError`; text that
        is too long or ends in NUL is a `ValueError`.
        """
        indices = as_indices(indices)
        dtype = self._dtype if dtype is None else np.dtype(dtype)
        length = operator.index(length)
        cast = to_cast(dtype, casting, self._dtype)
        shape = *indices.shape, length, *self._shape
        given, out = out, output(shape, dtype, out)
        if out.dtype != dtype:
            raise TypeError(f"out has dtype {out.dtype}, expected {dtype}")
        if given is not None and any(overlaps(array, rows_of(array)._core, out) for array in self._arrays):
            out = output(shape, dtype, None)
        pad = np.zeros(1, dtype)
        if fill is not None:
            _set(pad, fill)
        pad = as_bytes(pad)
        lengths = self._core.take_padded_into(indices.reshape(-1), as_bytes(out), (length, pad),
                                              cast)
        if given is not None and out is not given:
            given[...] = out
            out = given
        return out, np.array(lengths, np.int64).reshape(indices.shape)

    def __reduce__(self):
        return _open_ragged, tuple(map(describe, self._arrays))

    def __deepcopy__(self, memo):
        # Deep copies of mapped arrays are in memory.
        return self


def _open_ragged(data, offsets):
    return Ragged(data.open(), offsets.open())


def _array(array, name):
    """Open the array if it is a path."""
    from ._open import open

    is_array = isinstance(array, np.ndarray) or hasattr(array, "rows")
    array = array if is_array else open(to_path(array))
    if getattr(array, "ndim", None) == 0:
        raise ValueError(f"{name} without axes, expected an array of rows")
    return array


def _set(place, value):
    """Set the only element of an array, which may be a struct."""
    names, kind = place.dtype.names, place.dtype.kind
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if names is not None and isinstance(value, tuple):
        if len(value) != len(names):
            raise ValueError(f"{len(value)} values for the {len(names)} fields {names}")
        for name, part in zip(names, value):
            _set(place[name], part)
    elif kind in "SU":
        check_text(value, np.asarray(value))
        place[0] = value
        if np.any(place.astype(kind) != np.asarray(value).astype(kind)):
            raise ValueError(f"{value!r} is too long for {place.dtype}")
    elif isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64):
        # As an integer of Python, whose value NumPy checks for integers.
        with np.errstate(over="ignore"):
            place[0] = int(value)
        if kind == "b" and value not in (0, 1) or kind in "fc" and np.isinf(place[0]):
            raise OverflowError(f"{value!r} is out of bounds for {place.dtype}")
    elif kind in "biufc":
        np.copyto(place, value, casting="same_kind")
    else:
        place[0] = value


class RaggedAppender:
    """Appends rows of different lengths to two `.npy` files: data and offsets.

    Without `dtype`, opens existing files. If a writer was killed, or the power failed,
    one of them may have more rows than the other: that raises `FormatError`, because files
    that don't belong together look alike, and `recover=True` removes these rows. With
    `dtype`, creates new files; `row` is the shape of each item of a row. With `overwrite`,
    existing ones are replaced, but those with bytes after their elements only with
    `discard_trailing=True`. See `Ragged` for an example.
    """

    def __init__(self, data, offsets, *, dtype=None, row=(), overwrite=False, recover=False,
                 discard_trailing=False):
        paths = to_path(data), to_path(offsets)
        new = None
        if recover and dtype is not None:
            raise ValueError("both dtype and recover, expected one of them")
        if dtype is not None:
            new = (*row_descr(dtype, row), False, overwrite, discard_trailing)
        elif overwrite or to_shape(row) != ():
            raise ValueError("row and overwrite are for new files, which need a dtype")
        self._core = _core.RaggedAppender(*paths, recover, new)
        descr, self._row = self._core.item
        self._dtype = from_descr(descr) if dtype is None else kept_dtype(dtype, descr)
        self._paths = paths

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self._dtype

    def __len__(self):
        """The number of rows, including those that are not written yet."""
        return self._core.rows

    def __repr__(self):
        return f"<npymap.RaggedAppender {self._paths}: {len(self)} rows, dtype {self._dtype}>"

    def append(self, row, *, casting="same_kind"):
        """Append one row; of the dtype "u1", it may be `bytes`, such as an encoded image."""
        if isinstance(row, (bytes, bytearray, memoryview)) and self._dtype == np.uint8:
            row = np.frombuffer(row, np.uint8)
        row = as_elements(row, self._dtype, casting)
        if row.shape[1:] != self._row or row.ndim != 1 + len(self._row):
            raise ValueError(f"a row of shape {row.shape}, expected {('*', *self._row)}")
        self._core.append(as_bytes(contiguous(row)))

    def flush(self):
        """Write all rows, so that readers see them."""
        self._core.flush()

    def sync(self):
        """Write all rows, and wait until they are on the disk."""
        self._core.sync()

    def close(self):
        """Write all rows, and close the files."""
        self._core.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
