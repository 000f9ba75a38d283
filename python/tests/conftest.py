"""Shared fixtures."""

import numpy as np
import pytest


@pytest.fixture
def npy(tmp_path):
    """The path of a `.npy` file of 3 rows of 4 numbers."""
    path = tmp_path / "a.npy"
    np.save(path, np.arange(12.0).reshape(3, 4))
    return path
