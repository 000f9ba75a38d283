"""Directories of files stacked along the first axis, as Dask writes them."""

import errno
import io
import os
import pickle
import uuid

from ._paths import to_absolute, to_path


def new_stack(directory):
    """Return the paths of a new directory, and of its incomplete directory."""
    directory = to_absolute(to_path(directory))
    # The directory beside it has its name and an ending.
    directory = directory.rstrip(os.sep) or directory
    if os.path.exists(directory):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), directory)
    return directory, partial_name(directory)


def partial_name(path):
    """Return the name of a file or directory that is incomplete."""
    return f"{path}.{uuid.uuid4().hex}.partial"


def finish_stack(partial, directory, lengths, shape, dtype):
    """Describe the files of a directory, and give it its name."""
    chunks = tuple(lengths), *((length,) for length in shape)
    with io.open(os.path.join(partial, "info"), "wb") as file:
        pickle.dump({"chunks": chunks, "dtype": dtype, "axis": 0}, file)
    os.rename(partial, directory)
