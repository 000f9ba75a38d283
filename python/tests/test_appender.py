"""Files that grow."""

import datetime
import os
import subprocess
import sys

import numpy as np
import pytest

import npymap


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", ["<f4", ">i8", "|S3", "<M8[D]", [("a", "<u2"), ("b", ">f8")]],
                         ids=str)
def test_rows_are_appended(tmp_path, order, dtype):
    path = tmp_path / "a.npy"
    parts = [np.zeros((3, *[2, 4]) if order == "C" else (2, 4, 3), dtype), np.zeros((2, 4), dtype)]
    parts[0].view("u1").reshape(-1)[::3] = 49
    axis = 0 if order == "C" else 2
    with npymap.Appender(path, dtype=dtype, row=(2, 4), order=order) as log:
        assert (log.dtype, len(log)) == (np.dtype(dtype), 0)
        log.append(parts[0])
        log.append(np.asfortranarray(parts[1]))
        assert len(log) == 4 and log.shape == ((4, 2, 4) if order == "C" else (2, 4, 4))
    expected = np.concatenate([parts[0], np.expand_dims(parts[1], axis)], axis).astype(dtype)
    found = np.load(path)
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
    assert found.flags.f_contiguous == (order == "F")


def test_values_are_cast(tmp_path):
    with npymap.Appender(tmp_path / "a.npy", dtype=">f4", row=()) as log:
        log.append([1, 2])
        log.append(3.5)
        log.append(np.array([7], "u8"), casting="unsafe")
        log.append([])
        with pytest.raises(TypeError):
            log.append([1j])
        with pytest.raises(TypeError):
            log.append(np.array([1], "i8"), casting="safe")
        assert len(log) == 4
    assert np.load(tmp_path / "a.npy").tolist() == [1, 2, 3.5, 7]


def test_shapes_that_do_not_fit_add_nothing(tmp_path):
    with npymap.Appender(tmp_path / "a.npy", dtype="u1", row=(2, 3)) as log:
        for shape in [(), (3,), (3, 2), (5, 3, 2), (1, 1, 2, 3)]:
            with pytest.raises(ValueError, match="rows of shape"):
                log.append(np.zeros(shape, "u1"))
        log.append(np.zeros((0, 2, 3)))
        assert len(log) == 0
    with pytest.raises(ValueError, match="closed"):
        log.append(np.zeros((2, 3), "u1"))
    with pytest.raises(ValueError, match="order 'A'"):
        npymap.Appender(tmp_path / "b.npy", dtype="u1", order="A")
    with pytest.raises(ValueError, match="Python objects"):
        npymap.Appender(tmp_path / "b.npy", dtype=object)


@pytest.mark.parametrize("order", "CF")
def test_arrays_of_the_files_dtype_in_any_memory(tmp_path, order):
    class Other(np.ndarray):
        pass

    rows = np.arange(24, dtype="f4").reshape(4, 6)[:, ::2]
    read_only = rows.copy()
    read_only.flags.writeable = False
    parts = [rows, rows.copy(), read_only, np.asfortranarray(rows), rows[::-1], rows.view(Other),
             rows.astype(">f4"), rows.astype("f2"), rows[:0], rows[:0].copy(), rows[2], rows[2].copy()]
    with npymap.Appender(tmp_path / "a.npy", dtype="f4", row=3, order=order) as log:
        for part in parts:
            log.append(part.T if order == "F" else part)
        for wrong in (np.zeros(4, "f4"), np.zeros((3, 3, 3), "f4"), np.zeros((), "f4"), np.zeros((2, 4), "f4")):
            with pytest.raises(ValueError, match="expected"):
                log.append(wrong)
    expected = np.concatenate([part.reshape(-1, 3) for part in parts])
    assert np.array_equal(np.load(tmp_path / "a.npy"), expected.T if order == "F" else expected)


