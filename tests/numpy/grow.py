"""Writes arrays in parts, and reports the array that they form together.

For `tests/live_append.rs`. See `oracle.py` for the protocol.
"""

import hashlib
import random

from oracle import format, impl, np, random_dtype, serve

try:
    import npy_append_array
except ImportError:
    npy_append_array = None


def write(path, array, fortran):
    """Saves an array in an order, even if `np.save` would choose C."""
    descr = format.dtype_to_descr(array.dtype)
    header = {"descr": descr, "fortran_order": fortran, "shape": array.shape}
    with open(path, "wb") as file:
        impl._write_array_header(file, header, None)
        file.write(raw(array).tobytes("F" if fortran else "C"))


def raw(array):
    return array.view(f"V{array.dtype.itemsize}")


def part(rng, dtype, shape):
    data = bytes(rng.randrange(256) for _ in range(int(np.prod(shape)) * dtype.itemsize))
    return np.frombuffer(data, f"V{dtype.itemsize}").view(dtype).reshape(shape)


def parts(directory, count, seed):
    """Random arrays, each as a file, files of rows to append to it, and a file
    of the result."""
    rng = random.Random(seed)
    cases = []
    for i in range(count):
        dtype = random_dtype(rng)
        if dtype.hasobject or dtype.shape or not 0 < dtype.itemsize < 200:
            continue
        fortran = rng.random() < 0.5
        row = tuple(rng.randrange(1, 4) for _ in range(rng.randrange(3)))
        lens = [rng.choice([0, 1, 2, 9, 11]) for _ in range(4)]
        shapes = [(*row, n) if fortran else (n, *row) for n in lens]
        arrays = [part(rng, dtype, shape) for shape in shapes]
        axis = len(row) if fortran else 0
        paths = [f"{directory}/{i}.{n}.npy" for n in range(len(arrays))]
        for path, array in zip(paths, arrays):
            write(path, array, fortran)
        whole = f"{directory}/{i}.whole.npy"
        joined = np.concatenate([raw(array) for array in arrays], axis=axis)
        write(whole, joined.view(dtype), fortran)
        steps = np.cumsum(lens).tolist()
        states = [np.take(joined, range(n), axis=axis) for n in steps]
        digests = [digest(array) for array in states]
        cases.append({"paths": paths, "whole": whole, "steps": digests})
    return cases


def digest(array):
    return [list(array.shape), hashlib.sha256(array.tobytes("C")).hexdigest()]


def loaded(path):
    """The digests of a file as NumPy loads it, and as it maps it."""
    return [digest(raw(array)) for array in (np.load(path), np.load(path, mmap_mode="r"))]


def append(path, rows):
    """Appends rows with npy-append-array. Returns false if it is not installed."""
    if npy_append_array is None:
        return False
    with npy_append_array.NpyAppendArray(path) as to:
        to.append(np.load(rows))
    return True


def create(path, rows):
    """Creates a file with npy-append-array. Returns false if it is not installed."""
    if npy_append_array is None:
        return False
    with npy_append_array.NpyAppendArray(path, delete_if_exists=True) as to:
        to.append(np.load(rows))
    return True


if __name__ == "__main__":
    serve(parts, loaded, append, create)
