"""Descriptions, in a few bytes, of arrays that tasks in other processes read in parts."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from . import _core
from ._archives import Npz
from ._arrayfile import ArrayFile, file_facts
from ._dtypes import from_descr
from ._errors import FormatError
from ._memmap import owner
from ._open import MAX_HEADER_SIZE
from ._paths import is_url, to_absolute, to_location, to_source
from ._select import expand, is_basic
from ._unmapped import is_readable

_REQUESTS = 32


def open_part(path, member, mode, headers=None, storage_options=None):
    """Describe an array in a file. In mode "r", tasks map parts of it."""
    if mode not in (None, "r"):
        raise ValueError(f"mode {mode!r}, expected None or 'r'")
    try:
        return Part(ArrayFile(path, member=member, headers=headers,
                              storage_options=storage_options), mode)
    except FormatError as error:
        location = to_location(to_absolute(path), headers, storage_options)
        if member is None or error.kind != "Unsupported" or not _is_compressed(location, member):
            raise
    return Inflated(path, str(member), headers, storage_options)


def _is_compressed(location, member):
    try:
        return _core.ReadFile.member(location, str(member)) is None
    except FormatError:
        return False


def open_all(paths, member, mode, headers=None, storage_options=None):
    """Describe arrays in files. URLs, which take a request each, are described concurrently."""
    def open_one(path):
        return open_part(path, member, mode, headers, storage_options)

    if not any(is_url(to_source(path)) for path in paths):
        return list(map(open_one, paths))
    with ThreadPoolExecutor(_REQUESTS) as pool:
        return list(pool.map(open_one, paths))


class Part:
    """An array in a file. In mode "r", each index maps the elements that it selects.

    They are in memory when it returns, so it raises if the file is too short. They stay
    there only while you use the result, so a worker that processes parts in turn maps only one
    part at once.
    """

    def __init__(self, file, mode):
        self.file, self.mode = file, None if is_url(file.path) else mode
        self.shape, self.dtype, self.ndim = file.shape, file.dtype, file.ndim

    @property
    def path(self):
        """The absolute path, or the URL."""
        return self.file.path

    def __getitem__(self, index):
        if self.mode is None or not is_basic(expand(index, self.ndim)):
            return self.file[index]
        try:
            part = self.file.map(index)
        except OSError as error:
            if not is_readable(error):
                raise
            return self.file[index]
        mapping = owner(part)
        if 2 * part.nbytes < mapping.facts[0][0]:
            # The elements are few, so the pages in between are not kept.
            mapping.check_unchanged()
            return np.array(part)
        mapping.populate()
        return part

    def contiguous_chunks(self, limit):
        """Return the length of chunks along each axis, with adjacent elements in the file.

        They have up to `limit` bytes.
        """
        chunks = [1] * self.ndim
        nbytes = self.dtype.itemsize
        axes = range(self.ndim)
        for axis in axes if self.file.fortran_order else reversed(axes):
            chunks[axis] = min(self.shape[axis], max(limit // max(nbytes, 1), 1))
            nbytes *= self.shape[axis]
            if nbytes > limit:
                break
        return tuple(max(length, 1) for length in chunks)

    def __dask_tokenize__(self):
        return self.file.__dask_tokenize__()

    def __reduce__(self):
        return Part, (self.file, self.mode)


class Inflated:
    """A compressed member of an archive, which each index reads whole."""

    def __init__(self, path, member, headers=None, storage_options=None):
        self.path, self.member = to_absolute(path), member
        self._access = {"headers": headers, "storage_options": storage_options}
        self._location = to_location(self.path, **self._access)
        shape, descr, _ = _core.Npz(self._location, None, MAX_HEADER_SIZE, None).header(member)
        self.shape, self.dtype, self.ndim = shape, from_descr(descr), len(shape)

    def __getitem__(self, index):
        with Npz(self.path, None, **self._access) as archive:
            return archive[self.member][index]

    def contiguous_chunks(self, limit):
        """Return the length of the only chunk along each axis."""
        return (-1,) * self.ndim

    def __dask_tokenize__(self):
        version = _core.read_version(self._location) or file_facts(self.path)
        return "npymap.Inflated", self.path, self.member, version
