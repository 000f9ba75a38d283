"""NumPy's dtypes as the text of a header's `descr`, and back."""

import ast
import functools

import numpy as np


@functools.lru_cache(maxsize=512)
def from_descr(text):
    """Return the dtype of the text of a `descr`."""
    return np.lib.format.descr_to_dtype(ast.literal_eval(text))


def to_descr(dtype):
    """Return the text of the `descr` of a dtype without Python objects."""
    if dtype.names is None and dtype.metadata is None and dtype.subdtype is None:
        return f"'{dtype.str}'"
    return repr(np.lib.format.dtype_to_descr(dtype))


def is_pickled(dtype):
    """Return whether `.npy` files hold elements of the dtype as a pickle."""
    return dtype.hasobject or not getattr(type(dtype), "_legacy", True)