def test_readers_see_what_was_flushed(tmp_path):
    path = tmp_path / "a.npy"
    with npymap.Appender(path, dtype="i4") as log:
        log.append([1, 2])
        log.flush()
        mapped = npymap.open(path)
        log.append([3])
        assert mapped.tolist() == [1, 2] and len(npymap.open(path)) == 2
        log.sync()
        assert len(npymap.open(path)) == 3
        log.resize(5)
        log.append([9])
    assert npymap.open(path).tolist() == [1, 2, 3, 0, 0, 9]
    with npymap.Appender(path) as log:
        log.resize(1)
        log.append([4])
    assert npymap.open(path).tolist() == [1, 4] and mapped.tolist() == [1, 2]


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "a.npy"
    with npymap.Appender(path, dtype="i4"):
        with pytest.raises(BlockingIOError):
            npymap.Appender(path)
    npymap.Appender(path).close()
    with pytest.raises(FileExistsError):
        npymap.Appender(path, dtype="i4")
    npymap.Appender(path, dtype="i8", overwrite=True).close()
    assert npymap.open(path).dtype == np.int64


def test_a_killed_writer_leaves_a_complete_file(tmp_path):
    path = tmp_path / "a.npy"
    code = """
import os, signal, sys, npymap
log = npymap.Appender(sys.argv[1], dtype="i8", row=100)
for n in range(10**9):
    log.append([n] * 100)
    if n == 500:
        print(flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
    process.stdout.readline()
    process.kill()
    process.communicate()
    npymap.recover(path)
    with npymap.Appender(path) as log:
        log.append([-1] * 100)
    rows = npymap.open(path)[:, 0].tolist()
    assert rows == [*range(len(rows) - 1), -1]
    assert os.path.getsize(path) == npymap.header(path).offset + len(rows) * 800


def test_lists_of_numpys_integers_are_not_wrapped(tmp_path):
    for dtype, wrong in [("u1", np.int64(300)), ("u8", np.int8(-1)), ("i8", np.uint64(1 << 63))]:
        with npymap.Appender(tmp_path / "a.npy", dtype=dtype, overwrite=True) as log:
            log.append([np.int64(7), 8, np.array(9)])
            for values in ([wrong], [1, wrong], [np.array(wrong)]):
                with pytest.raises((OverflowError, TypeError)):
                    log.append(values)
        assert np.load(tmp_path / "a.npy").tolist() == [7, 8, 9]


@pytest.mark.parametrize("casting", ["same_kind", "unsafe"])
def test_large_integers_are_exact(tmp_path, casting):
    path, values = tmp_path / "a.npy", [(1 << 63) + 1, 1, np.uint64((1 << 63) + 3)]
    with npymap.Appender(path, dtype="u8") as log:
        log.append(values, casting=casting)
        for wrong in (1 << 64, -1):
            with pytest.raises(OverflowError):
                log.append([1, wrong], casting=casting)
    assert np.load(path).tolist() == [int(value) for value in values]
    with npymap.Appender(path, dtype=[("a", "u8")], overwrite=True) as log:
        log.append([(value,) for value in values], casting=casting)
    assert np.load(path)["a"].tolist() == [int(value) for value in values]
    with npymap.Appender(path, dtype="i4", overwrite=True) as log:
        with pytest.raises(OverflowError):
            log.append([1 << 63, -1], casting=casting)
        if casting == "unsafe":
            log.append([1.5, 2], casting=casting)
    with npymap.RaggedAppender(tmp_path / "d.npy", tmp_path / "o.npy", dtype="u8") as ragged:
        ragged.append(values, casting=casting)
    assert np.load(tmp_path / "d.npy").tolist() == [int(value) for value in values]


def test_integers_and_dates_of_python_are_cast(tmp_path):
    path, noon = tmp_path / "a.npy", datetime.datetime(2020, 1, 1, 12)
    for dtype, values, expected in [
        ("f8", [1 << 70, -1], [2.0**70, -1]),
        ("f8", 1 << 64, [2.0**64]),
        ("c8", [1 << 65], [2.0**65]),
        ("M8[s]", [noon], [noon]),
        ("M8[D]", [noon.date()], [noon.date()]),
        ("m8[ms]", [datetime.timedelta(microseconds=1500000)], [datetime.timedelta(seconds=1.5)]),
    ]:
        with npymap.Appender(path, dtype=dtype, overwrite=True) as log:
            log.append(values)
        assert np.load(path).tolist() == expected
    for dtype, values in [("f2", [70000]), ("f4", [1 << 200]), ("f8", [10**400]), ("c8", [-(1 << 300)])]:
        with npymap.Appender(path, dtype=dtype, overwrite=True) as log:
            with pytest.raises(OverflowError):
                log.append(values)


@pytest.mark.parametrize("dtype, values", [
    ("M8[D]", ["2020-01-01T12:00"]),
    ("M8[D]", [b"2020-01-01T12"]),
    ("M8[D]", [datetime.datetime(2020, 1, 1, 12)]),
    ("m8[s]", [datetime.timedelta(milliseconds=1500)]),
    ([("a", "i1"), ("d", "M8[D]")], [(3, "2020-01-01T12")]),
])
def test_text_and_objects_are_not_rounded_to_dates(tmp_path, dtype, values):
    with npymap.Appender(tmp_path / "a.npy", dtype=dtype) as log:
        with pytest.raises(ValueError, match="do not fit"):
            log.append(values, casting="unsafe")
        assert len(log) == 0


def test_other_objects_are_cast_only_unsafely(tmp_path):
    class Exact(datetime.datetime):
        """As of pandas, with nanoseconds."""

    aware = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
    for value in (Exact(2020, 1, 1), aware):
        with npymap.Appender(tmp_path / "a.npy", dtype="M8[ns]", overwrite=True) as log:
            with pytest.raises(TypeError):
                log.append([value])
    with npymap.Appender(tmp_path / "a.npy", dtype="M8[s]", overwrite=True) as log:
        log.append(np.array([1, 2], object), casting="unsafe")
    assert np.load(tmp_path / "a.npy").astype("i8").tolist() == [1, 2]


def test_arguments_of_new_files_need_a_dtype(tmp_path):
    np.save(tmp_path / "a.npy", [1, 2])
    for arguments in ({"overwrite": True}, {"row": 3}, {"order": "F"}):
        with pytest.raises(ValueError, match="a new file, which needs a dtype"):
            npymap.Appender(tmp_path / "a.npy", **arguments)
    with pytest.raises(ValueError, match="new files, which need a dtype"):
        npymap.RaggedAppender(tmp_path / "a.npy", tmp_path / "o.npy", overwrite=True)
    assert np.load(tmp_path / "a.npy").tolist() == [1, 2]


def test_tuples_are_elements_of_structs(tmp_path):
    dtype = np.dtype([("a", "u1"), ("b", "f4")])
    with npymap.Appender(tmp_path / "a.npy", dtype=dtype) as log:
        log.append([(1, 2.5), (3, 4)])
        log.append((5, 6))
        log.append([])
        with pytest.raises(OverflowError):
            log.append([(300, 1)])
        with pytest.raises(ValueError):
            log.append([(1, 2, 3)])
    assert np.load(tmp_path / "a.npy").tolist() == [(1, 2.5), (3, 4), (5, 6)]


def test_tuples_are_cast_as_casting_allows(tmp_path):
    dtype = np.dtype([("a", "i4"), ("b", "f4", (2,)), ("c", [("d", "u1"), ("e", "S3")], (2,))])
    row = (1, (2, 3.5), [(4, b"x"), (5, b"yz")])
    with npymap.Appender(tmp_path / "a.npy", dtype=dtype, row=2) as log:
        log.append([row, row])
        log.append([[row, row], [row, row]])
        log.append(np.array([row, row], dtype))
        log.append([np.array(row, dtype), np.array(row, dtype)])
        for a in (1.9, "7", None, (1, 2)):
            with pytest.raises((TypeError, ValueError)):
                log.append([(a, *row[1:]), row])
        for values in ([1, 2], [row, 1], [row, [row]], [(1, 2, 3), (1, 2, 3)], [row[:2], row[:2]]):
            with pytest.raises((TypeError, ValueError)):
                log.append(values)
        endless = []
        endless += [endless, endless]
        with pytest.raises(ValueError, match="at two depths"):
            log.append(endless)
        log.append([(1.9, *row[1:]), row], casting="unsafe")
    found = np.load(tmp_path / "a.npy")
    assert np.array_equal(found, np.array([[row, row]] * 6, dtype))
    narrow = np.dtype([("a", "i4")])
    with npymap.Appender(tmp_path / "b.npy", dtype=narrow) as log:
        with pytest.raises(TypeError):
            log.append([np.array((1.5,), [("a", "f8")])[()]])


def test_orders_have_numpys_names(tmp_path):
    for order in ("f", "F"):
        assert npymap.create(tmp_path / f"{order}.npy", "u1", (2, 3), order=order).flags.f_contiguous
        path = tmp_path / f"log-{order}.npy"
        with npymap.Appender(path, dtype="u1", row=2, order=order) as log:
            log.append([[1, 2, 3], [4, 5, 6]])
        assert np.load(path).flags.f_contiguous and np.load(path).tolist() == [[1, 2, 3], [4, 5, 6]]
    for order in ("X", "CF", 1):
        with pytest.raises(ValueError, match="expected 'C' or 'F'"):
            npymap.create(tmp_path / "F.npy", "u1", (2, 3), order=order, overwrite=True)
        with pytest.raises(ValueError, match="expected 'C' or 'F'"):
            npymap.Appender(tmp_path / "F.npy", dtype="u1", order=order, overwrite=True)
    assert npymap.load(tmp_path / "F.npy").shape == (2, 3)


@pytest.mark.parametrize("how", ["del", "close", "with", "append"])
def test_a_forked_process_does_not_write_the_rows_of_its_parent(tmp_path, how):
    script = """
