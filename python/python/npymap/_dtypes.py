"""NumPy's dtypes as the text of a header's `descr`, and back."""

import ast
import functools
import pickle

import numpy as np


def from_descr(text):
    """Return the dtype of the text of a `descr`."""
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
    if dtype.names is None and dtype.metadata is None and dtype.subdtype is None:
        return f"'{dtype.str}'"
    return repr(np.lib.format.dtype_to_descr(dtype))


def to_cast(dtype, casting):
    """Return what the library needs to know of a cast."""
    if dtype.hasobject or dtype.subdtype is not None:
        raise TypeError(f"elements cannot be cast to {dtype}: expected no objects and no subarray")
    return to_descr(dtype), casting


def is_pickled(dtype):
    """Return whether `.npy` files hold elements of the dtype as a pickle."""
    return dtype.hasobject or not getattr(type(dtype), "_legacy", True)
