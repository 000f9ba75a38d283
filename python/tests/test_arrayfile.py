"""`ArrayFile` reads what NumPy's indexing selects, and pickles as a description."""

import operator
import os
import pickle
import tarfile

import numpy as np
import pytest

import npymap

INDICES = [0, -1, slice(None), slice(3, 7), slice(None, None, -1), slice(8, 2, -3), slice(5, 5),
           (1, 2), (slice(2, 9, 2), 1), (slice(None), slice(None), 1), ..., (..., 1), (2, ..., 0),
           ([3, 1, -1],), ([3, 1], slice(1)), ([3, 1], [0, 2]), ([3, 1], slice(None), 1),
           np.arange(20) % 3 == 0, (np.arange(20) % 3 == 0, 1), np.int64(4), (),
           ([3, 3, 19, 4, -20], slice(None), slice(1, 3)), ([7, 8, 9, 1], 2, slice(None, None, -2)),
           ([], 1), ([], [], 2), ([5, 5], slice(2, 2)), ([3, 1], [0, -1], 2), ([3, 1], 1, [3, 1]),
           (slice(None, None, -3), slice(None), 2), (slice(1, None, 2), 0, slice(1, 3)),
           (slice(8, 2, 3), 1), (slice(15, 3, -4), [0, 2, 1])]


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("mode", [None, "r"])
def test_indexing_equals_numpys(tmp_path, order, mode):
    array = np.arange(20 * 3 * 4, dtype=">i4").reshape(20, 3, 4)
    np.save(tmp_path / "a.npy", np.asarray(array, order=order))
    file = npymap.ArrayFile(tmp_path / "a.npy", mode)
    assert (file.shape, file.ndim, file.size, file.nbytes) == ((20, 3, 4), 3, 240, 960)
    assert len(file) == 20 and file.dtype == array.dtype
    for index in INDICES:
        found, expected = file[index], array[index]
        assert found.dtype == expected.dtype and np.array_equal(found, expected), index
    assert np.array_equal(np.asarray(file), array)
    assert np.asarray(file, "f4").dtype == np.float32
    assert np.array_equal(file.read(4, 6), array[4:6])
    assert np.array_equal(file.take([5, 5]), array[[5, 5]])
    for index in [20, (0, 3), (0, 0, 0, 0), [20], np.ones(19, bool), ([20], 1), ([-21, 0], 1), ([0], 3)]:
        with pytest.raises(IndexError):
            file[index]


