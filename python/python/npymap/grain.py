"""Batches for Grain that threads read ahead.

    import npymap, npymap.grain

    sampler = npymap.Sampler(len(images), seed=1, rank=rank, world_size=world_size)
    data = npymap.grain.IterDataset([images, labels], sampler, 256, dtype=["f4", "i4"])
    batches = iter(data.map(augment))
    for x, y in batches:
        ...
        saved = batches.get_state()             # after this batch
"""

import grain

from ._batches import Batches

__all__ = ["IterDataset"]


class IterDataset(grain.IterDataset):
    """Yields the batches of `npymap.Batches`: an array, or a tuple if `arrays` is a list.

    The arguments mean the same as for `Batches`. An iterator's state is the sampler's state after
    the last batch, which `set_state` continues from, however many batches were read ahead.

    The threads need no processes beside them, so `mp_prefetch`, which divides a source among
    processes, raises.
    """

    def __init__(self, arrays, sampler, batch_size, *, epochs=1, **options):
        super().__init__()
        self._arrays, self._sampler = arrays, sampler.copy()
        self._batch_size, self._epochs, self._options = batch_size, epochs, options

    def __iter__(self):
        return _Iterator(self)

    def set_slice(self, part, sequential_slice=False):
        """Raise, because processes cannot divide these rows."""
        raise ValueError("threads read these batches, which processes of mp_prefetch cannot divide: leave it out, or "
                         "use a grain.MapDataset whose source returns batches")


class _Iterator(grain.DatasetIterator):
    """The batches of a dataset, which start when the first one is needed."""

    def __init__(self, data):
        super().__init__()
        self._data, self._batches = data, None
        self._sampler = data._sampler.copy()
        self._end = self._sampler.epoch + data._epochs

    def __next__(self):
        data = self._data
        if data is None:
            raise ValueError("the iterator is closed")
        if self._batches is None:
            epochs = self._end - self._sampler.epoch
            self._batches = Batches(data._arrays, self._sampler, data._batch_size, epochs=epochs, **data._options)
        _, *arrays = next(self._batches)
        return tuple(arrays) if isinstance(data._arrays, (list, tuple)) else arrays[0]

    def get_state(self):
        """Return the state after the last batch."""
        return (self._sampler if self._batches is None else self._batches).state_dict()

    def set_state(self, state):
        """Continue after the batch where you saved the state."""
        self._sampler.load_state_dict(state)
        self._stop()

    def close(self):
        """Stop the threads."""
        self._stop()
        self._data = None
        super().close()

    def _stop(self):
        if self._batches is not None:
            self._batches.close()
            self._batches = None
