"""Arrays of every kind, for tests that compare with NumPy."""

from multiprocessing.reduction import ForkingPickler

import numpy as np

RECORD = np.dtype([("x", "<f4"), ("pos", ">i2", (3,)), ("name", "U3")])
DTYPES = [
    "?", "<i1", "<i2", ">i4", "<i8", "|u1", ">u2", "<u4", ">u8", "<f2", ">f4", "<f8", "<c8",
    ">c16", "<f16", "S5", "<U3", ">U3", "V7", "<M8[ns]", ">M8[25s]", "<m8[D]", RECORD,
    np.dtype([("a", "u1"), ("b", "<f8")], align=True), np.dtype([("n", RECORD), ("z", "i1")]),
]
SHAPES = [(), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 4)]


def sample(dtype, shape, order="C"):
    """Return an array of arbitrary elements."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype.kind in "US":
        flat = np.array([str(number) for number in range(count)], dtype)
    elif dtype.kind in "V":
        flat = np.frombuffer(bytes(index % 50 for index in range(count * dtype.itemsize)), dtype)
    elif dtype.kind in "mM":
        flat = np.arange(count).astype(dtype.str)
    else:
        flat = np.arange(count).astype(dtype)
    return np.asarray(flat.reshape(shape), order=order)


def assert_same(found, expected):
    """Compare elements, dtype, shape and memory order."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    assert found.dtype.str == expected.dtype.str
    assert found.shape == expected.shape
    assert elements(found) == elements(expected)
    assert found.flags.f_contiguous == expected.flags.f_contiguous
    assert found.flags.c_contiguous == expected.flags.c_contiguous


def elements(array):
    """Return the bytes of all elements, without those between fields."""
    if array.dtype.names is None:
        return array.tobytes()
    return [elements(array[name]) for name in array.dtype.names]


def has_padding(dtype):
    """Return whether there are bytes between fields, which NumPy copies or not."""
    return np.dtype(dtype).isalignedstruct


def sent(value):
    """Return the bytes that `multiprocessing` sends for a value."""
    return bytes(ForkingPickler.dumps(value))
