"""Batches are read ahead, in order, into memory that is reused, and can be resumed."""

import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import npymap


@pytest.fixture
def arrays(tmp_path):
    x, y = np.arange(1000 * 6, dtype=">u2").reshape(1000, 2, 3), np.arange(1000) % 7
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    return x, y, npymap.open(tmp_path / "x.npy"), npymap.open(tmp_path / "y.npy")


@pytest.mark.parametrize("threads, prefetch", [(1, 1), (1, 3), (3, 1), (4, 8)])
def test_batches_are_those_of_the_sampler(arrays, threads, prefetch):
    x, y, mapped_x, mapped_y = arrays
    sampler = npymap.Sampler(1000, seed=5)
    expected = list(sampler.copy().batches(64))
    batches = npymap.Batches([mapped_x, mapped_y.rows], sampler, 64, threads=threads, prefetch=prefetch)
    found = list(batches)
    assert len(found) == 16 and sampler.epoch == 0
    for (indices, own_x, own_y), rows in zip(found, expected):
        assert indices.tolist() == rows.tolist()
        assert own_x.dtype == x.dtype and np.array_equal(own_x, x[rows])
        assert np.array_equal(own_y, y[rows])
        own_x += 1
    assert list(batches) == []


def test_epochs_follow_each_other_and_the_last_batch_can_be_dropped(arrays):
    x, _, mapped, _ = arrays
    sampler = npymap.Sampler(1000, seed=5)
    with npymap.Batches(mapped, sampler, 64, epochs=3, drop_last=True) as batches:
        epochs = [(batches.epoch, len(indices)) for indices, _ in batches]
    assert epochs == [(epoch, 64) for epoch in range(3) for _ in range(15)]


@pytest.mark.parametrize("length, size, drop_last", [(1000, 1001, True), (0, 3, False)])
def test_epochs_without_batches_end(tmp_path, length, size, drop_last):
    rows = npymap.memmap(tmp_path / "x.bin", "u1", "w+", shape=length)
    sampler = npymap.Sampler(length)
    with npymap.Batches(rows, sampler, size, epochs=10**15, drop_last=drop_last) as batches:
        assert list(batches) == []


def test_the_middle_of_an_epoch_is_resumed(arrays):
    mapped = arrays[2]
    sampler = npymap.Sampler(1000, seed=5)
    batches = npymap.Batches(mapped, sampler, 64, epochs=2, threads=2, prefetch=5)
    assert batches.state_dict() == sampler.state_dict()
    for number, (indices, _) in enumerate(batches):
        if number == 20:
            state = batches.state_dict()
            rest = [indices.tolist() for indices, _ in batches]
    again = npymap.Sampler(1000)
    again.load_state_dict(state)
    found = [indices.tolist() for indices, _ in npymap.Batches(mapped, again, 64)]
    assert found == rest and len(rest) == 11


def test_dtypes_are_cast(arrays):
    x, y, mapped_x, mapped_y = arrays
    sampler = npymap.Sampler(1000)
    batches = npymap.Batches([mapped_x, mapped_y], sampler, 100, dtype=["f4", None])
    for indices, own_x, own_y in batches:
        assert own_x.dtype == np.float32 and own_y.dtype == y.dtype
        assert np.array_equal(own_x, x[indices])
    with pytest.raises(TypeError, match="cannot cast"):
        next(npymap.Batches(mapped_x, sampler, 8, dtype="u1", casting="safe"))


def test_lists_of_rows_are_batches(arrays):
    x, _, mapped, _ = arrays
    lists = ([i, -1 - i] for i in range(50))
    found = list(npymap.Batches(mapped, lists, threads=3))
    assert len(found) == 50
    for number, (indices, own) in enumerate(found):
        assert indices.tolist() == [number, -1 - number]
        assert np.array_equal(own, x[[number, -1 - number]])
    assert list(npymap.Batches(mapped, [])) == []
    with pytest.raises(ValueError, match="have a state"):
        npymap.Batches(mapped, [[1]]).state_dict()
    with pytest.raises(IndexError):
        list(npymap.Batches(mapped, [[1], [1000]]))
    with pytest.raises(ValueError, match="their own sizes"):
        npymap.Batches(mapped, [[1]], 5)


