"""Reports what `np.take` returns for arrays in files, for `tests/live_take.rs`.

See `oracle.py` for the protocol.
"""

import random

from oracle import np, serve
from views import contents, random_file, random_path, raw, sized_dtype

NUMBERS = [f"{order}{kind}" for order in "<>" for kind in "i2 i4 i8 u2 u4 u8 f2 f4 f8 c8 c16".split()]
NUMBERS += ["|b1", "|i1", "|u1"]


def random_indices(rng, dim, mode):
    is_checked = mode in ("raise", "from_end")
    reach = dim + (rng.random() < 0.05) if is_checked else rng.choice([dim, dim, dim + 2])
    low = 0 if mode == "raise" and rng.random() >= 0.05 else -reach
    count = rng.choice([0, 1, 2, 5, 20, 40])
    return [rng.randrange(low, max(reach, low + 1)) for _ in range(count)]


def taken(array, indices, axis, mode):
    """The result of `np.take`, except that `raise` allows no negative indices; `from_end` does."""
    if indices and array.shape[axis] == 0:
        # With `wrap`, NumPy hangs here unless another axis is empty too.
        return {"error": "nothing to take"}
    if mode == "raise" and indices and min(indices) < 0:
        return {"error": "negative"}
    try:
        numpys = "raise" if mode == "from_end" else mode
        return contents(np.take(array, np.array(indices, int), axis, mode=numpys))
    except (IndexError, ValueError) as error:
        return {"error": str(error)}


def takes(directory, seed, count):
    """Takes along random axes of whole elements, and takes rows of one field."""
    rng = random.Random(seed)
    files = []
    while len(files) < count:
        path = f"{directory}/{len(files)}.npy"
        array = random_file(rng, path, sized_dtype(rng))
        if array.ndim == 0:
            continue
        cases = []
        for _ in range(4):
            axis, mode = rng.randrange(array.ndim), rng.choice(["raise", "from_end", "wrap", "clip"])
            indices = random_indices(rng, array.shape[axis], mode)
            case = taken(raw(array), indices, axis, mode)
            cases.append({"axis": axis, "mode": mode, "indices": indices, **case})
        keys = random_path(rng, array.dtype)
        field = array
        for key in keys:
            field = field[key]
        indices = [rng.randrange(len(array)) for _ in range(5)] if len(array) else []
        # NumPy does not copy padding inside of elements.
        own = contents(field[indices]) if field.itemsize and field.dtype.names is None else None
        files.append(
            {"path": path, "cases": cases, "field": keys, "rows": indices, "taken": own}
        )
    return files


def casts(directory, seed, count):
    """Windows of numbers, cast to another dtype by casting `same_kind`."""
    rng = random.Random(seed)
    files = []
    while len(files) < count:
        path = f"{directory}/{len(files)}.npy"
        array = random_file(rng, path, np.dtype(rng.choice(NUMBERS)))
        if array.ndim == 0:
            continue
        to = np.dtype(rng.choice(NUMBERS)).newbyteorder("<")
        length = rng.randrange(len(array) + 2)
        starts = [rng.randrange(len(array) - length + 1) for _ in range(5)] if length <= len(array) else [0]
        case = {"path": path, "to": to.str, "len": length, "starts": starts}
        if not np.can_cast(array.dtype, to, "same_kind") or length > len(array):
            files.append({**case, "error": True})
            continue
        windows = [array[start : start + length] for start in starts]
        files.append({**case, **contents(np.array(windows).astype(to))})
    return files


if __name__ == "__main__":
    serve(takes, casts)
