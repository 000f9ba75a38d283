"""Loops for JAX and Grain, where they are installed."""

import json
import pickle

import numpy as np
import pytest

import npymap


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(1000 * 64, dtype=">f4").reshape(1000, 64))
    return tmp_path / "x.npy"


class BatchSource:
    """The batches of a sampler by number, for Grain's processes and threads."""

    def __init__(self, array, sampler, size):
        self.array, self.sampler, self.size = array, sampler, size

    def __len__(self):
        return -(-len(self.sampler) // self.size)

    def __getitem__(self, number):
        sampler = self.sampler.copy()
        sampler.seek(int(number) * self.size)
        return self.array.rows.take(sampler.next(self.size), dtype="f4")


def first_column(batch):
    return (np.asarray(batch)[:, 0] / 64).astype(int).tolist()


def test_a_loop_with_jax(path):
    jax = pytest.importorskip("jax")

    array, sampler = npymap.open(path), npymap.Sampler(1000, seed=1)
    expected = list(sampler.copy())
    total = jax.jit(lambda x: x.sum())
    # JAX may use the memory of a batch without copying it, and then keeps it.
    kept, sums = [], []
    for indices, x in npymap.Batches(array, sampler, 32, dtype="f4", threads=2):
        kept.append(jax.device_put(x))
        sums.append(float(total(kept[-1][:, 0])) / 64)
        assert sums[-1] == indices.sum()
    assert sum((first_column(x) for x in kept), []) == expected


@pytest.mark.parametrize("kind", [npymap.open, npymap.ArrayFile], ids=["open", "ArrayFile"])
def test_grain_reads_rows(path, kind):
    grain = pytest.importorskip("grain")

    data = grain.MapDataset.source(kind(path)).shuffle(seed=1).batch(50)
    found = sum((first_column(x) for x in data), [])
    assert sorted(found) == list(range(1000)) and found != sorted(found)


@pytest.mark.parametrize("threads", [0, 4])
def test_grain_reads_the_batches_of_a_sampler(path, threads):
    grain = pytest.importorskip("grain")

    sampler = npymap.Sampler(1000, seed=1, rank=1, world_size=2)
    source = BatchSource(npymap.open(path), sampler, 32)
    options = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=2 * threads)
    batches = grain.MapDataset.source(source).to_iter_dataset(options)
    found = sum((first_column(x) for x in batches), [])
    assert found == list(sampler.copy()) and len(found) == 500


def test_grain_resumes_in_the_middle(path):
    grain = pytest.importorskip("grain")

    source = BatchSource(npymap.ArrayFile(path), npymap.Sampler(1000, seed=1), 32)
    batches = iter(grain.MapDataset.source(source).to_iter_dataset())
    for _ in range(5):
        next(batches)
    state = batches.get_state()
    rest = [first_column(x) for x in batches]
    again = iter(grain.MapDataset.source(source).to_iter_dataset())
    again.set_state(state)
    assert [first_column(x) for x in again] == rest and len(rest) == 27


def dataset(path, sampler, **options):
    pytest.importorskip("grain")
    import npymap.grain

    labels = np.arange(1000)
    return npymap.grain.IterDataset([npymap.open(path), labels], sampler, 32, dtype=["f4", None], **options)


def test_grain_gets_batches_that_are_read_ahead(path):
    sampler = npymap.Sampler(1000, seed=1, rank=1, world_size=2)
    expected = [rows.tolist() for _ in range(2) for rows in sampler.copy().batches(32)]
    data = dataset(path, sampler, epochs=2, threads=2).map(lambda batch: (batch[0] * 2, batch[1]))
    found = list(data)
    assert len(found) == 32 and found[0][0].dtype == np.float32
    second = sampler.copy()
    second.set_epoch(1)
    assert [y.tolist() for _, y in found] == expected[:16] + [rows.tolist() for rows in second.batches(32)]
    assert all((first_column(x / 2) == y).all() for x, y in found)
    assert sum(len(y) for _, y in dataset(path, sampler, drop_last=True)) == 480
    assert sampler.epoch == 0 and sampler.remaining == 500


def test_grain_resumes_after_any_batch(path):
    data = dataset(path, npymap.Sampler(1000, seed=3), epochs=2)
    expected = [y.tolist() for _, y in data]
    for drawn in (0, 1, 31, 32, 40, 64):
        batches = iter(data)
        for _ in range(drawn):
            next(batches)
        again = iter(data)
        next(again)
        again.set_state(json.loads(json.dumps(batches.get_state())))
        assert [y.tolist() for _, y in again] == expected[drawn:], drawn
        batches.close()
        with pytest.raises(ValueError, match="closed"):
            next(batches)
    single = npymap.grain.IterDataset(npymap.ArrayFile(path), npymap.Sampler(1000), 300)
    single = pickle.loads(pickle.dumps(single))
    assert sum((first_column(x) for x in single), []) == list(npymap.Sampler(1000))


def test_processes_of_grain_cannot_divide_batches(path):
    with pytest.raises(ValueError, match="processes of mp_prefetch cannot divide: leave it out"):
        dataset(path, npymap.Sampler(1000)).set_slice(slice(0, None, 2))
