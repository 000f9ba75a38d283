"""Rows of different lengths."""

import operator
import os

import numpy as np

from . import _core
from ._describe import Description, describe
from ._dtypes import check_text, from_descr, to_cast
from ._grow import Growing, as_elements, check_like, first_rows, kept_dtype, row_descr
from ._map import map_of
from ._paths import to_path, to_shape, to_source
from ._rows import as_bytes, as_indices, contiguous, output, overlaps, process_of, rows_of


class Ragged:
    """Reads rows of different lengths, such as texts, from an array of elements and offsets.

    Row `i` is `data[offsets[i]:offsets[i + 1]]`. Each is a path or URL of a `.npy` file, or
    an object with rows, such as an `ArrayFile`. Files named by path are mapped, or read where they
    cannot be mapped. Offsets are checked when you use them.

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
        try:
            index = operator.index(index)
        except TypeError:
            text = (f"a row number of type {type(index).__name__}, expected an integer: take_packed "
                    "and take_padded copy several rows")
            raise TypeError(text) from None
        return self.take_packed([index])[0]

    def __iter__(self):
        """Yield copies of the rows in turn."""
        return (self[index] for index in range(len(self)))

    def take_packed(self, indices, *, dtype=None, casting="same_kind"):
        """Copy rows into one array, and return it with their offsets.

        With `dtype`, elements are cast to it as `casting` allows.
        """
        starts, ends = self._core.spans(as_indices(indices).reshape(-1))
        offsets = np.zeros(len(starts) + 1, np.int64)
        np.cumsum(np.array(ends, np.int64) - np.array(starts, np.int64), out=offsets[1:])
        dtype = self._dtype if dtype is None else np.dtype(dtype)
        cast = None if dtype == self._dtype else to_cast(dtype, casting, self._dtype)
        out = output((int(offsets[-1]), *self._shape), dtype, None)
        self._core.read_into(starts, ends, as_bytes(out), cast)
        return out, offsets

    def take_padded(self, indices, length, fill=None, out=None, *, dtype=None,
                    casting="same_kind"):
        """Copy rows, each padded with `fill` or truncated to `length`.

        Returns them with their original lengths. With `dtype`, elements and `fill` are cast
        to it. Without `fill`, padding is zeros, or empty text. For structs, `fill` is a tuple.
        A number is cast as "same_kind" allows, so for integers 1.7 raises `TypeError`, and an
        integer out of range `OverflowError`. Text that is too long or ends in NUL raises
        `ValueError`.
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

    def text(self, index):
        """Return a row of UTF-8 bytes as text, as `RaggedAppender` appends it."""
        if self._dtype != np.uint8 or self._shape != ():
            raise TypeError(f"rows of {self._dtype} are no text, expected bytes: \"u1\"")
        return self[index].tobytes().decode()

    def __reduce__(self):
        return _open_ragged, tuple(map(_to_sent, self._arrays))

    def __deepcopy__(self, memo):
        # Deep copies of mapped arrays are in memory.
        return self


def _open_ragged(data, offsets):
    return Ragged(*(array.open() if isinstance(array, Description) else array for array in (data, offsets)))


def _to_sent(array):
    """Return a description of an array in a file, or any other array itself."""
    mapping = map_of(array)[1] if isinstance(array, np.ndarray) else None
    is_described = mapping is not None and mapping.path is not None and mapping.mode != "c"
    return describe(array) if is_described else array


def _array(array, name):
    """Open the array if it is a path."""
    from ._arrayfile import map_or_read

    if isinstance(array, (str, bytes, os.PathLike)):
        array = map_or_read(to_source(array))
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


