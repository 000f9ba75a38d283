"""The last `base` of each array in a file, which keeps its map."""

import mmap

import numpy as np

from . import _core


class Map(_core.MapBase):
    """Keeps a file mapped. `isinstance` takes it for a `mmap.mmap`, so that programs recognize
    arrays in files.

    Its buffer contains the mapped bytes. They stay mapped until no array refers to them, and
    `close` only writes changes to the disk.
    """

    __slots__ = ()

    @property
    def __class__(self):
        # An instance would first map memory of its own, which takes as long as opening a file.
        return mmap.mmap

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
        """The number of mapped bytes."""
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
    """Return the last array among an array's bases, and its mapping or None."""
    base = array.base
    while isinstance(base, np.ndarray):
        array, base = base, base.base
    return (array, base.mapping) if isinstance(base, Map) else (None, None)
