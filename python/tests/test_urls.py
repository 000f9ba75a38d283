"""Arrays at URLs: what is selected is requested, and nothing else."""

import os
import pickle
import signal
import tarfile
import threading
import time

import numpy as np
import pytest
from server import serve

import npymap

ARRAY = np.arange(400 * 3000, dtype="<f4").reshape(400, 3000)


def has_feature():
    try:
        npymap.header("s3:///")
    except npymap.FormatError as error:
        return "reads no URLs" not in str(error)
    except (ValueError, OSError):
        return True


IS_REQUIRED = os.environ.get("NPYMAP_REQUIRE_URLS") == "1"
pytestmark = pytest.mark.skipif(not IS_REQUIRED and not has_feature(),
                                reason="built without the feature `remote`")


@pytest.fixture
def web(tmp_path):
    np.save(tmp_path / "a.npy", ARRAY)
    np.save(tmp_path / "f.npy", np.asfortranarray(ARRAY[:, :700]))
    npymap.savez(tmp_path / "a.npz", x=ARRAY, y=[1.0, 2.0])
    np.savez_compressed(tmp_path / "c.npz", x=ARRAY, y=[1.0, 2.0])
    with serve(tmp_path) as (url, requests):
        yield tmp_path, url, requests


def test_headers_and_whole_arrays(web):
    directory, url, requests = web
    assert npymap.header(f"{url}/a.npy").shape == (400, 3000)
    assert len(requests) == 1
    for name in ["a.npy", "f.npy"]:
        found = npymap.load(f"{url}/{name}")
        assert np.array_equal(found, np.load(directory / name)) and found.flags.writeable
    with npymap.load(f"{url}/a.npz") as archive:
        assert archive.files == ["x", "y"] and archive["y"].tolist() == [1, 2]
        assert np.array_equal(archive["x"], ARRAY)
    # The query of a presigned URL follows the extension.
    with npymap.load(f"{url}/a.npz?sig=1.npy") as archive:
        assert archive.files == ["x", "y"]


@pytest.mark.parametrize("name", ["a.npy", "f.npy"])
def test_what_is_selected_is_requested(web, name):
    directory, url, requests = web
    array = np.load(directory / name)
    file = npymap.ArrayFile(f"{url}/{name}")
    assert file.path == f"{url}/{name}" and len(requests) == 1
    for index in [3, np.s_[100:103], np.s_[200:, 5], np.s_[7, 8], [300, 2], np.s_[::-1, -1:], np.s_[::50]]:
        assert np.array_equal(file[index], array[index]), index
    assert np.array_equal(file.take([5, 399]), array[[5, 399]])
    assert np.array_equal(npymap.ArrayFile(f"{url}/{name}")[:], array)


def test_few_bytes_are_requested(web):
    _, url, requests = web
    file = npymap.ArrayFile(f"{url}/a.npy")
    assert np.array_equal(file[200:203, 5:8], ARRAY[200:203, 5:8])
    assert np.array_equal(file.take([300, 100]), ARRAY[[300, 100]])
    sizes = [int(end) - int(start) + 1 for start, end in (text[6:].split("-") for text in requests)]
    assert len(sizes) <= 4 and sum(sizes) < 400_000


def test_descriptions_read_the_version_they_describe(web):
    directory, url, requests = web
    for file in [npymap.ArrayFile(f"{url}/a.npy"), npymap.ArrayFile(f"{url}/a.npz", member="x")]:
        data = pickle.dumps(file)
        assert len(data) < 400
        requests.clear()
        for _ in range(3):
            assert np.array_equal(pickle.loads(data)[390], ARRAY[390])
        # All descriptions in a process share what was opened.
        assert requests.count("bytes=0-65535") <= 1
        assert pickle.loads(data) == file
        token = file.__dask_tokenize__()
        assert token == npymap.ArrayFile(file.path, member=file.member).__dask_tokenize__()
        path = directory / file.path.rsplit("/", 1)[1]
        os.utime(path, ns=(0, 0))
        with pytest.raises(npymap.FormatError) as error:
            pickle.loads(data)[200]
        assert error.value.kind == "Changed"
        assert token != npymap.ArrayFile(file.path, member=file.member).__dask_tokenize__()


