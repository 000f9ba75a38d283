"""What first programs try works, or the error says what to type."""

import gzip
import os
import tarfile
import warnings

import numpy as np
import pytest

import npymap


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(12.0).reshape(3, 4))
    return tmp_path / "a.npy"


@pytest.mark.parametrize("row", [b"\xff\xd8 a picture", bytearray(b"abc"), memoryview(b"xyz"), b"",
                                 np.frombuffer(b"abc", "u1"), [1, 2]], ids=repr)
def test_bytes_are_rows_of_u1(tmp_path, row):
    paths = tmp_path / "d.npy", tmp_path / "o.npy"
    with npymap.RaggedAppender(*paths, dtype="u1") as to:
        to.append(row)
        assert "1 rows, dtype uint8" in repr(to) and "d.npy" in repr(to)
    assert npymap.Ragged(*paths)[0].tobytes() == bytes(row)


def test_appenders_show_what_they_append_to(tmp_path):
    with npymap.Appender(tmp_path / "a.npy", dtype="f4", row=3) as to:
        to.append([1, 2, 3])
        assert repr(to).endswith("a.npy': shape (1, 3), dtype float32>")


def test_a_sampler_takes_whatever_has_a_length(path):
    for length in (npymap.open(path), npymap.ArrayFile(path), npymap.open(path).rows, [0, 0, 0],
                   npymap.Concat([path])):
        assert sorted(npymap.Sampler(length)) == [0, 1, 2]
    assert len(npymap.Sampler(np.int64(5))) == 5
    with pytest.raises(TypeError):
        npymap.Sampler(1.5)


@pytest.mark.parametrize("arguments", [((3, 4), "f4"), (5, np.float64), ([2, 2], np.dtype("i8"))])
def test_a_shape_in_the_place_of_the_dtype_is_named(tmp_path, arguments):
    with pytest.raises(TypeError, match="the dtype is first, or shape= and dtype= say"):
        npymap.create(tmp_path / "a.npy", *arguments)
    assert os.listdir(tmp_path) == []
    shape, dtype = arguments
    created = npymap.create(tmp_path / "a.npy", shape=shape, dtype=dtype)
    assert created.dtype == dtype and created.size == np.prod(shape)


def test_errors_say_what_to_type(path, tmp_path):
    np.savez(tmp_path / "a.npz", x=[1])
    (tmp_path / "raw.npy").write_bytes(bytes(64))
    with gzip.open(tmp_path / "a.npy.gz", "wb") as file:
        file.write(path.read_bytes())
    rows = npymap.open(path).rows
    for call, kind, match in (
        (lambda: npymap.open(tmp_path / "a.npz"), ValueError, "zip archive. Use npymap.load, .*member="),
        (lambda: npymap.header(tmp_path / "a.npz"), ValueError, "npymap.Npz"),
        (lambda: npymap.ArrayFile(tmp_path / "a.npz"), ValueError, "with member="),
        (lambda: npymap.open(tmp_path / "raw.npy"), ValueError, "npymap.memmap.path, dtype, mode="),
        (lambda: npymap.open(tmp_path / "a.npy.gz"), ValueError, "npymap.load.gzip.open.path"),
        (lambda: rows.take([True, False, True]), TypeError, r"rows\[mask\]"),
        (lambda: npymap.ArrayFile(path).take(np.array([True] * 3)), TypeError, r"rows\[mask\]"),
        (lambda: rows.take([0], dtype="i4"), TypeError, "casting=.unsafe."),
        (lambda: rows.take([0], np.zeros((1, 4), "f4"), casting="safe"), TypeError, "casting=.unsafe."),
    ):
        with pytest.raises(kind, match=match):
            call()
    assert rows[np.array([True, False, True])].tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    assert rows.take([0], dtype="i4", casting="unsafe").tolist() == [[0, 1, 2, 3]]
    assert npymap.load(gzip.open(tmp_path / "a.npy.gz"))[1, 0] == 4


def test_file_urls_are_paths(path, tmp_path):
    url = path.as_uri()
    for again in (npymap.open(url), npymap.load(url), npymap.ArrayFile(url), npymap.load(url, "r"),
                  npymap.Concat([url]), npymap.memmap(url, "f8", "r", 128, (3, 4)),
                  npymap.load(url.replace("file:///", "file://localhost/"))):
        assert np.asarray(again)[1, 0] == 4
    assert npymap.header(url).shape == (3, 4)
    space = tmp_path / "a b%.npy"
    npymap.save(space.as_uri(), [1])
    assert space.exists() and npymap.open(space.as_uri())[0] == 1
    with pytest.raises(ValueError, match="a file of the host 'other'"):
        npymap.open("file://other/a.npy")


