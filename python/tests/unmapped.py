"""Opens and creates files in every way where they cannot be mapped.

    python unmapped.py ENODEV DIRECTORY     # as on file systems without maps
    python unmapped.py ENOMEM DIRECTORY     # with less address space than a file needs

Each way works, or its error says what does: the advice is followed to the letter.
"""

import ctypes
import errno
import io
import os
import platform
import re
import resource
import struct
import sys
import tarfile
import warnings

import numpy as np

import npymap

# What is opened, and the modes: an expression with the names `path` and `mode`.
OPENED = [
    ("a.npy", "npymap.open(path, mode)", "r r+ c"),
    ("f.npy", "npymap.open(path, mode)", "r r+ c"),
    ("at.npy", "npymap.open(path, mode, at=1024)", "r r+ c"),
    ("a.npz", "npymap.open(path, mode, member='x')", "r c"),
    ("a.tar", "npymap.open(path, mode, member='a.npy')", "r r+ c"),
    ("a.ten", "npymap.open(path, mode, member=0)", "r r+ c"),
    ("a.npy", "npymap.load(path, mode)", "r r+ c"),
    ("f.npy", "npymap.open_memmap(path, mode)", "r r+ c"),
    ("a.npz", "npymap.Npz(path, mode)['x']", "r c"),
    ("a.tar", "npymap.Tar(path, mode)['a.npy']", "r r+ c"),
    ("a.ten", "npymap.Ten(path, mode)[0]", "r r+ c"),
    ("a.raw", "npymap.memmap(path, dtype, mode, 64, shape)", "r r+ c"),
    ("f.raw", "npymap.memmap(path, dtype, mode, 64, shape, order='F')", "r r+ c"),
    ("a.raw", "npymap.memmap(path, (dtype, shape[1:]), mode, 64)[:shape[0]]", "r r+ c"),
    ("a.raw", "npymap.memmap(open(path, 'r+b'), dtype, mode, 64, shape)", "r r+ c"),
    ("a.npy", "npymap.ArrayFile(path, mode)[:shape[0]]", "r"),
    ("a.npy", "npymap.ArrayFile(path).map(slice(shape[0]), mode)", "r r+"),
    ("f.npy", "npymap.ArrayFile(path).map(slice(shape[0]), mode)", "r r+"),
    ("a.npy", "descriptions[mode].open(changed='ok')", "r r+"),
    ("a.npy", "npymap.Ragged(path, np.array([0, 1, 3])).take_packed([0, 1])[0]", "r"),
    ("a.npy", "npymap.Concat([path]).take(range(3))", "r"),
    ("a.npy", "npymap.Concat([path, npymap.ArrayFile(path)]).take(range(3))", "r"),
]
CREATED = [
    "npymap.create(path, dtype, shape)",
    "npymap.create(path, dtype, shape, order='F')",
    "npymap.open_memmap(path, 'w+', dtype, shape)",
    "npymap.memmap(path, dtype, 'w+', 64, shape)",
]


def write_files(directory, array):
    """Write an array to files of every kind."""
    data = io.BytesIO()
    np.save(data, array)
    data = data.getvalue()
    for name, content in [("a.npy", data), ("at.npy", bytes(1024) + data), ("a.raw", bytes(64) + array.tobytes()),
                          ("f.raw", bytes(64) + array.tobytes("F"))]:
        with open(f"{directory}/{name}", "wb") as file:
            file.write(content)
    np.save(f"{directory}/f.npy", np.asfortranarray(array))
    npymap.savez(f"{directory}/a.npz", x=array)
    with tarfile.open(f"{directory}/a.tar", "w") as tar:
        tar.add(f"{directory}/a.npy", "a.npy")
    shape = struct.pack("<3q", 2, *array.shape)
    header = b"f8".ljust(8, b"\0") + b"".ljust(8, b"\0") + shape
    with open(f"{directory}/a.ten", "wb") as file:
        for part in (header, array.tobytes()):
            file.write(b"~TenBin~" + struct.pack("<q", len(part)) + part + bytes(-len(part) % 64))


def fail_maps(number):
    """Make `mmap` of files fail, except for libraries."""
    call = {"x86_64": 9, "aarch64": 222}[platform.machine()]
    # Of anonymous memory, at a fixed address, and as the dynamic loader maps.
    allowed = 0x20 | 0x10 | 0x800
    load, equal, has, answer = 0x20, 0x15, 0x45, 0x06
    steps = [(load, 0, 0, 0), (equal, 0, 3, call), (load, 0, 0, 40), (has, 1, 0, allowed),
             (answer, 0, 0, 0x50000 | number), (answer, 0, 0, 0x7FFF0000)]
    steps = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("@HP", 6, ctypes.addressof(steps)))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0


def limit_address_space(more):
    """Leave room for `more` bytes."""
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


