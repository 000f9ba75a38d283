"""Loading and saving whole files, as NumPy does."""

import io
import os
import stat

import numpy as np

from . import _core
from ._archives import Npz
from ._dtypes import as_array, from_descr, is_pickled, to_descr
from ._errors import FormatError
from ._open import MAX_HEADER_SIZE, open_memmap, warn_longs, warn_version
from ._paths import is_url, shown, to_location, to_path, to_source
from ._rows import contiguous, output_of, whole_bytes

# NumPy's own functions, in case a program replaces them by ours.
_load, _save, _savez, _savez_compressed = np.load, np.save, np.savez, np.savez_compressed
_write_array = np.lib.format.write_array

# The level of zipfile, and so of NumPy.
_LEVEL = 6
_PIECE = 16 << 20
# Files from this size on get their space before they are written. For smaller ones, that
# takes longer than it saves.
_RESERVED = 1 << 20
# Bytes of an archive for each member, and at the end, besides the elements: most have fewer.
_MORE = 1 << 10


def load(file, mmap_mode=None, allow_pickle=False, fix_imports=True, encoding="ASCII", *,
         max_header_size=MAX_HEADER_SIZE, out=None, headers=None, storage_options=None):
    """Load a `.npy` or `.npz` file, like `numpy.load`.

    With `mmap_mode`, arrays are mapped. In the modes "r" and "c", this includes uncompressed
    members of archives, which NumPy would read. NumPy loads pickles and file objects, whatever
    the mode. `.ten` and tar files raise `FormatError`, so you should use `Ten` and `Tar`.

    `file` may be a URL, of an archive if it ends in ".npz". If the server sends whole files
    only, this downloads the file. `headers` and `storage_options` mean the same as for
    `ArrayFile`.

    With `out`, the elements of a `.npy` file are read into that array, which is returned. It must
    have the file's shape, dtype and order.

        >>> npymap.load("a.npy")[1]
        array([4., 5., 6., 7.])
        >>> out = np.empty((3, 4))
        >>> npymap.load("a.npy", out=out) is out
        True
    """
    if out is not None:
        if mmap_mode or hasattr(file, "read"):
            raise ValueError("out is for .npy files that are named by a path, without a mode")
        return _read(to_location(to_source(file), headers, storage_options), max_header_size, out)
    if encoding not in ("ASCII", "latin1", "bytes"):
        raise ValueError("encoding must be 'ASCII', 'latin1', or 'bytes'")
    options = {"allow_pickle": allow_pickle, "fix_imports": fix_imports, "encoding": encoding}
    if hasattr(file, "read"):
        return _load(file, mmap_mode, max_header_size=max_header_size, **options)
    path = to_path(file) if mmap_mode else to_source(file)
    location = to_location(path, headers, storage_options)
    limit = (1 << 63) - 1 if allow_pickle else max_header_size
    pickle_kwargs = {"encoding": encoding, "fix_imports": fix_imports}
    archive = {"allow_pickle": allow_pickle, "pickle_kwargs": pickle_kwargs,
               "max_header_size": max_header_size}
    if is_url(path):
        is_npz = path.partition("?")[0].endswith(".npz")
        if is_npz:
            return Npz(path, None, headers=headers, storage_options=storage_options, **archive)
        return _read_url(path, location, limit, allow_pickle)
    try:
        if mmap_mode:
            return open_memmap(file, mmap_mode, max_header_size=limit)
        return _read(path, limit)
    except FormatError as error:
        if not stat.S_ISREG(os.stat(path).st_mode):
            # A pipe can be read only once.
            raise
        start = _start(path)
        if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return Npz(file, mmap_mode or None, **archive)
        if start.startswith(b"\x93NUMPY"):
            if not mmap_mode and error.kind == "Unsupported":
                return _load(file, max_header_size=max_header_size, **options)
            raise
        other = _other_archive(start)
        if other is None:
            return _load(file, max_header_size=max_header_size, **options)
        text = (f"{path}: a {other} file of several arrays, expected a .npy or .npz file, or a "
                f"pickle: use npymap.{other.capitalize()}, or npymap.open with a member")
        raise FormatError(text, path, None, "Unsupported") from None