def test_versions_without_entity_tags_are_told_apart_by_their_times(web):
    directory, _, _ = web
    with serve(directory, version_headers=("Last-Modified",)) as (url, _):
        for name, member in [("a.npy", None), ("a.npz", "x")]:
            os.utime(directory / name, (1_700_000_000, 1_700_000_000))
            file = npymap.ArrayFile(f"{url}/{name}", member=member)
            data, token = pickle.dumps(file), file.__dask_tokenize__()
            assert np.array_equal(pickle.loads(data)[390], ARRAY[390])
            # Other elements of the same size, in a process that has not read it.
            if member is None:
                np.save(directory / name, ARRAY + 1)
            else:
                npymap.savez(directory / name, x=ARRAY + 1, y=[1.0, 2.0])
            os.utime(directory / name, (1_700_000_007, 1_700_000_007))
            npymap._arrayfile._open_object.cache_clear()
            with pytest.raises(npymap.FormatError, match="replaced") as error:
                pickle.loads(data)[390]
            assert error.value.kind == "Changed"
            assert token != npymap.ArrayFile(f"{url}/{name}", member=member).__dask_tokenize__()
    # Without a time, only another size is noticed.
    with serve(directory, version_headers=()) as (url, _):
        file = npymap.ArrayFile(f"{url}/a.npy")
        assert np.array_equal(pickle.loads(pickle.dumps(file))[390], ARRAY[390] + 1)


