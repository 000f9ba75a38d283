"""Datasets and loaders for PyTorch, where it is installed."""

import pickle
import warnings

import numpy as np
import pytest
from arrays import sent

import npymap

torch = pytest.importorskip("torch")

import npymap.torch  # noqa: E402


@pytest.fixture
def files(tmp_path):
    x, y = np.arange(500 * 6, dtype=">f4").reshape(500, 6), np.arange(500, dtype=np.uint16) % 9
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    return x, y, tmp_path


def dataset(files, kind=npymap.open, **options):
    directory = files[2]
    arrays = [kind(directory / name) for name in ("x.npy", "y.npy")]
    return npymap.torch.Dataset(*arrays, dtype=["f4", "i8"], **options)


def lists(loader):
    return [(x[:, 0].tolist(), y.tolist()) for x, y in loader]


@pytest.mark.parametrize("kind", [npymap.open, npymap.ArrayFile, lambda path: npymap.Concat([path])],
                         ids=["open", "ArrayFile", "Concat"])
def test_datasets_return_tensors(files, kind):
    data = dataset(files, kind)
    assert len(data) == 500
    x, y = data[7]
    assert x.dtype == torch.float32 and x.tolist() == files[0][7].tolist() and int(y) == 7
    x, y = data[[3, -1]]
    assert x.shape == (2, 6) and y.tolist() == [3, 499 % 9] and y.dtype == torch.int64
    assert [int(y) for _, y in data.__getitems__([4, 5])] == [4, 5]
    single = npymap.torch.Dataset(npymap.open(files[2] / "x.npy"), transform=lambda x: x + 1)
    assert single[0].tolist() == (files[0][0] + 1).tolist()


def test_pytorchs_own_loader_works(files):
    data = dataset(files)
    sampler = npymap.Sampler(500, seed=1)
    expected = list(sampler.copy())
    loader = torch.utils.data.DataLoader(data, batch_size=32, sampler=sampler)
    assert [round(v / 6) for x, _ in lists(loader) for v in x] == expected
    assert sampler.epoch == 1
    loader = torch.utils.data.DataLoader(
        data, batch_size=None, sampler=npymap.torch.BatchSampler(sampler.copy(), 32))
    assert len(loader) == len(list(loader)) == 16


@pytest.mark.parametrize("iterable", [False, True])
@pytest.mark.parametrize("context", [None, "fork", "spawn"])
def test_every_row_once_per_epoch_and_rank(files, iterable, context):
    data, rows = dataset(files), []
    workers = {} if context is None else {"num_workers": 2, "multiprocessing_context": context}
    for rank in range(2):
        sampler = npymap.Sampler(500, seed=1, rank=rank, world_size=2)
        expected = [batch.tolist() for epoch in range(2) for batch in sampler.copy().batches(32)]
        sampler.set_epoch(0)
        loader = npymap.torch.DataLoader(data, sampler, 32, iterable=iterable, **workers)
        assert len(loader) == 8
        first = lists(loader)
        assert sampler.epoch == 1
        found = [[round(value / 6) for value in x] for x, _ in first]
        assert found == expected[:8]
        rows += sum(found, [])
    assert sorted(rows) == list(range(500))


@pytest.mark.parametrize("iterable", [False, True])
def test_the_middle_of_an_epoch_is_resumed_with_another_number_of_workers(files, iterable):
    data = dataset(files)
    sampler = npymap.Sampler(500, seed=4)
    loader = npymap.torch.DataLoader(data, sampler, 32, iterable=iterable, num_workers=2)
    lists(loader)
    for number, _ in enumerate(loader):
        if number == 5:
            state = loader.state_dict()
            break
    assert state["position"] == 6 * 32 and state["epoch"] == 1
    expected = list(npymap.Sampler(500, seed=4).batches(32))
    again = npymap.torch.DataLoader(data, npymap.Sampler(500), 32, iterable=iterable, num_workers=1)
    again.load_state_dict(pickle.loads(pickle.dumps(state)))
    rest = lists(again)
    assert len(rest) == 10 and len(expected) == 16
    reference = npymap.Sampler(500, seed=4)
    reference.set_epoch(1)
    reference = list(reference.batches(32))[6:]
    assert [[round(v / 6) for v in x] for x, _ in rest] == [rows.tolist() for rows in reference]
    assert lists(again)[0] != rest[0]


