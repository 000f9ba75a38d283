"""Row indices in random order."""

import operator

import numpy as np

from . import _core
from ._rows import as_bytes


class Sampler:
    """Row indices in random order, in constant memory, whatever the length.

    The order is computed, not stored: an epoch of 10¹² rows starts at once, can be
    entered anywhere, and is the same on every machine. Each iteration is one epoch, so
    it can be passed to PyTorch as `sampler`.

        >>> sampler = npymap.Sampler(10, seed=1)
        >>> sorted(sampler) == list(range(10))
        True
        >>> sampler.epoch
        1
        >>> sampler.next(4).dtype
        dtype('int64')

    `order` is one of

    - "shuffled": each row once per epoch
    - "sequential": from first to last
    - "blocks": blocks of `block` rows in random order, and the rows of `buffer` blocks
      at a time in random order, for files that are larger than memory
    - "replacement": `draws` rows, each of any number; with `weights`, of a probability
      proportional to its weight

    Ranks and workers each get their own part of the same epoch: pass `rank`, `world`,
    `worker` and `workers`. If the rows cannot be distributed evenly, with `tail`
    "keep" some ranks get one more, with "drop" the rest is dropped, and with "pad" the
    first rows are repeated.
    """

    def __init__(self, length, *, seed=0, order="shuffled", block=1, buffer=1, draws=None,
                 weights=None, rank=0, world=1, worker=0, workers=1, tail="keep"):
        if weights is not None:
            weights = np.ascontiguousarray(weights, np.float64)
            if order not in ("shuffled", "replacement"):
                raise ValueError(f"order {order!r} has no weights")
        kind = order, operator.index(seed), block, buffer, draws, weights
        share = rank, world, worker, workers
        self._arguments = operator.index(length), kind, share, tail
        self._core = _core.Sampler(*self._arguments)

    def __len__(self):
        """The number of rows of a whole epoch, for this rank and worker."""
        return self._core.lengths[0]

    def __repr__(self):
        length, kind, share, _ = self._arguments
        return (f"<npymap.Sampler: {kind[0]}, {length} rows, seed {kind[1]}, epoch {self.epoch}, "
                f"rank {share[0]} of {share[1]}>")

    @property
    def remaining(self):
        """The number of rows that are left in this epoch."""
        return self._core.lengths[1]

    @property
    def epoch(self):
        """The number of the epoch, from 0."""
        return self._core.epoch

    def set_epoch(self, epoch):
        """Start an epoch."""
        self._core.set_epoch(operator.index(epoch))

    def seek(self, position):
        """Move to a position in this epoch, counted in rows of this sampler."""
        self._core.seek(operator.index(position))

    def next(self, count):
        """Return the next `count` indices, or those that are left in this epoch.

        After the last ones, returns an empty array; `set_epoch` starts the next epoch.
        """
        count = operator.index(count)
        # A few more places than indices do no harm, and asking takes time.
        indices = np.empty(count if 0 <= count < 4096 else min(count, self.remaining), np.int64)
        found = self._core.next_into(as_bytes(indices))
        return indices if found == count else indices[:found]

    def __iter__(self):
        """Yield the rest of this epoch, then start the next one."""
        while len(indices := self.next(1024)):
            yield from indices.tolist()
        self.set_epoch(self.epoch + 1)

    def batches(self, size, *, drop_last=False):
        """Yield arrays of `size` indices until the epoch ends, then start the next one.

        The last one may be shorter, or with `drop_last=True` is left out.
        """
        if size < 1:
            raise ValueError(f"batches of {size} rows")
        while self.remaining >= size or self.remaining and not drop_last:
            yield self.next(size)
        self.set_epoch(self.epoch + 1)

    def state_dict(self):
        """Return the state: a dictionary of integers."""
        fingerprint, seed, epoch, position = self._core.state
        return {"fingerprint": fingerprint, "seed": seed, "epoch": epoch, "position": position}

    def load_state_dict(self, state):
        """Continue from the state of a sampler of the same rows, order and share."""
        keys = "fingerprint", "seed", "epoch", "position"
        self._core.resume([operator.index(state[key]) for key in keys])

    def part(self, worker, workers):
        """Return a sampler of one worker's part of this sampler's rows."""
        length, kind, (rank, world, _, _), tail = self._arguments
        part = object.__new__(Sampler)
        part._arguments = length, kind, (rank, world, worker, workers), tail
        part._core = _core.Sampler(*part._arguments)
        part.set_epoch(self.epoch)
        return part

    def copy(self):
        """Return a sampler in the same state."""
        return _restore(self._arguments, tuple(self._core.state))

    def __reduce__(self):
        return _restore, (self._arguments, tuple(self._core.state))


def _restore(arguments, state):
    sampler = object.__new__(Sampler)
    sampler._arguments = arguments
    sampler._core = _core.Sampler(*arguments)
    sampler._core.resume(list(state))
    return sampler
