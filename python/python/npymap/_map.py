"""The last `base` of each array in a file, which keeps its map."""

import numpy as np

from ._core import Map


def map_of(array):
    """Return the last array among an array's bases, and its mapping or None."""
    base = array.base
    while type(base) is not Map:
        if not isinstance(base, np.ndarray):
            return None, None
        array, base = base, base.base
    return array, base.mapping
