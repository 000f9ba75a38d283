#!/usr/bin/env python3
"""Runs the programs and commands of the guide and compares their output with the pages.

    python3 .ci/guide.py            fails where an output differs
    python3 .ci/guide.py --write    writes the outputs into the pages

A program is a block of Rust with a `main`. Its output is the `text` block that
follows. SHARING.md is a page of the guide, too. All programs are built as one package
that depends on npymap only.

The `console` blocks of jobs.md are commands after `$ `, each followed by its
output. They run one after another in one directory.
"""

import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "target/guide"
PAGES = [*sorted(ROOT.glob("src/guide/*.md")), ROOT / "SHARING.md"]
PROGRAM = re.compile(r"^```rust\n(.*?)^```\n\n```text\n(.*?)^```$", re.M | re.S)

CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)

MANIFEST = """
[package]
name = "guide"
edition = "2024"

[dependencies]
npymap = {{ path = "{root}", features = ["npz", "tar", "derive"] }}
tempfile = "3"

[workspace]
"""


def programs():
    """Yields the page, the name of the program and the match for each."""
    for page in PAGES:
        for number, match in enumerate(PROGRAM.finditer(page.read_text())):
            yield page, f"{page.stem.lower()}_{number}".replace("-", "_"), match


def build():
    sources = PACKAGE / "src/bin"
    sources.mkdir(parents=True, exist_ok=True)
    for stale in sources.iterdir():
        stale.unlink()
    (PACKAGE / "Cargo.toml").write_text(MANIFEST.format(root=ROOT))
    (PACKAGE / "Cargo.lock").write_bytes((ROOT / "Cargo.lock").read_bytes())
    for _, name, match in programs():
        (sources / f"{name}.rs").write_text(match[1])
    command = ["cargo", "build", "-q", "--manifest-path", PACKAGE / "Cargo.toml", "--target-dir", ROOT / "target"]
    subprocess.run(command, check=True)


def compare(expected, found, page, name):
    """Prints how a text differs, and returns whether it does."""
    print("\n".join(difflib.unified_diff(expected.splitlines(), found.splitlines(), page, name, lineterm="")))
    return expected != found


def run_commands(page):
    """Returns the page with the output that its commands print."""
    # What other stages of .ci/run need, too, so that it is compiled once.
    command = ["cargo", "build", "-q", "--workspace", "--all-features", "--bins", "--examples", "--target-dir", ROOT / "target"]
    subprocess.run(command, cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / "data/penguins.npy", folder)
        path = f"{ROOT / 'target/debug'}:{os.environ['PATH']}"
        environment = dict(os.environ, PATH=path, COLUMNS="100", NO_COLOR="1", HOME=folder)

        def run_block(block):
            lines = []
            for line in block[1].splitlines():
                if line.startswith("$ "):
                    command = ["bash", "-c", line[2:]]
                    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                    lines += [line, *done.stdout.splitlines()]
            return "```console\n" + "".join(f"{line}\n" for line in lines) + "```"

        return CONSOLE.sub(run_block, page.read_text())


def main():
    build()
    failed, outputs = False, {}
    for page, name, match in programs():
        done = subprocess.run([ROOT / "target/debug" / name], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{page.name}: {name} failed: {done.stderr}")
        outputs.setdefault(page, []).append(done.stdout)
        if done.stdout != match[2]:
            failed = compare(match[2], done.stdout, page.name, name) or failed
    jobs = ROOT / "src/guide/jobs.md"
    commands = run_commands(jobs)
    failed = compare(jobs.read_text(), commands, jobs.name, "commands") or failed
    if "--write" in sys.argv:
        jobs.write_text(commands)
        for page, found in outputs.items():
            texts = iter(found)
            page.write_text(PROGRAM.sub(lambda match: f"```rust\n{match[1]}```\n\n```text\n{next(texts)}```", page.read_text()))
        return
    print(f"{sum(map(len, outputs.values()))} programs of the guide run, and {commands.count(chr(10) + '$ ')} commands")
    sys.exit(failed)


if __name__ == "__main__":
    main()
