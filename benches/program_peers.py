#!/usr/bin/env python3
"""Times the program next to NumPy, DuckDB, VisiData, h5diff and cp on the same files.

    cargo build --release -p npymap-cli
    pip install numpy duckdb visidata h5py; apt install hdf5-tools
    python3 benches/program_peers.py [--quick] [JOB…]

Peers that are not installed are named and left out. All commands of a job run once in each
round, one after another, so that other work on the machine slows all of them down.
Prints Markdown: the shortest time and processor time of each program (user and system),
its peak memory, and the ratios of our times to those of the peer in the same round.

NPYMAP_PEERS_ROUNDS (5), NPYMAP_PEERS_SCALE (1.0, of the files' sizes) and
NPYMAP_PEERS_DIRECTORY (a new one) change what is measured. `--quick` is one round with
files of a fiftieth, which shows that all commands run and measures nothing.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
NPYMAP = os.environ.get("NPYMAP", str(ROOT / "target/release/npymap"))
QUICK = "--quick" in sys.argv[1:]
ROUNDS = 1 if QUICK else int(os.environ.get("NPYMAP_PEERS_ROUNDS", "5"))
SCALE = 0.02 if QUICK else float(os.environ.get("NPYMAP_PEERS_SCALE", "1.0"))
MIB = 1 << 20


def python(script):
    """A command that runs a Python script with NumPy."""
    return [sys.executable, "-c", "import numpy as np\n" + script]


def duckdb(script):
    """A command that runs a Python script with DuckDB, if it is installed."""
    try:
        import duckdb as _
    except ImportError:
        return None
    return [sys.executable, "-c", "import duckdb, numpy as np\n" + script]


def installed(program, *arguments):
    """A command, if the program is installed, here or next to Python."""
    beside = pathlib.Path(sys.executable).with_name(program)
    found = str(beside) if beside.exists() else shutil.which(program)
    return [found, *arguments] if found else None


def table():
    """A million rows of ten floats, and the same as CSV and in DuckDB's format."""
    rows = int(1_000_000 * SCALE)
    numpy.save("table.npy", numpy.random.default_rng(1).normal(size=(rows, 10)))
    npymap("convert", "table.npy", "table.csv")


def csv_out():
    table()
    write = duckdb(
        "a = np.load('table.npy', mmap_mode='r')\n"
        "data = {f'c{n}': np.ascontiguousarray(a[:, n]) for n in range(a.shape[1])}\n"
        "duckdb.execute(\"copy (from data) to 'duckdb.csv' (header false)\")"
    )
    yield "npymap", [NPYMAP, "convert", "--overwrite", "table.npy", "out.csv"]
    yield "NumPy", python("np.savetxt('numpy.csv', np.load('table.npy'), delimiter=',', fmt='%.17g')")
    yield "DuckDB", write
    # Its own format has two digits.
    digits = "--disp-float-fmt={:.17g}"
    yield "VisiData", installed("vd", "--batch", digits, "table.npy", "-o", "visidata.csv")


def csv_in():
    table()
    read = duckdb(
        "columns = duckdb.sql(\"from read_csv('table.csv')\").fetchnumpy().values()\n"
        "np.save('duckdb.npy', np.stack(list(columns), axis=1))"
    )
    yield "npymap", [NPYMAP, "convert", "--overwrite", "table.csv", "out.npy"]
    yield "NumPy", python("np.save('numpy.npy', np.loadtxt('table.csv', delimiter=','))")
    yield "DuckDB", read


def stats():
    count = int(1024 * MIB * SCALE) // 8
    numpy.save("large.npy", numpy.random.default_rng(2).normal(size=count))
    yield "npymap", [NPYMAP, "stats", "large.npy"]
    yield "NumPy", python(
        "a = np.load('large.npy', mmap_mode='r')\n"
        "print(np.isnan(a).sum(), np.isinf(a).sum(), a.min(), a.mean(), a.max(), a.sum())"
    )


