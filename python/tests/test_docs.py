"""The examples in docstrings run."""

import doctest
import importlib
import importlib.util
import pkgutil

import numpy as np
import pytest

import npymap

# Modules whose names are those of the packages they need.
OPTIONAL = ["dask", "grain", "ray", "torch", "xarray"]
MISSING = [name for name in OPTIONAL if importlib.util.find_spec(name) is None]
MODULES = ["npymap"] + [
    f"npymap.{module.name}" for module in pkgutil.iter_modules(npymap.__path__)
    if module.name not in ("_core", *MISSING)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.arange(12.0).reshape(3, 4))
    module = importlib.import_module(name)
    results = doctest.testmod(module, extraglobs={"np": np, "npymap": npymap})
    assert results.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(name) for name in MODULES]
    examples = [test for module in modules for test in finder.find(module) if test.examples]
    assert len(examples) >= 8
