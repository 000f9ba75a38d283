"""Dask arrays with tasks that open files themselves.

    >>> import npymap.dask
    >>> x = npymap.dask.from_npy("a.npy", chunks=(2, 4))
    >>> float(x.sum().compute())
    66.0
    >>> npymap.dask.to_npy(x.T, "transposed.npy")
    >>> npymap.open("transposed.npy").shape
    (4, 3)

Graphs describe files: a path, a member, a layout and a range of each axis, about 300 bytes
per task, and no elements. Workers map the part of the file that a task needs, and unmap it
when nothing uses the task's result. This means that all workers on a machine share the page
cache, and that their own memory does not grow with the file. If paths lead to the same files
on several machines, you can run workers on all of them.

Needs `pip install npymap[dask]`.
"""

import errno
import io
import os
import shutil
import time
from bisect import bisect
from contextlib import suppress
from itertools import accumulate

import dask
import dask.array as da
import numpy as np
from dask.array.core import getter, normalize_chunks
from dask.base import normalize_token, tokenize
from dask.blockwise import blockwise
from dask.highlevelgraph import HighLevelGraph
from dask.layers import ArrayBlockIdDep, ArrayBlockwiseDep, ArraySliceDep
from dask.utils import parse_bytes

from . import _core
from ._describe import byte_bounds
from ._grow import to_dtype
from ._io import save
from ._open import create, open
from ._parts import Inflated, open_all
from ._paths import to_absolute, to_path, to_source
from ._rows import as_bytes, contiguous
from ._stacks import finish_stack, new_stack, partial_name

__all__ = ["from_npy", "to_npy", "to_npy_stack"]

# How often, and after how many seconds, a directory is removed in which files appear.
_ATTEMPTS = 20
_PAUSE = 0.01


def from_npy(paths, chunks="auto", *, member=None, mode="r", headers=None, storage_options=None):
    """Make a Dask array from a file, or from several files along the first axis.

    `paths` is a path, a URL or a list of them, or the directory of a stack, as `to_npy_stack` and
    Dask's function with that name write it. With `member`, arrays are members of `.npz`,
    `.ten` or tar files. This reads only headers. All files must have the same dtype and the
    same axes after the first.

    `chunks` means the same as for `dask.array.from_array`. "auto", and sizes such as "64 MiB",
    make chunks that are contiguous in the file, with whole rows if a row is smaller. Each
    chunk has elements from one file.

    Elements in files are mapped read-only. With `mode=None`, and from URLs, they are read
    into memory. `headers` and `storage_options` are for URLs, like in `ArrayFile`. The graph
    contains them.

        >>> npymap.dask.from_npy(["a.npy", "a.npy"], chunks=2).chunks
        ((2, 1, 2, 1), (2, 2))
    """
    files = open_all(_to_list(paths), member, mode, headers, storage_options)
    _check_alike(files)
    chunks, ends = _normalize(chunks, files)
    name = f"from-npy-{tokenize(files, chunks, mode)}"
    axes = tuple(range(files[0].ndim))
    if len(files) == 1:
        arguments = files[0], None, ArraySliceDep(chunks), axes
    else:
        arguments = _Files(chunks, files, ends), axes, _SlicesOfFiles(chunks, ends), axes
    layer = blockwise(getter, name, axes, *arguments, numblocks={}, _data_producer=True)
    graph = HighLevelGraph.from_collections(name, layer)
    return da.Array(graph, name, chunks, meta=np.ndarray((0,) * len(axes), files[0].dtype))


def _to_list(paths):
    if isinstance(paths, (list, tuple)):
        if not paths:
            raise ValueError("no paths, expected at least one")
        return paths
    if os.path.isdir(to_source(paths)):
        return _core.npy_stack_paths(to_path(paths))
    return [paths]


def _check_alike(files):
    first = files[0]
    for file in files[1:]:
        if file.dtype != first.dtype or file.shape[1:] != first.shape[1:] or not file.shape:
            raise ValueError(f"{_facts(file)} cannot follow {_facts(first)}: all files must have "
                             "the same dtype and the same axes after the first")


def _facts(file):
    return f"an array of shape {file.shape} and dtype {file.dtype}"


class _Files(ArrayBlockwiseDep):
    """The file of each block."""

    def __init__(self, chunks, files, ends):
        super().__init__(chunks)
        self.files, self.ends = files, ends

    def __getitem__(self, index):
        return self.files[bisect(self.ends, index[0])]


