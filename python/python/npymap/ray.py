"""Ray datasets with tasks that open files themselves.

    >>> import npymap.ray
    >>> data = npymap.ray.read_npy("a.npy")  # doctest: +SKIP
    >>> data.map_batches(lambda batch: {"sum": batch["data"].sum(axis=1)})  # doctest: +SKIP
    >>> npymap.ray.write_npy(data, "stack")  # doctest: +SKIP

A task gets the description of its rows, and maps them. This means that a file may be larger
than a task's memory, and that many tasks read it. All workers on a machine share the page
cache. Elements are copied into Ray's object store only if an operator that Ray does not run
in the same task needs them.

Needs `pip install npymap[ray]`.
"""

import os
import shutil
from bisect import bisect
from functools import partial
from itertools import accumulate

import numpy as np
import ray.data
from ray.data import Datasink, Datasource, ReadTask
from ray.data.block import BlockAccessor, BlockMetadata

from . import _core
from ._io import save
from ._parts import Inflated, open_all
from ._paths import shown, to_path, to_source
from ._sampler import Sampler
from ._stacks import finish_stack, new_stack

__all__ = ["NpyDatasink", "NpyDatasource", "read_npy", "write_npy"]

# Ray splits larger blocks.
_BLOCK = 64 << 20


def read_npy(paths, *, member=None, column="data", shuffle=None, override_num_blocks=None,
             concurrency=None, ray_remote_args=None, headers=None, storage_options=None):
    """Make a dataset from the rows of one or several files.

    `paths` is a path, a URL or a list of them, or the directory of a stack. With `member`,
    arrays are members of `.npz`, `.ten` or tar files. A row is an element of `column`, and the
    fields of records are separate columns. This reads only headers.

    With `shuffle`, a seed, the rows are in the order of `npymap.Sampler`. Each task reads its
    part of a shuffled epoch, so tasks exchange no rows. If Ray preserves the order of blocks,
    batches have the order of the epoch.

    `headers` and `storage_options` are for URLs, like in `ArrayFile`. Tasks contain them.

    All other arguments are passed to `ray.data.read_datasource`.
    """
    source = NpyDatasource(paths, member=member, column=column, shuffle=shuffle, headers=headers,
                           storage_options=storage_options)
    return ray.data.read_datasource(source, override_num_blocks=override_num_blocks,
                                    concurrency=concurrency, ray_remote_args=ray_remote_args)


class NpyDatasource(Datasource):
    """Rows of files, for `ray.data.read_datasource`. `read_npy` makes it."""

    def __init__(self, paths, *, member=None, column="data", shuffle=None, headers=None,
                 storage_options=None):
        super().__init__()
        if isinstance(shuffle, bool):
            raise TypeError(f"shuffle={shuffle}, expected a seed or None")
        if not isinstance(paths, (list, tuple)):
            is_stack = os.path.isdir(to_source(paths))
            paths = _core.npy_stack_paths(to_path(paths)) if is_stack else [paths]
        files = open_all(paths, member, "r", headers, storage_options)
        self._rows = _AllRows(files, column, shuffle)

    def estimate_inmemory_data_size(self):
        """Return the size of the elements in bytes."""
        return self._rows.nbytes(len(self._rows))

    def get_read_tasks(self, parallelism, per_task_row_limit=None, data_context=None):
        """Return tasks for about equal numbers of rows."""
        tasks, rows = [], self._rows
        for start, stop in rows.split(parallelism):
            paths = tuple(rows.paths(start, stop))
            metadata = BlockMetadata(num_rows=stop - start, size_bytes=rows.nbytes(stop - start),
                                     input_files=tuple(map(shown, paths)), exec_stats=None)
            tasks.append(ReadTask(partial(_read, rows.part(start, stop), start, stop), metadata,
                                  per_task_row_limit=per_task_row_limit))
        return tasks