def test_unsupported_indices_are_errors(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    file = npymap.ArrayFile(tmp_path / "a.npy")
    for index in [None, [[0, 1]], (..., ...), 0.5, ["a"]]:
        with pytest.raises(IndexError):
            file[index]
    with pytest.raises(ValueError):
        np.array(file, copy=False)
    with pytest.raises(ValueError):
        npymap.ArrayFile(tmp_path / "a.npy", "r+")


def test_arrays_without_axes_and_elements(tmp_path):
    for array in [np.array(5.0), np.zeros((0, 3)), np.zeros((3, 0)), np.zeros((2, 2), "|S0")]:
        np.save(tmp_path / "a.npy", array)
        file = npymap.ArrayFile(tmp_path / "a.npy")
        assert np.asarray(file).tobytes() == array.tobytes()
        assert np.asarray(file).shape == array.shape
    file = npymap.ArrayFile(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.array(7))
    assert npymap.ArrayFile(tmp_path / "a.npy")[()] == 7
    with pytest.raises(TypeError):
        len(npymap.ArrayFile(tmp_path / "a.npy"))


def test_it_pickles_as_a_description(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(30).reshape(10, 3))
    for mode in [None, "r"]:
        file = npymap.ArrayFile(path, mode)
        data = pickle.dumps(file)
        assert len(data) < 400
        again = pickle.loads(data)
        assert again == file and hash(again) == hash(file)
        assert again.shape == (10, 3) and again[4].tolist() == [12, 13, 14]
    os.rename(path, tmp_path / "b.npy")
    again = pickle.loads(data)
    assert again.shape == (10, 3)
    np.save(path, np.zeros((10, 4)))
    again = pickle.loads(pickle.dumps(npymap.ArrayFile(tmp_path / "b.npy")))
    os.replace(path, tmp_path / "b.npy")
    with pytest.raises(npymap.FormatError, match="was replaced since the array was described") as error:
        again[0]
    assert error.value.kind == "Changed"


def test_it_has_no_copy_and_a_token_that_changes_with_the_file(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(3))
    file = npymap.ArrayFile(path)
    assert not hasattr(file, "copy")
    token = file.__dask_tokenize__()
    assert token == npymap.ArrayFile(path).__dask_tokenize__()
    np.save(tmp_path / "b.npy", np.ones(3))
    os.replace(tmp_path / "b.npy", path)
    assert token != npymap.ArrayFile(path).__dask_tokenize__()


def test_a_truncated_file_is_an_error_and_a_longer_one_is_reloaded(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((1000, 8)))
    file = npymap.ArrayFile(path)
    with npymap.Appender(path) as log:
        log.append(np.ones((5, 8)))
    assert len(file) == 1000
    file.reload()
    assert len(file) == 1005 and file[-1].sum() == 8
    os.truncate(path, 1000)
    with pytest.raises(npymap.FormatError) as error:
        file[900]
    assert error.value.kind == "Truncated"
    with pytest.raises(npymap.FormatError):
        file.check_unchanged()
    with pytest.raises(FileNotFoundError):
        npymap.ArrayFile(tmp_path / "none.npy")


@pytest.mark.parametrize("order", "CF")
def test_parts_are_mapped(tmp_path, order):
    array = np.arange(20 * 3 * 4, dtype=">i4").reshape(20, 3, 4)
    np.save(tmp_path / "a.npy", np.asarray(array, order=order))
    file = npymap.ArrayFile(tmp_path / "a.npy")
    assert file.fortran_order == (order == "F")
    for index in INDICES:
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, (list, np.ndarray)) for part in parts):
            with pytest.raises(IndexError, match="integers and slices"):
                file.map(index)
            continue
        found = file.map(index)
        assert type(found) is npymap.memmap and not found.flags.writeable
        assert found.dtype == array.dtype and np.array_equal(found, array[index]), index
        assert np.array_equal(pickle.loads(pickle.dumps(found)), found)
    part = file.map(np.s_[3:5, :, 1:3] if order == "C" else np.s_[:, :, 1])
    assert part._mmap.size() <= 240
    assert file.map(3).sum() == array[3].sum() and file.map((1, 2, 3)).shape == ()
    for index in [20, (0, 0, 0, 0), None]:
        with pytest.raises(IndexError):
            file.map(index)
    if order == "C":
        rows = file.map(np.s_[4:9]).rows
        assert np.array_equal(rows.take([2, 0]), array[[6, 4]])


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="counts what is read")
@pytest.mark.parametrize("order, index", [
    ("C", np.s_[:, 7]), ("F", np.s_[..., 5]), ("C", np.s_[8, 2:, 3]), ("F", ([4, 1, 1], slice(None), 5)),
    ("C", ([4, 1, 1], 9)), ("F", np.s_[::-2, 3, 4:6])])
def test_only_selected_elements_are_read(tmp_path, order, index):
    array = np.arange(50 * 100 * 1000.0).reshape(50, 100, 1000)
    np.save(tmp_path / "a.npy", np.asarray(array, order=order))
    file = npymap.ArrayFile(tmp_path / "a.npy")
    before = bytes_read()
    assert np.array_equal(file[index], array[index])
    assert bytes_read() - before < 1_000_000


def bytes_read():
    with open("/proc/self/io") as counters:
        return int(counters.readline().split()[1])


def test_a_replaced_file_is_never_mixed_with_the_new_one(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((9, 9)))
    file = npymap.ArrayFile(tmp_path / "a.npy")
    npymap.save(tmp_path / "a.npy", np.ones((9, 9)))
    assert file[:].sum() == 0
    with pytest.raises(npymap.FormatError, match="another file") as error:
        file[:, 1]
    assert error.value.kind == "Changed"


