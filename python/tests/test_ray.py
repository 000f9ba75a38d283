"""Datasets of Ray Data: tasks that open files by themselves."""

import os
import pickle

import numpy as np
import pytest
from server import serve
from test_urls import IS_REQUIRED, has_feature

import npymap

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

import npymap.ray  # noqa: E402

ARRAY = np.arange(1000 * 6, dtype=">i4").reshape(1000, 6)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # On a busy machine its processes take long to start, and on one with little free
    # memory or disk it would end tasks.
    os.environ["RAY_gcs_server_port_wait_time_s"] = "600"
    os.environ["RAY_gcs_server_request_timeout_seconds"] = "600"
    os.environ["RAY_worker_register_timeout_seconds"] = "600"
    os.environ["RAY_health_check_timeout_ms"] = "600000"
    os.environ["RAY_memory_monitor_refresh_ms"] = "0"
    os.environ["RAY_local_fs_capacity_threshold"] = "1"
    start(attempts=5)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def start(attempts):
    """Start Ray, which waits for the process of its node for at most 30 seconds."""
    try:
        ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, logging_level="ERROR",
                 configure_logging=False)
    except Exception as error:
        ray.shutdown()
        if "timed out during startup" not in str(error) or attempts == 1:
            raise
        start(attempts - 1)


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "a.npy", ARRAY)
    return tmp_path / "a.npy"


def column(data, name="data"):
    rows = [row[name] for row in data.take_all()]
    return np.array(sorted(rows, key=lambda row: tuple(np.ravel(row))))


def test_rows_are_those_of_the_files(path, tmp_path):
    np.save(tmp_path / "f.npy", np.asfortranarray(ARRAY[:7]))
    npymap.savez(tmp_path / "a.npz", x=ARRAY[:, 0])
    np.savez_compressed(tmp_path / "c.npz", x=ARRAY[:, 0])
    data = npymap.ray.read_npy(path, override_num_blocks=5)
    assert np.array_equal(column(data), ARRAY)
    total = data.map_batches(lambda batch: {"sum": [batch["data"].sum()]}).sum("sum")
    assert total == ARRAY.sum()
    several = npymap.ray.read_npy([path, tmp_path / "f.npy"], column="x")
    assert several.count() == 1007
    assert np.array_equal(column(several, "x"), np.sort(np.concatenate([ARRAY, ARRAY[:7]]), 0))
    for name in ["a.npz", "c.npz"]:
        data = npymap.ray.read_npy(tmp_path / name, member="x", override_num_blocks=3)
        assert np.array_equal(column(data), ARRAY[:, 0])


def test_tasks_are_descriptions(path):
    source = npymap.ray.NpyDatasource(path)
    tasks = source.get_read_tasks(8)
    assert len(tasks) == 8 and source.estimate_inmemory_data_size() == ARRAY.nbytes
    assert sum(task.metadata.num_rows for task in tasks) == 1000
    assert tasks[0].metadata.input_files == (str(path),)
    assert all(len(pickle.dumps(task.read_fn)) < 600 for task in tasks)
    # One file of many does not bring the others.
    many = npymap.ray.NpyDatasource([path] * 100).get_read_tasks(100)
    assert len(many) == 100 and all(len(pickle.dumps(task.read_fn)) < 600 for task in many)


def test_shuffled_rows_are_an_epoch_of_the_sampler(path):
    source = npymap.ray.NpyDatasource([path, path], shuffle=5)
    blocks = [block for task in source.get_read_tasks(7) for block in task()]
    rows = np.concatenate([np.stack(block["data"].to_numpy()) for block in blocks])
    order = np.array(list(npymap.Sampler(2000, seed=5)))
    assert np.array_equal(rows, np.concatenate([ARRAY, ARRAY])[order])
    data = npymap.ray.read_npy(path, shuffle=1, override_num_blocks=4)
    assert np.array_equal(column(data), ARRAY)


