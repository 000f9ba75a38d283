#!/usr/bin/env python3
"""Checks the sections `# Errors` of the documentation.

    python3 .ci/errors.py

A section stands on its own: it names kinds with their conditions, and does not send the
reader to another function. A function that takes a path names `NotFound`, the error that
everyone meets first.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFERS = re.compile(r"^(As|See|Same|Like|Those) |\b[Tt]hose of \[|\b[Tt]he (same )?errors (as|of) \[|[ ,]as (for |with )?\[`")
LINK = re.compile(r"\[`([\w:]+)`\](\([^)]*\))?")
# What a comma, a full stop or `and` separates, if it is a kind without a condition.
BARE = re.compile(r"(?:^|[,;.] (?:and )?|Returns |and )\[`\w+`\](?=$|[;.]|, \[`|,? and \[`)")
FUNCTION = re.compile(r"\s*(?:pub (?:unsafe |async |const )*|async )?fn (\w+)")


def documented(lines):
    """Yields the line number, documentation and signature of each public function."""
    comment = []
    for at, line in enumerate(lines):
        text = line.strip()
        if text.startswith("///"):
            comment.append(text.removeprefix("///").removeprefix(" "))
        elif text.startswith("#["):
            continue
        else:
            if comment and FUNCTION.match(line) and (line.lstrip().startswith("pub") or is_of_trait(lines, at)):
                yield at + 1, comment, signature(lines[at:])
            # The lines of an attribute.
            if not text.startswith(("reason", ")", "clippy")):
                comment = []


def is_of_trait(lines, at):
    """Whether a function without `pub` is one of a public trait, and so public."""
    outer = next((other for other in reversed(lines[:at]) if re.match(r"\S.*\{$", other)), "")
    return outer.startswith("pub trait")


def signature(lines):
    return " ".join(" ".join(lines[:20]).split("{")[0].split(";")[0].split())


def errors(comment):
    """The text of the section, or None."""
    if "# Errors" not in comment:
        return None
    text = " ".join(comment[comment.index("# Errors") + 1 :])
    return " ".join(re.split(r" #+ ", text)[0].split())


def complaints(comment, text):
    section = errors(comment)
    takes_path = re.search(r"\b(path|data|offsets): (impl AsRef<Path>|&Path)", text)
    if takes_path and "Result" in text and "NotFound" not in (section or ""):
        yield "takes a path, and `# Errors` does not name NotFound"
    if section is not None:
        if found := DEFERS.search(section):
            yield f"`# Errors` sends the reader elsewhere: {section[found.start():][:60]}"
        if found := BARE.search(LINK.sub(r"[`\1`]", section)):
            yield f"`# Errors` names {found.group().strip(' .,')} without a condition"


def main():
    failed, count = False, 0
    for folder in ("src", "crates/remote/src"):
        for path in sorted((ROOT / folder).rglob("*.rs")):
            for number, comment, text in documented(path.read_text().splitlines()):
                count += errors(comment) is not None
                for complaint in complaints(comment, text):
                    print(f"{path.relative_to(ROOT)}:{number}: {complaint}")
                    failed = True
    print(f"{count} sections on errors")
    sys.exit(failed)


if __name__ == "__main__":
    main()
