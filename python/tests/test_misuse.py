"""Misuse raises and does not crash."""

import gc
import os
import threading

import numpy as np
import pytest

import npymap


def test_read_only_arrays_cannot_be_made_writable(npy):
    array = npymap.open(npy)
    for view in (array, array[1:], np.asarray(array)):
        with pytest.raises(ValueError):
            view.flags.writeable = True
        with pytest.raises(ValueError):
            view[:] = 0
        with pytest.raises(ValueError):
            np.frombuffer(view._mmap if hasattr(view, "_mmap") else array._mmap)[0] = 1
    with pytest.raises(ValueError):
        array.resize((100, 100), refcheck=False)
    with pytest.raises((ValueError, TypeError)):
        np.ndarray((100, 100), np.uint8, array._mmap)
    assert memoryview(array._mmap).readonly


def test_native_classes_cannot_be_made_without_a_file():
    for name in ("Memory", "Mapping", "Lock"):
        with pytest.raises(TypeError):
            getattr(npymap._core, name)()


def test_views_may_be_dropped_in_any_order(npy):
    for first in range(3):
        array = npymap.open(npy, "r+")
        views = [array, array[1:], np.asarray(array.T)]
        owner = array._mmap
        del array
        del views[first]
        gc.collect()
        assert [view.sum() for view in views]
        del owner
        gc.collect()
        assert [view.sum() for view in views]


def test_forked_children_share_the_map(npy):
    array = npymap.open(npy, "r+")
    child = os.fork()
    if child == 0:
        try:
            array[0, 0] = 99
            array.flush()
            npymap.save(npy.with_name("b.npy"), array)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert array[0, 0] == 99
    assert npymap.load(npy.with_name("b.npy"))[0, 0] == 99


def test_threads_open_use_and_drop_arrays(npy):
    def work():
        for _ in range(50):
            array = npymap.open(npy, "r+")
            row = array[1]
            array.populate()
            array.flush()
            del array
            assert row[0] == 4

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_writers_are_closed_once(tmp_path):
    new = npymap._core.NewFile(str(tmp_path / "a"))
    new.write(b"abc")
    new.commit()
    for call in (new.commit, lambda: new.write(b"d")):
        with pytest.raises(ValueError, match="already closed"):
            call()
    writer = npymap._core.NpzWriter(str(tmp_path / "a.npz"), True)
    writer.discard()
    with pytest.raises(ValueError, match="already closed"):
        writer.finish()
    assert sorted(os.listdir(tmp_path)) == ["a"]


def test_a_member_whose_elements_fail_leaves_no_archive(tmp_path):
    writer = npymap._core.NpzWriter(str(tmp_path / "a.npz"), True)

    def pieces():
        yield np.zeros(8, np.uint8)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        writer.write("x", ("'<f8'", (2,), False), pieces(), None)
    with pytest.raises(ValueError):
        writer.finish()
    assert os.listdir(tmp_path) == []
