"""Reports what NumPy selects by masks, its sums, and its names of dtypes.

For `tests/live_select.rs`. See `oracle.py` for the protocol.
"""

import random

from oracle import SCALARS, UNITS, format, np, random_dtype, serve
from views import contents, random_file, raw, sized_dtype


def masked(array, mask):
    try:
        return contents(array[mask])
    except IndexError as error:
        return {"error": str(error)}


def compressed(array, mask, axis):
    try:
        return contents(np.compress(mask, array, axis))
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


NUMBERS = [f"{order}{kind}" for order in "<>" for kind in "i2 i4 i8 u2 u4 u8 f2 f4 f8".split()]
NUMBERS += ["|b1", "|i1", "|u1"]


def listed(array):
    """The shape and the numbers of an array, as text, because JSON has no NaN."""
    return {"shape": array.shape, "numbers": [repr(float(x)) for x in array.ravel()]}


def random_numbers(rng, dtype, shape, fortran):
    """Numbers of which a few are NaN, in either order."""
    count = int(np.prod(shape))
    values = np.array([rng.randrange(100) for _ in range(count)])
    array = (values - (50 if dtype.kind in "if" else 0)).astype(dtype)
    for _ in range(rng.choice([0, 0, 1, 3]) if count and dtype.kind == "f" else 0):
        array[rng.randrange(count)] = rng.choice([np.nan, np.inf, -np.inf])
    return np.array(array.reshape(shape), order="F" if fortran else "C")


def sums(directory, seed, count):
    """Sums along every axis."""
    rng = random.Random(seed)
    files = []
    for number in range(count):
        dtype = np.dtype(NUMBERS[number % len(NUMBERS)])
        long = rng.choice([5, 5, 40, 3000])
        shape = [rng.choice([0, 1, 2, 3, 5, 7]) if rng.random() < 0.1 else rng.randrange(1, 6) for _ in range(rng.randrange(1, 4))]
        shape[rng.randrange(len(shape))] *= long
        array = random_numbers(rng, dtype, shape, rng.random() < 0.5)
        path = f"{directory}/{number}.npy"
        np.save(path, array)
        cases = []
        for text in ["...", "::-1", "..., ::2", "..., 1:-1"]:
            view = eval(f"array[{text}]")
            for axis in range(view.ndim):
                case = {"slice": text, "axis": axis, "sum": listed(view.sum(axis, dtype="f8"))}
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
    serve(masks, names, sums)
