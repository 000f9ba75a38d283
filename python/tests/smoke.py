"""Takes an array through the package, without what only Linux has.

The tests fork and read `/proc`, so wheels for other systems are tried with this program
before they are published.
"""

import os
import pickle
import tempfile

import numpy as np

import npymap


def main(folder):
    path = os.path.join(folder, "a.npy")
    expected = np.arange(3000, dtype="f4").reshape(1000, 3)
    npymap.save(path, expected)

    array = npymap.open(path, "r+")
    array[7] = expected[7] = -1
    array.flush()
    del array
    mapped = npymap.load(path, mmap_mode="r")
    assert np.array_equal(np.load(path), expected) and np.array_equal(mapped, expected)
    assert np.array_equal(pickle.loads(pickle.dumps(mapped[5:9])), expected[5:9])
    assert np.array_equal(npymap.ArrayFile(path)[::100], expected[::100])
    seen = np.concatenate([rows for _, rows in npymap.Batches(mapped, npymap.Sampler(1000, seed=1), 64)])
    assert np.array_equal(np.sort(seen[:, 0]), np.sort(expected[:, 0]))
    del mapped

    archive = os.path.join(folder, "a.npz")
    npymap.savez(archive, a=expected)
    with npymap.Npz(archive, "r") as members:
        assert np.array_equal(members["a"], expected)

    log = os.path.join(folder, "log.npy")
    for new in ({"dtype": "f4", "row": (3,)}, {}):
        with npymap.Appender(log, **new) as rows:
            rows.append(expected)
    assert np.load(log).shape == (2000, 3)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        main(folder)
    print(f"npymap {npymap.__version__} works")
