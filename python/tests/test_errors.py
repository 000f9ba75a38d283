"""Errors as Python's exceptions."""

import errno
import os
import pickle

import numpy as np
import pytest

import npymap


def opened_by_all(path):
    return [
        lambda: npymap.open(path),
        lambda: npymap.load(path),
        lambda: npymap.load(path, "r"),
        lambda: npymap.open_memmap(path),
        lambda: npymap.header(path),
        lambda: npymap.recover(path),
    ]


@pytest.mark.parametrize("call", range(6))
def test_missing_files_and_directories_are_os_errors(tmp_path, call):
    with pytest.raises(FileNotFoundError) as caught:
        opened_by_all(tmp_path / "none.npy")[call]()
    assert caught.value.filename == str(tmp_path / "none.npy")
    assert caught.value.strerror == "No such file or directory"
    with pytest.raises(IsADirectoryError):
        opened_by_all(tmp_path)[call]()


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_permissions_are_os_errors(npy):
    npy.chmod(0)
    with pytest.raises(PermissionError):
        npymap.open(npy)


def test_format_errors_have_the_facts(npy):
    data = npy.read_bytes()
    npy.write_bytes(data[:-1])
    for call in opened_by_all(npy)[:5]:
        with pytest.raises(npymap.FormatError, match="end at byte 224") as caught:
            call()
        error = caught.value
        assert isinstance(error, ValueError)
        assert (error.filename, error.member, error.kind) == (str(npy), None, "Truncated")
        assert str(error).startswith(f"{npy}: the elements end")
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.kind) == (str(error), "Truncated")


def test_messages_name_no_functions_of_rust(tmp_path, npy):
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04" + bytes(40))
    (tmp_path / "text").write_bytes(b"hello, world")
    npymap.savez(tmp_path / "a.npz", x=1)
    npymap.savez(tmp_path / "b.npz", x=1, y=2)
    calls = [
        lambda: npymap.open(tmp_path / "a.zip"),
        lambda: npymap.open(tmp_path / "text"),
        lambda: npymap.open(tmp_path / "a.npz", "r+", member="x"),
        lambda: npymap.open(tmp_path / "a.npz", member="z"),
        lambda: npymap.open(npy, member="x"),
        lambda: npymap.create(npy, "f8", 3),
        lambda: npymap.create(tmp_path / "n", "f8", -3),
        lambda: npymap.open_memmap(tmp_path / "n", "w+", "f8", (1 << 62, 1 << 62)),
    ]
    for call in calls:
        with pytest.raises((ValueError, OSError, KeyError, OverflowError)) as caught:
            call()
        for word in ("`", "Npz`", "unsafe", "::", "_mut"):
            assert word not in str(caught.value).replace("`x`", "").replace("`z`", ""), caught.value


def test_objects_cannot_be_mapped(tmp_path):
    np.save(tmp_path / "o.npy", np.array([None]))
    with pytest.raises(ValueError, match="Python objects"):
        npymap.open(tmp_path / "o.npy")
    with pytest.raises(ValueError, match="Python objects"):
        npymap.load(tmp_path / "o.npy", "r", allow_pickle=True)


def test_paths_that_no_system_has_are_numpys_errors(tmp_path):
    readers = [npymap.open, npymap.load, npymap.header, npymap.ArrayFile, npymap.Npz, npymap.Appender]
    writers = [lambda path: npymap.create(path, "u1", 1), lambda path: npymap.save(path, [1])]
    for call in readers + writers:
        with pytest.raises(ValueError):
            call(f"{tmp_path}/a\0b")
    for call in readers + writers[:1]:
        with pytest.raises(FileNotFoundError):
            call("")


def test_missing_directories_are_named_without_temporary_files(tmp_path):
    path = str(tmp_path / "missing" / "a.npy")
    large = np.zeros(1 << 20)
    for call in (
        lambda: npymap.create(path, "u1", 1),
        lambda: npymap.open_memmap(path, "w+", "u1", (1,)),
        lambda: npymap.save(path, [1]),
        lambda: npymap.save(path, large),
        lambda: npymap.savez(path, [1]),
        lambda: npymap.Appender(path, dtype="u1"),
    ):
        with pytest.raises(FileNotFoundError) as caught:
            call()
        assert caught.value.strerror == "No such file or directory"
        assert caught.value.filename.startswith(path)


def test_errors_of_creating_files_have_codes(tmp_path):
    resource = pytest.importorskip("resource")
    path, before = str(tmp_path / "a.npy"), resource.getrlimit(resource.RLIMIT_NOFILE)
    npymap.save(path, [1])
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    for call in (
        lambda: npymap.create(path, "u1", 1, overwrite=True),
        lambda: npymap.save(path, [1]),
        lambda: npymap.savez(tmp_path / "a.npz", [1]),
    ):
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
        try:
            with pytest.raises(OSError) as caught:
                call()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        assert caught.value.errno == errno.EMFILE and "npymap-" not in str(caught.value)


def test_large_headers_of_members_are_read_by_npz(tmp_path):
    array = np.zeros(2, [(f"field {number:04}", "f4") for number in range(1000)])
    np.savez(tmp_path / "a.npz", x=array)
    for call in (npymap.open, npymap.ArrayFile):
        with pytest.raises(npymap.FormatError, match="`max_header_size` of `Npz` allows it"):
            call(tmp_path / "a.npz", member="x")
    assert npymap.Npz(tmp_path / "a.npz", max_header_size=100_000)["x"].dtype == array.dtype


def test_what_cannot_be_mapped_names_what_reads_it(tmp_path):
    resource = pytest.importorskip("resource")
    path, before = tmp_path / "a.npy", resource.getrlimit(resource.RLIMIT_AS)
    with open(path, "wb") as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": (1 << 40,)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + (1 << 40))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 39, before[1]))
    try:
        with pytest.raises(OSError, match=r"npymap\.ArrayFile\(path\) reads") as caught:
            npymap.open(path)
        assert caught.value.errno == errno.ENOMEM and caught.value.filename == str(path)
        assert npymap.ArrayFile(path)[-1] == 0
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