def archives(path, array):
    """Write an array to an archive of each kind, and yield its name there."""
    npymap.savez(path / "a.npz", x=array, y=[1.0])
    np.savez(path / "b.npz", y=[1.0], x=array)
    yield path / "a.npz", "x"
    yield path / "b.npz", "x.npy"
    webdataset = pytest.importorskip("webdataset.tenbin")
    webdataset.save(str(path / "a.ten"), array, array[1:], infos=["x", "y"])
    yield path / "a.ten", 0
    yield path / "a.ten", "x"
    np.save(path / "x.npy", array)
    with tarfile.open(path / "a.tar", "w") as tar:
        for name in ["a.ten", "x.npy"]:
            tar.add(path / name, name)
    yield path / "a.tar", "x.npy"
    yield path / "a.tar", "a.ten[x]"


def test_members_of_archives(tmp_path):
    array = np.arange(120, dtype="<f4").reshape(10, 3, 4)
    for path, member in archives(tmp_path, array):
        for mode in [None, "r"]:
            file = npymap.ArrayFile(path, mode, member=member)
            assert file.member == str(member) and file.shape == (10, 3, 4)
            again = pickle.loads(pickle.dumps(file))
            assert again == file and again[4, 1:, 2].tolist() == array[4, 1:, 2].tolist()
            assert np.array_equal(file.take([9, 0]), array[[9, 0]])
            assert np.array_equal(file, array) and np.array_equal(file.map((2, 1)), array[2, 1])
        for wrong in ["none", "7", "x.npy[0]"]:
            with pytest.raises((KeyError, npymap.FormatError)):
                npymap.ArrayFile(path, member=wrong)
        os.utime(path, ns=(0, os.stat(path).st_mtime_ns - 1_000_000_000))
        with pytest.raises(npymap.FormatError, match="was modified since the array was described"):
            pickle.loads(pickle.dumps(again))[0]
    with pytest.raises(KeyError):
        npymap.ArrayFile(tmp_path / "x.npy", member="x")
    with pytest.raises(ValueError, match="an offset"):
        npymap.ArrayFile(tmp_path / "a.npz", member="x", at=8)


def test_compressed_members_are_errors(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(100))
    with pytest.raises(npymap.FormatError, match="use npymap.Npz") as error:
        npymap.ArrayFile(tmp_path / "a.npz", member="x")
    assert error.value.kind == "Unsupported" and error.value.member == "x"


def test_dask_reads_blocks(tmp_path):
    dask = pytest.importorskip("dask.array")
    array = np.arange(6000.0).reshape(1000, 6)
    np.save(tmp_path / "a.npy", array)
    lazy = dask.from_array(npymap.ArrayFile(tmp_path / "a.npy"), chunks=(100, 3))
    assert lazy.sum().compute() == array.sum()


def test_an_ellipsis_makes_single_elements_arrays(tmp_path):
    array = np.arange(6, dtype=">i2").reshape(2, 3)
    np.save(tmp_path / "a.npy", array)
    file = npymap.ArrayFile(tmp_path / "a.npy")
    for index in ((..., 1, 2), (1, ..., 2), (1, 2, ...), (1, 2), (..., [0], 1), (..., 1)):
        found, expected = file[index], array[index]
        assert type(found) is type(expected) and found.shape == expected.shape
        assert np.array_equal(found, expected)


def test_an_ellipsis_of_no_axes_separates_lists(tmp_path):
    array = np.arange(48).reshape(2, 3, 4, 2)
    np.save(tmp_path / "a.npy", array)
    file = npymap.ArrayFile(tmp_path / "a.npy")
    every = slice(None)
    for parts in ((every, 0, [0, 1], every), (every, [0, 1], [1, 0], every), (every, 1, every, [1, 0]),
                  (slice(None, None, -1), every, 0, [1]), (slice(0, 2, 2), 0, [3, 1], 1), ([1], every, 0, [1])):
        for at in range(5):
            index = (*parts[:at], ..., *parts[at:])
            assert np.array_equal(file[index], array[index]) and file[index].shape == array[index].shape, index


