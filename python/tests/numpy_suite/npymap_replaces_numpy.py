"""A pytest plugin that replaces NumPy's functions by npymap's, and counts the calls."""

import collections
import functools
import json
import os

import numpy as np
import numpy.lib.format

import npymap

calls = collections.Counter()
outcomes = {}


def counted(name, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        calls[name] += 1
        return function(*args, **kwargs)

    return call


for name in ["load", "save", "savez", "savez_compressed"]:
    setattr(np, name, counted(name, getattr(npymap, name)))
for name in [
    "open_memmap",
    "read_array",
    "read_array_header_1_0",
    "read_array_header_2_0",
    "read_magic",
]:
    setattr(numpy.lib.format, name, counted(name, getattr(npymap.format, name)))
npymap.memmap.__new__ = counted("memmap", npymap.memmap.__new__)
np.memmap = npymap.memmap


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        outcomes[report.nodeid] = report.outcome


def pytest_sessionfinish():
    with open(os.environ["NPYMAP_SUITE_REPORT"], "w") as file:
        json.dump({"calls": calls, "outcomes": outcomes}, file)
