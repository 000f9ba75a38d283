import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager
from typing import IO, Any, Literal, NamedTuple, Protocol, Self, SupportsIndex, TypeAlias, final, overload
from zipfile import ZipFile

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import TypeVar

from . import format as format
from ._core import Recovery as Recovery

__version__: str

_Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Mode: TypeAlias = Literal["r", "readonly", "r+", "readwrite", "c", "copyonwrite"]
_AnyMode: TypeAlias = _Mode | Literal["w+", "write"]
_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Order: TypeAlias = Literal["C", "F"]
_AnyOrder: TypeAlias = Literal["C", "F", "A", "K"] | None
_Advice: TypeAlias = Literal["normal", "random", "sequential", "willneed"]
_Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "same_value", "unsafe"]
_TakeMode: TypeAlias = Literal["raise", "wrap", "clip"]
_Encoding: TypeAlias = Literal["ASCII", "latin1", "bytes"]
_Rows: TypeAlias = slice | tuple[int | None, int | None] | None
# For what is None, or a plain array, only in cases that the program knows: a type checker
# accepts its use without a check, and also a check.
_MaybeNone: TypeAlias = Any
_Scalar = TypeVar("_Scalar", bound=np.generic)
_ShapeT = TypeVar("_ShapeT", bound=tuple[int, ...], default=Any, covariant=True)
_DTypeT = TypeVar("_DTypeT", bound=np.dtype[Any], default=np.dtype[Any], covariant=True)
# A dtype of which a type checker knows the class of the elements.
_KnownDType: TypeAlias = type[_Scalar] | np.dtype[_Scalar]
_Headers: TypeAlias = Mapping[str, str] | None
_StorageOptions: TypeAlias = Mapping[str, Any] | None

__all__ = [
    "Appender",
    "ArrayFile",
    "Batches",
    "Description",
    "FormatError",
    "Header",
    "Npz",
    "Ragged",
    "RaggedAppender",
    "Recovery",
    "Rows",
    "Sampler",
    "Concat",
    "Tar",
    "Ten",
    "create",
    "describe",
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
    "update_npz",
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
        kind: str = "Corrupt",
    ) -> None: ...

class Description(NamedTuple):
    path: str
    version: tuple[Any, ...]
    mode: str
    offset: int
    nbytes: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    first: int
    strides: tuple[int, ...]
    is_writable: bool
    def open(self, *, changed: Literal["raise", "ok"] = "raise") -> memmap: ...

def describe(array: NDArray[Any]) -> Description: ...

class Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran_order: bool
    version: tuple[int, int]
    offset: int

class memmap(np.memmap[_ShapeT, _DTypeT]):
    @overload
    def __new__(
        cls,
        filename: Any,
        dtype: _KnownDType[_Scalar],
        mode: _AnyMode = "r+",
        offset: SupportsIndex = 0,
        shape: _Shape | None = None,
        order: _AnyOrder = "C",
        *,
        discard_trailing: bool = False,
    ) -> memmap[Any, np.dtype[_Scalar]]: ...
    @overload
    def __new__(
        cls,
        filename: Any,
        dtype: DTypeLike = ...,
        mode: _AnyMode = "r+",
        offset: SupportsIndex = 0,
        shape: _Shape | None = None,
        order: _AnyOrder = "C",
        *,
        discard_trailing: bool = False,
    ) -> memmap: ...
    def __array_finalize__(self, obj: NDArray[Any] | None, /) -> None: ...  # type: ignore[override]
    @property
    def filename(self) -> str | os.PathLike[str] | None: ...  # type: ignore[override]
    @property
    def mode(self) -> str | None: ...  # type: ignore[override]
    @property
    def offset(self) -> int | None: ...  # type: ignore[override]
    @property
    def member(self) -> str | None: ...
    @property
    def rows(self) -> Rows: ...
    def __getitem__(self, index: Any) -> Any: ...
    def take(
        self, indices: Any, axis: Any = None, out: Any = None, mode: _TakeMode = "raise"
    ) -> Any: ...
    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any: ...
    def flush(self, rows: _Rows = None, *, wait: bool = True) -> None: ...
    def advise(self, advice: _Advice, rows: _Rows = None) -> None: ...
    def prefetch(self, rows: _Rows = None) -> None: ...
    def populate(self, rows: _Rows = None) -> None: ...
    def drop_cache(self, rows: _Rows = None) -> None: ...
    def resident_bytes(self, rows: _Rows = None) -> int | None: ...
    def check_unchanged(self) -> None: ...
    def lock(
        self, kind: Literal["shared", "exclusive"] = "shared", *, wait: bool = True
    ) -> AbstractContextManager[Any, None]: ...

