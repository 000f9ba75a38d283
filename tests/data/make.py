#!/usr/bin/env python3
"""Makes all test fixtures in this directory from scratch.

    python3.11 make.py [--envs DIR] [--only STAGE,STAGE...]

Needs Python 3.11 on Linux x86-64 (NumPy 1.23.5 has no wheels for later
versions, and NumPy's header parser depends on the version of Python's own) and
the network (PyPI; for `writers` also Debian, crates.io and npm).

--envs DIR   where to keep virtual environments and the tools of other writers
             for the next run; by default a temporary directory that is removed.
--only ...   some of the stages: numpy, odd, writers, expect. All by default.

Stages:

numpy    numpy-1.23.5/, numpy-1.26.4/, numpy-2.4.6/: each written by that
         release, with np.save, format.write_array or open_memmap.
odd      odd/: hand-made files, which NumPy accepts or refuses.
writers  writers/: files by other writers. Writers whose tools are not available
         are skipped with a message; their files from an earlier run are kept.
expect   expect.jsonl, odd.jsonl, descr.jsonl: how NumPy 2.4.6 reads all of them.

Two runs give the same bytes.

expect.jsonl has one line per file, sorted by path. `ok` is whether
numpy.lib.format.open_memmap(mode='r') opens it, or np.load if there is nothing
to map.

    path
    ok
    error          NumPy's error, if not ok (shortened)
    version        [1, 0]
    descr          repr(dtype_to_descr(dtype)), as NumPy would write it
    shape          as in the header
    fortran_order  as in the header
    data_offset    where the elements begin
    itemsize       bytes of an element
    nbytes         bytes of all elements
    sha256         of the elements in C order; every scalar little-endian
                   (complex: each half; unicode: each code unit; long double:
                   the 16 bytes as a whole), the padding of structs as zeros
    max_header     the header's length in characters, if NumPy's limit of 10000
                   has to be raised to it
    note           a remark

odd.jsonl has more odd files, each complete in its line: `file` is its bytes in
hexadecimal, `name` replaces `path`, and the rest is as above.

descr.jsonl has one line per descr: the Python literal as in a header, whether
NumPy accepts it, and if so the canonical descr and the itemsize of its dtype.
"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

RELEASES = ["1.23.5", "1.26.4", "2.4.6"]
JUDGE = "2.4.6"
HERE = os.path.dirname(os.path.abspath(__file__))
STAGES = ["numpy", "odd", "writers", "expect"]

MAGIC = b"\x93NUMPY"


# --------------------------------------------------------------------------
# numpy-*/ : runs inside each release's virtual environment


UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]


def fill(np, a, start=1):
    """Gives each scalar of `a` a different value, and leaves padding unchanged."""
    dt = a.dtype
    if dt.names is not None:
        for i, name in enumerate(dt.names):
            fill(np, a[name], start + 10 * i)
        return
    if a.size == 0 or dt.itemsize == 0:
        return
    k = dt.kind
    for n, at in enumerate(np.ndindex(a.shape)):
        n += start
        if k == "b":
            a[at] = n % 3 == 1
        elif k == "u":
            a[at] = (n * 37) % 251
        elif k == "i":
            a[at] = (n * 37) % 251 - 125
        elif k == "f" and dt.itemsize < 16:
            a[at] = n * 1.25 - 3
        elif k == "c" and dt.itemsize < 32:
            a[at] = complex(n * 1.25 - 3, n * 0.5)
        elif k in "fc":
            halves = [np.longdouble(n) / 3] if k == "f" else [np.longdouble(n) / 3, -np.longdouble(n) / 7]
            put_longdoubles(np, a, at, halves)
        elif k == "S":
            a[at] = (b"s%d" % n)[: dt.itemsize]
        elif k == "U":
            a[at] = ("u%d\u00e9\u6574\U0001f41f" % n)[: dt.itemsize // 4]
        elif k == "V":
            a[at] = np.void(bytes((n * 7 + i) % 256 for i in range(dt.itemsize)))
        elif k in "mM":
            a.view(np.dtype("i8").newbyteorder(dt.byteorder))[at] = n * 1000003
        else:
            raise AssertionError(dt)


def put_longdoubles(np, a, at, halves):
    # 80 bits and 6 unused bytes, which are set to zero here
    raw = b""
    for half in halves:
        b = np.array(half, "<f16").tobytes()[:10] + bytes(6)
        raw += b[::-1] if a.dtype.byteorder == ">" else b
    a.view("V%d" % len(raw))[at] = np.void(raw)


def make(np, dtype, shape, order="C", dirt=0):
    """An array whose padding bytes are all `dirt`."""
    dt = np.dtype(dtype)
    n = dt.itemsize
    for d in shape:
        n *= d
    buf = bytearray([dirt]) * max(n, 1)
    a = np.ndarray(shape, dt, buffer=buf, order=order)
    fill(np, a)
    return a


class NumpyFiles:
    def __init__(self, np, out, full):
        self.np, self.out, self.full = np, out, full

    def path(self, name):
        p = os.path.join(self.out, name + ".npy")
        assert not os.path.exists(p), p
        return p

    def save(self, name, a, old=False, **kw):
        if self.full or old:
            self.np.save(self.path(name), a, **kw)

    def write(self, name, a, version, old=False):
        if self.full or old:
            with open(self.path(name), "wb") as f:
                self.np.lib.format.write_array(f, a, version=version)

    def memmap(self, name, a, fortran=False, version=None, shape=None, old=False):
        if self.full or old:
            m = self.np.lib.format.open_memmap(
                self.path(name), "w+", a.dtype, a.shape if shape is None else shape,
                fortran_order=fortran, version=version)
            m[...] = a
            m.flush()
            del m


def stage_numpy(out):
    import warnings

    import numpy as np

    warnings.simplefilter("ignore")
    full = np.__version__ == JUDGE
    f = NumpyFiles(np, out, full)
    A = lambda dtype, shape, order="C", dirt=0: make(np, dtype, shape, order, dirt)

    # scalars
    f.save("bool", np.array([True, False, True, True, False]), old=True)
    for kind in "iu":
        for size in (1, 2, 4, 8):
            for o in "<>" if size > 1 else "|":
                dt = np.dtype("%s%s%d" % (o, kind, size))
                info = np.iinfo(dt)
                a = np.array([info.min, 0, 1, info.max // 3, info.max], dt)
                f.save("%s%d%s" % (kind, size, {"<": "-le", ">": "-be", "|": ""}[o]), a,
                       old=(kind, size, o) in [("i", 4, "<"), ("u", 2, ">"), ("i", 1, "|")])
    for size in (2, 4, 8):
        for o in "<>":
            dt = np.dtype("%sf%d" % (o, size))
            info = np.finfo(dt)
            a = np.array([-0.0, 1.5, float("nan"), float("-inf"), info.max, info.tiny], dt)
            a.view(dt.str.replace("f", "u"))[2] = {2: 0x7e01, 4: 0x7fc00001, 8: 0x7ff8000000000001}[size]
            f.save("f%d-%s" % (size, {"<": "le", ">": "be"}[o]), a, old=size == 8)
    for code in ("f16", "c8", "c16", "c32", "U7", "M8", "M8[ns]", "M8[25s]", "m8", "m8[7us]"):
        for o in "<>":
            name = "%s-%s" % (code.replace("[", "-").replace("]", ""), {"<": "le", ">": "be"}[o])
            f.save(name, A(o + code, (4,)), old=(code in ("c8", "U7") and o == ">") or code == "f16" and o == "<")
    for u in UNITS:
        a = A("<M8[%s]" % u, (3,))
        a.view("<i8")[0] = -(2 ** 63)  # NaT
        f.save("M8-unit-" + u, a)
        if u in ("D", "as"):
            f.save("m8-unit-" + u, A("<m8[%s]" % u, (3,)))
    f.save("S10", np.array([b"", b"abc", b"a\0b", b"0123456789", b"\xff\xfe"], "S10"), old=True)
    f.save("S1", np.array([b"x", b"", b"z"], "S1"))
    f.save("U7-text", np.array(["", "h\u00e9llo", "\u6574\u6570", "\U0001f41f\U0001f427", "a\0b", "0123456"], "<U7"),
           old=True)
    f.save("V16", A("V16", (3,)))
    f.save("V3", A("V3", (2, 2)))
    for code in ("S0", "U0", "V0"):
        f.save(code, np.ndarray((3,), code))
        if code != "U0":
            f.save(code + "-0d", np.ndarray((), code))

    # structs
    S = {
        "packed": [("a", "<i4"), ("b", "<f8")],
        "big-endian": [("a", ">i4"), ("b", ">f8"), ("c", "<u2"), ("s", "S3"), ("u", ">U2"), ("t", ">M8[ms]")],
        "all-kinds": [("b", "?"), ("i", "i1"), ("u", "<u8"), ("h", "<f2"), ("f", "<f4"), ("z", "<c8"), ("Z", ">c16"),
                      ("S", "S4"), ("U", "<U2"), ("V", "V5"), ("M", "<M8[D]"), ("m", "<m8[3h]")],
        "longdouble": [("a", "u1"), ("g", "<f16"), ("G", ">c32")],
        "one": [("x", "<f4")],
        "nested": [("p", [("x", "<f4"), ("y", ">f4")]), ("q", [("r", [("s", "<i2")])]), ("z", "u1")],
        "subarray": [("y", "<i2", (2, 3)), ("z", ">u4", (2,))],
        "subarray-1": [("y", "<i2", (1,))],
        "subarray-struct": [("a", [("x", "<i2"), ("y", ">f4")], (2, 2))],
        "subarray-nested": [("c", np.dtype(("<f8", (5,))), (2,))],
        "subarray-empty": [("a", "<i4", (0,)), ("b", "<i2")],
        "subarray-empty-2d": [("a", "<i4", (3, 0)), ("b", "<i2")],
        "titles": [(("The title", "a"), "<i4"), ("b", "<f8"), (("It's", "c"), "S2")],
        "subarray-title": [(("t", "a"), "<i2", (2,))],
        "empty-strings": [("a", "S0"), ("b", "<U0"), ("c", "V0"), ("d", "u1")],
        "datetime": [("t", "<M8[ns]"), ("d", "<m8"), ("g", "<M8")],
        "void": [("v", "V4"), ("w", "V1")],
    }
    for name, dt in S.items():
        f.save("struct-" + name, A(dt, (3,)), old=name in ("packed", "big-endian", "nested", "subarray", "titles",
                                                           "subarray-nested"))
    aligned = np.dtype([("a", "i1"), ("b", "<i4"), ("c", "i1")], align=True)
    f.save("struct-aligned", A(aligned, (3,)), old=True)
    f.save("struct-aligned-dirty", A(aligned, (3,), dirt=0xAA), old=True)
    f.save("struct-aligned-nested-dirty",
           A(np.dtype([("p", aligned), ("q", "<f8"), ("r", aligned, (2,)), ("s", "u1")], align=True), (2,), dirt=0xAA))
    f.save("struct-offsets-dirty", A({"names": ["a", "b"], "formats": ["<i4", "<i4"], "offsets": [1, 6]}, (2,), dirt=0xAA),
           old=True)
    f.save("struct-trailing", A({"names": ["a"], "formats": ["<i4"], "itemsize": 16}, (2,)), old=True)
    f.save("struct-titles-offsets", A({"names": ["a", "b"], "formats": ["<i4", "<f2"], "offsets": [2, 8],
                                       "titles": ["T a", None], "itemsize": 12}, (2,)))
    f.save("struct-no-fields", np.ndarray((3,), np.dtype([])))
    f.save("struct-no-fields-V8", np.zeros((3,), {"names": [], "formats": [], "itemsize": 8}))
    f.save("struct-no-fields-inside", A([("a", np.dtype([])), ("b", "<i4")], (2,)))
    f.save("struct-0d", A(S["packed"], ()), old=True)
    f.save("struct-empty", A(S["packed"], (0,)))
    f.save("struct-F", A(S["nested"], (2, 3), "F"))
    deep = np.dtype("<i2")
    for i in range(20):
        deep = np.dtype([("n%d" % i, deep)])
    f.save("struct-deep-20", A(deep, (2,)))

    # names
    f.save("name-latin1", A([("caf\u00e9", "<i4"), ("\u00ff\u00a1", "u1")], (2,)), old=True)
    f.save("name-cjk", A([("\u6574", "<i4")], (2,)), old=True)
    f.save("name-emoji", A([("\U0001f41f", "<i4"), ("caf\u00e9", "<i2")], (2,)))
    f.save("name-single-quote", A([("it's", "<i4")], (2,)), old=True)
    f.save("name-double-quote", A([('say "hi"', "<i4")], (2,)))
    f.save("name-both-quotes", A([("a'b\"c", "<i4")], (2,)), old=True)
    f.save("name-backslash", A([("a\\b", "<i4"), ("\\", "<i2"), ("\\'", "u1"), ("\\x41", "u1")], (2,)), old=True)
    f.save("name-control", A([("a\nb", "<i4"), ("\r\t", "<i2"), ("\0", "u1"), ("\x7f\x1b", "u1")], (2,)))
    f.save("name-nonprintable", A([("\u00a0", "u1"), ("\u00ad", "u1"), ("\u200b", "u1"), ("\u2028", "u1"),
                                   ("\U000e0001", "u1"), ("\ue000", "u1"), ("\u0378", "u1")], (2,)))
    f.save("name-spaces", A([(" ", "u1"), (" a b ", "u1"), ("{'descr': 1}", "u1"), ("a,b)", "u1")], (2,)))
    f.save("name-title-cjk", A([(("\u6574", "a"), "<i4")], (2,)))
    f.save("name-31", A([("n" * 31, "<f8")], (3,)))
    f.save("name-32", A([("n" * 32, "<f8")], (3,)))

    # shapes
    f.save("shape-0d", A("<f8", ()), old=True)
    f.save("shape-0d-bool", np.array(True))
    f.save("shape-0d-be", A(">i2", ()))
    f.save("shape-0d-S5", A("S5", ()))
    f.save("shape-0", A("<f8", (0,)), old=True)
    f.save("shape-0-3", A("<i4", (0, 3)))
    f.save("shape-3-0-2", A("<i4", (3, 0, 2)))
    f.save("shape-3-0-F", A("<i4", (3, 0), "F"))
    for rank in (1, 2, 3, 4):
        shape = (3, 4, 2, 5)[:rank]
        f.save("rank%d-C" % rank, A("<i2", shape), old=rank < 4)
        if rank > 1:
            f.save("rank%d-F" % rank, A("<i2", shape, "F"), old=rank < 4)
    f.save("rank2-F-be", A(">f4", (3, 2), "F"))
    f.save("rank2-F-U", A("<U3", (2, 3), "F"))
    f.save("rank2-row-F", A("<f8", (1, 5), "F"))
    f.save("rank2-slice", A("<f8", (4, 6))[::2, 1::2])
    f.save("rank3-permuted", A("<i4", (2, 3, 4)).transpose(1, 0, 2))
    top = 64 if int(np.__version__.split(".")[0]) > 1 else 32
    f.save("axes-%d" % top, A("u1", (1,) * (top - 2) + (2, 3)), old=True)
    f.save("axes-32-F", A("u1", (2, 3) + (1,) * 30, "F"))

    # versions
    for v in (1, 2, 3):
        f.write("version%d" % v, A("<f8", (3, 4)), (v, 0), old=True)
        f.write("version%d-0d" % v, A("<f8", ()), (v, 0))
    f.write("version2-latin1", A([("\u00e9", "<i4")], (2,)), (2, 0))
    f.write("version3-latin1", A([("\u00e9", "<i4")], (2,)), (3, 0), old=True)

    # open_memmap
    f.memmap("memmap-C", A("<f8", (3, 4)), old=True)
    f.memmap("memmap-F", A("<f8", (3, 4)), fortran=True, old=True)
    f.memmap("memmap-F-1d", A("<f8", (5,)), fortran=True)
    f.memmap("memmap-F-0d", A("<f8", ()), fortran=True)
    f.memmap("memmap-version2", A("<i4", (2, 2)), version=(2, 0))
    f.memmap("memmap-struct", A(S["packed"], (2,)))
    f.memmap("memmap-int64-shape", A("<f8", (2, 3)), shape=(np.int64(2), np.int64(3)), old=True)

    # long headers
    f.save("header-500-fields", A([("column_%03d" % i, "u1") for i in range(500)], (2,)), old=not full and top == 32
           and np.__version__.startswith("1.26"))
    f.save("header-3000-fields", A([("column_%04d" % i, "u1") for i in range(3000)], (1,)))
    room = len("{'descr': [('', '|u1')], 'fortran_order': False, 'shape': (2,), }") + 20 + 1
    f.save("header-version1-longest", A([("n" * (65536 - 10 - room - 1), "u1")], (2,)))
    f.save("header-version2-shortest", A([("n" * (65536 - 10 - room), "u1")], (2,)))

    # objects, which are refused
    obj = np.empty((2,), object)
    obj[:] = [1, "two"]
    f.save("object", obj, old=True)
    f.save("object-0d", np.array(None, object))
    f.save("object-struct", np.array([(1, None), (2, "x")], [("a", "<i4"), ("o", "O")]))
    if full:
        f.save("object-stringdtype", np.array(["a", "long enough not to be inline"], np.dtypes.StringDType()))

    # bytes after the array are ignored
    if full:
        with open(f.path("two-arrays"), "wb") as fp:
            np.save(fp, A("<i4", (3,)))
            np.save(fp, A("<f8", (2, 2)))


# --------------------------------------------------------------------------
# odd/ : hand-made


# Members of these groups that are not listed here go to odd.jsonl.
FILES = {
    "descr": "bar-f8 native-f8 bare-f8 be-u1 le-b1 question char-d name-float64 name-datetime M8-divided f3 i3 f1 V2-bfloat16 "
             "space-before empty comma is-dict is-toplevel-subarray V-2-31 V-max-empty",
    "struct": "empty-list items-lists shape-int-1 duplicate-names title name-empty-between name-empty-subarray pad-first pad-two "
              "pad-only itemsize-2-31",
    "shape": "list int float hex minus-one np-int64 long-v2 long-v3 true ones-64 ones-65",
    "order": "0 true",
    "escape": "x u name-u",
    "after": "text dict",
    "dict": "",
    "not": "dict-list",
    "comma": "none",
    "prefix": "u",
    "string": "concatenated unclosed",
    "huge": "max 2-63 0-2-63 0-2-59 0-2-60 2-40 wraps-to-0 wraps-to-0-bytes wraps-to-6 2-40-S0 5000-digits",
    "nesting": "shape-150 shape-198 shape-199 shape-250 struct-90 struct-150",
    "truncated": "000 005 007 009 010 127 v2-011",
    "magic": "zip case text",
    "version": "1-1 0-1 4-0 2-1",
    "space": "tabs newlines none leading crlf",
    "length": "4GiB-v2 4GiB-v3 65535-v1 0 one-short",
    "keys": "reversed duplicate duplicate-first-wrong missing-descr extra",
    "bom": "",
    "unclosed": "dict",
    "wrong": "",
    "quotes": "double",
    "paren": "values",
    "nul": "inside",
    "latin1": "in-v1",
    "surrogate": "in-v3",
    "line": "",
    "object": "top deep empty",
}


class Odd:
    def __init__(self, out):
        self.out = out
        self.notes = {}
        self.rows = []

    def raw(self, name, blob, note=None):
        group, _, rest = name.partition("-")
        if group in FILES and rest not in FILES[group].split():
            assert name not in [r["name"] for r in self.rows], name
            self.rows.append({"name": name, "file": blob.hex(), "note": note})
            return
        p = os.path.join(self.out, name + ".npy")
        assert not os.path.exists(p), p
        with open(p, "wb") as f:
            f.write(blob)
        if note:
            self.notes["odd/%s.npy" % name] = note

    def text(self, name, text, data=None, version=(1, 0), align=64, end="\n", note=None, encoding=None, length=None):
        """A file with this header text, padded to `align` (0: not at all)."""
        self.raw(name, blob(text, data, version, align, end, encoding, length), note)

    def shape(self, name, shape, descr="<f8", data=None, **kw):
        self.text(name, head(repr(descr), shape), data, **kw)

    def descr(self, name, descr, itemsize=8, shape="(2,)", data=None, **kw):
        """`descr` is a literal. The file has two elements unless `data` is given."""
        self.text(name, head(descr, shape), ramp(2 * itemsize) if data is None else data, **kw)


def head(descr="'<f8'", shape="(2, 3)", fortran="False"):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)


def ramp(n):
    return bytes((7 * i + 1) % 256 for i in range(n))


SIX = struct.pack("<6d", 1, 2, 3, 4, 5, 6)


def blob(text=None, data=None, version=(1, 0), align=64, end="\n", encoding=None, length=None):
    text = head() if text is None else text
    data = SIX if data is None else data
    if isinstance(text, str):
        text = text.encode(encoding or ("utf8" if version[0] >= 3 else "latin1"))
    end = end.encode("latin1")
    pre = 10 if version[0] < 2 else 12
    if align:
        text += b" " * (-(pre + len(text) + len(end)) % align)
    text += end
    n = len(text) if length is None else length
    return MAGIC + bytes(version) + struct.pack("<H" if pre == 10 else "<I", n) + text + data


def stage_odd(out):
    o = Odd(out)
    t, sh, de = o.text, o.shape, o.descr
    good = head()

    # layout of the header
    t("layout-plain", good)
    t("layout-no-padding", good, align=0)
    t("layout-no-newline", good, align=0, end="")
    t("layout-padding-no-newline", good, end="")
    t("layout-newlines-only", good + "\n" * 30, align=0, end="")
    t("layout-unaligned", good + " " * 12, align=0)
    t("layout-data-at-82", good.ljust(82 - 10 - 1), align=0)
    t("layout-offset-512", good, align=512)
    t("layout-offset-4096", good, align=4096)
    t("layout-offset-4096-empty", head(shape="(0,)"), b"", align=4096)
    t("layout-offset-8192", good, align=8192)
    t("layout-offset-16384", good, align=16384)
    t("layout-v2-unaligned", good, version=(2, 0), align=0)
    t("layout-v3-unaligned", good, version=(3, 0), align=0)
    t("space-tabs", "{\t'descr'\t:\t'<f8',\t'fortran_order':\tFalse,\t'shape':\t(2,\t3)\t}")
    t("space-newlines", "{\n'descr':\n'<f8',\n\n'fortran_order': False\n,'shape'\n: (\n2,\n3\n)\n}")
    t("space-crlf", "{'descr': '<f8',\r\n 'fortran_order': False,\r\n 'shape': (2, 3)}", end="\r\n")
    t("space-cr", "{'descr': '<f8',\r'fortran_order': False,\r'shape': (2, 3)}", end="\r")
    t("space-formfeed", "{'descr': '<f8',\f 'fortran_order': False, 'shape': (2, 3)}\f")
    t("space-vtab", "{'descr': '<f8',\v 'fortran_order': False, 'shape': (2, 3)}")
    t("space-nbsp", "{'descr': '<f8',\u00a0'fortran_order': False, 'shape': (2, 3)}")
    t("space-none", "{'descr':'<f8','fortran_order':False,'shape':(2,3)}", align=0)
    t("space-leading", "  \t " + good)
    t("space-leading-newline", "\n" + good)
    t("space-leading-newline-indent", "\n  " + good)
    t("space-leading-formfeed", "\f" + good)
    t("space-trailing-newline-indent", good + "\n   \n\t\n  ")
    t("space-nul-padding", good + "\0" * 8)
    t("nul-inside", "{'descr': '<f8', \0'fortran_order': False, 'shape': (2, 3), }")
    t("nul-in-name", "{'descr': [('a\0b', '<i4')], 'fortran_order': False, 'shape': (2,), }", ramp(8))
    t("nul-escaped-in-name", "{'descr': [('a\\0b', '<i4')], 'fortran_order': False, 'shape': (2,), }", ramp(8))
    t("bom-v3", "\ufeff" + good, version=(3, 0))
    t("bom-v1", "\u00ef\u00bb\u00bf" + good)

    # the literal
    t("quotes-double", good.replace("'", '"'))
    t("quotes-triple", good.replace("'<f8'", "'''<f8'''"))
    t("quotes-mixed", '{"descr": \'<f8\', \'fortran_order\': False, "shape": (2, 3)}')
    t("comma-none", good.replace(", }", "}"))
    t("comma-in-shape", good.replace("(2, 3)", "(2,3,)"))
    t("comma-double", good.replace(", }", ",, }"))
    t("comma-first", "{, 'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}")
    t("comma-missing", "{'descr': '<f8' 'fortran_order': False, 'shape': (2, 3)}")
    t("prefix-u", "{u'descr': u'<f8', u'fortran_order': False, u'shape': (2, 3), }")
    t("prefix-U", "{'descr': U'<f8', 'fortran_order': False, 'shape': (2, 3), }")
    t("prefix-r", "{'descr': r'<f8', 'fortran_order': False, 'shape': (2, 3), }")
    t("prefix-b", "{'descr': b'<f8', 'fortran_order': False, 'shape': (2, 3), }")
    t("prefix-b-key", "{b'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }")
    t("prefix-f", "{'descr': f'<f8', 'fortran_order': False, 'shape': (2, 3), }")
    t("escape-x", "{'\\x64escr': '\\x3cf8', 'fortran_order': False, 'shape': (2, 3), }")
    t("escape-u", "{'descr': '\\u003cf8', 'fortran_order': False, 'shape': (2, 3), }")
    t("escape-U", "{'descr': '\\U0000003cf8', 'fortran_order': False, 'shape': (2, 3), }")
    t("escape-octal", "{'descr': '\\74f8', 'fortran_order': False, 'shape': (2, 3), }")
    t("escape-N", "{'descr': '\\N{LESS-THAN SIGN}f8', 'fortran_order': False, 'shape': (2, 3), }")
    t("escape-name-u", "{'descr': [('\\u6574\\xe9\\n\\'\\\"\\\\', '<i4')], 'fortran_order': False, 'shape': (2,), }", ramp(8))
    t("escape-name-surrogate", "{'descr': [('\\ud83d', '<i4')], 'fortran_order': False, 'shape': (2,), }", ramp(8))
    t("escape-name-surrogate-pair", "{'descr': [('\\ud83d\\udc1f', '<i4')], 'fortran_order': False, 'shape': (2,), }", ramp(8))
    t("escape-unknown", "{'descr': [('a\\d', '<i4')], 'fortran_order': False, 'shape': (2,), }", ramp(8))
    t("escape-short", "{'descr': '\\x3', 'fortran_order': False, 'shape': (2, 3), }")
    t("escape-too-large", "{'descr': [('\\U00110000', '<i4')], 'fortran_order': False, 'shape': (2,), }", ramp(8))
    t("string-continued", "{'descr': '<\\\nf8', 'fortran_order': False, 'shape': (2, 3), }")
    t("string-newline", "{'descr': '<f8\n', 'fortran_order': False, 'shape': (2, 3), }")
    t("string-concatenated", "{'descr': '<' 'f8', 'fortran_' 'order': False, 'shape': (2, 3), }")
    t("string-unclosed", "{'descr': '<f8, 'fortran_order': False, 'shape': (2, 3), }")
    t("line-continued", "{'descr': \\\n'<f8', 'fortran_order': False, 'shape': (2, 3), }")
    t("comment", "{'descr': '<f8', # doubles\n 'fortran_order': False, 'shape': (2, 3), }")
    t("comment-after", good + " # the end")
    t("after-text", good + " x")
    t("after-dict", good + good)
    t("after-semicolon", good + ";")
    t("after-comma", good + ",")
    t("paren-dict", "(" + good + ")")
    t("paren-values", "{('descr'): ('<f8'), 'fortran_order': (False), 'shape': ((2, (3))), }")
    t("unclosed-dict", good[:-1])
    t("unclosed-shape", good.replace("3)", "3"))
    t("wrong-bracket", good.replace("3)", "3]"))
    t("not-dict-list", "['<f8', False, (2, 3)]")
    t("not-dict-string", "'<f8'")
    t("not-dict-set", "{'<f8', False, (2, 3)}")
    t("not-dict-empty", "", align=0, end="")
    t("not-dict-spaces", "   ")
    t("dict-empty", "{}")
    t("dict-call", "dict(descr='<f8', fortran_order=False, shape=(2, 3))")
    t("dict-star", "{**{'descr': '<f8'}, 'fortran_order': False, 'shape': (2, 3)}")
    t("latin1-in-v1", "{'descr': [('caf\u00e9', '<i4')], 'fortran_order': False, 'shape': (2,), }", ramp(8))
    t("latin1-c1-in-v1", "{'descr': [('\u0085\u009f', '<i4')], 'fortran_order': False, 'shape': (2,), }", ramp(8))
    t("utf8-in-v1", "{'descr': [('caf\u00e9', '<i4')], 'fortran_order': False, 'shape': (2,), }", ramp(8), encoding="utf8",
      note="read as latin1")
    t("latin1-in-v3", "{'descr': [('caf\u00e9', '<i4')], 'fortran_order': False, 'shape': (2,), }", ramp(8), version=(3, 0),
      encoding="latin1")
    t("surrogate-in-v3", b"{'descr': [('\xed\xa0\xbd', '<i4')], 'fortran_order': False, 'shape': (2,), }", ramp(8),
      version=(3, 0))

    # keys
    t("keys-reversed", "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f8'}")
    t("keys-duplicate", "{'descr': '<i4', 'fortran_order': True, 'shape': (9,), 'descr': '<f8', 'shape': (2, 3), "
      "'fortran_order': False}")
    t("keys-duplicate-first-wrong", "{'descr': 5, 'shape': [2], 'fortran_order': None, 'descr': '<f8', 'shape': (2, 3), "
      "'fortran_order': False}")
    t("keys-duplicate-last-wrong", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'shape': [2, 3]}")
    t("keys-duplicate-escaped", "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), '\\x64escr': '<f8'}")
    t("keys-missing-descr", "{'fortran_order': False, 'shape': (2, 3), }")
    t("keys-missing-order", "{'descr': '<f8', 'shape': (2, 3), }")
    t("keys-missing-shape", "{'descr': '<f8', 'fortran_order': False, }")
    t("keys-extra", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'extra': 1}")
    t("keys-extra-int", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 1: 1}")
    t("keys-extra-unhashable", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), []: 1}")
    t("keys-case", "{'Descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}")
    t("keys-unquoted", "{descr: '<f8', fortran_order: False, shape: (2, 3)}")

    # fortran_order
    t("order-true", head(fortran="True"))
    for name, v in [("0", "0"), ("1", "1"), ("none", "None"), ("lower", "false"), ("string", "'False'"), ("not", "not True"),
                    ("numpy", "np.False_"), ("float", "0.0")]:
        t("order-" + name, head(fortran=v))
    t("order-true-1d", head(shape="(6,)", fortran="True"))
    t("order-true-0d", head(shape="()", fortran="True"), SIX[:8])

    # shape
    for name, v in [("list", "[2, 3]"), ("int", "6"), ("paren-int", "(6)"), ("bool", "True"), ("none", "None"),
                    ("string", "'6'"), ("set", "{2, 3}"), ("set-call", "set()"), ("dict", "{}"), ("float", "(2.0, 3)"),
                    ("float-exponent", "(6e0,)"), ("complex", "(6j,)"), ("in-none", "(None,)"), ("in-string", "('2', 3)"),
                    ("nested", "((2, 3),)"), ("in-list", "([2], 3)"), ("empty-comma", "(,)"), ("double-comma", "(2,,3)"),
                    ("missing-comma", "(2 3)"), ("hex", "(0x2, 0X3)"), ("octal", "(0o2, 0b11)"), ("underscore-zero", "(2, 0_3)"),
                    ("underscores", "(2, 3__0)"), ("leading-zero", "(02, 3)"), ("zeros", "(00, 3)"), ("plus", "(+2, +3)"),
                    ("minus", "(-2, -3)"), ("minus-one", "(-1,)"), ("minus-and-zero", "(0, -1)"), ("minus-zero", "(-0, 3)"),
                    ("minus-minus", "(--2, 3)"), ("tilde", "(~-3, 3)"), ("sum", "(1+1, 3)"), ("product", "(2*3,)"),
                    ("spaces", "( 2 ,3 , )"), ("star", "(*(2, 3),)"), ("name", "(n, 3)"), ("ellipsis", "(...,)"),
                    ("np-int64", "(np.int64(2), np.int64(3))"), ("long-lower", "(2l, 3l)"), ("long-space", "(2 L, 3 L)"),
                    ("long-hex", "(0x2L, 3L)"), ("long-double", "(2LL, 3)"), ("int-call", "(int(2), 3)"),
                    ("wide-digit", "(\u00b2, 3)")]:
        sh("shape-" + name, v)
    sh("shape-underscore", "(1_2,)", descr="<i4")
    sh("shape-long-v2", "(2L, 3L)", version=(2, 0))
    sh("shape-long-v3", "(2L, 3L)", version=(3, 0))
    sh("shape-long-and-comment", "(2L, 3L) # 3L\n")
    t("shape-long-name-5L", "{'descr': [('5L', '<i4'), ('a 3 L', '<i4')], 'fortran_order': False, 'shape': (2L,), }", ramp(16))
    sh("shape-true", "(True, 6)")
    sh("shape-true-only", "(True,)")
    sh("shape-false", "(False, 3)")
    sh("shape-ones-64", "(" + "1, " * 63 + "6)")
    sh("shape-ones-65", "(" + "1, " * 64 + "6)")
    sh("shape-zeros-65", "(" + "0, " * 65 + ")")
    big = 2 ** 63
    for name, descr, dims in [
            ("max", "<f8", (big - 1,)), ("2-63", "<f8", (big,)), ("2-64", "<f8", (2 * big,)), ("2-64-u1", "|u1", (2 * big,)),
            ("0-2-63", "<f8", (0, big)), ("2-63-0", "<f8", (big, 0)), ("0-max", "<f8", (0, big - 1)),
            ("0-max-u1", "|u1", (0, big - 1)), ("0-2-60", "<f8", (0, 2 ** 60)), ("0-2-59", "<f8", (0, 2 ** 59)),
            ("0-2-62-2-62-u1", "|u1", (0, 2 ** 62, 2 ** 62)), ("0-2-31-2-31-u1", "|u1", (2 ** 31, 0, 2 ** 31)),
            ("2-40", "<f8", (2 ** 40,)), ("2-60", "<f8", (2 ** 60,)),
            ("wraps-to-0", "|u1", (2 ** 62, 4)), ("wraps-to-0-bytes", "<f8", (2 ** 61,)), ("wraps-to-6", "<f8", (2 ** 61 + 6,)),
            ("wraps-2-32", "<f8", (2 ** 32, 2 ** 32)), ("wraps-to-2", "|u1", (2, 2 ** 63 + 1)),
            ("wraps-3", "|u1", (3, 6148914691236517207)),
            ("2-40-S0", "|S0", (2 ** 40,)), ("max-S0", "|S0", (big - 1,)), ("2-62-2-62-S0", "|S0", (2 ** 62, 2 ** 62)),
            ("2-31-2-31-V0", "|V0", (2 ** 31, 2 ** 31)), ("2-40-no-fields", [], (2 ** 40,))]:
        sh("huge-" + name, repr(dims), descr=descr, note="huge claim")
    sh("huge-4299-digits", "(%s,)" % ("9" * 4299))
    sh("huge-5000-digits", "(%s,)" % ("9" * 5000))
    sh("huge-zeros-before", "(0, %s)" % ("9" * 30))

    # nesting
    for n in (40, 90, 150, 195, 198, 199, 200, 250):
        sh("nesting-shape-%d" % n, "(" + "(" * n + "6" + ")" * n + ",)")
    for n in (30, 90, 150, 250):
        d = "'<i2'"
        for i in range(n):
            d = "[('a', %s)]" % d
        de("nesting-struct-%d" % n, d, 2)
    sh("nesting-minus-1000", "(" + "-" * 1000 + "6,)")
    sh("nesting-minus-3000", "(" + "-" * 3000 + "6,)")
    t("nesting-lists-4000", "[" * 4000)
    de("nesting-tuple-1", "(('<i2', (2,)), (3,))", 12)

    # the size of the header
    def sized(n, version=(1, 0), ch="n"):
        base = head("[('', '<i4')]", "(2,)")
        return "{'descr': [('%s', '<i4')], 'fortran_order': False, 'shape': (2,), }" % (ch * (n - 1 - len(base)))
    t("limit-v1-10000", sized(10000), ramp(8), align=0)
    t("limit-v1-10001", sized(10001), ramp(8), align=0)
    t("limit-v1-10000-spaces", head("'<i4'", "(2,)").ljust(9999), ramp(8), align=0)
    t("limit-v1-10001-spaces", head("'<i4'", "(2,)").ljust(10000), ramp(8), align=0)
    t("limit-v3-10000-cjk", sized(10000, ch="\u6574"), ramp(8), version=(3, 0), align=0)
    t("limit-v3-10001-cjk", sized(10001, ch="\u6574"), ramp(8), version=(3, 0), align=0)
    t("limit-v3-10000-emoji", sized(10000, ch="\U0001f41f"), ramp(8), version=(3, 0), align=0)
    t("limit-v1-20000-bad", "{'descr': 5" + " " * 20000, align=0)
    t("length-4GiB-v2", good, version=(2, 0), length=0xFFFFFFFF)
    t("length-4GiB-v3", good, version=(3, 0), length=0xFFFFFFFF)
    t("length-2GiB-v2", good, version=(2, 0), length=0x80000000)
    t("length-65535-v1", good, length=0xFFFF)
    t("length-0", good, length=0)
    t("length-one-short", good, align=0, end="", length=len(good) - 1)
    t("length-into-data", good, length=54 + 64 + 16)
    t("length-v1-as-v2", good, version=(2, 0), length=118 | 0x7B << 16)

    # magic, version, truncation
    base = blob()
    base2 = blob(version=(2, 0))
    for n in (0, 1, 5, 6, 7, 8, 9, 10, 11, 50, 127):
        o.raw("truncated-%03d" % n, base[:n])
    for n in (8, 10, 11, 12, 13):
        o.raw("truncated-v2-%03d" % n, base2[:n])
    o.raw("data-none", base[:128])
    o.raw("data-one-short", base[:-1])
    o.raw("data-one-more", base + b"x")
    o.raw("data-trailing", base + b"trailing bytes " * 4)
    t("data-0d-none", head(shape="()"), b"")
    t("data-0d-short", head(shape="()"), SIX[:7])
    t("data-empty-trailing", head(shape="(0, 3)"), b"abc")
    o.raw("magic-zip", b"PK\x03\x04" + bytes(60))
    o.raw("magic-case", base.replace(b"NUMPY", b"NUMPy"))
    o.raw("magic-first-byte", b"\x92" + base[1:])
    o.raw("magic-utf8", b"\xc2" + base)
    o.raw("magic-text", b"1.0 2.0 3.0\n4.0 5.0 6.0\n")
    o.raw("magic-zeros", bytes(128))
    o.raw("magic-pickle", b"\x80\x04]\x94.")
    o.raw("magic-leading-newline", b"\n" + base)
    for v in [(0, 0), (0, 1), (1, 1), (2, 1), (3, 1), (4, 0), (255, 255)]:
        o.raw("version-%d-%d" % v, base[:6] + bytes(v) + base[8:])

    # descr: strings other than what NumPy writes
    for name, d, size in [
            ("bar-f8", "|f8", 8), ("native-f8", "=f8", 8), ("bare-f8", "f8", 8), ("be-u1", ">u1", 1), ("le-i1", "<i1", 1),
            ("bar-i4", "|i4", 4), ("be-S3", ">S3", 3), ("bare-U2", "U2", 8), ("be-V3", ">V3", 3), ("le-S10", "<S10", 10),
            ("char-b", "b", 1), ("char-B", "B", 1), ("char-h", "h", 2), ("char-H", "H", 2), ("char-i", "i", 4),
            ("char-I", "I", 4), ("char-q", "q", 8), ("char-Q", "Q", 8), ("char-l", "l", 8), ("char-L", "L", 8),
            ("char-p", "p", 8), ("char-e", "e", 2), ("char-f", "f", 4), ("char-d", "d", 8), ("char-g", "g", 16),
            ("char-F", "F", 8), ("char-D", "D", 16), ("char-be-h", ">h", 2), ("char-be-d", ">d", 8), ("char-c", "c", 1),
            ("char-S", "S", 0), ("char-M", "M", 8), ("char-O", "O", 8),
            ("name-int8", "int8", 1), ("name-uint64", "uint64", 8), ("name-float16", "float16", 2),
            ("name-float64", "float64", 8), ("name-complex64", "complex64", 8), ("name-datetime", "datetime64[ns]", 8),
            ("name-timedelta", "timedelta64[3D]", 8), ("name-int", "int", 8), ("name-float", "float", 8), ("name-str", "str", 0),
            ("name-object", "object", 8), ("name-longdouble", "longdouble", 16), ("name-Float64", "Float64", 8),
            ("M8-bare", "M8[D]", 8), ("M8-bar", "|M8[ns]", 8), ("M8-empty-unit", "<M8[]", 8), ("M8-divided", "<M8[s/2]", 8),
            ("M8-divided-3", "<M8[s/3]", 8), ("M8-generic", "<M8[generic]", 8), ("M8-0s", "<M8[0s]", 8),
            ("M8-1s", "<M8[1s]", 8), ("M8-minus", "<M8[-1s]", 8), ("M8-unclosed", "<M8[s", 8), ("M8-after", "<M8[s]x", 8),
            ("M8-B", "<M8[B]", 8), ("M8-minute", "<M8[minute]", 8), ("M8-micro", "<M8[\u00b5s]", 8), ("M8-spaces", "<M8[ s ]", 8),
            ("M8-2-31", "<M8[2147483648s]", 8), ("M8-2-31-less-1", "<M8[2147483647s]", 8), ("M4", "M4[s]", 4), ("M4-plain", "<M4", 4),
            ("f3", "<f3", 3), ("i3", "<i3", 3), ("f12", "<f12", 12), ("i16", "<i16", 16), ("b2", "|b2", 2), ("f1", "<f1", 1),
            ("W4", "<W4", 4), ("V2-bfloat16", "<V2", 2), ("V1-float8", "<V1", 1), ("c4", "<c4", 4), ("a10", "|a10", 10),
            ("O", "|O", 8), ("O8", "|O8", 8), ("T16", "|T16", 16), ("space-before", " f8", 8), ("space-after", "f8 ", 8),
            ("space-inside", "<f 8", 8), ("empty", "", 8), ("prefix-only", "<", 8), ("prefix-twice", "<<f8", 8),
            ("prefix-bang", "!f8", 8), ("leading-zero", "<f08", 8), ("plus", "<f+8", 8), ("minus", "|S-1", 8), ("nul", "<f8\0", 8),
            ("comma", "i4,f8", 12), ("comma-one", "i4,", 4), ("comma-spaces", "i4, f8", 12), ("repeat", "3i4", 12),
            ("repeat-shape", "(2,3)i4", 24), ("comma-repeat", "2i4,(2,)f8", 24), ("x", "x", 8), ("unicode-digit", "<f\u00b2", 8),
            ("V-2-31", "|V2147483648", 8), ("S-huge", "|S99999999999", 8)]:
        de("descr-" + name, repr(d), size, note="object" if name in ("O", "O8", "char-O", "name-object") else None)
    boolean = bytes([1, 0])
    for name, d in [("le-b1", "<b1"), ("be-b1", ">b1"), ("question", "?"), ("bar-question", "|?"), ("name-bool", "bool")]:
        de("descr-" + name, repr(d), data=boolean)
    for name, d in [("V-max", "|V2147483647"), ("S-max", "|S2147483647"), ("U-max", "<U536870911"), ("U-over", "<U536870912")]:
        de("descr-%s-empty" % name, repr(d), shape="(0,)", data=b"")
    sum_ = "[('a', '|V2147483647'), ('b', '|u1')]"
    de("struct-itemsize-2-31", sum_, shape="(0,)", data=b"")
    de("struct-itemsize-max", "[('a', '|V2147483646'), ('b', '|u1')]", shape="(0,)", data=b"")
    de("struct-pad-2-32", "[('', '|V2147483647'), ('', '|V2147483647'), ('a', '|u1')]", shape="(0,)", data=b"")
    de("struct-subarray-2-31", "[('a', '<i4', (536870912,))]", shape="(0,)", data=b"")
    de("struct-subarray-max", "[('a', '|u1', (2147483647,))]", shape="(0,)", data=b"")
    de("struct-subarray-wraps", "[('a', '|u1', (65536, 65536))]", shape="(0,)", data=b"")

    # descr: other objects
    for name, d, size in [
            ("int", "5", 8), ("none", "None", 8), ("bool", "True", 8), ("bytes", "b'<f8'", 8), ("tuple-empty", "()", 8),
            ("dict", "{'names': ['a', 'b'], 'formats': ['<i4', '<f8'], 'offsets': [0, 4], 'itemsize': 12}", 12),
            ("dict-short", "{'names': ['a', 'b'], 'formats': ['<i4', '<f8']}", 12), ("dict-empty", "{}", 8),
            ("set", "{'<f8'}", 8), ("list-of-strings", "['<f8', '<i4']", 12), ("list-of-ab", "['ab', '<f8']", 8),
            ("toplevel-subarray", "('<f8', (3,))", 24), ("toplevel-subarray-2d", "('<f8', (2, 2))", 32),
            ("toplevel-subarray-int", "('<f8', 3)", 24), ("toplevel-subarray-1", "('<f8', 1)", 8),
            ("toplevel-subarray-empty", "('<f8', ())", 8), ("toplevel-subarray-0", "('<f8', (0,))", 0),
            ("toplevel-tuple-of-fields", "(('a', '<i4'), ('b', '<f8'))", 12), ("toplevel-pair-of-strings", "('<f8', '<i8')", 8),
            ("toplevel-single", "('<f8',)", 8)]:
        de("descr-is-" + name, d, size)

    # structs
    for name, d, size in [
            ("empty-list", "[]", 0), ("items-lists", "[['a', '<i4'], ['b', '<f8', [2]]]", 20), ("items-list-shape", "[('a', '<i4', [2, 3])]", 24),
            ("shape-int", "[('a', '<i4', 2)]", 8), ("shape-int-1", "[('a', '<i4', 1)]", 4), ("shape-tuple-1", "[('a', '<i4', (1,))]", 4),
            ("shape-int-0", "[('a', '<i4', 0), ('b', '<i4')]", 4), ("shape-empty", "[('a', '<i4', ())]", 4),
            ("shape-list-empty", "[('a', '<i4', [])]", 4), ("shape-minus", "[('a', '<i4', (-1,)), ('b', '<f8')]", 4),
            ("shape-float", "[('a', '<i4', (2.0,))]", 8), ("shape-true", "[('a', '<i4', (True,))]", 4),
            ("shape-bool", "[('a', '<i4', True)]", 4), ("shape-none", "[('a', '<i4', None)]", 4), ("shape-string", "[('a', '<i4', '2')]", 8),
            ("shape-nested", "[('a', '<i4', ((2,), 3))]", 24), ("shape-64", "[('a', '|u1', (%s))]" % ("1, " * 64), 1),
            ("shape-65", "[('a', '|u1', (%s))]" % ("1, " * 65), 1), ("shape-33", "[('a', '|u1', (%s2,))]" % ("1, " * 32), 2),
            ("subarray-of-subarray-33", "[('a', ('|u1', (%s)), (%s))]" % ("1, " * 33, "1, " * 33), 1),
            ("duplicate-names", "[('a', '<i4'), ('a', '<f8')]", 12), ("title", "[(('t', 'a'), '<i4')]", 4),
            ("title-is-name", "[(('a', 'a'), '<i4')]", 4), ("title-duplicate", "[(('t', 'a'), '<i4'), (('t', 'b'), '<i4')]", 8),
            ("title-is-other-name", "[(('b', 'a'), '<i4'), ('b', '<i4')]", 8), ("title-int", "[((1, 'a'), '<i4')]", 4),
            ("title-none", "[((None, 'a'), '<i4')]", 4), ("title-empty", "[(('', 'a'), '<i4')]", 4),
            ("title-tuple", "[((('x', 'y'), 'a'), '<i4')]", 4), ("title-three", "[(('t', 'a', 'b'), '<i4')]", 4),
            ("title-list", "[(['t', 'a'], '<i4')]", 4), ("title-one", "[(('a',), '<i4')]", 4),
            ("name-empty", "[('', '<i4')]", 4), ("name-empty-between", "[('a', '|u1'), ('', '<i4'), ('b', '|u1')]", 6),
            ("name-empty-two", "[('', '<i4'), ('', '<f8')]", 12), ("name-empty-struct", "[('', [('x', '<i4')])]", 4),
            ("name-empty-no-fields", "[('', []), ('a', '<i4')]", 4),
            ("name-empty-subarray", "[('a', '|u1'), ('', '<i4', (2,)), ('b', '|u1')]", 10),
            ("name-empty-subarray-only", "[('', '<i4', (2,))]", 8), ("name-empty-struct-subarray", "[('a', '|u1'), ('', [('x', '<i4')], (2,))]", 9),
            ("name-empty-subarray-1", "[('a', '|u1'), ('', '<i4', 1)]", 5),
            ("name-empty-V-subarray", "[('a', '|u1'), ('', '|V2', (2,))]", 5), ("name-empty-S", "[('a', '|u1'), ('', '|S2')]", 3),
            ("name-empty-V0", "[('a', '|u1'), ('', '|V0')]", 1), ("name-empty-titled-V", "[(('t', ''), '|V4'), ('a', '<i4')]", 8),
            ("pad-first", "[('', '|V3'), ('a', '|u1')]", 4), ("pad-two", "[('a', '|u1'), ('', '|V1'), ('', '|V2'), ('b', '|u1')]", 5),
            ("pad-only", "[('', '|V8')]", 8), ("pad-nested", "[('a', [('x', '|u1'), ('', '|V3')]), ('b', '<i4')]", 8),
            ("pad-native", "[('a', '|u1'), ('', 'V3'), ('b', '<i4')]", 8),
            ("name-int", "[(1, '<i4')]", 4), ("name-none", "[(None, '<i4')]", 4), ("name-bytes", "[(b'a', '<i4')]", 4),
            ("item-one", "[('a',)]", 4), ("item-four", "[('a', '<i4', (2,), 1)]", 8), ("item-string-pair", "['ai']", 4),
            ("item-none", "[None]", 4), ("item-dict", "[{'a': '<i4'}]", 4), ("item-descr-int", "[('a', 4)]", 4),
            ("item-descr-none", "[('a', None)]", 8), ("item-descr-bytes", "[('a', b'<i4')]", 4),
            ("item-comma-string", "[('a', 'i4,f8')]", 12), ("item-f3", "[('a', '<f3')]", 3), ("item-question", "[('a', '?'), ('b', 'i8')]", 9),
            ("item-dict-descr", "[('a', {'names': ['x'], 'formats': ['<i4']})]", 4),
            ("item-subarray-tuple", "[('a', ('<i4', (2,)))]", 8), ("item-subarray-tuple-twice", "[('a', ('<i4', (2,)), (3,))]", 24),
            ("trailing-comma", "[('a', '<i4',), ('b', '<f8',),]", 12)]:
        de("struct-" + name, d, size)
    for name, d in [("top", "'|O'"), ("field", "[('a', '<i4'), ('o', '|O')]"), ("deep", "[('a', [('b', [('c', '|O')], (2,))])]"),
                    ("subarray", "[('a', '|O', (2,))]"), ("empty-subarray", "[('a', '|O', (0,)), ('b', '<i4')]")]:
        de("object-" + name, d, 32, note="object")
    de("object-empty", "'|O'", shape="(0,)", data=b"", note="object")

    # data
    de("bool-values", "'|b1'", shape="(6,)", data=bytes([0, 1, 2, 127, 128, 255]), note="bytes other than 0 and 1")
    de("bool-values-struct", "[('a', '|b1'), ('b', '|b1')]", shape="(3,)", data=bytes([0, 1, 2, 127, 128, 255]),
       note="bytes other than 0 and 1")
    de("U-not-unicode", "'<U2'", shape="(2,)", data=struct.pack("<4I", 0x41, 0x110000, 0xD800, 0xFFFFFFFF),
       note="code units that are not characters")
    de("U-not-unicode-be", "'>U1'", shape="(3,)", data=struct.pack(">3I", 0x41, 0x110000, 0xDC00),
       note="code units that are not characters")
    de("S-not-ascii", "'|S4'", shape="(2,)", data=b"\xff\xfea\0\0\0\0b", note="bytes above 127; a zero in front")
    de("f16-garbage", "'<f16'", shape="(2,)", data=struct.pack("<Q", 3 << 62) + b"\xff\x3f" + b"garbag" + bytes(16),
       note="the 6 unused bytes of a long double are not zero")
    for group, rest in FILES.items():
        for r in rest.split():
            assert os.path.exists(os.path.join(out, "%s-%s.npy" % (group, r))), (group, r)
    return o.notes, o.rows


# --------------------------------------------------------------------------
# expect.jsonl, descr.jsonl : how NumPy reads them


def canonical(np, dt, src, dst, at=0):
    """Copies the scalars at `at` of each row of src to dst, little-endian."""
    if dt.names is not None:
        for name in dt.names:
            sub, off = dt.fields[name][:2]
            canonical(np, sub, src, dst, at + off)
    elif dt.subdtype is not None:
        base, shape = dt.subdtype
        n = 1
        for d in shape:
            n *= d
        for i in range(n):
            canonical(np, base, src, dst, at + i * base.itemsize)
    else:
        size = dt.itemsize
        unit = {"c": size // 2, "U": 4}.get(dt.kind, size)
        swap = dt.byteorder == ">" and dt.kind not in "SV"
        for i in range(at, at + size, unit or 1):
            piece = src[:, i:i + unit]
            dst[:, i:i + unit] = piece[:, ::-1] if swap else piece


def digest(np, path, offset, dt, shape, fortran):
    import hashlib
    n = 1
    for d in shape:
        n *= d
    if n * dt.itemsize == 0:
        return hashlib.sha256(b"").hexdigest()
    with open(path, "rb") as f:
        f.seek(offset)
        raw = f.read(n * dt.itemsize)
    assert len(raw) == n * dt.itemsize
    a = np.ndarray(shape, "V%d" % dt.itemsize, buffer=raw, order="F" if fortran else "C")
    src = np.frombuffer(a.tobytes("C"), "u1").reshape(n, dt.itemsize)
    dst = np.zeros_like(src)
    canonical(np, dt, src, dst)
    return hashlib.sha256(dst.tobytes()).hexdigest()


def dump(r):
    s = json.dumps(r, ensure_ascii=False)
    if any(0xD800 <= ord(c) < 0xE000 or c in "\x7f\x85\u2028\u2029" for c in s):
        s = json.dumps(r)
    return s + "\n"


def short(e):
    import re
    s = re.sub("0x[0-9a-f]{9,}", "0x...", "%s: %s" % (type(e).__name__, e))
    return s if len(s) <= 240 else s[:200] + "... (%d characters)" % len(s)


def judge(np, path, rel):
    import warnings

    fmt = np.lib.format
    r = {"path": rel}
    caught = []
    limit = {}

    def attempt(f):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            try:
                return f(), None
            except BaseException as e:
                return None, e
            finally:
                caught[:] = [x for x in w if x.category is not ResourceWarning]

    def header():
        from numpy.lib import _format_impl as impl
        with open(path, "rb") as f:
            v = fmt.read_magic(f)
            shape, fortran, dt = impl._read_array_header(f, v, **limit)
            return v, shape, fortran, dt, f.tell()

    m, e = attempt(lambda: fmt.open_memmap(path, "r"))
    if e is not None and "Header info length" in str(e):
        chars = int(str(e).split("(")[1].split(")")[0])
        limit["max_header_size"] = chars
        m, e2 = attempt(lambda: fmt.open_memmap(path, "r", **limit))
        if e2 is None:
            e = None
            r["max_header"] = chars
    h, he = attempt(header) if e is not None else (None, e)
    if e is not None and h is not None and h[3].itemsize == 0 and not h[3].hasobject:
        # there is nothing to map, so np.load decides
        m, e2 = attempt(lambda: np.load(path, **limit))
        e = e2 and e
    notes = []
    if e is not None:
        r.update(ok=False, error=short(e))
    else:
        seen = list(caught)
        (v, shape, fortran, dt, offset), _ = attempt(header)
        n = 1
        for d in shape:
            n *= d
        r.update(ok=True, version=list(v), descr=repr(fmt.dtype_to_descr(dt)), shape=[int(d) for d in shape],
                 fortran_order=fortran, data_offset=offset, itemsize=dt.itemsize, nbytes=n * dt.itemsize,
                 sha256=digest(np, path, offset, dt, shape, fortran))
        for w in seen:
            s = "warns: %s: %s" % (w.category.__name__, str(w.message)[:100])
            if s not in notes:
                notes.append(s)
        if m.shape != shape:
            notes.append("the array's shape is %r" % (m.shape,))
        if n * dt.itemsize < 1 << 20 and n < 1 << 20:
            back, e = attempt(lambda: np.load(path, **limit))
            if e is not None:
                notes.append("np.load: " + short(e)[:160])
            elif back.shape != m.shape:
                notes.append("np.load gives shape %r" % (back.shape,))
    return r, notes


def in_child(f):
    """Calls f() in a child process, so that a crash is a result too."""
    rfd, wfd = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            import resource
            os.close(rfd)
            resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with os.fdopen(wfd, "w") as w:
                json.dump(f(), w)
        except BaseException as e:
            os.write(1, ("%r\n" % e).encode())
            os._exit(1)
        os._exit(0)
    os.close(wfd)
    with os.fdopen(rfd) as r:
        s = r.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return {"died": os.WTERMSIG(status)}
    assert status == 0, "judging failed"
    return json.loads(s)


def stage_expect(out, notes_file):
    import numpy as np
    assert np.__version__ == JUDGE

    with open(notes_file) as f:
        notes, rows = json.load(f)
    lines = []

    def line(full, rel, remark):
        got = in_child(lambda: judge(np, full, rel))
        if isinstance(got, dict):
            r, more = {"path": rel, "ok": False, "error": "crash: signal %d" % got["died"]}, []
        else:
            r, more = got
        remarks = ([remark] if remark else []) + more
        if not r["ok"] and "Python objects" in r["error"] and "object" not in remarks:
            remarks.insert(0, "object")
        if remarks:
            r["note"] = "; ".join(remarks)
        return r

    for folder in sorted(os.listdir(out)):
        if os.path.isdir(os.path.join(out, folder)):
            for name in sorted(os.listdir(os.path.join(out, folder))):
                if name.endswith(".npy"):
                    rel = folder + "/" + name
                    lines.append(line(os.path.join(out, rel), rel, notes.get(rel)))
    lines.sort(key=lambda r: r["path"])
    with open(os.path.join(out, "expect.jsonl"), "w", encoding="utf8") as f:
        for r in lines:
            f.write(dump(r))
    with tempfile.TemporaryDirectory() as d, open(os.path.join(out, "odd.jsonl"), "w", encoding="utf8") as f:
        for row in sorted(rows, key=lambda row: row["name"]):
            full = os.path.join(d, "odd.npy")
            with open(full, "wb") as g:
                g.write(bytes.fromhex(row["file"]))
            r = line(full, row["name"], row["note"])
            f.write(dump({"name": r.pop("path"), "file": row["file"], **r}))

    def one(text):
        import ast
        import warnings
        warnings.simplefilter("ignore")
        try:
            dt = np.lib.format.descr_to_dtype(ast.literal_eval(text))
            r = {"ok": True, "canonical": repr(np.lib.format.dtype_to_descr(dt)), "itemsize": dt.itemsize}
            if dt.hasobject:
                r["note"] = "object"
            return r
        except BaseException as e:
            return {"ok": False, "error": short(e)}

    with open(os.path.join(out, "descr.jsonl"), "w", encoding="utf8") as f:
        for text in descrs():
            r = in_child(lambda: one(text))
            if "died" in r:
                r = {"ok": False, "error": "crash: signal %d" % r["died"]}
            f.write(dump({"descr": text, **r}))
    good = sum(r["ok"] for r in lines)
    print("expect.jsonl: %d files, %d accepted, %d refused" % (len(lines), good, len(lines) - good))


def descrs():
    """Literals for descr.jsonl."""
    words = []
    chars = "?bBhHiIlLqQpPnNefdgFDGcSaUVOMmTtWwxyYzZjkKrRsuvACEJX"
    for p in ["", "<", ">", "=", "|", "!", "@"]:
        words += [p + c for c in chars]
    for p in ["", "<", ">", "|"]:
        for c in "biufcSUVOMmtaT?":
            for n in (0, 1, 2, 3, 4, 8, 10, 12, 16, 32, 64):
                words.append("%s%s%d" % (p, c, n))
    for c in ("M8", "m8"):
        for u in UNITS + ["", "generic", "B", "2B", "0s", "1s", "01s", "-1s", "+1s", " s", "s ", "2 s", "2s/1", "s/2", "s/3", "s/7",
                          "s/0", "s/-1", "D/24", "D/5", "W/7", "M/2", "Y/12", "Y/5", "as/2", "10as", "s/1000000", "generic/2", "2generic",
                          "S", "NS", "Ms", "min", "hour", "Day", "D/", "/2", "s/2/2", "s*2", "2147483647s", "2147483648s",
                          "99999999999999999999s", "\u00b5s", "\u03bcs", "[s]", "s]", "25s", "7us", "0x2s", "1.5s"]:
            words.append("<%s[%s]" % (c, u))
        words += [c + "[ns]", ">" + c + "[ns]", "=" + c + "[ns]", "|" + c + "[ns]", c + "[", c + "]", c + "[s", c + "[s]]", c + "[s]x",
                  c + " [s]", c[0] + "[s]", c[0] + "4[s]", c[0] + "16[s]", c[0] + "08[s]", c + "[s][s]"]
    for base in ("datetime64", "timedelta64"):
        words += [base, base + "[ns]", base + "[3D]", base + "[]", base + "[s/2]", "<" + base, "<" + base + "[ns]", base + "[s", base + "8"]
    words += ["bool", "bool_", "bool8", "int", "int_", "int0", "int8", "int16", "int32", "int64", "int128", "uint", "uint8", "uint16", "uint32",
              "uint64", "intc", "uintc", "intp", "uintp", "byte", "ubyte", "short", "ushort", "long", "ulong", "longlong", "ulonglong",
              "float", "float_", "float16", "float32", "float64", "float80", "float96", "float128", "half", "single", "double", "longdouble",
              "longfloat", "complex", "complex_", "complex64", "complex128", "complex192", "complex256", "csingle", "cdouble",
              "clongdouble", "cfloat", "singlecomplex", "str", "str_", "str0", "bytes", "bytes_", "bytes0", "string", "string_",
              "unicode", "unicode_", "void", "void0", "object", "object_", "object0", "Int8", "Float64", "FLOAT64", "Bool", "buffer",
              "<int32", ">float64", "=int8", "int32 ", " int32", "str10", "S10 ", "np.int32", "numpy.int32", "bfloat16", "float8_e5m2"]
    words += ["S01", "S010", "S+1", "S-0", "S-1", "S 1", "S1 ", "S1x", "S1.0", "S0x1", "S1_0", "S2147483647", "S2147483648", "S4294967295", "S4294967296",
              "S18446744073709551617", "U536870911", "U536870912", "U1073741824", "V2147483647", "V2147483648", "f08", "f+8", "f 8", " f8",
              "f8 ", "\tf8", "f8\n", "f8\0", "\0", "<f8\0", "f\u0668", "f8f8", "ff", "f8,", ",f8", "f8,f4", "f8, f4", "f8 ,f4", " f8,f4", "f8,f4,",
              "f8,,f4", ",", "3f8", "1f8", "0f8", "-1f8", "3<f8", "<3f8", "(2)f8", "(2,)f8", "(2,3)f8", "(2,3)<f8", "<(2,3)f8", "( 2 , 3 )f8", "()f8",
              "(0,)f8", "(2,3f8", "3f8,2i4", "f8,f3", "i4,O", "", " ", "<", "<>", "<<f8", "<|f8", "f", "8", "8f", "{", "[('a','<i4')]",
              "<i4;", "\u00e9", "\u6574", "i4:a", "a:i4"]
    seen = set()
    for w in words:
        if w not in seen:
            seen.add(w)
            yield repr(w)
    # the descrs of the files in odd/ are in expect.jsonl; these are more of the same kind
    yield from [
        "[]", "()", "{}", "None", "5", "True", "b'<f8'", "''", "['']", "[()]", "[('a', '<i4')]", "[['a', '<i4']]", "[('a', '<i4', 2)]",
        "[('a', '<i4', 1)]", "[('a', '<i4', 0)]", "[('a', '<i4', -1)]", "[('a', '<i4', ())]", "[('a', '<i4', [])]", "[('a', '<i4', [2])]",
        "[('a', '<i4', [2, 3])]", "[('a', '<i4', (2, [3]))]", "[('a', '<i4', (1,))]", "[('a', '<i4', (1, 1))]", "[('a', '<i4', True)]",
        "[('a', '<i4', False)]", "[('a', '<i4', (True, 2))]", "[('a', '<i4', None)]", "[('a', '<i4', 2.0)]", "[('a', '<i4', '2')]",
        "[('a', '<i4', (2147483648,))]", "[('a', '<i4', (9223372036854775808,))]", "[('a', '|S0', (2147483648,))]", "[('a', '|S0', (2147483647,))]",
        "[('a', '|V0', (65536, 65536))]", "[('a', '<i4', (0, 2147483647))]", "[('a', '<i4', (0, 2147483648))]", "[('a', '<i4', (536870911,))]",
        "[('a', '<i4', (536870912,))]", "[('a', '|V2147483647')]", "[('a', '|V2147483647'), ('b', '|u1')]", "[('a', '|V2147483646'), ('b', '|u1')]",
        "[('', '|V2147483647'), ('b', '|u1')]", "[('', '|V2147483647')]", "[('', '|V2147483647'), ('', '|V1')]",
        "[('a', ('<i4', (2,)))]", "[('a', ('<i4', (2,)), (3,))]", "[('a', ('<i4', 1))]", "[('a', ('<i4', ()))]", "[('a', ('<i4', (2,)), ())]",
        "[('a', ('<i4', (2,)), 1)]", "[('a', (('<i4', (2,)), (3,)))]", "[('a', (('<i4', (2,)), (3,)), (4,))]", "[('a', ('|O', (2,)))]",
        "('<i4', (2,))", "('<i4', 2)", "('<i4', 1)", "('<i4', ())", "('<i4', (1,))", "('<i4', [2])", "(('<i4', (2,)), (3,))", "('<i4', '<f4')", "('<i4', (2,), 1)",
        "(['a', '<i4'], 2)", "([('a', '<i4')], 2)", "('O', (2,))", "('S', 5)", "('|V0', 5)", "('<U0', 5)", "('<U0', '5')", "('U', (5,))",
        "[('a', ('|S0', 5))]", "[('a', '|S0', 5)]", "[('a', '<i4'), ('a', '<f8')]", "[(('t', 'a'), '<i4')]", "[(('a', 'a'), '<i4')]", "[((1, 'a'), '<i4')]",
        "[((None, 'a'), '<i4')]", "[(('', 'a'), '<i4')]", "[(('t', ''), '<i4')]", "[(('t', 'a'), '<i4'), (('t', 'b'), '<i4')]", "[(('b', 'a'), '<i4'), ('b', '<i4')]",
        "[(('t', 'a'), '<i4'), ('t', '<i4')]", "[(('t', 'a', 'b'), '<i4')]", "[(['t', 'a'], '<i4')]", "[('', '<i4')]", "[('', '<i4'), ('', '<i4')]",
        "[('', '<i4'), ('a', '<i4')]", "[('', '|V4')]", "[('', '|V4'), ('a', '<i4')]", "[('', '|V4'), ('', '|V4')]", "[('', '|V4', (2,)), ('a', '<i4')]",
        "[('', '<i4', (2,)), ('a', '<i4')]", "[('', '<i4', 1), ('a', '<i4')]", "[('', '<i4', (1,)), ('a', '<i4')]", "[('', [('x', '<i4')])]",
        "[('', [('x', '<i4')], (2,))]", "[('', [])]", "[('', [], (2,))]", "[('', '|V0')]", "[('', '|S4'), ('a', '<i4')]", "[('', '|O')]", "[('', '|O', (2,))]",
        "[('', '|O', (2,)), ('a', '<i4')]", "[(('t', ''), '|V4')]", "[('a', [])]", "[('a', []), ('b', '<i4')]", "[('a', '|V4')]", "[('a', [('', '|V4')])]",
        "[(1, '<i4')]", "[(None, '<i4')]", "[(b'a', '<i4')]", "[('a',)]", "[('a', '<i4', (2,), 1)]", "['ab']", "['ai']", "['i4']", "['abc']", "[None]",
        "[{}]", "[{'a': 1, 'b': 2}]", "[('a', 4)]", "[('a', None)]", "[('a', b'<i4')]", "[('a', 'i4,f8')]", "[('a', '3i4')]", "[('a', '')]", "[('a', '<f3')]",
        "[('a', {'names': ['x'], 'formats': ['<i4']})]", "{'names': ['a'], 'formats': ['<i4']}", "{'a': ('<i4', 0)}", "{'<f8'}", "{('a', '<i4')}", "{('a', '<i4'), ('b', '<i4')}",
        "[('a', ('<i4', (2,)), [3])]", "(('a', '<i4'), ('b', '<f8'))", "('<f8',)", "1.5", "[1, 2]", "[('a', '<i4'), 5]", "[[['t', 'a'], '<i4']]",
        "[('a\\x00', '<i4')]", "[('\\ud800', '<i4')]", "[('\\U0003d000', '<i4')]", "'|\\x01'", "'<\\x04'", "[('a', '|S0', [])]", "[((N'title', 'a'), '<i4')]", "[('a', '<i4', (%s))]" % ("1, " * 32), "[('a', '<i4', (%s))]" % ("1, " * 64),
        "[('a', '<i4', (%s))]" % ("1, " * 65), "[('a', ('<i4', (%s)), (%s))]" % ("1, " * 40, "1, " * 40), "[('a', [('b', '<i4', (%s))], (%s))]" % ("1, " * 40, "1, " * 40),
    ]


# --------------------------------------------------------------------------
# writers/


WRITER_NOTES = {
    "writers/npy-append-array-growing.npy": "opened twice and appended to",
    "writers/python2-long.npy": "as NumPy on Python 2 wrote a shape of longs",
}

XTENSOR_CPP = r"""
#include <complex>
#include <cstdint>
#include <string>
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xnpy.hpp>

