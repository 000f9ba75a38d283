"""Rows by number equal what NumPy's fancy indexing selects."""

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from arrays import sent

import npymap

DTYPES = ["<f8", ">f8", "<f4", ">i4", "|u1", "|b1", "<c16", "|S5", "<U3", "<M8[s]", ">m8[us]",
          [("a", "<i2"), ("b", ">f4", (2,))], "<f2"]
INDICES = [[4, 0, 4, -1], [], [99], np.array([3, 2], np.uint8), np.arange(-100, 100), np.int64(7),
           [[1, 2], [3, 4]]]


def example(dtype, shape=(100, 3, 2), order="C"):
    count = int(np.prod(shape))
    dtype = np.dtype(dtype)
    bytes_ = (np.arange(count * dtype.itemsize) * 7 % 51 + (dtype.kind in "SU") * 48).astype("u1")
    if dtype.kind in "bU":
        array = (np.arange(count) % 2).astype(dtype)
    else:
        array = bytes_.view(dtype)
    return np.array(array.reshape(shape), order=order)


def assert_equal(left, right):
    assert left.dtype == right.dtype and left.shape == right.shape
    assert left.tobytes() == right.tobytes()


@pytest.fixture(params=DTYPES, ids=str)
def array(request, tmp_path):
    array = example(request.param)
    np.save(tmp_path / "a.npy", array)
    return array


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("mode", ["r", "r+"])
def test_rows_of_every_source_equal_numpys(tmp_path, array, order, mode):
    path = tmp_path / "b.npy"
    np.save(path, np.asarray(array, order=order))
    mapped = npymap.open(path, mode)
    sources = [mapped.rows, npymap.ArrayFile(path).rows, npymap.Concat([path]).rows]
    for rows in sources:
        assert rows.shape == array.shape and rows.dtype == array.dtype and len(rows) == 100
        for indices in INDICES:
            expected = array[np.asarray(indices, int)]
            assert_equal(rows.take(indices), expected)
            out = np.zeros_like(expected, order="C")
            assert rows.take(indices, out) is out
            assert_equal(out, expected)


def index_arrays():
    """Yield the same row numbers in arrays that differ in dtype, strides and alignment."""
    numbers = [3, 0, 99, 3]
    for dtype in ["i8", ">i8", "q", "i4", "u1", "<u8"]:
        array = np.array(numbers, dtype)
        yield from (array, array.repeat(2)[::2], array[::-1][::-1], memoryview(array))
        unaligned = np.zeros(array.nbytes + 1, "u1")[1:].view(dtype)
        unaligned[:] = array
        yield unaligned
    yield np.ma.array(numbers, mask=[0, 1, 0, 0])
    read_only = np.array(numbers)
    read_only.flags.writeable = False
    yield read_only


class Subclass(np.ndarray):
    """An array of another class."""


def outputs(expected):
    """Yield arrays that can be filled with rows."""
    yield np.zeros_like(expected)
    yield np.zeros_like(expected).view(Subclass)
    unaligned = np.zeros(expected.nbytes + 1, "u1")[1:].view(expected.dtype)
    yield unaligned.reshape(expected.shape)


def test_arrays_of_indices_and_outputs_may_have_any_layout(tmp_path, array):
    mapped = npymap.open(tmp_path / "a.npy")
    expected = array[[3, 0, 99, 3]]
    for source in [mapped.rows, npymap.ArrayFile(tmp_path / "a.npy")]:
        for indices in index_arrays():
            assert_equal(source.take(indices), expected)
            for out in outputs(expected):
                assert source.take(indices, out) is out
                assert_equal(np.asarray(out), expected)
        pairs = np.array([[3, 0], [99, 3]])
        for indices in [pairs, np.asfortranarray(pairs)]:
            assert_equal(source.take(indices), array[pairs])
            out = np.zeros_like(array[pairs])
            assert source.take(indices, out) is out
            assert_equal(out, array[pairs])
        assert_equal(source.take(np.array(7)), array[7])
    for indices in index_arrays():
        if isinstance(indices, np.ndarray):
            assert_equal(np.asarray(mapped[indices]), expected)


