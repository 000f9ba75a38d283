"""Loading and saving whole files."""

import io
import os
import pickle
import subprocess
import sys
import tarfile
import threading
import warnings

import numpy as np
import pytest
from arrays import DTYPES, SHAPES, assert_same, has_padding, sample

import npymap


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_saved_files_equal_numpys(tmp_path, dtype):
    ours, numpys = tmp_path / "ours", tmp_path / "numpys.npy"
    for shape in SHAPES:
        for order in "CF":
            array = sample(dtype, shape, order)
            for view in (array, array[::2] if shape else array, array.T):
                npymap.save(ours, view)
                np.save(numpys, view)
                assert_same(np.load(tmp_path / "ours.npy"), np.load(numpys))
                if not has_padding(dtype):
                    assert (tmp_path / "ours.npy").read_bytes() == numpys.read_bytes()


@pytest.mark.parametrize("size", [0, 1, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, (1 << 20) - 1, 1 << 20])
def test_arrays_of_every_size_are_saved(tmp_path, size):
    array = (np.arange(size) % 251).astype("u1")
    for _ in range(2):
        npymap.save(tmp_path / "a.npy", array)
        assert np.array_equal(np.load(tmp_path / "a.npy"), array)
        assert (tmp_path / "a.npy").stat().st_size == 128 + size


def test_a_file_in_the_way_of_a_small_array_is_an_error(tmp_path):
    (tmp_path / "d.npy").mkdir()
    for path, kind in [(tmp_path / "d.npy", IsADirectoryError), (tmp_path / "no/a.npy", FileNotFoundError)]:
        with pytest.raises(kind) as error:
            npymap.save(path, np.zeros(3))
        assert error.value.filename == str(path)
    assert os.listdir(tmp_path) == ["d.npy"]


def test_an_existing_file_is_replaced_not_truncated(npy):
    old = npymap.open(npy)
    npymap.save(npy, old[:2])
    assert old[2, 3] == 11
    assert npymap.load(npy).shape == (2, 4)


def test_text_that_ends_in_nul_is_refused(tmp_path):
    for values in ("x\0", ["a", "x\0"], [[b"\0"]], ("x\0",), np.str_("x\0")):
        for write in (npymap.save, npymap.savez, npymap.savez_compressed):
            with pytest.raises(ValueError, match="ends in NUL"):
                write(tmp_path / "a", values)
    assert list(tmp_path.iterdir()) == []
    # A pickle keeps it, and NUL before the end is text.
    objects = np.array(["x\0", None], object)
    npymap.save(tmp_path / "a.npy", objects)
    assert npymap.load(tmp_path / "a.npy", allow_pickle=True).tolist() == objects.tolist()
    npymap.save(tmp_path / "a.npy", ["a\0b"])
    assert npymap.load(tmp_path / "a.npy").tolist() == ["a\0b"]


def test_a_failed_save_leaves_the_old_file(npy):
    class Broken:
        def __reduce__(self):
            raise RuntimeError("broken")

    for values in ([Broken()], np.ma.masked_array([1, 2], [0, 1])):
        with pytest.raises((RuntimeError, NotImplementedError)):
            npymap.save(npy, values)
    assert npymap.load(npy).shape == (3, 4)
    assert os.listdir(npy.parent) == ["a.npy"]


@pytest.mark.parametrize("sync", [False, True])
def test_large_files_are_replaced_too(npy, sync):
    array = np.arange(1 << 18, dtype="f8")
    npymap.save(npy, array)
    old = npymap.open(npy)
    npymap.save(npy, array[::-1], sync=sync)
    assert np.array_equal(np.load(npy), array[::-1])
    assert np.array_equal(old, array)
    size = os.stat(npy)
    assert size.st_size == 128 + array.nbytes
    assert size.st_blocks * 512 < 2 * array.nbytes
    assert os.listdir(npy.parent) == ["a.npy"]


