"""Picklers that send arrays in files to other processes as their places in the files.

If you keep a pickle, you expect the elements in it. So this registers these picklers only with
packages that open a pickle in another process at once, when you import the package.
"""

import importlib.util
import pickle
import sys

from ._arrayfile import ArrayFile
from ._describe import reduce_to_place
from ._memmap import memmap
from ._ragged import Ragged


def _reduce_file(file):
    """Return what is sent for a file: as a description, without the time of its last change."""
    return _open_file, (file.__getstate__(is_sent=True),)


def _open_file(state):
    file = ArrayFile.__new__(ArrayFile)
    file.__setstate__(state)
    return file


def _reduce_ragged(ragged):
    return Ragged, ragged._arrays


_REDUCERS = {memmap: reduce_to_place, ArrayFile: _reduce_file, Ragged: _reduce_ragged}


def _register_multiprocessing(module):
    for kind, reduce in _REDUCERS.items():
        module.ForkingPickler.register(kind, reduce)


def _register_loky(module):
    for kind, reduce in _REDUCERS.items():
        module.register(kind, reduce)


def _register_distributed(module):
    module.dask_serialize.register(memmap, _serialize)


class _Place:
    """Pickles as the place of an array."""

    def __init__(self, array):
        self._array = array

    def __reduce__(self):
        return reduce_to_place(self._array)


def _serialize(array, context=None):
    # As NumPy's arrays of objects, so that workers can load it without this module.
    return {"pickle": True}, [pickle.dumps(_Place(array), protocol=5)]


def _register_ray(module):
    for kind, reduce in _REDUCERS.items():
        module.CloudPickler.dispatch[kind] = reduce


def _register_joblib(module):
    """Register with the pickler of joblib's process pools, which takes reducers as an argument."""
    class Pickler(module.CustomizablePickler):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            for kind, reduce in _REDUCERS.items():
                self.register(kind, reduce)

    module.CustomizablePickler = Pickler


_PACKAGES = {
    "multiprocessing.reduction": _register_multiprocessing,
    "loky.backend.reduction": _register_loky,
    "joblib.externals.loky.backend.reduction": _register_loky,
    "joblib.pool": _register_joblib,
    "distributed.protocol": _register_distributed,
    "ray.cloudpickle": _register_ray,
}


class _Finder:
    """Finds the modules of `_PACKAGES`, and registers picklers when they are loaded."""

    def __init__(self):
        self._finding = set()

    def find_spec(self, name, path=None, target=None):
        """Find a module that is in `_PACKAGES`."""
        if name not in _PACKAGES or name in self._finding:
            return None
        self._finding.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._finding.discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    """Loads a module by another loader, and registers picklers with it."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        """Create the module."""
        return self._loader.create_module(spec)

    def exec_module(self, module):
        """Run the module, which is the other loader's from then on."""
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _PACKAGES[module.__name__](module)


def register():
    """Register picklers with imported packages now, and with other packages on import."""
    for name, register_with in _PACKAGES.items():
        if name in sys.modules:
            register_with(sys.modules[name])
    sys.meta_path.insert(0, _Finder())
