"""Training with PyTorch from files that are larger than memory.

    import npymap, npymap.torch

    images, labels = npymap.open("images.npy"), npymap.open("labels.npy")
    data = npymap.torch.Dataset(images, labels, dtype=["f4", "i8"])
    sampler = npymap.Sampler(len(data), seed=1, rank=rank, world_size=world_size)
    loader = npymap.torch.DataLoader(data, sampler, 256, num_workers=2)
    for epoch in range(3):
        for x, y in loader:
            ...
            saved = loader.state_dict()     # after this batch

Without workers, threads of `Batches` read the tensors ahead. With `num_workers`, each worker reads
a batch by one call, or with `iterable=True` ahead by threads of its own. Datasets and samplers are
sent to workers as paths and a few integers. This means that you can fork or spawn workers without
copying the data. However, arrays in memory are sent with their elements.
"""

import numpy as np
import torch
import torch.utils.data

from ._batches import Batches
from ._ragged import Ragged
from ._rows import as_bytes, numbers_of, rows_of
from ._sampler import Sampler

__all__ = ["BatchSampler", "Batches", "DataLoader", "Dataset", "IterableDataset"]


class Dataset(torch.utils.data.Dataset):
    """A map-style dataset, which returns rows of arrays as tensors by number.

    Each array is an object with `rows`: an array from `npymap.open`, an `ArrayFile`, a `Concat`,
    or `Rows`. For a `Ragged`, one row is a tensor, and several rows are a pair: the elements of
    all rows in turn, and their offsets. `dtype` is the dtype of the tensors, or a list with a
    dtype per array. Its byte order is ignored, because PyTorch's tensors have the machine's
    byte order. Note that PyTorch has few unsigned dtypes. `transform` gets the tensors of a row,
    or of a whole batch, and returns what the dataset will yield.

    You should use it with this module's `DataLoader`, which passes lists of rows, or with
    PyTorch's, which also passes lists to `__getitems__`.
    """

    def __init__(self, *arrays, dtype=None, casting="same_kind", transform=None):
        rows = [array if isinstance(array, Ragged) else rows_of(array) for array in arrays]
        if not rows:
            raise ValueError("a dataset needs at least one array")
        lengths = {len(rows_) for rows_ in rows}
        if len(lengths) != 1:
            raise ValueError(f"arrays of different lengths: {sorted(lengths)}")
        dtypes = dtype if isinstance(dtype, (list, tuple)) else [dtype] * len(rows)
        if len(dtypes) != len(rows):
            raise ValueError(f"{len(dtypes)} dtypes for {len(rows)} arrays")
        self._rows = rows
        self._dtypes = [
            (rows_.dtype if dtype_ is None else np.dtype(dtype_)).newbyteorder("=")
            for rows_, dtype_ in zip(rows, dtypes)
        ]
        self._casting = casting
        self._transform = transform

    def __len__(self):
        return len(self._rows[0])

    def __getitem__(self, index):
        """Return tensors of one row, or of the rows in a slice, a list or an array."""
        if isinstance(index, slice):
            index = numbers_of(range(*index.indices(len(self))))
        return self._to_item(self._take(rows, index, dtype) for rows, dtype in zip(self._rows, self._dtypes))

    def _take(self, rows, index, dtype):
        if not isinstance(rows, Ragged):
            return rows.take(index, dtype=dtype, casting=self._casting)
        packed = rows.take_packed(index, dtype=dtype, casting=self._casting)
        return packed[0] if np.ndim(index) == 0 else packed

    def _to_item(self, arrays):
        tensors = tuple(tuple(map(_to_tensor, array)) if isinstance(array, tuple) else _to_tensor(array)
                        for array in arrays)
        item = tensors[0] if len(tensors) == 1 else tensors
        return item if self._transform is None else self._transform(item)

    def _read_ahead(self, *order, **options):
        """Yield items for batches of rows, which threads read ahead."""
        with Batches(self._rows, *order, dtype=self._dtypes, casting=self._casting, **options) as batches:
            for _, *arrays in batches:
                yield self._to_item(arrays)

    def __getitems__(self, indices):
        """Read rows together, and return a list of them for PyTorch to collate."""
        has_ragged = any(isinstance(rows, Ragged) for rows in self._rows)
        if self._transform is not None or has_ragged:
            return [self[index] for index in indices]
        batch = self[indices]
        return list(batch) if len(self._rows) == 1 else list(zip(*batch))


class BatchSampler(torch.utils.data.Sampler):
    """Yields the rest of the sampler's epoch in batches, as arrays of row numbers.

    Use it with PyTorch's `DataLoader(data, sampler=BatchSampler(...), batch_size=None)`, which
    passes each array to the dataset as a whole.
    """

    def __init__(self, sampler, batch_size, *, drop_last=False):
        if batch_size < 1:
            raise ValueError(f"batches of {batch_size} rows")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __len__(self):
        """The number of batches left in this epoch."""
        rows = self.sampler.remaining
        return rows // self.batch_size if self.drop_last else -(-rows // self.batch_size)

    def __iter__(self):
        # A copy, because PyTorch asks for batches before they are used.
        return self.sampler.copy().batches(self.batch_size, drop_last=self.drop_last)

    def _part(self, worker, workers):
        """Yield every `workers`-th batch."""
        sampler, size = self.sampler.copy(), self.batch_size
        start = len(sampler) - sampler.remaining
        for number in range(worker, len(self), workers):
            sampler.seek(start + number * size)
            yield sampler.next(size)


