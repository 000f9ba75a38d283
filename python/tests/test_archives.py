"""Archives of arrays."""

import io
import sys
import tarfile
import zipfile

import numpy as np
import pytest
from arrays import DTYPES, assert_same, sample

import npymap


def npy_bytes(array):
    """Return what `numpy.save` writes."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def ten_bytes(array, info):
    """Return what webdataset writes for an array of `i8`."""
    numbers = (number.to_bytes(8, "little") for number in (array.ndim, *array.shape))
    words = [b"i8", info.encode(), *numbers]
    chunks = b"".join(word.ljust(8, b"\0") for word in words), array.tobytes()
    return b"".join(b"~TenBin~" + len(chunk).to_bytes(8, "little") + chunk + bytes(-len(chunk) % 64)
                    for chunk in chunks)


@pytest.fixture
def npz(tmp_path):
    path = tmp_path / "a.npz"
    npymap.savez(path, np.arange(5), x=np.arange(12.0).reshape(3, 4), name=np.array("text"))
    return path


def test_archives_are_those_that_numpy_reads(tmp_path):
    arrays = {f"a{number}": sample(dtype, (3, 4), "CF"[number % 2])
              for number, dtype in enumerate(DTYPES)}
    for save in (npymap.savez, npymap.savez_compressed):
        save(tmp_path / "a", **arrays)
        for load in (np.load, npymap.load):
            with load(tmp_path / "a.npz") as archive:
                assert archive.files == list(arrays)
                for name, expected in arrays.items():
                    assert_same(archive[name], expected)
        for mode in ("r", "c"):
            with npymap.load(tmp_path / "a.npz", mode) as archive:
                for name, expected in arrays.items():
                    assert_same(archive[name], expected)


def test_stored_members_are_mapped(npz):
    archive = npymap.Npz(npz, "r")
    array = archive["x"]
    archive.close()
    assert isinstance(array, npymap.memmap)
    assert array.member == "x"
    assert array.filename == str(npz)
    assert array.offset % 64 == 0
    assert not array.flags.writeable
    private = npymap.Npz(npz, "c")["x"]
    private[0, 0] = 5
    assert npymap.Npz(npz)["x"][0, 0] == 0
    assert npymap.open(npz, member="x")[1, 1] == 5
    assert type(npymap.Npz(npz, None)["x"]) is type(npymap.load(npz)["x"]) is np.ndarray
    assert npymap.Npz(npz, None)["x"].flags.writeable
    with pytest.raises(ValueError, match="'r' or 'c'"):
        npymap.load(npz, "r+")
    with pytest.raises(ValueError, match="shape must be given"):
        npymap.load(npz, "w+")


def test_npz_is_numpys_npz_file(npz):
    with npymap.load(npz) as archive:
        assert isinstance(archive, np.lib.npyio.NpzFile)
        assert list(archive) == ["x", "name", "arr_0"]
        assert len(archive) == 3
        assert "x" in archive and "x.npy" in archive and "y" not in archive
        assert archive.f.arr_0.tolist() == [0, 1, 2, 3, 4]
        assert dir(archive.f) == sorted(archive.files)
        assert archive["x.npy"].shape == (3, 4)
        assert archive["name"] == "text"
        assert archive.get("y") is None
        assert set(archive.get_many(["x", "name"])) == {"x", "name"}
        assert repr(archive).startswith("NpzFile")
        archive.verify()
        with pytest.raises(KeyError, match="y is not a file"):
            archive["y"]
        zipped = archive.zip
        assert zipped.namelist()[0] == "x.npy"
        handle = archive.fid
    assert handle.closed and zipped.fp is None
    with pytest.raises(ValueError, match="closed"):
        archive["x"]


def test_other_members_are_bytes(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata", b"Name: Test")
        with archive.open("plain", "w") as member:
            np.save(member, np.arange(3))
    with npymap.load(path) as archive:
        assert archive["metadata"] == b"Name: Test"
        assert archive["plain"].tolist() == [0, 1, 2]


def test_damaged_members_are_errors(npz):
    data = bytearray(npz.read_bytes())
    data[data.index(np.arange(12.0).tobytes()) + 3] ^= 1
    npz.write_bytes(data)
    with npymap.Npz(npz, None) as archive:
        with pytest.raises(npymap.FormatError, match="CRC-32") as caught:
            archive["x"]
        assert (caught.value.member, caught.value.kind) == ("x", "Corrupt")
        assert caught.value.filename == str(npz)
        assert archive["name"] == "text"
        with pytest.raises(npymap.FormatError):
            archive.verify()


def test_inflating_has_a_limit(tmp_path):
    path = tmp_path / "a.npz"
    npymap.savez_compressed(path, a=np.zeros(1 << 20))
    with npymap.Npz(path, max_inflated=1 << 20) as archive:
        with pytest.raises(npymap.FormatError, match="max_inflated") as caught:
            archive["a"]
        assert caught.value.kind == "LimitExceeded"


def test_only_limits_that_can_be_raised_are_named(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        entry = tarfile.TarInfo("a.npy")
        entry.pax_headers = {"comment": "x" * (1 << 20)}
        tar.addfile(entry)
    with pytest.raises(npymap.FormatError) as caught:
        npymap.Tar(path)
    assert caught.value.kind == "LimitExceeded"
    assert str(caught.value).endswith("at most 1 MiB is supported for names and pax headers")


def test_names_must_not_clash(tmp_path):
    with pytest.raises(ValueError, match="arr_0"):
        npymap.savez(tmp_path / "a", 1, arr_0=2)
    with pytest.raises(FileNotFoundError):
        npymap.savez(tmp_path / "b" / "a", 1)


def test_tar_members_are_mapped(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for name, array in (("x.npy", np.arange(3)), ("y.npy", np.arange(8.0))):
            stream = io.BytesIO()
            np.save(stream, array)
            entry = tarfile.TarInfo(name)
            entry.size = stream.tell()
            stream.seek(0)
            tar.addfile(entry, stream)
    for mode in (None, "r", "c", "r+"):
        tar = npymap.Tar(path, mode)
        assert list(tar) == tar.files == ["x.npy", "y.npy"]
        assert tar["y.npy"].tolist() == list(range(8))
        assert isinstance(tar["x.npy"], np.memmap) == (mode is not None)
        with pytest.raises(KeyError):
            tar["z"]
    npymap.open(path, "r+", member="x.npy")[0] = 7
    assert npymap.open(path, member="x.npy")[0] == 7


def test_ten_files_are_sequences(tmp_path):
    webdataset = pytest.importorskip("webdataset.tenbin")
    path = tmp_path / "a.ten"
    arrays = [np.arange(3, dtype="f4"), np.arange(6, dtype="i8").reshape(2, 3)]
    webdataset.save(str(path), *arrays, infos=["x", "y"])
    for mode in (None, "r", "c", "r+"):
        ten = npymap.Ten(path, mode)
        assert (len(ten), ten.infos) == (2, ["x", "y"])
        assert_same(ten[1], arrays[1])
        assert_same(ten["x"], arrays[0])
        assert_same(ten[-1], arrays[1])
        assert len(ten[:]) == 2
        with pytest.raises(IndexError):
            ten[2]
        with pytest.raises(KeyError):
            ten["z"]
        # Like their names, not like arrays, which are equal element by element.
        assert "y" in ten and "z" not in ten and 1 not in ten
        assert (ten.index("y"), ten.index("x", -2), ten.count("x"), ten.count("z")) == (1, 0, 1, 0)
        with pytest.raises(ValueError):
            ten.index("x", 1)
        assert arrays[1] not in ten
        for method in (ten.index, ten.count):
            with pytest.raises(TypeError, match="ndarray, expected the info"):
                method(arrays[1])
    assert_same(npymap.open(path, member=1), arrays[1])


def test_names_are_found_in_tar_files_without_reading_members(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name in ("a.npy", "readme.txt"):
            np.save(tmp_path / "a.npy", np.zeros(3))
            archive.add(tmp_path / "a.npy" if name == "a.npy" else __file__, name)
    tar = npymap.Tar(tmp_path / "a.tar")
    assert [name in tar for name in ("a.npy", "readme.txt", "b.npy", 5, None)] == [
        True, True, False, False, False,
    ]
    assert tar["readme.txt"].startswith(b'"""Archives of arrays."""')


MEMBERS = {
    "a.npy": npy_bytes(np.arange(5)),
    "a.json": b'{"label": 3}',
    "a.cls": b"3",
    "empty.txt": b"",
    "long.bin": bytes(range(256)) * 9,
    "b.npy": npy_bytes(np.zeros((0, 2))),
}


@pytest.fixture
def shard(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, data in MEMBERS.items():
            add(archive, name, data)
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
    return tmp_path / "a.tar"


def add(archive, name, data):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


@pytest.mark.parametrize("mode", [None, "r", "c", "r+"])
def test_other_members_of_tar_files_are_bytes(shard, mode):
    tar = npymap.Tar(shard, mode)
    assert dict(tar.items()).keys() == MEMBERS.keys()
    for (name, data), value in zip(MEMBERS.items(), tar.values(), strict=True):
        if name.endswith(".npy"):
            assert_same(value, np.load(io.BytesIO(data)))
        else:
            assert value == tar[name] == tar.get(name) == data
    with pytest.raises(KeyError):
        tar["folder"]


def test_damaged_arrays_of_tar_files_are_errors(tmp_path):
    whole = npy_bytes(np.arange(5))
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        add(archive, "short.npy", whole[:-1])
        add(archive, "header.npy", whole[:9])
        add(archive, "objects.npy", npy_bytes(np.array([None])))
        add(archive, "a.cls", b"1")
        add(archive, "a.cls", b"2")
        add(archive, "last.txt", b"x" * 100)
    tar = npymap.Tar(tmp_path / "a.tar")
    kinds = {"short.npy": "Truncated", "header.npy": "Truncated", "objects.npy": "Unsupported"}
    for name, kind in kinds.items():
        with pytest.raises(npymap.FormatError) as caught:
            tar[name]
        assert (caught.value.kind, caught.value.member) == (kind, name)
    # As when `tar` unpacks them.
    assert tar["a.cls"] == b"2"


def test_archives_are_used_after_the_directory_changed(shard, npz, monkeypatch):
    monkeypatch.chdir(shard.parent)
    tar, archive = npymap.Tar("a.tar"), npymap.Npz("a.npz")
    monkeypatch.chdir("/")
    assert tar["a.cls"] == b"3" and tar["a.npy"].tolist() == list(range(5))
    assert archive.zip.namelist()[0] == "x.npy" and archive.fid.read(2) == b"PK"
    assert archive["x"].shape == (3, 4)
    assert repr(archive) == "NpzFile 'a.npz' with keys: x, name, arr_0"
    archive.close()


def test_tar_files_are_shown_and_closed(shard):
    with npymap.Tar(shard, "r") as tar:
        array = tar["a.npy"]
        assert repr(tar) == (f"<npymap.Tar '{shard}' with keys: "
                             "a.npy, a.json, a.cls, empty.txt, long.bin...>")
    assert array.tolist() == list(range(5))
    for name in ("a.npy", "a.json"):
        with pytest.raises(ValueError, match="the archive is closed"):
            tar[name]
    tar.close()


@pytest.mark.parametrize("mode", [None, "r"])
def test_ten_files_are_shown_and_closed(tmp_path, mode):
    (tmp_path / "a.ten").write_bytes(ten_bytes(np.array([1, 2, 3]), "x"))
    with npymap.Ten(tmp_path / "a.ten", mode) as ten:
        array = ten[np.int64(0)]
        assert ten["x"].tolist() == array.tolist() == [1, 2, 3]
        assert repr(ten) == f"<npymap.Ten '{tmp_path / 'a.ten'}' with infos: x>"
    assert array.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="the archive is closed"):
        ten[0]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a sparse file")
def test_members_of_tar_files_larger_than_memory_are_errors(tmp_path):
    entry = tarfile.TarInfo("a.bin")
    entry.size = 1 << 43
    with open(tmp_path / "a.tar", "wb") as file:
        file.write(entry.tobuf(tarfile.GNU_FORMAT))
        file.truncate(entry.size + 2048)
    with pytest.raises(MemoryError):
        npymap.Tar(tmp_path / "a.tar")["a.bin"]
