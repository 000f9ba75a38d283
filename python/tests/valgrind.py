#!/usr/bin/env python3
"""Runs tests under valgrind, and fails if it reports errors of the native module.

    python python/tests/valgrind.py [TEST…]        by default python/tests/test_misuse.py

Needs valgrind; takes a minute or two. CPython and the dynamic linker have reports of their
own, so only those count that have a function of the module among their callers. Leaks are
memory that nothing refers to at the end, except for what the module allocates once, when it
is imported, and in forked children, which lose the memory of threads that they do not
have. As a control, the run fails unless memory that the module allocated is still reachable at
the end: otherwise its functions were not recognised.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import npymap

MODULE = Path(npymap._core.__file__).name
OPTIONS = ["--error-limit=no", "--num-callers=60", "--leak-check=full", "--show-leak-kinds=all"]


def main():
    tests = sys.argv[1:] or [str(Path(__file__).parent / "test_misuse.py")]
    with tempfile.TemporaryDirectory() as directory:
        command = ["valgrind", *OPTIONS, f"--log-file={directory}/%p", sys.executable, "-m", "pytest",
                   "-q", "-p", "no:cacheprovider", *tests]
        done = subprocess.Popen(command, env={**os.environ, "PYTHONMALLOC": "malloc"})
        done.wait()
        logs = {int(path.name): path.read_text() for path in Path(directory).iterdir()}
    errors, reachable = [], 0
    for process, log in logs.items():
        for record in re.split(r"==\d+== \n", log):
            if MODULE not in record:
                continue
            if "in loss record" not in record or is_leak(record) and process == done.pid:
                errors.append(record)
            reachable += "still reachable" in record
    print("\n".join(errors))
    print(f"{len(logs)} processes: {len(errors)} errors of {MODULE}; {reachable} reports of memory "
          "that it allocated and that is still reachable, as expected")
    sys.exit(done.returncode or bool(errors) or reachable == 0)


def is_leak(record):
    return "definitely lost" in record and "PyModule_ExecDef" not in record


if __name__ == "__main__":
    main()
