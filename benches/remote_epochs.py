#!/usr/bin/env python3
"""Simulates epochs over remote arrays: requests, bytes and seconds, and what limits them.

    python3 benches/remote_epochs.py [FILE]    # the figures of `remote.py --json FILE`

Without FILE it prints plans for 1 PB; with FILE also the reads of `remote.py`, measured
and simulated. The model is that of `crates/remote`: ranges at most 64 KiB apart are
requested together, long ones in parts of 2 MiB, at most 256 requests and 64 MiB at a
time, each by a connection that is idle or new. Everything is deterministic.
"""

import argparse
import collections
import dataclasses
import heapq
import json
import pathlib
import random

KIB, MIB = 1 << 10, 1 << 20
GAP, PART = 64 * KIB, 2 * MIB
PERMITS, PERMIT = 256, 256 * KIB
# What `take` requests before it decodes.
BLOCK = 8 * MIB
# The first window of a TCP connection: ten segments.
WINDOW = 10 * 1460


@dataclasses.dataclass
class Host:
    """A host, its network, and the costs of requests."""

    trip: float  # seconds from a request to its first byte, without waiting for others
    rate: float  # bytes per second of the host's network
    stream: float = float("inf")  # bytes per second of one connection
    request: float = 60e-6  # seconds of a processor for a request
    byte: float = 0.5e-9  # seconds of a processor for a byte
    processors: int = 2  # those that send and receive: the threads of the requests
    slow_start: bool = True  # whether new connections start slowly, as TCP does


def parts(ranges):
    """The lengths of the requests for ranges `(start, end)`."""
    spans = []
    for start, end in sorted(ranges):
        last = spans[-1] if spans else None
        if last and (start < last[1] or (end - last[0] <= PART and start - last[1] <= GAP)):
            last[1] = max(last[1], end)
        else:
            spans.append([start, end])
    for start, end in spans:
        while start < end:
            yield min(PART, end - start)
            start += PART