class _SlicesOfFiles(ArraySliceDep):
    """The elements of each block, in its file."""

    def __init__(self, chunks, ends):
        super().__init__(chunks)
        self.ends = ends

    def __getitem__(self, index):
        rows, *rest = super().__getitem__(index)
        number = bisect(self.ends, index[0])
        first = self.starts[0][self.ends[number - 1]] if number else 0
        return slice(rows.start - first, rows.stop - first, None), *rest


# Layers that are fused find their arguments by these tokens. That of the base class has
# only the chunks.
@normalize_token.register(_SlicesOfFiles)
def _(slices):
    return "npymap.dask", slices.chunks, slices.ends


def _normalize(chunks, files):
    """Return the chunks, and the number of the first block after each file."""
    longest = max(files, key=lambda file: file.shape)
    if isinstance(chunks, str):
        limit = dask.config.get("array.chunk-size") if chunks == "auto" else chunks
        chunks = longest.contiguous_chunks(parse_bytes(limit))
    if len(files) == 1:
        chunks = normalize_chunks(chunks, longest.shape, dtype=longest.dtype)
        ends = (len(chunks[0]) if chunks else 1,)
    else:
        chunks, ends = _normalize_several(chunks, files, longest)
    whole = ends == tuple(range(1, len(files) + 1)) and all(len(axis) == 1 for axis in chunks[1:])
    if not whole and any(isinstance(file, Inflated) for file in files):
        raise ValueError("compressed members can only be read whole: use chunks=-1, or store "
                         "them by numpy.savez")
    return chunks, ends


def _normalize_several(chunks, files, longest):
    lengths = [file.shape[0] for file in files]
    shape = sum(lengths), *longest.shape[1:]
    if _is_explicit(chunks, len(shape)):
        chunks = normalize_chunks(chunks, shape, dtype=longest.dtype)
        starts = list(accumulate(chunks[0], initial=0))
        ends = list(accumulate(lengths))
        if not set(ends) <= set(starts):
            raise ValueError(f"chunks {chunks[0]} of the first axis, but files end at {ends}: "
                             "no chunk can have rows of two files")
        return chunks, tuple(bisect(starts, end) - 1 for end in ends)
    one = normalize_chunks(chunks, longest.shape, dtype=longest.dtype)
    each = [normalize_chunks((one[0][0],), (length,))[0] for length in lengths]
    return (sum(each, ()), *one[1:]), tuple(accumulate(len(rows) for rows in each))


def _is_explicit(chunks, ndim):
    """Return whether chunks list the length of each block of the first axis."""
    if isinstance(chunks, dict):
        chunks = (chunks.get(0),)
    if not isinstance(chunks, (tuple, list)) or not chunks:
        return False
    return isinstance(chunks[0], (tuple, list)) or ndim == 1 and len(chunks) > 1


def to_npy(array, path, *, overwrite=False, compute=True, discard_trailing=False):
    """Write a Dask array to one `.npy` file, in parallel.

    Workers write their blocks to a file with the final size, which gets its name when it is
    complete. If a block fails, the file is removed. An existing file raises `FileExistsError`.
    With `overwrite=True` this replaces it, and arrays that map it stay valid. If bytes follow
    its elements, this raises `FormatError` like `npymap.create`, unless
    `discard_trailing=True`.

    Arrays with unknown chunk sizes raise `ValueError`, so you should use `to_npy_stack`. With
    `compute=False`, this returns a `dask.delayed.Delayed` without doing anything yet. If one of
    its blocks fails, the incomplete file stays beside `path`, with a name that ends in
    `.partial`.
    """
    array, path = da.asarray(array), to_absolute(to_path(path))
    if any(np.isnan(length) for axis in array.chunks for length in axis):
        raise ValueError("the sizes of chunks are unknown: use array.compute_chunk_sizes() "
                         "first, or to_npy_stack")
    if os.path.exists(path):
        if not overwrite:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        if not discard_trailing:
            _check_replaced(path)
    partial = partial_name(path)
    # A task could create it after another one failed, so it is created before all tasks.
    facts = array.dtype, array.shape
    created = partial if compute else dask.delayed(_create)(partial, *facts)
    written = da.map_blocks(_write, array, created, ArraySliceDep(array.chunks), dtype="i8",
                            chunks=tuple((1,) * count for count in array.numblocks),
                            meta=np.empty((0,) * array.ndim, "i8"))
    task = dask.delayed(_finish)(written.sum(), partial, path, overwrite, discard_trailing)
    return _compute(task, partial, _create, *facts) if compute else task


def _compute(task, partial, create_partial, *facts):
    try:
        create_partial(partial, *facts)
        task.compute()
    except BaseException:
        _remove(partial)
        raise


