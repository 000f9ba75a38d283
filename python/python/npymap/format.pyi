from typing import Any, SupportsIndex

import numpy as np
from numpy.lib.format import (
    ARRAY_ALIGN as ARRAY_ALIGN,
    BUFFER_SIZE as BUFFER_SIZE,
    EXPECTED_KEYS as EXPECTED_KEYS,
    GROWTH_AXIS_MAX_DIGITS as GROWTH_AXIS_MAX_DIGITS,
    MAGIC_LEN as MAGIC_LEN,
    MAGIC_PREFIX as MAGIC_PREFIX,
    descr_to_dtype as descr_to_dtype,
    drop_metadata as drop_metadata,
    dtype_to_descr as dtype_to_descr,
    header_data_from_array_1_0 as header_data_from_array_1_0,
    isfileobj as isfileobj,
    magic as magic,
    write_array as write_array,
    write_array_header_1_0 as write_array_header_1_0,
    write_array_header_2_0 as write_array_header_2_0,
)
from numpy.typing import NDArray

from . import open_memmap as open_memmap

def read_magic(fp: Any) -> tuple[int, int]: ...
def read_array_header_1_0(
    fp: Any, max_header_size: SupportsIndex = 10_000
) -> tuple[tuple[int, ...], bool, np.dtype[Any]]: ...
def read_array_header_2_0(
    fp: Any, max_header_size: SupportsIndex = 10_000
) -> tuple[tuple[int, ...], bool, np.dtype[Any]]: ...
def read_array(
    fp: Any,
    allow_pickle: bool = False,
    pickle_kwargs: dict[str, Any] | None = None,
    *,
    max_header_size: SupportsIndex = 10_000,
) -> NDArray[Any]: ...
