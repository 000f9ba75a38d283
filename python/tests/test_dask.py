"""Arrays of Dask: tasks that open files by themselves, and writing in parallel."""

import errno
import os
import pickle

import numpy as np
import pytest
from arrays import sent

import npymap

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

import npymap.dask  # noqa: E402
from npymap._memmap import owner  # noqa: E402
from npymap._parts import Part  # noqa: E402

ARRAY = np.arange(1000 * 60, dtype=">i4").reshape(1000, 60)
CHUNKS = ["auto", "10 kB", (300, 50), 100, -1, (-1, 7), {0: 250}, ((400, 600), (60,)),
          ("auto", 20)]
INDICES = [5, np.s_[5:900:7, 3], np.s_[:, [3, 1]], [4, 2], np.s_[::-1, 5:50], np.s_[-1], np.s_[:, 0],
           np.s_[250:260, -1:], ARRAY[:, 0] % 7 == 0]


@pytest.fixture
def files(tmp_path):
    """One array in a file of each memory order, and in an archive."""
    np.save(tmp_path / "c.npy", ARRAY)
    np.save(tmp_path / "f.npy", np.asfortranarray(ARRAY))
    npymap.savez(tmp_path / "a.npz", x=ARRAY, other=[1])
    return [(tmp_path / "c.npy", None), (tmp_path / "f.npy", None), (tmp_path / "a.npz", "x")]


@pytest.mark.parametrize("mode", ["r", None])
@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_elements_are_those_of_the_file(files, chunks, mode):
    for path, member in files:
        x = npymap.dask.from_npy(path, chunks, member=member, mode=mode)
        assert x.dtype == ARRAY.dtype and x.shape == ARRAY.shape
        with dask.config.set(scheduler="synchronous"):
            found, *parts = dask.compute(x, *(x[index] for index in INDICES))
        assert np.array_equal(found, ARRAY)
        for index, part in zip(INDICES, parts):
            assert np.array_equal(part, ARRAY[index]), index


def test_chunks_are_those_of_dask(files):
    (path, _), (fortran, _), _ = files
    for chunks in CHUNKS[2:]:
        expected = da.core.normalize_chunks(chunks, ARRAY.shape, dtype=ARRAY.dtype)
        assert npymap.dask.from_npy(path, chunks).chunks == expected
    # These are contiguous in the file.
    assert npymap.dask.from_npy(path, "1 kB").chunksize == (4, 60)
    assert npymap.dask.from_npy(path, "100 B").chunksize == (1, 25)
    assert npymap.dask.from_npy(fortran, "10 kB").chunksize == (1000, 2)
    with dask.config.set({"array.chunk-size": "24000 B"}):
        assert npymap.dask.from_npy(path).chunksize == (100, 60)


@pytest.mark.parametrize("array", [np.array(5.0), np.zeros((0, 3)), np.zeros((3, 0), "S3"),
                                   np.zeros(4, [("x", "<f4"), ("y", ">i2", (2,))])], ids=str)
