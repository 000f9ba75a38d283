"""Samplers visit each row once per epoch, in an order that can be resumed."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import npymap


@pytest.mark.parametrize("order", ["shuffled", "sequential", "blocks"])
@pytest.mark.parametrize("length", [0, 1, 10, 5000])
def test_each_epoch_has_each_row_once(order, length):
    blocks = {"block": 64, "buffer": 4} if order == "blocks" else {}
    sampler = npymap.Sampler(length, seed=3, order=order, **blocks)
    assert len(sampler) == length
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(length))
    assert all(type(row) is int for row in first)
    assert sampler.epoch == 2
    if length > 10 and order != "sequential":
        assert first != second != sorted(second)
    if order == "sequential":
        assert first == list(range(length))


def test_batches_are_the_same_rows():
    sampler = npymap.Sampler(10, seed=1)
    rows = list(sampler.copy())
    batches = list(sampler.copy().batches(4))
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert np.concatenate(batches).tolist() == rows
    assert all(batch.dtype == np.int64 for batch in batches)
    assert [len(batch) for batch in sampler.copy().batches(4, drop_last=True)] == [4, 4]
    assert [len(sampler.next(3)) for _ in range(5)] == [3, 3, 3, 1, 0]
    with pytest.raises(ValueError):
        next(sampler.batches(0))


def test_the_middle_of_an_epoch_is_resumed():
    sampler = npymap.Sampler(1000, seed=5)
    sampler.set_epoch(7)
    sampler.next(137)
    state = sampler.state_dict()
    assert all(type(value) is int for value in state.values())
    rest = list(sampler)
    again = npymap.Sampler(1000, seed=6)
    again.load_state_dict(state)
    assert (again.epoch, again.remaining) == (7, 863)
    assert list(again) == rest
    for other in [npymap.Sampler(999), npymap.Sampler(1000, order="sequential"),
                  npymap.Sampler(1000, world_size=2)]:
        with pytest.raises(ValueError, match="the same rows, order and shard"):
            other.load_state_dict(state)
    with pytest.raises(KeyError):
        sampler.load_state_dict({})


def test_samplers_pickle_with_their_state():
    sampler = npymap.Sampler(10**12, seed=2)
    sampler.next(10)
    data = pickle.dumps(sampler)
    assert len(data) < 400
    assert pickle.loads(data).next(50).tolist() == sampler.copy().next(50).tolist()
    sampler.seek(10**11)
    assert sampler.remaining == 9 * 10**11


@pytest.mark.parametrize("tail, each", [("keep", [4, 3, 3]), ("drop", [3] * 3), ("pad", [4] * 3)])
def test_ranks_and_workers_share_an_epoch(tail, each):
    ranks = [npymap.Sampler(10, seed=1, rank=rank, world_size=3, tail=tail) for rank in range(3)]
    assert [len(rank) for rank in ranks] == each
    rows = [row for rank in ranks for row in rank]
    assert len(set(rows)) == (9 if tail == "drop" else 10)
    rank = npymap.Sampler(10, seed=1, rank=1, world_size=3, tail=tail)
    parts = [list(rank.part(worker, 2)) for worker in range(2)]
    assert sorted(parts[0] + parts[1]) == sorted(rank)
    for shard in [{"rank": 3, "world_size": 3}, {"worker": 1}]:
        with pytest.raises(ValueError):
            npymap.Sampler(10, **shard)


def test_replacement_and_weights():
    sampler = npymap.Sampler(5, order="replacement", draws=1000)
    assert len(sampler) == 1000 and set(sampler) == set(range(5))
    rows = list(npymap.Sampler(3, order="replacement", draws=1000, weights=[0, 3, 1]))
    counts = np.bincount(rows, minlength=3)
    assert counts[0] == 0 and 2 < counts[1] / counts[2] < 4
    for arguments in [{"weights": [1, 2]}, {"weights": [0, 0, 0]}, {"weights": [1, -1, 1]},
                      {"order": "blocks", "weights": [1, 1, 1]}, {"order": "x"},
                      {"tail": "x"}]:
        with pytest.raises(ValueError):
            npymap.Sampler(3, **arguments)
    with pytest.raises(ValueError, match="order 'x', expected 'shuffled'"):
        npymap.Sampler(3, order="x", block=2)
    for name, arguments in [("seed", {"seed": -1}), ("rank", {"rank": -1, "world_size": 2}),
                            ("length", {"length": -1})]:
        with pytest.raises(ValueError, match=f"{name} is -1, expected at least 0"):
            npymap.Sampler(**{"length": 3, **arguments})
    with pytest.raises(ValueError, match="epoch is -1, expected at least 0"):
        npymap.Sampler(3).set_epoch(-1)


ORDERS = {
    "shuffled": {},
    "sequential": {},
    "blocks": {"block": 3, "buffer": 2},
    "replacement": {"draws": 15},
    "weights": {"order": "replacement", "weights": np.arange(20.0)},
}


@pytest.mark.parametrize("order", ORDERS)
def test_each_index_that_is_yielded_moves_the_sampler_by_one(order):
    sampler = npymap.Sampler(20, seed=2, **{"order": order, **ORDERS[order]})
    expected = sampler.copy().next(20).tolist()
    for number, index in enumerate(sampler, 1):
        assert index == expected[number - 1]
        assert sampler.state_dict()["position"] == number
        if number == 7:
            break
    resumed = npymap.Sampler(20, **{"order": order, **ORDERS[order]})
    resumed.load_state_dict(sampler.state_dict())
    assert list(resumed) == list(sampler.copy()) == sampler.next(20).tolist() == expected[7:]
    assert (resumed.epoch, sampler.epoch) == (1, 0)


def test_iterators_share_the_position_and_end_with_the_epoch():
    sampler = npymap.Sampler(11, seed=2)
    expected = sampler.copy().next(11).tolist()
    first, second = iter(sampler), iter(sampler)
    found = [next(first), next(second), next(first)]
    found += sampler.next(2).tolist()
    found += [next(second), *first]
    assert found == expected and sampler.epoch == 1
    assert list(second) == [] and (sampler.epoch, sampler.remaining) == (1, 11)
    batches, others = sampler.batches(4), sampler.batches(4)
    assert [len(batch) for batch in [next(batches), next(others), *batches, *others]] == [4, 4, 3]
    assert sampler.epoch == 2
    for index in sampler:
        sampler.set_epoch(5)
    assert (sampler.epoch, sampler.remaining) == (5, 11)


def test_the_seed_of_a_state_is_kept():
    original = npymap.Sampler(100, seed=6)
    original.set_epoch(2)
    sampler = npymap.Sampler(100, seed=1)
    sampler.load_state_dict(original.state_dict())
    assert repr(sampler) == repr(original) == (
        "<npymap.Sampler: shuffled, 100 rows, seed 6, epoch 2, rank 0 of 1>")
    for again in [sampler, sampler.copy(), pickle.loads(pickle.dumps(sampler))]:
        assert repr(again) == repr(original)
        assert again.state_dict() == original.state_dict()
        for worker in range(2):
            part = again.part(worker, 2)
            assert part.next(50).tolist() == original.part(worker, 2).next(50).tolist()
            assert list(pickle.loads(pickle.dumps(part))) == list(part.copy())
        assert again.next(100).tolist() == original.copy().next(100).tolist()


def test_parts_are_not_divided_again():
    sampler = npymap.Sampler(10, rank=1, world_size=2)
    part = sampler.part(0, 1).part(np.int64(1), 2)
    assert repr(part).endswith("rank 1 of 2, worker 1 of 2>")
    for divided in [part, part.copy(), npymap.Sampler(10, worker=1, num_workers=2)]:
        with pytest.raises(ValueError, match="worker 1 of 2 cannot be divided again"):
            divided.part(0, 2)


@pytest.mark.parametrize("order", ["shuffled", "sequential", "blocks", "replacement"])
def test_arguments_of_other_orders_are_errors(order):
    wrong = [{"block": 0}, {"buffer": 0}, {"block": -1}, {"weights": np.ones((2, 5))}]
    if order != "replacement":
        wrong.append({"draws": 10})
    if order != "blocks":
        wrong += [{"block": 2}, {"buffer": 2}]
    if order in ("sequential", "blocks"):
        wrong.append({"weights": np.ones(10)})
    for arguments in wrong:
        with pytest.raises(ValueError, match=next(iter(arguments))):
            npymap.Sampler(10, order=order, **arguments)
    defaults = {"block": 1, "buffer": np.int64(1), "draws": None, "weights": None}
    assert len(npymap.Sampler(10, order=order, **defaults)) == 10


def test_positions_outside_of_the_epoch_are_errors():
    sampler = npymap.Sampler(10, seed=1)
    sampler.seek(10)
    assert sampler.remaining == 0
    for position in (11, -1, 1 << 70):
        with pytest.raises(ValueError, match=f"position {position} of an epoch of 10 rows"):
            sampler.seek(position)
    assert sampler.remaining == 0


def test_weights_are_copied_and_mean_replacement():
    weights = np.array([0.0, 1.0, 0.0])
    sampler = npymap.Sampler(3, weights=weights, draws=20)
    assert repr(sampler) == "<npymap.Sampler: replacement, 3 rows, seed 0, epoch 0, rank 0 of 1>"
    weights[:] = [1, 0, 0]
    for again in [sampler, sampler.copy(), pickle.loads(pickle.dumps(sampler)), sampler.part(0, 1)]:
        assert again.next(20).tolist() == [1] * 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes to fork")
def test_a_process_that_is_forked_during_a_draw_does_not_wait(tmp_path):
    sampler = npymap.Sampler(1 << 40, seed=1)
    thread = threading.Thread(target=sampler.next, args=(20_000_000,))
    thread.start()
    # It draws for longer than this.
    time.sleep(0.02)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if len(sampler.next(10)) == 10 else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
