import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, overload

import dask.array as da
from dask.delayed import Delayed

__all__ = ["from_npy", "to_npy", "to_npy_stack"]

_Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Headers: TypeAlias = Mapping[str, str] | None
_StorageOptions: TypeAlias = Mapping[str, Any] | None
_Axis: TypeAlias = int | str | None | Sequence[int]
_Chunks: TypeAlias = int | str | Sequence[_Axis] | Mapping[int, _Axis]

def from_npy(
    paths: _Path | Sequence[_Path],
    chunks: _Chunks = "auto",
    *,
    member: str | int | None = None,
    mode: Literal["r"] | None = "r",
    headers: _Headers = None,
    storage_options: _StorageOptions = None,
) -> da.Array: ...
@overload
def to_npy(
    array: Any,
    path: _Path,
    *,
    overwrite: bool = False,
    compute: Literal[True] = True,
    discard_trailing: bool = False,
) -> None: ...
@overload
def to_npy(
    array: Any,
    path: _Path,
    *,
    overwrite: bool = False,
    compute: Literal[False],
    discard_trailing: bool = False,
) -> Delayed: ...
@overload
def to_npy_stack(array: Any, directory: _Path, *, compute: Literal[True] = True) -> None: ...
@overload
def to_npy_stack(array: Any, directory: _Path, *, compute: Literal[False]) -> Delayed: ...