def test_arrays_without_axes_or_elements_and_of_records(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    for mode in ["r", None]:
        x = npymap.dask.from_npy(tmp_path / "a.npy", mode=mode)
        found = x.compute()
        assert found.dtype == array.dtype and found.shape == array.shape
        assert np.array_equal(found, array)
    npymap.dask.to_npy(x, tmp_path / "b.npy")
    assert (tmp_path / "b.npy").read_bytes() == (tmp_path / "a.npy").read_bytes()


def test_files_are_joined_along_the_first_axis(tmp_path):
    lengths = [30, 0, 7, 20]
    paths = [tmp_path / f"{number}.npy" for number in range(4)]
    for number, (path, length) in enumerate(zip(paths, lengths)):
        np.save(path, np.arange(length * 3).reshape(length, 3) + 1000 * number)
    expected = np.concatenate([np.load(path) for path in paths])
    for chunks, rows in [(10, (10, 10, 10, 0, 7, 10, 10)), ("auto", (30, 0, 7, 20)),
                         ((-1, 2), (30, 0, 7, 20)), (((20, 10, 0, 7, 15, 5), 3), (20, 10, 0, 7, 15, 5)),
                         ("72 B", (3,) * 10 + (0, 3, 3, 1) + (3,) * 6 + (2,))]:
        for mode in ["r", None]:
            x = npymap.dask.from_npy(paths, chunks, mode=mode)
            assert x.chunks[0] == rows
            assert np.array_equal(x.compute(), expected)
            assert np.array_equal(x[25:40, 1].compute(), expected[25:40, 1])
    with pytest.raises(ValueError, match="no chunk can have rows of two files"):
        npymap.dask.from_npy(paths, ((50, 7), 3))
    np.save(paths[1], np.zeros((3, 4)))
    with pytest.raises(ValueError, match="same dtype"):
        npymap.dask.from_npy(paths)
    with pytest.raises(ValueError, match="no paths"):
        npymap.dask.from_npy([])


def test_compressed_members_are_read_whole(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=ARRAY)
    x = npymap.dask.from_npy(path, member="x")
    assert x.npartitions == 1 and np.array_equal(x[5:7].compute(), ARRAY[5:7])
    assert npymap.dask.from_npy([path, path], member="x").chunks == ((1000, 1000), (60,))
    with pytest.raises(ValueError, match="chunks=-1"):
        npymap.dask.from_npy(path, 100, member="x")
    with pytest.raises(KeyError):
        npymap.dask.from_npy(path, member="y")


def test_names_change_with_the_file_and_the_chunks(files):
    path = files[0][0]
    name = npymap.dask.from_npy(path).name
    assert name == npymap.dask.from_npy(str(path)).name
    assert len({name, npymap.dask.from_npy(path, 100).name, npymap.dask.from_npy(files[1][0]).name,
                npymap.dask.from_npy([path, path]).name,
                npymap.dask.from_npy(files[2][0], member="x").name,
                npymap.dask.from_npy(files[2][0], member="other").name}) == 6
    npymap.save(path, ARRAY)
    assert npymap.dask.from_npy(path).name != name


def test_graphs_are_small(tmp_path):
    npymap.create(tmp_path / "a.npy", "u1", (1 << 20, 1 << 10), sparse=True)
    x = npymap.dask.from_npy(tmp_path / "a.npy", (1 << 10, -1))
    assert x.npartitions == 1024
    # The lengths of the chunks and their sums, as in those of Dask itself.
    assert len(pickle.dumps(x.__dask_graph__())) < 10_000
    assert len(pickle.dumps(Part(npymap.ArrayFile(tmp_path / "a.npy"), "r"))) < 400
    layer, = x.__dask_graph__().layers.values()
    assert not layer.is_materialized()
    # Blocks are read by the task that uses them.
    optimized, = dask.optimize((x.astype("f4") + 1).map_blocks(np.sqrt))
    assert len(optimized.__dask_graph__()) == 1024
    stack = npymap.dask.from_npy([tmp_path / "a.npy"] * 100, (1 << 19, -1))
    assert len(pickle.dumps(stack.__dask_graph__())) < 20_000


def test_blocks_are_mapped_while_they_are_used(files):
    path = files[0][0]
    block = Part(npymap.ArrayFile(path), "r")[200:300]
    assert isinstance(block, npymap.memmap) and not block.flags.writeable
    assert owner(block).facts[0] == (100 * 60 * 4,)
    assert len(sent(block)) < 500
    # Few elements are copied, so that the pages between them are not kept.
    assert not isinstance(Part(npymap.ArrayFile(path), "r")[:, 3], npymap.memmap)
    assert type(npymap.dask.from_npy(path, mode=None).compute()) is np.ndarray
    with pytest.raises(ValueError, match="mode 'r\\+'"):
        npymap.dask.from_npy(path, mode="r+")


@pytest.mark.parametrize("mode", ["r", None])
@pytest.mark.parametrize("index", [np.s_[900:], np.s_[:, 0]], ids=str)
def test_files_that_get_shorter_are_errors(tmp_path, mode, index):
    # Each case has a file of its own: after the first error Dask's other threads go on, and
    # a file that got longer and shorter again under their maps would end the process.
    np.save(tmp_path / "a.npy", ARRAY)
    x = npymap.dask.from_npy(tmp_path / "a.npy", 100, mode=mode)
    os.truncate(tmp_path / "a.npy", 10_000)
    with pytest.raises(npymap.FormatError):
        x[index].compute()


@pytest.mark.parametrize("chunks", [(100, 60), (100, 7), -1])
def test_files_are_written_in_parallel(tmp_path, chunks):
    path = tmp_path / "a.npy"
    npymap.dask.to_npy(da.from_array(ARRAY, chunks=chunks), path)
    np.save(tmp_path / "b.npy", ARRAY)
    assert path.read_bytes() == (tmp_path / "b.npy").read_bytes()
    before = npymap.open(path)
    with pytest.raises(FileExistsError):
        npymap.dask.to_npy(da.zeros(3), path)
    npymap.dask.to_npy(da.zeros(3), path, overwrite=True)
    assert np.load(path).tolist() == [0, 0, 0] and np.array_equal(before, ARRAY)
    npymap.dask.to_npy(np.ones(2), tmp_path / "c.npy")
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "b.npy", "c.npy"]


