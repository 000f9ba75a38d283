#!/usr/bin/env python3
"""Checks what the packages contain before they are published.

    python3 .ci/packages.py

Each has its README, both licences and all its sources, contains no other files
than those listed here, and is small. Cargo.lock does not count: Cargo packages one
of its own, without what only the other packages need.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The files of each package besides those of every package, and its maximum
# size in KiB.
PACKAGES = {
    "npymap": (r"data/(README\.md|penguins\.npy)|(COMPATIBILITY|SHARING)\.md|src/guide/[a-z-]+\.(md|svg)", 2048),
    "npymap-derive": (r"", 100),
    "npymap-remote": (r"src/[a-z-]+\.md", 400),
    "npymap-cli": (r"", 1100),
}
EVERY = r"src/.*\.rs|README\.md|LICENSE-(APACHE|MIT)|Cargo\.(toml|toml\.orig|lock)|\.cargo_vcs_info\.json"


def contents(package):
    command = ["cargo", "package", "--list", "--allow-dirty", "--quiet", "-p", package]
    return subprocess.check_output(command, cwd=ROOT, text=True).splitlines()


def sources(folder):
    return {str(path.relative_to(folder)) for path in (folder / "src").rglob("*.rs")}


def main():
    metadata = json.loads(
        subprocess.check_output(["cargo", "metadata", "--format-version=1", "--no-deps"], cwd=ROOT)
    )
    wrong = []
    for package in metadata["packages"]:
        name, folder = package["name"], Path(package["manifest_path"]).parent
        extra, limit = PACKAGES[name]
        inside = set(contents(name))
        expected = {"README.md", "LICENSE-APACHE", "LICENSE-MIT"} | sources(folder)
        wrong += [f"{name} lacks {file}" for file in sorted(expected - inside)]
        known = re.compile(f"{EVERY}|{extra}" if extra else EVERY)
        wrong += [f"{name} contains {file}" for file in sorted(inside) if not known.fullmatch(file)]
        counted = [folder / file for file in inside if file != "Cargo.lock"]
        size = sum(file.stat().st_size for file in counted if file.is_file())
        if size > limit * 1024:
            wrong.append(f"{name} has {size // 1024} KiB, more than {limit}")
        for key in ("description", "license", "repository", "readme", "categories", "rust_version"):
            if not package[key]:
                wrong.append(f"{name} has no {key} in its manifest")
        print(f"{name}: {len(inside)} files, {size // 1024} KiB")
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
