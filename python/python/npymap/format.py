"""`numpy.lib.format` with npymap's parser and maps.

`open_memmap`, `read_magic`, `read_array`, `read_array_header_1_0` and
`read_array_header_2_0` are this package's. Everything else is NumPy's.
"""

import io

import numpy as np
from numpy.lib import format as _numpy
from numpy.lib.format import (
    descr_to_dtype,
    drop_metadata,
    dtype_to_descr,
    header_data_from_array_1_0,
    isfileobj,
    magic,
    write_array,
    write_array_header_1_0,
    write_array_header_2_0,
)

from . import _core
from ._dtypes import from_descr
from ._errors import FormatError
from ._open import MAX_HEADER_SIZE, open_memmap, warn_longs

ARRAY_ALIGN = _numpy.ARRAY_ALIGN
BUFFER_SIZE = _numpy.BUFFER_SIZE
EXPECTED_KEYS = _numpy.EXPECTED_KEYS
GROWTH_AXIS_MAX_DIGITS = _numpy.GROWTH_AXIS_MAX_DIGITS
MAGIC_LEN = _numpy.MAGIC_LEN
MAGIC_PREFIX = _numpy.MAGIC_PREFIX

_read_array = _numpy.read_array


def read_magic(fp):
    """Read the magic bytes of a file, and return the version of the format."""
    start = _read(fp, MAGIC_LEN, "magic string")
    if start[:6] != MAGIC_PREFIX:
        text = f"the magic string is not correct; expected {MAGIC_PREFIX!r}, got {start[:6]!r}"
        raise FormatError(text)
    return start[6], start[7]


def read_array_header_1_0(fp, max_header_size=MAX_HEADER_SIZE):
    """Read the header of a file in version 1.0, after its magic bytes.

    Returns the shape, whether the order is Fortran's, and the dtype.
    """
    return _read_header(fp, (1, 0), max_header_size)


def read_array_header_2_0(fp, max_header_size=MAX_HEADER_SIZE):
    """Read the header of a file in version 2.0, like `read_array_header_1_0`."""
    return _read_header(fp, (2, 0), max_header_size)


def _read_header(fp, version, max_header_size):
    length = _read(fp, 2 if version == (1, 0) else 4, "array header length")
    size = int.from_bytes(length, "little")
    # A character has at most four bytes.
    if size > 4 * max_header_size:
        text = f"Header of {size} bytes is too large: the limit is {max_header_size} characters"
        raise FormatError(text, kind="LimitExceeded")
    text = _read(fp, size, "array header")
    start = MAGIC_PREFIX + bytes(version) + length + text
    shape, descr, is_fortran, _, _ = _core.parse_header(start, max_header_size)
    if version < (3, 0) and _core.has_longs(text):
        warn_longs()
    return shape, is_fortran, from_descr(descr)


def read_array(fp, allow_pickle=False, pickle_kwargs=None, *, max_header_size=MAX_HEADER_SIZE):
    """Read an array from a file object, like `numpy.lib.format.read_array`.

    NumPy reads arrays of Python objects.
    """
    if allow_pickle:
        max_header_size = (1 << 63) - 1
    start = io.BytesIO()
    try:
        version = read_magic(_Tee(fp, start))
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise FormatError(f"we only support format version (1,0), (2,0), and (3,0), not {version}")
        shape, is_fortran, dtype = _read_header(_Tee(fp, start), version, max_header_size)
    except FormatError as error:
        if error.kind != "Unsupported":
            raise
        return _read_array(_Chain(start.getvalue(), fp), allow_pickle, pickle_kwargs,
                           max_header_size=max_header_size)
    array = np.ndarray(shape, dtype, order="F" if is_fortran else "C")
    if array.nbytes > 0:
        done = _fill(fp, array.reshape(-1, order="A").view(np.uint8))
        if done < array.nbytes:
            text = (f"Failed to read all data for array. Expected {shape} = {array.size} elements, "
                    f"could only read {done // array.itemsize} elements. "
                    "(file seems not fully written?)")
            raise FormatError(text, kind="Truncated")
    return array


class _Tee:
    """A file that keeps the bytes it reads."""

    def __init__(self, file, kept):
        self._file, self._kept = file, kept

    def read(self, size):
        data = self._file.read(size)
        self._kept.write(data)
        return data


class _Chain:
    """A file that starts with bytes read earlier."""

    def __init__(self, start, file):
        self._start, self._file = io.BytesIO(start), file

    def read(self, size=-1):
        data = self._start.read(size)
        if size < 0 or len(data) < size:
            data += self._file.read(size if size < 0 else size - len(data))
        return data

    def readline(self):
        return self._start.readline() or self._file.readline()


def _fill(fp, memory):
    """Read bytes from a file until the memory is full, and return how many."""
    view, done = memoryview(memory), 0
    readinto = getattr(fp, "readinto", None)
    while done < len(view):
        if readinto is not None:
            try:
                count = readinto(view[done:])
            except (NotImplementedError, io.UnsupportedOperation):
                # A class may have only `read` besides that of its base class.
                readinto = None
                continue
        else:
            data = fp.read(min(len(view) - done, BUFFER_SIZE))
            count = len(data)
            view[done : done + count] = data
        if not count:
            break
        done += count
    return done


def _read(fp, size, what):
    """Read bytes from a file, or raise."""
    data = fp.read(size)
    while len(data) < size:
        more = fp.read(size - len(data))
        if not more:
            text = f"EOF: reading {what}, expected {size} bytes got {len(data)}"
            raise FormatError(text, kind="Truncated")
        data += more
    if len(data) > size:
        text = f"reading {what}, expected {size} bytes got {len(data)}"
        raise FormatError(text, kind="Corrupt")
    return bytes(data)
