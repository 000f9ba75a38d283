#!/usr/bin/env python3
"""Runs the programs of the guide and compares their output with the pages.

    python3 .ci/guide.py            fails where an output differs
    python3 .ci/guide.py --write    writes the outputs into the pages

A program is a block of Rust with a `main`; its output is the `text` block that
follows. All programs are built as one package that depends on npymap only.
"""

import difflib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "target/guide"
PROGRAM = re.compile(r"^```rust\n(.*?)^```\n\n```text\n(.*?)^```$", re.M | re.S)

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
    for page in sorted(ROOT.glob("src/guide/*.md")):
        for number, match in enumerate(PROGRAM.finditer(page.read_text())):
            yield page, f"{page.stem}_{number}".replace("-", "_"), match


def build():
    sources = PACKAGE / "src/bin"
    sources.mkdir(parents=True, exist_ok=True)
    for stale in sources.iterdir():
        stale.unlink()
    (PACKAGE / "Cargo.toml").write_text(MANIFEST.format(root=ROOT))
    (PACKAGE / "Cargo.lock").write_bytes((ROOT / "Cargo.lock").read_bytes())
    for _, name, match in programs():
        (sources / f"{name}.rs").write_text(match[1])
    command = ["cargo", "build", "-q", "--manifest-path", PACKAGE / "Cargo.toml", "--target-dir", PACKAGE / "target"]
    subprocess.run(command, check=True)


def main():
    build()
    failed, outputs = False, {}
    for page, name, match in programs():
        done = subprocess.run([PACKAGE / "target/debug" / name], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{page.name}: {name} failed: {done.stderr}")
        outputs.setdefault(page, []).append(done.stdout)
        if done.stdout != match[2]:
            failed = True
            print("\n".join(difflib.unified_diff(match[2].splitlines(), done.stdout.splitlines(), page.name, name, lineterm="")))
    if "--write" in sys.argv:
        for page, found in outputs.items():
            texts = iter(found)
            page.write_text(PROGRAM.sub(lambda match: f"```rust\n{match[1]}```\n\n```text\n{next(texts)}```", page.read_text()))
        return
    print(f"{sum(map(len, outputs.values()))} programs of the guide run")
    sys.exit(failed)


if __name__ == "__main__":
    main()
