#!/usr/bin/env python3
"""Draws the pictures of the guide.

    python3 .ci/pictures.py            writes src/guide/*.svg
    python3 .ci/pictures.py --check    fails if a file differs from its drawing

The pictures are part of the pages, so they take text and lines in the colour
of the page, light or dark, and contain no empty line, which would end them in
Markdown.
"""

import csv
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUIDE = ROOT / "src/guide"
# Of fills, translucent so that they suit any background.
HEADER, ELEMENTS, MARKED, ABSENT = "#e0a03060", "#4080d060", "#40b06090", "#80808020"


class Picture:
    def __init__(self, width, height, title):
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'style="max-width:100%" role="img" aria-label="{title}" font-family="sans-serif" font-size="13" '
            'fill="currentColor">',
            f"<title>{title}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>',
        ]

    def box(self, x, y, width, height, fill, label=""):
        self.lines.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" stroke="currentColor"/>')
        if label:
            self.text(x + width / 2, y + height / 2 + 4.5, label, "middle")

    def text(self, x, y, label, anchor="start"):
        self.lines.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{label}</text>')

    def curve(self, points, color, dash):
        path = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
        self.lines.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"/>')

    def arrow(self, x1, y1, x2, y2):
        self.lines.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="currentColor" marker-end="url(#tip)"/>'
        )

    def svg(self):
        return "\n".join([*self.lines, "</svg>"]) + "\n"


def mapped():
    """A file, and the part of it that is memory."""
    picture = Picture(720, 190, "The elements of a file are mapped, its header is read")
    picture.text(10, 20, "the file")
    picture.box(10, 30, 130, 40, HEADER, "header")
    for page in range(6):
        picture.box(140 + 90 * page, 30, 90, 40, ELEMENTS, f"page {page}" if page else "elements")
    picture.arrow(75, 72, 75, 108)
    picture.text(10, 128, "read once with pread")
    picture.text(10, 146, "and checked")
    for page in range(6):
        loaded = page in (0, 3)
        picture.box(190 + 80 * page, 120, 80, 40, MARKED if loaded else ABSENT, "loaded" if loaded else "")
        picture.arrow(185 + 90 * page, 72, 230 + 80 * page, 116)
    picture.text(190, 180, "the array: a page is loaded when an element in it is first touched")
    return picture


def views():
    """Elements of two records, and a view of one component of a field."""
    picture = Picture(720, 170, "A view is an offset, a shape and strides over the bytes of the file")
    for record in range(3):
        x = 10 + 220 * record
        picture.text(x, 20, f"element {record}: bytes {20 * record} to {20 * record + 19}")
        picture.box(x, 30, 88, 40, HEADER, "time")
        for component in range(3):
            fill = MARKED if component == 2 else ELEMENTS
            picture.box(x + 88 + 44 * component, 30, 44, 40, fill, "xyz"[component])
        picture.arrow(x + 198, 110, x + 198, 74)
        if record < 2:
            picture.arrow(x + 198, 110, x + 412, 110)
            picture.text(x + 305, 128, "stride: 20 bytes", "middle")
    picture.text(10, 155, 'field("position").view::&lt;f32&gt;().slice(s![.., 2]): offset 16, shape (3,), stride 20')
    return picture


def append():
    """The order of writes of an append."""
    picture = Picture(720, 230, "Rows are written before the header")
    stages = [
        ("before", "shape (1, 3)", 0, ""),
        ("1. the rows are written", "shape (1, 3)", 3, "after a crash here: the old array"),
        ("2. the digits of the shape are written", "shape (4, 3)", 3, "the new array"),
    ]
    for number, (label, shape, rows, note) in enumerate(stages):
        y = 10 + 74 * number
        picture.text(10, y + 12, label)
        picture.box(10, y + 20, 140, 36, HEADER, shape)
        picture.box(150, y + 20, 70, 36, ELEMENTS, "row 0")
        for row in range(rows):
            written = number == 2
            picture.box(220 + 70 * row, y + 20, 70, 36, ELEMENTS if written else ABSENT, f"row {row + 1}")
        picture.text(445, y + 43, note)
    return picture


def epoch():
    """How a batch is read."""
    picture = Picture(720, 250, "The pages of a batch are requested together, then its rows are copied")
    picture.text(10, 20, "the order, computed")
    for place, row in enumerate([41, 7, 88, 23]):
        picture.box(10 + 45 * place, 30, 45, 32, HEADER, str(row))
    picture.arrow(192, 46, 262, 46)
    picture.text(270, 50, "one batch: 1. all of its pages are requested from the disk")
    for page in range(14):
        wanted = page in (1, 4, 7, 12)
        picture.box(10 + 50 * page, 110, 50, 34, MARKED if wanted else ABSENT)
    for page, place in [(7, 0), (1, 1), (12, 2), (4, 3)]:
        picture.arrow(32 + 45 * place, 64, 35 + 50 * page, 106)
    for place, (row, page) in enumerate([(41, 7), (7, 1), (88, 12), (23, 4)]):
        picture.box(250 + 60 * place, 205, 60, 32, ELEMENTS, f"row {row}")
        picture.arrow(35 + 50 * page, 146, 280 + 60 * place, 201)
    picture.text(10, 226, "2. rows are copied as they arrive")
    picture.text(500, 226, "your memory")
    picture.text(10, 166, "the file")
    return picture


def memory():
    """Memory in use during epochs, as `npymap-benches --memory` measured it."""
    with open(ROOT / "benches/memory.csv") as file:
        samples = list(csv.DictReader(file))
    picture = Picture(720, 250, "Memory during epochs of 1 GiB with 512 MiB of memory")
    for place, name in enumerate(["sequential", "blocks", "shuffled"]):
        own = [sample for sample in samples if sample["epoch"] == name]
        left, end = 60 + 225 * place, float(own[-1]["seconds"])
        picture.text(left, 20, f"{name}, {end:.1f} s")
        picture.box(left, 30, 200, 160, "none")
        for column, fill, dash in [("cache", "#4080d0", "0"), ("resident", "#e0a030", "5 3"), ("anonymous", "#40b060", "0")]:
            points = [(left + 200 * float(sample["seconds"]) / end, 190 - int(sample[column]) / 2**22) for sample in own]
            picture.curve(points, fill, dash)
    for mib in (0, 256, 512):
        picture.text(52, 194 - mib / 4, str(mib), "end")
    picture.text(52, 20, "MiB", "end")
    for place, (label, fill, dash) in enumerate(
        [("page cache of the group", "#4080d0", "0"), ("resident set", "#e0a030", "5 3"), ("resident, not of the file", "#40b060", "0")]
    ):
        picture.curve([(60 + 225 * place, 225), (85 + 225 * place, 225)], fill, dash)
        picture.text(92 + 225 * place, 229, label)
    return picture


def main():
    pictures = {"mapped": mapped, "views": views, "append": append, "epoch": epoch, "memory": memory}
    stale = []
    for name, draw in pictures.items():
        path, svg = GUIDE / f"{name}.svg", draw().svg()
        if "--check" not in sys.argv:
            path.write_text(svg)
        elif not path.exists() or path.read_text() != svg:
            stale.append(path.name)
    sys.exit(f"{', '.join(stale)}: draw again with python3 .ci/pictures.py" if stale else 0)


if __name__ == "__main__":
    main()