class Names(dict):
    """The names that expressions use."""

    def run(self, code, **more):
        """Evaluate an expression, and return its value and whether there was a warning."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value = eval(code, {**self, **more})
        return value, any("cannot be mapped here, so all elements were read" in str(one.message) for one in caught)


def advice_of(error, number):
    assert isinstance(error, OSError) and error.errno == number, error
    found = re.fullmatch(r".+: the file can't be mapped here: (.+)", error.strerror)
    assert found, error
    return found[1]


def follow(names, code, advice, array, mode):
    """Do what advice says."""
    if found := re.fullmatch(r"(.+) reads a copy a, and (with .+\)\)) writes it back", advice):
        copied = code if found[1] == 'mode "c"' else found[1]
        file = npymap.ArrayFile(names["path"]) if "file" in copied else None
        a, _ = names.run(copied, mode="c", file=file)
        assert a.flags.writeable
        a[...] = a[...] + 1 if a.dtype == array.dtype else 0
        exec(found[2], {**names, "a": a})
        again, _ = names.run(copied, mode="c", file=file)
        assert np.array_equal(again, a)
        return
    if found := re.fullmatch(r"(npymap\.ArrayFile\(.+\)) reads the rows that you use", advice):
        assert np.array_equal(names.run(found[1])[0][:1000], array[:1000])
    elif found := re.fullmatch(r"(npymap\.ArrayFile\(.+\.map\(.+, \"r\+\"\)) maps a part of it", advice):
        part, _ = names.run(found[1], start=0, stop=100)
        assert part.mode == "r+" and np.array_equal(part, array[:, :100] if "..." in found[1] else array[:100])
        part[0, 0] = 7
        part.flush()
        assert names.run(found[1].partition(".map(")[0])[0][0, 0] == 7
        part[0, 0] = array[0, 0]
    elif advice == "offset= and a smaller shape= map a part of it":
        part, _ = names.run("npymap.memmap(path, dtype, mode, 64, (100, shape[1]))", mode=mode)
        assert part.mode == mode and part.shape == (100, array.shape[1])
    elif advice == "file[index] reads elements":
        assert np.array_equal(npymap.ArrayFile(names["path"])[()], array)
    elif found := re.fullmatch(r"(\d+) bytes contain the selection: select less of the (first|last) axis", advice):
        assert int(found[1]) == array.nbytes
        index = np.s_[:10] if found[2] == "first" else np.s_[..., :10]
        assert np.array_equal(npymap.ArrayFile(names["path"]).map(index, mode), array[index])
    else:
        assert advice == "a description of fewer rows needs less room", advice
        part = names["descriptions"]["less"].open(changed="ok")
        assert np.array_equal(part, array[:10])


def follow_creation(names, advice, array):
    """Write an array as advice says."""
    path, dtype = names["path"], array.dtype
    if found := re.fullmatch(r"(with .+\)\)) writes an array a", advice):
        exec(found[1], {**names, "a": array})
        assert np.array_equal(np.fromfile(path, dtype, offset=64).reshape(array.shape), array)
        return
    if advice.startswith("offset= and a smaller shape="):
        assert advice.endswith(', and mode "r+" with offset= the next part, which makes the file longer')
        part = array[:100]
        npymap.memmap(path, dtype, "w+", 64, part.shape)[:] = part
        npymap.memmap(path, dtype, "r+", 64 + part.nbytes, part.shape)[:] = part
        found = np.fromfile(path, dtype, offset=64).reshape(-1, array.shape[1])
        assert np.array_equal(found, np.concatenate([part, part]))
        return
    found = re.fullmatch(r"(npymap\.Appender\(.+\)) writes rows(, and (npymap\.save\(path, a\)) an array)?", advice)
    assert found, advice
    with names.run(found[1])[0] as appender:
        appender.append(array[:, :10] if "order" in found[1] else array[:10])
    assert npymap.load(path).size
    if found[3]:
        names.run(found[3], a=array)
        assert np.array_equal(npymap.load(path), array)


def main(name, directory):
    number = getattr(errno, name)
    shape = (3, 4) if number == errno.ENODEV else (4096, 512)
    array = np.arange(np.prod(shape), dtype="f8").reshape(shape)
    write_files(directory, array)
    names = Names(npymap=npymap, np=np, dtype=array.dtype, shape=shape, descriptions={
        "r": npymap.describe(npymap.open(f"{directory}/a.npy")),
        "r+": npymap.describe(npymap.open(f"{directory}/a.npy", "r+")),
        "less": npymap.describe(npymap.open(f"{directory}/a.npy")[:10]),
    })
    if number == errno.ENODEV:
        fail_maps(number)
    else:
        limit_address_space(array.nbytes // 2)
    for file, code, modes in OPENED:
        names["path"] = f"{directory}/{file}"
        for mode in modes.split():
            kind = f"{name} {mode} {code}"
            try:
                found, is_warned = names.run(code, mode=mode)
            except OSError as error:
                advice = advice_of(error, number)
                print(f"{kind}: {advice}")
                follow(names, code, advice, array, mode)
                if number == errno.ENODEV:
                    write_files(directory, array)
                continue
            assert mode != "r+", f"{kind}: changes of a copy are lost"
            assert len(found) and np.array_equal(found, array[:len(found)]), kind
            # Whoever copies reads what is copied.
            is_copied = "take" in code
            assert is_warned != is_copied, kind
            assert is_copied or found.flags.writeable == (mode == "c"), kind
            print(f"{kind}: works")
    names["path"] = f"{directory}/new.npy"
    for code in CREATED:
        try:
            names.run(code)
        except OSError as error:
            advice = advice_of(error, number)
        else:
            raise AssertionError(f"{code} works without a map")
        assert not any(name.startswith((".", "new")) for name in os.listdir(directory)), "a file was left behind"
        print(f"{name} {code}: {advice}")
        follow_creation(names, advice, array)
        os.remove(names["path"])


if __name__ == "__main__":
    main(*sys.argv[1:])