def test_without_space_the_old_file_stays(npy):
    code = f"""
import resource, numpy as np, npymap
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    npymap.save({str(npy)!r}, np.ones(1 << 18))
except OSError as error:
    assert error.filename == {str(npy)!r}, error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert npymap.load(npy).shape == (3, 4)
    assert os.listdir(npy.parent) == ["a.npy"]


def test_only_named_files_are_synced():
    with pytest.raises(TypeError, match="named by a path"):
        npymap.save(io.BytesIO(), np.ones(3), sync=True)


def test_objects_are_pickled_by_numpy(tmp_path):
    path = tmp_path / "o.npy"
    npymap.save(path, np.array([1, "a", None], object))
    assert npymap.load(path, allow_pickle=True).tolist() == [1, "a", None]
    with pytest.raises(ValueError, match="allow_pickle=False"):
        npymap.load(path)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        npymap.save(path, np.array([None]), allow_pickle=False)
    npymap.savez(tmp_path / "o.npz", a=np.array([1, "a"], object), b=np.arange(3))
    with npymap.load(tmp_path / "o.npz", allow_pickle=True) as archive:
        assert archive["a"].tolist() == [1, "a"]
        assert archive["b"].tolist() == [0, 1, 2]
    with npymap.load(tmp_path / "o.npz") as archive, pytest.raises(ValueError, match="allow_pickle"):
        archive["a"]


def test_file_objects_are_read_and_written(tmp_path):
    stream = io.BytesIO()
    npymap.save(stream, np.arange(3))
    archived = io.BytesIO()
    npymap.savez(archived, a=np.arange(3))
    archived.seek(0)
    with np.load(archived) as archive:
        assert archive.files == ["a"]
    with pytest.raises(ValueError, match="allow_pickle=False"):
        npymap.savez(archived, a=np.array([None]), allow_pickle=False)
    stream.seek(0)
    assert npymap.load(stream).tolist() == [0, 1, 2]
    with open(tmp_path / "a", "wb+") as file:
        npymap.save(file, np.arange(3))
        npymap.save(file, np.arange(4))
        file.seek(0)
        assert npymap.format.read_array(file).tolist() == [0, 1, 2]
        assert npymap.format.read_array(file).tolist() == [0, 1, 2, 3]


def test_loading_reads_pickles_archives_and_maps(tmp_path, npy):
    (tmp_path / "p").write_bytes(b"\x80\x04K\x07.")
    assert npymap.load(tmp_path / "p", allow_pickle=True) == 7
    with pytest.raises(ValueError, match="pickled"):
        npymap.load(tmp_path / "p")
    (tmp_path / "empty").touch()
    with pytest.raises(EOFError):
        npymap.load(tmp_path / "empty")
    with pytest.raises(ValueError, match="encoding"):
        npymap.load(npy, encoding="utf-8")
    assert isinstance(npymap.load(npy, "c"), npymap.memmap)
    assert isinstance(npymap.load(npy, ""), np.ndarray)
    assert type(npymap.load(npy)) is np.ndarray


def load_result(load, *arguments, **options):
    """Return what a function loads, or the kind of its error."""
    try:
        found = load(*arguments, **options)
    except Exception as error:
        return next(kind for kind in (EOFError, ValueError, Exception) if isinstance(error, kind))
    if isinstance(found, np.lib.npyio.NpzFile):
        return sorted(found.files)
    return np.array(found).tolist()


@pytest.mark.parametrize("allow_pickle", [False, True])
@pytest.mark.parametrize("mode", [None, "r", "r+", "c"])
def test_modes_are_for_arrays_only_as_in_numpy(tmp_path, mode, allow_pickle):
    (tmp_path / "pickle").write_bytes(pickle.dumps({"a": [1, 2]}))
    (tmp_path / "text").write_bytes(b"hello, world")
    (tmp_path / "short").write_bytes(b"\x93NUM")
    (tmp_path / "empty").touch()
    np.save(tmp_path / "array", np.arange(3))
    np.save(tmp_path / "objects", np.array([None, 1]))
    np.savez(tmp_path / "archive", a=1, b=np.array([None]))
    for name in ("pickle", "text", "short", "empty", "array.npy", "objects.npy", "archive.npz"):
        if name == "archive.npz" and mode == "r+":
            continue
        ours, numpys = (load_result(load, tmp_path / name, mode, allow_pickle=allow_pickle)
                        for load in (npymap.load, np.load))
        assert ours == numpys


@pytest.mark.parametrize("allow_pickle", [False, True])
@pytest.mark.parametrize("mode", [None, "r"])
def test_errors_name_the_class_that_opens_an_archive(tmp_path, mode, allow_pickle):
    with tarfile.open(tmp_path / "a", "w") as archive:
        archive.addfile(tarfile.TarInfo("a.npy"))
    (tmp_path / "b").write_bytes(b"~TenBin~" + bytes(100))
    for name, kind in (("a", "tar"), ("b", "ten")):
        text = f"a {kind} file of several arrays, expected .*: use npymap.{kind.capitalize()}, or"
        with pytest.raises(npymap.FormatError, match=text) as caught:
            npymap.load(tmp_path / name, mode, allow_pickle=allow_pickle)
        assert (caught.value.filename, caught.value.kind) == (str(tmp_path / name), "Unsupported")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("mode", [None, "r"])
def test_pipes_are_refused_without_waiting(tmp_path, mode):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(npymap.FormatError, match="is a pipe or device"):
        npymap.load(tmp_path / "pipe", mode)


class _Reads(io.RawIOBase):
    """A file that has only `read`, and gives too much."""

    def __init__(self, data, more=0):
        self.data, self.more = io.BytesIO(data), more

    def readable(self):
        return True

    def read(self, size=-1):
        return self.data.read(size + self.more)


def test_files_may_have_only_read():
    data = io.BytesIO()
    np.save(data, np.arange(5.0))
    assert_same(npymap.format.read_array(_Reads(data.getvalue())), np.arange(5.0))
    with pytest.raises(ValueError, match="expected 8 bytes got 13"):
        npymap.format.read_array(_Reads(data.getvalue(), more=5))


def test_large_headers_need_permission(tmp_path):
    path = tmp_path / "a.npy"
    dtype = np.dtype([("x" * 100 + str(number), "f4") for number in range(200)])
    npymap.save(path, np.zeros(2, dtype))
    for load in (npymap.load, npymap.open, npymap.header):
        with pytest.raises(npymap.FormatError, match="Headers this large") as caught:
            load(path)
        assert caught.value.kind == "LimitExceeded"
        assert "max_header_len" not in str(caught.value)
        load(path, max_header_size=100_000)
    assert npymap.load(path, allow_pickle=True).dtype == dtype


def test_large_headers_of_objects_need_permission_for_both(tmp_path):
    dtype = np.dtype([("x" * 100 + str(number), object) for number in range(200)])
    array = np.zeros(2, dtype)
    npymap.save(tmp_path / "a.npy", array)
    npymap.savez(tmp_path / "a.npz", x=array)

    def read(**options):
        with open(tmp_path / "a.npy", "rb") as file:
            return npymap.format.read_array(file, **options)

    def member(**options):
        with npymap.load(tmp_path / "a.npz", **options) as archive:
            return archive["x"]

    for load in (read, member, lambda **options: npymap.load(tmp_path / "a.npy", **options)):
        with pytest.raises(npymap.FormatError) as error:
            load()
        assert error.value.kind == "LimitExceeded"
        with pytest.raises(ValueError, match="allow_pickle=False"):
            load(max_header_size=100_000)
        assert load(allow_pickle=True).dtype == dtype


def test_other_threads_run_while_files_are_read(tmp_path):
    path = tmp_path / "a.npy"
    npymap.save(path, np.zeros(1 << 24, np.uint8))
    results = []

    def read():
        results.extend(npymap.load(path).nbytes for _ in range(4))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1 << 24] * 16
    assert_same(npymap.load(path), np.load(path))


def test_archives_reserve_no_more_space_than_they_need(tmp_path):
    array = np.random.default_rng(1).random(1 << 18)
    for _ in range(2):
        npymap.savez(tmp_path / "a.npz", a=array, b=array[:3])
        status = os.stat(tmp_path / "a.npz")
        np.testing.assert_array_equal(np.load(tmp_path / "a.npz")["a"], array)
        assert 2 << 20 < status.st_size < (2 << 20) + 4096
        assert 512 * status.st_blocks <= status.st_size + 16384


def test_padding_is_that_of_the_array_or_zero(tmp_path):
    dtype = np.dtype([("a", "u1"), ("b", "f8")], align=True)
    rows, packed = np.zeros(2000, dtype)[::2], np.zeros(1000, [("a", "u1"), ("b", "f8")])
    path, log = tmp_path / "a.npy", tmp_path / "log.npy"
    for _ in range(5):
        # Memory that is freed, and that the copies below get.
        secrets = [np.full(size, 0xab, "u1") for size in (16_000, 128_000, 8000)]
        del secrets
        npymap.save(path, rows)
        with npymap.Appender(log, dtype=dtype, overwrite=True) as appender:
            appender.append(rows)
            appender.append(packed)
        for file in (path, log):
            with open(file, "rb") as opened:
                assert not any(opened.read()[128:])


def test_quotes_in_names_are_no_integers_of_python_2(tmp_path):
    for name in ("a'1L", "it's 5L", 'a"1L', "a\\'1L"):
        np.save(tmp_path / "a.npy", np.zeros(2, [(name, "f4")]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert npymap.load(tmp_path / "a.npy").dtype.names == (name,)
    text = b"{'descr': [('a\"', '<f4')], 'fortran_order': False, 'shape': (3L,)}"
    header = text + b" " * (117 - len(text)) + b"\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + header + bytes(12))
    with pytest.warns(UserWarning, match="Python 2"):
        npymap.load(tmp_path / "a.npy")