def test_fancy_indexing_takes_rows(tmp_path, array):
    mapped = npymap.open(tmp_path / "a.npy")
    for view, own in [(mapped, array), (mapped[10:60], array[10:60]), (mapped[5:5], array[5:5]),
                      (mapped[::2], array[::2]), (mapped[:, 0], array[:, 0]), (mapped.T, array.T),
                      (mapped[3], array[3]), (mapped[99:], array[99:])]:
        for indices in [[0], [-1, 0], np.array([0, 0], np.uint16), np.empty(0, int)]:
            if len(own) == 0 and len(indices):
                with pytest.raises(IndexError):
                    view[indices]
                continue
            found = view[indices]
            assert type(found) is np.ndarray
            assert_equal(found, own[indices])
            assert_equal(view.take(indices, axis=0), own.take(indices, axis=0))
    for index in [([1, 2], [0, 1]), np.ones(100, bool), [[1], [2]], (slice(None), [0]), ...]:
        assert_equal(np.asarray(mapped[index]), array[index])
    for index in [[100], [-101], np.array([0, 2**40]), np.array([2**63], np.uint64)]:
        with pytest.raises(IndexError):
            mapped[index]
    with pytest.raises(IndexError):
        mapped[[0.0]]


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_take_has_numpys_arguments(tmp_path, mode, axis):
    array = example("<i4")
    np.save(tmp_path / "a.npy", array)
    mapped = npymap.open(tmp_path / "a.npy")
    indices = [1, 0, 1] if mode == "raise" else [1, -3, 500]
    expected = array.take(indices, axis, mode=mode)
    assert_equal(mapped.take(indices, axis, mode=mode), expected)
    out = np.zeros_like(expected)
    assert mapped.take(indices, axis, out, mode) is out
    assert_equal(out, expected)
    assert mapped.take(3).shape == array.take(3).shape


def test_subclasses_take_as_numpys(npy):
    class Named(npymap.memmap):
        def __array_finalize__(self, array):
            self.name = getattr(array, "name", None)

    array = npymap.open(npy).view(Named)
    array.name = "a"
    for taken in (array.take([2, 0], axis=0), array[[2, 0]], array.take([2, 0])):
        assert type(taken) is Named and taken.name == "a"
    assert array.take([2, 0], axis=0).tolist() == [[8, 9, 10, 11], [0, 1, 2, 3]]
    assert type(npymap.open(npy).take([2, 0], axis=0)) is np.ndarray


def test_copy_on_write_arrays_and_arrays_in_memory_are_numpys(tmp_path, array):
    mapped = npymap.open(tmp_path / "a.npy", "c")
    mapped[4] = mapped[5]
    assert_equal(mapped[[4, 5]], array[[5, 5]])
    assert_equal(mapped.rows.take([4, 5]), array[[5, 5]])
    assert (mapped + mapped)[[1]].shape if array.dtype.kind in "fc" else True


def test_changes_are_seen_by_rows(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((50, 4)))
    mapped = npymap.open(tmp_path / "a.npy", "r+")
    assert mapped[[7]].sum() == 0
    mapped[7] = 2
    assert mapped[[7]].sum() == 8
    created = npymap.create(tmp_path / "b.npy", "f4", (50, 4))
    created[3] = 1
    assert created[[3, 4]].sum() == 4


def test_fancy_indexing_works_after_the_file_is_deleted_or_the_shape_is_set(tmp_path):
    expected = np.arange(12.0).reshape(3, 4)
    for mode in ["r", "r+"]:
        np.save(tmp_path / "a.npy", expected)
        mapped = npymap.open(tmp_path / "a.npy", mode)
        (tmp_path / "a.npy").unlink()
        assert_equal(mapped[[2, 0]], expected[[2, 0]])
        np.save(tmp_path / "a.npy", expected)
        mapped = npymap.open(tmp_path / "a.npy", mode)
        assert_equal(mapped[[2, 0]], expected[[2, 0]])
        mapped.shape = (6, 2)
        assert_equal(mapped[[5, 0]], expected.reshape(6, 2)[[5, 0]])
        mapped.shape = (12,)
        assert_equal(mapped[[7, 0]], expected.reshape(12)[[7, 0]])


