"""Batches are read ahead, in order, into memory that is reused, and can be resumed."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import npymap


@pytest.fixture
def arrays(tmp_path):
    x, y = np.arange(1000 * 6, dtype=">u2").reshape(1000, 2, 3), np.arange(1000) % 7
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    return x, y, npymap.open(tmp_path / "x.npy"), npymap.open(tmp_path / "y.npy")


@pytest.mark.parametrize("threads, ahead", [(1, 1), (1, 3), (3, 1), (4, 8)])
def test_batches_are_those_of_the_sampler(arrays, threads, ahead):
    x, y, mapped_x, mapped_y = arrays
    sampler = npymap.Sampler(1000, seed=5)
    expected = list(sampler.copy().batches(64))
    batches = npymap.Batches([mapped_x, mapped_y.rows], sampler, 64, threads=threads, ahead=ahead)
    found = list(batches)
    assert len(found) == 16 and sampler.epoch == 0
    for (indices, own_x, own_y), rows in zip(found, expected):
        assert indices.tolist() == rows.tolist()
        assert own_x.dtype == x.dtype and np.array_equal(own_x, x[rows])
        assert np.array_equal(own_y, y[rows])
        own_x += 1
    assert list(batches) == []


def test_epochs_follow_each_other_and_the_last_batch_can_be_dropped(arrays):
    x, _, mapped, _ = arrays
    sampler = npymap.Sampler(1000, seed=5)
    with npymap.Batches(mapped, sampler, 64, epochs=3, drop_last=True) as batches:
        epochs = [(batches.epoch, len(indices)) for indices, _ in batches]
    assert epochs == [(epoch, 64) for epoch in range(3) for _ in range(15)]


def test_the_middle_of_an_epoch_is_resumed(arrays):
    mapped = arrays[2]
    sampler = npymap.Sampler(1000, seed=5)
    batches = npymap.Batches(mapped, sampler, 64, epochs=2, threads=2, ahead=5)
    assert batches.state_dict() == sampler.state_dict()
    for number, (indices, _) in enumerate(batches):
        if number == 20:
            state = batches.state_dict()
            rest = [indices.tolist() for indices, _ in batches]
    again = npymap.Sampler(1000)
    again.load_state_dict(state)
    found = [indices.tolist() for indices, _ in npymap.Batches(mapped, again, 64)]
    assert found == rest and len(rest) == 11


def test_dtypes_are_cast(arrays):
    x, y, mapped_x, mapped_y = arrays
    sampler = npymap.Sampler(1000)
    batches = npymap.Batches([mapped_x, mapped_y], sampler, 100, dtype=["f4", None])
    for indices, own_x, own_y in batches:
        assert own_x.dtype == np.float32 and own_y.dtype == y.dtype
        assert np.array_equal(own_x, x[indices])
    with pytest.raises(TypeError, match="cannot cast"):
        next(npymap.Batches(mapped_x, sampler, 8, dtype="u1", casting="safe"))


def test_lists_of_rows_are_batches(arrays):
    x, _, mapped, _ = arrays
    lists = ([i, -1 - i] for i in range(50))
    found = list(npymap.Batches(mapped, lists, threads=3))
    assert len(found) == 50
    for number, (indices, own) in enumerate(found):
        assert indices.tolist() == [number, -1 - number]
        assert np.array_equal(own, x[[number, -1 - number]])
    assert list(npymap.Batches(mapped, [])) == []
    with pytest.raises(ValueError, match="have a state"):
        npymap.Batches(mapped, [[1]]).state_dict()
    with pytest.raises(IndexError):
        list(npymap.Batches(mapped, [[1], [1000]]))
    with pytest.raises(ValueError, match="their own sizes"):
        npymap.Batches(mapped, [[1]], 5)


def test_errors_of_the_iterable_are_raised(arrays):
    def lists():
        yield [1]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        list(npymap.Batches(arrays[2], lists()))


def test_arguments_that_do_not_fit_are_errors(arrays, tmp_path):
    _, _, mapped, _ = arrays
    sampler = npymap.Sampler(1000)
    with pytest.raises(ValueError, match="different lengths"):
        npymap.Batches([mapped, mapped[1:]], sampler, 8)
    with pytest.raises(TypeError, match="copy-on-write"):
        npymap.Batches(npymap.open(tmp_path / "x.npy", "c"), sampler, 8)
    with pytest.raises(ValueError, match="2 dtypes for 1 arrays"):
        npymap.Batches(mapped, sampler, 8, dtype=["f4", "f4"])
    with pytest.raises(ValueError, match="at least 1"):
        npymap.Batches(mapped, sampler)
    with pytest.raises(IndexError):
        list(npymap.Batches(mapped, npymap.Sampler(1001, seed=1), 64))


def test_memory_is_reused_only_when_nothing_refers_to_it(arrays):
    x, _, mapped, _ = arrays
    addresses, kept = set(), []
    for indices, own in npymap.Batches(mapped, npymap.Sampler(1000), 10):
        addresses.add(own.__array_interface__["data"][0])
        del own
    assert len(addresses) < 20
    for indices, own in npymap.Batches(mapped, npymap.Sampler(1000), 10):
        kept.append((indices, own[:, 1:]))
    gc.collect()
    assert all(np.array_equal(own, x[indices][:, 1:]) for indices, own in kept)
    assert len({own.__array_interface__["data"][0] for _, own in kept}) == 100


def test_views_of_a_batch_outlive_everything(arrays):
    x, _, mapped, _ = arrays
    batches = npymap.Batches(mapped, npymap.Sampler(1000), 10)
    indices, own = next(batches)
    part = own[3:5, 1].T
    del own, batches, mapped
    gc.collect()
    assert np.array_equal(part, x[indices][3:5, 1].T)


def test_several_threads_may_take_batches(arrays):
    batches, found = npymap.Batches(arrays[2], npymap.Sampler(1000), 10, threads=2), []

    def take():
        for indices, _ in batches:
            found.extend(indices.tolist())

    threads = [threading.Thread(target=take) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(found) == list(range(1000))


def test_closing_ends_the_batches(arrays):
    batches = npymap.Batches(arrays[2], npymap.Sampler(1000), 10)
    next(batches)
    batches.close()
    batches.close()
    assert list(batches) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_batches_of_a_parent_raise_in_a_child(arrays, tmp_path):
    code = """