def quantiles():
    count = int(512 * MIB * SCALE) // 8
    numpy.save("large.npy", numpy.random.default_rng(2).normal(size=count))
    yield "npymap", [NPYMAP, "stats", "--quantiles", "--hist", "large.npy"]
    yield "NumPy", python(
        "a = np.load('large.npy', mmap_mode='r')\n"
        "print(a.min(), a.mean(), a.max(), a.sum(), np.quantile(a, [0.25, 0.5, 0.75]), np.histogram(a, 20))"
    )


def concat():
    """Two files that are joined; `cp` reads and writes as much."""
    rows = int(512 * MIB * SCALE) // 8 // 256 // 2
    for name in "ab":
        numpy.save(f"{name}.npy", numpy.random.default_rng(4).normal(size=(rows, 256)))
    yield "npymap", [NPYMAP, "concat", "--overwrite", "a.npy", "b.npy", "-o", "out.npy"]
    yield "NumPy", python("np.save('numpy.npy', np.concatenate([np.load('a.npy'), np.load('b.npy')]))")
    yield "cp", ["sh", "-c", "cp a.npy cp-a.npy && cp b.npy cp-b.npy"]


def shuffle():
    """Rows of 2 KiB that fit into `--memory`; `cp` reads and writes as much."""
    rows = int(256 * MIB * SCALE) // 8 // 256
    numpy.save("rows.npy", numpy.random.default_rng(5).normal(size=(rows, 256)))
    yield "npymap", [NPYMAP, "shuffle", "--overwrite", "rows.npy", "out.npy"]
    yield "NumPy", python("np.save('numpy.npy', np.random.default_rng(1).permutation(np.load('rows.npy')))")
    yield "cp", ["cp", "rows.npy", "cp.npy"]


def sort():
    """More than fits into `--memory`; `cp` twice reads and writes what a sort in runs does."""
    count = int(1024 * MIB * SCALE) // 8
    numpy.save("large.npy", numpy.random.default_rng(6).normal(size=count))
    memory = f"{max(int(128 * SCALE), 1)}M"
    yield "npymap", [NPYMAP, "sort", "--overwrite", "--memory", memory, "large.npy", "out.npy"]
    yield "NumPy", python("np.save('numpy.npy', np.sort(np.load('large.npy')))")
    yield "DuckDB", duckdb(
        "data = {'x': np.load('large.npy')}\n"
        "np.save('duckdb.npy', duckdb.sql('from data order by x').fetchnumpy()['x'])"
    )
    yield "cp", ["sh", "-c", "cp large.npy cp.npy && cp cp.npy cp2.npy"]


def unique():
    count = int(256 * MIB * SCALE) // 8
    numpy.save("labels.npy", numpy.random.default_rng(7).integers(0, 1000, size=count))
    yield "npymap", [NPYMAP, "unique", "--counts", "labels.npy"]
    yield "NumPy", python("print(*np.unique(np.load('labels.npy'), return_counts=True))")
    yield "DuckDB", duckdb(
        "data = {'x': np.load('labels.npy')}\n"
        "print(duckdb.sql('select x, count(*) from data group by x order by x').fetchall())"
    )