def test_casts_equal_numpys(tmp_path):
    for dtype in ["<f8", ">u2", "|i1", "|b1", "<f2", ">f4", "<c8"]:
        array = example(dtype)
        np.save(tmp_path / "a.npy", array)
        rows = npymap.open(tmp_path / "a.npy").rows
        for to in ["<f4", ">f4", "<f8", "<i8", "<c16", "|u1", ">i2"]:
            with np.errstate(all="ignore"):
                expected = array[[9, 3]].astype(to)
            for casting in ["no", "equiv", "safe", "same_kind", "unsafe"]:
                if not np.can_cast(dtype, to, casting):
                    with pytest.raises(TypeError, match="cannot cast"):
                        rows.take([9, 3], dtype=to, casting=casting)
                elif np.can_cast(dtype, to, "same_kind"):
                    assert_equal(rows.take([9, 3], dtype=to, casting=casting), expected)
                    out = np.zeros(expected.shape, to)
                    rows.take([9, 3], out, casting=casting)
                    assert_equal(out, expected)


def test_outputs_that_do_not_fit_are_errors(tmp_path, array):
    rows = npymap.open(tmp_path / "a.npy").rows
    shape = (2, 3, 2)
    read_only = np.zeros(shape, array.dtype)
    read_only.flags.writeable = False
    for out in [np.zeros((2, 3), array.dtype), np.zeros((3, 3, 2), array.dtype), read_only,
                np.zeros((2, 2, 3), array.dtype).transpose(0, 2, 1)]:
        with pytest.raises(ValueError, match="out "):
            rows.take([0, 1], out)
    with pytest.raises(ValueError, match="out "):
        rows.take(np.array([0, 1]), read_only)
    with pytest.raises(TypeError):
        rows.take(np.array([0, 1]), np.zeros(shape, object))
    with pytest.raises(TypeError, match="out is a list"):
        rows.take([0, 1], [1])
    with pytest.raises(TypeError, match="out has dtype"):
        rows.take([0], np.zeros((1, 3, 2), "<U7"), dtype="<f8")
    with pytest.raises(ValueError, match="mode 'x'"):
        rows.take([0], mode="x")
    for indices in [[0.5], ["a"], [True]]:
        with pytest.raises(TypeError, match="row numbers"):
            rows.take(indices)


def test_windows_are_sliding_windows(tmp_path, array):
    path = tmp_path / "a.npy"
    expected = np.lib.stride_tricks.sliding_window_view(array, 4, 0).transpose(0, 3, 1, 2)
    for source in [npymap.open(path), npymap.ArrayFile(path), npymap.Concat([path])]:
        windows = source.rows.windows(4)
        assert windows.shape == expected.shape
        assert_equal(windows.take([96, 0, -1]), expected[[96, 0, -1]])
        with pytest.raises(IndexError):
            windows.take([97])
        assert source.rows.windows(100).shape[0] == 1
        with pytest.raises((IndexError, ValueError)):
            source.rows.windows(101)
    part = npymap.open(path)[10:20]
    assert_equal(part.rows.windows(4).take([6, 0]), expected[[16, 10]])
    with pytest.raises(ValueError, match="windows of 11 rows"):
        part.rows.windows(11)


def test_fields_are_rows(tmp_path):
    array = example([("a", "<i2"), ("b", [("x", ">f4"), ("y", "|u1", (2,))])], (50,))
    path = tmp_path / "a.npy"
    np.save(path, array)
    for source in [npymap.open(path), npymap.ArrayFile(path)]:
        assert_equal(source.rows.field("a").take([4, 2]), array["a"][[4, 2]])
        assert_equal(source.rows.field("b.y").take([4, 2]), array["b"]["y"][[4, 2]])
        with pytest.raises(KeyError):
            source.rows.field("c")