def blocks(rows, row, first=128):
    """The requests of a batch, in the blocks that are requested one after another."""
    each = max(1, BLOCK // row)
    for start in range(0, len(rows), each):
        yield list(parts((first + row * n, first + row * (n + 1)) for n in rows[start : start + each]))


@dataclasses.dataclass
class Simulation:
    """Reads batches with some threads."""

    host: Host
    connections: list = dataclasses.field(default_factory=list)  # windows of idle ones
    now: float = 0.0
    requests: int = 0
    nbytes: int = 0
    busy: float = 0.0  # seconds of processors
    link: float = 0.0  # when the network is free
    processor: float = 0.0  # when a processor is free

    def read(self, batches, threads=1, objects=1):
        """Reads batches, each a list of blocks, and returns the seconds."""
        start, batches = self.now, iter(batches)
        free, waiting, events, number = PERMITS * objects, collections.deque(), [], 0
        work = [iter(()) for _ in range(threads)]
        left = [0] * threads

        def advance(thread):
            while left[thread] == 0:
                block = next(work[thread], None)
                if block is None:
                    batch = next(batches, None)
                    if batch is None:
                        return
                    work[thread] = iter(batch)
                    continue
                left[thread] = len(block)
                waiting.extend((thread, length) for length in block)

        for thread in range(threads):
            advance(thread)
        while waiting or events:
            while waiting:
                permits = min(PERMITS, -(-waiting[0][1] // PERMIT))
                if permits > free:
                    break
                thread, length = waiting.popleft()
                free -= permits
                number += 1
                heapq.heappush(events, (*self.send(length), number, thread, permits))
            self.now, window, _, thread, permits = heapq.heappop(events)
            self.connections.append(window)
            free += permits
            left[thread] -= 1
            advance(thread)
        return self.now - start

    def send(self, length):
        """When a response is complete, and the window of its connection then."""
        host = self.host
        cost = host.request + length * host.byte
        self.processor = max(self.processor, self.now) + cost / host.processors
        self.busy += cost
        is_new = not self.connections
        window = WINDOW if is_new else self.connections.pop()
        trips, sent = 2 if is_new else 1, window
        while host.slow_start and sent < length:
            window *= 2
            sent += window
            trips += 1
        first = self.processor + trips * host.trip
        self.link = max(self.link, first) + length / host.rate
        self.requests += 1
        self.nbytes += length
        return max(self.link, first + length / host.stream), window


def sequential(count, batch):
    return [range(start, min(start + batch, count)) for start in range(0, count, batch)]


def shuffled(count, batch, block=1, seed=1):
    """Batches of rows in the order of shuffled blocks."""
    starts = list(range(0, count, block))
    random.Random(seed).shuffle(starts)
    rows = [row for start in starts for row in range(start, min(start + block, count))]
    return [rows[start : start + batch] for start in range(0, count, batch)]


def compare(found):
    """The reads of `remote.py`, measured and simulated."""
    host = Host(
        found["round trip"], float("inf"), request=found["request"], byte=found["byte"], slow_start=False
    )
    some = [[list(blocks(random.Random(seed).sample(range(65_536), 256), 4096))] for seed in range(3)]
    print("| read | measured, ms | simulated, ms | requests |\n|---|---:|---:|---:|")

    def row(name, seconds, requests):
        measured = found[name]
        counted = f"{measured['requests']:.0f} / {requests}"
        print(f"| {name} | {1000 * measured['seconds']:.0f} | {1000 * seconds:.0f} | {counted} |")

    simulation = Simulation(host)
    row("open a `.npy`", simulation.read([[[64 * KIB]]]), 1)
    for name, batch in zip(("first batch", "later batches"), some):
        before = simulation.requests
        row(f"256 random rows of 4 KiB, {name}", simulation.read(batch), simulation.requests - before)
    host.rate = found["rate"]
    for name, row_size, batches, threads in (
        ("sequential, rows of 4 KiB, batches of 256, 16 threads", 4096, sequential(65_536, 256), 16),
        (
            "shuffled blocks of 256 rows of 4 KiB, batches of 256, 16 threads",
            4096, shuffled(65_536, 256, 256), 16,
        ),
        ("shuffled rows of 64 KiB, batches of 256, 8 threads", 64 * KIB, shuffled(4096, 256), 8),
        ("shuffled rows of 64 KiB, batches of 256, 1 thread", 64 * KIB, shuffled(4096, 256), 1),
    ):
        simulation = Simulation(host, [WINDOW])
        seconds = simulation.read((blocks(batch, row_size) for batch in batches), threads)
        row(name, seconds, simulation.requests)


PETABYTE, FILE = 10**15, 10**9

# The bytes of a batch, and the threads for each file that read batches.
BATCH, THREADS = 4 * MIB, 16

# The least bytes of each file that are simulated, if they take few requests.
LEAST = 512 * MIB

# How rows are read: their bytes, and the bytes of a shuffled block.
ORDERS = (
    ("from first to last", 4 * KIB, None),
    ("shuffled blocks of 8 MiB", 4 * KIB, 8 * MIB),
    ("shuffled blocks of 1 MiB", 4 * KIB, MIB),
    ("shuffled rows of 1 MiB", MIB, MIB),
    ("shuffled rows of 64 KiB", 64 * KIB, 64 * KIB),
    ("shuffled rows of 4 KiB", 4 * KIB, 4 * KIB),
)

# Hosts, gigabits per second of each, and the files that each reads at a time.
CLUSTERS = ((64, 25, 1), (64, 25, 4), (16, 100, 16))


def plan(order, row, block, host, hosts, objects):
    """Simulates a host that reads files, and extrapolates to all."""
    count, batch = FILE // row, max(1, BATCH // row)
    rows = sequential(count, batch) if block is None else shuffled(count, batch, block // row)
    # Enough for a steady state.
    rows = rows[: max(48, LEAST // BATCH if block is None or block > row else 0)] * objects
    batches = [list(blocks(batch, row)) for batch in rows]
    simulation = Simulation(host)
    # The connections are those of earlier files.
    simulation.read(batches[: THREADS * objects], THREADS * objects, objects)
    requests, nbytes, busy = simulation.requests, simulation.nbytes, simulation.busy
    seconds = simulation.read(batches, THREADS * objects, objects)
    scale = PETABYTE / (sum(map(len, rows)) * row)
    requests, nbytes = simulation.requests - requests, simulation.nbytes - nbytes
    shares = {
        "network": nbytes / host.rate / seconds,
        "processors": (simulation.busy - busy) / host.processors / seconds,
    }
    limit = max(shares, key=shares.get)
    limit = limit if shares[limit] > 0.8 else "requests in flight"
    hours = seconds * scale / hosts / 3600
    print(
        f"| {order} | {hosts} × {host.rate * 8 / 1e9:.0f} | {objects} | {requests * scale / 1e6:,.0f} |"
        f" {nbytes * scale / 1e15:.2f} | {hours:,.1f} | {requests * scale / hours / 3600 / 1e3:,.0f} | {limit} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
    costs = {}
    if options.file:
        found = json.loads(pathlib.Path(options.file).read_text())
        costs = {"request": found["request"], "byte": found["byte"]}
        compare(found)
        print()
    print("| order | hosts × Gbit/s | files at a time | requests, millions | PB read | hours | thousand requests/s | limit |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for order, row, block in ORDERS:
        for hosts, gigabits, objects in CLUSTERS:
            host = Host(0.03, gigabits * 1e9 / 8, 90e6, **costs, processors=8)
            plan(order, row, block, host, hosts, objects)


if __name__ == "__main__":
    main()
