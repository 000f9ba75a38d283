"""Reports what `numpy.memmap` does with random_cases files, for `tests/live_raw.rs`.

See `oracle.py` for the protocol.
"""

import ctypes
import hashlib
import os
import random
import shutil

from oracle import format, np, random_dtype, serve

GRANULARITY = 65536
SHAPES = [None, None, 0, 1, 7, (), (3,), (2, 3), (4, 1, 2), (0, 3), (3, 0), (1, 1, 1), (2, 3, 2, 1)]


def random_elements(rng):
    """A dtype of any kind, sometimes a subarray, and its descr."""
    dtype = random_dtype(rng)
    if rng.random() < 0.85 or dtype.itemsize == 0:
        return dtype, repr(format.dtype_to_descr(dtype))
    shape = tuple(rng.randrange(1, 4) for _ in range(rng.randrange(1, 3)))
    return np.dtype((dtype, shape)), repr((format.dtype_to_descr(dtype), shape))


def digest(path):
    with open(path, "rb") as file:
        data = file.read()
    return [len(data), hashlib.sha256(data).hexdigest()]


def opened(path, mode, dtype, shape, offset, order):
    """Maps a file, overwrites its elements if the mode allows it, and returns the bytes before and after."""
    try:
        array = np.memmap(path, dtype, mode, offset, shape, order)
    except Exception as error:
        return {"error": repr(error)}
    before = ctypes.string_at(array.ctypes.data, array.nbytes).hex()
    if mode != "r":
        ctypes.memset(array.ctypes.data, 0x5A, array.nbytes)
    after = ctypes.string_at(array.ctypes.data, array.nbytes).hex()
    answer = {"shape": array.shape, "strides": array.strides, "before": before, "after": after}
    answer["size"] = array.size * array.itemsize
    del array
    return answer


def random_cases(directory, seed, count):
    """Random files and arguments of `memmap`, with the results."""
    rng = random.Random(seed)
    for number in range(count):
        dtype, descr = random_elements(rng)
        shape = rng.choice(SHAPES)
        offset = rng.choice([0, 0, 1, 3, 8, 100, GRANULARITY - 1, GRANULARITY, GRANULARITY + 1])
        order = rng.choice("CF")
        needed = 24 if shape is None else int(np.prod(shape, dtype=int))
        length = offset + needed * dtype.itemsize
        length = rng.choice([length] * 6 + [length + 1, length + 100, max(length - 1, 0), offset, 0])
        ours, theirs = (os.path.join(directory, f"{number}.{name}") for name in ("ours", "numpy"))
        with open(ours, "wb") as file:
            file.write(rng.randbytes(length))
        for mode in ("r", "c", "r+", "w+"):
            shutil.copyfile(ours, theirs)
            case = opened(theirs, mode, dtype, shape, offset, order)
            case["file"] = digest(theirs)
            case.update(path=ours, mode=mode, descr=descr, offset=offset, order=order)
            case["requested_shape"] = [shape] if isinstance(shape, int) else shape
            yield case
        os.remove(theirs)


def cases(*arguments):
    return list(random_cases(*arguments))


def digests(*paths):
    return [digest(path) for path in paths]


if __name__ == "__main__":
    serve(cases, digests)
