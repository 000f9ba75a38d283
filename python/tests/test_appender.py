"""Files that grow."""

import os
import subprocess
import sys

import numpy as np
import pytest

import npymap


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", ["<f4", ">i8", "|S3", "<M8[D]", [("a", "<u2"), ("b", ">f8")]],
                         ids=str)
def test_rows_are_appended(tmp_path, order, dtype):
    path = tmp_path / "a.npy"
    parts = [np.zeros((3, *[2, 4]) if order == "C" else (2, 4, 3), dtype), np.zeros((2, 4), dtype)]
    parts[0].view("u1").reshape(-1)[::3] = 49
    axis = 0 if order == "C" else 2
    with npymap.Appender(path, dtype=dtype, row=(2, 4), order=order) as log:
        assert (log.dtype, len(log)) == (np.dtype(dtype), 0)
        log.append(parts[0])
        log.append(np.asfortranarray(parts[1]))
        assert len(log) == 4 and log.shape == ((4, 2, 4) if order == "C" else (2, 4, 4))
    expected = np.concatenate([parts[0], np.expand_dims(parts[1], axis)], axis).astype(dtype)
    found = np.load(path)
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
    assert found.flags.f_contiguous == (order == "F")


def test_values_are_cast(tmp_path):
    with npymap.Appender(tmp_path / "a.npy", dtype=">f4", row=()) as log:
        log.append([1, 2])
        log.append(3.5)
        log.append(np.array([7], "u8"), casting="unsafe")
        log.append([])
        with pytest.raises(TypeError):
            log.append([1j])
        with pytest.raises(TypeError):
            log.append(np.array([1], "i8"), casting="safe")
        assert len(log) == 4
    assert np.load(tmp_path / "a.npy").tolist() == [1, 2, 3.5, 7]


def test_shapes_that_do_not_fit_add_nothing(tmp_path):
    with npymap.Appender(tmp_path / "a.npy", dtype="u1", row=(2, 3)) as log:
        for shape in [(), (3,), (3, 2), (5, 3, 2), (1, 1, 2, 3)]:
            with pytest.raises(ValueError, match="rows of shape"):
                log.append(np.zeros(shape, "u1"))
        log.append(np.zeros((0, 2, 3)))
        assert len(log) == 0
    with pytest.raises(ValueError, match="closed"):
        log.append(np.zeros((2, 3), "u1"))
    with pytest.raises(ValueError, match="order 'A'"):
        npymap.Appender(tmp_path / "b.npy", dtype="u1", order="A")
    with pytest.raises(ValueError, match="Python objects"):
        npymap.Appender(tmp_path / "b.npy", dtype=object)


def test_readers_see_what_was_flushed(tmp_path):
    path = tmp_path / "a.npy"
    with npymap.Appender(path, dtype="i4") as log:
        log.append([1, 2])
        log.flush()
        mapped = npymap.open(path)
        log.append([3])
        assert mapped.tolist() == [1, 2] and len(npymap.open(path)) == 2
        log.sync()
        assert len(npymap.open(path)) == 3
        log.resize(5)
        log.append([9])
    assert npymap.open(path).tolist() == [1, 2, 3, 0, 0, 9]
    with npymap.Appender(path) as log:
        log.resize(1)
        log.append([4])
    assert npymap.open(path).tolist() == [1, 4] and mapped.tolist() == [1, 2]


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "a.npy"
    with npymap.Appender(path, dtype="i4"):
        with pytest.raises(BlockingIOError):
            npymap.Appender(path)
    npymap.Appender(path).close()
    with pytest.raises(FileExistsError):
        npymap.Appender(path, dtype="i4")
    npymap.Appender(path, dtype="i8", overwrite=True).close()
    assert npymap.open(path).dtype == np.int64


def test_a_killed_writer_leaves_a_complete_file(tmp_path):
    path = tmp_path / "a.npy"
    code = """
import os, signal, sys, npymap
log = npymap.Appender(sys.argv[1], dtype="i8", row=100)
for n in range(10**9):
    log.append([n] * 100)
    if n == 500:
        print(flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
    process.stdout.readline()
    process.kill()
    process.communicate()
    npymap.recover(path)
    with npymap.Appender(path) as log:
        log.append([-1] * 100)
    rows = npymap.open(path)[:, 0].tolist()
    assert rows == [*range(len(rows) - 1), -1]
    assert os.path.getsize(path) == npymap.header(path).offset + len(rows) * 800