def test_writing_later(tmp_path):
    x = da.from_array(ARRAY, chunks=100)
    task = npymap.dask.to_npy(x, tmp_path / "a.npy", compute=False)
    stack = npymap.dask.to_npy_stack(x, tmp_path / "stack", compute=False)
    assert os.listdir(tmp_path) == []
    dask.compute(task, stack)
    assert np.array_equal(np.load(tmp_path / "a.npy"), ARRAY)
    assert np.array_equal(npymap.dask.from_npy(tmp_path / "stack").compute(), ARRAY)
    with pytest.raises(FileExistsError):
        task.compute()


def fail(block):
    if block.shape and block[0, 0] >= 6000:
        raise ArithmeticError("no")
    return block


def test_files_are_complete_or_absent(tmp_path):
    x = da.from_array(ARRAY, chunks=100).map_blocks(fail, dtype=ARRAY.dtype)
    for write, name in [(npymap.dask.to_npy, "a.npy"), (npymap.dask.to_npy_stack, "stack")]:
        with pytest.raises(ArithmeticError):
            write(x, tmp_path / name)
        assert os.listdir(tmp_path) == []
    for bad in [da.from_array(np.array([None, 1]), chunks=1), da.ma.masked_equal(da.arange(3), 1)]:
        with pytest.raises((ValueError, NotImplementedError)):
            npymap.dask.to_npy(bad, tmp_path / "a.npy")
    x = da.from_array(ARRAY, chunks=100)
    wrong = da.map_blocks(lambda block: block[1:], x, dtype=ARRAY.dtype, chunks=x.chunks)
    with pytest.raises(ValueError, match="a block of shape"):
        npymap.dask.to_npy(wrong, tmp_path / "a.npy")
    assert os.listdir(tmp_path) == []


def test_a_failed_block_of_a_task_for_later_leaves_the_incomplete_file(tmp_path):
    x = da.from_array(ARRAY, chunks=100).map_blocks(fail, dtype=ARRAY.dtype)
    task = npymap.dask.to_npy(x, tmp_path / "a.npy", compute=False)
    with pytest.raises(ArithmeticError):
        task.compute()
    name, = os.listdir(tmp_path)
    assert name.startswith("a.npy.") and name.endswith(".partial")


def test_files_get_their_names_where_there_are_no_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    def appear(_, path):
        np.save(path, [1])
        refuse()

    x = da.from_array(ARRAY, chunks=100)
    monkeypatch.setattr(os, "link", refuse)
    npymap.dask.to_npy(x, tmp_path / "a.npy")
    assert np.array_equal(np.load(tmp_path / "a.npy"), ARRAY)
    monkeypatch.setattr(os, "link", appear)
    with pytest.raises(FileExistsError) as error:
        npymap.dask.to_npy(x, tmp_path / "b.npy")
    assert error.value.filename == str(tmp_path / "b.npy")
    assert np.load(tmp_path / "b.npy").tolist() == [1]
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "b.npy"]


