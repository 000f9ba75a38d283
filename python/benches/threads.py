#!/usr/bin/env python3
"""Samples one file from 1, 2, 4 and 8 threads of Python, with and without the lock.

    python python/benches/threads.py [--mib N] [--rounds N] [--directory D] [PYTHON…]

Needs npymap, NumPy, and Linux. Measures the interpreters that are named, or else the one that
runs this script. One that was built without the interpreter's lock, as
`python/tests/free_threaded.sh` builds it, is measured with the lock turned on, too.

Each round starts each interpreter once, in another order each time. The threads share the
rows of one array, and each takes its share of the same batches of 256 random rows of 4 KiB.
Cold: the file is evicted before each time, which is checked. `os.pread` of the same rows by
32 threads shows what the disk can do.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import npymap
from _bench import create_npy, evict, read_in

BATCH, WIDTH = 256, 1024
THREADS = [1, 2, 4, 8]
# Batches that are warm, and cold: enough for some time, and few enough that the file is not
# worth reading whole. NumPy reads cold rows one by one, and a hundred times more than these.
WARM, COLD, NUMPY_COLD = 1000, 24, 2
FACTS = """import sys, sysconfig
print(sys.version.split()[0], sysconfig.get_config_var("Py_GIL_DISABLED") or 0)"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", default=[sys.executable])
    parser.add_argument("--mib", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--directory", help="on the disk to measure")
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        print(json.dumps(measure(Path(options.file), (options.mib << 20) // (4 * WIDTH))))
        return
    found = {}
    names = list(interpreters(options.pythons))
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        path = Path(directory) / "a.npy"
        create_npy(path, (options.mib << 20) // (4 * WIDTH), WIDTH)
        for _ in range(options.rounds):
            for name, python, lock in names:
                arguments = [__file__, "--file", path, "--mib", str(options.mib)]
                done = subprocess.run([python, *arguments], env={**os.environ, **lock},
                                      stdout=subprocess.PIPE, check=True)
                for case, threads, rate in json.loads(done.stdout):
                    found.setdefault((name, case, threads), []).append(rate)
            names = names[1:] + names[:1]
    report(found)


def interpreters(pythons):
    """Yield the name, the path and the environment of each interpreter to measure."""
    for python in pythons:
        text = subprocess.run([python, "-c", FACTS], capture_output=True, text=True, check=True)
        version, is_free = text.stdout.split()
        if is_free == "1":
            yield f"{version} free-threaded, no lock", python, {"PYTHON_GIL": "0"}
            yield f"{version} free-threaded, lock on", python, {"PYTHON_GIL": "1"}
        else:
            yield f"{version} with the lock", python, {}


def report(found):
    print(f"{os.cpu_count()} cores, a load of {os.getloadavg()[1]:.1f}\n")
    print("| interpreter | | threads | rows per second: min / median / max | one thread = 1 |")
    print("|---|---|--:|--:|--:|")
    for (name, case, threads), rates in sorted(found.items(), key=lambda item: item[0][1]):
        low, middle, high = min(rates), statistics.median(rates), max(rates)
        one = found.get((name, case, 1))
        ratio = f"{statistics.median(a / b for a, b in zip(rates, one)):.2f}" if one else ""
        print(f"| {name} | {case} | {threads} | {low:,.0f} / **{middle:,.0f}** / {high:,.0f} "
              f"| {ratio} |")


def measure(path, count):
    """Return the rows per second of each case and number of threads, in this process."""
    generator = np.random.default_rng()
    numpy, pread_ = "NumPy `mm[idx]`", "`os.pread`"
    cases = [(f"{name}, {state}", sampler, threads, batches)
             for name, sampler, state, batches, numbers in [
                 ("`npymap`", take_rows, "cold", COLD, THREADS),
                 (numpy, index_map, "cold", NUMPY_COLD, [1, 8]),
                 (pread_, pread, "cold", COLD, [32]),
                 ("`npymap`", take_rows, "warm", WARM, THREADS),
                 (numpy, index_map, "warm", WARM, THREADS)]
             for threads in numbers]
    found, is_read = [], False
    for case, sampler, threads, batches in cases:
        lists = [generator.integers(0, count, BATCH) for _ in range(batches)]
        if case.endswith("cold"):
            evict(path)
        elif not is_read:
            read_in(path)
            is_read = True
        found.append((case, threads, batches * BATCH / run(sampler(path), lists, threads)))
    return found


def run(source, lists, threads):
    """Return the seconds in which threads read lists of rows, which are checked."""
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
        sys.exit(f"wrong rows: {failed}")
    return elapsed


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
