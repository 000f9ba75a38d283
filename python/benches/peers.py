#!/usr/bin/env python3
"""Compares the package with others that keep arrays in files.

    python python/benches/peers.py [--quick] [--mib N] [--rounds N] [--directory D] [CASE…]

Cases are open, calls, rows, member, append, save and epoch; default: all. Needs npymap and
NumPy, and Linux. mmap_ninja, mmnpz, npy-append-array, safetensors, datasets, pylance,
webdataset, grain, array_record and torch are compared if they are installed, and named if they
are not. `calls` needs the program `calls`:

    cargo build --release --manifest-path benches/Cargo.toml --bin calls

Each round times each package once, and the ratio is our time divided by theirs in the same
round: minimum, median and maximum. "Cold" means that the file was evicted from the page cache
before each time, which is checked with `mincore`; the file is opened and closed in the time
that is measured.
"""

import argparse
import importlib.util
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import npymap
from _bench import create_npy, evict, number_rows, read_in, report, rounds, show

SIZES = [256, 4096, 65536]
BATCH = 256
ROOT = Path(__file__).parents[2]

# Here, because workers that are spawned import this file.
warnings.filterwarnings("ignore", message=".*not writable.*")
warnings.filterwarnings("ignore", message=".*not fork-safe.*")


class OfNpy:
    """Packages that map `.npy` files."""

    @staticmethod
    def create(directory, count, width):
        path = directory / "a.npy"
        if not path.exists():
            create_npy(path, count, width)
        return path

    @staticmethod
    def take(array, indices):
        return array[indices]


class Npymap(OfNpy):
    name = module = "npymap"

    @staticmethod
    def open(path):
        return npymap.open(path)


class NumPy(OfNpy):
    name, module = "NumPy `memmap`", "numpy"

    @staticmethod
    def open(path):
        return np.load(path, mmap_mode="r")


class MmapNinja(OfNpy):
    name, module = "mmap_ninja", "mmap_ninja"

    @staticmethod
    def create(directory, count, width):
        from mmap_ninja import numpy as ninja

        path = directory / "ninja"
        array = np.load(OfNpy.create(directory, count, width), mmap_mode="r")
        ninja.from_ndarray(path, array)
        return path

    @staticmethod
    def open(path):
        from mmap_ninja import numpy as ninja

        return ninja.open_existing(path)


def open_mmnpz(path):
    import mmnpz

    # mmnpz 1.0 uses private functions of NumPy, which were elsewhere before NumPy 2.3.
    for name in ("_check_version", "_read_array_header"):
        if not hasattr(np.lib.format, name):
            setattr(np.lib.format, name, getattr(np.lib._format_impl, name))
    return mmnpz.load(path)


class Mmnpz(OfNpy):
    name, module = "mmnpz", "mmnpz"

    @staticmethod
    def create(directory, count, width):
        path = directory / "a.npz"
        array = np.load(OfNpy.create(directory, count, width), mmap_mode="r")
        np.savez(path, a=array)
        return path

    @staticmethod
    def open(path):
        return open_mmnpz(path)["a"]


class Slice:
    """The rows of a tensor of safetensors, which has no indexing by lists."""

    def __init__(self, path):
        from safetensors import safe_open

        self.file = safe_open(path, "numpy")
        self.slice = self.file.get_slice("a")

    def __len__(self):
        return self.slice.get_shape()[0]

    def __getitem__(self, index):
        return self.slice[index:index + 1][0]


class Safetensors:
    name, module = "safetensors", "safetensors"

    @staticmethod
    def create(directory, count, width):
        path = directory / "a.safetensors"
        facts = {"dtype": "F32", "shape": [count, width], "data_offsets": [0, count * width * 4]}
        text = json.dumps({"a": facts}).encode()
        text += b" " * (-len(text) % 8)
        number_rows(path, count, width,
                    lambda file: file.write(len(text).to_bytes(8, "little") + text))
        return path

    @staticmethod
    def open(path):
        return Slice(path)

    @staticmethod
    def take(array, indices):
        return np.stack([array[int(index)] for index in indices])


