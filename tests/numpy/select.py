"""Answers what NumPy selects of arrays in files by masks, and the names of
dtypes, as `oracle.py`.

`tests/live_select.rs` asks.
"""

import random

from oracle import SCALARS, UNITS, format, np, random_dtype, serve
from views import random_file, raw, sized_dtype, told


def masked(array, mask):
    try:
        return told(array[mask])
    except IndexError as error:
        return {"error": str(error)}


def compressed(array, mask, axis):
    try:
        return told(np.compress(mask, array, axis))
    except (IndexError, ValueError) as error:
        return {"error": str(error)}


def random_mask(rng, shape):
    """A mask of the first axes, or sometimes of another shape."""
    shape = list(shape[: rng.randrange(len(shape) + 1)])
    if shape and rng.random() < 0.1:
        shape[rng.randrange(len(shape))] += rng.choice([-1, 1]) if all(shape) else 1
    share = rng.choice([0, 0.1, 0.5, 0.9, 1])
    flags = [rng.random() < share for _ in range(int(np.prod(shape)))]
    return np.array(flags, bool).reshape(shape)


def masks(directory, seed, count):
    rng = random.Random(seed)
    files = []
    for number in range(count):
        path = f"{directory}/{number}.npy"
        array = raw(random_file(rng, path, sized_dtype(rng)))
        cases = []
        for _ in range(4):
            axes = list(range(array.ndim))
            rng.shuffle(axes)
            turned = array.transpose(axes)
            mask = random_mask(rng, turned.shape)
            case = {"axes": axes, "mask": mask.ravel().tolist(), "dims": mask.shape}
            case["indices"] = np.argwhere(mask).tolist()
            case["flat"] = np.flatnonzero(mask).tolist()
            case["selected"] = masked(turned, mask)
            if axes:
                axis = rng.randrange(array.ndim)
                length = max(0, turned.shape[axis] + rng.choice([0, 0, 0, -1, 1]))
                line = np.array([rng.random() < 0.6 for _ in range(length)], bool)
                case["axis"], case["line"] = axis, line.tolist()
                case["compressed"] = compressed(turned, line, axis)
            cases.append(case)
        files.append({"path": path, "cases": cases})
    return files


def names(seed, count):
    """The names of all scalars, of all units and of random dtypes."""
    rng = random.Random(seed)
    dtypes = [np.dtype(order + scalar) for order in "<>" for scalar in SCALARS]
    dtypes += [np.dtype(f"{k}8[{n}{unit}]") for k in "Mm" for n in ("", "25") for unit in UNITS]
    dtypes += [np.dtype([]), np.dtype([("a", "V0")]), np.dtype(("<f8", (2, 0)))]
    dtypes += [random_dtype(rng) for _ in range(count)]
    # The descr of a subarray by itself keeps only its size.
    descrs = [
        (format.dtype_to_descr(dtype.base), dtype.shape) if dtype.subdtype else format.dtype_to_descr(dtype)
        for dtype in dtypes
    ]
    return [[repr(descr), dtype.name] for descr, dtype in zip(descrs, dtypes)]


if __name__ == "__main__":
    serve(masks, names)
