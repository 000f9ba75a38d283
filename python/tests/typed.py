"""What a type checker knows: `mypy --strict` checks this file, which is not run."""

from typing import Any, assert_type
import numpy as np
import npymap

a: npymap.memmap[Any, np.dtype[np.float32]] = npymap.create("a.npy", np.float32, 3)
assert_type(npymap.create("a.npy", np.float32, 3), npymap.memmap[Any, np.dtype[np.float32]])
b = npymap.create("a.npy", "f4", 3)
c = npymap.memmap("x", np.uint8, "r")
assert_type(c, npymap.memmap[Any, np.dtype[np.uint8]])
d = npymap.open("a.npz", member="x")
d.rows.take([0])
d.sum()
e: np.ndarray[Any, np.dtype[Any]] = npymap.open("a.npz", member="x")
f: npymap.memmap = npymap.open("a.npy")
npymap.Batches(npymap.Ragged("a", "b"), batch_size=3)
npymap.load("a.npy", headers={"a": "b"}, out=np.zeros(3))
npymap.update_npz("a.npz", {"x": np.zeros(3)}, remove="y")
