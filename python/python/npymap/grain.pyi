from collections.abc import Sequence
from typing import Any, NoReturn

import grain  # type: ignore[import-not-found, import-untyped, unused-ignore]
from numpy.typing import DTypeLike

from . import Sampler

__all__ = ["IterDataset"]

class IterDataset(grain.IterDataset[Any]):
    def __init__(
        self,
        arrays: Any,
        sampler: Sampler,
        batch_size: int,
        *,
        epochs: int = 1,
        drop_last: bool = False,
        threads: int | None = None,
        prefetch: int | None = None,
        dtype: DTypeLike | None | Sequence[DTypeLike | None] = None,
        casting: str = "same_kind",
    ) -> None: ...
    def __iter__(self) -> grain.DatasetIterator[Any]: ...
    def set_slice(self, part: slice, sequential_slice: bool = False) -> NoReturn: ...
