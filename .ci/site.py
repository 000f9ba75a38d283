"""A hook of MkDocs: pages of the site include the pages of the repository.

A line `{{ PATH }}` is replaced by that file, without its title, and `{{ PATH # HEADING }}` by
one section of it. `{{ PATH # }}` is what precedes the first section. An indented line
indents what it includes, as tabs need. Links are rewritten: to the page of the site that
includes their target, to docs.rs, or to the repository.
"""

import ast
import os
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/npymap/npymap"
INCLUDE = re.compile(r"^( *)\{\{ ([\w./-]+)(?: (#) ?(.*?))? \}\}$", re.M)
FENCE = re.compile(r"^ *(`{3,}).*?^ *\1`*$", re.M | re.S)
# Pages of the guide that lie elsewhere.
OUTSIDE_GUIDE = {"sharing": "SHARING.md", "compatibility": "COMPATIBILITY.md"}
PICTURES = sorted(ROOT.glob("src/guide/*.svg"))


def included_by(docs):
    """Which page of the site includes a file of the repository, by its path."""
    pages = {}
    for page in sorted(docs.rglob("*.md")):
        name = page.relative_to(docs).as_posix()
        pages[f"docs/{name}"] = name
        for match in INCLUDE.finditer(page.read_text()):
            if not match[3]:
                pages.setdefault(match[2], name)
    return pages


def outside_code(change, text):
    """Changes a text, except its blocks of code."""
    parts, at = [], 0
    for match in FENCE.finditer(text):
        parts += [change(text[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*parts, change(text[at:])])


def sections(text):
    """Splits a text into its introduction and its sections: (level, heading, contents)."""
    marked = outside_code(lambda part: re.sub(r"^(#+) ", "\0\\1 ", part, flags=re.M), text)
    first, *rest = marked.split("\0")
    yield 0, "", first
    for part in rest:
        heading, _, contents = part.partition("\n")
        level, _, name = heading.partition(" ")
        yield len(level), name.strip(), contents


def read(path, is_part, heading):
    """Returns a file without its title, or a section, with headings from the second level on."""
    text = (ROOT / path).read_text()
    found = [part for part in sections(text) if part[:2] != (1, "")]
    if found[1:] and found[1][0] == 1 and not found[0][2].strip():
        # The title, with the introduction.
        found[:2] = [(0, "", found[1][2])]
    if is_part:
        names = [name for _, name, _ in found]
        at = names.index(heading or "")
        level = found[at][0]
        rest = found[at + 1 :]
        inner = [] if level == 0 else rest[: next((i for i, part in enumerate(rest) if part[0] <= level), len(rest))]
        found = [(0, "", found[at][2]), *inner]
    least = min((level for level, _, _ in found if level), default=2)
    definitions = "".join(f"\n{line}" for line in re.findall(r"^\[[^\]]+\]: \S+$", text, re.M)) if is_part else ""
    body = "".join(contents if level == 0 else f"{'#' * (level - least + 2)} {name}\n{contents}" for level, name, contents in found)
    return body.strip() + "\n" + definitions


def target(link, path, page, pages):
    """Where a link of a file leads on a page of the site."""
    if path.startswith("docs/") and not link.startswith(REPOSITORY):
        return link.replace("../../src/guide/", "../pictures/")
    if guide := re.fullmatch(r"crate::guide::(\w+)|https://docs\.rs/npymap/latest/npymap/guide/(\w+)/index\.html", link):
        name = guide[1] or guide[2]
        path, link = "", OUTSIDE_GUIDE.get(name, f"src/guide/{name}.md")
    elif item := re.fullmatch(r"(?:crate|npymap)::(?:\w+::)*?([A-Z]\w*(?:::\w+)?|\w+)(?:\(\))?(?:#.*)?", link):
        of_remote = path.startswith("crates/remote/") and link.startswith("crate::")
        name = "npymap-remote/latest/npymap_remote" if of_remote else "npymap/latest/npymap"
        return f"https://docs.rs/{name}/?search={item[1]}"
    link = link.removeprefix(f"{REPOSITORY}/blob/main/").removeprefix(f"{REPOSITORY}/tree/main/")
    if re.match(r"[a-z]+:|#", link):
        return link
    file, hash_, anchor = link.partition("#")
    for base in (os.path.dirname(path), ""):
        name = os.path.normpath(os.path.join(base, file))
        if name in pages:
            return os.path.relpath(pages[name], os.path.dirname(page) or ".") + hash_ + anchor
        if (ROOT / name).exists():
            kind = "tree" if (ROOT / name).is_dir() else "blob"
            return f"{REPOSITORY}/{kind}/main/{name}{hash_}{anchor}"
    raise ValueError(f"{path}: links to {link}, which doesn't exist")


def rewrite(text, path, page, pages):
    def change(part):
        part = re.sub(r"(\]\()([^)\s]+)(\))", lambda m: m[1] + target(m[2], path, page, pages) + m[3], part)
        return re.sub(r"^(\[[^\]]+\]: )(\S+)$", lambda m: m[1] + target(m[2], path, page, pages), part, flags=re.M)

    text = outside_code(change, text)
    return re.sub(r"^( *`{3,})rust,\w+$", r"\1rust", text, flags=re.M)


def on_files(files, config):
    for picture in PICTURES:
        files.append(File.generated(config, f"pictures/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown, page, config, files):
    pages = included_by(pathlib.Path(config.docs_dir))
    name = page.file.src_uri

    def include(match):
        indent, path, is_part, heading = match.groups()
        text = rewrite(read(path, is_part, heading), path, name, pages)
        return "\n".join(indent + line if line else "" for line in text.splitlines())

    return INCLUDE.sub(include, rewrite(markdown, f"docs/{name}", name, pages))


def on_pre_build(config):
    """Every public name of the Python package is in its reference."""
    stub = ast.parse((ROOT / "python/python/npymap/__init__.pyi").read_text())
    (names,) = (node.value for node in stub.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    page = (pathlib.Path(config.docs_dir) / "reference/python.md").read_text()
    missing = set(ast.literal_eval(names)) - set(re.findall(r"^::: npymap\.(\w+)$", page, re.M))
    if missing:
        raise ValueError(f"docs/reference/python.md lacks {sorted(missing)}")
