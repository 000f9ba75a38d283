"""NumPy files used in place: larger than memory, opened in microseconds.

    >>> import numpy as np, npymap
    >>> npymap.save("a.npy", np.arange(12.0).reshape(3, 4))
    >>> a = npymap.open("a.npy")
    >>> a[1, 2]
    np.float64(6.0)

`open` maps a file and reads what you touch. `load` reads all of it into memory. `ArrayFile`
reads what you index, and works with URLs and with files that other programs truncate.

Arrays are instances of `numpy.memmap`. `load`, `save`, `savez`, `savez_compressed`, `memmap`
and the module `format` with `open_memmap` have NumPy's names and meaning. COMPATIBILITY.md
lists the differences.

**Do not truncate a file while an array maps it**, and do not write to it other than
through arrays while another thread or process reads it. Touching pages that no
longer exist kills the process by SIGBUS. `save`, `savez`, `create` and
`open_memmap(mode="w+")` of this package replace files instead of truncating them. This is
safe at any time. However, `numpy.save` truncates. `check_unchanged()` and `populate()`
raise if a file became too short.

An array stays open until it and all of its views are gone, so you should use `del`. There is
no `close()`, because views would then refer to memory that no longer exists.
"""

from . import format as format
from ._archives import Npz, Tar, Ten
from ._core import Recovery, __version__
from ._arrayfile import ArrayFile
from ._batches import Batches
from ._describe import Description, describe
from ._errors import FormatError
from ._grow import Appender
from ._io import load, save, savez, savez_compressed, update_npz
from ._memmap import memmap
from ._open import Header, create, header, open, open_memmap, recover, resize
from ._picklers import register as _register
from ._ragged import Ragged, RaggedAppender
from ._rows import Rows
from ._sampler import Sampler
from ._concat import Concat

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

_register()
