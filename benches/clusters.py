#!/usr/bin/env python3
"""Measures what clusters of processes on this machine send and use to read one array.

    python benches/clusters.py [--quick] [--gib N] [--memory GIB] [--seconds N] [--batches N]
                               [--rounds N] [CASE…]

Needs `pip install npymap[dask,ray] 'dask[distributed]' psutil`. A sparse file of N GiB
(rows of 4 KiB; one row in each 16 MiB has numbers) is averaged, filtered, and read in
shuffled batches by 4 workers. Each case runs in processes and, if it may, in a network
of its own, so that the bytes on the loopback interface are the cluster's. Memory is the
largest USS of a worker (pages that no other process maps), and the part of it that
was written; clean pages of mapped files are the system's cache and can be
dropped at any time. Cases of other libraries that copy the whole array are limited to
`--memory` GiB and fail above; a case is stopped after `--seconds`. Such rows show what happened,
and what was measured until then.

On virtual machines that give free memory back to their host, the first case that fills the
page cache pays for all of it. So the cache is filled before the first case, and `--rounds`
runs all cases in turn.
"""

import argparse
import itertools
import json
import os
import pickle
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

ROW = 1024
WORKERS = 4
BATCH = 256
BATCHES = int(os.environ.get("BATCHES", 40))
CHUNK = 32 << 10
# How much Ray may write to the disk if its objects do not fit into memory.
SPILL = 16 << 30


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="1 GiB")
    parser.add_argument("--gib", type=float, default=64)
    parser.add_argument("--memory", type=float, default=8)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--batches", type=int, default=BATCHES, help="of each epoch")
    parser.add_argument("--directory", default=None)
    options = parser.parse_args()
    gib = 1 if options.quick else options.gib
    os.environ["BATCHES"] = str(options.batches)  # of the processes that are started
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        create(Path(directory), int(gib * (1 << 30)) // (ROW * 4))
        print(f"{gib:g} GiB, {WORKERS} workers, {options.batches} batches of {BATCH} rows\n")
        print("| | seconds | sent | USS of a worker | written by it | shared memory |")
        print("|---|--:|--:|--:|--:|--:|")
        results = {}
        fill_cache(os.path.join(directory, "a.npy"))
        for case in (options.cases or list(CASES)) * options.rounds:
            found = run(case, directory, options.memory, options.seconds)
            print(row(case, found), flush=True)
            job = CASES[case][1]
            if job != "epoch" and "result" in found:
                first = results.setdefault(job, found["result"])
                if not np.isclose(found["result"], first):
                    sys.exit(f"{case}: {found['result']}, but another case {first}")


def create(directory, rows):
    """Create one file, and a stack of files with the same elements."""
    import npymap

    array = npymap.create(directory / "a.npy", "<f4", (rows, ROW), sparse=True)
    (directory / "stack").mkdir()
    for number, start in enumerate(range(0, rows, CHUNK)):
        length = min(CHUNK, rows - start)
        part = npymap.create(directory / f"stack/{number}.npy", "<f4", (length, ROW), sparse=True)
        for at in range(0, length, 4096):
            array[start + at] = part[at] = 1 + at
    chunks = tuple(min(CHUNK, rows - start) for start in range(0, rows, CHUNK)), (ROW,)
    with open(directory / "stack/info", "wb") as file:
        pickle.dump({"chunks": chunks, "dtype": array.dtype, "axis": 0}, file)


def fill_cache(path):
    with open(path, "rb", buffering=0) as file:
        buffer = bytearray(16 << 20)
        while file.readinto(buffer):
            pass


def run(case, directory, memory, seconds):
    command = [sys.executable, __file__, "--child", case, directory, str(memory), str(seconds)]
    # The network is the cluster's own, and no process of it outlives the case.
    apart = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode == 0:
        command = apart + command
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 300)
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"error": (done.stderr.strip().splitlines() or ["killed"])[-1]}


def row(case, found):
    if "error" in found:
        case += f": {found['error'][:100]}"
    if "seconds" not in found:
        return f"| {case} | | | | | |"
    mib = [f"{found[name] / (1 << 20):,.1f} MiB" for name in ("sent", "uss", "dirty", "shared")]
    return f"| {case} | {found['seconds']:.1f} | {' | '.join(mib)} |"


