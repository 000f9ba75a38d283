#!/usr/bin/env python3
"""Checks every link of the Markdown files and of the generated documentation.

    python3 .ci/links.py [DOC]      after `cargo doc --workspace --no-deps`

DOC is the directory of the documentation, by default target/doc. Links to other
sites are not followed, so no network is needed. Links to the repository's page
and to our documentation on docs.rs are checked in the working tree and in DOC.
"""

import html.parser
import os
import re
import subprocess
import sys
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOC = (Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "target/doc").resolve()
CRATES = {"npymap": "npymap", "npymap-derive": "npymap_derive", "npymap-remote": "npymap_remote"}
# A dead link in the documentation of tracing, whose traits all types implement.
OTHERS = {"dispatcher#setting-the-default-subscriber"}
REPOSITORY = re.search(r'^repository = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M)[1]


def without_code(text):
    """Returns Markdown without its code, where brackets are not links."""
    text = re.sub(r"^( *)(`{3,}|~{3,}).*?^\1\2[`~]*$", "", text, flags=re.M | re.S)
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "code", text, flags=re.S)


def markdown_links(text):
    text = without_code(text)
    inline = re.findall(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)", text)
    definitions = re.findall(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)", text, re.M)
    return inline + definitions + re.findall(r"<(https?://[^>]+)>", text)


def markdown_anchors(text):
    """Returns the anchors that GitHub gives to headings."""
    anchors, seen = set(), {}
    text = re.sub(r"^( *)(`{3,}|~{3,}).*?^\1\2[`~]*$", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*\s*$", text, re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = seen[anchor] = seen.get(anchor, -1) + 1
        anchors.add(f"{anchor}-{count}" if count else anchor)
    return anchors | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


class Page(html.parser.HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if attributes.get("id"):
            self.anchors.add(attributes["id"])
        # rustdoc links methods in impl blocks to the trait's page (class "fn"),
        # even if the trait hides them.
        if tag == "a" and attributes.get("href") and attributes.get("class") != "fn":
            self.links.append(attributes["href"])


def files():
    listed = subprocess.check_output(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True
    )
    return [name for name in listed.split("\0") if name and (ROOT / name).exists()]


class Checker:
    def __init__(self):
        self.files = set(files())
        self.directories = {str(parent) for name in self.files for parent in Path(name).parents}
        self.pages, self.headings = {}, {}
        self.wrong, self.checked = [], 0

    def page(self, path):
        if path not in self.pages:
            self.pages[path] = Page(path.read_text())
        return self.pages[path]

    def redirected(self, path):
        """Returns the page to which rustdoc redirects the path of a private module."""
        target = re.search(r'<meta http-equiv="refresh" content="0;URL=([^"]+)"', path.read_text())
        return Path(os.path.normpath(path.parent / target[1])) if target else path

    def anchors_of(self, path):
        if path not in self.headings:
            self.headings[path] = markdown_anchors(path.read_text())
        return self.headings[path]

    def in_repository(self, name, anchor):
        """Returns what is wrong with a link to this file of the repository, or None."""
        name = os.path.normpath(name)
        if name not in self.files and name not in self.directories:
            return "no such file in the repository"
        if anchor and name.endswith(".md") and anchor not in self.anchors_of(ROOT / name):
            return "no such heading"
        return None

    def in_documentation(self, path, anchor):
        """Returns what is wrong with a link to this generated page, or None."""
        path = Path(os.path.normpath(path))
        if path.is_dir():
            path /= "index.html"
        if not path.is_file():
            return "no such page"
        lines = re.fullmatch(r"\d+(-\d+)?", anchor) and "src" in path.relative_to(DOC).parts
        if anchor and not lines and path.suffix == ".html" and anchor not in self.page(self.redirected(path)).anchors:
            return "no such anchor"
        return None

    def absolute(self, url):
        """Returns what is wrong with a link to our repository or documentation, or None."""
        address = urllib.parse.unquote(url.path)
        if url.scheme != "https":
            return None if url.scheme == "mailto" else "not https"
        here = f"https://{url.netloc}{address}"
        if here.startswith(REPOSITORY + "/"):
            kind, _, rest = here[len(REPOSITORY) + 1 :].partition("/")
            branch, _, name = rest.partition("/")
            if kind in ("blob", "tree", "raw"):
                return "not on the branch main" if branch != "main" else self.in_repository(name, url.fragment)
        parts = address.strip("/").split("/")
        if url.netloc == "docs.rs" and parts[0] in CRATES:
            crate = CRATES[parts[0]]
            page = "/".join(parts[2:]) or f"{crate}/index.html"
            return self.in_documentation(DOC / page, url.fragment)
        return None

    def check(self, source, link, relative):
        self.checked += 1
        url = urllib.parse.urlsplit(link)
        wrong = self.absolute(url) if url.scheme else relative(urllib.parse.unquote(url.path), url.fragment)
        if wrong:
            self.wrong.append(f"{source}: {link}: {wrong}")

    def markdown(self, name):
        text = (ROOT / name).read_text()

        def relative(path, anchor):
            return self.in_repository(Path(name).parent / path if path else name, anchor)

        for link in markdown_links(text):
            if not link.startswith(("crate::", "std::", "npymap::")):
                self.check(name, link, relative)

    def documentation(self, path):
        def relative(link, anchor):
            return self.in_documentation(path.parent / link if link else path, anchor)

        for link in sorted(set(self.page(path).links)):
            # "#" is the top of the page. "::" occurs in documentation of
            # other crates; in ours, rustdoc itself reports it.
            if link != "#" and link not in OTHERS and "::" not in link:
                self.check(path.relative_to(DOC.parent), link, relative)


def main():
    if not (DOC / "npymap" / "index.html").exists():
        sys.exit(f"{DOC} has no documentation of npymap: run `cargo doc --workspace --no-deps` first")
    checker = Checker()
    for name in sorted(checker.files):
        if name.endswith(".md"):
            checker.markdown(name)
    for crate in CRATES.values():
        for path in sorted((DOC / crate).rglob("*.html")):
            checker.documentation(path)
    print(f"{checker.checked} links checked")
    sys.exit("\n".join(checker.wrong) or None)


if __name__ == "__main__":
    main()
