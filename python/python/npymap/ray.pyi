import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ray.data import Dataset, Datasink, Datasource, ReadTask

__all__ = ["NpyDatasink", "NpyDatasource", "read_npy", "write_npy"]

_Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Headers: TypeAlias = Mapping[str, str] | None
_StorageOptions: TypeAlias = Mapping[str, Any] | None

def read_npy(
    paths: _Path | Sequence[_Path],
    *,
    member: str | int | None = None,
    column: str = "data",
    shuffle: int | None = None,
    override_num_blocks: int | None = None,
    concurrency: int | None = None,
    ray_remote_args: dict[str, Any] | None = None,
    headers: _Headers = None,
    storage_options: _StorageOptions = None,
) -> Dataset: ...
def write_npy(
    data: Dataset,
    directory: _Path,
    *,
    column: str = "data",
    concurrency: int | None = None,
    ray_remote_args: dict[str, Any] | None = None,
) -> None: ...

class NpyDatasource(Datasource):
    def __init__(
        self,
        paths: _Path | Sequence[_Path],
        *,
        member: str | int | None = None,
        column: str = "data",
        shuffle: int | None = None,
        headers: _Headers = None,
        storage_options: _StorageOptions = None,
    ) -> None: ...
    def estimate_inmemory_data_size(self) -> int: ...
    def get_read_tasks(
        self,
        parallelism: int,
        per_task_row_limit: int | None = None,
        data_context: Any = None,
    ) -> list[ReadTask]: ...

class NpyDatasink(Datasink[Any]):
    def __init__(self, directory: _Path, *, column: str = "data") -> None: ...
    def on_write_start(self, schema: Any = None) -> None: ...
    def write(self, blocks: Iterable[Any], ctx: Any) -> list[Any]: ...
    def on_write_complete(self, write_result: Any) -> None: ...
    def on_write_failed(self, error: Exception) -> None: ...
