"""Appending rows to files."""

import contextlib
import datetime
import os
import threading

import numpy as np

from . import _core
from ._dtypes import casting_advice, check_size, check_text, from_descr, is_foreign, to_descr
from ._paths import is_fortran, to_path, to_shape
from ._rows import as_bytes, contiguous


def row_descr(dtype, row):
    """Return the `descr` and the row shape of a new file."""
    dtype, row = np.dtype(dtype), to_shape(row)
    if dtype.hasobject:
        raise ValueError("Python objects cannot be appended")
    if dtype.subdtype is not None:
        dtype, axes = dtype.subdtype
        row += axes
    if dtype.names is None:
        check_size(dtype)
    return to_descr(dtype), row


def kept_dtype(dtype, descr):
    """Return the rows' dtype in a new file if another package defines it, so no `descr` says it."""
    dtype = np.dtype(dtype)
    return dtype if is_foreign(dtype) else from_descr(descr)


# Objects in which NumPy finds dates.
_DATES = (str, bytes, datetime.date, datetime.timedelta, np.datetime64, np.timedelta64, type(None))


def as_elements(values, dtype, casting):
    """Return values as an array of a dtype, cast as `casting` allows.

    Lists of integers have no dtype of their own, so integers out of range raise
    `OverflowError`. Tuples are elements of structs. Text that is too long or ends in NUL,
    dates more precise than their unit, and masked elements raise `ValueError`.
    """
    _core.check_casting(casting)
    if _is_masked(values):
        raise ValueError("masked elements cannot be appended: append their data and mask")
    if dtype.names is not None and not hasattr(values, "dtype"):
        return _as_structs(values, dtype, casting)
    found = np.asarray(values)
    if is_foreign(found.dtype) and dtype.kind == "V" and dtype.itemsize == found.itemsize:
        # Files have the elements of other packages as bytes.
        return found.view(dtype)
    if found.size == 0:
        return found.astype(dtype)
    if dtype.kind in "SU":
        check_text(values, found)
    if isinstance(values, (list, tuple, int)) and dtype.kind in "iu" and found.dtype.kind in "iufO":
        if found.dtype.kind in "fO":
            # NumPy makes floats, or objects, of large integers.
            found = np.asarray(values, object)
            if not all(map(_is_integer, found.flat)):
                return _cast(np.asarray(values), dtype, casting)
        integers = np.asarray(values, dtype)
        # NumPy refuses Python's integers, but wraps its own.
        if not np.array_equal(integers, found):
            raise OverflowError(f"integers out of bounds for {dtype}")
        return integers
    if isinstance(values, (list, tuple, int)) and dtype.kind in "fc" and found.dtype.kind in "iuO":
        # NumPy has no dtype for integers of more than 64 bits.
        if found.dtype.kind != "O" or all(map(_is_integer, found.flat)):
            with np.errstate(over="ignore"):
                cast = found.astype(dtype)
            if np.isinf(cast).any():
                raise OverflowError(f"integers out of bounds for {dtype}")
            return cast
    if found.dtype.kind == "O" and dtype.kind in "mM" and all(map(_is_date, found.flat)):
        # NumPy keeps dates as objects, which it casts only unsafely.
        casting = "unsafe"
    return _cast(found, dtype, casting)


def _is_date(value):
    # Subclasses may be more precise, and NumPy moves dates with a zone to UTC.
    kinds = datetime.date, datetime.datetime, datetime.timedelta
    return type(value) in kinds and getattr(value, "tzinfo", None) is None


def _is_integer(value):
    return isinstance(value, (int, np.integer, np.bool_)) and not isinstance(value, np.timedelta64)


def _is_masked(values, depth=0, seen=frozenset()):
    """Return whether an element of an array, or of arrays in nested lists, is masked."""
    if not isinstance(values, (list, tuple)):
        return isinstance(values, np.ma.MaskedArray) and _has_mask(values)
    # Most lists have only numbers. Those of more levels than an array has axes, or that are in
    # themselves, are refused later.
    nested = list, tuple, np.ma.MaskedArray
    if depth == 64 or id(values) in seen:
        return False
    if not any(issubclass(kind, nested) for kind in set(map(type, values))):
        return False
    seen |= {id(values)}
    return any(_is_masked(value, depth + 1, seen) for value in values)


