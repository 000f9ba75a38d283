"""Views and arrays in memory have rows, as arrays of files do."""

import pickle

import numpy as np
import pytest
from arrays import DTYPES, elements, sample

import npymap

VIEWS = {
    "all": lambda a: a,
    "reshaped": lambda a: a.reshape(-1, 6),
    "part, reshaped": lambda a: a[3:].reshape(-1, 2),
    "columns": lambda a: a[:, 1:],
    "a column": lambda a: a[:, 2],
    "steps": lambda a: a[::2],
    "backwards": lambda a: a[::-1],
    "part of each axis": lambda a: a[1:9:3, ::-1, 1],
    "transposed": lambda a: a.transpose(2, 0, 1),
    "flat": lambda a: a.reshape(-1),
    "one row again and again": lambda a: np.broadcast_to(a[3], (50, *a.shape[1:]), subok=True),
    "windows": lambda a: np.lib.stride_tricks.sliding_window_view(a, 3, 0, subok=True),
    "no rows": lambda a: a[5:5],
    "no columns": lambda a: a[:, 4:],
    "new axis": lambda a: a[:, None],
    "one row": lambda a: a[4:5, ::2],
    "diagonal": lambda a: a.diagonal(),
}
SHAPE = (12, 4, 3)


@pytest.fixture(params=["r", "r+", "c", "memory", "F"])
def array(request, tmp_path):
    order = "F" if request.param == "F" else "C"
    np.save(tmp_path / "a.npy", np.arange(144.0).reshape(SHAPE, order=order))
    if request.param == "memory":
        return np.load(tmp_path / "a.npy")
    return npymap.open(tmp_path / "a.npy", "r" if request.param == "F" else request.param)


