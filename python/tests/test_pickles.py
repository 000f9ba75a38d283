"""Pickles of mapped arrays."""

import copy
import multiprocessing
import os
import pickle
import time
import warnings

import numpy as np
import pytest
from arrays import DTYPES, assert_same, sample, sent

import npymap
from npymap import _describe, _sampler


@pytest.fixture
def big(tmp_path):
    path = tmp_path / "big.npy"
    npymap.save(path, np.arange(1 << 18).reshape(512, 512))
    return path


VIEWS = {
    "all": lambda a: a,
    "rows": lambda a: a[5:9],
    "row": lambda a: a[7],
    "steps": lambda a: a[3::5, ::-2],
    "transposed": lambda a: a.T[10:],
    "bytes": lambda a: a[2:4].view(np.uint8),
    "element": lambda a: a[3:4, 4:5].reshape(()),
    "empty": lambda a: a[5:5],
    "broadcast": lambda a: np.broadcast_to(a[1], (4, 512), subok=True),
    "diagonal": lambda a: a.diagonal(),
}


@pytest.mark.parametrize("dumps", [pickle.dumps, sent])
def test_truncated_arrays_do_not_pickle(big, dumps):
    array = npymap.open(big)
    os.truncate(big, 4096)
    with pytest.raises(npymap.FormatError, match="end at byte"):
        dumps(array)


def test_a_file_that_gets_the_number_of_the_old_one_is_another(tmp_path):
    path = tmp_path / "a.npy"
    npymap.save(path, np.arange(100))
    if npymap._core.created(path) is None:
        pytest.skip("the file system does not store when files were created")
    data = sent(npymap.open(path)[5:])
    for _ in range(4):
        # More than a tick of the clock of files.
        time.sleep(0.02)
        npymap.save(path, np.arange(100) + 1)
        with pytest.raises(npymap.FormatError, match="was replaced"):
            pickle.loads(data)


@pytest.mark.parametrize("view", VIEWS)
def test_views_are_sent_as_descriptions(big, view):
    array = VIEWS[view](npymap.open(big))
    data = sent(array)
    again = pickle.loads(data)
    assert len(data) < 600
    assert isinstance(again, npymap.memmap)
    assert again.strides == array.strides
    assert not again.flags.writeable
    assert_same(again, array)
    assert pickle.loads(sent(again)).tolist() == array.tolist()


def test_views_in_another_order_have_the_rows_they_show(tmp_path):
    path, expected = tmp_path / "a.npy", np.arange(10, dtype="u1")
    np.save(path, expected)
    again = pickle.loads(sent(npymap.open(path)[::-1]))
    assert again.rows.take([0, 1]).tolist() == [9, 8]
    assert again[[0, 1]].tolist() == again.take([0, 1]).tolist() == [9, 8]
    # The bytes of others are their elements, in the order of the file.
    for index in (np.s_[:], np.s_[3:]):
        again = pickle.loads(sent(npymap.open(path)[index]))
        assert again.rows.take([1]).tolist() == again[[1]].tolist() == expected[index][[1]].tolist()


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("mode", ["r", "r+"])
def test_arrays_whose_strides_were_set_have_the_rows_they_show(tmp_path, order, mode):
    np.save(tmp_path / "a.npy", np.arange(9.0).reshape(3, 3, order=order))
    array = npymap.open(tmp_path / "a.npy", mode)
    assert array[[1]].tolist() == array[1:2].tolist()
    other = npymap.open(tmp_path / "a.npy", mode)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        array.strides = array.strides[::-1]
    assert np.array_equal(array, other.T)
    for found in (array[[2, 0]], array.take([2, 0], 0)):
        assert found.tolist() == [array[2].tolist(), array[0].tolist()]
    assert array.rows.take([1]).tolist() == array[1:2].tolist()


def test_rows_pickle_with_the_elements_they_show(big):
    def rows():
        npymap.save(big, np.arange(6).reshape(3, 2))
        return npymap.open(big).rows

    for change in (lambda: npymap.save(big, np.zeros(3)), lambda: os.remove(big)):
        taken = rows()
        change()
        for again in (copy.copy(taken), pickle.loads(pickle.dumps(taken)), pickle.loads(sent(taken))):
            assert again.windows(2).take([1]).tolist() == [[[2, 3], [4, 5]]]
    rows()
    with open(big, "rb") as file:
        taken = npymap.memmap(file, "u1", "r").rows
    assert np.array_equal(pickle.loads(pickle.dumps(taken)), taken)


def test_every_dtype_is_sent(tmp_path):
    for dtype in DTYPES:
        npymap.save(tmp_path / "a.npy", sample(dtype, (3, 4)))
        assert_same(pickle.loads(sent(npymap.open(tmp_path / "a.npy"))), sample(dtype, (3, 4)))


def test_arrays_in_mode_r_plus_share_their_file(big):
    array = npymap.open(big, "r+")
    again = pickle.loads(sent(array[3]))
    again[4] = -1
    assert array[3, 4] == -1
    assert again.mode == "r+"


