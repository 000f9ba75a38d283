#!/usr/bin/env python3
"""Checks npymap from a package that depends on nothing else.

    python3 .ci/standalone.py

Runs the tests of tests/standalone: the README's examples and those of the
derives. Then compiles each program in tests/standalone/refused, which must fail
with an error that contains the text after `says:` in the program's first line.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "tests/standalone/Cargo.toml"


def cargo(*arguments):
    command = ["cargo", *arguments, "-q", "--manifest-path", MANIFEST]
    return subprocess.run(command, cwd=MANIFEST.parent, capture_output=True, text=True)


def first_error(program):
    """Returns the first error the compiler reports, or None."""
    done = cargo("check", "--example", program.stem, "--message-format", "json")
    for line in done.stdout.splitlines():
        message = json.loads(line).get("message") or {}
        if message.get("level") == "error":
            return message["message"]
    return None


def main():
    failed = False
    for tests in ["--doc"], ["--tests"]:
        done = cargo("test", *tests)
        if done.returncode:
            print(done.stdout, done.stderr)
            failed = True
    for program in sorted(MANIFEST.parent.glob("refused/*.rs")):
        expected = program.read_text().splitlines()[0].removeprefix("// says: ")
        error = first_error(program)
        if error is None or expected not in error:
            print(f"{program.relative_to(ROOT)}: expected an error with: {expected}\nfound: {error}")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