class Meter:
    """The bytes on the loopback interface, and the memory of worker processes."""

    def __init__(self, is_worker, seconds):
        self.is_worker, self.limit, self.uss, self.dirty, self.shared = is_worker, seconds, 0, 0, 0
        self.first, self.batches = shared_memory(), None
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self):
        self.start, self.sent = time.perf_counter(), loopback()
        self.thread.start()
        return self

    def __exit__(self, _kind, error, _traceback):
        self.stop()
        self.stopped.set()
        self.thread.join()
        if error is not None:
            lines = str(error).strip().splitlines() or [""]
            self.report(error=f"{type(error).__name__}: {lines[-1]}")
            os._exit(0)

    def stop(self):
        self.seconds, self.sent = time.perf_counter() - self.start, loopback() - self.sent

    def watch(self):
        import psutil

        while not self.stopped.wait(0.1):
            self.shared = max(self.shared, shared_memory() - self.first)
            for process in psutil.Process().children(recursive=True):
                try:
                    if self.is_worker(" ".join(process.cmdline())):
                        clean, dirty = private(process.pid)
                        self.uss = max(self.uss, clean + dirty)
                        self.dirty = max(self.dirty, dirty)
                except (psutil.Error, OSError):
                    pass
            if time.perf_counter() - self.start > self.limit:
                self.stop()
                read = f" and {self.batches} batches" if self.batches is not None else ""
                self.report(error=f"stopped after {self.limit} s{read}")
                os._exit(0)

    def report(self, **facts):
        names = "seconds", "sent", "uss", "dirty", "shared"
        print(json.dumps({**{name: getattr(self, name) for name in names}, **facts}), flush=True)


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


def shared_memory():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("Shmem:"):
            return int(line.split()[1]) << 10
    return 0


def indices(rows):
    import npymap

    sampler = npymap.Sampler(rows, seed=1)
    return (sampler.next(BATCH) for _ in range(BATCHES))


def dask_case(job, source, directory, memory, seconds):
    import dask.array as da
    import distributed
    import npymap.dask

    path, stack = os.path.join(directory, "a.npy"), os.path.join(directory, "stack")
    cluster = distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, host="127.0.0.1",
                                       dashboard_address=None, worker_dashboard_address=None,
                                       memory_limit="3GiB")
    with cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(WORKERS)
        with Meter(lambda command: "multiprocessing" in command, seconds) as meter:
            if source == "npymap":
                x = npymap.dask.from_npy(path, (CHUNK, -1))
            elif source == "from_npy_stack":
                x = da.from_npy_stack(stack)
            else:
                mapped = np.load(path, mmap_mode="r")
                limit(memory + mapped.nbytes / (1 << 30))
                x = da.from_array(mapped, chunks=(CHUNK, -1))
            if job == "mean":
                result = float(x.mean(dtype="f8").compute())
            elif job == "filter":
                result = float(x[x[:, 0] > 0].sum(dtype="f8").compute())
            elif source == "npymap":
                tasks = [client.submit(take_batches, path, rank, pure=False) for rank in range(WORKERS)]
                result = sum(client.gather(tasks))
            else:
                result = 0.0
                for meter.batches, some in enumerate(indices(len(x))):
                    result += float(x[some].sum(dtype="f8").compute())
        meter.report(result=result)


def take_batches(path, rank):
    """Read every fourth batch of a shuffled epoch."""
    import npymap

    file, total = npymap.ArrayFile(path), 0.0
    for some in itertools.islice(indices(len(file)), rank, None, WORKERS):
        total += float(file.take(some).sum(dtype="f8"))
    return total


def ray_case(job, source, directory, _memory, seconds):
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    disk = shutil.disk_usage(tempfile.gettempdir())
    os.environ["RAY_local_fs_capacity_threshold"] = str(1 - max(disk.free - SPILL, 0) / disk.total)
    import npymap.ray
    import ray

    ray.init(num_cpus=WORKERS, include_dashboard=False, _node_ip_address="127.0.0.1",
             object_store_memory=2 << 30, logging_level="ERROR", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    path, stack = os.path.join(directory, "a.npy"), os.path.join(directory, "stack")
    with Meter(lambda command: command.startswith("ray::"), seconds) as meter:
        is_epoch = job == "epoch"
        if source == "npymap":
            data = npymap.ray.read_npy(path, shuffle=1 if is_epoch else None)
        else:
            data = ray.data.read_numpy(stack)
            data = data.random_shuffle(seed=1) if is_epoch else data
        if is_epoch:
            data = data.limit(BATCH * BATCHES)
        if job == "filter":
            data = data.map_batches(lambda batch: {"data": batch["data"][batch["data"][:, 0] > 0]},
                                    batch_size=None)
        data = data.map_batches(lambda batch: {"sum": [batch["data"].sum(dtype="f8")]}, batch_size=None)
        result = float(data.sum("sum"))
        if job == "mean":
            result /= np.prod(npymap.header(path).shape)
    meter.report(result=result)
    ray.shutdown()


def limit(gib):
    """Make larger allocations fail instead of ending other processes."""
    resource.setrlimit(resource.RLIMIT_AS, (int(gib * (1 << 30)),) * 2)


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


CASES = {f"{cluster.split('_')[0]} {job} {source}": (run_case, job, source)
         for cluster, run_case, sources in [
             ("dask_", dask_case, ["npymap", "from_array(memmap)", "from_npy_stack"]),
             ("ray_", ray_case, ["npymap", "read_numpy"])]
         for job in ("mean", "filter", "epoch") for source in sources}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        enable_loopback()
        run_case, job, source = CASES[sys.argv[2]]
        run_case(job, source, sys.argv[3], float(sys.argv[4]), int(sys.argv[5]))
    else:
        main()