def diff():
    """Two archives of eight members, one of which differs in an element."""
    random = numpy.random.default_rng(3)
    members = {f"layer{n}": random.normal(size=int(128 * MIB * SCALE) // 8) for n in range(8)}
    numpy.savez("a.npz", **members)
    hdf5("a.h5", members)
    members["layer5"][100] += 1
    numpy.savez("b.npz", **members)
    hdf5("b.h5", members)
    yield "npymap", [NPYMAP, "diff", "a.npz", "b.npz"]
    yield "NumPy", python(
        "a, b = np.load('a.npz'), np.load('b.npz')\n"
        "for name in a:\n"
        "    x, y = a[name], b[name]\n"
        "    print(name, (x != y).sum(), np.abs(x - y).max())"
    )
    # h5py writes the files.
    yield "h5diff", installed("h5diff", "a.h5", "b.h5") if os.path.exists("b.h5") else None


def hdf5(name, members):
    try:
        import h5py
    except ImportError:
        return
    with h5py.File(name, "w") as file:
        for key, value in members.items():
            file[key] = value


def head():
    table()
    yield "npymap", [NPYMAP, "head", "-n", "100000", "table.npy"]
    yield "NumPy", python(
        "for number, row in enumerate(np.load('table.npy', mmap_mode='r')[:100000].tolist()):\n"
        "    print(number, *row)"
    )


def listing():
    """Ten thousand files in a hundred directories."""
    for number in range(int(10_000 * SCALE)):
        directory = pathlib.Path("tree", str(number % 100))
        directory.mkdir(parents=True, exist_ok=True)
        numpy.save(directory / f"{number}.npy", numpy.zeros((3, number % 7)))
    yield "npymap", [NPYMAP, "ls", "-r", "tree"]
    yield "NumPy", python(
        "import os\n"
        "for directory, _, names in os.walk('tree'):\n"
        "    for name in sorted(names):\n"
        "        a = np.load(os.path.join(directory, name), mmap_mode='r')\n"
        "        print(directory, name, a.dtype, a.shape, a.nbytes)"
    )


JOBS = {
    "csv-out": csv_out,
    "csv-in": csv_in,
    "stats": stats,
    "quantiles": quantiles,
    "diff": diff,
    "head": head,
    "list": listing,
    "concat": concat,
    "shuffle": shuffle,
    "sort": sort,
    "unique": unique,
}


def npymap(*arguments):
    subprocess.run([NPYMAP, *arguments], check=True)


# Runs a command from a small process: a new process counts the memory of the one
# that started it.
LAUNCHER = """
import os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
elapsed = time.perf_counter() - start
print(elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def measure(command):
    """Runs a command; returns its time, its processor time and its peak memory."""
    run = subprocess.run([sys.executable, "-ISc", LAUNCHER, *command], capture_output=True, text=True)
    # `diff` and `h5diff` return 1 for arrays that differ.
    if run.returncode not in (0, 1) or "Traceback" in run.stderr:
        sys.exit(f"{command}: {run.stderr}")
    return tuple(map(float, run.stdout.split()))


def compare(job, commands):
    commands = dict(commands)
    for name in [name for name, command in commands.items() if not command]:
        print(f"{job}: {name} is not installed", file=sys.stderr)
        del commands[name]
    rounds = [{name: measure(command) for name, command in commands.items()} for _ in range(ROUNDS)]
    ours, *theirs = commands
    for name in theirs:
        print(f"| {job} | {name} | {least(rounds, ours)} | {least(rounds, name)} "
              f"| {ratios(rounds, name, 0)} | {ratios(rounds, name, 1)} |", flush=True)


def least(rounds, name):
    elapsed, cpu, memory = map(min, zip(*(times[name] for times in rounds)))
    return f"{elapsed:.2f}; {cpu:.2f}; {memory:.0f}"


def ratios(rounds, name, at):
    found = [times["npymap"][at] / times[name][at] for times in rounds]
    return f"{min(found):.2f} / **{statistics.median(found):.2f}** / {max(found):.2f}"


def main():
    jobs = [job for job in sys.argv[1:] if job != "--quick"] or list(JOBS)
    base = os.environ.get("NPYMAP_PEERS_DIRECTORY")
    print("| job | compared with | ours: s; processor s; MiB | theirs "
          "| elapsed, min / median / max | processor |\n|---|---|---|---|---:|---:|")
    for job in jobs:
        with tempfile.TemporaryDirectory(dir=base) as directory:
            os.chdir(directory)
            compare(job, JOBS[job]())
            os.chdir(ROOT)


if __name__ == "__main__":
    main()