import gc, os, sys, warnings, npymap
warnings.simplefilter("ignore")
how, names = sys.argv[1], sys.argv[2:]
log = npymap.Appender(names[0], dtype="i8")
ragged = npymap.RaggedAppender(names[1], names[2], dtype="i8")
log.append([1, 2, 3])
ragged.append([1, 2, 3])
child = os.fork()
if child == 0:
    code = 0
    if how == "del":
        del log, ragged
        gc.collect()
    elif how == "close":
        log.close()
        ragged.close()
    elif how == "with":
        with log, ragged:
            pass
    else:
        for call in (lambda: log.append([5]), lambda: ragged.append([5]), log.flush, ragged.sync):
            try:
                call()
                code = 1
            except ValueError as error:
                code |= "before the fork" not in str(error)
    os._exit(code)
assert os.waitpid(child, 0)[1] == 0
log.append([4])
ragged.append([4])
log.close()
ragged.close()
"""
    names = [tmp_path / name for name in ("a.npy", "data.npy", "offsets.npy")]
    subprocess.run([sys.executable, "-c", script, how, *names], check=True)
    assert [np.load(name).tolist() for name in names] == [[1, 2, 3, 4], [1, 2, 3, 4], [0, 3, 4]]


def test_rows_without_elements_are_counted(tmp_path):
    path = tmp_path / "a.npy"
    with npymap.Appender(path, dtype="f8", row=(0,)) as log:
        log.append(np.zeros((5, 0)))
        log.append(np.zeros(0))
        assert log.shape == (6, 0)
    assert np.load(path).shape == (6, 0)
    with npymap.Appender(path, dtype="f8", row=(2, 0), order="F", overwrite=True) as log:
        log.append(np.zeros((2, 0, 3)))
    assert np.load(path).shape == (2, 0, 3)
    np.save(path, np.ndarray(2, "V0"))
    with npymap.Appender(path) as log:
        log.append(np.ndarray(3, "V0"))
    assert npymap.open(path).shape == (5,)


@pytest.mark.parametrize("dtype", [str, bytes, "S", "U", "V", "S0"], ids=str)
def test_dtypes_without_a_size_are_errors(tmp_path, dtype):
    with pytest.raises(TypeError, match="no size, expected one with a size, such as '[SUV]8'"):
        npymap.Appender(tmp_path / "a.npy", dtype=dtype)
    assert not os.listdir(tmp_path)


LOST = [
    ("S3", [b"abcdef"]), ("S3", [b"abc", b"abcd"]), ("U3", ["abcd"]), ("U3", np.array(["abc", "abcd"])),
    ("S3", np.array([12345])), ("U3", np.array([0.125])), ("S4", np.array([False])),
    ("M8[D]", np.array(["2020-01-01T10"], "M8[h]")), ("M8[ns]", np.array(["3020-01-01"], "M8[D]")),
    ("M8[D]", [np.datetime64("2020-01-01T10")]), ("m8[s]", np.array([1500], "m8[ms]")),
    ("M8[2D]", np.array(["1970-01-02"], "M8[D]")),
    ([("a", "S2"), ("b", "i4")], [(b"abc", 1)]),
    ([("a", "S2"), ("b", "i4")], np.array([(b"abc", 1)], [("a", "S3"), ("b", "i4")])),
    ([("a", [("b", "M8[D]")], (2,))], np.array([([(3,), (4,)],)], [("a", [("b", "M8[h]")], (2,))])),
]
KEPT = [
    ("S3", np.array([b"abc", b"a"], "S6")), ("U3", np.array(["abc", ""], "U9")), ("S3", np.array([123])),
    ("U3", np.array([0.5])), ("S5", np.array([False])), ("M8[D]", np.array(["2020-01-01", "NaT"], "M8[h]")),
    ("m8[s]", np.array([1000, 0], "m8[ms]")), ("M8[s]", [np.datetime64("NaT")]), ("m8[s]", np.array([5])),
    ("M8[us]", np.array([3], ">M8[us]")),
    ([("a", "S2"), ("b", "i4")], np.array([(b"ab", 1)], [("a", "S3"), ("b", "i8")])),
]


@pytest.mark.parametrize("casting", ["same_kind", "unsafe"])
def test_what_numpy_would_cut_is_an_error(tmp_path, casting):
    path = tmp_path / "a.npy"
    for dtype, values in LOST:
        with npymap.Appender(path, dtype=dtype, overwrite=True) as log:
            with pytest.raises(ValueError, match="too long for|do not fit"):
                log.append(values, casting=casting)
            assert len(log) == 0
    for dtype, values in KEPT:
        with npymap.Appender(path, dtype=dtype, overwrite=True) as log:
            log.append(values, casting=casting)
        assert np.load(path).tolist() == np.asarray(values).astype(dtype).tolist()


@pytest.mark.parametrize("dtype, value", [
    ("U4", "x\0"), ("U1", "\0"), ("S4", b"x\0"), ("U4", np.str_("x\0")), ([("a", "U4"), ("b", "i4")], ("x\0", 1)),
])
def test_text_that_ends_in_nul_is_an_error(tmp_path, dtype, value):
    with npymap.Appender(tmp_path / "a.npy", dtype=dtype) as log:
        for rows in ([value], [value, value], value):
            with pytest.raises(ValueError, match="ends in NUL"):
                log.append(rows)
        if not isinstance(value, tuple):
            for rows in (np.array([value], object), np.array([value, None], object)):
                with pytest.raises(ValueError, match="ends in NUL"):
                    log.append(rows, casting="unsafe")
            # Padding of an array.
            log.append(np.array(["x"], "U9"), casting="unsafe")
    ragged = npymap.RaggedAppender(tmp_path / "v.npy", tmp_path / "o.npy", dtype=dtype)
    with ragged, pytest.raises(ValueError, match="ends in NUL"):
        ragged.append([value])


def test_masked_elements_are_errors(tmp_path):
    with npymap.Appender(tmp_path / "a.npy", dtype="f4") as log:
        with pytest.raises(ValueError, match="masked elements"):
            log.append(np.ma.array([1, 2], mask=[0, 1]))
        for values in ([np.ma.masked, 1.0], [np.ma.array(1.0), np.ma.array(2.0, mask=True)]):
            with pytest.raises(ValueError, match="masked elements"):
                log.append(values)
        log.append(np.ma.array([3, 4]))
        log.append(np.ma.array([5], mask=[0]))
    assert np.load(tmp_path / "a.npy").tolist() == [3, 4, 5]


def test_castings_are_checked_also_if_nothing_is_cast(tmp_path):
    with npymap.Appender(tmp_path / "a.npy", dtype="i4") as log:
        for values in ([1], [], np.array([1], "i4")):
            with pytest.raises(ValueError, match="casting 'foo'"):
                log.append(values, casting="foo")


def test_negative_numbers_are_named(tmp_path):
    with npymap.Appender(tmp_path / "a.npy", dtype="i4") as log:
        with pytest.raises(ValueError, match="rows is -1, expected at least 0"):
            log.resize(-1)
    with pytest.raises(ValueError, match="rows is -1, expected at least 0"):
        npymap.resize(tmp_path / "a.npy", -1)
    with pytest.raises(ValueError, match="rows is 1180591620717411303424, expected at most"):
        npymap.resize(tmp_path / "a.npy", 1 << 70)
    with pytest.raises(ValueError, match="buffer is -1, expected at least 0"):
        npymap.Appender(tmp_path / "a.npy", buffer=-1)
    with pytest.raises(TypeError):
        npymap.resize(tmp_path / "a.npy", 1.5)


def test_fields_of_masked_arrays(tmp_path):
    dtype = [("x", "f4"), ("y", "i4", (2,))]
    array = np.ma.array(np.zeros(3, dtype))
    with npymap.Appender(tmp_path / "a.npy", dtype=dtype) as to:
        to.append(array)
        assert len(to) == 3
        array["y"][1, 1] = np.ma.masked
        with pytest.raises(ValueError, match="masked elements"):
            to.append(array)


def start_together(code, *arguments):
    """Run eight processes that start at once, each with its number as the last argument."""
    code = f"import sys, numpy as np, npymap\nsys.stdin.readline()\n{code}"
    all = [subprocess.Popen([sys.executable, "-c", code, *map(str, arguments), str(number)],
                            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
           for number in range(8)]
    for process in all:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[1] for process in all] == [""] * 8


@pytest.mark.skipif(os.name == "nt", reason="appenders do not lock")
@pytest.mark.parametrize("options", ["", 'dtype="f4", row=3, '])
def test_processes_that_start_at_once_create_a_file_once(tmp_path, options):
    path = tmp_path / "a.npy"
    start_together(f"""