int main(int, char **argv)
{
    std::string d = argv[1];
    xt::xarray<double> f8 = {{1, 2, 3}, {4, 5, 6}};
    xt::dump_npy(d + "/xtensor-f8.npy", f8);
    xt::xarray<double, xt::layout_type::column_major> f = {{1, 2, 3}, {4, 5, 6}};
    xt::dump_npy(d + "/xtensor-f8-F.npy", f);
    xt::xarray<float> f4 = {1.5f, -2.5f, 3.25f};
    xt::dump_npy(d + "/xtensor-f4.npy", f4);
    xt::xarray<std::int32_t> i4 = {-1, 0, 1};
    xt::dump_npy(d + "/xtensor-i4.npy", i4);
    xt::xarray<std::uint8_t> u1 = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 255}}};
    xt::dump_npy(d + "/xtensor-u1.npy", u1);
    xt::xarray<bool> b = {true, false, true};
    xt::dump_npy(d + "/xtensor-bool.npy", b);
    xt::xarray<std::complex<double>> z = {std::complex<double>(1, -2), std::complex<double>(0, 3)};
    xt::dump_npy(d + "/xtensor-c16.npy", z);
    xt::xarray<double> s = 7.5;
    xt::dump_npy(d + "/xtensor-0d.npy", s);
    return 0;
}
"""

CARGO_TOML = """
[package]
name = "write"
version = "0.0.0"
edition = "2021"

