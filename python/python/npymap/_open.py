"""Opening, creating and repairing files."""

import warnings
from typing import NamedTuple

import numpy as np

from . import _core
from ._dtypes import from_descr, to_descr
from ._memmap import to_mode, wrap
from ._paths import is_fortran, to_location, to_path, to_shape, to_source
from ._unmapped import advised, is_readable, open_unmapped

MAX_HEADER_SIZE = 10_000
_MODES = ("r", "r+", "c")


class Header(NamedTuple):
    """The header of a `.npy` file."""

    shape: tuple
    dtype: np.dtype
    fortran_order: bool
    version: tuple
    offset: int


def open(path, mode="r", *, member=None, at=0, max_header_size=MAX_HEADER_SIZE,
         advice="normal"):
    """Open a `.npy` file, without reading its elements.

    In mode "r" the array is read-only. In "r+" changes are written to the file, and in
    "c" they stay in memory. `at` is the offset of the `.npy` in the file, if that contains
    other data or several arrays. After the array `a`, the next array starts at
    `a.offset + a.nbytes`. `advice` says how you will use the elements: "normal", "random" or
    "sequential".

    With `member`, this opens an array in a `.npz`, `.ten` or tar file, which it recognizes by
    the contents. In `.ten` files `member` is a position or an info. `"0"` is the position, and
    `Ten(path)["0"]` finds the info. In tar files it is the name of a `.npy` member, or the
    name of a `.ten` member with a position or an info in brackets, such as `"000000.ten[0]"`.
    Deflated members are read into memory, so the array is a plain `numpy.ndarray` instead of
    a `memmap`. So is a file that cannot be mapped in the modes "r" and "c", with a warning. If a
    member's header is larger than usual, you should use `Npz`. `max_header_size` is the maximum
    length of the header of a `.npy` file, in characters.

    Raises `FileNotFoundError` and other `OSError`, `KeyError` for missing members, and
    `FormatError`.

        >>> a = npymap.open("a.npy", "r+")
        >>> a[0, 1] = 7
        >>> npymap.savez("a.npz", x=a, y=[1, 2])
        >>> npymap.open("a.npz", member="x")[0, :2]
        memmap([0., 7.])
    """
    if mode not in _MODES:
        mode = to_mode(mode)
        if mode == "w+":
            raise ValueError("mode 'w+' creates an array: use npymap.create")
    try:
        if member is None:
            return _core.open_npy(path, mode, at, max_header_size, advice)
        check_member(member, at, max_header_size)
        mapping = _core.open_member(path, mode, str(member))
    except OSError as error:
        return open_unmapped(error, path, mode, member=member, at=at, max_header_size=max_header_size)
    mapping.advise(advice)
    return wrap(mapping, np.ndarray if mapping.mode is None else None)


def check_member(member, at, max_header_size):
    """Raise unless the arguments about a place in a file go together."""
    if member is None:
        return
    if at != 0:
        raise ValueError("both a member and an offset, expected one of them")
    if max_header_size != MAX_HEADER_SIZE:
        raise ValueError(f"max_header_size is for .npy files: npymap.Npz(path, max_header_size={max_header_size}) "
                         "opens the members of an .npz")


def create(path, dtype, shape, *, order="C", overwrite=False, sparse=False,
           page_aligned=False, version=None, discard_trailing=False):
    """Create a `.npy` file of zeros, and open it in mode "r+".

    An existing file raises `FileExistsError`. With `overwrite=True` this replaces it, and
    arrays that map it stay valid. If bytes follow its elements, such as rows of a writer
    that died, replacing it raises `FormatError`. `recover` keeps these rows, and
    `discard_trailing=True` drops them. This reserves space on the disk, so a full disk
    raises `OSError` here instead of killing the process later. With `sparse=True`, it
    does not reserve space. With `page_aligned=True` the elements start at byte 4096, so
    that a row of one page is in one page. NumPy can read such files, but cnpy cannot.

        >>> a = npymap.create("new.npy", "f4", (2, 3))
        >>> a[1] = 5
        >>> npymap.load("new.npy")
        array([[0., 0., 0.],
               [5., 5., 5.]], dtype=float32)
    """
    try:
        dtype = np.dtype(dtype)
    except TypeError:
        if isinstance(dtype, (int, tuple, list)) and not isinstance(shape, (int, tuple, list)):
            text = f"a dtype {dtype!r} and a shape {shape!r}: the dtype is first, or shape= and dtype= say"
            raise TypeError(text) from None
        raise
    return _create(path, dtype, to_shape(shape), is_fortran(order),
                   (version, overwrite, sparse, page_aligned, False, discard_trailing))


