"""Rows of different lengths."""

import os
import pickle
import threading

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


def test_rows_are_padded_into_their_own_file(paths):
    with npymap.RaggedAppender(*paths, dtype="f8") as to:
        for row in ([1, 2, 3], [4, 5], [6]):
            to.append(row)
    ragged = npymap.Ragged(*paths)
    out = npymap.open(paths[0], "r+")[:6].reshape(2, 3)
    found, lengths = ragged.take_padded([2, 0], 3, out=out)
    assert found is out and out.tolist() == [[6, 0, 0], [1, 2, 3]] and lengths.tolist() == [1, 3]


def test_replaced_files_do_not_pickle(paths):
    with npymap.RaggedAppender(*paths, dtype="f8") as to:
        to.append([1, 2])
    ragged = npymap.Ragged(*paths)
    npymap.save(paths[0], [1.0, 2.0])
    with pytest.raises(npymap.FormatError, match="another file"):
        pickle.dumps(ragged)
    data = pickle.dumps(npymap.Ragged(*paths))
    npymap.save(paths[0], [1.0, 3.0])
    with pytest.raises(npymap.FormatError, match="was replaced since"):
        pickle.loads(data)


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


@pytest.mark.parametrize("dtype, filled", [
    ("u1", 0), ("f4", 0), ("?", False), ("c8", 0), ("S3", b""), ("U3", ""),
    ("M8[s]", np.datetime64(0, "s")), ("m8[s]", np.timedelta64(0, "s")),
    ([("a", "f4"), ("b", "U2")], (0, "")),
])
def test_padding_is_zeros_unless_given(paths, dtype, filled):
    with npymap.RaggedAppender(*paths, dtype=dtype) as to:
        to.append(np.ones(1, dtype))
    padded, _ = npymap.Ragged(*paths).take_padded([0], 3)
    assert padded[0, :1].tobytes() == np.ones(1, dtype).tobytes()
    assert padded[0, 1:].tobytes() == np.zeros(2, dtype).tobytes()
    assert padded[0, 2] == np.array(filled, dtype)


@pytest.mark.parametrize("dtype, fill, expected", [
    ("u1", 255, 255), ("u1", np.int64(7), 7), ("i8", True, 1), ("f4", 1.5, 1.5), ("f4", -2, -2),
    ("f4", np.float64(0.5), 0.5), ("f8", np.nan, np.nan), ("c8", 1j, 1j), ("?", True, True),
    ("?", 0, False), ("i4", np.array(5), 5), ("S3", "xy", b"xy"), ("S3", b"xy", b"xy"),
    ("U3", "x", "x"), ("U3", 0, "0"), ("M8[s]", "NaT", np.datetime64("NaT", "s")),
    ("M8[s]", 5, np.datetime64(5, "s")),
    ([("a", "f4"), ("b", "U2")], (1.5, "x"), (1.5, "x")),
    ([("a", [("x", "i2", (2,)), ("y", "i1")]), ("b", "u1")], (((1, 2), -3), 4), (((1, 2), -3), 4)),
])
def test_padding_is_of_any_dtype(paths, dtype, fill, expected):
    with npymap.RaggedAppender(*paths, dtype=dtype) as to:
        to.append([])
    padded, lengths = npymap.Ragged(*paths).take_padded([0, 0], 2, fill)
    assert padded.tobytes() == np.full((2, 2), np.array(expected, dtype)).tobytes()
    assert lengths.tolist() == [0, 0]


@pytest.mark.parametrize("dtype, fill, error", [
    ("i8", 1.7, TypeError), ("u2", np.float32(2), TypeError), ("?", 0.5, TypeError),
    ("f8", 1j, TypeError), ("i8", "5", TypeError), ("f4", np.array(1j), TypeError),
    ("?", 7, OverflowError), ("f2", 70000, OverflowError), ("f8", 10**400, OverflowError),
    ("u1", 256, OverflowError), ("u1", -1, OverflowError), ("u1", np.int64(-1), OverflowError),
    ("M8[s]", "soon", ValueError), ("f4", [1, 2], ValueError),
    ("S3", b"a\0", ValueError), ("U3", "a\0", ValueError),
    ("S3", b"long", ValueError), ("U1", 10, ValueError), ("U2", "\u20ac\u20ac\u20ac", ValueError),
    ([("a", "i4"), ("b", "S1")], (1, "xy"), ValueError),
    ([("a", "i4"), ("b", "u1")], (1.7, 0), TypeError),
    ([("a", "i4"), ("b", "u1")], (1, 256), OverflowError),
    ([("a", "i4"), ("b", "u1")], (1,), ValueError),
])
def test_padding_that_does_not_fit_is_an_error(paths, dtype, fill, error):
    with npymap.RaggedAppender(*paths, dtype=dtype) as to:
        to.append([])
    with pytest.raises(error):
        npymap.Ragged(*paths).take_padded([0], 1, fill)
    with pytest.raises(TypeError, match="float64"):
        npymap.Ragged(*paths).take_padded([0], 1, 1.5, dtype="i4", casting="unsafe")


