#!/usr/bin/env python3
"""Writes the archives of the tests, and how NumPy reads them.

  python3 make_archives.py [--cnpy DIRECTORY]

Needs NumPy 2.4, Info-ZIP's zip, Java's jar, g++ with zlib, and stream-zip from
PyPI. cnpy is cloned, or taken from a checkout. Writers that are not available
are skipped with a message, and their files from an earlier run are kept.

archives.jsonl has one line per file, sorted by path, with a list of members in
the order of the archive: `zip_name`, `stored` (or deflated), and what NumPy
loads by that name: `array` false if it is not an array, or its `descr`,
`shape`, `fortran_order` and `elements` (the bytes in C order, in hexadecimal).
A member that is hidden by another of the same name has only `shadowed`, true.
"""
import argparse
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).parent
OUT = HERE / "archives"
WHEN = 1582934400  # 2020-02-29
CNPY = ("https://github.com/rogersce/cnpy", "4e8810b1a8637695171ed346ce68f6984e585ef4")


def arrays():
    """An array of each kind."""
    struct = np.zeros(2, [("x", "<f4"), ("y", ">i2"), ("name", "<U3")])
    struct["x"], struct["name"] = [0.5, -1.5], ["a", "bcd"]
    return {
        "f8": np.arange(6.0).reshape(2, 3),
        "layer1/big": np.arange(5, dtype=">f4"),
        "fortran": np.asfortranarray(np.arange(12, dtype="i2").reshape(3, 4)),
        "scalar": np.array(7, "u1"),
        "empty": np.zeros((3, 0), "c16"),
        "text": np.array(["ein", "zwölf"]),
        "struct": struct,
        "when": np.array(["2020-02-29", "NaT"], "M8[s]"),
        "größe": np.array([True, False]),
    }


def npy(array):
    to = io.BytesIO()
    np.save(to, array)
    return to.getvalue()


def numpy_files():
    np.savez(OUT / "numpy-savez.npz", **arrays())
    np.savez_compressed(OUT / "numpy-savez-compressed.npz", **arrays())
    np.savez(OUT / "numpy-positional.npz", np.arange(3), np.arange(4.0))
    np.savez(OUT / "numpy-none.npz")


def entry(name, method=zipfile.ZIP_STORED):
    info = zipfile.ZipInfo(name)
    info.compress_type = method
    return info


class Pipe(io.RawIOBase):
    """A file that is not seekable, so that sizes follow the members."""

    def __init__(self, path):
        self.to = open(path, "wb")

    def writable(self):
        return True

    def write(self, data):
        return self.to.write(data)


def zipfile_files():
    a, b = np.arange(3.0), np.arange(4, dtype="i2")
    both = [("a.npy", npy(a), zipfile.ZIP_STORED), ("b.npy", npy(b), zipfile.ZIP_DEFLATED)]
    with zipfile.ZipFile(OUT / "zipfile.npz", "w") as to:
        for name, data, method in both:
            to.writestr(entry(name, method), data)
    with zipfile.ZipFile(OUT / "zipfile-comments.npz", "w") as to:
        for name, data, method in both:
            info = entry(name, method)
            info.comment = b"of " + name.encode()
            to.writestr(info, data)
        to.comment = b"of the archive"
    with zipfile.ZipFile(Pipe(OUT / "zipfile-streamed.npz"), "w") as to:
        for name, data, method in both:
            to.writestr(entry(name, method), data)
    with zipfile.ZipFile(OUT / "zipfile-zip64.npz", "w") as to:
        for name, data, method in both:
            with to.open(entry(name, method), "w", force_zip64=True) as member:
                member.write(data)
    with open(OUT / "zipfile-prefix.npz", "wb") as to:
        to.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(OUT / "zipfile-prefix.npz", "a") as to:
        for name, data, method in both:
            to.writestr(entry(name, method), data)
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as to:
        for name, data, method in both:
            to.writestr(entry(name, method), data)
    (OUT / "zipfile-behind.npz").write_bytes(b"undeclared bytes before it" + inner.getvalue())
    with zipfile.ZipFile(OUT / "zipfile-others.npz", "w") as to:
        to.writestr(entry("README.txt"), b"no array")
        to.writestr(entry("a.npy"), npy(a))
        to.writestr(entry("without-suffix"), npy(b))
        to.writestr(entry("no-array.npy"), b"\x93NUM")
        to.writestr(entry("nothing.npy"), b"")
        to.writestr(entry("folder/"), b"")
        to.writestr(entry("folder/deep/c.npy", zipfile.ZIP_DEFLATED), npy(a))
        to.writestr(entry("trailing.npy"), npy(a) + b"more")
    with zipfile.ZipFile(OUT / "zipfile-twice.npz", "w") as to:
        to.writestr(entry("a.npy"), npy(a))
        to.writestr(entry("b.npy"), npy(b))
        to.writestr(entry("a.npy"), npy(a + 1))
        to.writestr(entry("b"), npy(b + 1))


