"""xarray opens files by the engine of this package."""

import pickle

import numpy as np
import pytest

import npymap

xarray = pytest.importorskip("xarray")

ARRAY = np.arange(40 * 6 * 5, dtype="<i4").reshape(40, 6, 5)


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "a.npy", ARRAY)
    return tmp_path / "a.npy"


def test_the_engine_is_found(path):
    assert "npymap" in xarray.backends.list_engines()
    data = xarray.open_dataset(path)
    assert list(data) == ["a"] and data["a"].dims == ("dim_0", "dim_1", "dim_2")
    assert data.encoding["source"] == str(path)
    assert xarray.open_dataarray(str(path), engine="npymap").equals(xarray.DataArray(ARRAY))


@pytest.mark.parametrize("mode", [None, "r"])
@pytest.mark.parametrize("order", "CF")
def test_elements_are_read_when_they_are_used(path, mode, order):
    np.save(path, np.asarray(ARRAY, order=order))
    lazy = xarray.open_dataset(path, engine="npymap", mode=mode, cache=False)["a"]
    eager = xarray.DataArray(ARRAY)
    assert not lazy.variable._in_memory
    points = xarray.DataArray([3, 0, 39], dims="z")
    for index in [np.s_[3], np.s_[-1, 2, 4], np.s_[2:30:7, ::-1], np.s_[[4, 2, -3]], np.s_[0, :, [4, 1]],
                  np.s_[[5, 1], [0, 3]], np.s_[[1], 2, [0, 1, 4]], ARRAY[:, 0, 0] % 7 == 0, np.s_[7:7],
                  (points, points % 6)]:
        assert lazy[index].equals(eager[index]), index
    assert lazy[2:9][[3, 1]][:, 1:].equals(eager[2:9][[3, 1]][:, 1:])
    assert float(lazy.sel(dim_0=slice(3, 5)).mean()) == ARRAY[3:5].mean()
    assert pickle.loads(pickle.dumps(lazy)).equals(eager)
    assert len(pickle.dumps(lazy)) < 3000
    found = lazy.values
    assert found.flags.writeable == (mode is None) and type(found) is np.ndarray


@pytest.mark.parametrize("array", [
    np.array(["ab", "abcde"]), np.array([1, 2], ">i4"), np.array([b"a", b"abc"]), np.array(5, ">f8"),
])
def test_single_elements_keep_their_dtype(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    np.savez_compressed(tmp_path / "a.npz", a=array)
    for path in (tmp_path / "a.npy", tmp_path / "a.npz"):
        one = xarray.open_dataset(path, engine="npymap")["a"][(0,) * array.ndim]
        assert one.dtype == one.values.dtype == array.dtype and one.shape == ()
        assert one.values == array[(0,) * array.ndim]


def test_members_are_variables(tmp_path):
    path = tmp_path / "a.npz"
    arrays = {"x": ARRAY, "y": ARRAY[:, 0, 0], "z": np.float64(2.5)}
    for save in [npymap.savez, np.savez, np.savez_compressed]:
        save(path, **arrays)
        data = xarray.open_dataset(path, engine="npymap")
        assert list(data) == ["x", "y", "z"] and data["y"].dims == ("dim_0",)
        assert data["x"][3, [1, 2]].equals(xarray.DataArray(ARRAY)[3, [1, 2]])
        assert (data["x"].sum(["dim_1", "dim_2"]) + data["y"]).shape == (40,)
        assert float(data["z"]) == 2.5
        assert list(xarray.open_dataset(path, engine="npymap", drop_variables="x")) == ["y", "z"]


def test_names_of_axes(path, tmp_path):
    npymap.savez(tmp_path / "a.npz", x=ARRAY, y=np.zeros((3, 6)))
    data = xarray.open_dataset(tmp_path / "a.npz", engine="npymap")
    assert data["x"].dims == ("x_dim_0", "dim_1", "dim_2") and data["y"].dims == ("y_dim_0", "dim_1")
    data = xarray.open_dataset(tmp_path / "a.npz", engine="npymap", dims={"x": ["t", "u", "v"]})
    assert data["x"].dims == ("t", "u", "v")
    data = xarray.open_dataset(path, engine="npymap", dims=["t", "u", "v"])
    assert data["a"].dims == ("t", "u", "v")
    for wrong in [["t"], "tuv"]:
        with pytest.raises(ValueError, match="has 3 axes"):
            xarray.open_dataset(path, engine="npymap", dims=wrong)


def test_errors_are_those_of_the_package(tmp_path):
    with pytest.raises(FileNotFoundError):
        xarray.open_dataset(tmp_path / "none.npy", engine="npymap")
    (tmp_path / "a.npy").write_bytes(b"no array")
    with pytest.raises(npymap.FormatError):
        xarray.open_dataset(tmp_path / "a.npy", engine="npymap")
    npymap.savez(tmp_path / "a.npz", x=ARRAY)
    with pytest.raises(ValueError, match="each variable"):
        xarray.open_dataset(tmp_path / "a.npz", engine="npymap", dims=["t", "u", "v"])


def test_chunks_are_arrays_of_dask(path):
    pytest.importorskip("dask.array")
    data = xarray.open_dataset(path, engine="npymap", chunks={"dim_0": 7})
    assert data["a"].chunks[0] == (7, 7, 7, 7, 7, 5)
    assert data["a"].equals(xarray.DataArray(ARRAY).chunk(dim_0=7))
    assert float(data["a"].mean()) == ARRAY.mean()


def test_a_replaced_file_is_an_error(path):
    data = xarray.open_dataset(path, engine="npymap", mode="r", cache=False)
    assert float(data["a"][0, 0, 1]) == 1
    npymap.save(path, ARRAY + 1)
    for index in (np.s_[0, 0, 1], np.s_[3:9], ...):
        with pytest.raises(npymap.FormatError, match="another file") as error:
            data["a"][index].values
        assert error.value.kind == "Changed"