def arrow_table(directory, count, width):
    import pyarrow

    array = np.load(OfNpy.create(directory, count, width), mmap_mode="r")
    column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(array.reshape(-1)), width)
    return pyarrow.table({"a": column})


class Datasets:
    name, module = "Hugging Face datasets", "datasets"

    @staticmethod
    def create(directory, count, width):
        import datasets

        path = directory / "arrow"
        table = datasets.table.InMemoryTable(arrow_table(directory, count, width))
        datasets.Dataset(table).save_to_disk(path)
        return path

    @staticmethod
    def open(path):
        import datasets

        return datasets.load_from_disk(str(path)).with_format("numpy")

    @staticmethod
    def take(array, indices):
        return array[indices]["a"]


class LanceRows:
    """The rows of a Lance dataset, which has no indexing."""

    def __init__(self, path):
        import lance

        self.data = lance.dataset(str(path))

    def __len__(self):
        return self.data.count_rows()

    def __getitem__(self, indices):
        column = self.data.take(np.atleast_1d(indices).tolist())["a"].combine_chunks()
        rows = column.flatten().to_numpy().reshape(len(column), -1)
        return rows if np.ndim(indices) else rows[0]


class Lance:
    name, module = "Lance", "lance"
    open, take = LanceRows, OfNpy.take

    @staticmethod
    def create(directory, count, width):
        import lance

        path = directory / "lance"
        lance.write_dataset(arrow_table(directory, count, width), str(path))
        return path