def test_forked_processes_connect_again(web):
    _, url, _ = web
    file = npymap.ArrayFile(f"{url}/a.npy")
    assert file[1, 1] == ARRAY[1, 1]
    child = os.fork()
    if child == 0:
        is_same = False
        try:
            is_same = bool(np.array_equal(file[390], ARRAY[390]))
        finally:
            os._exit(0 if is_same else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_rows_of_urls_are_read_in_forked_processes(web):
    _, url, _ = web
    file = npymap.ArrayFile(f"{url}/a.npy")
    sources = [file.rows, file.rows.windows(2)]
    expected = [rows.take([390, 7]) for rows in sources]
    child = os.fork()
    if child == 0:
        is_same = False
        try:
            is_same = all(np.array_equal(rows.take([390, 7]), taken)
                          for rows, taken in zip(sources, expected))
        finally:
            os._exit(0 if is_same else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(os.name == "nt", reason="sends signals")
def test_signals_interrupt_waits(tmp_path):
    def interrupt():
        # As soon as the main thread waits for the server.
        while len(requests) == before:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    def first_batch(file):
        # It is not closed, but freed, and its threads do not wait for the server.
        for batch in npymap.Batches(file, npymap.Sampler(400, seed=1), 10):
            return batch

    np.save(tmp_path / "a.npy", ARRAY)
    answers = threading.Event()
    answers.set()
    # Programs that are started in the background ignore it.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    with serve(tmp_path, answers) as (url, requests):
        file = npymap.ArrayFile(f"{url}/a.npy")
        answers.clear()
        try:
            for call in [lambda: file[300:], lambda: file.take([3, 399]), lambda: npymap.load(f"{url}/a.npy"),
                         lambda: first_batch(file)]:
                before = len(requests)
                thread = threading.Thread(target=interrupt, daemon=True)
                thread.start()
                with pytest.raises(KeyboardInterrupt):
                    call()
                thread.join()
        finally:
            signal.signal(signal.SIGINT, handler)
            answers.set()
        assert np.array_equal(file.take([3, 399]), ARRAY[[3, 399]])


def test_other_archives(web):
    directory, url, _ = web
    with tarfile.open(directory / "a.tar", "w") as tar:
        tar.add(directory / "a.npy", "x.npy")
    assert np.array_equal(npymap.Tar(f"{url}/a.tar")["x.npy"], ARRAY)
    file = npymap.ArrayFile(f"{url}/a.tar", member="x.npy")
    assert np.array_equal(file[5:9], ARRAY[5:9])
    with pytest.raises(KeyError):
        npymap.ArrayFile(f"{url}/a.npz", member="none")


def test_errors_are_pythons(web):
    _, url, _ = web
    with pytest.raises(FileNotFoundError) as error:
        npymap.ArrayFile(f"{url}/none.npy")
    assert error.value.filename == f"{url}/none.npy"
    with pytest.raises(PermissionError):
        npymap.ArrayFile(f"{url}/denied.npy")
    # The query of a presigned URL is secret.
    with pytest.raises(FileNotFoundError) as error:
        npymap.load(f"{url}/none.npy?X-Amz-Signature=secret")
    assert error.value.filename == f"{url}/none.npy" and "secret" not in str(error.value)
    with pytest.raises(npymap.FormatError) as error:
        npymap.header(f"{url}/a.npz?sig=secret")
    assert "secret" not in str(error.value)
    with pytest.raises(ValueError, match="expected"):
        npymap.ArrayFile("s3:///")
    with pytest.raises(ValueError, match="expected none with `#`, and `\\?` only after http"):
        npymap.ArrayFile(f"{url}/a.npy#1")
    for call in [lambda: npymap.open(f"{url}/a.npy"), lambda: npymap.load(f"{url}/a.npy", "r"),
                 lambda: npymap.Npz(f"{url}/a.npz", "c"), lambda: npymap.save(f"{url}/b.npy", [1]),
                 lambda: npymap.ArrayFile(f"{url}/a.npy", "r"),
                 lambda: npymap.ArrayFile(f"{url}/a.npy").map(3)]:
        with pytest.raises(ValueError, match="a URL, which"):
            call()
    assert np.array_equal(npymap.Concat([f"{url}/a.npy"]).take([399, 0]), ARRAY[[399, 0]])


def test_dask_and_xarray_read_urls(web):
    directory, url, requests = web
    pytest.importorskip("dask.array")
    import npymap.dask

    x = npymap.dask.from_npy(f"{url}/a.npy", (100, -1))
    assert np.array_equal(x[150:250, :9].compute(), ARRAY[150:250, :9])
    assert x.name == npymap.dask.from_npy(f"{url}/a.npy", (100, -1)).name
    requests.clear()
    several = npymap.dask.from_npy([f"{url}/a.npy"] * 4, (400, -1))
    assert len(requests) == 4 and several.shape == (1600, 3000)
    y = npymap.dask.from_npy(f"{url}/c.npz", member="x")
    assert np.array_equal(y.compute(), ARRAY)
    name = y.name
    os.utime(directory / "c.npz", ns=(0, 0))
    assert npymap.dask.from_npy(f"{url}/c.npz", member="x").name != name

    xarray = pytest.importorskip("xarray")
    for name in ["a.npz", "c.npz", "a.npz?sig=1.npy"]:
        data = xarray.open_dataset(f"{url}/{name}", engine="npymap", drop_variables="y")
        assert np.array_equal(data["x"][3:5, 7], ARRAY[3:5, 7])


def test_waits_for_servers_are_limited_by_the_environment(web, monkeypatch):
    directory, _, _ = web
    monkeypatch.setenv("NPYMAP_REQUEST_TIMEOUT", "300ms")
    with serve(directory, answers=threading.Event()) as (url, _):
        with pytest.raises(TimeoutError, match="more than 300ms: allow more by NPYMAP_REQUEST_TIMEOUT: 'http"):
            npymap.load(f"{url}/a.npy")
    monkeypatch.setenv("NPYMAP_REQUEST_TIMEOUT", "soon")
    with pytest.raises(ValueError, match="NPYMAP_REQUEST_TIMEOUT='soon': expected a duration"):
        npymap.load(f"{url}/a.npy")


def test_signatures_are_only_shown_where_the_url_is_asked_for(web):
    directory, url, _ = web
    np.save(directory / "o.npy", np.array([None, 1], object))
    with pytest.raises(npymap.FormatError, match="holds Python objects") as error:
        npymap.load(f"{url}/o.npy?sig=5ec2e7", allow_pickle=True)
    assert "5ec2e7" not in repr((error.value, error.value.args, error.value.filename))
    with pytest.raises(ValueError, match="scheme 'HTTP'") as error:
        npymap.load(f"HTTP{url[4:]}/a.npy?sig=5ec2e7")
    assert "5ec2e7" not in str(error.value)
    file = npymap.ArrayFile(f"{url}/a.npy?sig=5ec2e7")
    archive = npymap.Npz(f"{url}/a.npz?sig=5ec2e7")
    member = archive["x"]
    while isinstance(member, np.ndarray):
        member = member.base
    for one in [file, archive, archive["x"].base, member, npymap.Concat([file.path]), file.rows]:
        assert "5ec2e7" not in repr(one), one
    # What opens it again has all of it.
    assert file.path.endswith("5ec2e7") and b"5ec2e7" in pickle.dumps(file)


def test_errors_do_not_show_what_is_secret():
    url = "https://me:SECRET@example.invalid/x.npy?sig=SECRET"
    for function in (npymap.open, npymap.recover, lambda url: npymap.ArrayFile(url, "r")):
        with pytest.raises(ValueError) as error:
            function(url)
        assert "https://example.invalid/x.npy: " in str(error.value)
        assert "SECRET" not in str(error.value)
    for url in ["https://h/x//y.npy?sig=SECRET", "https://h:x/y.npy?sig=SECRET",
                "https://me:SECRET@h/x//y.npy", "https://h/%FF.npy?sig=SECRET"]:
        with pytest.raises(ValueError) as error:
            npymap.load(url)
        assert "SECRET" not in str(error.value)


@pytest.fixture
def small(tmp_path):
    """A directory of small files, and the array that they have."""
    array = np.arange(12_000.0).reshape(400, 30)
    np.save(tmp_path / "a.npy", array)
    npymap.savez(tmp_path / "a.npz", x=array)
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(tmp_path / "a.npy", "x.npy")
    return tmp_path, array


def test_whole_reads_download_from_servers_without_ranges(small):
    directory, array = small
    out = np.empty_like(array)
    with serve(directory, version_headers=(), has_ranges=False) as (url, requests):
        assert npymap.load(f"{url}/a.npy", out=out) is out and np.array_equal(out, array)
        # A range, which the server ignores, and all of it.
        assert requests == ["bytes=0-65535", None]
        assert np.array_equal(npymap.load(f"{url}/a.npz")["x"], array)
        assert np.array_equal(npymap.Tar(f"{url}/a.tar")["x.npy"], array)
        for lazy in (npymap.ArrayFile, npymap.header):
            with pytest.raises(npymap.FormatError, match="npymap.load, npymap.Npz and npymap.Tar"):
                lazy(f"{url}/a.npy")


def test_headers_are_sent_with_each_request(small):
    directory, array = small
    headers = {"Authorization": "Bearer 5ec2e7"}
    with serve(directory, secret="Bearer 5ec2e7") as (url, _):
        assert np.array_equal(npymap.load(f"{url}/a.npz", headers=headers)["x"], array)
        assert npymap.header(f"{url}/a.npy", storage_options={"headers": headers}).shape == array.shape
        options = {"headers": headers, "storage_options": {"timeout": "1 minute"}}
        file = npymap.ArrayFile(f"{url}/a.npz", member="x", **options)
        for one in (file, pickle.loads(pickle.dumps(file))):
            assert np.array_equal(one[390], array[390])
        assert "5ec2e7" not in repr(file)
        with pytest.raises(PermissionError, match="pass headers="):
            npymap.load(f"{url}/a.npy")
        for wrong in ({"no name": "x"}, {"X-A": "a\nb"}):
            with pytest.raises(ValueError, match="the header"):
                npymap.load(f"{url}/a.npy", headers={**headers, **wrong})
    with pytest.raises(ValueError, match="a file, for which there are no headers"):
        npymap.load(directory / "a.npy", headers=headers)


def test_adapters_send_headers(small):
    directory, array = small
    np.savez_compressed(directory / "c.npz", x=array)
    headers = {"Authorization": "Bearer 5ec2e7"}
    with serve(directory, secret="Bearer 5ec2e7") as (url, _):
        dask = pytest.importorskip("dask")
        import npymap.dask

        for name, member in [("a.npy", None), ("a.npz", "x"), ("c.npz", "x")]:
            for access in ({"headers": headers}, {"storage_options": {"headers": headers}}):
                x = npymap.dask.from_npy(f"{url}/{name}", member=member, **access)
                # As another process gets it, which has nothing open.
                npymap._arrayfile._open_object.cache_clear()
                x = pickle.loads(pickle.dumps(x))
                with dask.config.set(scheduler="synchronous"):
                    assert np.array_equal(x.compute(), array)
                assert "5ec2e7" not in repr(x) + x.name
            with pytest.raises(PermissionError, match="pass headers="):
                npymap.dask.from_npy(f"{url}/{name}", member=member)
        joined = npymap.dask.from_npy([f"{url}/a.npy"] * 2, headers=headers)
        assert np.array_equal(joined[-1].compute(scheduler="synchronous"), array[-1])
        with pytest.raises(ValueError, match="a file, for which there are no headers"):
            npymap.dask.from_npy([f"{url}/a.npy", directory / "a.npy"], headers=headers)

        xarray = pytest.importorskip("xarray")
        for name in ("a.npy", "a.npz", "c.npz"):
            for access in ({"headers": headers}, {"storage_options": {"headers": headers}}):
                data = xarray.open_dataset(f"{url}/{name}", engine="npymap", **access)
                assert np.array_equal(next(iter(data.values()))[5:9], array[5:9])


def test_options_of_stores_are_passed_on():
    with pytest.raises(ValueError, match="timeout"):
        npymap.load("http://127.0.0.1:9/a.npy", storage_options={"timeout": "soon"})


def test_rows_of_different_lengths_are_at_urls(tmp_path):
    with npymap.RaggedAppender(tmp_path / "d.npy", tmp_path / "o.npy", dtype="u2") as to:
        for length in range(50):
            to.append(np.full(length, length, "u2"))
    with serve(tmp_path) as (url, _):
        ragged = npymap.Ragged(f"{url}/d.npy", npymap.ArrayFile(f"{url}/o.npy"))
        assert [len(found) for found in ragged] == list(range(50))
        padded, lengths = pickle.loads(pickle.dumps(ragged)).take_padded([49, 2], 3, fill=7)
        assert padded.tolist() == [[49] * 3, [2, 2, 7]] and lengths.tolist() == [49, 2]
        for indices, (packed, offsets) in npymap.Batches(ragged, npymap.Sampler(50, seed=1), 20):
            assert packed.tolist() == np.repeat(indices, indices).tolist()