def test_errors_of_the_iterable_are_raised(arrays):
    def lists():
        yield [1]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        list(npymap.Batches(arrays[2], lists()))


def test_arguments_that_do_not_fit_are_errors(arrays, tmp_path):
    _, _, mapped, _ = arrays
    sampler = npymap.Sampler(1000)
    with pytest.raises(ValueError, match="different lengths"):
        npymap.Batches([mapped, mapped[1:]], sampler, 8)
    with pytest.raises(ValueError, match="2 dtypes for 1 arrays"):
        npymap.Batches([mapped], sampler, 8, dtype=["f4", "f4"])
    with pytest.raises(ValueError, match="at least 1"):
        npymap.Batches(mapped, sampler)
    with pytest.raises(IndexError):
        list(npymap.Batches(mapped, npymap.Sampler(1001, seed=1), 64))


def test_memory_is_reused_only_when_nothing_refers_to_it(arrays):
    x, _, mapped, _ = arrays
    addresses, kept = set(), []
    for indices, own in npymap.Batches(mapped, npymap.Sampler(1000), 10):
        addresses.add(own.__array_interface__["data"][0])
        del own
    assert len(addresses) < 20
    for indices, own in npymap.Batches(mapped, npymap.Sampler(1000), 10):
        kept.append((indices, own[:, 1:]))
    gc.collect()
    assert all(np.array_equal(own, x[indices][:, 1:]) for indices, own in kept)
    assert len({own.__array_interface__["data"][0] for _, own in kept}) == 100


def test_large_batches_are_in_large_pages(tmp_path):
    # 0.5, 1, 3 and 2 MiB.
    sizes, x = [16, 32, 96, 64], np.arange(208 << 12).reshape(208, -1)
    np.save(tmp_path / "x.npy", x)
    ends = np.cumsum(sizes)
    lists = [np.arange(end - size, end)[::-1] for size, end in zip(sizes, ends)]
    kept = list(npymap.Batches(npymap.open(tmp_path / "x.npy"), lists))
    assert all(np.array_equal(own, x[rows]) for rows, own in kept)
    addresses = [own.__array_interface__["data"][0] for _, own in kept]
    assert all(address % (2 << 20) == 0 for address in addresses[1:])


def test_views_of_a_batch_outlive_everything(arrays):
    x, _, mapped, _ = arrays
    batches = npymap.Batches(mapped, npymap.Sampler(1000), 10)
    indices, own = next(batches)
    part = own[3:5, 1].T
    del own, batches, mapped
    gc.collect()
    assert np.array_equal(part, x[indices][3:5, 1].T)