@overload
def open(
    path: _Path,
    mode: _Mode = "r",
    *,
    member: None = None,
    at: SupportsIndex = 0,
    max_header_size: SupportsIndex = 10_000,
    advice: _Advice = "normal",
) -> memmap: ...
@overload
def open(
    path: _Path,
    mode: _Mode = "r",
    *,
    member: str | SupportsIndex | None,
    at: SupportsIndex = 0,
    max_header_size: SupportsIndex = 10_000,
    advice: _Advice = "normal",
) -> memmap | _MaybeNone: ...
@overload
def create(
    path: _Path,
    dtype: _KnownDType[_Scalar],
    shape: _Shape,
    *,
    order: _Order = "C",
    overwrite: bool = False,
    sparse: bool = False,
    page_aligned: bool = False,
    version: tuple[int, int] | None = None,
    discard_trailing: bool = False,
) -> memmap[Any, np.dtype[_Scalar]]: ...
@overload
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
    discard_trailing: bool = False,
) -> memmap: ...
def open_memmap(
    filename: _Path,
    mode: _AnyMode = "r+",
    dtype: DTypeLike | None = None,
    shape: _Shape | None = None,
    fortran_order: bool = False,
    version: tuple[int, int] | None = None,
    *,
    max_header_size: SupportsIndex = 10_000,
    discard_trailing: bool = False,
) -> memmap: ...
def header(
    path: _Path,
    *,
    at: SupportsIndex = 0,
    max_header_size: SupportsIndex = 10_000,
    headers: _Headers = None,
    storage_options: _StorageOptions = None,
) -> Header: ...
def load(
    file: Any,
    mmap_mode: _AnyMode | None = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: _Encoding = "ASCII",
    *,
    max_header_size: SupportsIndex = 10_000,
    out: NDArray[Any] | None = None,
    headers: _Headers = None,
    storage_options: _StorageOptions = None,
) -> Any: ...
def save(
    file: Any,
    arr: ArrayLike,
    allow_pickle: bool = True,
    *,
    sync: bool = False,
    discard_trailing: bool = False,
) -> None: ...
def savez(file: Any, *args: ArrayLike, allow_pickle: bool = True, **kwds: ArrayLike) -> None: ...
def savez_compressed(
    file: Any, *args: ArrayLike, allow_pickle: bool = True, **kwds: ArrayLike
) -> None: ...
def update_npz(
    path: _Path,
    arrays: Mapping[str, ArrayLike] | Iterable[tuple[str, ArrayLike]] = (),
    *,
    remove: str | Iterable[str] = (),
    rename: Mapping[str, str] | None = None,
    compressed: bool | None = None,
    wait: bool = True,
) -> None: ...
def recover(path: _Path, *, dry_run: bool = False, zero_fill: bool = False) -> Recovery: ...
def resize(path: _Path, rows: SupportsIndex) -> None: ...

class Npz(NpzFile):
    def __init__(
        self,
        path: _Path,
        mode: Literal["r", "readonly", "c", "copyonwrite"] | None = "r",
        *,
        allow_pickle: bool = False,
        pickle_kwargs: Mapping[str, Any] | None = None,
        max_header_size: SupportsIndex = 10_000,
        max_inflated: SupportsIndex | None = None,
        headers: _Headers = None,
        storage_options: _StorageOptions = None,
    ) -> None: ...
    @property
    def fid(self) -> IO[bytes] | None: ...  # type: ignore[override]
    @property
    def zip(self) -> ZipFile | None: ...  # type: ignore[override]
    def __getitem__(self, key: str) -> Any: ...
    def read(self, name: str, out: NDArray[Any] | None = None) -> Any: ...
    def get_many(self, names: Iterable[str]) -> dict[str, Any]: ...
    def verify(self) -> None: ...
    def close(self) -> None: ...

