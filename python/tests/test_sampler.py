"""Samplers visit each row once per epoch, in an order that can be resumed."""

import pickle

import numpy as np
import pytest

import npymap


@pytest.mark.parametrize("order", ["shuffled", "sequential", "blocks"])
@pytest.mark.parametrize("length", [0, 1, 10, 5000])
def test_each_epoch_has_each_row_once(order, length):
    sampler = npymap.Sampler(length, seed=3, order=order, block=64, buffer=4)
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
                  npymap.Sampler(1000, world=2)]:
        with pytest.raises(ValueError, match="the same rows, order and share"):
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
    ranks = [npymap.Sampler(10, seed=1, rank=rank, world=3, tail=tail) for rank in range(3)]
    assert [len(rank) for rank in ranks] == each
    rows = [row for rank in ranks for row in rank]
    assert len(set(rows)) == (9 if tail == "drop" else 10)
    rank = npymap.Sampler(10, seed=1, rank=1, world=3, tail=tail)
    parts = [list(rank.part(worker, 2)) for worker in range(2)]
    assert sorted(parts[0] + parts[1]) == sorted(rank)
    for share in [{"rank": 3, "world": 3}, {"worker": 1}]:
        with pytest.raises(ValueError):
            npymap.Sampler(10, **share)


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
        npymap.Sampler(3, order="x")
    with pytest.raises(OverflowError, match="negative"):
        npymap.Sampler(3, seed=-1)
