#!/usr/bin/env python3
"""Times CSV of a million rows of ten numbers, out and in, next to NumPy and DuckDB.

    cargo build --release -p npymap-cli
    python3 benches/csv_peers.py [ROWS]

Needs NumPy, and DuckDB (`pip install duckdb`) to compare with it. Each command
runs three times; the shortest time counts.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
NPYMAP = ROOT / "target/release/npymap"


def shortest(run):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def npymap(*arguments):
    subprocess.run([NPYMAP, *arguments], check=True)


def jobs(npy, csv, out):
    """Yields the job, the program and a function that does it."""
    array = numpy.load(npy)
    yield "out", "npymap", lambda: npymap("convert", "--overwrite", npy, out / "a.csv")
    yield "out", "NumPy", lambda: numpy.savetxt(out / "b.csv", array, delimiter=",", fmt="%.18g")
    yield "in", "npymap", lambda: npymap("convert", "--overwrite", csv, out / "a.npy")
    yield "in", "NumPy", lambda: numpy.save(out / "b.npy", numpy.loadtxt(csv, delimiter=","))
    try:
        import duckdb
    except ImportError:
        return
    table = {f"c{number}": array[:, number].copy() for number in range(array.shape[1])}
    duckdb.execute("create table t as select * from table")
    yield "out", "DuckDB", lambda: duckdb.execute(f"copy t to '{out}/c.csv' (header false)")
    yield "in", "DuckDB", lambda: numpy.save(
        out / "c.npy", numpy.stack(list(duckdb.sql(f"from read_csv('{csv}')").fetchnumpy().values()), axis=1)
    )


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as directory:
        out = pathlib.Path(directory)
        numpy.save(out / "in.npy", numpy.random.default_rng(1).normal(size=(rows, 10)))
        npymap("convert", out / "in.npy", out / "in.csv")
        for job, program, run in jobs(out / "in.npy", out / "in.csv", out):
            print(f"{job:4} {program:8} {shortest(run):8.2f} s", flush=True)


if __name__ == "__main__":
    main()
