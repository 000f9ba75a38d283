#!/usr/bin/env python3
"""Measures the memory of four worker processes that sample one sparse file.

    python python/benches/workers.py [--gib N] [--batches N] [--directory D]

Needs npymap, NumPy, torch, and Linux. Each case runs in a process of its own: PyTorch's
`DataLoader` with 4 workers, forked or spawned, takes shuffled batches of 256 rows of 4 KiB.
"nothing" yields batches of zeros, without a file: the memory that workers need anyway. The
memory of each worker is the largest of those after each batch: USS are the pages that no
other process maps, and the written ones of them are not the page cache. "Cached" is
the part of the file that is in the page cache at the end, of which the batches need
1 MiB each.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import numpy as np

import npymap
from _bench import evict, resident

WORKERS, BATCH, WIDTH = 4, 256, 1024
SOURCES = ["nothing", "npymap.open", "npymap.ArrayFile", "numpy.memmap"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gib", type=float, default=64)
    parser.add_argument("--batches", type=int, default=80)
    parser.add_argument("--directory")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(*options.child, options.batches)
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        path = Path(directory) / "a.npy"
        rows = int(options.gib * (1 << 30)) // (4 * WIDTH)
        npymap.create(path, "<f4", (rows, WIDTH), sparse=True, page_aligned=True)
        print(f"{options.gib:g} GiB, {WORKERS} workers, {options.batches} batches\n")
        print("| source | workers | pickle | USS of each worker, MiB | of it written, MiB | cached "
              "| seconds |\n|---|---|--:|--:|--:|--:|--:|")
        for source in SOURCES:
            for method in ("fork", "spawn"):
                if (source, method) == ("numpy.memmap", "spawn") and options.gib > 1:
                    print(f"| {source} | {method} | {options.gib:g} GiB | not run: each worker "
                          "would get a copy | | | |")
                    continue
                evict(path)
                run(path, source, method, options.batches)


def run(path, source, method, batches):
    command = [sys.executable, __file__, "--batches", str(batches), "--child", path, source, method]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    found = json.loads(done.stdout.splitlines()[-1])
    uss, dirty = (" / ".join(f"{value / (1 << 20):.0f}" for value in found[name])
                  for name in ("uss", "dirty"))
    print(f"| {source} | {method} | {found['pickle']:,} bytes | {uss} | {dirty} | "
          f"{resident(path) / (1 << 20):,.0f} MiB | {found['seconds']:.1f} |", flush=True)


def child(path, source, method, batches):
    import torch

    import npymap.torch

    warnings.filterwarnings("ignore")
    rows = npymap.header(path).shape[0]
    sampler = npymap.Sampler(rows, seed=1)
    batch_sampler = npymap.torch.BatchSampler(sampler, BATCH)
    data = dataset(path, source)
    size = data.array.nbytes if source == "numpy.memmap" else len(ForkingPickler.dumps(data))
    loader = torch.utils.data.DataLoader(data, sampler=batch_sampler, batch_size=None,
                                         num_workers=WORKERS, multiprocessing_context=method)
    uss, dirty = {}, {}
    start = time.perf_counter()
    for number, x in enumerate(loader, 1):
        assert x.shape == (BATCH, WIDTH)
        for process in multiprocessing.active_children():
            clean, written = private(process.pid)
            uss[process.pid] = max(uss.get(process.pid, 0), clean + written)
            dirty[process.pid] = max(dirty.get(process.pid, 0), written)
        if number == batches:
            break
    print(json.dumps({"uss": list(uss.values()), "dirty": list(dirty.values()), "pickle": size,
                      "seconds": time.perf_counter() - start}))
    sys.stdout.flush()
    os._exit(0)


class Nothing:
    def __getitem__(self, indices):
        import torch

        return torch.zeros(len(indices), WIDTH)


class OfNumPy:
    def __init__(self, path):
        self.array = np.load(path, mmap_mode="r")

    def __getitem__(self, indices):
        import torch

        return torch.from_numpy(self.array[indices])


def dataset(path, source):
    import npymap.torch

    if source == "nothing":
        return Nothing()
    if source == "numpy.memmap":
        return OfNumPy(path)
    open_ = npymap.open if source == "npymap.open" else npymap.ArrayFile
    return npymap.torch.Dataset(open_(path))


def private(pid):
    found = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, number, *_ = line.split()
        found[name] = int(number) << 10
    return found["Private_Clean:"], found["Private_Dirty:"]


if __name__ == "__main__":
    main()
