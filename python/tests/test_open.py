"""Opening and creating files."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest
from arrays import DTYPES, SHAPES, assert_same, has_padding, sample

import npymap


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_shape_and_order_opens_as_numpy_reads_it(tmp_path, dtype, shape, order):
    path = tmp_path / "a.npy"
    np.save(path, sample(dtype, shape, order))
    expected = np.load(path)
    for mode in ("r", "r+", "c"):
        array = npymap.open(path, mode)
        assert isinstance(array, np.memmap)
        assert_same(array, expected)
        assert array.flags.writeable == (mode != "r")
    assert_same(npymap.load(path), expected)


def test_stores_change_the_file_in_mode_r_plus_only(npy):
    shared, private = npymap.open(npy, "r+"), npymap.open(npy, "c")
    private[0, 0] = 7
    shared[1, 1] = 9
    shared.flush()
    assert np.load(npy)[0, 0] == 0
    assert np.load(npy)[1, 1] == 9
    assert private[0, 0] == 7
    with pytest.raises(ValueError, match="read-only"):
        npymap.open(npy)[0, 0] = 1


def test_views_keep_the_map_alive(npy):
    row = npymap.open(npy)[1]
    plain = np.asarray(npymap.open(npy))[2:]
    buffer = memoryview(npymap.open(npy))
    assert row.tolist() == [4, 5, 6, 7]
    assert plain[0].tolist() == [8, 9, 10, 11]
    assert buffer[0, 1] == 1


def test_attributes_are_those_of_numpys_memmap(npy):
    array, numpys = npymap.open(npy), np.load(npy, mmap_mode="r")
    for view in (array, array[1:], array.T):
        assert view.offset == numpys.offset == 128
        assert view.mode == numpys.mode
        assert view.filename == npy
    assert npymap.open(str(npy)).filename == str(npy)
    assert (array + 1).__class__ is np.ndarray
    assert array[[0, 1]].__class__ is np.ndarray
    assert array.sum().__class__ is np.float64
    assert array.copy().filename is None
    assert array.member is None


def test_paths_of_every_kind_open(npy, monkeypatch):
    for path in (npy, str(npy), os.fsencode(npy)):
        assert npymap.open(path).shape == (3, 4)
    monkeypatch.chdir(npy.parent)
    array = npymap.open("a.npy")
    monkeypatch.chdir("/")
    array.check_unchanged()
    assert array.filename == str(npy)


def test_an_array_inside_a_file_opens_at_its_offset(tmp_path):
    path = tmp_path / "two"
    with open(path, "wb") as file:
        np.save(file, np.arange(3))
        start = file.tell()
        np.save(file, np.arange(5))
    assert npymap.open(path, at=start).shape == (5,)
    assert npymap.header(path, at=start).shape == (5,)


def test_several_arrays_of_a_file_open_one_after_another(tmp_path):
    path, arrays = tmp_path / "several.npy", [np.arange(3), np.float32(1.5), np.ones((2, 0)), np.array(["ab"])]
    with open(path, "wb") as file:
        for array in arrays:
            np.save(file, array)
    at = 0
    for array in arrays:
        found = npymap.open(path, at=at)
        assert_same(np.asarray(found), np.asarray(array))
        assert_same(npymap.ArrayFile(path, at=at)[...], np.asarray(array))
        at = found.offset + found.nbytes
    assert at == path.stat().st_size
    with open(path, "rb") as file:
        for array in arrays:
            assert_same(npymap.load(file), np.asarray(array))


def test_created_files_are_what_numpy_writes(tmp_path):
    for dtype in DTYPES:
        ours, numpys = tmp_path / "ours.npy", tmp_path / "numpys.npy"
        for order in "CF":
            array = npymap.create(ours, dtype, (3, 4), order=order, overwrite=True)
            assert array.mode == "r+"
            array[...] = sample(dtype, (3, 4))
            array.flush()
            np.save(numpys, sample(dtype, (3, 4), order))
            assert_same(np.load(ours), np.load(numpys))
            if not has_padding(dtype):
                assert ours.read_bytes() == numpys.read_bytes()


def test_creating_replaces_a_file_only_if_asked(npy):
    old = npymap.open(npy)
    with pytest.raises(FileExistsError):
        npymap.create(npy, "f8", 5)
    npymap.create(npy, "f8", 5, overwrite=True)
    assert old[2, 3] == 11
    assert npymap.open(npy).shape == (5,)
    old = npymap.open(npy)
    npymap.open_memmap(npy, "w+", "u1", (2,))[:] = 3
    assert old.tolist() == [0] * 5
    assert npymap.load(npy).tolist() == [3, 3]


def test_space_is_reserved_unless_the_file_is_sparse(tmp_path):
    path = tmp_path / "a.npy"
    npymap.create(path, "u1", 1 << 20)
    assert os.stat(path).st_blocks * 512 >= 1 << 20
    npymap.create(path, "u1", 1 << 20, sparse=True, overwrite=True)
    assert os.stat(path).st_blocks * 512 < 1 << 20
    assert npymap.create(path, "u1", 1, page_aligned=True, overwrite=True).offset == 4096


def test_memmap_has_numpys_arguments(tmp_path):
    path = tmp_path / "raw"
    for order in "CF":
        array = npymap.memmap(path, ">i2", "w+", 6, (3, 4), order)
        array[...] = np.arange(12).reshape(3, 4)
        expected = np.memmap(path, ">i2", "r", 6, (3, 4), order)
        assert_same(npymap.memmap(path, ">i2", "readonly", 6, (3, 4), order), expected)
        assert array.offset == 6
    assert npymap.memmap(path, mode="r").shape == (30,)
    assert npymap.memmap(path, "i2", shape=(4, 5)).flags.writeable
    assert path.stat().st_size == 40
    with open(path, "r+b") as file:
        assert npymap.memmap(file, "i2", offset=38)[0] == 0
        assert npymap.memmap(file).filename == str(path)


def test_wrong_arguments_are_value_errors(npy):
    with pytest.raises(ValueError, match="mode must be one of"):
        npymap.open(npy, "w")
    with pytest.raises(ValueError, match="create"):
        npymap.open(npy, "w+")
    with pytest.raises(ValueError, match="advice"):
        npymap.open(npy, advice="often")
    with pytest.raises(ValueError, match="objects"):
        npymap.create(npy, object, 3)
    with pytest.raises(ValueError, match="shape must be given"):
        npymap.memmap(npy, mode="w+")


def test_pages_can_be_advised_read_and_dropped(npy):
    array = npymap.open(npy, "r+", advice="random")
    for rows in (None, slice(1, 3), (0, 2)):
        array.advise("sequential", rows)
        array.prefetch(rows)
        array.populate(rows)
        array.flush(rows)
        array.flush(rows, wait=False)
        array.drop_cache(rows)
    array[1:].populate()
    array.T[2:].flush()
    assert array.resident_bytes() in (None, *range(4097))
    with pytest.raises(ValueError, match="advice"):
        array.advise("never")
    with pytest.raises(ValueError, match="in memory"):
        array.copy().populate()
    array.copy().flush()


def test_check_notices_replaced_truncated_and_missing_files(npy):
    array = npymap.open(npy)
    array.check_unchanged()
    npymap.save(npy, np.zeros(3))
    with pytest.raises(npymap.FormatError, match="was replaced by another file") as caught:
        array.check_unchanged()
    assert caught.value.kind == "Changed"
    with pytest.raises(npymap.FormatError, match="was replaced by another file") as caught:
        array.lock()
    assert caught.value.kind == "Changed"
    assert array[2, 3] == 11
    array = npymap.open(npy)
    os.truncate(npy, 130)
    with pytest.raises(npymap.FormatError, match="end at byte") as caught:
        array.check_unchanged()
    assert caught.value.kind == "Truncated"
    with pytest.raises(npymap.FormatError):
        array.populate()
    os.remove(npy)
    with pytest.raises(FileNotFoundError):
        array.check_unchanged()


def test_locks_exclude_each_other(npy):
    array = npymap.open(npy)
    with array.lock("exclusive"):
        with pytest.raises(BlockingIOError):
            npymap.open(npy).lock(wait=False)
    with array.lock(), npymap.open(npy).lock(wait=False):
        pass
    with pytest.raises(ValueError, match="expected 'shared'"):
        array.lock("both")


def test_headers_are_read_without_elements(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, sample("<f4", (3, 2), "F"))
    header = npymap.header(path)
    assert header == ((3, 2), np.dtype("<f4"), True, (1, 0), 128)
    assert header.fortran_order


def test_files_of_dead_writers_are_recovered(npy):
    with open(npy, "ab") as file:
        file.write(bytes(40))
    planned = npymap.recover(npy, dry_run=True)
    assert (planned.before, planned.after, planned.dropped) == ((3, 4), (4, 4), 8)
    assert repr(planned) == "Recovery(before=(3, 4), after=(4, 4), dropped=8, filled=0)"
    assert npymap.load(npy).shape == (3, 4)
    npymap.recover(npy)
    assert npymap.load(npy).shape == (4, 4)
    npymap.resize(npy, 2)
    assert npymap.load(npy).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_header_of_100_fields_opens(tmp_path):
    dtype = np.dtype([(f"field{number}", "<f4") for number in range(100)])
    np.save(tmp_path / "a.npy", np.zeros(3, dtype))
    assert npymap.open(Path(tmp_path, "a.npy")).dtype == dtype


def test_paths_are_text_bytes_or_objects(npy):
    class Text(str):
        pass

    for path in (npy, str(npy), os.fsencode(npy), Text(npy)):
        array = npymap.open(path)
        assert array.filename == (npy if path is npy else str(npy))
        assert array[1:].view().filename == array.filename
    for path in (1, None, [str(npy)]):
        with pytest.raises(TypeError, match="expected str, bytes or os.PathLike object"):
            npymap.open(path)
    for url in ("s3://bucket/a.npy", b"s3://bucket/a.npy"):
        with pytest.raises(ValueError, match="a URL, which"):
            npymap.open(url)


@pytest.mark.skipif(os.name != "posix", reason="file names are bytes")
def test_paths_need_not_be_utf_8(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.npy"
    np.save(os.fsdecode(path), np.arange(3))
    for name in (path, os.fsdecode(path), Path(os.fsdecode(path))):
        assert npymap.open(name).tolist() == [0, 1, 2]


def test_names_of_fields_can_be_set_in_one_array(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(3, [("x", "f4"), ("y", "i2")]))
    array = npymap.open(path)
    array.dtype.names = "a", "b"
    assert npymap.open(path).dtype.names == ("x", "y")
    assert npymap.header(path).dtype.names == ("x", "y")


def test_many_dtypes_are_opened_in_turn(tmp_path):
    for _ in range(2):
        for length in range(1, 12):
            np.save(tmp_path / f"{length}.npy", np.full(2, "a" * length, f"S{length}"))
            assert npymap.open(tmp_path / f"{length}.npy").dtype == np.dtype(f"S{length}")


@pytest.mark.parametrize("order", ["C", "c", "F", "f", "A", "K", None])
def test_orders_of_memmap_are_numpys(tmp_path, order):
    (tmp_path / "a").write_bytes(bytes(range(6)))
    found = npymap.memmap(tmp_path / "a", shape=(2, 3), order=order)
    expected = np.memmap(tmp_path / "a", shape=(2, 3), order=order)
    assert_same(found, expected)
    assert found.strides == expected.strides


def test_unknown_orders_leave_the_file(tmp_path):
    (tmp_path / "a").write_bytes(bytes(range(6)))
    for order in ("X", "CF", 1):
        with pytest.raises(ValueError, match="order"):
            npymap.memmap(tmp_path / "a", mode="w+", shape=(2, 3), order=order)
    assert (tmp_path / "a").read_bytes() == bytes(range(6))


@pytest.mark.parametrize("order", ["C", "F", "A", "K", None])
@pytest.mark.parametrize("shape", [None, 2, (2, 1), (1, 2), ()])
@pytest.mark.parametrize("inner", [(2,), (3,), (3, 2), (1, 3), (2, 1, 3)], ids=str)
def test_subarrays_add_axes_to_memmap(tmp_path, inner, shape, order):
    path, dtype = tmp_path / "a", np.dtype((">i2", inner))
    path.write_bytes(bytes(range(6 + 24)))
    for mode in ("r", "r+", "c"):
        found = npymap.memmap(path, dtype, mode, 6, shape, order)
        expected = np.memmap(path, dtype, mode, 6, shape, order)
        assert_same(found, expected)
        assert (found.strides, found.offset, found.mode) == (expected.strides, 6, mode)
        assert pickle.loads(pickle.dumps(found)).tolist() == expected.tolist()
    with open(path, "rb") as file:
        assert_same(npymap.memmap(file, dtype, "r", 6, shape, order), found)
    if order != "F":
        rows = npymap.memmap(path, dtype, "r", 6, shape, order)
        assert rows.rows.take([0, -1]).tolist() == expected[[0, -1]].tolist()
    assert path.read_bytes() == bytes(range(6 + 24))


@pytest.mark.parametrize("order", ["C", "F"])
def test_subarrays_of_new_files_are_numpys(tmp_path, order):
    dtype = np.dtype(("<i2", (2, 3)))
    for module, name in ((npymap, "ours"), (np, "numpys")):
        array = module.memmap(tmp_path / name, dtype, "w+", 4, (5,), order)
        array[:] = np.arange(30).reshape(5, 2, 3)
        array.flush()
        again = module.memmap(tmp_path / name, dtype, "r+", 4, None, order)
        again[1] += 100
        again.flush()
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "numpys").read_bytes()


def test_parts_of_subarrays_are_errors(tmp_path):
    (tmp_path / "a").write_bytes(bytes(24))
    for order in "CF":
        with pytest.raises(ValueError, match="12 elements, expected a multiple of the 5 of a"):
            npymap.memmap(tmp_path / "a", ("i2", (5,)), "r", order=order)
        with pytest.raises(ValueError, match="expected a multiple of the 0 of a subarray"):
            npymap.memmap(tmp_path / "a", ("i2", (0, 2)), "r", order=order)


def test_arrays_without_axes_have_no_rows(tmp_path):
    np.save(tmp_path / "a.npy", 5.0)
    array = npymap.open(tmp_path / "a.npy")
    with pytest.raises(TypeError, match="without axes"):
        array.rows
    assert array.take([0]).tolist() == [5]
    array.populate()
    for call in (array.populate, lambda rows: array[[0]]):
        with pytest.raises(IndexError, match="array is 0-dimensional"):
            call((0, 1))
    for call in (len, iter):
        with pytest.raises(TypeError, match="0-d|unsized"):
            call(array)


def test_errors_of_open_files_leave_no_descriptors(npy):
    with npy.open("r+b") as file:
        before = len(os.listdir("/proc/self/fd"))
        wrong = [{"offset": -1}, {"offset": 0.5}, {"shape": 1 << 70}, {"shape": 10**6}, {"dtype": "i8", "offset": 1}]
        for arguments in wrong:
            for mode in ("r", "c"):
                with pytest.raises((OverflowError, TypeError, ValueError)):
                    npymap.memmap(file, mode=mode, **arguments)
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("call", ["npymap.open(path).lock()", "npymap.Appender(path, wait=True)"])
def test_waiting_for_a_lock_is_interrupted_by_signals(npy, call):
    script = f"""
