"""NumPy's dtypes as the text of a header's `descr`, and back."""

import ast
import functools
import pickle
from contextlib import contextmanager

import numpy as np


def from_descr(text):
    """Return the dtype that a `descr` says."""
    dtype, pickled = _parse(text)
    # The names of fields can be set, which must not change the dtype of other arrays.
    return dtype if pickled is None else pickle.loads(pickled)


@functools.lru_cache(maxsize=512)
def _parse(text):
    dtype = np.lib.format.descr_to_dtype(ast.literal_eval(text))
    is_immutable = dtype.names is None and dtype.subdtype is None
    return dtype, None if is_immutable else pickle.dumps(dtype)


def to_descr(dtype):
    """Return the text of the `descr` of a dtype without Python objects."""
    if is_foreign(dtype) and dtype.kind != "V":
        # NumPy would write a name that it cannot read, such as `<f1`.
        return f"'|V{dtype.itemsize}'"
    if dtype.names is None and dtype.metadata is None and dtype.subdtype is None:
        return f"'{dtype.str}'"
    return repr(np.lib.format.dtype_to_descr(dtype))


def to_raw_descr(dtype):
    """Return the `descr` for elements of any dtype in a file without a header.

    Overlapping fields, which no header describes, and dtypes of other packages are bytes to
    the library.
    """
    if dtype.names is None and not is_foreign(dtype):
        return f"'{dtype.str}'"
    try:
        if dtype.names is not None:
            # Without a warning that metadata is lost: the array has the dtype itself.
            return repr(dtype.descr)
    except ValueError:
        pass
    return f"'|V{dtype.itemsize}'"


def is_foreign(dtype):
    """Return whether a package other than NumPy defines a dtype."""
    return dtype.isbuiltin == 2


def to_cast(dtype, casting, source=None):
    """Return what the library needs to know of a cast, from the dtype `source` if it is known."""
    if dtype.hasobject or dtype.subdtype is not None:
        raise TypeError(f"elements cannot be cast to {dtype}: expected no objects and no subarray")
    if source is not None and source.itemsize:
        check_size(dtype)
    return to_descr(dtype), casting


@contextmanager
def casting_advice():
    """Name the argument that allows a cast which NumPy refuses."""
    try:
        yield
    except TypeError as error:
        if "according to the rule" not in str(error):
            raise
        text = (f'{error}. Use casting="unsafe" if the elements may lose what the other dtype has no '
                "room for")
        raise TypeError(text) from None


def check_size(dtype):
    """Raise if elements of a dtype have no bytes, like `str`, and so can't keep anything."""
    if dtype.itemsize == 0:
        example = f", such as {dtype.char + '8'!r}" if dtype.char in "SUV" else ""
        raise TypeError(f"the dtype {dtype.str!r} has no size, expected one with a size{example}")


def as_array(values):
    """Return values as an array: `numpy.asanyarray`, but text must not lose NULs at its end."""
    array = np.asanyarray(values)
    # Objects are pickled, which keeps NULs.
    if array.dtype.kind != "O":
        check_text(values, array)
    return array


def check_text(values, array):
    """Raise `ValueError` if text ends in NUL, because NumPy drops it in arrays.

    Text that was in an array before has no such NULs, which are its padding.
    """
    if array.dtype.kind == "O":
        texts = array.flat
    elif array.dtype.kind in "SU" and isinstance(values, (list, tuple, str, bytes)):
        texts = np.asarray(values, object).flat
    else:
        return
    for text in texts:
        if isinstance(text, (str, bytes)) and text.endswith("\0" if isinstance(text, str) else b"\0"):
            raise ValueError(f"{text!r} ends in NUL: NULs at the end of text are padding, which NumPy removes")


def is_pickled(dtype):
    """Return whether `.npy` files hold elements of the dtype as a pickle."""
    return dtype.hasobject or not getattr(type(dtype), "_legacy", True)
