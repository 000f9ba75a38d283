"""Descriptions of arrays in files, which other processes open."""

import os
import platform
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._dtypes import is_pickled
from ._errors import FormatError
from ._map import Map, map_of


class Version(NamedTuple):
    """What differs for other or changed files."""

    host: str
    inode: int
    # The number of a file that was removed is used again.
    created: int | None
    # None if the file may be changed.
    nbytes: int | None
    modified: int | None


def version_of(path):
    """Return the version of a file."""
    stat = os.stat(path)
    return Version(platform.node(), stat.st_ino, _core.created(path), stat.st_size, stat.st_mtime_ns)


def check_version(path, version, member=None):
    """Raise if a file was replaced or changed since its description."""
    found = version_of(path)
    if found.host == version.host and found[1:3] != version[1:3]:
        what = "was replaced"
    elif version.nbytes is not None and found.nbytes != version.nbytes:
        what = f"has {found.nbytes} bytes, not {version.nbytes}: it was changed"
    elif version.modified is not None and found.modified != version.modified:
        what = "was modified"
    else:
        return
    text = f"{path}: {what} since the array was described"
    raise FormatError(text, path, member, "Changed")


class Description(NamedTuple):
    """Where the elements of an array are in a file, returned by `describe`."""

    path: str
    version: Version
    mode: str
    # The bytes of the file from the first to the last element.
    offset: int
    nbytes: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    # Where the first element is in these bytes.
    first: int
    strides: tuple[int, ...]
    is_writable: bool

    def open(self, *, changed="raise"):
        """Open the array as a `memmap`.

        If the file was replaced, shortened or modified after its description, this raises a
        `FormatError` of the kind "Changed". With `changed="ok"`, it opens the current file, and
        raises only if that has too few bytes. A read-only array whose file cannot be mapped is
        read, with a warning.
        """
        if changed not in ("raise", "ok"):
            raise ValueError(f"changed={changed!r}, expected 'raise' or 'ok'")
        # Bytes of a file must not become pointers.
        if is_pickled(self.dtype):
            raise ValueError(f"elements of {self.dtype} are not in files: expected a dtype without "
                             "Python objects")
        if changed == "raise":
            check_version(self.path, self.version)
        from ._memmap import memmap
        from ._unmapped import advised, is_readable, read_unmapped, written_back

        try:
            mapping = _core.map_elements(self.path, self.mode, self.offset, self.nbytes)
        except OSError as error:
            if not is_readable(error):
                raise advised(error, "a description of fewer rows needs less room") from None
            if self.mode != "r":
                copy = f'npymap.memmap(path, "u1", "c", {self.offset}, {self.nbytes})'
                raise advised(error, written_back(copy, self.offset)) from None
            elements = "|u1", (self.nbytes,), False, self.offset
            memory = read_unmapped(error, self.path, self.mode, elements, np.dtype(np.uint8))
            return np.ndarray(self.shape, self.dtype, memory, self.first, self.strides)
        array = np.ndarray.__new__(memmap, self.shape, self.dtype, Map(mapping), self.first, self.strides)
        if not self.is_writable:
            array.flags.writeable = False
        return array


def describe(array):
    """Describe an array of a file, or any view of one, in a few bytes.

    You can pickle, compare and hash the description, and its method `open` opens the array in
    any process. It contains the file's identity, size and modification time, and opening it
    raises if one of them is different. Stores in a writable array are written to the disk
    first, so that later stores will change the time.

    Pickles of the array itself contain its elements. However, `multiprocessing`, loky, joblib,
    Dask and Ray send descriptions. They can still open these after the file was modified,
    because workers may write to it.

        >>> description = npymap.describe(npymap.open("a.npy")[1:])
        >>> description.open()[0]
        memmap([4., 5., 6., 7.])

    Raises `ValueError` for arrays in memory, and if no path leads to the array's file.
    """
    _, mapping = map_of(array) if isinstance(array, np.ndarray) else (None, None)
    if mapping is None:
        raise ValueError("the array is in memory, not in a file")
    if mapping.mode == "c":
        raise ValueError("a copy-on-write array, whose elements may not be those of the file")
    if mapping.path is None:
        raise ValueError("the array was not opened by path")
    mapping.check_unchanged()
    mapping.flush()
    return _describe(array, mapping, version_of(mapping.path))


def _describe(array, mapping, version):
    low, high = byte_bounds(array)
    first = array.__array_interface__["data"][0] - low
    if array.size == 0:
        # The first element may be after the end of the file.
        low = high = mapping.address
    mode = "r" if mapping.mode == "r" else "r+"
    offset = mapping.offset + low - mapping.address
    return Description(mapping.path, version, mode, offset, high - low, array.shape, array.dtype, first,
                       array.strides, array.flags.writeable)


def reduce_to_place(array):
    """Return what is sent for an array to a process that uses it at once.

    This is its place in the file, where the elements may change in the meantime, or the
    elements if only a copy of them is faithful.
    """
    from ._memmap import memmap

    _, mapping = map_of(array)
    if type(array) is not memmap or mapping is None or mapping.mode == "c" or mapping.path is None:
        return array.__reduce_ex__(2)
    try:
        mapping.check_unchanged()
        version = version_of(mapping.path)._replace(nbytes=None, modified=None)
    except (OSError, ValueError) as error:
        if getattr(error, "kind", None) == "Truncated":
            # A copy would end the process.
            raise
        return array.__reduce_ex__(2)
    return Description.open, (_describe(array, mapping, version),)


def byte_bounds(array):
    """Return the addresses of an array's first byte and of the end of its last byte."""
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    for length, stride in zip(array.shape, array.strides):
        if stride < 0:
            low += (length - 1) * stride
        else:
            high += (length - 1) * stride
    return low, high + array.itemsize
