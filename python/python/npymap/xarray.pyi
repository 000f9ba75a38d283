from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from xarray import Dataset
from xarray.backends import BackendEntrypoint

__all__ = ["NpymapBackendEntrypoint"]

class NpymapBackendEntrypoint(BackendEntrypoint):
    def open_dataset(  # type: ignore[override]
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        dims: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        mode: Literal["r"] | None = None,
        headers: Mapping[str, str] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Dataset: ...
    def guess_can_open(self, filename_or_obj: Any) -> bool: ...
