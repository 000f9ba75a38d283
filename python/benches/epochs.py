#!/usr/bin/env python3
"""Times shuffled epochs of `Batches`, as the documentation shows them, and NumPy's loop.

    python python/benches/epochs.py [--mib N] [--rounds N] [--directory D] [--sizes B…]

Needs npymap, NumPy, and Linux. Rows of several sizes, in batches of 256, by the default
number of threads, 1 and 2, from a file and without maps; in memory, in huge pages, and cold:
evicted before each time, which is checked. NumPy indexes a new memmap with 256 numbers of a
permutation at a time. "The limit" reads the file into an array, which it indexes like that.
`os.preadv` reads each row into one buffer: without maps, no row in memory takes less than such
a call.

Prints seconds, processor time and page faults, and the medians of their ratios to NumPy's
loop in the same round.
"""

import argparse
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import npymap
from _bench import create_npy, evict, read_in, settle

BATCH = 256


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--directory", help="on the disk to measure")
    parser.add_argument("--sizes", type=int, nargs="+", default=[512, 4096, 12288, 153600])
    options = parser.parse_args()
    print("| rows | way | seconds | processor | faults | seconds / NumPy's | processor / NumPy's |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for size in options.sizes:
        with tempfile.TemporaryDirectory(dir=options.directory) as directory:
            path = Path(directory) / "a.npy"
            create_npy(path, (options.mib << 20) // size, size // 4)
            for is_cold in (False, True):
                report(size, is_cold, measure(path, is_cold, options.rounds))


def ways(path):
    def batches(array, **options):
        for _, rows in npymap.Batches(array, npymap.Sampler(len(array), seed=1), BATCH, **options):
            assert rows.shape[1:] == array.shape[1:]

    def index(array):
        order = np.random.default_rng(1).permutation(len(array))
        for start in range(0, len(order), BATCH):
            array[order[start:start + BATCH]]

    def preadv():
        array = np.load(path, mmap_mode="r")
        order = np.random.default_rng(1).permutation(len(array)).tolist()
        size, places = array[0].nbytes, [memoryview(row) for row in np.empty_like(array[:BATCH])]
        with open(path, "rb", buffering=0) as file:
            for start in range(0, len(order), BATCH):
                for row, place in zip(order[start:start + BATCH], places):
                    os.preadv(file.fileno(), (place,), array.offset + row * size)

    return {
        "NumPy's `mm[idx]`": lambda: index(np.load(path, mmap_mode="r")),
        "the limit": lambda: index(np.load(path)),
        "`a[idx]`": lambda: index(npymap.open(path)),
        "`Batches`": lambda: batches(npymap.open(path)),
        "`Batches`, 1 thread": lambda: batches(npymap.open(path), threads=1),
        "`Batches`, 2 threads": lambda: batches(npymap.open(path), threads=2),
        "`Batches` of an `ArrayFile`": lambda: batches(npymap.ArrayFile(path)),
        "`os.preadv` of each row": preadv,
    }


def measure(path, is_cold, rounds):
    """Return the seconds, the processor time and the faults of each way and round."""
    calls = ways(path)
    found, names = {name: [] for name in calls}, list(calls)
    if not is_cold:
        settle(path)
    # The first round is not counted.
    for number in range(rounds + 1):
        for name in names:
            (evict if is_cold else read_in)(path)
            before, start = usage(), time.perf_counter()
            calls[name]()
            seconds = time.perf_counter() - start
            processor, faults = (a - b for a, b in zip(usage(), before))
            if number:
                found[name].append((seconds, processor, faults))
        names = names[1:] + names[:1]
    return found


def usage():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, used.ru_minflt + used.ru_majflt


def report(size, is_cold, found):
    peer = found["NumPy's `mm[idx]`"]
    where = "cold" if is_cold else "in memory"
    for name, rounds in found.items():
        seconds, processor, faults = map(statistics.median, zip(*rounds))
        ratios = [
            statistics.median(own[part] / max(other[part], 1e-6)
                              for own, other in zip(rounds, peer))
            for part in (0, 1)
        ]
        print(f"| {size} bytes, {where} | {name} | {seconds:.3f} | {processor:.3f} | "
              f"{faults:,.0f} | {ratios[0]:.2f} | {ratios[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
