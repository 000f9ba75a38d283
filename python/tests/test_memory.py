"""What jobs with little memory can do, and file systems that cannot map files."""

import os
import pathlib
import subprocess
import sys
import tarfile

import numpy as np
import pytest

import npymap

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs limits and filters of Linux")

HERE = pathlib.Path(__file__).parent
MIB = 1 << 20
# A file of 2 GiB if nothing is left out to save time.
SIZE = 2048 * MIB if os.environ.get("NPYMAP_TEST_FAULTS") == "all" else 256 * MIB

EPOCHS = """
import errno, resource, sys
import npymap

path, mib = sys.argv[1], 1 << 20
def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))

limit = status("VmSize:") + 128 * mib
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    npymap.open(path)
    sys.exit("a file that is larger than the address space was mapped")
except OSError as error:
    assert error.errno == errno.ENOMEM
file, before = npymap.ArrayFile(path), status("VmHWM:")
for sampler in (None, npymap.Sampler(len(file), seed=1)):
    rows = 0
    for indices, x in npymap.Batches(file, sampler, 64, threads=2, prefetch=2):
        rows += len(x)
    assert rows == len(file)
more = status("VmHWM:") - before
assert more < 64 * mib, more
"""


def test_batches_take_bounded_memory(tmp_path):
    path = tmp_path / "a.npy"
    npymap.create(path, "u1", (SIZE >> 16, 1 << 16), sparse=True)
    # Else glibc reserves 64 MiB of address space for each thread, 128 MiB for a moment.
    env = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    subprocess.run([sys.executable, "-c", EPOCHS, path], check=True, env=env)


def test_epochs_of_a_map_take_bounded_memory(tmp_path):
    path = tmp_path / "a.npy"
    npymap.create(path, "u1", (SIZE >> 16, 1 << 16), sparse=True)
    subprocess.run([sys.executable, HERE / "epochs.py", path], check=True)


WITHOUT_MAPS = """
import errno, sys, warnings
import numpy as np
import npymap, unmapped

directory, expected = sys.argv[1], np.arange(12.0).reshape(3, 4)
"""

READS = """
unmapped.fail_maps(errno.ENODEV)
warnings.simplefilter("error")
try:
    npymap.open(f"{directory}/a.npy")
    sys.exit("no warning")
except UserWarning as warning:
    assert str(warning) == (f"{directory}/a.npy: cannot be mapped here, so all elements were read. "
                            "npymap.ArrayFile(path) reads only what is used"), warning
warnings.simplefilter("ignore")
for name in ("a.npy", "f.npy"):
    array = npymap.open(f"{directory}/{name}")
    assert type(array) is np.ndarray and array.flags.f_contiguous == (name == "f.npy")
    rows = [x for _, x in npymap.Batches(array, None, 2)]
    assert np.array_equal(np.concatenate(rows), expected)
warnings.simplefilter("error")
path = f"{directory}/new.npy"
with npymap.Appender(path, dtype="f8", row=(4,)) as appender:
    appender.append(expected)
npymap.resize(path, 2)
with npymap.RaggedAppender(path + ".d.npy", path + ".o.npy", dtype="f8") as appender:
    appender.append(expected[0])
assert np.array_equal(npymap.Ragged(path + ".d.npy", path + ".o.npy")[0], expected[0])
npymap.recover(path)
assert npymap.header(path).shape == (2, 4)
npymap.save(path, expected)
assert np.array_equal(npymap.load(path), expected)
npymap.update_npz(f"{directory}/a.npz", {"y": expected})
assert np.array_equal(npymap.load(f"{directory}/a.npz")["y"], expected)
assert np.array_equal(npymap.Tar(f"{directory}/a.tar", None)["a.npy"], expected)
"""

DASK = """
import npymap.dask

unmapped.fail_maps(errno.ENODEV)
warnings.simplefilter("error")
x = npymap.dask.from_npy(f"{directory}/a.npy", chunks=2)
assert np.array_equal(x.compute(scheduler="synchronous"), expected)
"""


@pytest.fixture
def files(tmp_path):
    """An array in a file of each memory order, and in archives."""
    array = np.arange(12.0).reshape(3, 4)
    np.save(tmp_path / "a.npy", array)
    np.save(tmp_path / "f.npy", np.asfortranarray(array))
    npymap.savez(tmp_path / "a.npz", x=array)
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(tmp_path / "a.npy", "a.npy")
    return tmp_path


def test_what_cannot_be_mapped_is_read(files):
    subprocess.run([sys.executable, "-c", WITHOUT_MAPS + READS, files], check=True, cwd=HERE)


@pytest.mark.parametrize("error", ["ENODEV", "ENOMEM"])
def test_errors_of_maps_say_what_works(tmp_path, error):
    subprocess.run([sys.executable, HERE / "unmapped.py", error, tmp_path], check=True)


def test_tasks_read_what_cannot_be_mapped(files):
    pytest.importorskip("dask.array")
    subprocess.run([sys.executable, "-c", WITHOUT_MAPS + DASK, files], check=True, cwd=HERE)
