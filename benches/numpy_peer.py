"""NumPy's side of the benchmarks: times batches on request.

Takes the directory of the files. Prints a line with NumPy's version, then
answers each line `benchmark iterations` with the elapsed nanoseconds. `timeit`
disables the garbage collector.
"""

import io
import mmap
import os
import sys
from timeit import Timer

try:
    import numpy
    from numpy.lib.format import open_memmap, read_array_header_1_0
except ImportError as error:
    sys.exit(f"python3 cannot import NumPy: {error}")

try:
    import npy_append_array
except ImportError:
    npy_append_array = None

try:
    from mmap_ninja import numpy as ninja
except ImportError:
    ninja = None

directory = sys.argv[1]


def opening(name, index):
    path = f"{directory}/{name}.npy"
    statement = "array = open_memmap(path, mode='r'); array[index]; del array"
    names = {"open_memmap": open_memmap, "path": path, "index": index}
    return Timer(statement, globals=names)


def parsing(name):
    with open(f"{directory}/{name}.npy", "rb") as file:
        header = file.read()[8:]  # after magic and version
    names = {"BytesIO": io.BytesIO, "read": read_array_header_1_0, "header": header}
    return Timer("read(BytesIO(header))", globals=names)


class Appending:
    """Appends rows to a new file that is kept open."""

    def __init__(self, size):
        self.row = numpy.full((1, size // 8), 1.5)

    def timeit(self, number):
        path = f"{directory}/appended-by-others.npy"
        with npy_append_array.NpyAppendArray(path, delete_if_exists=True) as to:
            to.append(self.row)
            seconds = Timer(lambda: to.append(self.row)).timeit(number)
        os.unlink(path)
        return seconds


class Filling:
    """Creates and fills files."""

    def __init__(self, mebibytes):
        self.length = mebibytes << 17

    def timeit(self, number):
        return sum(self.once() for _ in range(number))

    def once(self):
        path = f"{directory}/filled-by-numpy.npy"
        seconds = Timer(lambda: self.fill(path)).timeit(1)
        os.unlink(path)
        return seconds

    def fill(self, path):
        array = open_memmap(path, "w+", "f8", (self.length,))
        array.fill(1.5)


class Editing:
    """Stores a thousand elements and flushes them."""

    def __init__(self, cold):
        self.cold = cold
        self.random = numpy.random.default_rng(1)

    def timeit(self, number):
        return sum(self.once() for _ in range(number))

    def once(self):
        path = f"{directory}/edited.npy"
        if self.cold:
            with open(path) as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        array = open_memmap(path, "r+")
        places = self.random.integers(0, array.size, 1000)
        return Timer(lambda: self.edit(array, places)).timeit(1)

    def edit(self, array, places):
        array[places] = 2.0
        array.flush()


def evict(path):
    """Evicts a file from the page cache. Nothing may have it mapped."""
    with open(path) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def mapped(name):
    return numpy.load(f"{directory}/{name}.npy", mmap_mode="r")


def bulk(statement, name="f8-little"):
    names = {"numpy": numpy, "a": mapped(name), "path": f"{directory}/{name}.npy"}
    return Timer(statement, globals=names)


def copying(name):
    names = {"copyto": numpy.copyto, "a": mapped(name)}
    names["out"] = numpy.ones(names["a"].shape)
    return Timer("copyto(out, a)", globals=names)


class Cold:
    """Sums a file that was just evicted from the page cache."""

    def timeit(self, number):
        return sum(self.once() for _ in range(number))

    def once(self):
        path = f"{directory}/cold.npy"
        evict(path)
        return Timer(lambda: numpy.load(path, mmap_mode="r").sum()).timeit(1)


class Rows:
    """Takes random rows; `how` is "index", "take", "cold" or "advised"."""

    def __init__(self, size, how):
        self.path, self.how = f"{directory}/rows-{size}.npy", how
        self.random = numpy.random.default_rng(1)
        if how in ("index", "take"):
            self.array = self.open()
            self.out = numpy.zeros((256, self.array.shape[1]), self.array.dtype)

    def open(self):
        return numpy.load(self.path, mmap_mode="r")

    def timeit(self, number):
        return sum(self.once() for _ in range(number))

    def once(self):
        if self.how in ("cold", "advised"):
            evict(self.path)
            array = self.open()
            if self.how == "advised":
                array._mmap.madvise(mmap.MADV_RANDOM)
        else:
            array = self.array
        indices = self.random.integers(0, len(array), 256)
        if self.how == "take":
            return Timer(lambda: numpy.take(array, indices, axis=0, out=self.out)).timeit(1)
        return Timer(lambda: array[indices]).timeit(1)


class Epoch:
    """Copies all rows in random order, in batches, maybe from a file that was just evicted."""

    def __init__(self, name, is_cold=True):
        self.path, self.is_cold = f"{directory}/{name}.npy", is_cold
        self.random = numpy.random.default_rng(1)

    def timeit(self, number):
        return sum(self.once() for _ in range(number))

    def once(self):
        if self.is_cold:
            evict(self.path)
        return Timer(self.epoch).timeit(1)

    def epoch(self):
        array = numpy.load(self.path, mmap_mode="r")
        order = self.random.permutation(len(array))
        for start in range(0, len(order), 256):
            array[order[start : start + 256]]


class NinjaRows(Rows):
    """The same rows in mmap_ninja's own files; `how` is "index" or "cold"."""

    def __init__(self, size, how):
        self.directory = f"{directory}/ninja-{size}"
        if not os.path.exists(self.directory):
            array = numpy.load(f"{directory}/rows-{size}.npy", mmap_mode="r")
            ninja.from_ndarray(self.directory, array)
            self.settle()
        super().__init__(size, how)
        self.path = f"{self.directory}/data.ninja"

    def open(self):
        return ninja.open_existing(self.directory)

    def settle(self):
        """Reads the file again, in the largest pages the kernel has."""
        path = f"{self.directory}/data.ninja"
        with open(path, "rb+") as file:
            os.fsync(file.fileno())
            evict(path)
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as map:
                map.madvise(mmap.MADV_HUGEPAGE)
                numpy.frombuffer(map, "u1")[::64].sum()


class Sparse:
    """Takes 25,600 rows of a file larger than memory, 256 at a time."""

    def __init__(self):
        self.path = f"{directory}/sparse.npy"
        self.random = numpy.random.default_rng(1)

    def timeit(self, number):
        return sum(self.once() for _ in range(number))

    def once(self):
        evict(self.path)
        array = numpy.load(self.path, mmap_mode="r")
        indices = self.random.integers(0, len(array), (100, 256))
        return Timer(lambda: self.take(array, indices)).timeit(1)

    def take(self, array, indices):
        for batch in indices:
            array[batch]


class Windows:
    """Windows of tokens, cast to 64 bits."""

    def __init__(self, cold):
        self.path, self.cold = f"{directory}/tokens.npy", cold
        self.random = numpy.random.default_rng(1)
        self.array = None if cold else numpy.load(self.path, mmap_mode="r")

    def timeit(self, number):
        return sum(self.once() for _ in range(number))

    def once(self):
        array = self.array
        if self.cold:
            evict(self.path)
            array = numpy.load(self.path, mmap_mode="r")
        starts = self.random.integers(0, len(array) - 1025, 64)
        return Timer(lambda: self.take(array, starts)).timeit(1)

    def take(self, array, starts):
        return numpy.stack([array[at : at + 1025].astype(numpy.int64) for at in starts])


benchmarks = {
    "open-small": lambda: opening("small", (0, 0)),
    "open-large": lambda: opening("large", 2**28),
    "open-fields": lambda: opening("fields", 0),
    "parse-small": lambda: parsing("small"),
    "parse-fields": lambda: parsing("fields"),
    "f8-little": lambda: bulk("a.sum()", "f8-little"),
    "f8-big": lambda: bulk("a.sum()", "f8-big"),
    "f4-little": lambda: bulk("a.sum()", "f4-little"),
    "f4-big": lambda: bulk("a.sum()", "f4-big"),
    "u2-little": lambda: bulk("a.sum()", "u2-little"),
    "u2-big": lambda: bulk("a.sum()", "u2-big"),
    "fresh": lambda: bulk("numpy.load(path, mmap_mode='r').sum()"),
    "copy-over": lambda: copying("f8-big"),
    "copy-fresh": lambda: bulk("a.astype(float)", "f8-big"),
    "axis-0": lambda: bulk("a.sum(0)", "f8-little"),
    "axis-1": lambda: bulk("a.sum(1)", "f8-fortran"),
    "transpose": lambda: copying("f8-fortran"),
    "rows-fortran": lambda: bulk("a[numpy.arange(256) * 1031 % 4096]", "f8-fortran"),
    "npz-first": lambda: Timer(lambda: numpy.load(f"{directory}/stored.npz")["a"][0]),
    "npz-whole": lambda: Timer(lambda: numpy.load(f"{directory}/deflated.npz")["a"]),
    "cold-sum": Cold,
    "sparse": Sparse,
    "tokens": lambda: Windows(False),
    "tokens-cold": lambda: Windows(True),
    "field": lambda: bulk("a['x'].sum()", "records"),
    "append-256": lambda: Appending(256),
    "append-4096": lambda: Appending(4096),
    "append-65536": lambda: Appending(65536),
    "fill-256": lambda: Filling(256),
    "fill-2048": lambda: Filling(2048),
    "edit-warm": lambda: Editing(False),
    "edit-cold": lambda: Editing(True),
}

for size in (256, 4096, 65536):
    for name, how in (("rows", "index"), ("take", "take"), ("cold", "cold"), ("advised", "advised")):
        benchmarks[f"{name}-{size}"] = lambda size=size, how=how: Rows(size, how)
    for name, how in (("ninja", "index"), ("cold-ninja", "cold")):
        benchmarks[f"{name}-{size}"] = lambda size=size, how=how: NinjaRows(size, how)

for size in (256, 512, 4096, 12288, 614400):
    benchmarks[f"cold-epoch-{size}"] = lambda size=size: Epoch(f"epoch-{size}")
for size in (512, 4096, 12288, 153600):
    benchmarks[f"loader-{size}"] = lambda size=size: Epoch(f"loader-{size}", is_cold=False)
    benchmarks[f"cold-loader-{size}"] = lambda size=size: Epoch(f"loader-{size}")

others = {"npy-append-array": npy_append_array, "mmap_ninja": ninja}
words = [f"{'with' if module else 'without'} {name}" for name, module in others.items()]
timers = {}
print(", ".join([f"NumPy {numpy.__version__}", *words]), flush=True)
for line in sys.stdin:
    benchmark, iterations = line.split()
    if benchmark not in timers:
        # Mapped files can't be evicted, so the timers that map some are dropped.
        if benchmark.startswith(("cold", "advised", "tokens-cold")):
            timers = {name: timer for name, timer in timers.items() if name.startswith(("cold", "advised"))}
        timers[benchmark] = benchmarks[benchmark]()
    print(round(timers[benchmark].timeit(int(iterations)) * 1e9), flush=True)
