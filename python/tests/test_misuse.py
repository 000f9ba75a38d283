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


@pytest.mark.parametrize("order", range(3))
def test_owners_are_dropped_before_what_they_gave(tmp_path, order):
    np.savez(tmp_path / "a.npz", x=np.arange(12.0).reshape(3, 4), y=np.ones(5))
    archive = npymap.Npz(tmp_path / "a.npz", "r")
    x, rows = archive["x"], archive["x"].rows
    file = npymap.ArrayFile(tmp_path / "a.npz", member="x")
    objects = {0: ["archive", "x", "file"], 1: ["x", "file", "archive"], 2: ["file", "archive", "x"]}
    held = {"archive": archive, "x": x, "file": file}
    view = x[1:]
    del archive, x, file
    for name in objects[order]:
        del held[name]
        gc.collect()
        assert view.tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
        if rows is not None:
            assert rows.take([2])[0, 0] == 8


def test_batches_are_closed_while_their_arrays_live(npy):
    batches = npymap.Batches(npymap.open(npy), npymap.Sampler(3, order="sequential"), 1, threads=2)
    indices, x = next(batches)
    batches.close()
    del batches
    gc.collect()
    assert x.tolist() == [[0, 1, 2, 3]] and indices.tolist() == [0]


def test_batches_are_deleted_while_threads_read(npy):
    for _ in range(20):
        batches = npymap.Batches(npymap.open(npy), npymap.Sampler(3), 1, epochs=1000, threads=3)
        x = next(batches)[1]
        del batches
        assert x.shape == (1, 4)


def test_threads_share_rows_samplers_and_appenders(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(4000.0).reshape(1000, 4))
    rows, sampler = npymap.open(tmp_path / "a.npy").rows, npymap.Sampler(1000, seed=1)
    log = npymap.Appender(tmp_path / "log.npy", dtype="f8", row=4, overwrite=True)

    def work():
        while len(indices := sampler.next(16)):
            log.append(rows.take(indices))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert sorted(npymap.load(tmp_path / "log.npy")[:, 0]) == list(range(0, 4000, 4))


def test_objects_are_closed_by_a_thread_while_others_use_them(tmp_path):
    log = npymap.Appender(tmp_path / "log.npy", dtype="f8", row=1, overwrite=True)
    failed, appended = [], []

    def work():
        try:
            for _ in range(10_000):
                log.append([[1.0]])
                appended.append(None)
        except ValueError as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    log.close()
    for thread in threads:
        thread.join()
    assert len(npymap.load(tmp_path / "log.npy")) == len(appended)


def test_forked_children_of_threads_and_batches_end(npy):
    batches = npymap.Batches(npymap.open(npy), npymap.Sampler(3), 1, epochs=100, threads=2)
    next(batches)
    child = os.fork()
    if child == 0:
        try:
            next(batches)
        except ValueError:
            del batches
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    next(batches)


@pytest.mark.parametrize("name", ["magic", "header", "length", "shape", "end"])
def test_hostile_files_raise(npy, name):
    good = npy.read_bytes()
    bad = {
        "magic": b"\x93NUMPX" + good[6:],
        "header": good[:10] + b"(" * 100 + good[110:],
        "length": good[:8] + b"\xff\xff" + good[10:],
        "shape": good.replace(b"(3, 4)", b"(9, 9)"),
        "end": good[:-1],
    }[name]
    npy.write_bytes(bad)
    for function in (npymap.open, npymap.load, npymap.ArrayFile, npymap.header):
        with pytest.raises(ValueError):
            function(npy)


def test_draws_let_other_threads_run(npy):
    sampler = npymap.Sampler(1 << 40, seed=1)
    expected = sampler.copy()
    drawn = []
    threads = [threading.Thread(target=lambda: drawn.append(sampler.next(10_000))) for _ in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert sampler.epoch == 0
    for thread in threads:
        thread.join()
    found = np.concatenate(drawn)
    assert sorted(found) == sorted(expected.next(80_000))
    assert len(npymap.Sampler(10_001).next(20_000)) == 10_001