class RaggedAppender(Growing):
    """Appends rows of different lengths to two `.npy` files: data and offsets.

    Without `dtype`, this opens existing files. If a writer was killed, or the power failed,
    one file may have more rows than the other. This raises `FormatError`, because files that
    don't belong together look the same, and `recover=True` removes these rows. With `dtype`,
    this creates new files, where `row` is the shape of one item in a row. `overwrite` replaces
    existing files, but if bytes follow their elements only with `discard_trailing=True`. With
    `exist_ok=True`, this opens existing files, and creates missing files. If you don't pass
    `dtype` and `row`, the first row you append determines them. If another writer has the
    files open, this raises `BlockingIOError`, or waits with `wait=True`.

    Text is stored as its bytes in UTF-8, of the dtype "u1", and `Ragged.text` decodes it:

        >>> with npymap.RaggedAppender("words.npy", "ends.npy", exist_ok=True) as to:
        ...     for word in ["one", "", "zwölf"]:
        ...         to.append(word)
        >>> npymap.Ragged("words.npy", "ends.npy").text(-1)
        'zwölf'

    Only the first axis of a row has any length. Images of any height and width are stored as
    rows of pixels, with their heights in a third file:

        >>> images = [np.zeros((2, 4, 3), "u1"), np.ones((5, 2, 3), "u1")]
        >>> with (npymap.RaggedAppender("pixels.npy", "pixel_ends.npy", dtype="u1", row=3) as pixels,
        ...       npymap.Appender("heights.npy", dtype="i8") as heights):
        ...     for image in images:
        ...         pixels.append(image.reshape(-1, 3))
        ...         heights.append(len(image))
        >>> pixels = npymap.Ragged("pixels.npy", "pixel_ends.npy")
        >>> heights = npymap.open("heights.npy")
        >>> pixels[1].reshape(heights[1], -1, 3).shape
        (5, 2, 3)

    See `Ragged` for a first example.
    """

    def __init__(self, data, offsets, *, dtype=None, row=None, overwrite=False, recover=False,
                 discard_trailing=False, wait=False, exist_ok=False):
        self._paths = to_path(data), to_path(offsets)
        row = row if row is None else to_shape(row)
        if recover and dtype is not None:
            raise ValueError("both dtype and recover, expected one of them")
        if exist_ok and (overwrite or recover):
            raise ValueError("exist_ok with overwrite or recover, expected one of them")
        if not exist_ok and dtype is None and (overwrite or row):
            raise ValueError("row and overwrite are for new files, which need a dtype")
        self._asked = dtype, row
        self._options = recover, wait, overwrite, discard_trailing, exist_ok
        self._begin(self._paths, dtype, row, exist_ok)

    def _start(self, dtype, row):
        """Open the files, or create them with a dtype."""
        recover, wait, overwrite, discard_trailing, exist_ok = self._options
        new = None
        if dtype is not None:
            new = *row_descr(dtype, row or ()), False, overwrite, discard_trailing, exist_ok
        core = _core.RaggedAppender(*self._paths, recover, wait, new)
        descr, own = core.item
        is_own = new is not None and from_descr(new[0]) == from_descr(descr)
        self._dtype = kept_dtype(dtype, descr) if is_own else from_descr(descr)
        if exist_ok:
            try:
                check_like((self._dtype, own, False), *self._asked, None)
            except BaseException:
                core.close()
                raise
        self._row, self._core = own, core

    def _start_with(self, row, casting):
        """Create the files, or open them if another process was faster."""
        dtype, own = self._asked
        row = first_rows(row, dtype, casting)
        if row.ndim == 0:
            raise ValueError("a single element, expected a row")
        if own is not None and row.shape[1:] != own:
            raise ValueError(f"a row of shape {row.shape}, expected {('*', *own)}")
        self._start(row.dtype if dtype is None else dtype, row.shape[1:])

    def __len__(self):
        """The number of rows, including unwritten rows."""
        if self._core is None and self._starting is not None:
            return 0
        return self._opened().rows

    def __repr__(self):
        if self._core is None:
            return f"<npymap.RaggedAppender {self._paths}: no rows yet>"
        return f"<npymap.RaggedAppender {self._paths}: {len(self)} rows, dtype {self._dtype}>"

    def append(self, row, *, casting="same_kind"):
        """Append one row. With dtype "u1" it may be text or `bytes`, such as an encoded image."""
        row = self._from_text(row)
        core = self._opened_for(row, casting)
        row = as_elements(row, self._dtype, casting)
        if row.shape[1:] != self._row or row.ndim != 1 + len(self._row):
            advice = ""
            if row.ndim > 1 + len(self._row) and row.shape[row.ndim - len(self._row):] == self._row:
                shape = ", ".join(map(str, (-1, *self._row)))
                advice = (f": only one axis has any length, append it as reshape({shape}), and its "
                          "other lengths to an Appender")
            raise ValueError(f"a row of shape {row.shape}, expected {('*', *self._row)}{advice}")
        core.append(as_bytes(contiguous(row)))

    def _from_text(self, row):
        """Return the bytes of text as elements, if these are bytes."""
        if not isinstance(row, (str, bytes, bytearray, memoryview)):
            return row
        asked = self._asked[0]
        dtype = self._dtype if self._core is not None else np.dtype("u1" if asked is None else asked)
        if dtype == np.uint8:
            return np.frombuffer(row.encode() if isinstance(row, str) else row, np.uint8)
        if isinstance(row, str):
            raise TypeError(f"text as a row of {dtype}, expected elements: text is appended to \"u1\"")
        return row