def test_booleans_and_arrays_of_floats_are_no_positions(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 3, 4)))
    file = npymap.ArrayFile(tmp_path / "a.npy")
    for part in (True, np.True_, np.array(True), np.array(1.0), np.float64(1), "a", object()):
        for index in (part, ([0, 1], part), (slice(None, None, 2), part), (0, part, 1), (..., part)):
            with pytest.raises(IndexError):
                file[index]
            with pytest.raises(IndexError):
                file.map(index)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "S1", "V1", "i2", "U1"])
def test_elements_of_each_size_without_axes_are_read(tmp_path, dtype):
    array = np.array(1).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    file = npymap.ArrayFile(tmp_path / "a.npy")
    assert file[()] == array[()] and file[...].shape == () and file.read().tobytes() == array.tobytes()
    np.save(tmp_path / "a.npy", np.repeat(array, 3))
    file.reload()
    assert file.take(1, dtype=dtype).tobytes() == array.tobytes()
    if dtype not in ("V1", "U1"):
        assert file.take(np.array(1), dtype="i1" if dtype != "S1" else "S2").shape == ()


def test_arrays_of_other_packages_are_lists_of_rows(tmp_path):
    class Tensor:
        def __init__(self, numbers):
            self.numbers = np.array(numbers)

        def __array__(self, dtype=None, copy=None):
            return self.numbers

        def __index__(self):
            return operator.index(self.numbers)

    array = np.arange(12).reshape(4, 3)
    np.save(tmp_path / "a.npy", array)
    file = npymap.ArrayFile(tmp_path / "a.npy")
    assert np.array_equal(file[Tensor([1, 3])], array[[1, 3]])
    assert np.array_equal(file[Tensor(2)], array[2])


def test_names_with_two_dots_are_not_above(tmp_path, monkeypatch):
    (tmp_path / "run..1").mkdir()
    np.save(tmp_path / "run..1" / "a.npy", np.arange(3))
    monkeypatch.chdir(tmp_path)
    files = [npymap.ArrayFile("run..1/./a.npy"), npymap.ArrayFile(tmp_path / "run..1" / "a.npy")]
    assert files[0] == files[1] and hash(files[0]) == hash(files[1])


def replace(path, array):
    """Replace a file by another of the same length."""
    npymap.save(path.with_name("new.npy"), array)
    os.replace(path.with_name("new.npy"), path)


@pytest.mark.parametrize("is_pickled", [False, True])
@pytest.mark.parametrize("mode", [None, "r"])
def test_nothing_of_a_replaced_file_is_mapped(tmp_path, mode, is_pickled):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((9, 4)))
    file = npymap.ArrayFile(path, mode)
    if is_pickled:
        file = pickle.loads(pickle.dumps(file))
        file.check_unchanged()
    part = file.map(np.s_[2:4])
    replace(path, np.ones((9, 4)))
    for index in (np.s_[2:4], (1, 2), np.s_[5:5]):
        with pytest.raises(npymap.FormatError, match="a.npy: the path leads to another file") as error:
            file.map(index)
        assert (error.value.kind, error.value.filename) == ("Changed", str(path))
    assert part.sum() == 0
    file.reload()
    assert file.map(2).sum() == 4
    path.unlink()
    with pytest.raises(FileNotFoundError):
        file.map(2)


def test_no_member_of_a_replaced_archive_is_mapped(tmp_path):
    path = tmp_path / "a.npz"
    npymap.savez(path, x=np.zeros(5))
    for is_pickled in (False, True):
        file = npymap.ArrayFile(path, member="x")
        if is_pickled:
            file = pickle.loads(pickle.dumps(file))
            file.check_unchanged()
        npymap.savez(path, y=np.ones(7), x=np.zeros(5))
        with pytest.raises(npymap.FormatError, match="another file") as error:
            file.map(slice(2))
        assert error.value.kind == "Changed"


