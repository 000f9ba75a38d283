#!/usr/bin/env python3
"""Checks that each module of `src/` imports only modules in lower layers.

    python3 .ci/layers.py

Prints each import of a higher layer, with its file and line, and fails if there
is one, so there are no cycles. Comments, documentation and strings are ignored.
`guide` is documentation.
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


def main():
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    modules = {path.stem for path in root.iterdir()} - {"lib", "guide"}
    failed = False
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