def test_rows_are_iterated(paths):
    with npymap.RaggedAppender(*paths, dtype="u2") as to:
        for n in range(9):
            to.append(row(n))
    ragged = npymap.Ragged(*paths)
    assert [found.tolist() for found in ragged] == [row(n).tolist() for n in range(9)]


def test_arrays_without_axes_have_no_rows(paths, tmp_path):
    with npymap.RaggedAppender(*paths, dtype="u2") as to:
        to.append([1, 2])
    np.save(tmp_path / "0.npy", 5)
    for zero in (tmp_path / "0.npy", npymap.open(tmp_path / "0.npy")):
        with pytest.raises(ValueError, match="data without axes, expected an array of rows"):
            npymap.Ragged(zero, paths[1])
        with pytest.raises(ValueError, match="offsets without axes"):
            npymap.Ragged(paths[0], zero)
    with pytest.raises(ValueError, match="an array without axes, expected arrays of rows"):
        npymap.Concat([tmp_path / "0.npy"])


def test_arrays_without_rows_are_type_errors(paths):
    with npymap.RaggedAppender(*paths, dtype="u2") as to:
        to.append([1, 2])
    for other in ([1, 2], np.ma.array([1, 2])):
        with pytest.raises(TypeError, match="expected an array|masked"):
            npymap.Ragged(other, paths[1])
        with pytest.raises(TypeError, match="expected an array|masked"):
            npymap.Ragged(paths[0], other)


