"""Files with bytes after their elements, such as rows of a writer that died."""

import os

import numpy as np
import pytest

import npymap

# Each is called with the path of a file that it replaces, and options.
WRITERS = {
    "save": lambda path, **options: npymap.save(path, np.zeros(2), **options),
    "save in steps": lambda path, **options: npymap.save(path, np.zeros((2, 3)).T[::2], **options),
    "save of objects": lambda path, **options: npymap.save(path, np.array([None]), **options),
    "create": lambda path, **options: npymap.create(path, "f8", 2, overwrite=True, **options),
    "open_memmap": lambda path, **options: npymap.open_memmap(path, "w+", "f8", (2,), **options),
    "memmap": lambda path, **options: npymap.memmap(path, "f8", "w+", 0, (2,), **options),
    "Appender": lambda path, **options: npymap.Appender(
        path, dtype="f8", overwrite=True, **options).close(),
    "RaggedAppender": lambda path, **options: npymap.RaggedAppender(
        path, str(path) + ".offsets", dtype="f8", overwrite=True, **options).close(),
}


def follow(path, data):
    with open(path, "ab") as file:
        file.write(data)
    return path.read_bytes()


@pytest.mark.parametrize("writer", WRITERS)
def test_files_with_more_rows_are_not_replaced(npy, writer):
    before = follow(npy, bytes(70))
    text = r"would drop 70 bytes after its elements, 2 more rows\. npymap\.recover keeps rows"
    with pytest.raises(npymap.FormatError, match=text) as error:
        WRITERS[writer](npy)
    assert error.value.kind == "Corrupt"
    assert error.value.filename == str(npy)
    assert npy.read_bytes() == before
    assert os.listdir(npy.parent) == [npy.name]
    WRITERS[writer](npy, discard_trailing=True)
    assert npy.read_bytes() != before
    WRITERS[writer](npy)


def test_recovered_files_are_replaced(npy):
    follow(npy, bytes(32))
    npymap.recover(npy)
    npymap.save(npy, npymap.open(npy)[1:])
    assert npymap.load(npy).shape == (3, 4)


def test_a_second_array_is_not_dropped(npy):
    before = follow(npy, npy.read_bytes())
    with pytest.raises(npymap.FormatError, match="224 bytes after its elements, another array"):
        npymap.save(npy, [1])
    assert npy.read_bytes() == before


@pytest.mark.parametrize("save", [npymap.savez, npymap.savez_compressed])
@pytest.mark.parametrize("value", [1, None])
def test_archives_do_not_replace_arrays_with_more_rows(npy, save, value):
    path = npy.rename(npy.parent / "a.npz")
    before = follow(path, bytes(1))
    with pytest.raises(npymap.FormatError, match="would drop 1 byte after its elements"):
        save(path, np.array([value]))
    assert path.read_bytes() == before


def test_other_files_are_replaced(tmp_path):
    path = tmp_path / "a.npy"
    for data in [b"", b"text", b"\x93NUMPY\x01\x00\x05\x00{'des", bytes(1000)]:
        path.write_bytes(data)
        npymap.save(path, [1])
        path.write_bytes(data)
        npymap.memmap(path, "u1", "w+", 0, (2,))
        assert path.stat().st_size == 2