def test_the_last_batch_is_dropped(files):
    data = dataset(files)
    for iterable in [False, True]:
        loader = npymap.torch.DataLoader(data, npymap.Sampler(500), 32, drop_last=True,
                                         iterable=iterable, num_workers=1)
        assert [len(x) for x, _ in lists(loader)] == [32] * 15 and len(loader) == 15


def test_loaders_need_no_sampler(files):
    data = dataset(files)
    x, y = data[2:5]
    assert x.tolist() == files[0][2:5].tolist() and y.tolist() == [2, 3, 4]
    assert lists(npymap.torch.DataLoader(data, batch_size=256))[0][1][:3] == [0, 1, 2]
    found = [value for x, _ in lists(npymap.torch.DataLoader(data, batch_size=256, shuffle=True)) for value in x]
    assert sorted(found) == files[0][:, 0].tolist() != found
    with pytest.raises(TypeError, match="batch_size=256"):
        npymap.torch.DataLoader(data, 256)
    with pytest.raises(ValueError, match="both a sampler and shuffle"):
        npymap.torch.DataLoader(data, npymap.Sampler(500), 256, shuffle=True)
    sampler = npymap.Sampler(500)
    for source in (npymap.torch.BatchSampler(sampler, batch_size=32),
                   npymap.torch.IterableDataset(data, sampler, batch_size=32)):
        assert len(source) == 16


def test_rows_of_different_lengths_are_tensors(tmp_path):
    paths = tmp_path / "d.npy", tmp_path / "o.npy"
    with npymap.RaggedAppender(*paths, dtype="i4") as to:
        for row in ([1, 2, 3], [4], [], [5, 6]):
            to.append(row)
    labels = np.arange(4)
    data = npymap.torch.Dataset(npymap.Ragged(*paths), labels, dtype=["i8", None])
    assert len(data) == 4 and data[0][0].tolist() == [1, 2, 3] and data[2][0].tolist() == []
    (packed, offsets), y = data[[3, 0]]
    assert packed.dtype == torch.int64 and packed.tolist() == [5, 6, 1, 2, 3]
    assert offsets.tolist() == [0, 2, 5] and y.tolist() == [3, 0]
    ((packed, offsets), y), = npymap.torch.DataLoader(data, batch_size=4)
    assert packed.tolist() == [1, 2, 3, 4, 5, 6] and offsets.tolist() == [0, 3, 4, 4, 6]
    # PyTorch's own passes rows to a function that collates them.
    loader = torch.utils.data.DataLoader(data, batch_size=2, collate_fn=lambda rows: [len(x) for x, _ in rows])
    assert list(loader) == [[3, 1], [0, 2]]


@pytest.mark.parametrize("order", "<>=")
def test_tensors_have_the_byte_order_of_the_machine(files, order):
    array = npymap.open(files[2] / "x.npy")
    for dtype in (f"{order}f4", f"{order}f8", [np.dtype(f"{order}f4")], array.dtype):
        data = npymap.torch.Dataset(array, dtype=dtype)
        assert data[7].tolist() == files[0][7].tolist()
        assert data[[3, -1]].tolist() == files[0][[3, -1]].tolist()


def test_datasets_are_sent_as_paths(files):
    data = dataset(files)
    assert len(sent(data)) < 2000
    for pickled in (sent(data), pickle.dumps(data)):
        assert pickle.loads(pickled)[3][0].tolist() == files[0][3].tolist()


def test_dtypes_without_tensors_are_errors(files):
    data = npymap.torch.Dataset(npymap.open(files[2] / "x.npy"), dtype="S9", casting="unsafe")
    with pytest.raises(TypeError, match="PyTorch has no tensors of"):
        data[0]
    assert npymap.torch.Dataset(npymap.open(files[2] / "x.npy"))[[]].shape == (0, 6)


def test_arguments_that_do_not_fit_are_errors(files):
    with pytest.raises(ValueError, match="different lengths"):
        npymap.torch.Dataset(npymap.open(files[2] / "x.npy"), npymap.open(files[2] / "y.npy")[1:])
    with pytest.raises(ValueError, match="persistent"):
        npymap.torch.DataLoader(dataset(files), npymap.Sampler(500), 8, iterable=True,
                                num_workers=1, persistent_workers=True)
    with pytest.raises(ValueError, match="batches of 0 rows"):
        npymap.torch.BatchSampler(npymap.Sampler(500), 0)