class IterableDataset(torch.utils.data.IterableDataset):
    """An iterable-style dataset, which yields a sampler's batches as tensors.

    Worker `i` of `n` reads the batches `i`, `i + n`, …, and PyTorch yields them in turn, so
    the order does not depend on the number of workers. The threads of `Batches` read a `Dataset`
    ahead. Use it with this module's `DataLoader`, or with PyTorch's and `batch_size=None`.
    """

    def __init__(self, dataset, sampler, batch_size, *, drop_last=False):
        self.dataset = dataset
        self.batch_sampler = BatchSampler(sampler, batch_size, drop_last=drop_last)

    def __len__(self):
        return len(self.batch_sampler)

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        order = self.batch_sampler
        if not _is_read_ahead(self.dataset):
            return map(self.dataset.__getitem__, order._part(worker, workers))
        if workers > 1 or len(order) == 0:
            return self.dataset._read_ahead(order._part(worker, workers))
        # The sources know the order of a sampler.
        return self.dataset._read_ahead(order.sampler, order.batch_size, drop_last=order.drop_last)


def _is_read_ahead(dataset):
    """Return whether `Batches` read what the dataset returns."""
    return getattr(type(dataset), "__getitem__", None) is Dataset.__getitem__


class DataLoader(torch.utils.data.DataLoader):
    """PyTorch's `DataLoader`, which reads each batch by one call and can be resumed.

    `dataset` is this module's `Dataset`, or an object with a `__getitem__` for arrays of row
    numbers. Each iteration is the rest of the sampler's epoch, and leaves the sampler at the
    start of the next epoch. With `iterable=True`, workers compute the row numbers themselves,
    instead of getting them from the main process. However, such workers cannot be persistent.

    `state_dict()` is the state after the last yielded batch, however many batches the workers
    have read ahead. `load_state_dict()` will continue with the next batch, and you can change
    the number of workers.

    Without a sampler, batches are in order, or shuffled by a seed from PyTorch's generator with
    `shuffle=True`. All other arguments are passed to PyTorch's `DataLoader`.
    """

    def __init__(self, dataset, sampler=None, batch_size=1, *, shuffle=False, drop_last=False,
                 iterable=False, **options):
        if isinstance(sampler, int):
            raise TypeError(f"a sampler {sampler}, expected a Sampler: batch_size={sampler} is the size")
        if sampler is None:
            seed = int(torch.randint(1 << 62, ())) if shuffle else 0
            sampler = Sampler(len(dataset), seed=seed, order="shuffled" if shuffle else "sequential")
        elif shuffle:
            raise ValueError("both a sampler and shuffle=True, expected one of them")
        self._order = BatchSampler(sampler, batch_size, drop_last=drop_last)
        self._batches = None
        if not options.get("in_order", True):
            raise ValueError("the state after a batch needs in_order=True")
        if iterable and options.get("persistent_workers"):
            raise ValueError("persistent workers need iterable=False")
        source = IterableDataset(dataset, sampler, batch_size, drop_last=drop_last)
        if iterable:
            super().__init__(source, batch_size=None, **options)
        else:
            super().__init__(dataset, sampler=self._order, batch_size=None, **options)
        # Without workers, the attribute `dataset` stays what was passed.
        is_alone = not iterable and self.num_workers == 0 and _is_read_ahead(dataset)
        self._ahead = torch.utils.data.DataLoader(source, batch_size=None, **options) if is_alone else None

    def __len__(self):
        """The number of batches in this iteration, or in the next iteration."""
        return len(self._order) if self._batches is None else len(self._batches)

    def __iter__(self):
        sampler, size = self._order.sampler, self._order.batch_size
        batches = self._batches = range(len(self._order))
        start = len(sampler) - sampler.remaining
        try:
            loaded = super().__iter__() if self._ahead is None else iter(self._ahead)
            for number in batches:
                batch = next(loaded)
                sampler.seek(min(start + (number + 1) * size, len(sampler)))
                yield batch
            sampler.set_epoch(sampler.epoch + 1)
        finally:
            # Unless there is a later iteration.
            if self._batches is batches:
                self._batches = None

    def state_dict(self):
        """Return the state after the last yielded batch."""
        return self._order.sampler.state_dict()

    def load_state_dict(self, state):
        """Continue after the batch where you saved the state."""
        self._batches = None
        self._order.sampler.load_state_dict(state)


def _to_tensor(array):
    """Return a tensor with the memory of a new array."""
    # Not `from_numpy`, which fails if PyTorch was built for another release of NumPy.
    dtype = getattr(torch, array.dtype.name, None)
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"PyTorch has no tensors of {array.dtype}: choose a dtype")
    if array.size == 0:
        return torch.empty(array.shape, dtype=dtype)
    return torch.frombuffer(as_bytes(array), dtype=dtype).reshape(array.shape)