# The members are arrays or bytes.
class Tar(Mapping[str, Any]):
    files: list[str]
    allow_pickle: bool
    pickle_kwargs: Mapping[str, Any] | None
    def __init__(
        self,
        path: _Path,
        mode: _Mode | None = "r",
        *,
        allow_pickle: bool = False,
        pickle_kwargs: Mapping[str, Any] | None = None,
        headers: _Headers = None,
        storage_options: _StorageOptions = None,
    ) -> None: ...
    def __getitem__(self, name: str) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

class Ten(Sequence[NDArray[Any]]):
    infos: list[str]
    def __init__(
        self,
        path: _Path,
        mode: _Mode | None = "r",
        *,
        headers: _Headers = None,
        storage_options: _StorageOptions = None,
    ) -> None: ...
    @overload
    def __getitem__(self, index: SupportsIndex | str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[NDArray[Any]]: ...
    def __len__(self) -> int: ...
    def __contains__(self, info: object) -> bool: ...
    def index(self, info: object, start: int = 0, stop: int | None = None) -> int: ...
    def count(self, info: object) -> int: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

@final
class Rows:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __init__(self, core: Any, source: Any, path: tuple[tuple[str, Any], ...] = ()) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: ArrayLike | slice) -> NDArray[Any]: ...
    def __iter__(self) -> Iterator[NDArray[Any]]: ...
    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[Any]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any) -> Self: ...
    def take(
        self,
        indices: ArrayLike,
        out: NDArray[Any] | None = None,
        *,
        dtype: DTypeLike | None = None,
        casting: _Casting = "same_kind",
        mode: _TakeMode = "raise",
    ) -> NDArray[Any]: ...
    def prefetch(self, indices: ArrayLike, *, mode: _TakeMode = "raise") -> None: ...
    def windows(self, length: SupportsIndex) -> Rows: ...
    def field(self, name: str) -> Rows: ...

class _HasRows(Protocol):
    @property
    def rows(self) -> Rows: ...

_Source: TypeAlias = _HasRows | Rows | NDArray[Any]

class ArrayFile:
    def __init__(
        self,
        path: _Path,
        mode: Literal["r"] | None = None,
        *,
        member: str | SupportsIndex | None = None,
        at: SupportsIndex = 0,
        max_header_size: SupportsIndex = 10_000,
        headers: _Headers = None,
        storage_options: _StorageOptions = None,
    ) -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def member(self) -> str | None: ...
    @property
    def fortran_order(self) -> bool: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def rows(self) -> Rows: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[Any]: ...
    def __dask_tokenize__(self) -> object: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __getstate__(self, *, is_sent: bool = False) -> tuple[Any, ...]: ...
    def __setstate__(self, state: tuple[Any, ...]) -> None: ...
    def read(
        self,
        start: SupportsIndex = 0,
        stop: SupportsIndex | None = None,
        *,
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]: ...
    def map(self, index: Any = (), mode: Literal["r", "r+"] = "r") -> memmap: ...
    def take(
        self,
        indices: ArrayLike,
        out: NDArray[Any] | None = None,
        *,
        dtype: DTypeLike | None = None,
        casting: _Casting = "same_kind",
        mode: _TakeMode = "raise",
    ) -> NDArray[Any]: ...
    def reload(self) -> None: ...
    def check_unchanged(self) -> None: ...

class Concat:
    def __init__(self, arrays: Iterable[_Path | _Source]) -> None: ...
    @classmethod
    def npy_stack(cls, directory: _Path) -> Self: ...
    @property
    def paths(self) -> list[str | None]: ...
    @property
    def rows(self) -> Rows: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: ArrayLike | slice) -> NDArray[Any]: ...
    def __iter__(self) -> Iterator[NDArray[Any]]: ...
    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[Any]: ...
    def take(
        self,
        indices: ArrayLike,
        out: NDArray[Any] | None = None,
        *,
        dtype: DTypeLike | None = None,
        casting: _Casting = "same_kind",
        mode: _TakeMode = "raise",
    ) -> NDArray[Any]: ...