def _read_url(path, location, limit, allow_pickle):
    try:
        return _read(location, limit)
    except FormatError as error:
        if not allow_pickle or "holds Python objects" not in str(error):
            raise
        path = shown(path)
        text = f"{path}: holds Python objects, which are only read from files: download it"
        raise FormatError(text, path, None, "Unsupported") from None


def _read(path, limit, out=None):
    reader = _core.Reader(path, 0, limit)
    if reader.has_longs:
        warn_longs()
    shape, descr, is_fortran = reader.facts
    array = output_of((shape, from_descr(descr), is_fortran), out)
    reader.read_into(whole_bytes(array))
    return array


def _start(path):
    with io.open(path, "rb") as file:
        return file.read(512)


def _other_archive(start):
    """Return the name of a format that NumPy does not know, from the start of a file."""
    if start.startswith(b"~TenBin~"):
        return "ten"
    return "tar" if start[257:262] == b"ustar" else None


def save(file, arr, allow_pickle=True, *, sync=False, discard_trailing=False):
    """Save an array as a `.npy` file, like `numpy.save`.

    This replaces an existing file once the new file is complete, so arrays that map it stay
    valid, and other programs see only complete files. On a full disk, it raises `OSError`, and
    the existing file stays. Like NumPy, it does not wait for the disk. With `sync=True` it does,
    and after a loss of power you will find either the old or the new contents. NumPy writes file
    objects.

    An existing file with bytes after its elements, such as rows of a writer that died, raises
    `FormatError`. `recover` keeps these rows, and `discard_trailing=True` drops them.

        >>> npymap.save("b.npy", [1, 2, 3])
        >>> npymap.open("b.npy")
        memmap([1, 2, 3])
    """
    if hasattr(file, "write"):
        if sync:
            raise TypeError("only files that are named by a path are synced")
        return _save(file, arr, allow_pickle=allow_pickle)
    path = with_extension(file, ".npy")
    array = as_array(arr)
    if _is_simple(array):
        facts = to_descr(array.dtype), array.shape, is_fortran_order(array)
        return _core.save(path, facts, whole_bytes(array), sync, discard_trailing)
    with NewFile(path, sync=sync, discard_trailing=discard_trailing) as new:
        if is_pickled(array.dtype):
            _write_array(new, array, allow_pickle=allow_pickle)
        else:
            _write(new, array)


def _is_simple(array):
    """Return whether an array is small, in one piece, and has a header of version 1.0."""
    dtype, flags = array.dtype, array.flags
    return (array.nbytes < _RESERVED and type(array) is np.ndarray and dtype.names is None
            and (flags.c_contiguous or flags.f_contiguous) and not is_pickled(dtype))


def _write(new, array):
    if isinstance(array, np.ma.MaskedArray):
        raise NotImplementedError("masked arrays cannot be saved: save their data and mask")
    descr, is_fortran = to_descr(array.dtype), is_fortran_order(array)
    header, version = _core.encode_header(descr, array.shape, is_fortran, None)
    warn_version(version)
    if array.nbytes >= _RESERVED:
        new.reserve(len(header) + array.nbytes)
    new.write(header)
    for piece in pieces(array):
        new.write(piece)


def is_fortran_order(array):
    """Return whether NumPy writes an array in Fortran order."""
    return array.flags.f_contiguous and not array.flags.c_contiguous