def test_a_file_may_get_its_name_twice(tmp_path):
    partial, path = tmp_path / "partial", tmp_path / "a.npy"
    np.save(path, ARRAY)
    # As a worker leaves them that is lost between two calls.
    os.link(path, partial)
    npymap.dask._finish(None, partial, path, False)
    assert os.listdir(tmp_path) == ["a.npy"]
    for overwrite in (False, True):
        npymap.dask._finish(None, partial, path, overwrite)
    partial.touch()
    with pytest.raises(FileExistsError):
        npymap.dask._finish(None, partial, path, False)
    assert np.array_equal(np.load(path), ARRAY)


def test_stacks_are_those_of_dask(tmp_path):
    x = da.from_array(ARRAY, chunks=(300, 20))
    npymap.dask.to_npy_stack(x, tmp_path / "ours")
    assert sorted(os.listdir(tmp_path / "ours")) == ["0.npy", "1.npy", "2.npy", "3.npy", "info"]
    assert np.array_equal(da.from_npy_stack(tmp_path / "ours").compute(), ARRAY)
    da.to_npy_stack(tmp_path / "theirs", x)
    assert np.array_equal(npymap.dask.from_npy(tmp_path / "theirs").compute(), ARRAY)
    with pytest.raises(FileExistsError):
        npymap.dask.to_npy_stack(x, tmp_path / "theirs")
    with pytest.raises(ValueError, match="without axes"):
        npymap.dask.to_npy_stack(da.asarray(1), tmp_path / "none")


def test_selections_of_unknown_length_are_written_as_stacks(tmp_path):
    x = da.from_array(ARRAY, chunks=(300, 20))
    some = x[x[:, 0] % 7 == 0]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        npymap.dask.to_npy(some, tmp_path / "a.npy")
    npymap.dask.to_npy_stack(some, tmp_path / "stack")
    expected = ARRAY[ARRAY[:, 0] % 7 == 0]
    assert np.array_equal(npymap.Concat.npy_stack(tmp_path / "stack")[:], expected)
    assert np.array_equal(da.from_npy_stack(tmp_path / "stack").compute(), expected)


def is_mapped(block):
    return np.array([[type(block) is npymap.memmap]])


def test_workers_open_files_by_themselves(files, tmp_path):
    distributed = pytest.importorskip("distributed")
    path = files[0][0]
    # Workers take long to start on a busy machine.
    patient = {"distributed.comm.timeouts.connect": "600s", "distributed.comm.timeouts.tcp": "600s"}
    with dask.config.set(patient), distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=None, dashboard_address=None,
            worker_dashboard_address=None) as cluster:
        with distributed.Client(cluster, timeout=600) as client:
            x = npymap.dask.from_npy(path, (100, 60))
            assert float(x.mean().compute()) == ARRAY.mean()
            kinds = x.map_blocks(is_mapped, dtype=bool, chunks=(1, 1))
            assert kinds.all().compute()
            # Blocks that other workers need are sent as places in the file.
            joined = x.persist().rechunk((500, 30))
            assert np.array_equal(joined.compute(), ARRAY)
            npymap.dask.to_npy(x + 1, tmp_path / "b.npy")
            assert np.array_equal(np.load(tmp_path / "b.npy"), ARRAY + 1)
            npymap.dask.to_npy_stack(x, tmp_path / "stack")
            assert np.array_equal(npymap.dask.from_npy(tmp_path / "stack").compute(), ARRAY)
            assert set(client.run(is_sent_as_place, path).values()) == {True}


def is_sent_as_place(path):
    """Return whether a worker sends a mapped array as its place."""
    from distributed.protocol import deserialize, serialize

    array = npymap.open(path)[100:200]
    header, frames = serialize(array)
    again = deserialize(header, frames)
    return sum(map(len, frames)) < 500 and np.array_equal(again, array)