def test_outputs_in_the_file_have_the_dtype(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(12.0).reshape(3, 4) + 0.5)
    mapped = npymap.open(tmp_path / "a.npy", "r+")
    with pytest.raises(TypeError, match="out has dtype int64, but dtype is float64"):
        mapped.rows.take([0, 1], out=mapped[1:].view("i8"), dtype="f8")
    rows, other = npymap.open(tmp_path / "a.npy").rows, np.load(tmp_path / "a.npy", mmap_mode="r+")
    rows.take([0, 1], out=other[1:])
    assert other[:, 0].tolist() == [0.5, 0.5, 4.5]


class Sub(npymap.memmap):
    """A subclass, as programs define them."""


def test_rows_pickle_with_their_source(tmp_path, array):
    path = tmp_path / "a.npy"
    for source in [npymap.open(path), npymap.open(path)[20:40], npymap.open(path).view(Sub),
                   npymap.ArrayFile(path), npymap.Concat([path, path])]:
        rows = source.rows
        for rows in [rows, rows.windows(3)]:
            for dumps in (pickle.dumps, sent):
                again = pickle.loads(dumps(rows))
                # NumPy unpickles elements in the byte order of the machine.
                assert_equal(again.take([5, 0]).astype(rows.dtype), rows.take([5, 0]))
            assert len(sent(rows)) < 1200 or isinstance(source, Sub)


def test_prefetch_checks_rows(tmp_path, array):
    rows = npymap.open(tmp_path / "a.npy").rows
    rows.prefetch([0, 99, -1])
    with pytest.raises(IndexError):
        rows.prefetch([100])