def pieces(array):
    """Yield the bytes of an array in stored order."""
    array = np.asarray(array)
    if array.flags.c_contiguous or array.flags.f_contiguous:
        yield whole_bytes(array)
    elif array.nbytes > 0:
        if array.dtype.names is not None:
            # Copies of structs leave padding as it was in memory that others have freed.
            array = array.view(np.dtype((np.void, array.itemsize)))
        size = max(_PIECE // array.itemsize, 1)
        flags = ["external_loop", "buffered", "zerosize_ok"]
        for piece in np.nditer(array, flags=flags, buffersize=size, order="C"):
            yield np.ascontiguousarray(piece).view(np.uint8)


class NewFile(io.RawIOBase):
    """A file that gets its name when the block ends without an error."""

    def __init__(self, path, *, sync=False, discard_trailing=False):
        self._file = _core.NewFile(path, discard_trailing)
        self._sync = sync

    def writable(self):
        return True

    def reserve(self, length):
        """Reserve space on the disk, so that a full disk raises now."""
        self._file.reserve(length)

    def write(self, data):
        return self._file.write(np.frombuffer(data, np.uint8))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self._file.commit(self._sync)
        else:
            self._file.discard()


def with_extension(file, extension):
    """Return a path as text, with the extension that NumPy adds if it is missing."""
    path = to_path(os.fspath(file))
    return path if path.endswith(extension) else path + extension


def savez(file, *args, allow_pickle=True, **kwds):
    """Save arrays as an uncompressed `.npz` archive, like `numpy.savez`.

    Elements are aligned, so that `load` can map them. This replaces an existing file
    once the new file is complete. Like NumPy, it does not wait for the disk.
    """
    _write_archive(file, args, kwds, None, allow_pickle)


def savez_compressed(file, *args, allow_pickle=True, **kwds):
    """Save arrays as a compressed `.npz` archive, like `numpy.savez_compressed`.

    This replaces an existing file once the new file is complete. Like NumPy, it does
    not wait for the disk.
    """
    _write_archive(file, args, kwds, _LEVEL, allow_pickle)


def update_npz(path, arrays=(), *, remove=(), rename=None, compressed=None, wait=True):
    """Add arrays to an `.npz` archive, or replace members, without reading the rest.

    `arrays` maps names to arrays, which replace members with the same names. Before that, this
    removes the names in `remove`, and renames members by `rename`, which maps old names to new
    names. New members are not compressed, and existing members keep their compression. With
    `compressed`, all of `arrays` are deflated if it is true, and stored otherwise.

    This replaces the archive once the new archive is on the disk, so arrays that map it stay
    valid. It locks the archive, or with `wait=False` raises `BlockingIOError` if another process
    has the lock. If the file is missing, this creates it. Missing names raise `KeyError`.

        >>> npymap.savez("a.npz", x=[1, 2], y=[3])
        >>> npymap.update_npz("a.npz", {"z": np.zeros(2)}, remove=["x"], rename={"y": "w"})
        >>> npymap.load("a.npz").files
        ['w', 'z']
    """
    members = []
    for name, values in dict(arrays).items():
        array = as_array(values)
        if is_pickled(array.dtype):
            raise TypeError(f"{name}: elements of {array.dtype}, which are Python objects: use savez")
        if isinstance(array, np.ma.MaskedArray):
            raise NotImplementedError("masked arrays cannot be saved: save their data and mask")
        is_fortran = is_fortran_order(array)
        facts = to_descr(array.dtype), array.shape, is_fortran
        array = array if is_fortran else contiguous(array)
        members.append((str(name), facts, whole_bytes(np.asarray(array))))
    remove = [remove] if isinstance(remove, str) else list(remove)
    compression = None if compressed is None else ((_LEVEL if compressed else None),)
    _core.update_npz(to_path(path), members, remove, list((rename or {}).items()), compression, wait)


def _write_archive(file, args, kwds, level, allow_pickle):
    by_numpy = _savez if level is None else _savez_compressed
    arrays = dict(kwds)
    for position, value in enumerate(args):
        name = f"arr_{position}"
        if name in arrays:
            raise ValueError(f"Cannot use un-named variables and keyword {name}")
        arrays[name] = value
    arrays = {name: as_array(value) for name, value in arrays.items()}
    has_pickles = any(is_pickled(array.dtype) for array in arrays.values())
    if has_pickles and not allow_pickle:
        raise ValueError("Object arrays cannot be saved when allow_pickle=False")
    # NumPy 2.0 would save an argument `allow_pickle` as an array.
    if hasattr(file, "write"):
        return by_numpy(file, **arrays)
    path = with_extension(file, ".npz")
    if has_pickles:
        with NewFile(path) as new:
            return by_numpy(new, **arrays)
    nbytes = sum(array.nbytes for array in arrays.values())
    # The size of compressed members is not known.
    is_reserved = level is None and nbytes >= _RESERVED
    reserved = nbytes + _MORE * (len(arrays) + 1) if is_reserved else 0
    writer = _core.NpzWriter(path, True, reserved)
    try:
        for name, array in arrays.items():
            facts = to_descr(array.dtype), array.shape, is_fortran_order(array)
            if array.dtype.names is not None:
                warn_version(_core.encode_header(*facts, None)[1])
            writer.write(name, facts, pieces(array), level)
        writer.finish()
    finally:
        writer.discard()