def _has_mask(array):
    """Return whether an element of a masked array, or a field of one, is masked."""
    mask = np.ma.getmask(array)
    if mask is np.ma.nomask or mask.size == 0 or mask.dtype.itemsize == 0:
        return False
    # A mask of structs has only booleans.
    return bool(np.ascontiguousarray(mask).reshape(-1).view(bool).any())


def _cast(found, dtype, casting):
    try:
        with casting_advice():
            cast = to_dtype(found, dtype, casting)
    except OverflowError as error:
        if dtype.kind not in "mM":
            raise
        # NumPy 2.5 checks the range of dates itself.
        raise ValueError(f"elements of {found.dtype} that do not fit {dtype}") from error
    if cast is not found:
        _check_cast(found, cast)
    return cast


def to_dtype(found, dtype, casting):
    """Cast elements like `astype`, except that padding is zero."""
    if dtype.names is None or found.dtype == dtype:
        return found.astype(dtype, casting=casting, copy=False)
    cast = np.zeros(found.shape, dtype)
    np.copyto(cast, found, casting=casting)
    return cast


def _check_cast(found, cast):
    """Raise if NumPy cut text, or rounded dates."""
    if cast.dtype.names is not None and found.dtype.names is not None:
        # Fields are cast by position.
        for name, own in zip(found.dtype.names, cast.dtype.names):
            _check_cast(found[name], cast[own])
    elif cast.dtype.kind in "SU":
        # Numbers and the like are cut, too: the kind alone has room for them.
        text = found if found.dtype.kind in "SUT" else found.astype(cast.dtype.kind)
        if not np.array_equal(cast.astype(text.dtype), text):
            raise ValueError(f"text that is too long for {cast.dtype}")
    elif cast.dtype.kind in "mM" and found.dtype.kind in cast.dtype.kind + "SUTO":
        if found.dtype.kind == "O" and not all(isinstance(value, _DATES) for value in found.flat):
            return
        # NumPy finds the unit that text and objects need.
        dates = found.astype(object) if found.dtype.kind == "T" else found
        dates = dates if dates.dtype.kind in "mM" else dates.astype(cast.dtype.kind)
        if not np.array_equal(cast.astype(dates.dtype), dates, equal_nan=True):
            raise ValueError(f"elements of {dates.dtype} that do not fit {cast.dtype}")


def _as_structs(values, dtype, casting):
    """Return tuples, in lists of any depth, as structs, with fields cast as `casting` allows.

    NumPy casts them whatever is lost, and makes a struct of a number.
    """
    shape, leaves, outer = [], [values], set()
    while leaves and all(isinstance(leaf, list) for leaf in leaves):
        # A list that contains itself is at two depths.
        if not outer.isdisjoint(map(id, leaves)):
            raise ValueError("a list at two depths, expected lists of equal depth")
        outer.update(map(id, leaves))
        lengths = {len(leaf) for leaf in leaves}
        if len(lengths) > 1:
            raise ValueError(f"lists of {sorted(lengths)} elements, expected equal lengths")
        shape += lengths
        leaves = [item for leaf in leaves for item in leaf]
    if not all(isinstance(leaf, tuple) for leaf in leaves):
        found = np.asarray(values)
        if found.dtype.names is None:
            raise TypeError(f"elements that are not all tuples, expected tuples for {dtype}")
        return _cast(found, dtype, casting)
    for leaf in leaves:
        if len(leaf) != len(dtype.names):
            raise ValueError(f"a tuple of {len(leaf)} elements, expected {len(dtype.names)}")
    structs = np.zeros(len(leaves), dtype)
    for number, name in enumerate(dtype.names if leaves else ()):
        base, axes = dtype[name].subdtype or (dtype[name], ())
        field = [_as_lists(leaf[number], len(axes)) for leaf in leaves]
        elements = as_elements(field, base, casting)
        if elements.shape != (len(leaves), *axes):
            raise ValueError(f"field {name!r} of shape {elements.shape[1:]}, expected {axes}")
        structs[name] = elements
    return structs.reshape(shape)


def _as_lists(value, depth):
    """Return the elements of a subarray, which may contain tuples, in lists."""
    if depth == 0 or not isinstance(value, (list, tuple)):
        return value
    return [_as_lists(item, depth - 1) for item in value]