import os, sys, warnings, npymap
warnings.simplefilter("ignore")
x = npymap.open(sys.argv[1])
batches = npymap.Batches(x, npymap.Sampler(1000), 10)
next(batches)
child = os.fork()
if child == 0:
    try:
        next(batches)
    except ValueError as error:
        assert "forked" in str(error)
        own = sum(len(i) for i, _ in npymap.Batches(x, npymap.Sampler(1000), 10))
        del batches
        os._exit(own != 1000)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert len(list(batches)) == 99
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "x.npy"], check=True, timeout=600)


def test_the_interpreter_exits_with_live_batches(arrays, tmp_path):
    code = """
import sys, npymap
x = npymap.open(sys.argv[1])
batches = npymap.Batches(x, npymap.Sampler(10**6 * 0 + 1000), 10, threads=2)
kept = next(batches)
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "x.npy"], check=True, timeout=600)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_waiting_is_interrupted_by_signals(tmp_path):
    # An iterable that blocks keeps no thread from being interrupted.
    np.save(tmp_path / "a.npy", np.zeros((10, 1)))
    code = """
import signal, sys, npymap
rows = npymap.open(sys.argv[1])
def lists():
    yield [1]
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    signal.pause()
def handler(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
try:
    list(npymap.Batches(rows, lists()))
except KeyboardInterrupt:
    sys.exit(0)
sys.exit(1)
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "a.npy"], check=True, timeout=600)


def test_a_sampler_of_more_rows_than_a_view_has_is_an_error(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(10))
    array, sampler = npymap.open(tmp_path / "a.npy"), npymap.Sampler(4, order="sequential")
    for view in (array[:3], array[2:5], array[7:]):
        batches = npymap.Batches(view, sampler, 2)
        assert next(batches)[1].tolist() == view[:2].tolist()
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            next(batches)


def test_an_iterable_may_reuse_its_array_of_indices(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(10))

    def lists():
        indices = np.empty(2, np.int64)
        for start in range(8):
            indices[:] = start, start + 1
            yield indices

    for start, (indices, x) in enumerate(npymap.Batches(npymap.open(tmp_path / "a.npy"), lists())):
        assert indices.tolist() == x.tolist() == [start, start + 1]


def test_what_has_no_rows_is_a_type_error(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(10))
    np.save(tmp_path / "b.npy", np.array(1))
    for array in (np.arange(10), npymap.open(tmp_path / "a.npy", "c"), npymap.open(tmp_path / "b.npy")):
        with pytest.raises(TypeError, match="expected an array of a file, .* got (ndarray|memmap)"):
            npymap.Batches(array, npymap.Sampler(10), 2)
        with pytest.raises(TypeError, match="expected an array of a file, .* got (ndarray|memmap)"):
            npymap.Batches([npymap.open(tmp_path / "a.npy"), array], npymap.Sampler(10), 2)