with npymap.Appender(sys.argv[1], {options}exist_ok=True, wait=True) as log:
    log.append(np.full((2, 3), int(sys.argv[2]), "f4"))
""", path)
    found = np.load(path)
    assert found.dtype == np.float32 and found.shape == (16, 3)
    assert sorted(found[:, 0]) == [number for number in range(8) for _ in range(2)]


@pytest.mark.skipif(os.name == "nt", reason="appenders do not lock")
def test_processes_that_start_at_once_create_ragged_rows_once(tmp_path):
    start_together("""
with npymap.RaggedAppender(*sys.argv[1:3], exist_ok=True, wait=True) as to:
    to.append(sys.argv[3] * int(sys.argv[3]))
""", tmp_path / "d.npy", tmp_path / "o.npy")
    ragged = npymap.Ragged(tmp_path / "d.npy", tmp_path / "o.npy")
    assert sorted(map(ragged.text, range(8))) == sorted(str(n) * n for n in range(8))


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("rows", [
    np.zeros((2, 2), ">i2"), np.zeros((3, 2, 2), [("a", "u1"), ("b", "S2")]), np.zeros(4, "M8[D]"),
    [[1.5, 2], [3, 4]], ["ab", "cde"]], ids=str)
def test_the_first_rows_say_what_a_file_holds(tmp_path, rows, order):
    path, expected = tmp_path / "a.npy", np.asarray(rows)
    with npymap.Appender(path, exist_ok=True, order=order) as log:
        assert len(log) == 0 and "no rows yet" in repr(log) and not path.exists()
        for name in "dtype", "shape":
            with pytest.raises(ValueError, match="nothing was appended yet"):
                getattr(log, name)
        log.append([])
        log.flush()
        assert not path.exists()
        log.append(rows)
        assert log.dtype == expected.dtype and log.shape == expected.shape
    with npymap.Appender(path, exist_ok=True) as log:
        log.append(rows)
    axis = 0 if order == "C" else expected.ndim - 1
    found = np.load(path)
    assert found.dtype == expected.dtype
    assert found.tobytes() == np.concatenate([expected, expected], axis).astype(found.dtype).tobytes()


def test_a_file_that_is_opened_or_created_is_the_one_asked_for(tmp_path):
    path = tmp_path / "a.npy"
    for rows in 1, 2:
        with npymap.Appender(path, dtype="f4", row=3, exist_ok=True) as log:
            log.append([1, 2, 3])
            assert len(log) == rows
    before = path.read_bytes()
    for options, error in [
        ({"dtype": "f8", "row": 3}, TypeError), ({"dtype": "f8"}, TypeError),
        ({"dtype": "f4", "row": 2}, ValueError), ({"row": 2}, ValueError), ({"row": ()}, ValueError),
        ({"order": "F"}, ValueError), ({"dtype": "f4", "row": 3, "order": "F"}, ValueError),
        ({"overwrite": True}, ValueError), ({"dtype": "f4", "overwrite": True}, ValueError),
    ]:
        with pytest.raises(error):
            npymap.Appender(path, exist_ok=True, **options)
    assert path.read_bytes() == before
    with npymap.Appender(path, exist_ok=True, dtype="f4", order="C") as log:
        log.append(np.ones((1, 3), "i2"))
    assert npymap.load(path)[:, 0].tolist() == [1, 1, 1]


def test_refused_first_rows_leave_no_file(tmp_path):
    path = tmp_path / "a.npy"
    with npymap.Appender(path, exist_ok=True, row=3) as log:
        for rows, error in [
            (np.ma.masked_array([[1, 2, 3]], [[True, False, False]]), ValueError),
            (np.array([[None] * 3]), ValueError), (np.zeros((2, 2)), ValueError), (5, ValueError),
        ]:
            with pytest.raises(error):
                log.append(rows)
        assert not path.exists()
    with pytest.raises(ValueError, match="closed"):
        log.append([[1, 2, 3]])
    assert os.listdir(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        npymap.Appender(tmp_path / "no" / "a.npy", exist_ok=True)
    for options in {}, {"dtype": "u1"}:
        npymap.Appender(path, dtype="u1", overwrite=True).close()
        if not options:
            path.unlink()
        with pytest.raises((FileNotFoundError, FileExistsError)) as caught:
            npymap.Appender(path, **options)
        assert "exist_ok=True" in caught.value.__notes__[0]


def test_threads_append_first_rows_at_once(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    with npymap.Appender(tmp_path / "a.npy", exist_ok=True) as log:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: log.append([number, number]), range(100)))
    assert sorted(np.load(tmp_path / "a.npy")) == [n for n in range(100) for _ in range(2)]