def first_rows(rows, dtype, casting):
    """Return rows as an array of the dtype that a new file gets: `dtype`, or their own."""
    if dtype is None:
        dtype = np.asarray(rows).dtype
    return as_elements(rows, np.dtype(dtype), casting)


def check_like(found, dtype, row, order):
    """Raise unless a file has the requested dtype, row shape and order."""
    own_dtype, own_row, own_order = found
    if dtype is not None:
        descr, shape = row_descr(dtype, row or ())
        row = row if row is None else shape
        if from_descr(descr) != own_dtype and np.dtype(dtype) != own_dtype:
            raise TypeError(f"the file has elements of {own_dtype}, asked for rows of {np.dtype(dtype)}")
    if row is not None and row != own_row:
        raise ValueError(f"the file has rows of shape {own_row}, asked for {row}")
    if order is not None and own_row and is_fortran(order) != own_order:
        own = "F" if own_order else "C"
        raise ValueError(f"the file has rows in order {own!r}, asked for {order!r}")


def check_directories(paths):
    """Raise again, in the handler of an error, unless the directories of new files exist."""
    if not all(os.path.isdir(os.path.dirname(os.path.abspath(path))) for path in paths):
        raise


@contextlib.contextmanager
def advice_on_existing():
    """Name the option for a file that may exist or not."""
    try:
        yield
    except (FileExistsError, FileNotFoundError) as error:
        error.add_note("exist_ok=True opens the file if it exists, and creates it otherwise.")
        raise


NO_ROWS = "nothing was appended yet: the first rows decide the dtype and the shape"