import signal, sys, npymap
path = sys.argv[1]
signal.setitimer(signal.ITIMER_REAL, 0.2)
signal.signal(signal.SIGALRM, lambda *_: sys.exit(7))
{call}
"""
    with npymap.open(npy, "r+").lock("exclusive"):
        ended = subprocess.run([sys.executable, "-c", script, npy], timeout=60)
    assert ended.returncode == 7


def test_a_lock_is_waited_for(npy):
    lock = npymap.open(npy).lock("exclusive")
    threading.Timer(0.1, lock.release).start()
    with npymap.open(npy).lock("exclusive"):
        with pytest.raises(BlockingIOError):
            npymap.Appender(npy)
    lock = npymap.open(npy).lock("exclusive")
    threading.Timer(0.1, lock.release).start()
    with npymap.Appender(npy, wait=True) as log:
        assert len(log) == 3


@pytest.mark.parametrize("opened", [npymap.open, npymap.ArrayFile])
def test_members_with_large_headers_are_opened_by_npz(tmp_path, opened):
    wide = np.zeros(2, [(f"field_{i}", "<f8") for i in range(1000)])
    np.savez(tmp_path / "a.npz", x=wide)
    with pytest.raises(ValueError, match=r"npymap\.Npz\(path, max_header_size=100000\) opens"):
        opened(tmp_path / "a.npz", member="x", max_header_size=100_000)
    assert npymap.Npz(tmp_path / "a.npz", max_header_size=100_000)["x"].dtype == wide.dtype


def test_members_have_no_offset_and_are_advised(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    np.savez_compressed(tmp_path / "b.npz", x=np.arange(3))
    for name in ("a.npz", "b.npz"):
        for advice in ("normal", "random", "sequential"):
            array = npymap.open(tmp_path / name, member="x", advice=advice)
            assert array.tolist() == [0, 1, 2]
        with pytest.raises(ValueError, match="a member and an offset"):
            npymap.open(tmp_path / name, member="x", at=1)
        with pytest.raises(ValueError, match="advice"):
            npymap.open(tmp_path / name, member="x", advice="soon")


@pytest.mark.parametrize("order", ["C", "F"])
def test_subarrays_add_axes_to_new_files(tmp_path, order):
    dtype = np.dtype((">i2", (3, 2)))
    array = npymap.create(tmp_path / "a.npy", dtype, 4, order=order)
    assert array.shape == (4, 3, 2) and array.dtype == ">i2"
    array[:] = np.arange(24).reshape(4, 3, 2)
    assert_same(np.load(tmp_path / "a.npy"), array)
    again = npymap.open_memmap(tmp_path / "a.npy", "w+", dtype, (5,), order == "F")
    assert again.shape == np.load(tmp_path / "a.npy").shape == (5, 3, 2)


def test_paths_lead_through_links_to_directories(tmp_path, monkeypatch):
    (tmp_path / "far" / "inner").mkdir(parents=True)
    (tmp_path / "near").mkdir()
    os.symlink(tmp_path / "far" / "inner", tmp_path / "near" / "link")
    np.save(tmp_path / "far" / "a.npy", np.array([1]))
    np.save(tmp_path / "near" / "a.npy", np.array([2]))
    monkeypatch.chdir(tmp_path / "near")
    file, concat = npymap.ArrayFile("link/../a.npy"), npymap.Concat(["link/../a.npy"])
    monkeypatch.chdir(tmp_path)
    assert file[0] == pickle.loads(pickle.dumps(file))[0] == concat[0] == 1
    assert os.path.isabs(file.path)


class Memmap(npymap.memmap):
    """A subclass, as programs define them."""


def test_subclasses_of_memmap_are_those_of_numpys(tmp_path):
    (tmp_path / "a").write_bytes(bytes(range(6)))
    array = Memmap(tmp_path / "a", mode="r", shape=(3, 2))
    for again in (array[1:], array[[0, 2]], pickle.loads(pickle.dumps(array)), copy.deepcopy(array)):
        assert type(again) is Memmap
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(array, protocol)).tolist() == array.tolist()
    assert array[[0, 2]].tolist() == [[0, 1], [4, 5]]


def test_stacked_files_are_closed_with_the_last_reference(npy):
    gc.collect()
    gc.disable()
    try:
        concat = npymap.Concat([npy, npy])
        assert concat.take([5]).tolist() == concat[[5]].tolist() == [[8, 9, 10, 11]]
        assert [row[0] for row in concat] == [0, 4, 8] * 2
        assert np.asarray(concat).shape == (6, 4)
        dead, rows = weakref.ref(concat), concat.rows
        assert pickle.loads(pickle.dumps(rows)).take([4]).tolist() == rows.take([4]).tolist()
        del concat
        # Rows keep their source.
        assert dead() is not None and rows.take([3])[0, 1] == 1
        del rows
        assert dead() is None
        if os.path.exists("/proc/self/maps"):
            assert str(npy) not in Path("/proc/self/maps").read_text()
    finally:
        gc.enable()


def test_arrays_have_the_dtype_that_was_given(tmp_path):
    fields = [("a", "<i4"), ("b", "<f8")]
    dtypes = [np.dtype((np.record, fields)), np.dtype(fields, align=True),
              np.zeros(1, fields)[["b", "a"]].dtype, np.dtype("f4", metadata={"unit": "m"}),
              np.dtype({"names": ["x", "y"], "formats": ["<f4", "<i4"], "offsets": [0, 0]})]
    for dtype in dtypes:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            array = npymap.memmap(tmp_path / "a.bin", dtype, "w+", shape=(3,))
        found = array.dtype
        assert found == dtype and found.type is dtype.type and found.metadata == dtype.metadata
        assert found.isalignedstruct == dtype.isalignedstruct
        array[1] = np.ones(1, dtype)[0]
        assert npymap.memmap(tmp_path / "a.bin", dtype, "r")[1] == array[1]
    array = npymap.create(tmp_path / "a.npy", dtypes[0], 2)
    assert array.dtype.type is np.record and array[0].b == 0
    assert array.rows.take([1])[0].b == 0 and array.rows.dtype.type is np.record
    array = npymap.memmap(tmp_path / "a.bin", dtypes[-1], "r")
    assert array.rows.take([1])["x"] == array["x"][1]


@pytest.mark.parametrize("dtype", ["S0", "U0", "V0"])
@pytest.mark.parametrize("shape", [(3,), (4, 3), (5000,)])
def test_elements_without_bytes_are_taken(tmp_path, shape, dtype):
    npymap.save(tmp_path / "a.npy", np.ndarray(shape, dtype))
    for array in (npymap.open(tmp_path / "a.npy"), npymap.ArrayFile(tmp_path / "a.npy").map()):
        for axis in range(len(shape)):
            assert array.take([0, 2], axis=axis).shape == np.ones(shape).take([0, 2], axis).shape
        assert array.take([[0, 1]]).shape == (1, 2)
        assert not any(array.take([[0, -1]]).tobytes())
        assert array.compress([True, False], axis=-1).shape == (*shape[:-1], 1)