def test_members_pickle_as_descriptions(tmp_path):
    npymap.savez(tmp_path / "a.npz", x=np.arange(100_000))
    data = sent(npymap.Npz(tmp_path / "a.npz", "r")["x"])
    assert len(data) < 600
    assert pickle.loads(data)[77] == 77


def test_private_changes_are_copied(big):
    array = npymap.open(big, "c")
    array[0, 0] = 7
    again = pickle.loads(sent(array[:2]))
    assert type(again) is np.ndarray
    assert again[0, 0] == 7


def test_arrays_whose_path_leads_elsewhere_are_copied(big):
    array = npymap.open(big)
    npymap.save(big, np.zeros(3))
    assert pickle.loads(sent(array[1]))[5] == 517
    array = npymap.open(big)
    os.remove(big)
    assert pickle.loads(sent(array)).tolist() == [0, 0, 0]


def test_a_file_replaced_after_sending_is_an_error(big):
    data = sent(npymap.open(big))
    npymap.save(big, np.zeros((512, 512)))
    with pytest.raises(npymap.FormatError, match="was replaced since") as caught:
        pickle.loads(data)
    assert caught.value.kind == "Changed"
    os.remove(big)
    with pytest.raises(FileNotFoundError):
        pickle.loads(data)


def test_a_file_truncated_after_sending_is_an_error(big):
    data = sent(npymap.open(big, "r+"))
    os.truncate(big, 1000)
    with pytest.raises(npymap.FormatError) as caught:
        pickle.loads(data)
    assert caught.value.kind == "Truncated"
    assert os.stat(big).st_size == 1000


def test_arrays_in_memory_pickle_as_numpys(big):
    array = npymap.open(big)
    assert_same(pickle.loads(sent(array.copy())), array)
    assert_same(copy.deepcopy(array), array)
    assert_same(copy.copy(array), array)
    assert copy.deepcopy(array).flags.writeable


def total(array):
    assert isinstance(array, npymap.memmap)
    return int(array.sum())


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_receive_the_file(big, method):
    array = npymap.open(big)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(total, [array[:7], array[7:]]) == [array[:7].sum(), array[7:].sum()]


@pytest.mark.parametrize("shape", [(0, 4, 5), (3, 4, 0, 5), (2, 0)])
def test_views_without_elements_pickle(tmp_path, shape):
    np.save(tmp_path / "a.npy", np.zeros(shape, ">i4"))
    for mode in ("r", "r+"):
        array = npymap.open(tmp_path / "a.npy", mode)
        for index in (np.s_[:], np.s_[1:], np.s_[::-1], np.s_[:, ::-1], np.s_[:, 2:], np.s_[..., ::-1]):
            view = array[index]
            again = pickle.loads(sent(view))
            assert again.shape == view.shape and again.dtype == view.dtype
            assert again.strides == view.strides and isinstance(again, npymap.memmap)


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_arrays_in_fortran_order_pickle_with_their_rows(tmp_path, mode):
    expected = np.arange(60).reshape(20, 3)
    np.save(tmp_path / "f.npy", np.asfortranarray(expected))
    array = npymap.open(tmp_path / "f.npy", mode)
    for source in (array, array[5:]):
        rows = pickle.loads(sent(source.rows))
        assert np.array_equal(rows.take([3, 0, -1]), source[[3, 0, -1]])
    again = pickle.loads(sent(array))
    assert np.array_equal(again.rows.take([3, 0]), expected[[3, 0]])


def test_raw_binary_without_elements_pickles(tmp_path):
    array = npymap.memmap(tmp_path / "a.bin", "f4", "w+", shape=(0, 3))
    assert pickle.loads(sent(array)).shape == (0, 3)
    assert array.rows.shape == (0, 3)


def test_pickles_of_release_0_1_open(big):
    """COMPATIBILITY.md promises this for all releases 0.1."""
    expected = np.load(big)
    stat = os.stat(big)
    version = _describe.Version("another machine", 0, None, stat.st_size, stat.st_mtime_ns)
    place = 128 + 5 * 4096, 4 * 4096, (4, 512), np.dtype("<i8"), 0, (4096, 8), False
    rows = npymap.Description(str(big), version, "r", *place).open()
    assert np.array_equal(rows, expected[5:9]) and isinstance(rows, npymap.memmap)
    assert pickle.loads(pickle.dumps(rows)).tolist() == rows.tolist()

    file = npymap.ArrayFile.__new__(npymap.ArrayFile)
    file.__setstate__((str(big), None, None, 0, 10000, version, ((512, 512), "'<i8'", False, 128)))
    assert np.array_equal(file[3], expected[3])

    state = npymap.Sampler(10, seed=1).state_dict()
    kind = "shuffled", 1, 1, 1, None, None
    sampler = _sampler._restore((10, kind, (0, 1, 0, 1), "keep"), (state["fingerprint"], 1, 2, 3))
    assert sampler.state_dict() == {**state, "epoch": 2, "position": 3}