def test_file_urls_are_paths_of_new_files(tmp_path):
    def append(url):
        with npymap.Appender(url, dtype="f8") as appender:
            appender.append([1.0])

    def append_rows(url):
        with npymap.RaggedAppender(url, url.replace(".npy", "-offsets.npy"), dtype="f8") as appender:
            appender.append([1.0])

    for number, write in enumerate((
        lambda url: npymap.save(url, [1.0]),
        lambda url: npymap.savez(url, [1.0]),
        lambda url: npymap.savez_compressed(url, [1.0]),
        lambda url: npymap.update_npz(url, {"x": [1.0]}),
        lambda url: npymap.create(url, "f8", 1),
        lambda url: npymap.format.open_memmap(url, "w+", "f8", (1,)),
        lambda url: npymap.memmap(url, "f8", "w+", shape=1),
        append, append_rows,
    )):
        path = tmp_path / f"a b%{number}.npy"
        write(path.as_uri())
        assert any(name.name.startswith(path.name) for name in tmp_path.iterdir()), number


@pytest.mark.parametrize("url", ["hdfs://x/a.npy", "ftp://x/a.npy", "s4://a", "memory://a.npy"])
def test_unknown_schemes_are_named(url):
    for call in (npymap.open, npymap.load, npymap.ArrayFile, npymap.header, npymap.Npz,
                 lambda url: npymap.save(url, [1]), lambda url: npymap.create(url, "f4", 3)):
        with pytest.raises(ValueError, match=f"scheme '{url.partition(':')[0]}', expected file, http"):
            call(url)


def test_files_with_the_name_of_a_url_are_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.makedirs("hdfs:/x")
    np.save("hdfs:/x/a.npy", [1])
    assert npymap.open("hdfs://x/a.npy")[0] == npymap.open("./hdfs:/x/a.npy")[0] == 1


@pytest.mark.parametrize("order", "CF")
def test_files_are_loaded_into_an_array(tmp_path, order):
    expected = np.asarray(np.arange(6, dtype=">i4").reshape(2, 3), order=order)
    np.save(tmp_path / "a.npy", expected)
    out = np.empty((2, 3), ">i4", order)
    assert npymap.load(tmp_path / "a.npy", out=out) is out and np.array_equal(out, expected)
    read_only = np.empty((2, 3), ">i4", order)
    read_only.flags.writeable = False
    other = np.empty((2, 3), ">i4", "C" if order == "F" else "F")
    for wrong, match in ((np.empty((3, 2), ">i4"), "shape"), (np.empty((2, 3), "<i4"), "dtype"),
                         (read_only, "writable"), (other, "contiguous")):
        with pytest.raises(ValueError, match=match):
            npymap.load(tmp_path / "a.npy", out=wrong)
    with pytest.raises(TypeError, match="out is a list"):
        npymap.load(tmp_path / "a.npy", out=[])
    with pytest.raises(ValueError, match="named by a path"):
        npymap.load(tmp_path / "a.npy", "r", out=out)


ML_DTYPES = ["bfloat16", "float8_e5m2", "float8_e4m3fn", "int4"]