KINDS = {
    "ArrayFile": npymap.ArrayFile,
    "copy-on-write": lambda path: npymap.open(path, "c"),
    "in memory": np.load,
    "every second": lambda path: np.repeat(np.load(path), 2, 0)[::2],
    "Concat": lambda path: npymap.Concat([np.load(path)[:3], np.load(path)[3:]]),
    "Rows": lambda path: npymap.open(path).rows,
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_of_any_arrays(paths, kind):
    expected = [row(n) for n in range(9)]
    with npymap.RaggedAppender(*paths, dtype=">u2") as to:
        for values in expected:
            to.append(values)
    data, offsets = map(KINDS[kind], paths)
    mapped, ragged = npymap.Ragged(*paths), npymap.Ragged(data, offsets)
    # NumPy's pickles have the byte order of the machine.
    assert [found.tolist() for found in pickle.loads(pickle.dumps(ragged))] == [values.tolist() for values in expected]
    for one in (ragged, npymap.Ragged(paths[0], offsets), npymap.Ragged(data, paths[1])):
        assert len(one) == 9 and one.dtype == mapped.dtype
        assert [found.tolist() for found in one] == [values.tolist() for values in expected]
        for indices in ([4, -1, 0, 4], [], [[1, 2], [3, 0]]):
            for options in ({}, {"dtype": "f4", "fill": -1.5}, {"dtype": "i8", "fill": -100}):
                for width in (0, 2, 30):
                    for found, right in zip(one.take_padded(indices, width, **options),
                                            mapped.take_padded(indices, width, **options)):
                        assert found.dtype == right.dtype and np.array_equal(found, right)
        (_, (packed, starts)), = npymap.Batches(one, npymap.Sampler(9, order="sequential"), 9, dtype="i4")
        assert packed.tolist() == np.concatenate(expected).tolist()
        with pytest.raises(IndexError):
            one[9]


def test_offsets_of_any_array_are_checked():
    data = np.arange(5)
    for offsets, match in (([0, 4, 2], "row 1 from 4 to 2: expected increasing offsets, up to 5"),
                           ([0, 3, 6], "row 1 from 3 to 6"), ([0, -1, 5], "row 0 from 0 to -1")):
        ragged = npymap.Ragged(data, np.array(offsets))
        for take in (lambda: list(ragged), lambda: ragged.take_padded([0, 1], 3)):
            with pytest.raises(npymap.FormatError, match=match) as caught:
                take()
            assert caught.value.kind == "Corrupt"
    for offsets in (np.zeros(0, int), np.zeros((2, 2), int), np.zeros(2)):
        with pytest.raises(ValueError, match="expected one axis of integers, one more than the number of rows"):
            npymap.Ragged(data, offsets)
    records = np.array([(1, 2.5), (3, 4.5), (5, 6.5)], [("a", "u1"), ("b", "<f8")])
    padded, lengths = npymap.Ragged(records, np.array([0, 1, 3])).take_padded([1, 0], 2, fill=(9, 1.0))
    assert padded.tolist() == [[(3, 4.5), (5, 6.5)], [(1, 2.5), (9, 1.0)]] and lengths.tolist() == [2, 1]
    images = npymap.Ragged(np.arange(24).reshape(4, 3, 2), np.array([0, 1, 4]))
    assert images.take_padded([0, 1], 2)[0].tolist() == [[[[0, 1], [2, 3], [4, 5]], [[0, 0]] * 3],
                                                        [[[6, 7], [8, 9], [10, 11]], [[12, 13], [14, 15], [16, 17]]]]


def test_rows_of_a_killed_writer_are_removed_on_request(tmp_path):
    paths = tmp_path / "data.npy", tmp_path / "offsets.npy"
    with npymap.RaggedAppender(*paths, dtype="u2") as to:
        to.append([1, 2, 3])
    with npymap.Appender(paths[0]) as data:
        data.append([4])
    with pytest.raises(npymap.FormatError, match="files that belong together") as caught:
        npymap.RaggedAppender(*paths)
    assert caught.value.kind == "Corrupt"
    assert len(np.load(paths[0])) == 4
    with pytest.raises(ValueError, match="expected one of them"):
        npymap.RaggedAppender(*paths, dtype="u2", recover=True)
    with npymap.RaggedAppender(*paths, recover=True) as to:
        assert len(to) == 1
    assert np.load(paths[0]).tolist() == [1, 2, 3]


def test_time_differences_and_arrays_without_axes_are_padding(paths):
    with npymap.RaggedAppender(*paths, dtype="m8[s]") as to:
        to.append(np.array([1], "m8[s]"))
    ragged = npymap.Ragged(*paths)
    for fill in [np.timedelta64(5_000_000_000, "ns"), np.timedelta64(5, "s"),
                 np.timedelta64("NaT"), np.array(5, "m8[s]")]:
        padded, _ = ragged.take_padded([0], 2, fill)
        expected = np.full(1, fill, "m8[s]")
        assert np.array_equal(padded[0, 1:], expected, equal_nan=True)


def test_arrays_without_axes_out_of_range_are_errors(paths):
    with npymap.RaggedAppender(*paths, dtype="i1") as to:
        to.append([1])
    with pytest.raises(OverflowError):
        npymap.Ragged(*paths).take_padded([0], 2, np.array(300))


def test_text_is_stored_as_its_bytes(paths):
    texts = ["one", "", "zwölf", "a\0b\0", "𝄞"]
    with npymap.RaggedAppender(*paths, dtype="u1") as to:
        for text in texts:
            to.append(text)
        to.append(b"\xff")
    ragged = npymap.Ragged(*paths)
    assert list(map(ragged.text, range(5))) == texts and ragged.text(-2) == "𝄞"
    with pytest.raises(UnicodeDecodeError):
        ragged.text(5)
    with npymap.RaggedAppender(*paths, dtype="u2", overwrite=True) as to:
        to.append([1])
        with pytest.raises(TypeError, match="text is appended to"):
            to.append("one")
    with pytest.raises(TypeError, match="no text"):
        npymap.Ragged(*paths).text(0)


def test_files_are_opened_or_created(paths):
    for rows in 1, 2:
        with npymap.RaggedAppender(*paths, exist_ok=True) as to:
            if rows == 1:
                assert len(to) == 0 and "no rows yet" in repr(to)
            to.append(np.ones((2, 3), "f4"))
            assert len(to) == rows and to.dtype == np.float32
    for options, error in [({"dtype": "f8"}, TypeError), ({"row": 2}, ValueError),
                           ({"dtype": "f4", "row": ()}, ValueError), ({"overwrite": True}, ValueError),
                           ({"recover": True}, ValueError)]:
        with pytest.raises(error):
            npymap.RaggedAppender(*paths, exist_ok=True, **options)
    with npymap.RaggedAppender(*paths, exist_ok=True, dtype="f4", row=3) as to:
        assert len(to) == 2
        with pytest.raises(BlockingIOError):
            npymap.RaggedAppender(*paths)


@pytest.mark.skipif(os.name == "nt", reason="appenders do not lock")
def test_a_writer_is_waited_for(paths):
    to = npymap.RaggedAppender(*paths, dtype="u1")
    waiting = threading.Thread(target=lambda: npymap.RaggedAppender(*paths, wait=True).append([1]))
    waiting.start()
    to.append([2])
    assert waiting.is_alive()
    to.close()
    waiting.join()
    assert [row.tolist() for row in npymap.Ragged(*paths)] == [[2], [1]]


def test_images_of_any_height_and_width(paths, tmp_path):
    images = [np.full((height, width, 3), height, "u1") for height, width in [(2, 4), (5, 1), (3, 3)]]
    with (npymap.RaggedAppender(*paths, dtype="u1", row=3) as pixels,
          npymap.Appender(tmp_path / "heights.npy", dtype="i8") as heights):
        with pytest.raises(ValueError, match=r"append it as reshape\(-1, 3\)"):
            pixels.append(images[0])
        for image in images:
            pixels.append(image.reshape(-1, 3))
            heights.append(len(image))
    pixels, heights = npymap.Ragged(*paths), npymap.open(tmp_path / "heights.npy")
    for number, image in enumerate(images):
        assert np.array_equal(pixels[number].reshape(heights[number], -1, 3), image)
