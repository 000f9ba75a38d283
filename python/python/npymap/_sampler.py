"""Row indices, in the order of an epoch."""

import operator

import numpy as np

from . import _core
from ._rows import as_bytes


def _to_length(length):
    try:
        return operator.index(length)
    except TypeError:
        # An array, or the like.
        return len(length)


class Sampler:
    """Yields the row indices of an epoch, shuffled by default, in constant memory.

    The order is computed instead of stored. This means that an epoch of 10¹² rows starts at
    once, that you can enter it anywhere, and that it is the same on every machine. Each
    iteration is one epoch, so you can pass this to PyTorch as `sampler`. `next` and `batches`
    take less time per index.

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
    - "replacement": `draws` random rows, which may repeat, with probabilities proportional
      to `weights` if you pass them. This is the default with weights

    `length` is the number of rows, or an object with a length, such as an array or an
    `ArrayFile`. Arguments that don't belong to the order raise `ValueError`.

    To share an epoch among ranks and workers, pass `rank`, `world_size`, `worker` and
    `num_workers`. Each will get its own part. If the rows cannot be distributed evenly, `tail`
    decides: with "keep" some ranks get one row more, "drop" drops the rest, and "pad"
    repeats the first rows.
    """

    def __init__(self, length, *, seed=0, order="shuffled", block=1, buffer=1, draws=None,
                 weights=None, rank=0, world_size=1, worker=0, num_workers=1, tail="keep"):
        if weights is not None:
            # A copy, because the program may change its array.
            weights = np.array(weights, np.float64, order="C")
            if weights.ndim != 1:
                raise ValueError(f"weights of shape {weights.shape}, expected one axis")
            order = "replacement" if order == "shuffled" else order
        block, buffer = operator.index(block), operator.index(buffer)
        if min(block, buffer) < 1:
            raise ValueError(f"block {block} and buffer {buffer}, expected at least 1")
        draws = None if draws is None else operator.index(draws)
        kind = order, operator.index(seed), block, buffer, draws, weights
        shard = tuple(operator.index(number) for number in (rank, world_size, worker, num_workers))
        self._arguments = _to_length(length), kind, shard, tail
        # Refuses orders that it does not know.
        self._core = _core.Sampler(*self._arguments)
        _check_order(order, block, buffer, draws, weights)

    def __len__(self):
        """The number of rows in a whole epoch, for this rank and worker."""
        return self._core.lengths[0]

    def __repr__(self):
        length, (order, *_), (rank, world_size, worker, num_workers), _ = self._arguments
        _, seed, epoch, _ = self._core.state
        seed = "" if order == "sequential" else f"seed {seed}, "
        worker = "" if num_workers == 1 else f", worker {worker} of {num_workers}"
        return (f"<npymap.Sampler: {order}, {length} rows, {seed}epoch {epoch}, "
                f"rank {rank} of {world_size}{worker}>")

    @property
    def remaining(self):
        """The number of rows left in this epoch."""
        return self._core.lengths[1]

    @property
    def epoch(self):
        """The number of the epoch, from 0."""
        return self._core.epoch

    def set_epoch(self, epoch):
        """Start an epoch."""
        self._core.set_epoch(operator.index(epoch))

    def seek(self, position):
        """Move to a position in this epoch, counted in rows of this sampler.

        Positions after the end of the epoch raise `ValueError`.
        """
        position, length = operator.index(position), self._core.lengths[0]
        if not 0 <= position <= length:
            raise ValueError(f"position {position} of an epoch of {length} rows")
        self._core.seek(position)

    def next(self, count):
        """Return the next `count` indices, or fewer at the end of this epoch.

        After the last index, this returns an empty array. Then `set_epoch` starts the next epoch.
        """
        return self._next(count)

    def _next(self, count, epoch=None):
        """Return the next indices, or no indices after this epoch."""
        count = operator.index(count)
        # A few more places than indices do no harm, and asking takes time.
        indices = np.empty(count if 0 <= count < 4096 else min(count, self.remaining), np.int64)
        found = self._core.next_into(as_bytes(indices), epoch)
        return indices if found == count else indices[:found]

    def __iter__(self):
        """Yield the rest of this epoch, then start the next epoch.

        The sampler is always right after the last yielded index. Its iterators share its
        position, so each index goes to one of them, and they end together.
        """
        core, epoch = self._core, self._core.epoch
        # One at a time: the program may move the sampler between any two of them.
        while (index := core.next_index(epoch)) is not None:
            yield index
        core.finish(epoch)

    def batches(self, batch_size, *, drop_last=False):
        """Yield arrays of `batch_size` indices until the epoch ends, then start the next epoch.

        The last array may be shorter, or is left out with `drop_last=True`.
        """
        size = operator.index(batch_size)
        if size < 1:
            raise ValueError(f"batches of {size} rows")
        least, epoch = size if drop_last else 1, self.epoch
        while self.epoch == epoch and self.remaining >= least:
            batch = self._next(size, epoch)
            # Another thread may have drawn the last ones.
            if len(batch) >= least:
                yield batch
        self._core.finish(epoch)

    def state_dict(self):
        """Return the state: a dictionary of integers."""
        fingerprint, seed, epoch, position = self._core.state
        return {"fingerprint": fingerprint, "seed": seed, "epoch": epoch, "position": position}

    def load_state_dict(self, state):
        """Continue from the state of a sampler with the same rows, order and shard.

        This also sets the seed.
        """
        keys = "fingerprint", "seed", "epoch", "position"
        self._core.resume([operator.index(state[key]) for key in keys])

    def part(self, worker, num_workers):
        """Return a sampler for one worker's part of this sampler's rows, at its first row.

        Raises `ValueError` if this sampler already belongs to one of several workers.
        """
        length, (order, _, *kind), (rank, world_size, number, count), tail = self._arguments
        if count != 1:
            raise ValueError(f"the part of worker {number} of {count} cannot be divided again: "
                             "expected a sampler of all workers")
        shard = rank, world_size, operator.index(worker), operator.index(num_workers)
        _, seed, epoch, _ = self._core.state
        part = object.__new__(Sampler)
        part._arguments = length, (order, seed, *kind), shard, tail
        part._core = _core.Sampler(*part._arguments)
        part.set_epoch(epoch)
        return part

    def copy(self):
        """Return a sampler in the same state."""
        return _restore(self._arguments, tuple(self._core.state))

    def __reduce__(self):
        return _restore, (self._arguments, tuple(self._core.state))


def _check_order(order, block, buffer, draws, weights):
    """Raise `ValueError` for arguments that do not belong to an order."""
    if order != "blocks" and (block, buffer) != (1, 1):
        raise ValueError(f"order {order!r} has no blocks: block {block} and buffer {buffer}, "
                         "expected 1")
    if order != "replacement" and draws is not None:
        raise ValueError(f"order {order!r} has each row once: draws {draws}, expected None")
    if order != "replacement" and weights is not None:
        raise ValueError(f"order {order!r} has no weights")


def _restore(arguments, state):
    sampler = object.__new__(Sampler)
    sampler._arguments = arguments
    sampler._core = _core.Sampler(*arguments)
    sampler._core.resume(list(state))
    return sampler
