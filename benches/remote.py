#!/usr/bin/env python3
"""Times reads of remote arrays, next to fsspec with NumPy, and zarr.

    pip install numpy fsspec aiohttp zarr
    python3 benches/remote.py [--rounds N] [--delay MS] [--rate MB_PER_S]

nginx serves the files, behind a proxy that delays every byte by DELAY milliseconds in
each direction (20 by default), and connections by a round trip. For epochs, it limits
the bytes of all connections to RATE MB/s (100 by default). Requests are counted in the
log of nginx. Prints Markdown.
"""

import argparse
import contextlib
import os
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import fsspec
import numpy as np
import zarr

HERE = pathlib.Path(__file__).resolve().parent
ROWS, ROW = 65_536, 4096
LONG_ROWS, LONG_ROW = 4096, 65_536
BATCH = 256
MEMBERS = 1000


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def create(folder):
    """Writes the same rows as `.npy` and as zarr arrays with chunks of 1 and 256 rows."""
    rows = np.random.default_rng(1).integers(0, 256, (ROWS, ROW), np.uint8)
    np.save(folder / "rows.npy", rows)
    np.save(folder / "long.npy", rows.reshape(LONG_ROWS, LONG_ROW))
    members = {f"layers.{n}.weight": np.full((100, 10), n, np.float32) for n in range(MEMBERS)}
    np.savez(folder / "small.npz", **members)
    large = {f"layers.{n}.weight": rows[n : n + 25] for n in range(MEMBERS)}
    np.savez(folder / "large.npz", **large)
    for chunk in (1, 256):
        path = folder / f"rows{chunk}.zarr"
        options = {"dtype": "u1", "compressors": None, "filters": None}
        zarr.create_array(path, shape=(ROWS, ROW), chunks=(chunk, ROW), **options)
        # Much faster than zarr, and the same files.
        for number in range(ROWS // chunk):
            part = path / "c" / str(number) / "0"
            part.parent.mkdir(parents=True)
            part.write_bytes(rows[number * chunk : (number + 1) * chunk].tobytes())


@contextlib.contextmanager
def started(command, port):
    process = subprocess.Popen(command)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def nginx(folder):
    port, own = free_port(), folder / "nginx"
    own.mkdir()
    paths = "".join(f"{kind}_temp_path {own};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    config = own / "nginx.conf"
    config.write_text(f"""
        daemon off; pid {own}/pid; error_log {own}/error.log; worker_processes 1;
        worker_rlimit_nofile 8192;
        events {{ worker_connections 4096; }}
        http {{
            log_format request '$request_method $uri $http_range $status';
            access_log {own}/log request; {paths} keepalive_requests 1000000;
            server {{ listen 127.0.0.1:{port}; root {folder}; }}
        }}""")
    folder.chmod(0o755)
    with started(["nginx", "-c", str(config), "-e", str(own / "error.log")], port):
        yield port, own / "log"


class Ours:
    """The program that reads as `src/bin/remote/reads.rs` says."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program, "read"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"remote read: {words} failed")
        return float(answer.split()[0])

    def cpu(self):
        """Seconds of processors that the program has used."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def timed(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def filesystem():
    return fsspec.filesystem("http", skip_instance_cache=True)


def header(file):
    np.lib.format.read_magic(file)
    return np.lib.format.read_array_header_1_0(file)


class Peers:
    """Reads with fsspec and NumPy, and with zarr, as their documentation does."""

    def __init__(self, url):
        self.url = url
        self.fs = filesystem()
        self.arrays = {}

    def open(self):
        with filesystem().open(f"{self.url}/rows.npy") as file:
            header(file)

    def cat_ranges(self, seed, name="rows.npy", count=ROWS, row=ROW):
        starts = [128 + row * number for number in random.Random(seed).sample(range(count), BATCH)]
        url = f"{self.url}/{name}"
        parts = self.fs.cat_ranges([url] * BATCH, starts, [start + row for start in starts])
        assert np.frombuffer(b"".join(parts), np.uint8).size == BATCH * row

    def seek_and_read(self, seed):
        # Without read-ahead, which is for sequential reads.
        with self.fs.open(f"{self.url}/rows.npy", cache_type="none") as file:
            for number in random.Random(seed).sample(range(ROWS), BATCH):
                file.seek(128 + ROW * number)
                assert len(file.read(ROW)) == ROW

    def load(self, name="rows.npy"):
        with self.fs.open(f"{self.url}/{name}") as file:
            assert np.load(file).nbytes == ROWS * ROW

    def list_npz(self, name):
        with filesystem().open(f"{self.url}/{name}") as file, np.load(file) as npz:
            for member in npz.zip.namelist():
                with npz.zip.open(member) as part:
                    header(part)

    def zarr_open(self, chunk):
        store = zarr.storage.FsspecStore.from_url(f"{self.url}/rows{chunk}.zarr", read_only=True)
        self.arrays[chunk] = zarr.open_array(store, mode="r")

    def zarr_rows(self, chunk, seed):
        if chunk not in self.arrays:
            self.zarr_open(chunk)
        rows = random.Random(seed).sample(range(ROWS), BATCH)
        assert self.arrays[chunk].oindex[rows].shape == (BATCH, ROW)

    def zarr_all(self, chunk):
        if chunk not in self.arrays:
            self.zarr_open(chunk)
        assert self.arrays[chunk][:].nbytes == ROWS * ROW


class Table:
    def __init__(self, log, rounds):
        self.log, self.rounds = log, rounds

    def count(self):
        time.sleep(0.05)
        return self.log.read_text().count("\n")

    def row(self, name, ours, peers=(), note="", rounds=None):
        """Runs both sides in turn, and prints the medians and the ratios."""
        times, counts, theirs = [], [], {peer: [] for peer, _ in peers}
        rounds = rounds or self.rounds
        for number in range(rounds):
            before = self.count()
            times.append(ours(number))
            counts.append(self.count() - before)
            for peer, read in peers:
                theirs[peer].append(timed(read, number))
        median, requests = statistics.median(times), statistics.median(counts)
        first = f"| {name} | {requests:.0f} | {1000 * median:.1f} |"
        if not peers:
            print(f"{first} | | | {note} |", flush=True)
        for peer, _ in peers:
            ratios = sorted(our / their for our, their in zip(times, theirs[peer]))
            ratio = f"{ratios[0]:.4f} / **{statistics.median(ratios):.4f}** / {ratios[-1]:.4f}"
            their = statistics.median(theirs[peer])
            print(f"{first} {peer} | {1000 * their:.1f} | {ratio} | {note} |", flush=True)


HEAD = """
| read | requests | ours, ms | compared with | theirs, ms | ratio min / median / max | target |
|---|---:|---:|---|---:|---:|---|"""


def latency(program, url, log, options):
    table, trip = Table(log, options.rounds), 2 * options.delay
    peers = Peers(url)
    print(f"\nRound trip {trip} ms, no limit of the rate.\n{HEAD}")

    def fresh(*commands):
        """The time of the last of some commands of a new process."""
        def read(number):
            ours = Ours(program)
            for command in commands:
                last = ours(*(number if word == "SEED" else word for word in command))
            ours.stop()
            return last
        return read

    array = f"{url}/rows.npy"
    table.row("open a `.npy`", fresh(("open", array)), [("fsspec", lambda _: peers.open())], "1 request")
    bound = f"≤ {3 * trip:.0f} ms + transfer"
    table.row(
        "256 random rows of 4 KiB, first batch",
        fresh(("open", array), ("take", BATCH, "SEED")),
        [("fsspec `cat_ranges`", lambda seed: Peers(url).cat_ranges(seed))],
        bound,
    )
    ours = Ours(program)
    ours("open", array)
    ours("take", BATCH, 999)
    peers.cat_ranges(999)
    for chunk in (1, 256):
        peers.zarr_rows(chunk, 999)
    table.row(
        "256 random rows of 4 KiB, later batches",
        lambda seed: ours("take", BATCH, seed),
        [
            ("fsspec `cat_ranges`", peers.cat_ranges),
            ("zarr, chunks of 1 row", lambda seed: peers.zarr_rows(1, seed)),
            ("zarr, chunks of 256 rows", lambda seed: peers.zarr_rows(256, seed)),
        ],
        bound,
    )
    table.row(
        "256 random rows of 4 KiB, once",
        lambda seed: ours("take", BATCH, 1000 + seed),
        [
            ("fsspec, `seek` and `read`", peers.seek_and_read),
            ("fsspec, `np.load`", lambda _: peers.load()),
        ],
        rounds=1,
    )
    ours.stop()
    for name, target in (("small", "≤ 3 round trips"), ("large", "")):
        members = "4 KB" if name == "small" else "100 KB"
        table.row(
            f"headers of an archive of 1,000 members of {members}",
            fresh(("list", f"{url}/{name}.npz")),
            [("fsspec, `np.load`, headers", lambda _: peers.list_npz(f"{name}.npz"))],
            target,
            rounds=min(options.rounds, 3),
        )


def epochs(program, url, log, options):
    table = Table(log, min(options.rounds, 5))
    least = ROWS * ROW / (options.rate * 1e6)
    target = f"≤ {1000 * least / 0.9:.0f} ms (90 %)"
    print(f"\nEpochs of 256 MiB at {options.rate:.0f} MB/s: at least {1000 * least:.0f} ms.\n{HEAD}")
    peers = Peers(url)

    def ours(name, *command):
        reader = Ours(program)
        reader("open", f"{url}/{name}")
        def read(number):
            return reader(*(number if word == "SEED" else word for word in command))
        return read

    def shuffled(seed):
        for batch in range(LONG_ROWS // BATCH):
            peers.cat_ranges((seed, batch).__hash__(), "long.npy", LONG_ROWS, LONG_ROW)

    table.row(
        "sequential, rows of 4 KiB, batches of 256, 16 threads",
        ours("rows.npy", "epoch", BATCH, 16, 0, 0),
        [("fsspec, `np.load`", lambda _: peers.load()), ("zarr, chunks of 256 rows", lambda _: peers.zarr_all(256))],
        target,
    )
    table.row(
        "rows of 4 KiB in shuffled blocks of 1 MiB, batches of 256, 16 threads",
        ours("rows.npy", "epoch", BATCH, 16, BATCH, "SEED"),
        note=target,
    )
    table.row(
        "shuffled rows of 64 KiB, batches of 256, 8 threads",
        ours("long.npy", "epoch", BATCH, 8, 1, "SEED"),
        [("fsspec `cat_ranges`, batch by batch", shuffled)],
        target,
    )
    table.row(
        "shuffled rows of 64 KiB, batches of 256, 1 thread",
        ours("long.npy", "epoch", BATCH, 1, 1, "SEED"),
    )


def costs(program, url):
    """Seconds of a processor for a request, and for a byte of a long one."""
    ours = Ours(program)
    ours("open", f"{url}/rows.npy")
    ours("take", BATCH, 0)
    start = ours.cpu()
    for seed in range(40):
        ours("take", BATCH, seed)
    request = (ours.cpu() - start) / (40 * BATCH)
    start = ours.cpu()
    for _ in range(3):
        ours("epoch", 2048, 4, 0, 0)
    byte = (ours.cpu() - start) / (3 * ROWS * ROW)
    ours.stop()
    print(f"\nA request takes {1e6 * request:.0f} µs of a processor, and a byte {1e9 * byte:.2f} ns.")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--delay", type=float, default=20)
    parser.add_argument("--rate", type=float, default=100)
    options = parser.parse_args()
    build = ["cargo", "build", "--release", "-q", "--features", "remote", "--bin", "remote"]
    subprocess.run(build, cwd=HERE, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target"))
    program = str(target / "release/remote")
    zarr.config.set({"async.concurrency": 256})
    with tempfile.TemporaryDirectory(prefix="npymap-remote-") as name:
        folder = pathlib.Path(name)
        create(folder)
        with nginx(folder) as (server, log):
            for rate, run in ((1e12, latency), (options.rate * 1e6, epochs)):
                port = free_port()
                command = [program, "proxy", port, server, f"{options.delay:.0f}", rate]
                with started([str(word) for word in command], port):
                    run(program, f"http://127.0.0.1:{port}", log, options)
            costs(program, f"http://127.0.0.1:{server}")


if __name__ == "__main__":
    main()