class _AllRows:
    """The rows of files in turn, from the row `first` on."""

    def __init__(self, parts, column, seed, first=0, total=None):
        if not parts or any(part.ndim == 0 or part.dtype != parts[0].dtype
                            or part.shape[1:] != parts[0].shape[1:] for part in parts):
            raise ValueError("all files must have rows, of the same dtype and the same axes")
        self.parts, self.column, self.seed, self.first = parts, column, seed, first
        self.ends = [first + end for end in accumulate(part.shape[0] for part in parts)]
        self.total = self.ends[-1] if total is None else total

    @property
    def is_inflated(self):
        """Whether a part is read whole each time."""
        return any(isinstance(part, Inflated) for part in self.parts)

    def __len__(self):
        return self.total

    def nbytes(self, count):
        """Return the size of rows."""
        part = self.parts[0]
        return count * int(np.prod(part.shape[1:], dtype=object)) * part.dtype.itemsize

    def split(self, count):
        """Return about `count` ranges of rows, each in one file unless they are shuffled."""
        each = max(-(-self.total // max(count, 1)), 1)
        starts = [0, *self.ends[:-1]] if self.seed is None else [0]
        ends = self.ends if self.seed is None else [self.total]
        for first, last in zip(starts, ends):
            if first == last:
                continue
            is_whole = self.seed is None and self.part(first, last).is_inflated
            step = max(last - first, 1) if is_whole else each
            yield from ((start, min(start + step, last)) for start in range(first, last, step))

    def part(self, start, stop):
        """Return the files that a task for a range of rows needs."""
        if self.seed is not None:
            return self
        number = bisect(self.ends, start)
        first = self.ends[number - 1] if number else 0
        return _AllRows([self.parts[number]], self.column, None, first, self.total)

    def paths(self, start, stop):
        """Return the paths of the files."""
        return sorted({part.path for part in self.part(start, stop).parts})

    def read(self, start, stop):
        """Map a range of rows, or read a range of the shuffled order."""
        if self.seed is None:
            return self.parts[0][start - self.first:stop - self.first]
        sampler = Sampler(self.total, seed=self.seed)
        sampler.seek(start)
        indices = sampler.next(stop - start)
        numbers = np.searchsorted(self.ends, indices, side="right")
        # Not `empty`, which gives the dtype "S0" a size.
        out = np.ndarray((len(indices), *self.parts[0].shape[1:]), self.parts[0].dtype)
        for number in np.unique(numbers):
            some = numbers == number
            first = self.ends[number - 1] if number else 0
            out[some] = self.parts[number][indices[some] - first]
        return out


def _read(rows, start, stop):
    """Yield blocks of a range of rows."""
    step = max(_BLOCK // max(rows.nbytes(1), 1), 1)
    # Compressed members are inflated once.
    whole = rows.read(start, stop) if rows.is_inflated else None
    for low in range(start, stop, step):
        high = min(low + step, stop)
        block = rows.read(low, high) if whole is None else whole[low - start:high - start]
        yield BlockAccessor.batch_to_block(_to_batch(block, rows.column))


def _to_batch(array, column):
    # Arrow has only the byte order of this machine.
    array = np.asarray(array)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.names is None:
        return {column: array}
    return {name: array[name] for name in array.dtype.names}


def write_npy(data, directory, *, column="data", concurrency=None, ray_remote_args=None):
    """Write a column of a dataset to the files of a new directory, by many tasks.

    `npymap.Concat.npy_stack`, `npymap.dask.from_npy` and `read_npy` read it. The directory
    gets its name when it is complete. The rows are in the order of the tasks.

    All other arguments are passed to `ray.data.Dataset.write_datasink`.
    """
    data.write_datasink(NpyDatasink(directory, column=column), concurrency=concurrency,
                        ray_remote_args=ray_remote_args)


class NpyDatasink(Datasink):
    """Files in a directory, for `ray.data.Dataset.write_datasink`. `write_npy` makes it."""

    def __init__(self, directory, *, column="data"):
        self._directory, self._partial = new_stack(directory)
        self._column = column

    def on_write_start(self, schema=None):
        """Create a directory with a temporary name."""
        os.makedirs(self._partial, exist_ok=True)

    def write(self, blocks, ctx):
        """Write each block to a file, and return descriptions of the files."""
        written = []
        for block in blocks:
            rows = BlockAccessor.for_block(block)
            # Blocks without rows have no columns.
            if rows.num_rows():
                array = rows.to_numpy(self._column)
                place = ctx.task_idx, len(written)
                save(self._path(*place), array, allow_pickle=False)
                written.append((place, array.shape, array.dtype))
        return written

    def _path(self, *place):
        return os.path.join(self._partial, "-".join(map(str, place)) + ".npy")

    def on_write_complete(self, write_result):
        """Number the files, and give the directory its name."""
        written = sorted(sum(write_result.write_returns, []), key=lambda file: file[0])
        if len({(shape[1:], dtype) for _, shape, dtype in written}) != 1:
            raise ValueError(f"the column {self._column!r} has no rows, or rows of several shapes "
                             "or dtypes, which are not one array")
        for number, (place, _, _) in enumerate(written):
            os.rename(self._path(*place), os.path.join(self._partial, f"{number}.npy"))
        _, shape, dtype = written[0]
        finish_stack(self._partial, self._directory, [shape[0] for _, shape, _ in written],
                     shape[1:], dtype)

    def on_write_failed(self, error):
        """Remove what was written."""
        shutil.rmtree(self._partial, ignore_errors=True)