class Growing:
    """Files that may get their dtype from the first rows.

    Subclasses have `_start(dtype, row)`, which sets `_core` and `_dtype`, and
    `_start_with(rows, casting)`.
    """

    def _begin(self, paths, dtype, row, exist_ok):
        """Open the files, or create them, unless the first rows are needed for that."""
        self._core, self._starting = None, None
        with contextlib.nullcontext() if exist_ok else advice_on_existing():
            if not exist_ok or dtype is not None and row is not None:
                self._start(dtype, row)
                return
            try:
                self._start(None, None)
            except FileNotFoundError:
                check_directories(paths)
                self._starting = threading.Lock()

    def _opened(self):
        """Return what is open, which may need its first rows."""
        if self._core is None:
            raise ValueError(NO_ROWS if self._starting is not None else "the appender is closed")
        return self._core

    def _opened_for(self, rows, casting):
        """Return what is open, for its first rows if it needs them."""
        starting = self._starting
        if self._core is None and starting is not None:
            with starting:
                if self._core is None:
                    self._start_with(rows, casting)
        return self._opened()

    @property
    def dtype(self):
        """The dtype of the elements."""
        self._opened()
        return self._dtype

    def flush(self):
        """Write all rows, so that readers see them."""
        if self._core is not None or self._starting is None:
            self._opened().flush()

    def sync(self):
        """Write all rows, and wait until they are on the disk."""
        if self._core is not None or self._starting is None:
            self._opened().sync()

    def close(self):
        """Write all rows, and close what is open."""
        self._starting = None
        if self._core is not None:
            self._core.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class Appender(Growing):
    """Appends rows to a `.npy` file, for example in a logger.

    Existing readers and arrays stay valid. Without `dtype`, this opens an existing file.
    Otherwise it creates a new file. `row` is the shape of one row: all axes except the
    growing axis, which is the first, or the last if `order` is "F".

        >>> with npymap.Appender("log.npy", dtype="f4", row=3, overwrite=True) as log:
        ...     log.append([1, 2, 3])
        ...     log.append(np.zeros((2, 3), "f4"))
        >>> npymap.open("log.npy").shape
        (3, 3)

    With `exist_ok=True`, this opens the file if it exists, and creates it otherwise. If you
    don't pass `dtype` and `row`, the first rows you append determine them, and must be an array
    with the growing axis. Several processes can do this at once. One will create the file, and
    with `wait=True` each waits for its turn.

        >>> with npymap.Appender("runs.npy", exist_ok=True, wait=True) as runs:
        ...     runs.append(np.array([[0.5, 2.5]]))
        >>> npymap.open("runs.npy").shape
        (1, 2)

    Without `dtype` and `exist_ok`, `row`, `order` and `overwrite` raise `ValueError`. Rows are
    collected in a buffer of `buffer` bytes, and readers see them after `flush()` or `close()`.
    The file is locked until then, so another appender raises `BlockingIOError`, or waits with
    `wait=True`. If you kill a writer, it leaves a complete file, and maybe bytes after its
    elements. `npymap.recover` turns these into rows, and drops an incomplete row. Such a file is
    not overwritten, unless `discard_trailing=True`.
    """

    def __init__(self, path, *, dtype=None, row=None, order=None, overwrite=False, buffer=65536,
                 wait=False, discard_trailing=False, exist_ok=False):
        self._is_fortran = is_fortran("C" if order is None else order)
        row = row if row is None else to_shape(row)
        if exist_ok and overwrite:
            raise ValueError("both exist_ok and overwrite, expected one of them")
        if not exist_ok and dtype is None and (overwrite or self._is_fortran or row):
            raise ValueError("row, order and overwrite are for a new file, which needs a dtype")
        self._path, self._asked = to_path(path), (dtype, row, order)
        self._options = buffer, wait, overwrite, discard_trailing, exist_ok
        self._begin([self._path], dtype, row, exist_ok)

    def _start(self, dtype, row):
        """Open the file, or create it with a dtype."""
        buffer, wait, overwrite, discard_trailing, exist_ok = self._options
        new = None
        if dtype is not None:
            new = (*row_descr(dtype, row or ()), self._is_fortran, overwrite, discard_trailing,
                   exist_ok)
        core = _core.Appender(self._path, buffer, wait, new)
        shape, descr, is_fortran_order = core.facts
        own = shape[:-1] if is_fortran_order else shape[1:]
        # What other packages call a dtype, the file has as bytes.
        is_own = new is not None and from_descr(new[0]) == from_descr(descr)
        self._dtype = kept_dtype(dtype, descr) if is_own else from_descr(descr)
        if exist_ok:
            try:
                check_like((self._dtype, own, is_fortran_order), *self._asked)
            except BaseException:
                core.close()
                raise
        self._row, self._is_fortran, self._core = own, is_fortran_order, core

    def _start_with(self, rows, casting):
        """Create the file, or open it if another process was faster."""
        dtype, row, _ = self._asked
        rows = first_rows(rows, dtype, casting)
        if rows.ndim == 0:
            raise ValueError("a single element, expected rows: the first ones say what a row is")
        own = rows.shape[:-1] if self._is_fortran else rows.shape[1:]
        if row is not None and own != row:
            raise ValueError(f"rows of shape {rows.shape}, expected rows of {row}")
        self._start(rows.dtype if dtype is None else dtype, own)

    @property
    def shape(self):
        """The shape, including unwritten rows."""
        return self._opened().facts[0]

    def __len__(self):
        """The number of rows, including unwritten rows."""
        if self._core is None and self._starting is not None:
            return 0
        return self.shape[-1 if self._is_fortran else 0]

    def __repr__(self):
        if self._core is None:
            return f"<npymap.Appender {self._path!r}: no rows yet>"
        return f"<npymap.Appender {self._path!r}: shape {self.shape}, dtype {self._dtype}>"

    def append(self, rows, *, casting="same_kind"):
        """Append rows, or a single row without the growing axis.

        This appends all rows or none. Elements are cast to the file's dtype as `casting`
        allows. Text that is too long for it or ends in NUL, dates more
        precise than its unit, and masked elements raise `ValueError`.
        """
        if self._core is None and self._starting is not None:
            if not hasattr(rows, "dtype") and np.size(rows) == 0:
                # An empty list has neither.
                return
        core = self._opened_for(rows, casting)
        if core.append_array(rows, casting, self._dtype):
            return
        rows = as_elements(rows, self._dtype, casting)
        if rows.ndim == len(self._row):
            rows = rows[..., np.newaxis] if self._is_fortran else rows[np.newaxis]
        own = rows.shape[:-1] if self._is_fortran else rows.shape[1:]
        if rows.ndim != len(self._row) + 1 or own != self._row:
            expected = (*self._row, "*") if self._is_fortran else ("*", *self._row)
            raise ValueError(f"rows of shape {rows.shape}, expected {expected}")
        rows = rows.T if self._is_fortran else rows
        core.append(len(rows), as_bytes(contiguous(rows)))

    def resize(self, rows):
        """Change the number of rows along the growing axis. New rows are zeros.

        To remove rows, this replaces the file by a shorter copy.
        """
        self._opened().resize(rows)
