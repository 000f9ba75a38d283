#!/usr/bin/env python3
"""Checks the dependencies: licences, sources, and a reason for each crate.

    python3 .ci/licences.py
    python3 .ci/licences.py notices FOLDER TARGET

All packages in Cargo.lock, and in those of the packages for Python and C, have one of the
licences below and come from crates.io. CONTRIBUTING.md gives the purpose of each one that
a manifest names. Known vulnerabilities are not checked, because crates.io does not list them.

The second form prints what a build of the package in FOLDER for one of Rust's targets must
carry: the licences of the crates that it contains.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "0BSD",
    "CC0-1.0",
    "BSL-1.0",
    # The root certificates of Mozilla, for systems that have none.
    "CDLA-Permissive-2.0",
}
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def is_allowed(expression):
    """Returns whether an SPDX expression of `OR`, `AND` and brackets is satisfied."""
    words = re.findall(r"\(|\)|(?:(?! OR | AND |[()/]).)+| OR | AND |/", expression)
    python = {" OR ": " or ", "/": " or ", " AND ": " and ", "(": "(", ")": ")"}
    return eval("".join(python.get(word, str(word.strip() in ALLOWED)) for word in words))


def locked(folder):
    command = ["cargo", "metadata", "--format-version=1", "--all-features", "--locked"]
    return json.loads(subprocess.check_output(command, cwd=ROOT / folder))["packages"]


def contained(folder, target):
    """Returns the crates whose code is in a build with URLs, without npymap's own."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--features=remote", "--filter-platform", target]
    metadata = json.loads(subprocess.check_output(command, cwd=ROOT / folder))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, left = set(), [metadata["resolve"]["root"]]
    while left:
        one = left.pop()
        if one in found or any("proc-macro" in part["kind"] for part in packages[one]["targets"]):
            continue
        found.add(one)
        # Those for tests and for build scripts have another kind.
        left += [other["pkg"] for other in nodes[one]["deps"] if any(kind["kind"] is None for kind in other["dep_kinds"])]
    return sorted((packages[one] for one in found if packages[one]["source"]), key=lambda package: package["id"])


def notices(folder, target):
    lists, texts = [], {}
    for package in contained(folder, target):
        name = f"{package['name']} {package['version']}"
        lists.append(f"{name}: {package['license']}")
        for file in sorted(Path(package["manifest_path"]).parent.iterdir()):
            if file.is_file() and re.match("licen[sc]e|copy|notice|unlicense", file.name, re.I):
                text = file.read_text(errors="replace").strip()
                # Equal but for spaces.
                texts.setdefault(" ".join(text.split()), (text, []))[1].append(name)
    print("These packages from crates.io are part of npymap, under these licences:\n", *lists, sep="\n")
    for text, names in texts.values():
        print(f"\n{'-' * 80}\n{', '.join(names)}:\n\n{text}")


def main():
    if sys.argv[1:2] == ["notices"]:
        return notices(*sys.argv[2:])
    packages = {package["id"]: package for folder in (".", "python", "capi") for package in locked(folder)}
    own = [package for package in packages.values() if package["source"] is None]
    wrong = [f"{package['name']} is in {package['id']}" for package in own if not package["name"].startswith("npymap")]
    for package in packages.values():
        name = f"{package['name']} {package['version']}"
        if package["source"] not in (None, CRATES_IO):
            wrong.append(f"{name} comes from {package['source']}")
        if not is_allowed(package["license"] or "none"):
            wrong.append(f"{name} has the licence {package['license']}")
    design = (ROOT / "CONTRIBUTING.md").read_text().partition("## Dependencies")[2]
    named = set(re.findall(r"[\w-]+", "\n".join(line.split("|")[1] for line in design.splitlines() if line.startswith("|"))))
    used = {dependency["name"] for package in own for dependency in package["dependencies"]}
    wrong += [f"CONTRIBUTING.md does not give the purpose of {name}" for name in sorted(used - named - {"npymap"})]
    print(f"{len(packages)} packages, {len(used)} named by manifests")
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