def rows_of(view):
    return view.rows if isinstance(view, npymap.memmap) else npymap.Concat([view]).rows


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_has_the_rows_that_numpy_shows(array, view):
    view = VIEWS[view](array)
    rows, count = rows_of(view), len(view)
    assert rows.shape == view.shape and rows.dtype == view.dtype
    indices = [0, count - 1, -1, count // 2] if count else []
    assert np.array_equal(rows.take(indices), np.asarray(view)[indices])
    assert np.array_equal(rows[:], view)
    assert rows.take(indices, dtype="f4").dtype == np.float32
    assert np.array_equal(pickle.loads(pickle.dumps(rows))[:], view)
    if count > 2:
        assert np.array_equal(rows.windows(2).take([1])[0], view[1:3])
        assert np.array_equal(next(npymap.Batches(view, [[2, 0]], dtype="f4"))[1],
                              np.asarray(view)[[2, 0]].astype("f4"))
    for index in (count, -count - 1):
        with pytest.raises(IndexError):
            rows.take([index])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_has_rows(tmp_path, dtype):
    expected = sample(dtype, (6, 4))
    np.save(tmp_path / "a.npy", expected)
    for array in (npymap.open(tmp_path / "a.npy", "c"), expected):
        for view in (array, array[::2], array[:, 1:3], array[::-1]):
            rows = rows_of(view)
            assert rows.dtype == view.dtype
            assert elements(rows.take([2, 0])) == elements(np.asarray(view)[[2, 0]])


def test_fields_and_views_of_other_dtypes_have_rows(tmp_path):
    dtype = np.dtype([("x", "<f4"), ("pos", ">i2", (3,)), ("name", "S3")])
    expected = sample(dtype, 20)
    np.save(tmp_path / "a.npy", expected)
    for mode in ("r", "r+", "c"):
        array = npymap.open(tmp_path / "a.npy", mode)
        for view in (array["x"], array["pos"], array["pos"][:, 1], array["name"][::3], array[["x", "name"]],
                     array[5:].view("u1"), array.view("u1").reshape(20, -1)[:, 4:10]):
            assert view.rows.take([3, -1]).tolist() == np.asarray(view)[[3, -1]].tolist()
        assert array.rows.field("pos").take([3]).tolist() == [expected["pos"][3].tolist()]


def test_dtypes_of_other_packages_have_rows(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.arange(12).astype(ml_dtypes.bfloat16).reshape(4, 3)
    for view in (array, array[::2], array[:, 1]):
        rows = npymap.Concat([view, view]).rows
        assert rows.dtype == ml_dtypes.bfloat16
        assert rows.take([1]).tolist() == view[[1]].tolist()


def test_stores_are_seen_by_rows_of_views(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((6, 4)))
    for mode in ("r+", "c"):
        array = npymap.open(tmp_path / "a.npy", mode)
        every, column, flat = array[::2].rows, array[:, 1].rows, array.reshape(-1, 2).rows
        array[2, 1] = 5
        assert every.take([1])[0, 1] == column.take([2])[0] == flat.take([4])[0, 1] == 5
        array[2, 1] = 0


def test_rows_are_taken_into_their_own_array():
    array = np.arange(12.0).reshape(6, 2)
    rows = npymap.Concat([array, array[::-1]]).rows
    assert rows.take([6, 5, 0], out=array[:3]).tolist() == [[10, 11], [10, 11], [0, 1]]


def test_what_stacks(tmp_path):
    parts = [np.arange(8.0).reshape(4, 2) + 10 * number for number in range(6)]
    np.save(tmp_path / "0.npy", parts[0])
    np.save(tmp_path / "1.npy", parts[1])
    np.savez(tmp_path / "a.npz", x=parts[2])
    (tmp_path / "raw").write_bytes(b"head" + parts[3].tobytes())
    np.save(tmp_path / "4.npy", np.repeat(parts[4], 2, 0))
    concat = npymap.Concat([
        tmp_path / "0.npy", npymap.open(tmp_path / "1.npy"), npymap.ArrayFile(tmp_path / "a.npz", member="x"),
        npymap.memmap(tmp_path / "raw", "f8", "r", 4, (4, 2)), npymap.open(tmp_path / "4.npy")[::2], parts[5]])
    expected = np.concatenate(parts)
    assert concat.shape == (24, 2) and concat.dtype == expected.dtype and len(concat) == 24
    assert concat.paths == [str(tmp_path / "0.npy"), None, None, None, None, None]
    assert np.array_equal(concat, expected)
    indices = np.random.default_rng(1).permutation(24)
    assert np.array_equal(concat.take(indices), expected[indices])
    assert np.array_equal(concat.rows.windows(5).take([2, 6]), [expected[2:7], expected[6:11]])
    again = npymap.Concat([concat, concat.rows, npymap.Concat([tmp_path / "0.npy"])])
    assert np.array_equal(again, np.concatenate([expected, expected, parts[0]]))
    assert np.array_equal(pickle.loads(pickle.dumps(again)), again)
    assert next(npymap.Batches([again, np.arange(52)], [[30, 0]]))[2].tolist() == [30, 0]


def test_what_does_not_stack(tmp_path):
    for second, match in ((np.zeros((2, 3)), "array 1 has dtype .* shape .*2, 3"), (np.zeros((2, 2), "f4"), "f4"),
                          (np.array(5.0), "without axes")):
        with pytest.raises((ValueError, TypeError), match=match):
            npymap.Concat([np.zeros((4, 2)), second])
    with pytest.raises(TypeError, match="expected an array, an ArrayFile"):
        npymap.Concat([np.zeros(3), 5])
    with pytest.raises(TypeError, match="a single path"):
        npymap.Concat("a.npy")


def test_read_only_views_and_empty_text_have_rows():
    array = np.arange(6).reshape(3, 2)
    array.flags.writeable = False
    assert npymap.Concat([array.T]).take([1]).tolist() == [[1, 3, 5]]
    assert npymap.Concat([np.ndarray((3, 2), "S0")]).take([2]).shape == (1, 2)
