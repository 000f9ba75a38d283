"""Descriptions of arrays in files: what other processes open them by."""

import os
import platform
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._dtypes import is_pickled
from ._errors import FormatError
from ._map import Map, map_of


class Version(NamedTuple):
    """What differs for another file, and for one that was changed."""

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
    """Raise if a file is another one than at the time of its description, or was changed since."""
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
    """Where the elements of an array are in a file: see `describe`."""

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
        """Open the array: a `memmap`.

        If the file was replaced, shortened or modified since it was described, this raises a
        `FormatError` of the kind "Changed". With `changed="ok"`, it opens the file as it is
        now, and raises only if that has too few bytes.
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

        mapping = _core.map_elements(self.path, self.mode, self.offset, self.nbytes)
        array = np.ndarray.__new__(memmap, self.shape, self.dtype, Map(mapping), self.first, self.strides)
        if not self.is_writable:
            array.flags.writeable = False
        return array


def describe(array):
    """Describe an array of a file, or any view of one, in a few bytes.

    The description can be pickled, compared and hashed, and its method `open` opens the array,
    also in another process. It has the identity, the size and the time of the last change of
    the file, and opening it raises if one of them is different. What was stored in a writable
    array is written to the disk first, so that later stores change the time.

    Pickles of the array itself hold its elements. `multiprocessing`, loky, joblib, Dask and Ray
    send descriptions by themselves; these may be opened after the file was modified, because
    workers may write to it.

        >>> description = npymap.describe(npymap.open("a.npy")[1:])
        >>> description.open()[0]
        memmap([4., 5., 6., 7.])

    Raises `ValueError` for arrays whose elements are not in a file that a path leads to.
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

    Its place in the file, whose elements may be changed meanwhile; or the elements if only a
    copy of them is faithful.
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
    """Return the addresses of the first byte of an array and after its last one."""
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    for length, stride in zip(array.shape, array.strides):
        if stride < 0:
            low += (length - 1) * stride
        else:
            high += (length - 1) * stride
    return low, high + array.itemsize