def test_fields_of_records_are_columns(tmp_path):
    array = np.zeros(5, [("x", ">f4"), ("y", "<i2", (3,))])
    array["x"] = np.arange(5)
    np.save(tmp_path / "a.npy", array)
    rows = npymap.ray.read_npy(tmp_path / "a.npy").take_all()
    assert sorted(row["x"] for row in rows) == [0, 1, 2, 3, 4] and rows[0]["y"].tolist() == [0, 0, 0]


def test_datasets_are_written_as_stacks(path, tmp_path):
    data = npymap.ray.read_npy(path, override_num_blocks=4)
    npymap.ray.write_npy(data, tmp_path / "stack")
    stack = npymap.Concat.npy_stack(tmp_path / "stack")
    assert stack.shape == (1000, 6) and np.array_equal(np.sort(stack[:], 0), ARRAY)
    assert npymap.ray.read_npy(tmp_path / "stack").count() == 1000
    with pytest.raises(FileExistsError):
        npymap.ray.write_npy(data, tmp_path / "stack")


def test_failed_writes_leave_nothing(path, tmp_path):
    data = npymap.ray.read_npy(path)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(Exception):
        npymap.ray.write_npy(data, tmp_path / "stack", column="none")
    with pytest.raises(Exception, match="has no rows"):
        npymap.ray.write_npy(data.filter(lambda row: False), tmp_path / "stack")
    assert sorted(os.listdir(tmp_path)) == before


def test_arrays_that_are_not_rows_are_errors(path, tmp_path):
    np.save(tmp_path / "b.npy", np.zeros((3, 5)))
    np.save(tmp_path / "c.npy", np.float64(1))
    for paths in [[path, tmp_path / "b.npy"], tmp_path / "c.npy", []]:
        with pytest.raises(ValueError, match="must have rows"):
            npymap.ray.read_npy(paths)


@pytest.mark.parametrize("shuffle", [None, 3])
def test_compressed_members_are_inflated_once_for_a_task(tmp_path, monkeypatch, shuffle):
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(1000))
    calls = []
    read = npymap.ray.Inflated.__getitem__
    monkeypatch.setattr(npymap.ray, "_BLOCK", 800)
    monkeypatch.setattr(npymap.ray.Inflated, "__getitem__",
                        lambda self, index: calls.append(index) or read(self, index))
    source = npymap.ray.NpyDatasource(tmp_path / "a.npz", member="x", shuffle=shuffle)
    blocks = [block for task in source.get_read_tasks(4) for block in task()]
    # Each task of a shuffled dataset needs rows of all members.
    assert len(calls) == (1 if shuffle is None else 4)
    assert len(blocks) == (10 if shuffle is None else 12)
    found = np.concatenate([block["data"].to_numpy() for block in blocks])
    assert np.array_equal(np.sort(found), np.arange(1000))
    with pytest.raises(TypeError, match="seed"):
        npymap.ray.NpyDatasource(tmp_path / "a.npz", member="x", shuffle=False)


@pytest.mark.skipif(not IS_REQUIRED and not has_feature(), reason="built without the feature `remote`")
def test_tasks_send_headers(path, tmp_path):
    headers = {"Authorization": "Bearer 5ec2e7"}
    with serve(tmp_path, secret="Bearer 5ec2e7") as (url, requests):
        for access in ({"headers": headers}, {"storage_options": {"headers": headers}}):
            data = npymap.ray.read_npy(f"{url}/a.npy", override_num_blocks=3, **access)
            assert np.array_equal(column(data), ARRAY)
            shuffled = npymap.ray.read_npy([f"{url}/a.npy"] * 2, shuffle=1, **access)
            assert np.array_equal(column(shuffled), np.repeat(ARRAY, 2, 0))
        assert len(requests) > 6
        with pytest.raises(PermissionError, match="pass headers="):
            npymap.ray.read_npy(f"{url}/a.npy")
    with pytest.raises(ValueError, match="a file, for which there are no headers"):
        npymap.ray.read_npy(path, headers=headers)
