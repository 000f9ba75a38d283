"""Rows of different lengths."""

import pickle

import numpy as np
import pytest

import npymap


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "data.npy", tmp_path / "offsets.npy"


def row(n, dtype="u2"):
    return np.full(n % 7, n, dtype)


def test_rows_are_packed_and_padded(paths):
    with npymap.RaggedAppender(*paths, dtype=">u2") as to:
        for n in range(100):
            to.append(row(n))
        assert len(to) == 100 and to.dtype == np.dtype(">u2")
    ragged = npymap.Ragged(*paths)
    assert len(ragged) == 100 and ragged.dtype == np.dtype(">u2")
    for n in [0, 6, 99, -1]:
        assert np.array_equal(ragged[n], row(n % 100))
    indices = [8, 0, -2, 8]
    packed, offsets = ragged.take_packed(indices)
    assert packed.tolist() == [8] + [98] * 0 + [8] and offsets.tolist() == [0, 1, 1, 1, 2]
    padded, lengths = ragged.take_padded(range(100), 4, fill=-100, dtype="i8")
    assert padded.dtype == np.int64 and lengths.tolist() == [n % 7 for n in range(100)]
    for n in range(100):
        expected = [*row(n)[:4], *[-100] * max(0, 4 - n % 7)]
        assert padded[n].tolist() == expected
    out = np.zeros((2, 3), ">u2")
    assert ragged.take_padded([5, 1], 3, 9, out)[0] is out
    assert out.tolist() == [[5, 5, 5], [1, 9, 9]]
    assert ragged.take_padded([], 3)[0].shape == (0, 3)
    for index in [100, -101]:
        with pytest.raises(IndexError):
            ragged[index]
    with pytest.raises(TypeError, match="cannot cast"):
        ragged.take_padded([1], 3, dtype="u1", casting="safe")


def test_items_have_axes_and_any_dtype(paths):
    dtype = np.dtype([("a", "<M8[s]"), ("b", "|S3")])
    rows = [np.zeros((n, 2), dtype) for n in [2, 0, 3]]
    rows[2]["b"] = b"xy"
    with npymap.RaggedAppender(*paths, dtype=dtype, row=2) as to:
        for own in rows:
            to.append(own)
    ragged = pickle.loads(pickle.dumps(npymap.Ragged(*paths)))
    for n, own in enumerate(rows):
        assert ragged[n].tobytes() == own.tobytes() and ragged[n].shape == own.shape
    padded, lengths = ragged.take_padded([2, 1], 4)
    assert padded.shape == (2, 4, 2) and lengths.tolist() == [3, 0]
    assert padded[0, :3].tobytes() == rows[2].tobytes()


def test_files_grow(paths):
    with npymap.RaggedAppender(*paths, dtype="f8") as to:
        to.append([1, 2])
        with pytest.raises(FileExistsError):
            npymap.RaggedAppender(*paths, dtype="f8")
    with npymap.RaggedAppender(*paths) as to:
        to.append([])
        to.append([3.5], casting="no")
        to.flush()
        assert len(npymap.Ragged(*paths)) == 3
        for wrong in [1.0, [[1.0]]]:
            with pytest.raises(ValueError, match="a row of shape"):
                to.append(wrong)
        with pytest.raises(TypeError):
            to.append([1j])
        to.sync()
    assert [npymap.Ragged(*paths)[n].tolist() for n in range(3)] == [[1, 2], [], [3.5]]
    with pytest.raises(ValueError, match="closed"):
        to.append([1.0])


def test_offsets_that_do_not_fit_are_errors(paths):
    np.save(paths[0], np.zeros(4))
    np.save(paths[1], np.array([0, 5, 2]))
    ragged = npymap.Ragged(*paths)
    for n in range(2):
        with pytest.raises(ValueError, match="increasing offsets"):
            ragged[n]
    np.save(paths[1], np.zeros(3))
    with pytest.raises(ValueError, match="one axis of integers"):
        npymap.Ragged(*paths)


def test_no_rows_are_packed_and_padded(paths):
    with npymap.RaggedAppender(*paths, dtype="u2") as to:
        to.append([1, 2])
    ragged = npymap.Ragged(*paths)
    packed, offsets = ragged.take_packed([])
    assert packed.shape == (0,) and packed.dtype == "u2" and offsets.tolist() == [0]
    padded, lengths = ragged.take_padded([], 2)
    assert padded.shape == (0, 2) and lengths.shape == (0,)


def test_arrays_without_rows_are_type_errors(paths):
    with npymap.RaggedAppender(*paths, dtype="u2") as to:
        to.append([1, 2])
    with pytest.raises(TypeError, match="copy-on-write, got memmap"):
        npymap.Ragged(npymap.open(paths[0], "c"), paths[1])
