import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import IO, Any, Literal, NamedTuple, Self, SupportsIndex, TypeAlias, overload
from zipfile import ZipFile

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import format as format
from ._core import Recovery as Recovery

__version__: str

_Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Mode: TypeAlias = Literal["r", "readonly", "r+", "readwrite", "c", "copyonwrite"]
_AnyMode: TypeAlias = _Mode | Literal["w+", "write"]
_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Order: TypeAlias = Literal["C", "F"]
_Advice: TypeAlias = Literal["normal", "random", "sequential"]
_Encoding: TypeAlias = Literal["ASCII", "latin1", "bytes"]
_Rows: TypeAlias = slice | tuple[int | None, int | None] | None

__all__ = [
    "FormatError",
    "Header",
    "Npz",
    "Recovery",
    "Tar",
    "Ten",
    "create",
    "format",
    "header",
    "load",
    "memmap",
    "open",
    "open_memmap",
    "recover",
    "resize",
    "save",
    "savez",
    "savez_compressed",
]

class FormatError(ValueError):
    filename: str | None
    member: str | None
    kind: str
    def __init__(
        self,
        message: str,
        filename: str | None = None,
        member: str | None = None,
        kind: str = "Damaged",
    ) -> None: ...

class Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran_order: bool
    version: tuple[int, int]
    offset: int

class memmap(np.memmap[Any, Any]):
    def __new__(
        cls,
        filename: Any,
        dtype: DTypeLike = ...,
        mode: _AnyMode = "r+",
        offset: int = 0,
        shape: _Shape | None = None,
        order: _Order = "C",
    ) -> Self: ...
    def __array_finalize__(self, obj: NDArray[Any] | None, /) -> None: ...  # type: ignore[override]
    @property
    def filename(self) -> str | os.PathLike[str] | None: ...  # type: ignore[override]
    @property
    def mode(self) -> str | None: ...  # type: ignore[override]
    @property
    def offset(self) -> int | None: ...  # type: ignore[override]
    @property
    def member(self) -> str | None: ...
    def __getitem__(self, index: Any) -> Any: ...
    def flush(self, rows: _Rows = None, *, wait: bool = True) -> None: ...
    def advise(self, advice: _Advice, rows: _Rows = None) -> None: ...
    def prefetch(self, rows: _Rows = None) -> None: ...
    def populate(self, rows: _Rows = None) -> None: ...
    def drop_cache(self, rows: _Rows = None) -> None: ...
    def resident_bytes(self, rows: _Rows = None) -> int | None: ...
    def check(self) -> None: ...
    def lock(
        self, kind: Literal["shared", "exclusive"] = "shared", *, wait: bool = True
    ) -> AbstractContextManager[Any, None]: ...

def open(
    path: _Path,
    mode: _Mode = "r",
    *,
    member: str | int | None = None,
    at: int = 0,
    max_header_size: int = 10_000,
    advice: _Advice = "normal",
) -> memmap: ...
def create(
    path: _Path,
    dtype: DTypeLike,
    shape: _Shape,
    *,
    order: _Order = "C",
    overwrite: bool = False,
    sparse: bool = False,
    page_aligned: bool = False,
    version: tuple[int, int] | None = None,
) -> memmap: ...
def open_memmap(
    filename: _Path,
    mode: _AnyMode = "r+",
    dtype: DTypeLike | None = None,
    shape: _Shape | None = None,
    fortran_order: bool = False,
    version: tuple[int, int] | None = None,
    *,
    max_header_size: int = 10_000,
) -> memmap: ...
def header(path: _Path, *, at: int = 0, max_header_size: int = 10_000) -> Header: ...
def load(
    file: Any,
    mmap_mode: _AnyMode | None = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: _Encoding = "ASCII",
    *,
    max_header_size: int = 10_000,
) -> Any: ...
def save(file: Any, arr: ArrayLike, allow_pickle: bool = True) -> None: ...
def savez(file: Any, *args: ArrayLike, allow_pickle: bool = True, **kwds: ArrayLike) -> None: ...
def savez_compressed(
    file: Any, *args: ArrayLike, allow_pickle: bool = True, **kwds: ArrayLike
) -> None: ...
def recover(path: _Path, *, dry_run: bool = False, zero_fill: bool = False) -> Recovery: ...
def resize(path: _Path, rows: int) -> None: ...

class Npz(NpzFile):
    def __init__(
        self,
        path: _Path,
        mode: Literal["r", "readonly", "c", "copyonwrite"] | None = None,
        *,
        allow_pickle: bool = False,
        pickle_kwargs: Mapping[str, Any] | None = None,
        max_header_size: int = 10_000,
        max_inflated: int | None = None,
    ) -> None: ...
    @property
    def fid(self) -> IO[bytes] | None: ...  # type: ignore[override]
    @property
    def zip(self) -> ZipFile | None: ...  # type: ignore[override]
    def __getitem__(self, key: str) -> Any: ...
    def get_many(self, names: Iterable[str]) -> dict[str, Any]: ...
    def verify(self) -> None: ...
    def close(self) -> None: ...

class Tar(Mapping[str, NDArray[Any]]):
    files: list[str]
    def __init__(self, path: _Path, mode: _Mode | None = None) -> None: ...
    def __getitem__(self, name: str) -> NDArray[Any]: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

class Ten(Sequence[NDArray[Any]]):
    infos: list[str]
    def __init__(self, path: _Path, mode: _Mode | None = None) -> None: ...
    @overload
    def __getitem__(self, index: int | str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[NDArray[Any]]: ...
    def __len__(self) -> int: ...
