"""Batches read ahead by threads."""

import os
import threading

import numpy as np

from . import _core
from ._dtypes import to_cast
from ._ragged import Ragged
from ._rows import as_indices, rows_of
from ._sampler import Sampler


class Batches:
    """Iterates over batches `(indices, rows, …)` that threads read ahead.

    `arrays` is an array or its rows, that is anything with the attribute `rows`, or a list of
    arrays with the same length. For a `Ragged`, batches have a pair: the elements of all rows
    in turn, and their offsets, like `Ragged.take_packed` returns them. `sampler` is a
    `Sampler`, or any iterable of batches, each a list of row numbers. This draws them ahead, so
    they cannot depend on an earlier batch. Without a sampler, batches have the rows in order.

        >>> a = npymap.open("a.npy")
        >>> sampler = npymap.Sampler(len(a), seed=1)
        >>> for indices, x in npymap.Batches(a, sampler, 2, dtype="f4"):
        ...     print(x.shape, x.dtype, np.array_equal(x, a[indices]))
        (2, 4) float32 True
        (1, 4) float32 True

    A sampler's batches have `batch_size` rows. They cover the next `epochs` epochs, by default
    only the current epoch, and are read ahead across epochs. The sampler itself does not move.
    `state_dict()` is the state after the last yielded batch, however many batches have been
    read ahead, so `sampler.load_state_dict(state)` will continue with the next batch.

    `threads` read `prefetch` batches, without holding the GIL. By default, these are two per
    thread, and this measures how many threads make batches come sooner. It starts without
    threads, so you wait for each batch. If the next batch of a sampler is not ready, the
    thread that iterates reads one meanwhile, unless a server has its rows. So by default at
    least four batches are read ahead with a sampler. A batch's memory is reused when you no
    longer refer to it. `dtype` and `casting` mean the same as for `Rows.take`. For a list of
    arrays, `dtype` may be a list.

    If the rows of a batch cannot be read, this raises, and the next call will return the
    next batch. An exception from the iterable also takes the place of its batch.

    Threads end with the batches, by `close()`, or when the object is deleted. It raises in a
    forked process, where you should create a new object. Your threads can share one object,
    and each batch goes to one of them.
    """

    def __init__(self, arrays, sampler=None, batch_size=None, *, epochs=None, drop_last=False,
                 threads=None, prefetch=None, dtype=None, casting="same_kind"):
        is_list = isinstance(arrays, (list, tuple))
        arrays = list(arrays) if is_list else [arrays]
        rows = [array if isinstance(array, Ragged) else rows_of(array) for array in arrays]
        if not rows:
            raise ValueError("batches need at least one array")
        lengths = {len(rows_) for rows_ in rows}
        if len(lengths) != 1:
            raise ValueError(f"arrays of different lengths: {sorted(lengths)}")
        # A list of fields is the dtype of a single array.
        is_each = is_list and isinstance(dtype, (list, tuple))
        dtypes = dtype if is_each else [dtype] * len(rows)
        if len(dtypes) != len(rows):
            raise ValueError(f"{len(dtypes)} dtypes for {len(rows)} arrays")
        _core.check_casting(casting)
        self._outputs = []
        plan = []
        for rows_, dtype_ in zip(rows, dtypes):
            dtype_ = rows_.dtype if dtype_ is None else np.dtype(dtype_)
            cast = None if dtype_ == rows_.dtype else to_cast(dtype_, casting, rows_.dtype)
            plan.append((rows_._core, cast))
            is_ragged = isinstance(rows_, Ragged)
            self._outputs.append((rows_._shape if is_ragged else rows_.shape[1:], dtype_, is_ragged))
        self._count = len(rows[0])
        self._batch_size = batch_size
        self._lists = self._state = self._error = None
        order = None
        if isinstance(sampler, (int, np.integer)):
            raise TypeError(f"a sampler {sampler}: batch_size={sampler} reads the rows in order, and "
                            f"npymap.Sampler({self._count}), {sampler} in random order")
        if sampler is None:
            sampler = Sampler(self._count, order="sequential")
        if isinstance(sampler, Sampler):
            if batch_size is None or batch_size < 1:
                raise ValueError(f"batch_size={batch_size}, expected at least 1")
            self._state = sampler.state_dict()
            order = sampler._core, (1 if epochs is None else epochs, batch_size), drop_last
        else:
            if batch_size is not None or epochs is not None or drop_last:
                raise ValueError("lists of rows have their own sizes: batch_size, epochs and "
                                 "drop_last are for a sampler")
            self._lists = iter(sampler)
        least = 1 if threads is None else max(threads, 1)
        self._depth = (2 * least if prefetch is None else max(prefetch, 1)) + least
        # Batches are yielded one at a time, each with its own indices and state.
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._core = _core.Batches(plan, (threads, prefetch), order)

    def __repr__(self):
        arrays = "1 array" if len(self._outputs) == 1 else f"{len(self._outputs)} arrays"
        batches = "batches of an iterable"
        if self._state is not None:
            batches = (f"batches of {self._batch_size}, at row {self._state['position']} of "
                       f"epoch {self._state['epoch']}")
        return f"<npymap.Batches: {arrays} of {self._count} rows, {batches}>"

    def __iter__(self):
        return self

    def __next__(self):
        if os.getpid() != self._process:
            # A thread of the other process may have held the lock.
            raise ValueError("these batches were started before the fork: create new ones in the "
                             "child process")
        with self._lock:
            return self._next()

    def _next(self):
        if self._lists is not None and self._error is None:
            self._push()
        if self._error is not None and not self._core.under_way:
            # In the place of its batch.
            error, self._error = self._error, None
            try:
                raise error
            finally:
                del error
        found = self._core.next()
        if found is None:
            self.close()
            raise StopIteration
        buffers, indices, state = found
        indices = np.frombuffer(bytearray(indices), np.int64)
        if state is not None:
            keys = "fingerprint", "seed", "epoch", "position"
            self._state = dict(zip(keys, state))
        buffers, arrays = iter(buffers), []
        for shape, dtype, is_ragged in self._outputs:
            buffer = next(buffers)
            if is_ragged:
                offsets = np.ndarray(len(indices) + 1, np.int64, next(buffers))
                arrays.append((np.ndarray((offsets[-1], *shape), dtype, buffer), offsets))
            else:
                arrays.append(np.ndarray((len(indices), *shape), dtype, buffer))
        return indices, *arrays

    def _push(self):
        """Pass lists of rows to the threads, a few batches ahead."""
        # Another thread may close these batches.
        lists = self._lists
        while lists is not None and self._core.under_way < self._depth:
            try:
                rows = as_indices(next(lists)).reshape(-1)
            except StopIteration:
                self._lists = None
                self._core.finish()
                return
            except Exception as error:
                # Without the frame of this function, which has a reference to this object.
                trace = error.__traceback__
                self._error = error.with_traceback(trace and trace.tb_next)
                return
            self._core.push(self._count, rows)

    @property
    def epoch(self):
        """The epoch of the last yielded batch, if there is a sampler."""
        return None if self._state is None else self._state["epoch"]

    def state_dict(self):
        """Return the sampler's state after the last yielded batch."""
        if self._state is None:
            raise ValueError("only batches of a Sampler have a state")
        return dict(self._state)

    def close(self):
        """Stop the threads, and wait until they have ended."""
        self._lists = self._error = None
        if os.getpid() == self._process:
            self._core.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
