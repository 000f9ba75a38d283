#!/usr/bin/env python3
"""Checks that each module of `src/` imports only modules in lower layers.

    python3 .ci/layers.py

Prints each import of a higher layer, with its file and line, and fails if there
is one, so there are no cycles. Comments, documentation and strings are ignored.
`guide` is documentation. The same for the folders of `cli/src/`, where files of a
folder may import each other, but not in circles, and those of `commands` not at all.
"""

import pathlib
import re
import sys

# From the bottom to the top.
LAYERS = [
    "error", "dtype", "layout", "kernel", "element", "view", "source", "npy",
    "array", "write", "archive", "loader",
]

MOST = 12
assert len(LAYERS) <= MOST, f"{len(LAYERS)} modules side by side, at most {MOST}"

# Exported macros are at the crate root wherever they are defined.
MACROS = ["with_type"]


def imports(path):
    """Yields the line number and module of each `crate::module` in a file."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code = re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]
        for module in re.findall(r"(?<!\$)\bcrate::(\w+|\{)", code):
            yield number, module


# The folders of the program, from the bottom to the top.
FOLDERS = ["input", "select", "stats", "sort", "output", "commands"]


def program_imports(path):
    """Yields the folder and module of each import of a file of the program."""
    lines = (re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0] for line in path.read_text().splitlines())
    for folder, names in re.findall(r"\bcrate::(\w+)::(\w+|\{[^;]*\})", "\n".join(lines)):
        if folder in FOLDERS:
            # `{a, b::{self, C}}` imports the modules `a` and `b`.
            while (flat := re.sub(r"::\{[^{}]*\}", "", names)) != names:
                names = flat
            for name in re.findall(r"(?<![:\w])\w+", names):
                yield folder, name


def check_program(root):
    """Prints imports of the program that are not allowed, and returns whether there are any."""
    graph = {}
    for path in sorted(root.rglob("*.rs")):
        parts = path.relative_to(root).parts
        if len(parts) > 1 and parts[1] != "mod.rs":
            module = (parts[0], parts[1].removesuffix(".rs"))
            graph.setdefault(module, set()).update(program_imports(path))
    failed = False
    for module in graph:
        graph[module].discard(module)
        for other in sorted(graph[module]):
            is_higher = FOLDERS.index(other[0]) > FOLDERS.index(module[0])
            if is_higher or other[0] == module[0] == "commands":
                print(f"cli/src/{'/'.join(module)}: imports `{'::'.join(other)}`")
                failed = True
    left = dict(graph)
    while done := [module for module in left if not any(other in left for other in left[module])]:
        for module in done:
            del left[module]
    for module in sorted(left):
        print(f"cli/src/{'/'.join(module)}: is in a circle of imports, or imports one")
        failed = True
    return failed


def main():
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    modules = {path.stem for path in root.iterdir()} - {"lib", "guide"}
    failed = check_program(root.parent / "cli" / "src")
    for module in sorted(modules ^ set(LAYERS)):
        print(f"src/{module}: must be both in src/ and in the list of layers in .ci/layers.py")
        failed = True
    for path in sorted(root.rglob("*.rs")):
        layer = path.relative_to(root).parts[0].removesuffix(".rs")
        if layer == "lib":
            continue
        for number, module in imports(path):
            if module in LAYERS and LAYERS.index(module) > LAYERS.index(layer):
                print(f"src/{path.relative_to(root)}:{number}: `{layer}` imports `{module}`, a higher layer")
                failed = True
            elif module not in LAYERS and module not in MACROS:
                print(f"src/{path.relative_to(root)}:{number}: imports `{module}` from the crate root: write `use crate::module::…`")
                failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
