"""The programs of the pages run, in the order of the page."""

import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["python/README.md", "README.md", "docs/processes.md", "docs/howto/cluster.md", "docs/howto/train.md"]
# Tests of an installed package may lie elsewhere.
PAGES = [page for page in PAGES if (PACKAGE.parent / page).exists()]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """What the programs open."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(PACKAGE.parent / "data", "data")
    rows = np.arange(4000, dtype="f4").reshape(1000, 4)
    np.save("embeddings.npy", rows)
    np.save("log.npy", rows)
    np.arange(4096, dtype="u2").tofile("train.bin")
    np.savez("model.npz", weights=rows)


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_run(page, files):
    text = (PACKAGE.parent / page).read_text()
    programs = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    pathlib.Path("program.py").write_text("\n".join(programs))
    done = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, timeout=120)
    assert programs and done.returncode == 0, done.stderr
