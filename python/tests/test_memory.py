"""What jobs with little memory can do, and file systems that cannot map files."""

import os
import subprocess
import sys

import numpy as np
import pytest

import npymap

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs limits and filters of Linux")

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
    subprocess.run([sys.executable, "-c", EPOCHS, path], check=True)


# Makes `mmap` of files fail, as on file systems that cannot map. Libraries are mapped privately.
WITHOUT_MAPS = """
import ctypes, errno, platform, struct, sys, warnings
import numpy as np
import npymap

number = {"x86_64": 9, "aarch64": 222}[platform.machine()]
load, equal, has, answer = 0x20, 0x15, 0x45, 0x06
steps = [(load, 0, 0, 0), (equal, 0, 3, number), (load, 0, 0, 40), (has, 0, 1, 1),
         (answer, 0, 0, 0x50000 | errno.ENODEV), (answer, 0, 0, 0x7FFF0000)]
steps = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("@HP", 6, ctypes.addressof(steps)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
directory, expected = sys.argv[1], np.arange(12.0).reshape(3, 4)
"""

READS = """
warnings.simplefilter("error")
try:
    npymap.open(f"{directory}/a.npy")
    sys.exit("no warning")
except UserWarning as warning:
    assert str(warning).startswith(f"{directory}/a.npy: cannot be mapped here, so"), warning
warnings.simplefilter("ignore")
for name in ("a.npy", "f.npy"):
    path = f"{directory}/{name}"
    for array in (npymap.open(path), npymap.load(path, "r"), npymap.ArrayFile(path, "r")[:]):
        assert type(array) is np.ndarray and not array.flags.writeable, path
        assert np.array_equal(array, expected), path
    assert npymap.open(path).flags.f_contiguous == (name == "f.npy")
for array in (npymap.open(f"{directory}/a.npz", member="x"), npymap.Npz(f"{directory}/a.npz")["x"],
              npymap.Tar(f"{directory}/a.tar")["a.npy"], npymap.load(f"{directory}/a.npz", "r")["x"],
              npymap.ArrayFile(f"{directory}/a.npy", "r").rows.take([0, 1, 2]),
              npymap.Concat([f"{directory}/a.npy", f"{directory}/a.npy"]).take([3, 1, 2])):
    assert np.array_equal(array, expected)
rows = [x for _, x in npymap.Batches(npymap.open(f"{directory}/a.npy"), None, 2)]
assert np.array_equal(np.concatenate(rows), expected)
try:
    npymap.open(f"{directory}/a.npy", "r+")
    sys.exit("changes of the copy would be lost")
except OSError as error:
    assert error.errno == errno.ENODEV and "npymap.ArrayFile(path) reads" in str(error)
"""

DASK = """
import npymap.dask
warnings.simplefilter("error")
x = npymap.dask.from_npy(f"{directory}/a.npy", chunks=2)
assert np.array_equal(x.compute(scheduler="synchronous"), expected)
"""


@pytest.fixture
def files(tmp_path):
    """An array in a file of each memory order, and in archives."""
    tarfile = pytest.importorskip("tarfile")
    array = np.arange(12.0).reshape(3, 4)
    np.save(tmp_path / "a.npy", array)
    np.save(tmp_path / "f.npy", np.asfortranarray(array))
    npymap.savez(tmp_path / "a.npz", x=array)
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(tmp_path / "a.npy", "a.npy")
    return tmp_path


def test_what_cannot_be_mapped_is_read(files):
    subprocess.run([sys.executable, "-c", WITHOUT_MAPS + READS, files], check=True)


def test_tasks_read_what_cannot_be_mapped(files):
    pytest.importorskip("dask.array")
    subprocess.run([sys.executable, "-c", WITHOUT_MAPS + DASK, files], check=True)
