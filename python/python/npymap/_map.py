"""The objects at the end of the bases of arrays of files."""

import numpy as np

from . import _core


class Map(_core.mmap_class()):  # type: ignore[misc]
    """What keeps a file mapped: a `mmap.mmap`, by which programs recognise arrays of files.

    Its buffer is the bytes that are mapped. They stay so until no array refers to them:
    `close` only writes changes to the disk.
    """

    __slots__ = ("mapping",)

    def __new__(cls, mapping):
        self = super().__new__(cls, -1, 1)
        # It needs no memory of its own.
        super(Map, self).close()
        self.mapping = mapping
        return self

    @property
    def closed(self):
        """Whether the memory cannot be used: never."""
        return False

    def close(self):
        """Write changes to the disk."""
        self.mapping.flush()

    def flush(self, *_):
        """Write changes to the disk, all of them."""
        self.mapping.flush()

    def size(self):
        """The number of bytes that are mapped."""
        return memoryview(self).nbytes

    def __len__(self):
        return self.size()

    def __getitem__(self, index):
        found = memoryview(self)[index]
        return found if isinstance(found, int) else bytes(found)

    def __setitem__(self, index, value):
        memoryview(self)[index] = value

    def __repr__(self):
        path = self.mapping.path
        path = None if path is None else _core.shown(path)
        return f"<npymap.Map of {path!r}: {self.size()} bytes>"


def map_of(array):
    """Return the array at the end of the bases of an array, and its mapping: None if it has none."""
    base = array.base
    while isinstance(base, np.ndarray):
        array, base = base, base.base
    return (array, base.mapping) if isinstance(base, Map) else (None, None)
