#!/usr/bin/env python3
"""Checks npymap from a package that depends on nothing else.

    python3 .ci/standalone.py

Runs the tests of tests/standalone: the README's examples and those of the
derives. Then compiles the programs in tests/standalone/refused, which must fail.
The first line of each says what with: `// says: TEXT` for the first line of the
first error, `// notes: TEXT` for any line of it. Those with `// features: none`
are compiled without the features of npymap.
"""

import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "tests/standalone/Cargo.toml"
PROGRAMS = sorted((MANIFEST.parent / "refused/src/bin").glob("*.rs"))


def cargo(*arguments):
    command = ["cargo", *arguments, "-q", "--manifest-path", MANIFEST]
    return subprocess.run(command, cwd=MANIFEST.parent, capture_output=True, text=True)


def first_errors(programs, *options):
    """Compiles programs and returns the first error in each, by its name."""
    targets = [word for program in programs for word in ("--bin", program.stem)]
    done = cargo("check", "-p", "refused", *options, *targets, "--keep-going", "--message-format", "json")
    errors = {}
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-message" and message["message"]["level"] == "error":
            errors.setdefault(message["target"]["name"], message["message"])
    return errors


def check(program, error):
    """Returns whether the first error in a program is the expected one."""
    where, _, expected = program.read_text().splitlines()[0].removeprefix("// ").partition(": ")
    text = error and error[{"says": "message", "notes": "rendered"}[where]]
    if text is not None and expected in text:
        return True
    print(f"{program.relative_to(ROOT)}: expected an error with: {expected}\nfound: {text}")
    return False


def main():
    # The versions that other stages have compiled.
    shutil.copy(ROOT / "Cargo.lock", MANIFEST.parent)
    passed = True
    for tests in ["--doc"], ["--tests"]:
        done = cargo("test", *tests)
        if done.returncode:
            print(done.stdout, done.stderr)
            passed = False
    bare = [program for program in PROGRAMS if "\n// features: none\n" in program.read_text()]
    errors = first_errors([program for program in PROGRAMS if program not in bare])
    errors |= first_errors(bare, "--no-default-features")
    results = [check(program, errors.get(program.stem)) for program in PROGRAMS]
    print(f"{sum(results)} of {len(results)} programs are refused as expected")
    sys.exit(not (passed and all(results)))


if __name__ == "__main__":
    main()