class WebDataset:
    """Shards of rows without headers, which are read in order, through a shuffle buffer.

    Not all orders are possible, as they are with the others: only epochs are compared.
    """

    name, module = "webdataset", "webdataset"
    SHARDS, SHUFFLED = 16, 1000

    @staticmethod
    def create(directory, count, width):
        import webdataset

        path = directory / "shards"
        path.mkdir()
        array = np.load(OfNpy.create(directory, count, width), mmap_mode="r")
        size = -(-count // WebDataset.SHARDS)
        for start in range(0, count, size):
            with webdataset.TarWriter(str(path / f"{start:09}.tar")) as shard:
                for number in range(start, min(start + size, count)):
                    shard.write({"__key__": f"{number:09}", "row": array[number].tobytes()})
        return path

    @staticmethod
    def open(path):
        import webdataset

        shards = sorted(map(str, path.iterdir()))
        data = webdataset.WebDataset(shards, shardshuffle=len(shards), empty_check=False)
        data = data.shuffle(WebDataset.SHUFFLED).map(WebDataset.decode)
        return data.batched(BATCH, collation_fn=np.stack)

    @staticmethod
    def decode(sample):
        return np.frombuffer(sample["row"], "f4")


class Grain:
    """Batches of Grain from records without compression. Only epochs are compared."""

    name, module = "Grain, ArrayRecord", "grain"

    @staticmethod
    def create(directory, count, width):
        import grain as _  # not in the time of the first epoch
        from array_record.python.array_record_module import ArrayRecordWriter

        path = directory / "a.array_record"
        array = np.load(OfNpy.create(directory, count, width), mmap_mode="r")
        writer = ArrayRecordWriter(str(path), "group_size:1,uncompressed")
        for row in array:
            writer.write(row.tobytes())
        writer.close()
        return path

    @staticmethod
    def open(path):
        import grain

        records = grain.MapDataset.source(grain.sources.ArrayRecordDataSource(str(path)))
        return records.shuffle(seed=1).batch(BATCH, batch_fn=Grain.decode).to_iter_dataset()

    @staticmethod
    def decode(records):
        return np.frombuffer(b"".join(records), "f4").reshape(len(records), -1)


PEERS = [Npymap, NumPy, MmapNinja, Mmnpz, Safetensors, Datasets, Lance]


def is_installed(module):
    return importlib.util.find_spec(module) is not None


def installed(peers):
    return [peer for peer in peers if is_installed(peer.module)]


def open_case(options, directory):
    """Open a small file and use its first element."""
    calls = {}
    for peer in installed(PEERS):
        path = peer.create(directory, 100, 10)

        def call(peer=peer, path=path):
            count = 20 if peer in (Datasets, Lance) else 200
            start = time.perf_counter()
            for _ in range(count):
                array = peer.open(path)
                element(array)
            return (time.perf_counter() - start) / count

        calls[peer.name] = call
    report("open a small file, first element", rounds(options.rounds, calls))


def element(array):
    row = array[0]
    return float((row["a"] if isinstance(row, dict) else row)[0])


def rows_case(options, directory):
    """256 random rows, warm and cold."""
    for size in SIZES:
        width, count = size // 4, options.mib * (1 << 20) // size
        here = directory / f"rows-{size}"
        here.mkdir()
        paths = {peer: peer.create(here, count, width) for peer in installed(PEERS)}
        generator = np.random.default_rng(1)
        for name, is_cold in (("warm", False), ("cold", True)):
            calls = {
                peer.name: taker(peer, path, count, generator, is_cold)
                for peer, path in paths.items()
            }
            found = rounds(options.rounds, calls, warm_up=not is_cold)
            report(f"{BATCH} random rows of {size} bytes, {name}", found)
        calls.clear()
        shutil.rmtree(here)


def taker(peer, path, count, generator, is_cold):
    array = None
    if not is_cold:
        read_in(path)
        array = peer.open(path)

    def take():
        lists = [generator.integers(0, count, BATCH) for _ in range(1 if is_cold else 20)]
        if is_cold:
            evict(path)
        start = time.perf_counter()
        for indices in lists:
            rows = peer.take(peer.open(path) if is_cold else array, indices)
        elapsed = time.perf_counter() - start
        if rows.shape[0] != BATCH or not np.array_equal(rows[:, 0], indices.astype("f4")):
            sys.exit(f"{peer.name}: other rows than expected")
        return elapsed / len(lists)

    return take


def member_case(options, directory):
    """The first element of a stored member of an archive."""
    path = directory / "member.npz"
    np.savez(path, a=np.ones(options.mib << 17))

    def ours():
        with npymap.Npz(path, "r") as archive:
            assert archive["a"][0] == 1

    calls = {
        "npymap": ours,
        "NumPy `load`": lambda: check(np.load(path)["a"][0] == 1),
    }
    if is_installed("mmnpz"):
        calls["mmnpz"] = lambda: check(open_mmnpz(path)["a"][0] == 1)
    report(f"first element of a member of {options.mib} MiB", rounds(options.rounds, calls))


def check(is_true):
    assert is_true


def append_case(options, directory):
    """1,000 rows of 1 KiB, one by one."""
    row = np.ones((1, 256), "f4")
    path = directory / "appended"

    def ours(flush):
        with npymap.Appender(path, dtype="f4", row=256, overwrite=True) as log:
            for _ in range(1000):
                log.append(row)
                if flush:
                    log.flush()
        assert npymap.header(path).shape == (1000, 256)

    def npy_append_array():
        from npy_append_array import NpyAppendArray

        with NpyAppendArray(str(path), delete_if_exists=True) as log:
            for _ in range(1000):
                log.append(row)

    def mmap_ninja():
        from mmap_ninja import numpy as ninja

        if (directory / "grown").exists():
            shutil.rmtree(directory / "grown")
        ninja.from_ndarray(directory / "grown", row)
        for _ in range(999):
            ninja.extend_dir(directory / "grown", row)

    peers = {call.__name__: call for call in (npy_append_array, mmap_ninja)
             if is_installed(call.__name__)}
    for name, flush in (("each visible at once", True), ("gathered", False)):
        calls = {"npymap": lambda flush=flush: ours(flush), **peers}
        report(f"append 1,000 rows of 1 KiB, {name}", rounds(options.rounds, calls))


def save_case(options, directory):
    """`load` into memory, and `save`."""
    array = np.random.default_rng(1).random(options.mib << 16)
    mib = array.nbytes >> 20
    path, by_numpy = directory / "saved.npy", directory / "saved-by-numpy.npy"

    def save(save_, path, is_new):
        if is_new:
            path.unlink(missing_ok=True)
        start = time.perf_counter()
        save_(path, array)
        return time.perf_counter() - start

    for name, is_new in (("a new file", True), ("over an existing file", False)):
        calls = {"npymap": lambda n=is_new: save(npymap.save, path, n),
                 "NumPy": lambda n=is_new: save(np.save, by_numpy, n)}
        report(f"`save` of {mib} MiB, {name}", rounds(options.rounds, calls))
    if path.read_bytes() != by_numpy.read_bytes():
        sys.exit("the files differ")
    calls = {"npymap": lambda: check(len(npymap.load(path)) == len(array)),
             "NumPy": lambda: check(len(np.load(path)) == len(array))}
    report(f"`load` of {mib} MiB into memory", rounds(options.rounds, calls))
    small = directory / "small.npy"
    np.save(small, array[:1000])

    def repeat(call):
        for _ in range(100):
            call()

    calls = {"npymap": lambda: repeat(lambda: npymap.load(small)),
             "NumPy": lambda: repeat(lambda: np.load(small))}
    report("`load` of 8 KB, 100 times", rounds(options.rounds, calls))
    values = array[:1000]
    calls = {"npymap": lambda: repeat(lambda: npymap.save(small, values)),
             "NumPy": lambda: repeat(lambda: np.save(small, values))}
    report("`save` of 8 KB over an existing file, 100 times", rounds(options.rounds, calls))
    if sys.platform == "linux":
        single_saves(options, small, values)


def single_saves(options, path, array):
    """Saves over a file that is on the disk, and the system calls that they need."""
    data = path.read_bytes()
    calls = {"npymap": lambda: npymap.save(path, array), "NumPy": lambda: np.save(path, array),
             "bare calls: replace": lambda: replace(path, data),
             "bare calls: truncate": lambda: truncate(path, data)}

    def typical(call):
        found = []
        for _ in range(50):
            with open(path, "rb") as file:
                os.fsync(file.fileno())
            time.sleep(0.0005)
            start = time.perf_counter()
            call()
            found.append(time.perf_counter() - start)
        return statistics.median(found)

    found = rounds(options.rounds, {name: lambda call=call: typical(call)
                                    for name, call in calls.items()})
    report("`save` of 8 KB over a file on the disk", found)
    del found["npymap"]
    report("replace by bare calls", found, ours="bare calls: replace")


def replace(path, data):
    """Replace a file so that its name always leads to a complete file."""
    file = os.open(path.parent, os.O_TMPFILE | os.O_RDWR, 0o644)
    os.write(file, data)
    name = path.with_name(".replaced")
    # With a directory, which is not used, Python follows the link.
    os.link(f"/proc/self/fd/{file}", name, src_dir_fd=file)
    os.rename(name, path)
    os.close(file)


def truncate(path, data):
    """Write a file again, as NumPy does."""
    file = os.open(path, os.O_TRUNC | os.O_WRONLY)
    os.write(file, data)
    os.close(file)


def epoch_case(options, directory):
    """A shuffled epoch by PyTorch's loader."""
    if not is_installed("torch"):
        return
    import npymap.torch
    import torch
    from torch.utils.data import BatchSampler, RandomSampler

    count, width = options.epoch_mib * (1 << 20) // 4096, 1024

    class Dataset(torch.utils.data.Dataset):
        def __init__(self, array):
            self.array = array

        def __len__(self):
            return len(self.array)

        def __getitem__(self, index):
            return torch.from_numpy(np.array(self.array[index]))

    def loader(peer, path, workers):
        if peer is Npymap:
            data = npymap.torch.Dataset(npymap.open(path))
            sampler = npymap.Sampler(count, seed=1)
            return npymap.torch.DataLoader(data, sampler, BATCH, num_workers=workers)
        data = peer.open(path)
        if peer is WebDataset:
            return torch.utils.data.DataLoader(data, None, num_workers=workers)
        if peer is Grain:
            import grain

            return data.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
        if peer is Lance:
            # Its threads do not survive a fork.
            batches = BatchSampler(RandomSampler(data), BATCH, drop_last=False)
            return torch.utils.data.DataLoader(data, None, sampler=batches, num_workers=workers,
                                               multiprocessing_context="spawn" if workers else None)
        data = data.with_format("torch") if peer is Datasets else Dataset(data)
        return torch.utils.data.DataLoader(data, BATCH, shuffle=True, num_workers=workers)

    def epoch(peer, path, workers, is_cold):
        if is_cold:
            evict(path)
        else:
            read_in(path)
        start, total, batches = time.perf_counter(), 0.0, 0
        for x in loader(peer, path, workers):
            x = torch.as_tensor(x["a"] if isinstance(x, dict) else x)
            total += float(x[:, 0].sum(dtype=torch.float64))
            batches += 1
        elapsed = time.perf_counter() - start
        if total != count * (count - 1) / 2:
            sys.exit(f"{peer.name}: other rows than expected")
        return elapsed

    peers = [peer for peer in installed([*PEERS, WebDataset, Grain]) if peer is not Mmnpz]
    paths = {peer: peer.create(directory, count, width) for peer in peers}
    rates = {}
    for workers, is_cold in itertools.product((0, 2, 4), (True, False)):
        calls = {
            peer.name: lambda p=peer, path=path, w=workers, c=is_cold: epoch(p, path, w, c)
            for peer, path in paths.items()
        }
        found = rounds(max(options.rounds // 3, 1), calls, warm_up=False)
        case = f"{workers} workers, {'cold' if is_cold else 'warm'}"
        report(f"epoch of {options.epoch_mib} MiB, rows of 4 KiB, {case}", found)
        rates[case] = {name: [count / seconds for seconds in times] for name, times in found.items()}
    print("\n| rows per second; GB/s |", " | ".join(rates), "|")
    print("|---|" + "--:|" * len(rates))
    for peer in peers:
        medians = [statistics.median(rates[case][peer.name]) for case in rates]
        cells = [f"{rate:,.0f}; {rate * width * 4 / 1e9:.2f}" for rate in medians]
        print(f"| {peer.name} |", " | ".join(cells), "|")


def calls_case(options, directory):
    """Calls from Python, compared with the same calls in Rust."""
    program = options.program
    if not Path(program).exists():
        print(f"\nskipped: {program}, see --help")
        return
    path = directory / "calls.npy"
    count = 65536
    create_npy(path, count, 64)
    array, file = npymap.open(path), npymap.ArrayFile(path)
    rows, sampler = array.rows, npymap.Sampler(1 << 40, seed=1)
    one, many = np.empty((1, 64), "f4"), np.empty((BATCH, 64), "f4")
    row = np.ones((1, 64), "f4")
    step = 7919
    lists = [(np.arange(i, i + BATCH) * step) % count for i in range(1000)]
    log = npymap.Appender(directory / "log.npy", dtype="f4", row=64, overwrite=True)
    index = np.empty(1, np.int64)

    def take_one(number):
        index[0] = number * step % count
        rows.take(index, one)

    def read_one(number):
        index[0] = number * step % count
        file.take(index, one)

    owner = npymap.open(path)._mmap
    native = {
        "open": (2000, lambda _: npymap.open(path)),
        "take": (20000, take_one),
        "take-256": (2000, lambda number: rows.take(lists[number % 1000], many)),
        "read": (10000, read_one),
        "sample": (5000, lambda _: sampler.next(BATCH)),
        "append": (20000, lambda _: log.append(row)),
    }
    texts = {
        "open": "`open`",
        "take": "`rows.take` of a row of 256 bytes",
        "take-256": "`rows.take` of 256 rows of 256 bytes",
        "read": "`ArrayFile.take` of a row",
        "sample": "`Sampler.next(256)`",
        "append": "`Appender.append` of a row of 256 bytes, gathered",
    }
    pipe = subprocess.PIPE
    with subprocess.Popen([program, path], stdin=pipe, stdout=pipe, text=True) as rust:
        def in_rust(name, number):
            rust.stdin.write(f"{name} {number}\n")
            rust.stdin.flush()
            return int(rust.stdout.readline()) / 1e9 / number

        def in_python(call, number):
            call(0)
            start = time.perf_counter()
            for i in range(number):
                call(i)
            return (time.perf_counter() - start) / number

        def make(_):
            np.ndarray.__new__(npymap.memmap, (count, 64), "f4", owner)

        print("\n| call | Python | Rust | more: min / median / max |\n|---|--:|--:|--:|")
        created = [in_python(make, 20000) for _ in range(options.rounds)]
        print(f"| NumPy's creation of an array, part of `open` | {show(statistics.median(created))} "
              "| | |")
        for name, (number, call) in native.items():
            times = rounds(options.rounds, {
                "npymap": lambda: in_python(call, number),
                "Rust": lambda: in_rust(name, number),
            })
            more = sorted(a - b for a, b in zip(times["npymap"], times["Rust"]))
            ours, theirs = (statistics.median(times[key]) for key in ("npymap", "Rust"))
            middle = statistics.median(more)
            print(f"| {texts[name]} | {ours * 1e6:.2f} µs | {theirs * 1e6:.2f} µs | "
                  f"{more[0] * 1e6:.2f} / **{middle * 1e6:.2f}** / {more[-1] * 1e6:.2f} µs |",
                  flush=True)
        rust.stdin.close()
    log.close()


CASES = {"open": open_case, "rows": rows_case, "member": member_case, "append": append_case,
         "save": save_case, "epoch": epoch_case, "calls": calls_case}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="files of 64 MiB, 3 rounds")
    parser.add_argument("--mib", type=int, default=512, help="of each file")
    parser.add_argument("--epoch-mib", type=int, default=256, help="of each epoch")
    parser.add_argument("--rounds", type=int, default=9, help="a third of it for epochs")
    parser.add_argument("--directory", help="on the disk to measure")
    parser.add_argument("--program", help="of benches/src/bin/calls.rs",
                        default=str(ROOT / "benches/target/release/calls"))
    options = parser.parse_args()
    if options.quick:
        options.mib, options.epoch_mib, options.rounds = 64, 64, 3
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    names = ["numpy", "mmap_ninja", "mmnpz", "npy_append_array", "safetensors", "datasets", "lance",
             "webdataset", "grain", "array_record", "torch"]
    found = {name: is_installed(name) for name in names}
    from importlib.metadata import version

    print(", ".join(f"{name} {version('pylance' if name == 'lance' else name)}"
                    for name in names if found[name]))
    if missing := [name for name in names if not found[name]]:
        print(f"skipped, because they are not installed: {', '.join(missing)}")
    print("\n| work | compared with | ours | theirs | ratio min / median / max |")
    print("|---|---|--:|--:|--:|")
    for name in options.cases or CASES:
        with tempfile.TemporaryDirectory(dir=options.directory) as directory:
            CASES[name](options, Path(directory))


if __name__ == "__main__":
    main()