def _create(path, dtype, shape, is_fortran_order, creation):
    if dtype.hasobject:
        raise ValueError("Array can't be memory-mapped: Python objects in dtype.")
    if dtype.subdtype is not None:
        dtype, inner = dtype.subdtype
        shape += inner
    elements = to_descr(dtype), shape, is_fortran_order, 0
    try:
        mapping = _core.create(path, elements, creation)
    except OSError as error:
        raise advised(error, _written_by(error, shape, is_fortran_order, creation)) from None
    if creation[0] is None:
        warn_version(mapping.version)
    array = wrap(mapping, dtype=dtype)
    array.__dict__["_mode"] = "r+"
    return array


def _written_by(error, shape, is_fortran_order, creation):
    """Return which calls write a file that cannot be mapped."""
    options = "".join(f", {name}=True" for name, is_set in (("overwrite", creation[1]),
                                                            ("discard_trailing", creation[5])) if is_set)
    row = shape[:-1] if is_fortran_order else shape[1:]
    order = ', order="F"' if is_fortran_order else ""
    text = f"npymap.Appender(path, dtype=dtype, row={row}{order}{options}) writes rows"
    return f"{text}, and npymap.save(path, a) an array" if is_readable(error) else text


def warn_version(version):
    """Warn that old releases of NumPy cannot read a version of the format."""
    oldest = {(2, 0): "1.9", (3, 0): "1.17"}.get(version)
    if oldest is not None:
        text = f"Stored array in format {version[0]}.0. It can only be read by NumPy >= {oldest}"
        warnings.warn(text, UserWarning, stacklevel=4)


def warn_longs():
    """Warn that a header was written by Python 2, as NumPy does."""
    text = (
        "Reading `.npy` or `.npz` file required additional header parsing as it was created on "
        "Python 2. Save the file again to speed up loading and avoid this warning."
    )
    warnings.warn(text, UserWarning, stacklevel=4)


def open_memmap(filename, mode="r+", dtype=None, shape=None, fortran_order=False,
                version=None, *, max_header_size=MAX_HEADER_SIZE, discard_trailing=False):
    """Open or create a `.npy` file, like `numpy.lib.format.open_memmap`.

    In mode "w+" this replaces an existing file instead of truncating it, so arrays that map
    it stay valid. If bytes follow its elements, it raises like `create`, unless
    `discard_trailing=True`.
    """
    if hasattr(filename, "read"):
        raise ValueError("Filename must be a string or a path-like object."
                         "  Memmap cannot use existing file handles.")
    mode = to_mode(mode)
    if mode != "w+":
        try:
            return _core.open_npy(filename, mode, 0, max_header_size, "normal")
        except OSError as error:
            return open_unmapped(error, filename, mode, max_header_size=max_header_size)
    if shape is None:
        raise ValueError("shape must be given if mode == 'w+'")
    # As in NumPy, pages that are never written take no space.
    creation = version, True, True, False, False, discard_trailing
    shape = to_shape(shape)
    return _create(filename, np.dtype(dtype), shape, bool(fortran_order), creation)


def header(path, *, at=0, max_header_size=MAX_HEADER_SIZE, headers=None, storage_options=None):
    """Read the header of a `.npy` file, and check that the file has all elements.

    `headers` and `storage_options` are for URLs, like in `ArrayFile`.
    """
    location = to_location(to_source(path), headers, storage_options)
    facts = _core.read_header(location, at, max_header_size)
    shape, descr, fortran_order, version, offset = facts
    return Header(shape, from_descr(descr), fortran_order, version, offset)


def recover(path, *, dry_run=False, zero_fill=False):
    """Repair a file after its writer died, keeping all complete rows.

    This sets the number of rows in the header to the number of complete rows in the file.
    Rows are along the growing axis, which is the last axis in Fortran order. An incomplete row
    at the end is dropped, or with `zero_fill=True` completed with zeros. With `dry_run=True`
    the file does not change.
    """
    return _core.recover(to_path(path), dry_run, zero_fill)


def resize(path, rows):
    """Grow or shrink the array in a file.

    Rows are along the growing axis, which is the last axis in Fortran order. New rows are
    zeros. To remove rows, this replaces the file by a shorter copy, so arrays that map it stay
    valid.
    """
    _core.resize(to_path(path), rows)