def test_an_array_that_was_changed_before_it_was_mapped_is_an_error(tmp_path):
    path = tmp_path / "a.npy"
    old = np.zeros((9, 4))
    for new in (np.ones((9, 4)), np.zeros((8, 4)), np.zeros((9, 4), "i8"), np.zeros((9, 4), order="F")):
        np.save(path, old)
        file = npymap.ArrayFile(path, "r")
        replace(path, new)
        for use in (lambda: file[0], lambda: file.rows, lambda: file.take([0]), lambda: np.asarray(file)):
            with pytest.raises(npymap.FormatError, match=r"use reload\(\)") as error:
                use()
            assert (error.value.kind, error.value.filename) == ("Changed", str(path))
        file.reload()
        assert np.array_equal(file[:], new) and file.shape == new.shape
    np.save(path, old)
    file = npymap.ArrayFile(path, "r")
    with npymap.Appender(path) as log:
        log.append(np.ones(4))
    with pytest.raises(npymap.FormatError, match="reload"):
        file[0]
    npymap.savez(tmp_path / "a.npz", x=old)
    file = npymap.ArrayFile(tmp_path / "a.npz", "r", member="x")
    npymap.savez(tmp_path / "a.npz", x=np.ones((9, 4)))
    with pytest.raises(npymap.FormatError, match="reload") as error:
        file[0]
    assert error.value.member == "x"


@pytest.mark.parametrize("mode", [None, "r"])
def test_an_array_without_axes_has_no_rows(tmp_path, mode):
    np.save(tmp_path / "a.npy", np.array(7))
    file = npymap.ArrayFile(tmp_path / "a.npy", mode)
    for use in (lambda: file.rows, lambda: file.take([0]), lambda: npymap.Batches(file, [[0]])):
        with pytest.raises(TypeError, match="an array without axes has no rows"):
            use()
    for use in (iter, list, lambda file: 7 in file):
        with pytest.raises(TypeError, match="without axes|not iterable"):
            use(file)
    assert file[()] == 7


@pytest.mark.parametrize("mode", [None, "r"])
def test_rows_are_iterated_over(tmp_path, mode):
    array = np.arange(12).reshape(3, 4)
    np.save(tmp_path / "a.npy", array)
    assert np.array_equal(list(npymap.ArrayFile(tmp_path / "a.npy", mode)), array)


@pytest.mark.parametrize("dtype", ["S0", "U0"])
def test_elements_without_bytes_keep_their_dtype(tmp_path, dtype):
    for order in "CF":
        np.save(tmp_path / "a.npy", np.ndarray((5, 2), dtype, order=order))
        for mode in (None, "r"):
            file = npymap.ArrayFile(tmp_path / "a.npy", mode)
            for index in (np.s_[:], np.s_[1:3, 1], np.s_[[0, 4]], np.s_[::2], ...):
                assert file[index].dtype == dtype
                assert file[index].shape == np.ndarray((5, 2))[index].shape


def test_a_negative_offset_is_named(npy):
    for function in (npymap.ArrayFile, npymap.open, npymap.header):
        with pytest.raises(ValueError, match="at is -1, expected at least 0"):
            function(npy, at=-1)


@pytest.mark.parametrize("step", [10**20, -10**20, 2**63, -2**63, 2**63 - 1])
def test_steps_may_be_larger_than_an_int64(tmp_path, step):
    values = np.arange(30, dtype="i2").reshape(5, 3, 2)
    np.save(tmp_path / "a.npy", values)
    for rows in (npymap.ArrayFile(tmp_path / "a.npy"), npymap.open(tmp_path / "a.npy").rows):
        for index in (np.s_[::step], np.s_[1:3:step], np.s_[3:1:step]):
            assert np.array_equal(rows[index], values[index])
    read = npymap.ArrayFile(tmp_path / "a.npy")
    assert read[:-6:step, [2, 1, -1]].tolist() == values[:-6:step, [2, 1, -1]].tolist()


def test_errors_name_the_length_of_a_truncated_file(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(100000.0))
    read = npymap.ArrayFile(tmp_path / "a.npy")
    os.truncate(tmp_path / "a.npy", 1000)
    for index in (99999, [50, 99999], np.s_[120:]):
        with pytest.raises(npymap.FormatError, match="the file at 1000:"):
            read[index]
