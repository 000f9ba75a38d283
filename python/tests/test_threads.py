"""Threads share objects. Without the interpreter's lock, they use them at the same time."""

import os
import subprocess
import sys
import sysconfig
import threading
import time

import numpy as np
import pytest

import npymap

THREADS = 8


@pytest.fixture(autouse=True)
def frequent_switches():
    """Make threads that share the lock switch as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def path(tmp_path):
    """The path of 1,000 rows, each of 4 times its number."""
    path = tmp_path / "rows.npy"
    np.save(path, np.repeat(np.arange(1000.0), 4).reshape(1000, 4))
    return path


def run(*works):
    """Call each function in threads of its own, all at once. Raises what they raise."""
    start, failed = threading.Barrier(THREADS), []

    def call(work):
        start.wait()
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=call, args=(works[number % len(works)],))
               for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def has_rows(found, indices):
    return np.array_equal(found, np.repeat(np.asarray(indices, "f8")[:, None], 4, 1))


def test_the_import_leaves_the_lock_off():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("the interpreter always has the lock")
    script = "import sys, npymap; sys.exit(sys._is_gil_enabled())"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    subprocess.run([sys.executable, "-W", "error", "-c", script], env=environment, check=True)


def test_rows_are_taken_and_cut_by_all_threads(path):
    for _ in range(10):
        # The rows of a new array are opened by whichever thread asks first.
        array = npymap.open(path)

        def work():
            generator = np.random.default_rng(threading.get_ident())
            for _ in range(20):
                indices = generator.integers(0, 1000, 32)
                assert has_rows(array[indices], indices)
                assert has_rows(array.rows.take(indices, dtype="f4"), indices)
                assert has_rows(array.rows.windows(2).take(indices % 999)[:, 1], indices % 999 + 1)
                assert has_rows(array[100:].take(indices % 900, axis=0), indices % 900 + 100)
                array.rows.prefetch(indices)

        run(work)


def test_writable_arrays_are_flushed_while_others_store(path):
    array = npymap.open(path, "r+")

    def store():
        for number in range(200):
            array[number % 1000] = number % 1000
            array.flush((number % 1000, number % 1000 + 1))

    def read():
        for number in range(200):
            assert has_rows(array.rows.take([number]), [number])
            array.resident_bytes()
            array.check_unchanged()
            with array.lock():
                pass

    run(store, read)


def test_files_are_reloaded_while_others_read(path):
    file = npymap.ArrayFile(path)

    def read():
        for number in range(100):
            assert has_rows(file.take([number, 5]), [number, 5])
            assert has_rows(file[number:number + 2], [number, number + 1])
            assert has_rows(file.rows.take([number]), [number])

    def reload():
        for _ in range(100):
            file.reload()

    run(read, read, read, reload)


def test_mapped_files_are_reloaded_while_others_read(path):
    file = npymap.ArrayFile(path, "r")

    def read():
        for number in range(100):
            assert has_rows(file.take([number, 5]), [number, 5])
            assert has_rows(file[number:number + 1], [number])

    def reload():
        for _ in range(100):
            file.reload()

    run(read, read, read, reload)


def test_archives_are_closed_while_others_read(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(5), y=np.array([{}, 1], object))
    for mode in (None, "r") * 5:
        archive = npymap.Npz(tmp_path / "a.npz", mode, allow_pickle=True)

        def read():
            try:
                for _ in range(50):
                    assert archive["x"].tolist() == [0, 1, 2, 3, 4]
                    assert archive["y"][1] == 1
            except ValueError as error:
                assert "closed" in str(error).replace(str(tmp_path), "")

        def close():
            time.sleep(0.001)
            archive.close()

        run(read, read, read, close)


def test_each_index_of_a_sampler_goes_to_one_thread():
    sampler = npymap.Sampler(20_000, seed=1)
    found = []

    def work():
        while len(indices := sampler.next(7)):
            found.extend(indices.tolist())
            assert sampler.epoch == 0 and 0 <= sampler.remaining <= 20_000
            sampler.copy()

    run(work)
    assert sorted(found) == list(range(20_000))


def test_samplers_are_moved_while_others_draw():
    sampler = npymap.Sampler(1000, seed=1)

    def draw():
        for _ in range(200):
            indices = sampler.next(16)
            assert len(set(indices.tolist())) == len(indices)

    def move():
        for position in range(200):
            sampler.load_state_dict(sampler.state_dict())
            sampler.seek(position)
            sampler.set_epoch(position)

    run(draw, move)


def test_batches_go_to_one_thread_each(path):
    array, found = npymap.open(path), []
    batches = npymap.Batches(array, npymap.Sampler(1000, seed=1), 8, epochs=4, threads=2)

    def work():
        for indices, x in batches:
            assert has_rows(x, indices)
            found.extend(indices.tolist())
            assert batches.epoch in range(4)

    run(work)
    assert sorted(found) == sorted(4 * list(range(1000)))


def test_batches_of_lists_have_their_own_indices(path):
    lists = (np.array([number, 999 - number]) for number in range(1000))
    batches = npymap.Batches(npymap.open(path), lists, threads=3)
    found = []

    def work():
        for indices, x in batches:
            assert has_rows(x, indices)
            found.append(int(indices[0]))

    run(work)
    assert sorted(found) == list(range(1000))


def test_batches_are_closed_while_others_wait(path):
    for _ in range(20):
        batches = npymap.Batches(npymap.open(path), npymap.Sampler(1000), 4, epochs=1000, threads=2)

        def work():
            for indices, x in batches:
                assert has_rows(x, indices)

        def close():
            time.sleep(0.002)
            batches.close()

        run(work, work, work, close)


def test_processes_are_forked_while_others_wait_for_batches(path):
    ready, end = threading.Event(), threading.Event()

    def lists():
        yield [1]
        ready.set()
        end.wait()

    batches = npymap.Batches(npymap.open(path), lists(), prefetch=1)
    waiting = threading.Thread(target=lambda: list(batches), daemon=True)
    waiting.start()
    assert ready.wait(100)
    child = os.fork()
    if child == 0:
        try:
            batches.close()
            next(batches)
        except ValueError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    end.set()
    waiting.join()


def test_appended_rows_are_complete_whoever_closes(tmp_path):
    for _ in range(5):
        path = tmp_path / "log.npy"
        log = npymap.Appender(path, dtype="f8", row=4, overwrite=True, buffer=100)
        appended = []

        def append():
            try:
                for number in range(200):
                    log.append(np.full(4, number))
                    appended.append(number)
                    assert len(log) > 0
                    log.flush()
            except ValueError as error:
                assert "closed" in str(error)

        def close():
            time.sleep(0.005)
            log.close()

        run(append, append, append, close)
        stored = npymap.load(path)
        assert (stored == stored[:, :1]).all()
        assert sorted(stored[:, 0]) == sorted(appended)


def test_ragged_rows_are_appended_and_read(tmp_path):
    data, offsets = tmp_path / "data.npy", tmp_path / "offsets.npy"
    with npymap.RaggedAppender(data, offsets, dtype="i4") as to:
        def append():
            for length in range(100):
                to.append(np.full(length, length))
                to.flush()

        run(append)
    texts = npymap.Ragged(data, offsets)
    assert len(texts) == 100 * THREADS

    def read():
        for index in range(100):
            row = texts[index]
            assert (row == len(row)).all()
            texts.take_padded([index, 0], 8)

    run(read)


def test_files_are_replaced_by_all_threads(tmp_path):
    path = tmp_path / "a.npy"
    npymap.save(path, np.zeros(100))

    def save():
        number = threading.get_ident() % 1000
        for _ in range(20):
            npymap.save(path, np.full(100, float(number)))
            npymap.savez(tmp_path / "a.npz", x=np.full(100, number))

    def read():
        for _ in range(50):
            for array in (npymap.load(path), npymap.open(path)):
                assert (array == array[0]).all()

    run(save, read)
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "a.npz"]


def test_a_new_file_is_written_and_committed_by_several_threads(tmp_path):
    for _ in range(20):
        new = npymap._core.NewFile(str(tmp_path / "a"))

        def write():
            try:
                while True:
                    new.write(b"12345678" * 100)
            except ValueError as error:
                assert "closed" in str(error)

        def commit():
            time.sleep(0.001)
            try:
                new.commit()
            except ValueError as error:
                assert "closed" in str(error)

        run(write, write, write, commit)
        assert os.path.getsize(tmp_path / "a") % 800 == 0


def test_a_lock_is_released_by_several_threads(path):
    for _ in range(20):
        lock = npymap.open(path).lock("exclusive")
        run(lock.release)
        npymap.open(path).lock("exclusive", wait=False).release()