def tool(name):
    if not shutil.which(name):
        print(f"{name} is not available: its files are kept")
        return None
    return name


def files_in(directory):
    paths = []
    for name, array in (("a", np.arange(3.0)), ("deep/b", np.arange(400, dtype="i2"))):
        path = pathlib.Path(directory) / f"{name}.npy"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(npy(array))
        os.utime(path, (WHEN, WHEN))
        paths.append(f"{name}.npy")
    return paths


def other_files(cnpy):
    with tempfile.TemporaryDirectory() as directory:
        paths = files_in(directory)

        def run(*command, **options):
            subprocess.run(command, cwd=directory, check=True, **options)

        if tool("zip"):
            for name, options in (("stored", ["-0"]), ("deflated", ["-9"])):
                to = OUT / f"info-zip-{name}.npz"
                to.unlink(missing_ok=True)
                run("zip", "-q", "-X", *options, str(to), *paths)
            with open(OUT / "info-zip-streamed.npz", "wb") as to:
                run("sh", "-c", "zip -q -X - " + " ".join(paths) + " | cat", stdout=to)
        if tool("jar"):
            run("jar", "-c", "-f", str(OUT / "jar.npz"), "-M", *paths)
            run("jar", "-c", "-0", "-f", str(OUT / "jar-stored.npz"), "-M", *paths)
        try:
            import datetime

            import stream_zip

            when = datetime.datetime(2020, 2, 29)

            def member(path, method):
                content = (pathlib.Path(directory) / path).read_bytes()
                return (path, when, 0o644, method, [content])

            for name, method in (("stored", stream_zip.NO_COMPRESSION_64), ("deflated", stream_zip.ZIP_64)):
                chunks = stream_zip.stream_zip(member(path, method) for path in paths)
                (OUT / f"stream-zip-{name}.npz").write_bytes(b"".join(chunks))
        except ImportError:
            print("stream-zip is not available: its files are kept")
        if tool("g++"):
            if not cnpy:
                cnpy = str(pathlib.Path(directory) / "cnpy")
                run("git", "clone", "-q", CNPY[0], cnpy)
                run("git", "-C", cnpy, "checkout", "-q", CNPY[1])
            (pathlib.Path(directory) / "main.cpp").write_text(
                '#include "cnpy.h"\n'
                "int main() {\n"
                "  std::vector<double> a{0.5, 1.5, 2.5, 3.5, 4.5, 5.5};\n"
                "  std::vector<short> b{1, -2, 3};\n"
                '  cnpy::npz_save("cnpy.npz", "a", &a[0], {2, 3}, "w");\n'
                '  cnpy::npz_save("cnpy.npz", "b", &b[0], {3}, "a");\n'
                "}\n"
            )
            run("g++", "-std=c++11", f"-I{cnpy}", "main.cpp", f"{cnpy}/cnpy.cpp", "-lz", "-o", "main")
            run("./main")
            shutil.copy(pathlib.Path(directory) / "cnpy.npz", OUT / "cnpy.npz")


def describe(path):
    """The members of an archive as NumPy reads them."""
    archive = np.lib.npyio.NpzFile(str(path))  # np.load refuses archives after other bytes
    members = []
    infos = archive.zip.infolist()
    for at, info in enumerate(infos):
        member = {"zip_name": info.filename, "stored": info.compress_type == 0}
        key = info.filename.removesuffix(".npy")
        last = max(i for i, other in enumerate(infos) if other.filename == info.filename)
        is_exact = any(other.filename == key for other in infos)
        members.append(member)
        if at != last or (is_exact and key != info.filename):
            member["shadowed"] = True
            continue
        array = archive[key]
        if isinstance(array, bytes):
            member["array"] = False
            continue
        member["descr"] = repr(np.lib.format.dtype_to_descr(array.dtype))
        member["shape"] = array.shape
        member["fortran_order"] = bool(array.flags.f_contiguous and not array.flags.c_contiguous)
        member["elements"] = np.ascontiguousarray(array).tobytes().hex()
    return {"path": path.name, "members": members}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cnpy", help="a checkout of cnpy, if there is no network")
    OUT.mkdir(exist_ok=True)
    numpy_files()
    zipfile_files()
    other_files(parser.parse_args().cnpy)
    with open(HERE / "archives.jsonl", "w") as to:
        for path in sorted(OUT.glob("*.npz")):
            print(json.dumps(describe(path)), file=to)


if __name__ == "__main__":
    sys.exit(main())
