#!/usr/bin/env python3
"""Runs the short programs, and the NumPy programs they are compared with.

    python3 .ci/programs.py            fails where an output differs
    python3 .ci/programs.py --write    writes the outputs into the programs
    python3 .ci/programs.py --all      also those of faer, which takes minutes to build
    python3 .ci/programs.py --lines    counts lines instead

Each program in examples/programs starts with a comment that contains a Python
program and what both print. Numbers may differ in their last digits, because
NumPy adds in another order. Programs without a text print bytes, which are
equal. NPYMAP_PYTHON is the Python that has NumPy.
"""

import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples/programs"
PYTHON = os.environ.get("NPYMAP_PYTHON", sys.executable)
BLOCK = re.compile(r"^//! ```(python|text)\n(.*?)^//! ```$", re.M | re.S)
COMMENT = re.compile(r"^//! ?", re.M)


def blocks(source):
    """Returns the Python program in a comment, and the expected output or None."""
    found = {kind: COMMENT.sub("", text) for kind, text in BLOCK.findall(source)}
    return found["python"], found.get("text")


def build():
    """Builds the programs, and returns the path of each by its name.

    Clippy checks them meanwhile: `cargo clippy` would check their dependencies, too.
    """
    command = ["cargo", "build", "--locked", "-q", "--message-format", "json", "--manifest-path", FOLDER / "Cargo.toml"]
    environment = dict(os.environ, RUSTC_WORKSPACE_WRAPPER="clippy-driver")
    done = subprocess.run(command + ["--workspace"] * ("--all" in sys.argv), env=environment, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    found = [message["message"]["rendered"] for message in messages if "message" in message]
    print(*found, sep="", end="", file=sys.stderr)
    if done.returncode:
        sys.exit("the programs do not compile")
    if found:
        sys.exit("the programs compile with warnings")
    return {message["target"]["name"]: message["executable"] for message in messages if message.get("executable")}


def run(command, data):
    """Runs a program in a copy of the data. Its standard input is an array."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(data, folder, dirs_exist_ok=True)
        with open(data / "table.npy", "rb") as stdin:
            done = subprocess.run(command, cwd=folder, stdin=stdin, capture_output=True)
    if done.returncode:
        sys.exit(f"{command} failed: {done.stderr.decode()}")
    return done.stdout


def equal_words(a, b):
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-8)
    except ValueError:
        return a == b


def equal_text(a, b):
    """Compares words and numbers, whatever separates them."""
    a, b = (re.split(r"[\s,()\[\]'\"]+", text.strip("()[]\n \"'").lower()) for text in (a, b))
    return len(a) == len(b) and all(map(equal_words, a, b))


def check(path, executable, data):
    """Returns whether a program prints what its comment says, and NumPy too."""
    source = path.read_text()
    python, expected = blocks(source)
    ours = run([executable], data)
    numpys = run([PYTHON, "-c", f"import numpy as np\n{python}"], data)
    if expected is None:
        same = ours == numpys
    else:
        ours, numpys = ours.decode(), numpys.decode()
        if "--write" in sys.argv:
            text = "".join(f"//! {line}\n" for line in ours.splitlines())
            path.write_text(re.sub(r"(//! ```text\n).*?(//! ```\n)", lambda m: m[1] + text + m[2], source, count=1, flags=re.S))
            expected = ours
        same = ours == expected and equal_text(ours, numpys)
    if not same:
        print(f"{path.relative_to(ROOT)}: printed\n{ours}\nNumPy printed\n{numpys}\nexpected\n{expected}")
    return same


def our_lines(source):
    """Counts lines that are neither comments, imports, attributes nor the frame of `main`."""
    lines = [line.strip() for line in re.sub(r"^use .*?;$", "", source, flags=re.M | re.S).splitlines()]
    kept = [line for line in lines if line and not line.startswith(("//", "#[allow"))]
    frame = sum(line.startswith(("fn main", "async fn main", "#[tokio::main")) for line in kept)
    return len(kept) - frame - kept.count("Ok(())") - 1


def python_lines(python):
    return sum(bool(line.strip()) and not line.startswith(("import ", "from ")) for line in python.splitlines())


def main():
    programs = sorted(FOLDER.glob("*/src/bin/*.rs"))
    if "--lines" in sys.argv:
        for path in programs:
            source = path.read_text()
            print(f"{path.stem:24} {our_lines(source):3} {python_lines(blocks(source)[0]):3}")
        return
    built = build()
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder)
        subprocess.run([PYTHON, FOLDER / "make_data.py"], cwd=data, check=True)
        results = [check(path, built[path.stem], data) for path in programs if path.stem in built]
    print(f"{len(results)} programs print what NumPy prints")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
