"""Files with several arrays."""

import io
import weakref
import zipfile
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.lib.npyio import NpzFile

from . import _core
from ._dtypes import from_descr
from ._errors import FormatError
from ._memmap import to_mode, wrap
from ._open import MAX_HEADER_SIZE
from ._paths import is_url, shown, to_absolute, to_location, to_path, to_source
from ._rows import output_of, whole_bytes
from ._unmapped import open_unmapped

# Smaller arrays are copied into memory of their own, without the rest of the page.
_SMALL = 64 << 10
_MODES = ("r", "c")
_MAGIC = np.lib.format.MAGIC_PREFIX


def _to_array(mapping):
    """Return an array: mapped, or in memory."""
    if mapping.mode is not None:
        return wrap(mapping)
    array = wrap(mapping, np.ndarray)
    return array.copy(order="K") if array.nbytes < _SMALL and array.flags.writeable else array


def _opened(core):
    """Return the native archive, unless it was closed."""
    if core is None:
        raise ValueError("the archive is closed")
    return core


def _shown(names):
    """Return the first few names, as NumPy shows them."""
    count = NpzFile._MAX_REPR_ARRAY_COUNT
    return ", ".join(names[:count]) + ("..." if len(names) > count else "")


class _Bag:
    """The members of an archive as attributes."""

    def __init__(self, archive):
        self._archive = weakref.proxy(archive)

    def __getattribute__(self, name):
        try:
            return object.__getattribute__(self, "_archive")[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self):
        return list(object.__getattribute__(self, "_archive").files)


class Npz(NpzFile):
    """Opens a `.npz` archive as a mapping of names to arrays, which are opened on request.

    In mode "r" stored arrays are mapped, and in "c" you can also change them without changing
    the file. Deflated arrays are read into memory. With the mode None, arrays are copies, and
    their CRC-32 is checked, like in NumPy. `path` may be a URL, with the `headers` and
    `storage_options` of `ArrayFile`. This reads only the members you use. Arrays outlive the
    archive. Members that are not arrays are returned as `bytes`.

    At most `max_inflated` bytes are inflated for an array, by default 16 GiB.

        >>> npymap.savez("a.npz", x=np.arange(3), y=[0.5])
        >>> with npymap.Npz("a.npz") as archive:
        ...     archive["x"]
        memmap([0, 1, 2])

    `update_npz` adds members to an archive.
    """

    # For `__del__`, if the archive could not be opened.
    _core = _zip = _fid = None

    def __init__(self, path, mode="r", *, allow_pickle=False, pickle_kwargs=None,
                 max_header_size=MAX_HEADER_SIZE, max_inflated=None, headers=None,
                 storage_options=None):
        self._path, mode = _source_and_mode(path, mode)
        location = to_location(self._path, headers, storage_options)
        # The working directory may change before the file is opened again.
        self._absolute = to_absolute(self._path)
        if mode is not None:
            mode = to_mode(mode)
            if mode not in _MODES:
                raise ValueError(f"arrays of archives are opened in mode 'r' or 'c', not {mode!r}")
        self._mode = mode
        limit = (1 << 63) - 1 if allow_pickle else max_header_size
        self._core = _core.Npz(location, mode, limit, max_inflated)
        self.allow_pickle = allow_pickle
        self.pickle_kwargs = pickle_kwargs
        self.max_header_size = max_header_size
        names = self._core.full_names()
        self.files = [name.removesuffix(".npy") for name in names]
        self._files = dict(zip(self.files, names))
        self._files.update(zip(names, names))
        self.f = _Bag(self)

    def __getitem__(self, key):
        try:
            name = self._files[key]
        except (KeyError, TypeError):
            raise KeyError(f"{key} is not a file in the archive") from None
        # Another thread may close the archive meanwhile.
        core = _opened(self._core)
        try:
            mapping = core.get(name)
        except OSError as error:
            return open_unmapped(error, self._absolute, self._mode, member=name)
        except FormatError as error:
            if error.kind != "Unsupported":
                raise
            try:
                data = core.read(name)
            except FormatError:
                raise error from None
            return np.lib.format.read_array(io.BytesIO(data), allow_pickle=self.allow_pickle,
                                            pickle_kwargs=self.pickle_kwargs,
                                            max_header_size=self.max_header_size)
        return core.read(name) if mapping is None else _to_array(mapping)

    def read(self, name, out=None):
        """Read an array into memory in any mode, and check its CRC-32.

        With `out`, the elements are read into that array, which is returned. It must have
        the same shape, dtype and order as in the archive.

            >>> npymap.savez("a.npz", x=np.arange(3.0))
            >>> npymap.Npz("a.npz").read("x", out=np.empty(3))
            array([0., 1., 2.])
        """
        try:
            name = self._files[name]
        except (KeyError, TypeError):
            raise KeyError(f"{name} is not a file in the archive") from None
        core = _opened(self._core)
        shape, descr, is_fortran = core.header(name)
        out = output_of((shape, from_descr(descr), is_fortran), out)
        core.read_into(name, whole_bytes(out))
        return out

    def get_many(self, names):
        """Return a dictionary of several arrays."""
        return {name: self[name] for name in names}

    def verify(self):
        """Read all members, and raise unless their CRC-32 is right."""
        _opened(self._core).verify()

    @property
    def fid(self):
        """The open file, for programs that use NumPy's attribute."""
        if self._fid is None and self._core is not None:
            self._fid = io.open(to_path(self._absolute), "rb")
        return self._fid

    @property
    def zip(self):
        """A `zipfile.ZipFile` of the archive, for programs that use NumPy's attribute."""
        if self._zip is None and self._core is not None:
            self._zip = zipfile.ZipFile(to_path(self._absolute))
        return self._zip

    def close(self):
        """Close the file. Its arrays stay valid."""
        self._core = self.f = None
        for opened in (self._zip, self._fid):
            if opened is not None:
                opened.close()
        self._zip = self._fid = None

    def __repr__(self):
        return f"NpzFile {shown(self._path)!r} with keys: {_shown(self.files)}"


