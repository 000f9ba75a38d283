"""Arrays read on request, and described in a few bytes."""

import functools
import os

import numpy as np

from . import _core
from ._dtypes import from_descr
from ._describe import check_version, version_of
from ._errors import FormatError
from ._map import Map
from ._memmap import memmap, owner
from ._open import MAX_HEADER_SIZE, check_member, open
from ._paths import is_url, shown, to_absolute, to_location
from ._rows import Rows, numbers_of, output_of, rows_of_array, whole_bytes
from ._select import (expand, in_bounds, is_basic, is_integer, split, strides_of, to_numbers, to_ranges,
                      with_dots)
from ._unmapped import advised, is_readable, is_unmapped, written_back

# Rows that are shorter are read whole.
_PAGE = 4096


class ArrayFile:
    """Reads parts of an array in a file or an object store, by default without mapping it.

    If the file is truncated, this raises `FormatError`. A map would kill the process instead.
    It pickles as path, layout and version of the file, so schedulers send a few bytes, and
    workers read what they need. If the file was replaced or modified in the meantime, they
    will raise `FormatError`.

        >>> a = npymap.ArrayFile("a.npy")
        >>> a.shape, a.dtype
        ((3, 4), dtype('float64'))
        >>> a[1:, 2]
        array([ 6., 10.])

    With `member`, the array is a member of a `.npz`, `.ten` or tar file, named as in
    `npymap.open`. Compressed members raise `FormatError`. Otherwise, the file is a `.npy`
    that starts at the offset `at`.

    With `mode` "r" the file is mapped when you first use elements, once per process.

    `path` may be a URL (`s3://`, `gs://`, `az://`, `https://`, `http://`). This requests
    all parts of an index or a `take` concurrently. Credentials come from the environment
    (`AWS_…`, `GOOGLE_…`, `AZURE_…`). If the object was replaced after you opened it, reading
    raises `FormatError`, in every process. `path`, pickles and tasks have the whole URL, so
    that they can open the object again. You should keep them as secret as the URL, which may
    contain a signature. Errors and `repr` leave it out.

    `headers` are sent with each request for a URL, such as `{"Authorization": "Bearer …"}`.
    `storage_options` set options of its store, such as `{"aws_region": "eu-central-1"}`, or
    more headers by the key "headers", like in fsspec. Pickles have both.
    """

    def __init__(self, path, mode=None, *, member=None, at=0, max_header_size=MAX_HEADER_SIZE,
                 headers=None, storage_options=None):
        if mode not in (None, "r"):
            raise ValueError(f"mode {mode!r}, expected None or 'r'")
        check_member(member, at, max_header_size)
        self._path = to_absolute(path)
        self._is_remote = is_url(self._path)
        self._location = to_location(self._path, headers, storage_options)
        if self._is_remote and mode is not None:
            raise ValueError(f"{shown(self._path)}: a URL, which cannot be mapped: expected the mode None")
        self._mode = mode
        self._member = None if member is None else str(member)
        self._at = at
        self._max_header_size = max_header_size
        self._array = None
        self._taken = None, None
        self._open()

    def _open(self):
        """Find the array in the file."""
        # Before the file is opened, so that a change meanwhile is seen later.
        version = None if self._is_remote else version_of(self._path)
        if self._member is None:
            file = _core.ReadFile(self._location, self._at, self._max_header_size)
        else:
            file = _core.ReadFile.member(self._location, self._member)
            if file is None:
                text = (f"{shown(self._path)}[{self._member}]: a compressed member, of which no parts "
                        "can be read: use npymap.Npz")
                raise FormatError(text, shown(self._path), self._member, "Unsupported")
        self._version = file.version if self._is_remote else version
        self._set_layout(file.facts)
        self._opened_file = file, os.getpid()

    def _set_layout(self, facts):
        shape, descr, is_fortran, offset = facts
        self._shape, self._dtype = shape, from_descr(descr)
        self._elements = descr, shape, is_fortran, offset

    def _opened(self):
        """Return the open file, which still has its first layout."""
        # Attributes are read once: another thread may open the file meanwhile.
        file, process = self._opened_file
        if file is None or self._is_remote and process != os.getpid():
            # Connections do not survive a fork.
            file = self._open_again()
            self._opened_file = file, os.getpid()
        return file

    def _open_again(self):
        if self._is_remote:
            location = self._location
            if isinstance(location, tuple):
                # For `lru_cache`.
                location = location[0], *map(tuple, location[1:])
            place = location, self._at, self._max_header_size
            return _open_object(place, self._member, self._elements, self._version, os.getpid())
        check_version(self._path, self._version, self._member)
        if self._member is not None:
            return _core.ReadFile.elements(self._path, self._elements)
        file = _core.ReadFile(self._path, self._at, self._max_header_size)
        shape, descr, is_fortran, offset = file.facts
        if (descr, shape, is_fortran, offset) != self._elements:
            text = (f"{shown(self._path)}: has shape {shape} and dtype {from_descr(descr)}, but had "
                    f"{self._shape} and {self._dtype} when it was described")
            raise FormatError(text, self._path, None, "Changed")
        return file

    @property
    def path(self):
        """The absolute path."""
        return self._path

    @property
    def member(self):
        """The member's name in the archive, or None for a `.npy`."""
        return self._member

    @property
    def shape(self):
        """The length of each axis."""
        return self._shape

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self._dtype

    @property
    def fortran_order(self):
        """Whether the first axis varies fastest in the file."""
        return self._elements[2]

    @property
    def ndim(self):
        """The number of axes."""
        return len(self._shape)

    @property
    def size(self):
        """The number of elements."""
        return int(np.prod(self._shape, dtype=object))

    @property
    def nbytes(self):
        """The size of all elements in bytes."""
        return self.size * self._dtype.itemsize

    @property
    def rows(self):
        """The rows, as `Rows` that read on request."""
        self._check_axes()
        if self._mode is not None:
            return rows_of_array(self._mapped())
        return Rows(self._opened().rows, self)

    def _check_axes(self):
        if not self._shape:
            raise TypeError("an array without axes has no rows")

    def __len__(self):
        if not self._shape:
            raise TypeError("len() of an array without axes")
        return self._shape[0]

    def __iter__(self):
        if not self._shape:
            raise TypeError("iteration over an array without axes")
        return map(self.__getitem__, range(len(self)))

    def __repr__(self):
        path = shown(self._path)
        name = path if self._member is None else f"{path}[{self._member}]"
        return f"<npymap.ArrayFile {name!r}: shape {self._shape}, dtype {self._dtype}>"

    def take(self, indices, out=None, *, dtype=None, casting="same_kind", mode="raise"):
        """Read rows like `Rows.take`."""
        # Attributes are read once: another thread may open the file meanwhile.
        file, rows = self._taken
        if file is None or file is not self._opened_file[0] or self._is_remote:
            rows = self._rows_to_take()
        return rows.take(indices, out, dtype=dtype, casting=casting, mode=mode)

    def _rows_to_take(self):
        self._check_axes()
        if self._mode is not None:
            return rows_of_array(self._mapped())
        file = self._opened()
        taken, rows = self._taken
        if taken is not file:
            # Without this object as source, which would refer to itself.
            rows = Rows(file.rows, None)
            self._taken = file, rows
        return rows

    def read(self, start=0, stop=None, *, out=None):
        """Read the rows from `start` up to `stop`, by default all.

        With `out`, the elements are read into that array, which is returned. It must have
        their shape, and the file's dtype and order.
        """
        if out is None:
            return self[slice(start, stop)] if self._shape else self._read([])
        spans = [(0, length) for length in self._shape]
        if spans:
            start, stop, _ = slice(start, stop).indices(len(self))
            spans[0] = start, max(start, stop)
        return self._read(spans, out=out)

    def map(self, index=(), mode="r"):
        """Map the elements that integers and slices select, as a `memmap`.

        This maps only the bytes from the first to the last element, until the array and
        its views are gone. The array is read-only. In mode "r+" changes are written to the file.
        URLs cannot be mapped.

            >>> part = npymap.ArrayFile("a.npy").map(np.s_[1:, 2])
            >>> part
            memmap([ 6., 10.])
        """
        if self._is_remote:
            raise ValueError(f"{shown(self._path)}: a URL, which cannot be mapped: use read")
        if mode not in ("r", "r+"):
            raise ValueError(f"mode {mode!r}, expected 'r' or 'r+'")
        index = expand(index, self.ndim)
        if not is_basic(index):
            raise IndexError("elements are mapped by integers and slices; lists of them are read")
        spans, inner = split(index, self._shape)
        itemsize, (_, _, is_fortran, offset) = self._dtype.itemsize, self._elements
        strides = strides_of(self._shape, itemsize, is_fortran)
        shape = tuple(stop - start for start, stop in spans)
        length = 0
        if 0 not in shape:
            offset += sum(start * stride for (start, _), stride in zip(spans, strides))
            length = itemsize + sum((n - 1) * stride for n, stride in zip(shape, strides))
        mapping = self._map_bytes(offset, length, mode)
        array = np.ndarray.__new__(memmap, shape, self._dtype, Map(mapping), 0, strides)
        # With the ellipsis, a single element is an array, too.
        return array[(*inner, ...)]

    def _map_bytes(self, offset, length, mode):
        file = self._opened()
        try:
            if mode == "r":
                return file.map(offset, length)
            mapping = _core.map_elements(self._path, mode, offset, length)
        except OSError as error:
            if not is_readable(error):
                axis = "last" if self.fortran_order else "first"
                text = f"{length} bytes contain the selection: select less of the {axis} axis"
            elif mode == "r":
                text = "file[index] reads elements"
            else:
                text = written_back('file[()]', self._elements[3])
            raise advised(error, text) from None
        if not file.is_file_of(mapping):
            text = f"{shown(self._path)}: was replaced since the array was opened: use reload()"
            raise FormatError(text, self._path, self._member, "Changed")
        return mapping

    def __getitem__(self, index):
        if self._mode is not None:
            return self._mapped()[index]
        if not self._shape:
            return self._read([])[index]
        given, index = index, expand(index, self.ndim)
        first, rest = index[0], index[1:]
        if isinstance(first, slice):
            rows = range(*first.indices(len(self)))
            if rows.step not in (1, -1):
                # In the order of the file.
                order = slice(None) if rows.step > 0 else slice(None, None, -1)
                rows = rows[order]
                read, _, inner = self._read_rows(numbers_of(rows), rest)
                return read[with_dots((order, *inner), given)]
        elif not is_integer(first):
            return self._read_list(first, rest)
        spans, inner = split(index, self._shape)
        return self._read(spans)[with_dots(inner, given)]

    def _read_list(self, first, rest):
        """Read the rows of a list or mask."""
        numbers = in_bounds(to_numbers(first, 0, len(self)), 0, len(self))
        read, rows, inner = self._read_rows(numbers, rest)
        if all(isinstance(part, slice) or np.ndim(part) == 0 for part in inner):
            return read[(slice(None), *inner)][rows]
        # Lists select single elements together.
        return read[(np.arange(len(read))[rows], *inner)]

    def _read_rows(self, numbers, rest):
        """Read the needed parts of rows, and return where these and the other axes are in them."""
        spans, inner = split(rest, self._shape[1:], 1)
        is_whole = all(span == (0, length) for span, length in zip(spans, self._shape[1:]))
        if is_whole or not self._elements[2] and not self._is_remote and self._row_nbytes() < _PAGE:
            # Reading parts of short rows takes longer.
            return self.take(numbers), slice(None), rest
        distinct, rows = np.unique(numbers, return_inverse=True)
        return self._read([(0, len(self)), *spans], distinct), rows, inner

    def _row_nbytes(self):
        return self.nbytes // max(len(self), 1)

    def _read(self, spans, rows=None, out=None):
        """Read the elements in a range of each axis, or of these rows."""
        shape = tuple(stop - start for start, stop in spans)
        ranges = None
        if rows is not None:
            shape, ranges = (len(rows), *shape[1:]), to_ranges(rows)
        out = output_of((shape, self._dtype, self._elements[2]), out)
        self._opened().read_into(spans, whole_bytes(out), ranges)
        return out

    def _mapped(self):
        array = self._array
        if array is None:
            file = self._opened()
            array = open(self._path, self._mode, member=self._member, at=self._at,
                         max_header_size=self._max_header_size)
            mapping = owner(array)
            if mapping is None:
                # It cannot be mapped, and was read.
                file.check_unchanged()
                self._array = array
                return array
            shape, descr, is_fortran = mapping.facts
            found = descr, shape, is_fortran, mapping.offset
            if found != self._elements or not file.is_file_of(mapping):
                text = f"{shown(self._path)}: was changed since the array was opened: use reload()"
                raise FormatError(text, self._path, self._member, "Changed")
            self._array = array
        return array

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("an ArrayFile is not in memory: its elements must be copied")
        array = self.read()
        return array if dtype is None else array.astype(dtype, copy=False)

    def reload(self):
        """Read the header again, for example after another process has appended rows."""
        self._array = None
        self._taken = None, None
        self._open()

    def check_unchanged(self):
        """Raise if the file got shorter, or its path leads to a different file."""
        self._opened().check_unchanged()

    def __dask_tokenize__(self):
        facts = self._version if self._is_remote else file_facts(self._path)
        return "npymap.ArrayFile", self._path, self._member, self._at, facts

    def __eq__(self, other):
        return isinstance(other, ArrayFile) and self.__getstate__() == other.__getstate__()

    def __hash__(self):
        return hash((self._path, self._member, self._at))

    def __getstate__(self, *, is_sent=False):
        version = self._version
        if is_sent and not self._is_remote:
            # Workers may write to the file.
            version = version._replace(nbytes=None, modified=None)
        descr, shape, is_fortran, offset = self._elements
        return (self._path, self._mode, self._member, self._at, self._max_header_size,
                version, (shape, descr, is_fortran, offset), self._location)

    def __setstate__(self, state):
        self._path, self._mode, self._member, self._at, self._max_header_size = state[:5]
        self._version = state[5]
        self._set_layout(state[6])
        self._location = state[7] if len(state) > 7 else self._path
        self._is_remote = is_url(self._path)
        self._array = None
        self._opened_file = self._taken = None, None


@functools.lru_cache(maxsize=64)
def _open_object(place, member, elements, version, process):
    """Open a URL once per process, because each task has its own description."""
    path, at, max_header_size = place
    if member is None:
        file = _core.ReadFile(path, at, max_header_size)
        is_same = file.facts == (elements[1], elements[0], *elements[2:])
    else:
        file = _core.ReadFile.elements(path, elements)
        is_same = True
    if not is_same or file.version != version:
        text = f"{shown(path)}: was replaced since the array was described"
        raise FormatError(text, shown(path), member, "Changed")
    return file


def map_or_read(path):
    """Open an array with rows, which are read if they are at a URL or cannot be mapped."""
    if is_url(path):
        return ArrayFile(path)
    try:
        return _core.open_npy(path, "r", 0, MAX_HEADER_SIZE, "normal")
    except OSError as error:
        if not is_unmapped(error):
            raise
        return ArrayFile(path)


def file_facts(path):
    """Return numbers that differ for other or changed files."""
    stat = os.stat(path)
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
