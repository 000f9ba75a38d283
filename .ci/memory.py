#!/usr/bin/env python3
"""Peak memory of the program's commands on a file of 2 GiB, in 128 MiB of address space.

    python3 .ci/memory.py target/release/npymap
    python3 .ci/memory.py --batches PYTHON

Prints a table, and fails if a command fails, or has more memory than its buffers and 64 MiB.
With `--batches`, runs epochs of the mapped file in a Python with the package, in a control group
with a limit of 128 MiB, which includes the page cache.
"""

import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

LIMIT = 128 << 20

# A command, and the buffers that the guide names, in MiB.
COMMANDS = [
    (["info", "a.npy"], 0),
    (["info", "--digest", "a.npy"], 8),
    (["ls", "."], 0),
    (["head", "a.npy"], 0),
    (["tail", "a.npy"], 0),
    (["get", "a.npy", "-1"], 0),
    (["get", "a.npy", "[1, -1, 5]"], 0),
    (["get", "a.npy", "::1000000"], 0),
    (["get", "a.npy", ":, ::-1", "--format", "raw"], 8),
    (["get", "a.npy", ":200000", "--format", "csv"], 8),
    (["get", "a.npy", "--where", "value[0] > 1", "--format", "csv"], 8),
    (["stats", "a.npy", "--std", "--quantiles"], 32),
    (["stats", "f.npy", "--axis", "0"], 32),
    (["sample", "a.npy", "-n", "1000", "-o", "OUT.npy"], 0),
    (["show", "a.npy"], 32),
    (["diff", "a.npy", "b.npy"], 64),
    (["convert", "a.npy", "OUT.npy"], 16),
    (["convert", "a.npy", "OUT.npy", "--dtype", "f4"], 16),
    (["convert", "f.npy", "OUT.npy", "--order", "C"], 64),
    (["convert", "a.npy", "OUT.npy", "--select", ":, 1:3"], 16),
    (["convert", "a.npy", "OUT.npz"], 8),
    (["convert", "a.npy", "OUT.npz", "--dtype", "f4"], 16),
    (["convert", "a.npy", "OUT.ten"], 8),
    (["concat", "a.npy", "a.npy", "-o", "OUT.npy"], 8),
    (["concat", "--axis", "1", "a.npy", "a.npy", "-o", "OUT.npy"], 64),
    (["shuffle", "s.npy", "OUT.npy", "--memory", "32"], 32),
    (["npz", "pack", "a.npy", "-o", "OUT.npz"], 8),
    (["sort", "a.npy", "OUT.npy", "--by", ":, 0", "--memory", "32M"], 48),
    (["sort", "f.npy", "OUT.npy", "--by", ":, 0", "--memory", "32M"], 64),
    (["unique", "a.npy", "--memory", "32M"], 48),
    (["unique", "a.npy", ":, 1", "--counts", "--memory", "32M"], 64),
    (["create", "OUT.npy", "--shape", "(67108864, 4)", "--dtype", "<f8", "--random", "normal"], 8),
    (["append", "d.npy", "a.npy"], 8),
    (["set", "d.npy", ":", "1"], 8),
    (["set", "d.npy", ":, 1", "2"], 16),
    (["set", "d.npy", ":67108864, ::-1", "@b.npy"], 16),
    (["set", "d.npy", ":, 3", "0", "--where", "value[1] > 2"], 8),
    (["header", "d.npy", "--dtype", "<i8"], 0),
    (["npz", "add", "z.npz", "a.npy", "--name", "b", "--overwrite"], 8),
    (["set", "z.npz[b]", ":, 1", "2"], 16),
    (["set", "z.npz[b]", "::-1", "@b.npy"], 16),
    (["npz", "verify", "z.npz"], 0),
    (["npz", "extract", "z.npz", "-d", "OUT"], 0),
    (["npz", "mv", "z.npz", "b", "c"], 0),
    (["npz", "recover", "z.npz", "-o", "OUT.npz"], 0),
    (["npz", "rm", "z.npz", "c"], 0),
    (["recover", "--dry-run", "a.npy"], 0),
]


def main(program):
    program = os.path.abspath(program)
    subprocess.run([program, "--version"], check=True, stdout=subprocess.DEVNULL)
    failures = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        folder = pathlib.Path(folder)
        make = lambda *words: subprocess.run([program, *words], check=True, cwd=folder)
        # 2 GiB: rows of 32 bytes, of 128 KiB, and in Fortran order.
        make("create", "a.npy", "--shape", "(67108864, 4)", "--dtype", "<f8", "--sparse")
        make("create", "b.npy", "--shape", "(67108864, 4)", "--dtype", "<f8", "--sparse")
        make("create", "d.npy", "--shape", "(1, 4)", "--dtype", "<f8")
        make("create", "s.npy", "--shape", "(16384, 16384)", "--dtype", "<f8", "--sparse")
        make("create", "f.npy", "--shape", "(16384, 16384)", "--dtype", "<f8", "--order", "F", "--sparse")
        make("create", "one.npy", "--shape", "1")
        make("npz", "pack", "one.npy", "-o", "z.npz")
        print("| command | peak, MiB | buffers |\n|---|---|---|")
        for words, buffers in COMMANDS:
            command = subprocess.Popen(
                [program, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT)),
            )
            error = command.stderr.read().decode()
            _, status, usage = os.wait4(command.pid, 0)
            peak = usage.ru_maxrss >> 10
            is_ok = status == 0 and peak <= buffers + 64
            failures += not is_ok
            print(f"| `{' '.join(words)}` | {peak} | {buffers} |{'' if is_ok else ' FAILED ' + error}", flush=True)
            for output in folder.glob("OUT*"):
                subprocess.run(["rm", "-r", output], check=True)
    sys.exit(failures > 0)


def batches(python):
    script = pathlib.Path(__file__).resolve().parent.parent / "python/tests/epochs.py"
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path = f"{folder}/a.npy"
        create = f"import npymap; npymap.create({path!r}, 'f8', (1 << 15, 1 << 13), sparse=True)"
        subprocess.run([python, "-c", create], check=True)
        group = control_group()
        join = lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
        try:
            subprocess.run([python, script, path], check=True, preexec_fn=join if group else None)
            for name in ("memory.max_usage_in_bytes", "memory.peak"):
                if group and (group / name).exists():
                    print(f"with the page cache: {int((group / name).read_text()) >> 20} MiB")
        finally:
            if group:
                group.rmdir()


def control_group():
    """Make a control group below that of this process with a limit of memory, if that is allowed."""
    own = pathlib.Path("/proc/self/cgroup").read_text()
    first, second = re.search(":memory:(.*)", own), re.search("^0::(.*)", own, re.MULTILINE)
    root, found, limit = ("/sys/fs/cgroup/memory", first, "memory.limit_in_bytes") if first else (
        "/sys/fs/cgroup", second, "memory.max")
    group = pathlib.Path(f"{root}{found[1] if found else ''}/npymap-{os.getpid()}")
    try:
        group.mkdir()
    except OSError as error:
        print(f"no limit of the page cache, because control groups cannot be made here: {error}")
        return None
    try:
        (group / limit).write_text(str(LIMIT))
    except OSError as error:
        print(f"no limit of the page cache, because control groups have none here: {error}")
        group.rmdir()
        return None
    return group


if __name__ == "__main__":
    if sys.argv[1] == "--batches":
        batches(sys.argv[2])
    else:
        main(*sys.argv[1:])