def _source_and_mode(path, mode):
    """Return the path or URL of an archive, and its mode, because URLs are not mapped."""
    path = to_source(path)
    if is_url(path) and mode == "r":
        return path, None
    return (path if mode is None else to_path(path)), mode


class _Archive:
    """An archive that is closed, or left at the end of a block."""

    def __init__(self, kind, path, mode, headers, storage_options):
        self._path, mode = _source_and_mode(path, mode)
        location = to_location(self._path, headers, storage_options)
        self._absolute, self._mode = to_absolute(self._path), mode and to_mode(mode)
        self._core = kind(location, self._mode)

    def close(self):
        """Close the file. Its arrays stay valid."""
        self._core = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class Tar(_Archive, Mapping):
    """Opens a tar file of `.npy` members as a mapping of names to arrays.

    Members that are not arrays are returned as `bytes`. For an array in a `.npz` or `.ten`
    member, put its name in brackets after the member's name: `"000.npz[x]"`. `mode` is the
    same as for `Npz`, or "r+" to write changes to the file.
    """

    def __init__(self, path, mode="r", *, allow_pickle=False, pickle_kwargs=None, headers=None,
                 storage_options=None):
        super().__init__(_core.Tar, path, mode, headers, storage_options)
        self.allow_pickle = allow_pickle
        self.pickle_kwargs = pickle_kwargs
        self.files = self._core.names()

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise KeyError(name)
        core = _opened(self._core)
        try:
            mapping = core.get(name)
        except OSError as error:
            return open_unmapped(error, self._absolute, self._mode, member=name)
        except FormatError as error:
            if name not in self.files:
                raise
            if error.kind == "Unsupported" and self.allow_pickle:
                return np.lib.format.read_array(io.BytesIO(core.read(name)), allow_pickle=True,
                                                pickle_kwargs=self.pickle_kwargs)
            # Other members may begin with anything, or be empty.
            data = core.read(name) if error.kind in ("Corrupt", "Truncated") else None
            if data is None or data.startswith(_MAGIC):
                raise
            return data
        return _to_array(mapping)

    def __contains__(self, name):
        # Without reading the array, if there is one of this name.
        return name in self.files or super().__contains__(name)

    def __iter__(self):
        return iter(self.files)

    def __len__(self):
        return len(self.files)

    def __repr__(self):
        return f"<npymap.Tar {shown(self._path)!r} with keys: {_shown(self.files)}>"


class Ten(_Archive, Sequence):
    """Opens a `.ten` file, as webdataset writes it, as a sequence of arrays.

    `infos` are the stored names of the arrays, and `in`, `index` and `count` look for a name
    among them. `mode` is the same as for `Npz`, or "r+" to write changes to the file. The
    format has no Python objects, so there is no `allow_pickle`.
    """

    def __init__(self, path, mode="r", *, headers=None, storage_options=None):
        super().__init__(_core.Ten, path, mode, headers, storage_options)
        self.infos = self._core.infos()

    def __getitem__(self, index):
        if isinstance(index, str):
            if index not in self.infos:
                raise KeyError(index)
            index = self.infos.index(index)
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        try:
            return _to_array(_opened(self._core).get(position))
        except OSError as error:
            return open_unmapped(error, self._absolute, self._mode, member=position)

    def __len__(self):
        return len(self.infos)

    def __contains__(self, info):
        return isinstance(info, str) and info in self.infos

    def index(self, info, start=0, stop=None):
        _check_info(info)
        return self.infos.index(info, start, len(self.infos) if stop is None else stop)

    def count(self, info):
        _check_info(info)
        return self.infos.count(info)

    def __repr__(self):
        return f"<npymap.Ten {shown(self._path)!r} with infos: {_shown(self.infos)}>"


def _check_info(info):
    if not isinstance(info, str):
        raise TypeError(f"{type(info).__name__}, expected the info of an array")
