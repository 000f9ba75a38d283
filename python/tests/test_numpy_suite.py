"""NumPy's own tests of `.npy` files, run with its functions replaced by ours."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SUITE = Path(__file__).parent / "numpy_suite"

# They need gigabytes of memory, or of the disk.
LARGE = ("test_large_archive", "test_big_arrays", "test_large_zip")

# The reasons are in COMPATIBILITY.md.
EXPECTED_FAILURES = set()
if np.lib.NumpyVersion(np.__version__) < "2.2.0":
    EXPECTED_FAILURES.add("::TestMemmap::test_empty_array")

# At least so often is each function called by NumPy's tests.
MODULES = {
    "numpy._core.tests.test_memmap": {"memmap": 20},
    "numpy.lib.tests.test_format": {"open_memmap": 5, "read_array": 100, "read_magic": 2},
    "numpy.lib.tests.test_io": {"load": 50, "save": 10, "savez": 20, "savez_compressed": 1},
}


@pytest.mark.parametrize("module", MODULES)
def test_numpys_own_tests_pass_with_our_functions(module, tmp_path):
    pytest.importorskip(module, reason="NumPy was installed without its tests")
    report = tmp_path / "report.json"
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(SUITE), os.environ.get("PYTHONPATH", "")]),
        "NPYMAP_SUITE_REPORT": str(report),
    }
    command = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-p", "npymap_replaces_numpy"]
    command += ["-p", "no:cacheprovider", "-W", "ignore::pytest.PytestUnknownMarkWarning"]
    command += ["-k", " and ".join(f"not {name}" for name in LARGE), "--pyargs", module]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert report.exists(), done.stdout + done.stderr
    result = json.loads(report.read_text())
    failed = {node.rpartition("/")[2] for node, outcome in result["outcomes"].items()
              if outcome == "failed"}
    assert failed <= EXPECTED_FAILURES, done.stdout
    assert len(result["outcomes"]) > 15, done.stdout
    for function, count in MODULES[module].items():
        assert result["calls"].get(function, 0) >= count, (function, result["calls"])