class Ragged:
    def __init__(self, data: _Path | _Source, offsets: _Path | _Source) -> None: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: SupportsIndex) -> NDArray[Any]: ...
    def __iter__(self) -> Iterator[NDArray[Any]]: ...
    def __deepcopy__(self, memo: Any) -> Self: ...
    def take_packed(
        self, indices: ArrayLike, *, dtype: DTypeLike | None = None, casting: _Casting = "same_kind"
    ) -> tuple[NDArray[Any], NDArray[np.int64]]: ...
    def take_padded(
        self,
        indices: ArrayLike,
        length: SupportsIndex,
        fill: Any = None,
        out: NDArray[Any] | None = None,
        *,
        dtype: DTypeLike | None = None,
        casting: _Casting = "same_kind",
    ) -> tuple[NDArray[Any], NDArray[np.int64]]: ...
    def text(self, index: SupportsIndex) -> str: ...

class Appender:
    def __init__(
        self,
        path: _Path,
        *,
        dtype: DTypeLike | None = None,
        row: _Shape | None = None,
        order: _Order | None = None,
        overwrite: bool = False,
        buffer: SupportsIndex = 65536,
        wait: bool = False,
        discard_trailing: bool = False,
        exist_ok: bool = False,
    ) -> None: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    def __len__(self) -> int: ...
    def append(self, rows: ArrayLike, *, casting: _Casting = "same_kind") -> None: ...
    def resize(self, rows: SupportsIndex) -> None: ...
    def flush(self) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

class RaggedAppender:
    def __init__(
        self,
        data: _Path,
        offsets: _Path,
        *,
        dtype: DTypeLike | None = None,
        row: _Shape | None = None,
        overwrite: bool = False,
        recover: bool = False,
        discard_trailing: bool = False,
        wait: bool = False,
        exist_ok: bool = False,
    ) -> None: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __len__(self) -> int: ...
    def append(self, row: ArrayLike | bytearray | memoryview, *, casting: _Casting = "same_kind") -> None: ...
    def flush(self) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

class Sampler:
    def __init__(
        self,
        length: SupportsIndex | Sized,
        *,
        seed: SupportsIndex = 0,
        order: Literal["shuffled", "sequential", "blocks", "replacement"] = "shuffled",
        block: SupportsIndex = 1,
        buffer: SupportsIndex = 1,
        draws: SupportsIndex | None = None,
        weights: ArrayLike | None = None,
        rank: SupportsIndex = 0,
        world_size: SupportsIndex = 1,
        worker: SupportsIndex = 0,
        num_workers: SupportsIndex = 1,
        tail: Literal["keep", "drop", "pad"] = "keep",
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def remaining(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    def set_epoch(self, epoch: SupportsIndex) -> None: ...
    def seek(self, position: SupportsIndex) -> None: ...
    def next(self, count: SupportsIndex) -> NDArray[np.int64]: ...
    def __iter__(self) -> Iterator[int]: ...
    def batches(
        self, batch_size: SupportsIndex, *, drop_last: bool = False
    ) -> Iterator[NDArray[np.int64]]: ...
    def state_dict(self) -> dict[str, int]: ...
    def load_state_dict(self, state: Mapping[str, int]) -> None: ...
    def part(self, worker: SupportsIndex, num_workers: SupportsIndex) -> Sampler: ...
    def copy(self) -> Sampler: ...

# Of a `Ragged`, the item is a pair of arrays.
class Batches(Iterator[tuple[Any, ...]]):
    def __init__(
        self,
        arrays: _Source | Ragged | Sequence[_Source | Ragged],
        sampler: Sampler | Iterable[ArrayLike] | None = None,
        batch_size: SupportsIndex | None = None,
        *,
        epochs: SupportsIndex | None = None,
        drop_last: bool = False,
        threads: SupportsIndex | None = None,
        prefetch: SupportsIndex | None = None,
        dtype: DTypeLike | None | Sequence[DTypeLike | None] = None,
        casting: _Casting = "same_kind",
    ) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> tuple[Any, ...]: ...
    @property
    def epoch(self) -> int | None: ...
    def state_dict(self) -> dict[str, int]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
