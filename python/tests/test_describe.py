"""What is kept holds the elements; what is sent describes them."""

import concurrent.futures
import copy
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest
from arrays import sent

import npymap

VIEWS = [lambda a: a, lambda a: a[3:7], lambda a: a[::-2, 1:], lambda a: a.T]


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(60.0).reshape(10, 6))
    return tmp_path / "a.npy"


def change(path):
    """Change the elements of a file in place."""
    other = np.load(path, mmap_mode="r+")
    other[...] = -1
    other.flush()


def save_objects(array):
    objects = np.empty(1, object)
    objects[0] = array
    file = io.BytesIO()
    np.save(file, objects)
    return lambda: np.load(io.BytesIO(file.getvalue()), allow_pickle=True)[0]


def deep(array):
    again = copy.deepcopy({"array": array})
    return lambda: again["array"]


def pickled(protocol):
    def keep(array):
        data = pickle.dumps([array], protocol)
        return lambda: pickle.loads(data)[0]
    return keep


def python_pickler(array):
    file = io.BytesIO()
    pickle._Pickler(file).dump(array)
    return lambda: pickle.loads(file.getvalue())


KEEPERS = [*map(pickled, range(pickle.HIGHEST_PROTOCOL + 1)), save_objects, deep, python_pickler]


@pytest.mark.parametrize("view", range(len(VIEWS)))
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_what_is_kept_holds_the_elements(path, view, mode):
    array = VIEWS[view](npymap.open(path, mode))
    expected = array.tolist()
    kept = [keep(array) for keep in KEEPERS]
    del array
    change(path)
    assert [again().tolist() for again in kept] == [expected] * len(KEEPERS)
    os.remove(path)
    assert [again().tolist() for again in kept] == [expected] * len(KEEPERS)


def test_other_packages_keep_the_elements(path, tmp_path):
    joblib = pytest.importorskip("joblib")
    cloudpickle = pytest.importorskip("cloudpickle")
    array = npymap.open(path)
    expected, before = array.tolist(), joblib.hash(array)
    joblib.dump({"array": array}, tmp_path / "a.joblib")
    data = cloudpickle.dumps(lambda: array)
    change(path)
    assert joblib.load(tmp_path / "a.joblib")["array"].tolist() == expected
    assert pickle.loads(data)().tolist() == expected
    assert joblib.hash(npymap.open(path)) != before
    assert pickle.dumps(npymap.open(path)) != pickle.dumps(np.array(expected))


@pytest.mark.parametrize("view", range(len(VIEWS)))
def test_descriptions_open_what_they_describe(path, view):
    for mode in ("r", "r+"):
        array = VIEWS[view](npymap.open(path, mode))
        description = npymap.describe(array)
        assert isinstance(description, npymap.Description) and len(pickle.dumps(description)) < 600
        again = pickle.loads(pickle.dumps(description))
        assert again == description and hash(again) == hash(description)
        assert again == npymap.describe(VIEWS[view](npymap.open(path, mode)))
        found = again.open()
        assert type(found) is npymap.memmap and found.strides == array.strides
        assert found.mode == mode and found.flags.writeable == array.flags.writeable
        assert np.array_equal(found, array)


def modify(path):
    time.sleep(0.02)
    change(path)


def shorten(path):
    os.truncate(path, os.stat(path).st_size - 48)


def lengthen(path):
    with open(path, "ab") as file:
        file.write(b"x")


def replace(path):
    npymap.save(path, np.zeros((10, 6)))


def touch(path):
    os.utime(path, ns=(0, 0))


@pytest.mark.parametrize("how", [modify, shorten, lengthen, replace, touch])
def test_a_file_that_was_changed_since_raises(path, how):
    array = npymap.open(path)[:4]
    file, concat = npymap.ArrayFile(path), npymap.Concat([path])
    description = npymap.describe(array)
    files, stacks = pickle.dumps(file), pickle.dumps(concat)
    how(path)
    for again in (description.open, lambda: pickle.loads(files)[0], lambda: pickle.loads(stacks)):
        with pytest.raises(npymap.FormatError, match="since the array was described") as error:
            again()
        assert error.value.kind == "Changed" and error.value.filename == str(path)
    if how is not shorten:
        assert np.array_equal(description.open(changed="ok"), npymap.open(path)[:4])
        assert npymap.describe(npymap.open(path)[:4]) != description
        assert pickle.dumps(npymap.ArrayFile(path)) != files
    with pytest.raises(ValueError, match="changed='no', expected 'raise' or 'ok'"):
        description.open(changed="no")


def test_a_file_that_is_too_short_raises_whatever_is_ok(path):
    description = npymap.describe(npymap.open(path))
    shorten(path)
    with pytest.raises(npymap.FormatError) as error:
        description.open(changed="ok")
    assert error.value.kind == "Truncated"


def test_stores_of_the_program_itself_are_seen(path):
    array = npymap.open(path, "r+")
    array[0] = 1
    description = npymap.describe(array)
    time.sleep(0.02)
    array[1] = 2
    array.flush()
    with pytest.raises(npymap.FormatError, match="was modified"):
        description.open()


def test_what_is_in_no_file_has_no_description(path, tmp_path):
    with open(path, "rb") as file:
        opened = npymap.memmap(file, "u1", "r")
    for array, match in ((np.zeros(3), "in memory"), (npymap.open(path) + 1, "in memory"), ([1], "in memory"),
                         (npymap.open(path, "c"), "copy-on-write"), (opened, "by path")):
        with pytest.raises(ValueError, match=match):
            npymap.describe(array)
    array = npymap.open(path)
    replace(path)
    with pytest.raises(npymap.FormatError, match="another file"):
        npymap.describe(array)


