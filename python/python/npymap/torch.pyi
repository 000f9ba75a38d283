from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]
import torch.utils.data  # type: ignore[import-not-found, unused-ignore]
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import Batches as Batches
from . import Sampler

__all__ = ["BatchSampler", "Batches", "DataLoader", "Dataset", "IterableDataset"]

class Dataset(torch.utils.data.Dataset[Any]):
    def __init__(
        self,
        *arrays: Any,
        dtype: DTypeLike | None | Sequence[DTypeLike | None] = None,
        casting: str = "same_kind",
        transform: Callable[[Any], Any] | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: ArrayLike | slice) -> Any: ...
    def __getitems__(self, indices: Sequence[int]) -> list[Any]: ...

class BatchSampler(torch.utils.data.Sampler[NDArray[Any]]):
    sampler: Sampler
    batch_size: int
    drop_last: bool
    def __init__(self, sampler: Sampler, batch_size: int, *, drop_last: bool = False) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[NDArray[Any]]: ...

class IterableDataset(torch.utils.data.IterableDataset[Any]):
    dataset: Any
    batch_sampler: BatchSampler
    def __init__(
        self, dataset: Any, sampler: Sampler, batch_size: int, *, drop_last: bool = False
    ) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...

class DataLoader(torch.utils.data.DataLoader[Any]):
    def __init__(
        self,
        dataset: Any,
        sampler: Sampler | None = None,
        batch_size: int = 1,
        *,
        shuffle: bool = False,
        drop_last: bool = False,
        iterable: bool = False,
        **options: Any,
    ) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...  # type: ignore[override]
    def state_dict(self) -> dict[str, int]: ...
    def load_state_dict(self, state: Mapping[str, int]) -> None: ...