@pytest.mark.parametrize("name", ML_DTYPES)
def test_dtypes_of_ml_dtypes_are_kept_as_bytes(tmp_path, name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name))
    array = np.array([[0, 1, 2], [3, -1, 4]]).astype(dtype)
    npymap.save(tmp_path / "a.npy", array)
    npymap.savez(tmp_path / "a.npz", x=array)
    with npymap.Appender(tmp_path / "b.npy", dtype=dtype, row=3) as to:
        to.append(array[0])
        assert to.dtype == dtype
    with npymap.Appender(tmp_path / "b.npy") as to:
        to.append(array[1:])
    with npymap.RaggedAppender(tmp_path / "d.npy", tmp_path / "o.npy", dtype=dtype) as to:
        to.append(array[0])
        to.append([])
    created = npymap.create(tmp_path / "c.npy", dtype, (2, 3))
    created[:] = array
    for found in (npymap.load(tmp_path / "a.npy"), npymap.open(tmp_path / "b.npy"), np.load(tmp_path / "b.npy"),
                  npymap.load(tmp_path / "a.npz")["x"], npymap.open(tmp_path / "c.npy")):
        assert found.dtype == f"V{dtype.itemsize}"
        assert found.view(dtype).tolist() == array.tolist()
    assert npymap.Ragged(tmp_path / "d.npy", tmp_path / "o.npy")[0].view(dtype).tolist() == array[0].tolist()
    rows = npymap.open(tmp_path / "b.npy").view(dtype).rows
    assert rows.dtype == dtype
    assert rows.take([1, 0], dtype="f4").tolist() == array[[1, 0]].astype("f4").tolist()
    out = np.zeros((1, 3), "f8")
    assert rows.take([1], out) is out and out.tolist() == array[[1]].astype("f8").tolist()
    with pytest.raises(TypeError):
        rows.take([0], dtype="U3")


@pytest.mark.parametrize("make", [
    lambda path: npymap.Appender(path, dtype="O"),
    lambda path: npymap.Appender(path, dtype="f4", row=-1),
    lambda path: npymap.Appender(path, dtype="f4", order="X"),
    lambda path: npymap.Appender(path, dtype="S0"),
    lambda path: npymap.Appender(path, dtype="f4", buffer="x"),
    lambda path: npymap.RaggedAppender(path, f"{path}.o", dtype="f4", recover=True),
    lambda path: npymap.RaggedAppender(path, f"{path}.o", dtype=np.dtypes.StringDType()),
    lambda path: npymap.create(path, "f4", -1),
    lambda path: npymap.save(path, np.ma.masked_array([1], [True])),
    lambda path: npymap.memmap(path, "O", "w+", shape=3),
])
def test_refused_arguments_leave_no_file(tmp_path, make):
    with pytest.raises((TypeError, ValueError, NotImplementedError)):
        make(f"{tmp_path}/a.npy")
    assert os.listdir(tmp_path) == []


@pytest.fixture
def ragged(tmp_path):
    paths = tmp_path / "d.npy", tmp_path / "o.npy"
    with npymap.RaggedAppender(*paths, dtype="u2") as to:
        for row in ([1, 2, 3], [4], [], [5, 6]):
            to.append(row)
    return npymap.Ragged(*paths)


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_batches_of_rows_of_different_lengths(ragged, threads):
    sampler = npymap.Sampler(ragged, seed=1)
    labels = np.arange(4) * 10
    for dtype in (None, "f4"):
        batches = npymap.Batches([ragged, labels], sampler, batch_size=3, dtype=[dtype, None], threads=threads)
        count = 0
        for indices, (packed, offsets), own in batches:
            expected, starts = ragged.take_packed(indices)
            assert packed.dtype == np.dtype(dtype or "u2") and packed.tolist() == expected.tolist()
            assert offsets.dtype == np.int64 and offsets.tolist() == starts.tolist()
            assert own.tolist() == (10 * indices).tolist()
            count += len(indices)
        assert count == 4
    lists = [[3, -4], [], [2]]
    found = [(p.tolist(), o.tolist()) for _, (p, o) in npymap.Batches(ragged, lists, threads=threads)]
    assert found == [([5, 6, 1, 2, 3], [0, 2, 5]), ([], [0]), ([], [0, 0])]
    with pytest.raises(IndexError):
        list(npymap.Batches(ragged, [[4]], threads=threads))


def test_rows_of_different_lengths_may_have_axes(tmp_path):
    paths = tmp_path / "d.npy", tmp_path / "o.npy"
    with npymap.RaggedAppender(*paths, dtype="f4", row=(2, 3)) as to:
        to.append(np.ones((2, 2, 3)))
        to.append(np.zeros((1, 2, 3)))
    (_, (packed, offsets)), = npymap.Batches(npymap.Ragged(*paths), batch_size=5)
    assert packed.shape == (3, 2, 3) and offsets.tolist() == [0, 2, 3]