[dependencies]
ndarray = "=0.17.2"
ndarray-npy = { version = "=0.10.0", default-features = false, features = ["num-complex-0_4"] }
npyz = { version = "=0.9.1", features = ["derive", "complex"] }
num-complex = "0.4"

[workspace]
"""

MAIN_RS = r"""
use ndarray::{arr0, arr1, arr2, Array2, ShapeBuilder};
use npyz::WriterBuilder;
use num_complex::Complex;
use std::{env, fs::File, io::BufWriter, path::PathBuf};

#[derive(npyz::Serialize, npyz::AutoSerialize)]
struct Row {
    id: i32,
    at: [f32; 3],
    flag: bool,
}

fn main() {
    let dir = PathBuf::from(env::args_os().nth(1).unwrap());
    let nd = |name: &str| dir.join(format!("ndarray-npy-{name}.npy"));
    ndarray_npy::write_npy(nd("f8"), &arr2(&[[1.0f64, 2.0, 3.0], [4.0, 5.0, 6.0]])).unwrap();
    let f = Array2::from_shape_vec((2, 3).f(), vec![1.0f64, 4.0, 2.0, 5.0, 3.0, 6.0]).unwrap();
    ndarray_npy::write_npy(nd("f8-F"), &f).unwrap();
    ndarray_npy::write_npy(nd("0d"), &arr0(7i32)).unwrap();
    ndarray_npy::write_npy(nd("bool"), &arr1(&[true, false, true])).unwrap();
    ndarray_npy::write_npy(nd("i8"), &arr1(&[-1i64, 0, 1])).unwrap();
    ndarray_npy::write_npy(nd("c8"), &arr1(&[Complex::new(1.0f32, -2.0), Complex::new(0.0, 3.0)])).unwrap();
    ndarray_npy::write_npy(nd("empty"), &Array2::<f32>::zeros((0, 3))).unwrap();

    let out = |name: &str| BufWriter::new(File::create(dir.join(format!("npyz-{name}.npy"))).unwrap());
    macro_rules! npyz {
        ($name:expr, $options:expr, $shape:expr, $data:expr) => {{
            let mut w = $options.shape(&$shape).writer(out($name)).begin_nd().unwrap();
            w.extend($data).unwrap();
            w.finish().unwrap();
        }};
    }
    let dtype = |s: &str| npyz::DType::Plain(s.parse().unwrap());
    npyz!("f8", npyz::WriteOptions::new().default_dtype(), [2, 3], [1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0]);
    npyz!("f8-F", npyz::WriteOptions::new().default_dtype().order(npyz::Order::Fortran), [2, 3],
          [1.0f64, 4.0, 2.0, 5.0, 3.0, 6.0]);
    npyz!("i4-be", npyz::WriteOptions::new().dtype(dtype(">i4")), [3], [-1i32, 0, 1]);
    npyz!("0d", npyz::WriteOptions::new().default_dtype(), [0u64; 0], [7u16]);
    npyz!("c16", npyz::WriteOptions::new().default_dtype(), [2], [Complex::new(1.0f64, -2.0), Complex::new(0.0, 3.0)]);
    npyz!("struct", npyz::WriteOptions::new().default_dtype(), [2],
          [Row { id: 1, at: [1.0, 2.0, 3.0], flag: true }, Row { id: -2, at: [4.0, 5.0, 6.0], flag: false }]);
    let mut w = npyz::WriteOptions::new().default_dtype().writer(File::create(dir.join("npyz-growing.npy")).unwrap())
        .begin_1d().unwrap();
    w.extend([1u8, 2, 3, 4, 5]).unwrap();
    w.finish().unwrap();
}
"""

NPYJS_MJS = r"""
import { dump } from "npyjs";
import { writeFileSync } from "node:fs";
const put = (name, ...args) => writeFileSync(process.argv[2] + "/npyjs-" + name + ".npy", new Uint8Array(dump(...args)));
put("f8", new Float64Array([1, 2, 3, 4, 5, 6]), [2, 3]);
put("f4", new Float32Array([1.5, -2.5, 3.25]), [3]);
put("i4", new Int32Array([-1, 0, 1]), [3]);
put("u1", new Uint8Array([1, 2, 3, 255]), [2, 2]);
"""


def write_old_numpy(out):
    """Files as NumPy before 1.14 wrote them, with data at a multiple of 16."""
    def put(name, text, data):
        with open(os.path.join(out, name + ".npy"), "wb") as f:
            f.write(blob(text, data, align=16))
    put("numpy-1.13-f8", head(), SIX)
    put("numpy-1.13-f8-F", head(fortran="True"), SIX)
    put("numpy-1.13-0d", head("'>i2'", "()"), b"\x01\x02")
    put("numpy-1.13-bool", head("'|b1'", "(3,)"), b"\1\0\1")
    put("numpy-1.13-struct", head("[('a', '<i4'), ('b', '<f8')]", "(2,)"), ramp(24))
    put("python2-long", head("'<f8'", "(2L, 3L)"), SIX)
    put("python2-long-1d", head("'<i4'", "(3L,)"), ramp(12))
    put("python2-long-struct", head("[('a', '<i4'), ('5L', '<f8', (2L,))]", "(2L,)"), ramp(40))


def write_npy_append_array(out):
    """Runs in the virtual environment of npy-append-array."""
    import numpy as np
    from npy_append_array import NpyAppendArray

    def put(name, arrays, times=1):
        p = os.path.join(out, "npy-append-array-%s.npy" % name)
        for part in ([arrays] if times == 1 else [[a] for a in arrays]):
            with NpyAppendArray(p) as f:
                for a in part:
                    f.append(a)
    a = make(np, "<f8", (2, 3))
    put("f8", [a, a + 10])
    put("growing", [make(np, "<i4", (9, 2)), make(np, "<i4", (2, 2)), make(np, "<i4", (100, 2))], times=3)
    put("F", [np.asfortranarray(a), np.asfortranarray(a + 10)])
    put("struct", [make(np, [("a", "<i4"), ("b", ">f8")], (2,))] * 2)


def write_xtensor(out, tools):
    d = fresh(os.path.join(tools, "xtensor"))
    run("apt-get", "download", "libxtensor-dev", "xtl-dev", cwd=d)
    for deb in sorted(os.listdir(d)):
        run("dpkg-deb", "-x", os.path.join(d, deb), d)
    with open(os.path.join(d, "write.cpp"), "w") as f:
        f.write(XTENSOR_CPP)
    run("g++", "-std=c++17", "-O0", "-w", "-I", os.path.join(d, "usr", "include"), "-o", os.path.join(d, "write"),
        os.path.join(d, "write.cpp"))
    run(os.path.join(d, "write"), out)


def write_rust(out, tools):
    d = os.path.join(tools, "rust")
    os.makedirs(os.path.join(d, "src"), exist_ok=True)
    for name, text in (("Cargo.toml", CARGO_TOML), ("src/main.rs", MAIN_RS)):
        with open(os.path.join(d, name), "w") as f:
            f.write(text)
    env = dict(os.environ, CARGO_TARGET_DIR=os.path.join(d, "target"))
    run("cargo", "run", "-q", "--", out, cwd=d, env=env)


def write_npyjs(out, tools):
    d = os.path.join(tools, "npyjs")
    os.makedirs(d, exist_ok=True)
    run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", d, "npyjs@1.2.0", cwd=d)
    with open(os.path.join(d, "write.mjs"), "w") as f:
        f.write(NPYJS_MJS)
    run("node", os.path.join(d, "write.mjs"), out)


def stage_writers(out, envs, me):
    def append(d, tools):
        python = venv(tools, "npy-append-array", "numpy==" + JUDGE, "npy-append-array==0.9.19")
        run(python, me, "--stage", "append", "--out", d)

    for name, f in [("NumPy < 1.14", lambda d, tools: write_old_numpy(d)), ("npy-append-array", append), ("xtensor", write_xtensor),
                    ("ndarray-npy and npyz", write_rust), ("npyjs", write_npyjs)]:
        with tempfile.TemporaryDirectory() as d:
            try:
                f(d, envs)
            except (OSError, subprocess.CalledProcessError) as e:
                print("skipped: %s: %s" % (name, e))
                continue
            for file in sorted(os.listdir(d)):
                shutil.copyfile(os.path.join(d, file), os.path.join(out, file))


# --------------------------------------------------------------------------


def run(*cmd, **kw):
    kw.setdefault("stdout", subprocess.DEVNULL)
    subprocess.run(list(cmd), check=True, **kw)


def venv(envs, name, *packages):
    """The interpreter of a virtual environment with these packages."""
    d = os.path.join(envs, name)
    python = os.path.join(d, "bin", "python")
    stamp = os.path.join(d, "packages.txt")
    want = " ".join(packages)
    if not (os.path.exists(stamp) and open(stamp).read() == want):
        print("installing", want)
        run(sys.executable, "-m", "venv", "--clear", d)
        run(python, "-m", "pip", "-q", "install", *packages)
        with open(stamp, "w") as f:
            f.write(want)
    return python


def fresh(path):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--envs")
    ap.add_argument("--only", default=",".join(STAGES))
    ap.add_argument("--stage", help=argparse.SUPPRESS)  # used when the script calls itself
    ap.add_argument("--out", default=HERE, help=argparse.SUPPRESS)
    args = ap.parse_args()

    if args.stage:
        stage, _, arg = args.stage.partition("=")
        {"numpy": lambda: stage_numpy(args.out), "expect": lambda: stage_expect(args.out, arg),
         "append": lambda: write_npy_append_array(args.out)}[stage]()
        return

    if sys.version_info[:2] != (3, 11):
        sys.exit("requires Python 3.11")
    stages = args.only.split(",")
    if set(stages) - set(STAGES):
        ap.error("stages are " + ", ".join(STAGES))
    envs = args.envs and os.path.abspath(args.envs)
    temp = None if envs else tempfile.mkdtemp(prefix="npy-fixtures-")
    envs = envs or temp
    os.makedirs(envs, exist_ok=True)
    me = os.path.abspath(__file__)
    os.environ.pop("PYTHONPATH", None)
    os.environ["PYTHONHASHSEED"] = "0"
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    out = args.out
    try:
        if "numpy" in stages:
            for v in RELEASES:
                python = venv(envs, "numpy-" + v, "numpy==" + v)
                run(python, me, "--stage", "numpy", "--out", fresh(os.path.join(out, "numpy-" + v)), stdout=None)
        notes_file = os.path.join(envs, "notes.json")
        if "odd" in stages or "expect" in stages:
            notes, rows = stage_odd(fresh(os.path.join(out, "odd")))
            notes.update(WRITER_NOTES)
            with open(notes_file, "w") as f:
                json.dump([notes, rows], f)
        if "writers" in stages:
            os.makedirs(os.path.join(out, "writers"), exist_ok=True)
            stage_writers(os.path.join(out, "writers"), envs, me)
        if "expect" in stages:
            python = venv(envs, "numpy-" + JUDGE, "numpy==" + JUDGE)
            run(python, me, "--stage", "expect=" + notes_file, "--out", out, stdout=None)
    finally:
        if temp:
            shutil.rmtree(temp, ignore_errors=True)


if __name__ == "__main__":
    main()