def test_several_threads_may_take_batches(arrays):
    batches, found = npymap.Batches(arrays[2], npymap.Sampler(1000), 10, threads=2), []

    def take():
        for indices, _ in batches:
            found.extend(indices.tolist())

    threads = [threading.Thread(target=take) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(found) == list(range(1000))


def test_closing_ends_the_batches(arrays):
    batches = npymap.Batches(arrays[2], npymap.Sampler(1000), 10)
    next(batches)
    batches.close()
    batches.close()
    assert list(batches) == []
    batches = npymap.Batches(arrays[2], ([number] for number in itertools.count()))
    next(batches)
    batches.close()
    assert list(batches) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_batches_of_a_parent_raise_in_a_child(arrays, tmp_path):
    code = """
import os, sys, warnings, npymap
warnings.simplefilter("ignore")
x = npymap.open(sys.argv[1])
batches = npymap.Batches(x, npymap.Sampler(1000), 10)
next(batches)
child = os.fork()
if child == 0:
    try:
        next(batches)
    except ValueError as error:
        assert "before the fork" in str(error)
        own = sum(len(i) for i, _ in npymap.Batches(x, npymap.Sampler(1000), 10))
        del batches
        os._exit(own != 1000)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert len(list(batches)) == 99
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "x.npy"], check=True, timeout=600)


def test_the_interpreter_exits_with_live_batches(arrays, tmp_path):
    code = """
import sys, npymap
x = npymap.open(sys.argv[1])
batches = npymap.Batches(x, npymap.Sampler(10**6 * 0 + 1000), 10, threads=2)
kept = next(batches)
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "x.npy"], check=True, timeout=600)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_waiting_is_interrupted_by_signals(tmp_path):
    # An iterable that blocks keeps no thread from being interrupted.
    np.save(tmp_path / "a.npy", np.zeros((10, 1)))
    code = """
import signal, sys, npymap
rows = npymap.open(sys.argv[1])
def lists():
    yield [1]
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    signal.pause()
def handler(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
try:
    list(npymap.Batches(rows, lists()))
except KeyboardInterrupt:
    sys.exit(0)
sys.exit(1)
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "a.npy"], check=True, timeout=600)


def test_a_sampler_of_more_rows_than_a_view_has_is_an_error(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(10))
    array, sampler = npymap.open(tmp_path / "a.npy"), npymap.Sampler(4, order="sequential")
    for view in (array[:3], array[2:5], array[7:]):
        batches = npymap.Batches(view, sampler, 2)
        assert next(batches)[1].tolist() == view[:2].tolist()
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            next(batches)


def test_an_iterable_may_reuse_its_array_of_indices(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(10))

    def lists():
        indices = np.empty(2, np.int64)
        for start in range(8):
            indices[:] = start, start + 1
            yield indices

    for start, (indices, x) in enumerate(npymap.Batches(npymap.open(tmp_path / "a.npy"), lists())):
        assert indices.tolist() == x.tolist() == [start, start + 1]


def test_what_has_no_rows_is_a_type_error(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(10))
    np.save(tmp_path / "b.npy", np.array(1))
    masked = np.ma.masked_array(np.arange(10))
    for array, match in ((np.array([None] * 10), "Python objects"), (masked, "its data"),
                         (npymap.open(tmp_path / "b.npy"), "without axes"), ("a.npy", "got str")):
        with pytest.raises(TypeError, match=match):
            npymap.Batches(array, npymap.Sampler(10), 2)
        with pytest.raises(TypeError, match=match):
            npymap.Batches([npymap.open(tmp_path / "a.npy"), array], npymap.Sampler(10), 2)


def test_a_batch_that_fails_changes_no_other_one(tmp_path):
    np.save(tmp_path / "a.npy", np.array([b"0", b"1", b"x", b"3", b"4"]))
    array = npymap.open(tmp_path / "a.npy")
    lists = [[0], [2], [-2, 1], [9], [3, 0], [2, 2], [4]]
    expected = {0: [0], 2: [3, 1], 4: [3, 0], 6: [4]}
    for threads, prefetch in [(1, 1), (1, 9), (3, 2)]:
        batches = npymap.Batches(array, lists, threads=threads, prefetch=prefetch, dtype="i8",
                                 casting="unsafe")
        for number, rows in enumerate(lists):
            if number in expected:
                indices, x = next(batches)
                assert indices.tolist() == rows and x.tolist() == expected[number]
            else:
                with pytest.raises(IndexError if number == 3 else ValueError):
                    next(batches)
        assert list(batches) == []


def test_the_state_is_that_after_the_last_batch_also_if_one_failed(tmp_path):
    np.save(tmp_path / "a.npy", np.array([b"0", b"1", b"x", b"3", b"4", b"5"]))
    array, sampler = npymap.open(tmp_path / "a.npy"), npymap.Sampler(6, order="sequential")
    batches = npymap.Batches(array, sampler, 2, dtype="i8", casting="unsafe")
    next(batches)
    with pytest.raises(ValueError):
        next(batches)
    assert batches.state_dict()["position"] == 2
    indices, x = next(batches)
    assert indices.tolist() == x.tolist() == [4, 5] and batches.state_dict()["position"] == 6


def test_errors_of_the_iterable_change_no_batch(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(9))

    class Lists:
        """Raises at every third call."""

        calls = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.calls += 1
            if self.calls % 3 == 0:
                raise KeyboardInterrupt
            if self.calls > 8:
                raise StopIteration
            return [self.calls]

    batches, found = npymap.Batches(npymap.open(tmp_path / "a.npy"), Lists(), prefetch=2), []
    while True:
        try:
            indices, x = next(batches)
        except KeyboardInterrupt:
            continue
        except StopIteration:
            break
        assert indices.tolist() == x.tolist()
        found += x.tolist()
    assert found == [1, 2, 4, 5, 7, 8]


@pytest.mark.skipif(sys.maxsize < 1 << 33, reason="needs an address space of 64 bits")
def test_a_batch_larger_than_memory_is_an_error(tmp_path):
    array = npymap.create(tmp_path / "a.npy", "u1", (2, 1 << 33), sparse=True)
    batches = npymap.Batches(array, [np.zeros(1 << 17, int), []])
    with pytest.raises(MemoryError, match=f"cannot allocate {1 << 50} bytes"):
        next(batches)
    assert next(batches)[1].shape == (0, 1 << 33)


def test_a_list_is_the_dtype_of_a_single_array(tmp_path):
    old, new = np.dtype([("a", "i2"), ("b", "u1")]), [("a", "i4"), ("b", "f8")]
    array = np.array([(1, 2), (3, 4)], old)
    np.save(tmp_path / "a.npy", array)
    mapped = npymap.open(tmp_path / "a.npy")
    for arrays, dtype in [(mapped, new), ([mapped], [new]), ([mapped], np.dtype(new))]:
        [(_, x)] = npymap.Batches(arrays, [[1, 0]], dtype=dtype)
        assert x.dtype == np.dtype(new) and x.tolist() == [(3, 4), (1, 2)]


@pytest.mark.parametrize("dtype", ["S0", "U0"])
def test_elements_without_bytes_are_batches(tmp_path, dtype):
    np.save(tmp_path / "a.npy", np.ndarray((5, 2), dtype))
    [(_, x)] = npymap.Batches(npymap.open(tmp_path / "a.npy"), [[4, 0, 1]])
    assert x.dtype == dtype and x.shape == (3, 2)


def test_dtypes_without_a_size_and_unknown_castings_are_errors(arrays):
    _, _, mapped, y = arrays
    for dtype in (str, "S", "U", "V"):
        with pytest.raises(TypeError, match="no size, expected one with a size, such as"):
            npymap.Batches(y, [[1]], dtype=dtype, casting="unsafe")
    with pytest.raises(ValueError, match="casting 'foo'"):
        npymap.Batches(mapped, [[1]], casting="foo")


def test_numbers_out_of_range_are_named(arrays):
    mapped, sampler = arrays[2], npymap.Sampler(1000)
    for name in ("threads", "prefetch", "epochs"):
        with pytest.raises(ValueError, match=f"{name} is -1, expected at least 0"):
            npymap.Batches(mapped, sampler, 8, **{name: -1})
    assert list(npymap.Batches(mapped, sampler, 8, epochs=0)) == []
    assert len(list(npymap.Batches(mapped, [[1]] * 5, threads=0, prefetch=0))) == 5


def test_a_replaced_file_keeps_its_rows(arrays, tmp_path):
    array = npymap.open(tmp_path / "y.npy", "r+")
    expected = array[[1]].tolist()
    npymap.save(tmp_path / "y.npy", np.zeros(1000))
    assert next(npymap.Batches(array, [[1]]))[1].tolist() == expected


def test_errors_of_the_iterable_come_in_the_place_of_their_batch(arrays):
    def lists():
        yield [0]
        yield [1]
        raise OSError("no more rows")

    found, batches = [], npymap.Batches(arrays[2], lists(), threads=2)
    with pytest.raises(OSError, match="no more rows"):
        found.extend(indices.tolist() for indices, *_ in batches)
    assert found == [[0], [1]] and list(batches) == []

    found, batches = [], npymap.Batches(arrays[2], [[0], [1.5], [2]], threads=2)
    found.append(next(batches)[0].tolist())
    with pytest.raises(TypeError, match="float64"):
        next(batches)
    assert found + [next(batches)[0].tolist()] == [[0], [2]]


def test_closed_batches_draw_no_more_lists(arrays):
    drawn = itertools.count()
    batches = npymap.Batches(arrays[2], ([next(drawn)] for _ in range(50)))
    next(batches)
    batches.close()
    count = next(drawn)
    assert list(batches) == [] and next(drawn) == count + 1


@pytest.mark.parametrize("options", [{"epochs": 3}, {"drop_last": True}, {"batch_size": 2}])
def test_lists_have_no_arguments_of_samplers(arrays, options):
    with pytest.raises(ValueError, match="for a sampler"):
        npymap.Batches(arrays[2], [[0], [1]], **options)