def test_batches_without_a_sampler_are_in_order(path):
    a = npymap.open(path)
    found = [indices.tolist() for indices, _ in npymap.Batches(a, batch_size=2)]
    assert found == [[0, 1], [2]]
    assert [len(i) for i, _ in npymap.Batches(a, batch_size=2, drop_last=True, epochs=2)] == [2, 2]
    for call, match in (
        (lambda: npymap.Batches(a, 4), r"batch_size=4 .* npymap.Sampler\(3\)"),
        (lambda: npymap.Batches(a, np.int64(4)), "batch_size=4"),
        (lambda: npymap.Batches(str(path), batch_size=2), "npymap.open"),
    ):
        with pytest.raises(TypeError, match=match):
            call()
    with pytest.raises(ValueError, match="batch_size=None, expected at least 1"):
        npymap.Batches(a)


def test_batches_show_where_they_are(path):
    a = npymap.open(path)
    batches = npymap.Batches([a, a], npymap.Sampler(3), 2)
    assert repr(batches) == "<npymap.Batches: 2 arrays of 3 rows, batches of 2, at row 0 of epoch 0>"
    next(batches)
    assert "at row 2 of epoch 0" in repr(batches)
    assert "1 array of 3 rows, batches of an iterable" in repr(npymap.Batches(a, [[0]]))


def test_sizes_of_batches_have_the_name_that_others_give_them(path):
    assert [len(batch) for batch in npymap.Sampler(3).batches(batch_size=2)] == [2, 1]
    assert len(next(npymap.Batches(npymap.open(path), npymap.Sampler(3), batch_size=3))[0]) == 3


def test_rows_of_different_lengths_name_what_copies_several(ragged):
    for index in (slice(1, 3), [0, 1], np.array([True] * 4), 1.0):
        with pytest.raises(TypeError, match="take_packed and take_padded"):
            ragged[index]
    with pytest.raises(TypeError, match="take_padded or take_packed"):
        npymap.Concat([ragged])
    assert ragged.take_packed([1, 0], dtype="f8")[0].tolist() == [4, 1, 2, 3]
    with pytest.raises(TypeError, match="casting=.unsafe."):
        ragged.take_packed([1], dtype="u1", casting="safe")


def test_archives_are_mapped_unless_a_copy_is_asked_for(path, tmp_path):
    npymap.savez(tmp_path / "a.npz", x=np.arange(3))
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(path, "x")
    for kind, name in ((npymap.Npz, "a.npz"), (npymap.Tar, "a.tar")):
        found = kind(tmp_path / name)["x"]
        assert isinstance(found, npymap.memmap) and not found.flags.writeable
        copy = kind(tmp_path / name, None)["x"]
        assert type(copy) is np.ndarray and copy.flags.writeable
    # As NumPy.
    assert type(npymap.load(tmp_path / "a.npz")["x"]) is np.ndarray


@pytest.mark.parametrize("append", [
    lambda path: npymap.Appender(path, dtype="i4").append([1.5]),
    lambda path: npymap.Appender(path, dtype="i4,f4").append([(1.5, 2)]),
    lambda path: npymap.Appender(path, dtype="u1").append(np.array([1], "i8")),
    lambda path: npymap.RaggedAppender(path, path + "o", dtype="i4").append([1.5]),
])
def test_refused_casts_name_the_argument_that_allows_them(tmp_path, append):
    with pytest.raises(TypeError, match="casting=.unsafe."):
        append(f"{tmp_path}/a.npy")


def test_other_files_are_named(path, tmp_path):
    with pytest.raises(ValueError, match="has an NPY header: npymap.open opens it"):
        npymap.memmap(path, "V11", "r")
    with pytest.raises(ValueError, match="NPY header"):
        npymap.memmap(path, "f8", "r", shape=1000)
    with pytest.warns(UserWarning, match="NPY header, which is mapped as elements: npymap.open"):
        assert len(npymap.memmap(path, "f4", "r")) == (128 + 96) // 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        npymap.memmap(path, "f8", "r", 128)
        npymap.memmap(path, mode="r")
    npymap.savez(tmp_path / "a.npz", x=np.arange(1000), y=np.arange(1000))
    archive = npymap.Npz(tmp_path / "a.npz", None)
    assert archive["x"][5] == 5
    # NumPy truncates the file, and writes to it.
    np.savez(tmp_path / "a.npz", first=np.arange(3), second=np.arange(5))
    os.utime(tmp_path / "a.npz", (1, 1))
    with pytest.raises(npymap.FormatError, match="modified since it was opened: open it again") as error:
        archive["y"]
    assert error.value.kind == "Changed" and error.value.member == "y"