@pytest.mark.parametrize("order", "CF")
def test_a_replaced_file_is_an_error(tmp_path, order):
    path = tmp_path / "a.npy"
    np.save(path, np.asarray(ARRAY, order=order))
    x = npymap.dask.from_npy(path, (100, 60))
    npymap.save(path, np.asarray(ARRAY + 1, order=order))
    with pytest.raises(npymap.FormatError, match="another file") as error:
        x.sum().compute(scheduler="synchronous")
    assert error.value.kind == "Changed"
    npymap.savez(tmp_path / "a.npz", x=ARRAY)
    x = npymap.dask.from_npy(tmp_path / "a.npz", member="x")
    npymap.savez(tmp_path / "a.npz", y=ARRAY[:9], x=ARRAY)
    with pytest.raises(npymap.FormatError, match="another file"):
        x.sum().compute(scheduler="synchronous")


def test_elements_without_bytes_keep_their_dtype(tmp_path):
    np.save(tmp_path / "a.npy", np.ndarray((5, 2), "S0"))
    for mode in ("r", None):
        assert npymap.dask.from_npy(tmp_path / "a.npy", 2, mode=mode).dtype == "S0"


@pytest.fixture
def halves(tmp_path):
    """Two files, of the rows of `ARRAY` before and after row 400."""
    paths = [tmp_path / "0.npy", tmp_path / "1.npy"]
    np.save(paths[0], ARRAY[:400])
    np.save(paths[1], ARRAY[400:])
    return paths


@pytest.mark.parametrize("chunks", [-1, 200, (100, 30)], ids=str)
def test_arrays_of_several_files_are_written_and_combined(files, halves, tmp_path, chunks):
    x = npymap.dask.from_npy(halves, chunks)
    npymap.dask.to_npy(x, tmp_path / "o.npy")
    assert np.array_equal(np.load(tmp_path / "o.npy"), ARRAY)
    # The same chunks, of one file, and of others.
    np.save(tmp_path / "2.npy", ARRAY[:200])
    np.save(tmp_path / "3.npy", ARRAY[200:])
    one = npymap.dask.from_npy(files[0][0], x.chunks)
    others = npymap.dask.from_npy([tmp_path / "2.npy", tmp_path / "3.npy"], 200)
    x = x.rechunk(200) if chunks == 200 else x
    assert np.array_equal((x + one).compute(), 2 * ARRAY)
    assert np.array_equal((x + others).compute(), 2 * ARRAY)


def test_a_stack_may_be_finished_twice(tmp_path):
    x = da.from_array(ARRAY, chunks=(500, 60))
    lengths, stack = [500, 500], str(tmp_path / "stack")
    npymap.dask.to_npy_stack(x, stack)
    # As if the worker had been lost after the last task.
    npymap.dask._finish_stack(lengths, stack + ".partial", stack, (60,), x.dtype)
    assert np.array_equal(npymap.dask.from_npy(stack).compute(), ARRAY)


def test_stacks_of_records_have_any_fields(tmp_path):
    records = np.zeros(6, [("axis", "f4"), ("chunks", "i4")])
    records["axis"] = range(6)
    npymap.dask.to_npy_stack(da.from_array(records, chunks=3), tmp_path / "stack")
    assert np.array_equal(npymap.dask.from_npy(tmp_path / "stack").compute(), records)


def test_to_npy_does_not_replace_a_file_with_more_rows(npy):
    with open(npy, "ab") as file:
        file.write(bytes(32))
    before = npy.read_bytes()
    array = da.zeros((4, 4), chunks=2)
    later = npymap.dask.to_npy(array, npy.parent / "b.npy", overwrite=True, compute=False)
    npy.with_name("b.npy").write_bytes(before)
    with pytest.raises(npymap.FormatError, match="1 more row"):
        later.compute()
    for compute in [True, False]:
        with pytest.raises(npymap.FormatError, match="1 more row"):
            npymap.dask.to_npy(array, npy, overwrite=True, compute=compute)
        assert npy.read_bytes() == before
    npymap.dask.to_npy(array, npy, overwrite=True, discard_trailing=True)
    assert npymap.load(npy).shape == (4, 4)
