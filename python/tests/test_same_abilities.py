"""What Rust, C and the program can do with archives and whole reads, Python can, too."""

import io
import os
import tarfile
import threading

import numpy as np
import pytest

import npymap


@pytest.fixture
def npz(tmp_path):
    npymap.savez(tmp_path / "a.npz", x=np.arange(5), y=np.arange(12.0).reshape(3, 4))
    return tmp_path / "a.npz"


def test_members_are_added_and_replaced(npz):
    before = npymap.Npz(npz)["x"]
    added = {
        "x": np.arange(3, dtype=">i2"),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "strided": np.arange(10)[::3],
        "scalar": 2.5,
        "text": ["a", "bc"],
        "empty": np.zeros((0, 3)),
        "struct": np.array([(1, 2.0)], "i1,f8"),
    }
    npymap.update_npz(npz, added)
    with np.load(npz) as archive:
        assert archive.files == ["x", "y", *list(added)[1:]]
        for name, array in added.items():
            assert np.array_equal(archive[name], array) and archive[name].dtype == np.asarray(array).dtype
        assert archive["fortran"].flags.f_contiguous and archive["y"][1, 1] == 5
    # The old archive was replaced, not overwritten.
    assert before.tolist() == [0, 1, 2, 3, 4]


def test_members_are_removed_and_renamed(npz):
    npymap.update_npz(npz, {"x": [7]}, remove="x", rename={"y": "z"})
    assert dict(npymap.load(npz))["z"].shape == (3, 4) and npymap.load(npz)["x"] == [7]
    for wrong in ({"remove": ["none"]}, {"rename": {"none": "a"}}):
        with pytest.raises(KeyError, match="none"):
            npymap.update_npz(npz, {"new": [1]}, **wrong)
    with pytest.raises(ValueError, match="z"):
        npymap.update_npz(npz, rename={"x": "z"})
    assert sorted(npymap.load(npz).files) == ["x", "z"]


def test_new_members_are_compressed_on_request(npz, tmp_path):
    zeros = np.zeros(10_000)
    npymap.update_npz(npz, {"a": zeros})
    stored = os.path.getsize(npz)
    npymap.update_npz(npz, {"a": zeros}, compressed=True)
    assert os.path.getsize(npz) < stored - 70_000
    # As the one that it replaces.
    npymap.update_npz(npz, {"a": zeros + 1})
    assert type(npymap.Npz(npz)["a"]) is np.ndarray and npymap.load(npz)["a"][9] == 1
    npymap.update_npz(npz, {"a": zeros}, compressed=False)
    assert isinstance(npymap.Npz(npz)["a"], npymap.memmap)
    npymap.update_npz(tmp_path / "new.npz", {"a": [1]})
    assert npymap.load(tmp_path / "new.npz")["a"] == 1


def test_arrays_that_archives_do_not_hold_change_nothing(npz):
    before = npz.read_bytes()
    for array, kind, match in ((np.array([None]), TypeError, "use savez"),
                               (np.ma.masked_array([1], [True]), NotImplementedError, "mask"),
                               ("a\0", ValueError, "NUL")):
        with pytest.raises(kind, match=match):
            npymap.update_npz(npz, {"new": array})
    assert npz.read_bytes() == before