def test_batches_work_beside_pytorch(files):
    sampler = npymap.Sampler(500, seed=1)
    for indices, x in npymap.Batches(npymap.open(files[2] / "x.npy"), sampler, 50, dtype="f4"):
        assert torch.frombuffer(x, dtype=torch.float32).reshape(50, 6)[:, 0].tolist() == (6.0 * indices).tolist()


@pytest.mark.parametrize("iterable", [False, True])
def test_the_length_is_that_of_the_iteration(files, iterable):
    loader = npymap.torch.DataLoader(dataset(files), npymap.Sampler(500, seed=1), 32,
                                     iterable=iterable)
    assert [len(loader) for _ in loader] == [16] * 16
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for number, _ in enumerate(loader):
            if number == 5:
                break
        assert len(loader) == 10 and len(list(loader)) == 10
    with pytest.raises(ValueError, match="in_order"):
        npymap.torch.DataLoader(dataset(files), npymap.Sampler(500), 32,
                                iterable=iterable, in_order=False)


class Own(npymap.torch.Dataset):
    """A dataset with items of its own."""

    def __getitem__(self, index):
        return super().__getitem__(index)[1] * 2


class Plain:
    """A dataset of another kind."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, rows):
        return torch.tensor(self.values[rows].tolist())


@pytest.mark.parametrize("iterable", [False, True])
def test_threads_read_ahead_what_a_dataset_returns(files, monkeypatch, iterable):
    started = []

    class Counted(npymap.Batches):
        def __init__(self, *arguments, **options):
            started.append(arguments)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(npymap.torch, "Batches", Counted)
    sampler = npymap.Sampler(500, seed=1)
    expected = [rows.tolist() for rows in sampler.copy().batches(32)]
    data = dataset(files, transform=lambda item: (item[0] / 6, item[1] + 1))
    loader = npymap.torch.DataLoader(data, sampler, 32, iterable=iterable, collate_fn=lambda item: item[0].tolist())
    if not iterable:
        assert loader.dataset is data
    assert [[round(v) for v, *_ in x] for x in loader] == expected
    assert len(started) == 1 and sampler.epoch == 1
    # What reads itself is not read by others.
    arrays = [npymap.open(files[2] / name) for name in ("x.npy", "y.npy")]
    for own in (Own(*arrays, dtype=["f4", "i8"]), Plain(files[1].astype(int) * 2)):
        sampler.set_epoch(0)
        loader = npymap.torch.DataLoader(own, sampler, 32, iterable=iterable)
        found = [y.tolist() for y in loader]
        assert found == [(files[1][rows].astype(int) * 2).tolist() for rows in expected]
    assert len(started) == 1


@pytest.mark.parametrize("iterable", [False, True])
@pytest.mark.parametrize("position", [0, 250, 480, 500])
def test_an_epoch_starts_anywhere(files, iterable, position):
    sampler = npymap.Sampler(500, seed=1)
    sampler.seek(position)
    expected = list(npymap.Sampler(500, seed=1))[position:]
    loader = npymap.torch.DataLoader(dataset(files), sampler, 32, iterable=iterable)
    found = lists(loader)
    assert [round(v / 6) for x, _ in found for v in x] == expected
    assert sampler.epoch == 1 and len(loader) == 16


def test_rows_of_different_lengths_are_read_ahead(tmp_path):
    paths = tmp_path / "d.npy", tmp_path / "o.npy"
    with npymap.RaggedAppender(*paths, dtype="i4") as to:
        for length in range(40):
            to.append(range(length))
    data = npymap.torch.Dataset(npymap.Ragged(*paths), dtype="i8")
    for options in ({}, {"iterable": True}, {"iterable": True, "num_workers": 2}):
        for number, (packed, offsets) in enumerate(npymap.torch.DataLoader(data, batch_size=8, **options)):
            lengths = np.arange(8 * number, 8 * number + 8)
            assert offsets.tolist() == [0, *np.cumsum(lengths)] and packed.dtype == torch.int64
            assert packed.tolist() == sum((list(range(length)) for length in lengths), [])
