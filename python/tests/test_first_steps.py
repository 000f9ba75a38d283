"""What first programs try works, or the error says what to type."""

import gzip
import os

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
