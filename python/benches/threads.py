#!/usr/bin/env python3
"""Samples one file from 1, 2, 4 and 8 threads of Python, warm and cold.

    python python/benches/threads.py [--mib N] [--rounds N] [--directory D]

Needs npymap, NumPy, and Linux. The threads share the rows of one array, and each takes its
share of the same batches of 256 random rows of 4 KiB. Cold: the file is evicted before each
time, which is checked. Runs with and without the interpreter's lock, whichever the interpreter
has. `os.pread` of the same rows by 32 threads shows what the disk can do.
"""

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import npymap
from _bench import create_npy, evict, read_in, rounds

BATCH, WIDTH = 256, 1024
THREADS = [1, 2, 4, 8]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--directory")
    options = parser.parse_args()
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"Python {sys.version.split()[0]}, {'with' if has_lock else 'without'} the lock, "
          f"{os.cpu_count()} cores\n")
    print("| | threads | rows per second: min / median / max | compared with one thread |")
    print("|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        path = Path(directory) / "a.npy"
        count = (options.mib << 20) // (4 * WIDTH)
        create_npy(path, count, WIDTH)
        measure(path, count, options.rounds, False)
        measure(path, count, options.rounds, True)


def measure(path, count, rounds_, is_cold):
    generator = np.random.default_rng(1)
    # Enough for some time, and few enough that the file is not worth reading whole.
    batches = 32 if is_cold else 400
    samplers = {"`npymap`": take_rows, "NumPy `mm[idx]`": index_map}
    calls = {}
    for name, sampler in samplers.items():
        for threads in THREADS:
            calls[name, threads] = timer(path, count, generator, sampler, threads, batches, is_cold)
    calls["`os.pread`", 32] = timer(path, count, generator, pread, 32, batches, is_cold)
    if not is_cold:
        read_in(path)
    times = rounds(rounds_, calls)
    for (name, threads), elapsed in times.items():
        rates = sorted(batches * BATCH / value for value in elapsed)
        one = times.get((name, 1))
        ratio = "" if one is None else f"{statistics.median(a / b for a, b in zip(one, elapsed)):.2f}"
        print(f"| {name}, {'cold' if is_cold else 'warm'} | {threads} | {rates[0]:,.0f} / "
              f"**{statistics.median(rates):,.0f}** / {rates[-1]:,.0f} | {ratio} |", flush=True)


def timer(path, count, generator, sampler, threads, batches, is_cold):
    def run():
        lists = [generator.integers(0, count, BATCH) for _ in range(batches)]
        if is_cold:
            evict(path)
        source = sampler(path)
        failed = []

        def work(number):
            try:
                for indices in lists[number::threads]:
                    if not np.array_equal(source(indices), indices.astype("f4")):
                        failed.append(number)
            except Exception as error:
                failed.append(error)

        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        elapsed = time.perf_counter() - start
        if failed:
            sys.exit(f"{sampler.__name__}: {failed}")
        return elapsed

    return run


def take_rows(path):
    rows, memory = npymap.open(path).rows, threading.local()

    def take(indices):
        if not hasattr(memory, "out"):
            memory.out = np.empty((BATCH, WIDTH), "f4")
        return rows.take(indices, memory.out)[:, 0]

    return take


def index_map(path):
    array = np.load(path, mmap_mode="r")
    return lambda indices: array[indices][:, 0]


def pread(path):
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    offset = npymap.header(path).offset

    class Reader:
        def __call__(self, indices):
            rows = [os.pread(file, 4 * WIDTH, offset + 4 * WIDTH * int(index)) for index in indices]
            return np.array([np.frombuffer(row, "f4", 1)[0] for row in rows])

        def __del__(self):
            os.close(file)

    return Reader()


if __name__ == "__main__":
    main()
