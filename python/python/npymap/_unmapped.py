"""Files that cannot be mapped: what is read instead, and what the caller can do."""

import errno
import warnings

import numpy as np

from . import _core
from ._rows import output_of, whole_bytes

# The text of native errors.
_FACT = "the file can't be mapped here"


def is_unmapped(error):
    """Return whether an `OSError` says that a file cannot be mapped."""
    return _FACT in (error.strerror or "")


def is_readable(error):
    """Return whether a file that cannot be mapped can be read instead.

    If there is no room for a map, there is none for a copy.
    """
    return is_unmapped(error) and error.errno != errno.ENOMEM


def advised(error, advice):
    """Return an error with advice, unless it is about something else."""
    if not is_unmapped(error):
        return error
    return OSError(error.errno, f"{error.strerror}: {advice}", error.filename)


def open_unmapped(error, path, mode, **place):
    """Read a `.npy` file or a member that cannot be mapped, with a warning.

    Raises the error, with advice, where a copy would not do.
    """
    from ._arrayfile import ArrayFile

    if not is_unmapped(error):
        raise error
    arguments = "".join(f", {name}={value!r}" for name, value in place.items()
                        if name != "max_header_size" and value is not None and (name, value) != ("at", 0))
    text = f"npymap.ArrayFile(path{arguments})"
    if mode != "r+" and not is_readable(error):
        raise advised(error, f"{text} reads the rows that you use") from None
    file = ArrayFile(path, **place)
    if not is_readable(error):
        # What is adjacent in the file.
        index = "..., start:stop" if file.fortran_order else "start:stop"
        raise advised(error, f'{text}.map(np.s_[{index}], "r+") maps a part of it') from None
    if mode == "r+":
        raise advised(error, written_back('mode "c"', file._elements[3])) from None
    return _as_mode(file.read(), mode, file.path, f"{text} reads only what is used")


def read_unmapped(error, path, mode, elements, dtype):
    """Like `open_unmapped`, for elements of a file without a header."""
    if not is_unmapped(error):
        raise error
    offset = elements[3]
    if not is_readable(error):
        more = ', and mode "r+" with offset= the next part, which makes the file longer' if mode == "w+" else ""
        raise advised(error, f"offset= and a smaller shape= map a part of it{more}") from None
    if mode == "w+":
        raise advised(error, f"{_written(offset, 'wb')} writes an array a") from None
    if mode == "r+":
        raise advised(error, written_back('mode "c"', offset)) from None
    file = _core.ReadFile.elements(path, elements)
    shape, _, is_fortran, _ = file.facts
    array = output_of((shape, dtype, is_fortran), None)
    file.read_into([(0, length) for length in shape], whole_bytes(array))
    return _as_mode(array, mode, path, "offset= and shape= read a part of them")


def written_back(opened, offset):
    """Return how to change a file without a map."""
    return f'{opened} reads a copy a, and {_written(offset, "r+b")} writes it back'


def _written(offset, mode):
    """Return a statement that writes an array to a file, in the order of its memory."""
    return f'with open(path, "{mode}") as file: file.seek({offset}); file.write(a.tobytes("A"))'


def _as_mode(array, mode, name, advice):
    array.flags.writeable = mode == "c"
    text = f"{_core.shown(name)}: cannot be mapped here, so all elements were read. {advice}"
    warnings.warn(text, UserWarning, stacklevel=4)
    return array
