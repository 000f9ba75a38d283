#!/usr/bin/env python3
"""Measures what clusters of processes on this machine send and use to read one array.

    python benches/clusters.py [--directory D] [CASE…]

Needs `pip install npymap[dask,ray] 'dask[distributed]' psutil`. A sparse file of 0.5 GiB
(rows of 4 KiB; one row in each 16 MiB has numbers) is averaged, filtered, and read in
40 shuffled batches by 4 workers. Each case runs in processes and, if it may, in a network
of its own, so that the bytes on the loopback interface are the cluster's. Memory is the
largest USS of a worker (pages that no other process maps), and the part of it that
was written; clean pages of mapped files are the system's cache and can be
dropped at any time. Prints Markdown.
"""

import argparse
import itertools
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

ROWS, ROW = 128 << 10, 1024
WORKERS = 4
BATCH, BATCHES = 256, 40
CHUNK = 32 << 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--directory", default=None)
    options = parser.parse_args()
    print("| | s | sent | largest USS | of it written |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        create(Path(directory))
        results = {}
        for case in options.cases or CASES:
            found = run(case, directory)
            print(row(case, found), flush=True)
            job = CASES[case][1]
            if job != "epoch":
                first = results.setdefault(job, found["result"])
                if not np.isclose(found["result"], first):
                    sys.exit(f"{case}: {found['result']}, but another case {first}")


def create(directory):
    """Create one file, and a stack of files with the same elements."""
    import npymap

    array = npymap.create(directory / "a.npy", "<f4", (ROWS, ROW), sparse=True)
    (directory / "stack").mkdir()
    for number, start in enumerate(range(0, ROWS, CHUNK)):
        part = npymap.create(directory / f"stack/{number}.npy", "<f4", (CHUNK, ROW), sparse=True)
        for at in range(0, CHUNK, 4096):
            array[start + at] = part[at] = 1 + at
    chunks = (CHUNK,) * (ROWS // CHUNK), (ROW,)
    with open(directory / "stack/info", "wb") as file:
        pickle.dump({"chunks": chunks, "dtype": array.dtype, "axis": 0}, file)


def run(case, directory):
    command = [sys.executable, __file__, "--child", case, directory]
    # The network is the cluster's own, and no process of it outlives the case.
    apart = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode == 0:
        command = apart + command
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{case}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def row(case, found):
    mib = [f"{found[name] / (1 << 20):,.1f} MiB" for name in ("sent", "uss", "dirty")]
    return f"| {case} | {found['seconds']:.1f} | {' | '.join(mib)} |"


class Meter:
    """The bytes on the loopback interface, and the memory of worker processes."""

    def __init__(self, is_worker):
        self.is_worker, self.uss, self.dirty = is_worker, 0, 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self):
        self.start, self.sent = time.perf_counter(), loopback()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.seconds, self.sent = time.perf_counter() - self.start, loopback() - self.sent
        self.stopped.set()
        self.thread.join()

    def watch(self):
        import psutil

        while not self.stopped.wait(0.1):
            for process in psutil.Process().children(recursive=True):
                try:
                    if self.is_worker(" ".join(process.cmdline())):
                        clean, dirty = private(process.pid)
                        self.uss = max(self.uss, clean + dirty)
                        self.dirty = max(self.dirty, dirty)
                except (psutil.Error, OSError):
                    pass

    def report(self, result):
        found = {name: getattr(self, name) for name in ("seconds", "sent", "uss", "dirty")}
        print(json.dumps({**found, "result": result}), flush=True)


def loopback():
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[0])
    return 0


def private(pid):
    found = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, number, *_ = line.split()
        found[name] = int(number) << 10
    return found["Private_Clean:"], found["Private_Dirty:"]


def indices(rows):
    import npymap

    sampler = npymap.Sampler(rows, seed=1)
    return (sampler.next(BATCH) for _ in range(BATCHES))


def dask_case(job, source, directory):
    import dask.array as da
    import distributed
    import npymap.dask

    path, stack = os.path.join(directory, "a.npy"), os.path.join(directory, "stack")
    cluster = distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, host="127.0.0.1",
                                       dashboard_address=None, worker_dashboard_address=None,
                                       memory_limit="3GiB")
    with cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(WORKERS)
        with Meter(lambda command: "multiprocessing" in command) as meter:
            if source == "npymap":
                x = npymap.dask.from_npy(path, (CHUNK, -1))
            elif source == "from_npy_stack":
                x = da.from_npy_stack(stack)
            else:
                x = da.from_array(np.load(path, mmap_mode="r"), chunks=(CHUNK, -1))
            if job == "mean":
                result = float(x.mean(dtype="f8").compute())
            elif job == "filter":
                result = float(x[x[:, 0] > 0].sum(dtype="f8").compute())
            elif source == "npymap":
                tasks = [client.submit(take_batches, path, rank, pure=False) for rank in range(WORKERS)]
                result = sum(client.gather(tasks))
            else:
                result = sum(float(x[some].sum(dtype="f8").compute()) for some in indices(len(x)))
        meter.report(result)


def take_batches(path, rank):
    """Read every fourth batch of a shuffled epoch."""
    import npymap

    file, total = npymap.ArrayFile(path), 0.0
    for some in itertools.islice(indices(len(file)), rank, None, WORKERS):
        total += float(file.take(some).sum(dtype="f8"))
    return total


def ray_case(job, source, directory):
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import npymap.ray
    import ray

    ray.init(num_cpus=WORKERS, include_dashboard=False, _node_ip_address="127.0.0.1",
             object_store_memory=2 << 30, logging_level="ERROR", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    path, stack = os.path.join(directory, "a.npy"), os.path.join(directory, "stack")
    with Meter(lambda command: command.startswith("ray::")) as meter:
        if source == "npymap":
            data = npymap.ray.read_npy(path, shuffle=1 if job == "epoch" else None)
        else:
            data = ray.data.read_numpy(stack)
        if job == "epoch":
            data = data.limit(BATCH * BATCHES)
        if job == "filter":
            data = data.map_batches(lambda batch: {"data": batch["data"][batch["data"][:, 0] > 0]},
                                    batch_size=None)
        data = data.map_batches(lambda batch: {"sum": [batch["data"].sum(dtype="f8")]}, batch_size=None)
        result = float(data.sum("sum"))
        if job == "mean":
            result /= ROWS * ROW
    meter.report(result)
    ray.shutdown()


def enable_loopback():
    """Enable the interface of a new network."""
    import fcntl
    import socket
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as some:
        request = struct.pack("16sh14s", b"lo", 0x41, b"")
        try:
            fcntl.ioctl(some, 0x8914, request)
        except OSError:
            pass  # The network is the machine's, where it is enabled.


CASES = {f"{cluster} {job} {source}": (run_case, job, source)
         for cluster, run_case, job, sources in [
             ("dask", dask_case, "mean", ["npymap", "from_array(memmap)", "from_npy_stack"]),
             ("dask", dask_case, "filter", ["npymap", "from_array(memmap)", "from_npy_stack"]),
             ("dask", dask_case, "epoch", ["npymap", "from_npy_stack"]),
             ("ray", ray_case, "mean", ["npymap", "read_numpy"]),
             ("ray", ray_case, "filter", ["npymap", "read_numpy"]),
             ("ray", ray_case, "epoch", ["npymap"])]
         for source in sources}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        enable_loopback()
        run_case, job, source = CASES[sys.argv[2]]
        run_case(job, source, sys.argv[3])
    else:
        main()