def test_updates_of_several_threads_keep_all_members(npz):
    threads = [threading.Thread(target=npymap.update_npz, args=(npz, {f"t{number}": [number]}))
               for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(npymap.load(npz).files) == 10


def add(archive, name, data):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def bytes_of(save, *arrays, **named):
    stream = io.BytesIO()
    save(stream, *arrays, **named)
    return stream.getvalue()


@pytest.fixture
def tar(tmp_path):
    arrays = {"x": np.arange(5), "y[0]": np.arange(12.0).reshape(3, 4)}
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        add(archive, "first.npy", bytes_of(np.save, np.arange(3)))
        add(archive, "s/000.npz", bytes_of(np.savez, **arrays))
        add(archive, "001.npz", bytes_of(np.savez_compressed, **arrays))
        add(archive, "cut.npz", bytes_of(np.savez, **arrays)[:-30])
        add(archive, "objects.npy", bytes_of(np.save, np.array([None, {"a": 1}])))
    return tmp_path / "a.tar"


def test_archives_in_tar_files_need_no_unpacking(tar):
    for mode in ("r", "c", None):
        members = npymap.Tar(tar, mode)
        x = members["s/000.npz[x]"]
        assert x.tolist() == [0, 1, 2, 3, 4] and isinstance(x, npymap.memmap) == (mode is not None)
        assert members["001.npz[y[0]]"][1].tolist() == [4, 5, 6, 7]
        assert "s/000.npz[x]" in members and "s/000.npz[z]" not in members
        assert "s/000.npz[x]" not in list(members)
        with pytest.raises(KeyError, match="the members are `x`"):
            members["s/000.npz[z]"]
        with pytest.raises(KeyError):
            members["none.npz[x]"]
        with pytest.raises(npymap.FormatError, match="cut.npz"):
            members["cut.npz[x]"]
        assert members["s/000.npz"].startswith(b"PK")
    mapped = npymap.open(tar, member="s/000.npz[y[0]]")
    assert isinstance(mapped, npymap.memmap) and mapped[2].tolist() == [8, 9, 10, 11]
    assert npymap.ArrayFile(tar, member="s/000.npz[y[0]]")[1:, 2].tolist() == [6, 10]
    with pytest.raises(npymap.FormatError, match="compressed"):
        npymap.ArrayFile(tar, member="001.npz[x]")
    with pytest.raises(ValueError, match="read-write"):
        npymap.Tar(tar, "r+")["s/000.npz[x]"]


def test_pickles_in_tar_files_are_loaded_on_request(tar):
    assert npymap.Tar(tar, allow_pickle=True)["objects.npy"].tolist() == [None, {"a": 1}]
    with pytest.raises(npymap.FormatError, match="Python objects"):
        npymap.Tar(tar)["objects.npy"]


@pytest.mark.parametrize("order", "CF")
def test_whole_reads_have_an_output(tmp_path, order):
    array = np.asarray(np.arange(12, dtype=">f4").reshape(3, 4), order=order)
    npymap.save(tmp_path / "a.npy", array)
    npymap.savez(tmp_path / "s.npz", x=array)
    npymap.savez_compressed(tmp_path / "d.npz", x=array)
    out = np.empty((3, 4), ">f4", order)
    for read in (
        npymap.ArrayFile(tmp_path / "a.npy").read,
        npymap.ArrayFile(tmp_path / "a.npy", "r").read,
        npymap.ArrayFile(tmp_path / "s.npz", member="x").read,
        lambda out: npymap.Npz(tmp_path / "s.npz").read("x", out),
        lambda out: npymap.Npz(tmp_path / "d.npz").read("x", out=out),
        lambda out: npymap.load(tmp_path / "a.npy", out=out),
    ):
        out[...] = 0
        assert read(out=out) is out and np.array_equal(out, array)
        for wrong in (np.empty((3, 4), "<f4", order), np.empty(3, ">f4"), np.empty((6, 8), ">f4")[::2, ::2]):
            with pytest.raises(ValueError, match="out"):
                read(out=wrong)
        with pytest.raises(TypeError, match="out is a list"):
            read(out=[])
    part = np.empty((2, 4), ">f4", order)
    assert npymap.ArrayFile(tmp_path / "a.npy").read(1, out=part) is part and np.array_equal(part, array[1:])
    scalar = np.empty((), "i8")
    npymap.save(tmp_path / "b.npy", np.int64(7))
    assert npymap.ArrayFile(tmp_path / "b.npy").read(out=scalar) is scalar and scalar == 7
    assert np.array_equal(npymap.Npz(tmp_path / "s.npz").read("x"), array)


def test_members_that_are_read_are_checked(tmp_path):
    npymap.savez(tmp_path / "a.npz", x=np.arange(12.0))
    data = bytearray((tmp_path / "a.npz").read_bytes())
    data[data.index(np.arange(12.0).tobytes()) + 3] ^= 1
    (tmp_path / "a.npz").write_bytes(data)
    archive = npymap.Npz(tmp_path / "a.npz")
    with pytest.raises(npymap.FormatError, match="CRC-32"):
        archive.read("x")
    with pytest.raises(KeyError):
        archive.read("z")


def test_integers_of_24_bits_are_widened(tmp_path):
    """The way that the documentation shows."""
    samples = np.array([0, 1, -1, 8_388_607, -8_388_608, 70_000])
    (tmp_path / "a.bin").write_bytes(b"".join(int(n).to_bytes(3, "little", signed=True) for n in samples))
    packed = npymap.memmap(tmp_path / "a.bin", "u1", "r").reshape(-1, 3)
    wide = np.zeros((len(packed), 4), "u1")
    wide[:, 1:] = packed
    assert (wide.view("<i4")[:, 0] >> 8).tolist() == samples.tolist()