def _remove(partial):
    """Remove an incomplete file or directory, although other tasks may still write to it."""
    with suppress(FileNotFoundError):
        for _ in range(_ATTEMPTS):
            if not os.path.isdir(partial):
                return os.unlink(partial)
            shutil.rmtree(partial, ignore_errors=True)
            time.sleep(_PAUSE)


def _create(path, dtype, shape):
    try:
        create(path, dtype, shape)
    except FileExistsError:
        # The task runs again, because a worker was lost. Other blocks may be written.
        pass
    return path


def _write(block, path, index):
    """Write a block of elements to a file."""
    array = open(path, "r+")
    part = array[(*index, ...)]
    block = _to_elements(block, array.dtype)
    if block.shape != part.shape:
        raise ValueError(f"a block of shape {block.shape}, expected {part.shape}")
    if part.flags.c_contiguous and part.nbytes:
        # Stores would map each page first.
        offset = array.offset + byte_bounds(part)[0] - byte_bounds(array)[0]
        with io.open(path, "r+b", buffering=0) as file:
            file.seek(offset)
            write_all(file, as_bytes(contiguous(block)))
    else:
        part[...] = block
    return np.ones((1,) * array.ndim, "i8")


def _to_elements(block, dtype):
    if isinstance(block, np.ma.MaskedArray):
        raise NotImplementedError("masked arrays cannot be saved: save their data and mask")
    return to_dtype(np.asarray(block), dtype, "same_kind")


def write_all(file, data):
    """Write all bytes to a file without a buffer."""
    data = memoryview(data)
    while data:
        data = data[file.write(data):]


def _check_replaced(path):
    """Raise an error if bytes follow the elements of a file to replace."""
    _core.NewFile(path).discard()


def _finish(_written, partial, path, overwrite, discard_trailing=False):
    """Give a complete file its name."""
    # The task may run again because a worker was lost after it.
    if os.path.lexists(path) and not os.path.lexists(partial):
        return
    if overwrite:
        if not discard_trailing and os.path.exists(path):
            _check_replaced(path)
        return os.replace(partial, path)
    try:
        # Unlike renaming, this never replaces a file.
        os.link(partial, path)
    except FileExistsError:
        # Or after this call.
        if not os.path.samestat(os.lstat(partial), os.lstat(path)):
            raise
    except OSError:
        # exFAT, and many network file systems, have no links. A file that appears between
        # these calls is replaced.
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
        return os.rename(partial, path)
    os.unlink(partial)


def to_npy_stack(array, directory, *, compute=True):
    """Write the blocks of an array along the first axis to the files of a new directory.

    `0.npy`, `1.npy`, … have the blocks, in the order of the rows, and other axes are joined.
    `from_npy`, `npymap.Concat.npy_stack` and `dask.array.from_npy_stack` read it. The
    directory gets its name when it is complete. If a block fails, the directory is removed,
    except with `compute=False`, like in `to_npy`. Blocks may have unknown numbers of rows, for
    example after a selection by a mask.

        >>> x = npymap.dask.from_npy("a.npy", chunks=(1, 4))
        >>> npymap.dask.to_npy_stack(x[x[:, 0] > 3], "stack")
        >>> npymap.Concat.npy_stack("stack").shape
        (2, 4)
    """
    array = da.asarray(array)
    if not array.ndim:
        raise ValueError("an array without axes: use to_npy")
    directory, partial = new_stack(directory)
    array = array.rechunk({axis: -1 for axis in range(1, array.ndim)})
    created = partial if compute else dask.delayed(_create_directory)(partial)
    lengths = da.map_blocks(_save, array, created, array.dtype, ArrayBlockIdDep(array.chunks),
                            dtype="i8", drop_axis=list(range(1, array.ndim)),
                            chunks=((1,) * array.numblocks[0],), meta=np.empty(0, "i8"))
    task = dask.delayed(_finish_stack)(lengths, partial, directory, array.shape[1:], array.dtype)
    return _compute(task, partial, _create_directory) if compute else task


def _create_directory(path):
    os.makedirs(path, exist_ok=True)
    return path


def _save(block, directory, dtype, index):
    """Write a block to a file of a directory, and return its length."""
    block = _to_elements(block, dtype)
    save(os.path.join(directory, f"{index[0]}.npy"), block, allow_pickle=False)
    return np.array([len(block)])


def _finish_stack(lengths, partial, directory, shape, dtype):
    # The task may run again because a worker was lost after it.
    if os.path.isdir(directory) and not os.path.lexists(partial):
        return
    finish_stack(partial, directory, [int(length) for length in lengths], shape, dtype)