def test_threads_share_rows(tmp_path):
    array = np.arange(100_000.0).reshape(10_000, 10)
    np.save(tmp_path / "a.npy", array)
    mapped, wrong = npymap.open(tmp_path / "a.npy"), []

    def take(seed):
        rng = np.random.default_rng(seed)
        for _ in range(50):
            indices = rng.integers(0, 10_000, 100)
            if not np.array_equal(mapped[indices], array[indices]):
                wrong.append(seed)

    threads = [threading.Thread(target=take, args=(seed,)) for seed in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_rows_outlive_their_array(tmp_path, array):
    rows = npymap.open(tmp_path / "a.npy").rows
    assert_equal(rows.take([5]), array[[5]])
    (tmp_path / "a.npy").unlink()
    assert_equal(rows.take([6]), array[[6]])


def test_stacks_of_many_files(tmp_path):
    paths = []
    for number, count in enumerate([3, 0, 5, 1]):
        paths.append(tmp_path / f"{number}.npy")
        np.save(paths[-1], np.full((count, 2), number, "<u2"))
    concat = npymap.Concat(paths)
    assert (concat.shape, concat.dtype, concat.ndim) == ((9, 2), np.dtype("<u2"), 2)
    assert concat[2:5].tolist() == [[0, 0], [2, 2], [2, 2]]
    assert concat[-1].tolist() == [3, 3]
    assert_equal(pickle.loads(pickle.dumps(concat)).take([8]), np.full((1, 2), 3, "<u2"))
    np.save(tmp_path / "4.npy", np.zeros((2, 3), "<u2"))
    with pytest.raises(ValueError, match="as in the first file"):
        npymap.Concat([*paths, tmp_path / "4.npy"])
    with pytest.raises(FileNotFoundError):
        npymap.Concat([tmp_path / "none.npy"])


def test_stacks_of_dask_are_opened(tmp_path):
    for number in range(2):
        np.save(tmp_path / f"{number}.npy", np.full((2, 3), number))
    (tmp_path / "info").write_bytes(pickle.dumps(
        {"chunks": ((2, 2), (3,)), "dtype": np.dtype(int), "axis": 0}))
    assert npymap.Concat.npy_stack(tmp_path)[3].tolist() == [1, 1, 1]


def test_deleting_in_any_order_is_safe(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(1000).reshape(100, 10))
    code = """
import itertools, sys, npymap
for order in itertools.permutations(range(4)):
    array = npymap.open(sys.argv[1])
    things = [array, array[10:], array.rows, array.rows.windows(2)]
    del array
    taken = [thing[[1]] for thing in things]
    for number in order:
        things[number] = None
        assert taken[0][0, 0] == 10
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "a.npy"], check=True)


def test_out_may_have_any_stride_along_an_axis_of_one_element(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(5.0).reshape(5, 1))
    rows = npymap.open(tmp_path / "a.npy").rows
    out = np.zeros((3, 2)).T[:, :1]
    assert out.flags.c_contiguous and out.strides == (8, 16)
    assert rows.take([4, 2], out).tolist() == out.tolist() == [[4], [2]]


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_outputs_in_the_same_file_are_written_after_all_rows_are_read(tmp_path, mode):
    def fresh():
        np.save(tmp_path / "a.npy", np.arange(6.0))
        return npymap.open(tmp_path / "a.npy", "r+")

    indices = [0, 0, 1, 2, 3]
    expected = [0, 0, 0, 1, 2, 3]
    takes = [
        lambda a: a.take(indices, out=a[1:], mode=mode),
        lambda a: a.take(np.array(indices), 0, out=np.asarray(a)[1:], mode=mode),
        lambda a: a.rows.take(indices, out=a[1:], mode=mode),
        lambda a: a.rows.take(np.array(indices), out=np.asarray(a)[1:], mode=mode),
        lambda a: a[:4].rows.take(indices, out=a[1:], dtype="f8", mode=mode),
        lambda a: a.rows.take(indices, out=a[1:].view("i8"), casting="unsafe", mode=mode),
    ]
    for take in takes:
        a = fresh()
        out = take(a)
        stored = np.load(tmp_path / "a.npy")
        stored = stored if out.dtype == "f8" else np.r_[stored[:1], stored[1:].view("i8")]
        assert stored.tolist() == expected
        assert np.may_share_memory(out, a)
    with pytest.raises(ValueError, match="out has shape"):
        a.rows.take(indices, out=a)
    with pytest.raises(TypeError):
        a.rows.take(indices, out=a[1:].view("i8"))


def test_arguments_of_take_are_checked_as_numpys(npy):
    array = npymap.open(npy)
    for out in ([1], 5, "x", (np.zeros((1, 4)),)):
        with pytest.raises(TypeError):
            array.take([1], 0, out=out)
    for mode in (0, 1, 2, None):
        assert array.take([1], 0, mode=mode).tolist() == [[4, 5, 6, 7]]
    for mode in (3, "bogus"):
        with pytest.raises(ValueError):
            array.take([1], 0, mode=mode)


def test_casts_to_subarrays_and_objects_are_errors(tmp_path, npy):
    array = npymap.open(npy)
    np.save(tmp_path / "offsets.npy", np.array([0, 1, 3]))
    ragged = npymap.Ragged(npy, tmp_path / "offsets.npy")
    for dtype in (np.dtype(("f4", (2,))), np.dtype(object), np.dtype([("x", object)])):
        for casting in ("same_kind", "unsafe"):
            with pytest.raises(TypeError, match="no objects and no subarray"):
                array.rows.take([0], dtype=dtype, casting=casting)
            with pytest.raises(TypeError, match="no objects and no subarray"):
                ragged.take_padded([0], 2, dtype=dtype, casting=casting)
            with pytest.raises(TypeError, match="no objects and no subarray"):
                npymap.Batches(array, npymap.Sampler(3), 2, dtype=dtype, casting=casting)


def test_rows_are_copied_and_converted_to_arrays(tmp_path, npy):
    rows, concat = npymap.open(npy).rows, npymap.Concat([npy, npy])
    again = copy.deepcopy({"rows": rows})["rows"]
    assert again[[2]].tolist() == copy.copy(rows)[[2]].tolist() == [[8, 9, 10, 11]]
    np.save(tmp_path / "offsets.npy", np.array([0, 1, 3]))
    ragged = npymap.Ragged(npymap.open(npy), tmp_path / "offsets.npy")
    assert copy.deepcopy(ragged)[0].tolist() == [[0, 1, 2, 3]]
    expected = np.load(npy)
    np.save(tmp_path / "empty.npy", np.zeros((0, 3), ">u2"))
    for source, array in [
        (rows, expected),
        (rows.windows(2), np.stack([expected[:2], expected[1:]])),
        (concat, np.concatenate([expected, expected])),
        (npymap.Concat([tmp_path / "empty.npy"]), np.zeros((0, 3), ">u2")),
    ]:
        found = np.asarray(source)
        assert found.dtype == array.dtype and np.array_equal(found, array)
        assert np.array(source, dtype="f4").dtype == "f4"
        with pytest.raises(ValueError, match="must be copied"):
            np.array(source, copy=False)


def test_rows_have_one_axis_of_indices(npy):
    rows, concat = npymap.open(npy).rows, npymap.Concat([npy])
    for source in (rows, concat):
        with pytest.raises(IndexError, match="not a tuple"):
            source[0, 1]
    for paths in (str(npy), bytes(npy), npy):
        with pytest.raises(TypeError, match="an iterable of paths"):
            npymap.Concat(paths)


def test_rows_are_selected_by_slices_and_masks(tmp_path, npy):
    array = np.load(npy)
    mask = np.array([True, False, True])
    for rows in (npymap.open(npy).rows, npymap.Concat([npy]).rows, npymap.ArrayFile(npy).rows):
        for index in (slice(1, None), slice(None, None, -2), slice(5, 9), mask, mask.tolist(), 1, [2, 0]):
            assert_equal(rows[index], array[index])
        for index in (mask[:2], np.ones((3, 4), bool), True):
            with pytest.raises(IndexError, match="mask"):
                rows[index]
        for index in (2**63, -2**63 - 1, [0, 2**70]):
            for call in (rows.take, rows.__getitem__, rows.prefetch):
                with pytest.raises(IndexError, match="out of bounds"):
                    call(index)
        for index in (np.array([1], object), [None], ["a"]):
            with pytest.raises(TypeError, match="row numbers"):
                rows.take(index)


def test_windows_of_a_negative_length_are_an_error(npy):
    with pytest.raises(ValueError, match="length is -1, expected at least 0"):
        npymap.open(npy).rows.windows(-1)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_outputs_in_another_map_of_the_file_are_written_after_all_rows_are_read(tmp_path, mode):
    path, other = tmp_path / "a.npy", tmp_path / "b.npy"
    np.save(other, np.zeros((2, 2)))

    def sources():
        for get in (npymap.open, npymap.ArrayFile, lambda path: npymap.ArrayFile(path, "r"),
                    lambda path: npymap.Concat([other, path])):
            np.save(path, np.arange(8.0).reshape(4, 2))
            source = get(path)
            yield source, npymap.open(path, "r+"), 2 * isinstance(source, npymap.Concat)

    for take in (lambda source, *given, **named: source.take(*given, **named),
                 lambda source, *given, **named: source.rows.take(*given, **named)):
        for source, writable, first in sources():
            for indices in ([1, 0], np.array([1, 0])):
                np.copyto(writable, np.arange(8.0).reshape(4, 2))
                arguments = {"axis": 0} if type(source) is npymap.memmap else {}
                arguments = {} if "rows" in take.__code__.co_names else arguments
                out = writable[:2]
                numbers = np.asarray(indices) + first
                assert take(source, numbers, out=out, mode=mode, **arguments) is out
                assert np.load(path).tolist() == [[2, 3], [0, 1], [4, 5], [6, 7]]
                # Of another dtype.
                np.copyto(writable, np.arange(8.0).reshape(4, 2))
                if not arguments:
                    take(source, numbers, out=writable.view("i8")[:2], mode=mode, casting="unsafe")
                    assert np.load(path).view("i8")[:2].tolist() == [[2, 3], [0, 1]]


def test_dtypes_without_a_size_are_errors(tmp_path, array):
    rows = npymap.open(tmp_path / "a.npy").rows
    for dtype in (str, bytes, "S", "U", "V"):
        with pytest.raises(TypeError, match="no size, expected one with a size, such as '[SUV]8'"):
            rows.take([0], dtype=dtype, casting="unsafe")


@pytest.mark.parametrize("dtype", ["S0", "U0", ">U0"])
def test_rows_of_elements_without_bytes(tmp_path, dtype):
    np.save(tmp_path / "a.npy", np.ndarray((5, 2), dtype))
    mapped, file = npymap.open(tmp_path / "a.npy"), npymap.ArrayFile(tmp_path / "a.npy")
    for found in (mapped[[0, 1]], mapped.take([0, 1], 0), mapped.rows.take([0, 1]), file[[0, 1]],
                  mapped.rows.take([0, 1], dtype=dtype), file.take([0, 1]), file[1:3], file[:2][::-1],
                  npymap.Concat([tmp_path / "a.npy"])[1:3]):
        assert found.dtype.itemsize == 0 and found.dtype.kind == dtype[-2] and found.shape == (2, 2)
    out = np.ndarray((2, 2), dtype)
    assert mapped.rows.take([0, 1], out) is out


@pytest.mark.parametrize("mode", ["r+", "w+"])
def test_why_a_file_has_no_rows(tmp_path, mode):
    path = tmp_path / "a.npy"

    def fresh():
        np.save(path, np.arange(4.0))
        if mode == "r+":
            return npymap.open(path, "r+")
        array = npymap.create(path, "f8", 4, overwrite=True)
        array[:] = range(4)
        return array

    array = fresh()
    npymap.save(path, np.zeros(4))
    for view in (array, array[1:]):
        assert view.rows.take([0, 1]).tolist() == view[[0, 1]].tolist() == view[:2].tolist()
        assert view.take([1], mode="clip").tolist() == [view[1]]
    array = fresh()
    path.unlink()
    assert array[[3, 0]].tolist() == array.rows.take([3, 0]).tolist() == [3, 0]


def test_an_open_file_has_rows(tmp_path):
    with open(tmp_path / "a", "w+b") as file:
        file.write(bytes(64))
        array = npymap.memmap(file, "f8", "r+", shape=8)
        array[1] = 5
        assert array.rows.take([1]).tolist() == array[[1]].tolist() == [5]
        assert npymap.memmap(file, "f8", "r", shape=8).rows.take([1]).tolist() == [5]


def test_castings_are_checked_also_if_nothing_is_cast(npy):
    for source in (npymap.open(npy).rows, npymap.ArrayFile(npy), npymap.Concat([npy])):
        for arguments in ({}, {"dtype": "f8"}, {"dtype": "f4"}, {"out": np.zeros((1, 4))}):
            with pytest.raises(ValueError, match="casting 'foo': expected no, equiv"):
                source.take([0], casting="foo", **arguments)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (0, 0), (3, 0)])
def test_clipping_nothing_equals_numpys(tmp_path, shape):
    array = np.zeros(shape)
    np.save(tmp_path / "a.npy", array)
    mapped = npymap.open(tmp_path / "a.npy")
    for indices in ([], [5], [[0, -1]]):
        indices = np.array(indices, int)
        try:
            expected = array.take(indices, 0, mode="clip")
        except IndexError:
            expected = None
        for take in (lambda: mapped.take(indices, 0, mode="clip"),
                     lambda: mapped.rows.take(indices, mode="clip"),
                     lambda: npymap.ArrayFile(tmp_path / "a.npy").take(indices, mode="clip")):
            if expected is None:
                with pytest.raises(IndexError):
                    take()
            else:
                assert_equal(take(), expected)