@pytest.mark.parametrize("dtype", ["O", [("a", "O"), ("b", "i4")], (object, 3), np.dtypes.StringDType()])
def test_descriptions_make_no_pointers_of_bytes(path, dtype):
    description = npymap.describe(npymap.open(path))._replace(dtype=np.dtype(dtype))
    for changed in ("raise", "ok"):
        with pytest.raises(ValueError, match="Python objects"):
            pickle.loads(pickle.dumps(description)).open(changed=changed)


def fill(array, number):
    array[number] = number
    return type(array).__name__, array.mode


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_write_to_the_file(path, method):
    array = npymap.open(path, "r+")
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.starmap(fill, [(array, number) for number in range(10)])
    assert set(found) == {("memmap", "r+")}
    assert array[:, 0].tolist() == list(range(10))
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(fill, array[5:], 2).result() == ("memmap", "r+")
    assert array[7].tolist() == [2] * 6


def first(file):
    return float(file[0, 0])


def test_files_that_workers_write_to_are_read_by_others(path):
    file, data = npymap.ArrayFile(path), sent(npymap.ArrayFile(path))
    modify(path)
    assert pickle.loads(data)[0, 0] == -1
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(first, [file]) == [-1]
    replace(path)
    with pytest.raises(npymap.FormatError, match="was replaced"):
        pickle.loads(data)[0]


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_joblib_sends_the_file(path, backend):
    joblib = pytest.importorskip("joblib")
    array = npymap.open(path, "r+")
    with joblib.parallel_config(backend, n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(fill)(array, number) for number in range(6))
        assert set(found) == {("memmap", "r+")}
        # Whatever strips the class has the file among its bases.
        found = joblib.Parallel(max_nbytes=1)(
            joblib.delayed(fill)(np.asarray(array)[2:], number) for number in range(4, 8))
    assert set(found) == {("memmap", "r+")}
    assert array[:6, 0].tolist() == [0, 1, 2, 3, 4, 5] and array[6:, 0].tolist() == [4, 5, 6, 7]


def test_dask_sends_the_file(path):
    protocol = pytest.importorskip("distributed.protocol")
    array = npymap.open(path, "r+")[2:]
    header, frames = protocol.serialize(array)
    again = protocol.deserialize(header, frames)
    assert type(again) is npymap.memmap and sum(map(len, frames)) < 600
    again[0] = 7
    assert array[0, 0] == 7


def test_picklers_are_registered_when_they_are_imported(path):
    code = """if True:
        import sys, importlib.util, npymap
        assert "multiprocessing.reduction" not in sys.modules
        assert importlib.util.find_spec("multiprocessing.reduction").loader is not None
        import multiprocessing.reduction as reduction
        assert type(reduction.__loader__).__name__ == "SourceFileLoader", reduction.__loader__
        import inspect
        assert "class ForkingPickler" in inspect.getsource(reduction)
        assert len(reduction.ForkingPickler.dumps(npymap.open(sys.argv[1]))) < 500
    """
    subprocess.run([sys.executable, "-c", code, path], check=True)


def bases(array):
    while array is not None:
        yield array
        array = getattr(array, "base", None)


@pytest.mark.parametrize("view", [*VIEWS, np.asarray, lambda a: np.asarray(a)[1:], lambda a: a.view("i8")])
def test_an_mmap_is_among_the_bases(path, view):
    import mmap

    array = view(npymap.open(path, "r+"))
    assert isinstance(list(bases(array))[-1], mmap.mmap)
    root = list(bases(array))[-2]
    assert isinstance(root, np.memmap) and root._mmap is root.base
    assert (root.filename, root.offset, root.mode) == (path, 128, "r+")
    assert root._mmap.size() == len(root._mmap) == 480 and root._mmap[8:16] == np.float64(1).tobytes()
    assert not root._mmap.closed and "a.npy" in repr(root._mmap)
    root[0] = 9
    root._mmap.flush()
    root._mmap.close()
    # The memory stays as long as an array refers to it.
    assert root[0, 0] == 9 and np.load(path)[0, 0] == 9
    with pytest.raises(TypeError):
        pickle.dumps(root._mmap)


def test_an_array_in_a_file_is_one_map(path):
    code = """if True:
        import mmap, sys, npymap
        maps = []
        sys.addaudithook(lambda event, args: maps.append(event) if event == "mmap.__new__" else None)
        array = npymap.open(sys.argv[1])
        assert isinstance(array.base, mmap.mmap) and not maps, maps
    """
    subprocess.run([sys.executable, "-c", code, path], check=True)


def test_created_arrays_and_members_have_an_mmap(path, tmp_path):
    import mmap

    np.savez(tmp_path / "a.npz", x=np.arange(5))
    for array in (npymap.create(tmp_path / "b.npy", "f4", 3), npymap.open(tmp_path / "a.npz", member="x"),
                  npymap.memmap(path, "u1", "r"), npymap.ArrayFile(path).map(np.s_[1:, 2]),
                  npymap.describe(npymap.open(path)[1:]).open(), npymap.open(path, "c")):
        assert isinstance(list(bases(array))[-1], mmap.mmap) and isinstance(array._mmap, mmap.mmap)
    assert npymap.open(path).copy()._mmap is None
