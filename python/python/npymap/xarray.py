"""Opens `.npy` and `.npz` files in xarray with `engine="npymap"`.

    >>> import xarray
    >>> data = xarray.open_dataset("a.npy", engine="npymap")
    >>> data["a"].sizes
    Frozen({'dim_0': 3, 'dim_1': 4})
    >>> float(data["a"][1, 2])
    6.0

A variable has the file's or the member's name. This reads only headers, and the elements
you select when you use them. With `chunks={"dim_0": 1000}` xarray makes Dask arrays. Chunks
along the first axis are contiguous in the file.

Needs `pip install npymap[xarray]`.
"""

import os

import numpy as np
from xarray import Dataset, Variable
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from . import _core
from ._open import MAX_HEADER_SIZE
from ._parts import open_part
from ._paths import is_url, to_location, to_source

__all__ = ["NpymapBackendEntrypoint"]


class NpymapBackendEntrypoint(BackendEntrypoint):
    """Opens `.npy` and `.npz` files as xarray's engine "npymap".

    Axis `i` is called `dim_i`, like xarray's default. If the arrays in an archive have
    different lengths along it, each has its own name `NAME_dim_i`. With `dims` you choose the
    names, by a list for a `.npy`, and by a mapping from variables to lists for a `.npz`.

    With `mode="r"`, elements are mapped, so that they take no memory of their own, and
    cannot be written. Compressed members are read whole when you use them. `headers` and
    `storage_options` are for URLs, like in `npymap.ArrayFile`.
    """

    description = "Open .npy and .npz files by npymap"
    url = "https://github.com/npymap/npymap"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "dims", "mode", "headers",
                               "storage_options")

    def open_dataset(self, filename_or_obj, *, drop_variables=None, dims=None, mode=None,
                     headers=None, storage_options=None):
        """Open a file as a dataset, for `xarray.open_dataset`."""
        path = to_source(filename_or_obj)
        dropped = [drop_variables] if isinstance(drop_variables, str) else drop_variables or ()
        name = path.partition("?")[0] if is_url(path) else path
        stem, extension = os.path.splitext(os.path.basename(name))
        if extension.lower() == ".npz":
            location = to_location(path, headers, storage_options)
            full_names = _core.Npz(location, None, MAX_HEADER_SIZE, None).full_names()
            members = {name.removesuffix(".npy"): name for name in full_names
                       if name.endswith(".npy")}
        else:
            members = {stem: None}
            dims = {} if dims is None else {stem: dims}
        parts = {name: open_part(path, member, mode, headers, storage_options)
                 for name, member in members.items() if name not in dropped}
        names = _dims_of(parts, dims or {})
        return Dataset({name: _to_variable(part, names[name]) for name, part in parts.items()})

    def guess_can_open(self, filename_or_obj):
        """Return whether the extension is `.npy` or `.npz`."""
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        return os.path.splitext(filename_or_obj)[1].lower() in (".npy", ".npz")


def _dims_of(parts, chosen):
    """Return the names of the axes of each variable."""
    if not hasattr(chosen, "get"):
        raise ValueError(f"dims {chosen!r}, expected the names of the axes of each variable, "
                         "such as {'data': ['x', 'y']}")
    lengths = {}
    for part in parts.values():
        for axis, length in enumerate(part.shape):
            lengths.setdefault(axis, set()).add(length)
    names = {}
    for name, part in parts.items():
        own = chosen.get(name)
        if own is not None and (isinstance(own, str) or len(own) != part.ndim):
            raise ValueError(f"the variable {name!r} has {part.ndim} axes, but dims are {own!r}")
        names[name] = own or [f"dim_{axis}" if len(lengths[axis]) == 1 else f"{name}_dim_{axis}"
                              for axis in range(part.ndim)]
    return names


def _to_variable(part, dims):
    return Variable(dims, indexing.LazilyIndexedArray(_LazyArray(part)))


class _LazyArray(BackendArray):
    """The elements of a file, for xarray's indexing."""

    def __init__(self, part):
        self.part, self.shape, self.dtype = part, part.shape, part.dtype

    def __getitem__(self, key):
        support = indexing.IndexingSupport.OUTER_1VECTOR
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._select)

    def _select(self, index):
        # Each index is for its own axis, but NumPy joins integers with a list.
        numbers = [isinstance(part, (int, np.integer)) for part in index]
        spans = [slice(part, part + 1) if is_number else part
                 for part, is_number in zip(_from_start(index, self.shape), numbers)]
        # With `...`, a single element stays an array, of the dtype of the file.
        found = np.asarray(self.part[(*spans, ...)])
        return found[(*(0 if is_number else slice(None) for is_number in numbers), ...)]


def _from_start(index, shape):
    """Return an index without negative integers."""
    return [part + length if isinstance(part, (int, np.integer)) and part < 0 else part
            for part, length in zip(index, shape)]
