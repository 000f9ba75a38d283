#!/usr/bin/env python3
"""Runs the programs of src/guide/c.md and compares their output with the page; checks
that the program in capi/MIGRATING.md is the example.

    python3 .ci/capi_pages.py OUT LANGUAGES            fails where an output differs
    python3 .ci/capi_pages.py OUT LANGUAGES --write    writes the outputs into the page

The library is found as PKG_CONFIG_PATH and LD_LIBRARY_PATH say. OUT is a folder for
what is compiled. LANGUAGES are those of the programs to run: c,cpp,lua,go
"""

import difflib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "src/guide/c.md"
PROGRAM = re.compile(r"^```(c|cpp|lua|go)\n(.*?)^```\n\n```text\n(.*?)^```$", re.M | re.S)
COMPILE = {
    "c": "cc -std=c11 -Wall -Wextra -Werror {source} -o {program} $(pkg-config --cflags --libs npymap)",
    "cpp": "c++ -std=c++17 -Wall -Wextra -Werror {source} -o {program} $(pkg-config --cflags --libs npymap)",
    "lua": "printf '#!/bin/sh\\nexec luajit {source}\\n' >{program} && chmod +x {program}",
    "go": "GO111MODULE=off go build -o {program} {source}",
}


def output(out, language, text):
    source, program = out / f"page.{language}", out / f"page-{language}"
    source.write_text(text)
    subprocess.run(COMPILE[language].format(source=source, program=program), shell=True, check=True)
    return subprocess.run([program], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def migrated():
    """Returns the program that the difference in MIGRATING.md leads to."""
    text = (ROOT / "capi/MIGRATING.md").read_text()
    lines = re.search(r"^```diff\n(.*?)^```$", text, re.M | re.S)[1].splitlines()
    return "".join(line[1:] + "\n" for line in lines if not line.startswith("-"))


def main():
    out, page, failed = pathlib.Path(sys.argv[1]), PAGE.read_text(), False
    if migrated() != (ROOT / "capi/examples/scale.c").read_text():
        sys.exit("the program in capi/MIGRATING.md is not capi/examples/scale.c")
    programs = [match for match in PROGRAM.finditer(page) if match[1] in sys.argv[2].split(",")]
    outputs = [output(out, match[1], match[2]) for match in programs]
    if "--write" in sys.argv:
        for match, found in reversed(list(zip(programs, outputs))):
            page = page[: match.start(3)] + found + page[match.end(3) :]
        PAGE.write_text(page)
        return
    for match, found in zip(programs, outputs):
        if match[3] != found:
            failed = True
            print("\n".join(difflib.unified_diff(match[3].splitlines(), found.splitlines(), match[1], "found", lineterm="")))
    print(f"{len(outputs)} programs of the page on C run")
    sys.exit(failed)


if __name__ == "__main__":
    main()
