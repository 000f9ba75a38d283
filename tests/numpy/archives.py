"""Answers what NumPy, zipfile, unzip and webdataset make of archives.

`tests/live_archives.rs`, `tests/live_ten.rs` and `tests/differential_*.rs` ask, as `oracle.py` says.
"""

import importlib.util
import os
import random
import shutil
import subprocess
import tarfile
import zipfile

from oracle import format, np, serve
from views import random_array, random_shape, sized_dtype, told

CODES = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u8".split()


def solid_dtype(rng):
    """A dtype without padding, which NumPy loses when it loads an archive."""
    while True:
        dtype = sized_dtype(rng)
        if "('', '|V" not in repr(format.dtype_to_descr(dtype)):
            return dtype


def random_members(rng, count):
    members = {}
    for i in range(count):
        flat = random_array(rng, solid_dtype(rng), int(np.prod(shape := random_shape(rng))))
        name = rng.choice(["a", "layer/w", "größe", "with space", "x.npy", "deep/er/y"])
        members[f"{name}{i}"] = flat.reshape(shape, order=rng.choice("CF"))
    return members


def described(array):
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    return {"descr": repr(format.dtype_to_descr(array.dtype)), "fortran_order": fortran, **told(array)}


def savez(directory, seed, count):
    """Archives of `np.savez` and `np.savez_compressed`, and what is in them."""
    rng = random.Random(seed)
    files = []
    for i in range(count):
        path, save = f"{directory}/{i}.npz", rng.choice([np.savez, np.savez_compressed])
        save(path, **random_members(rng, rng.randrange(5)))
        with np.load(path) as archive:
            members = [[key, described(archive[key])] for key in archive.files]
        files.append({"path": path, "stored": save is np.savez, "members": members})
    return files


def load(path):
    """What is in an archive, by NumPy, when zipfile and unzip find it good."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    # unzip calls an archive without members a warning.
    if shutil.which("unzip") and os.path.getsize(path) > 22:
        subprocess.run(["unzip", "-tqq", path], check=True, stdout=subprocess.DEVNULL)
    with np.load(path) as archive:
        return [[key, described(archive[key])] for key in archive.files]


def unzipped(paths):
    """What Python's zipfile makes of archives: why it refuses one, or each member's bytes."""
    return [unzipped_one(path) for path in paths]


def unzipped_one(path):
    try:
        with zipfile.ZipFile(path) as archive:
            return {"members": [unzipped_member(archive, info) for info in archive.infolist()]}
    except Exception as error:
        return {"error": repr(error)}


def unzipped_member(archive, info):
    member = {"name": info.filename}
    try:
        with archive.open(info) as file:
            return {**member, "bytes": file.read().hex()}
    except Exception as error:
        return {**member, "error": repr(error)}


def untarred(paths):
    """The regular files that Python's tarfile finds, or why it refuses an archive."""
    return [untarred_one(path) for path in paths]


def untarred_one(path):
    try:
        with tarfile.open(path, "r:") as archive:
            files = [member for member in archive if member.isreg()]
            names = [m.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for m in files]
            return {"members": [[name, None if m.issparse() else m.offset_data, m.size] for name, m in zip(names, files)]}
    except Exception as error:
        return {"error": repr(error)}


def tenbin():
    """webdataset's module alone, which needs nothing but NumPy."""
    package = importlib.util.find_spec("webdataset").submodule_search_locations[0]
    spec = importlib.util.spec_from_file_location("tenbin", os.path.join(package, "tenbin.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def has_webdataset():
    return importlib.util.find_spec("webdataset") is not None


def ten_saved(directory, seed, count):
    """Files of webdataset's `save`, and what is in them."""
    rng, ten, files = random.Random(seed), tenbin(), []
    for i in range(count):
        arrays, infos = [], []
        for _ in range(rng.randrange(5)):
            shape = random_shape(rng) or (1,)
            array = random_array(rng, np.dtype(rng.choice(CODES)), int(np.prod(shape))).reshape(shape)
            arrays.append(array)
            infos.append(rng.choice(["", "img", "cls", "12345678", "a b"]))
        path = f"{directory}/{i}.ten"
        ten.save(path, *arrays, infos=infos)
        buffer = bytes(ten.encode_buffer(arrays, infos=infos))
        assert buffer == open(path, "rb").read()
        files.append({"path": path, "arrays": [[info, described(a)] for info, a in zip(infos, arrays)]})
    return files


def ten_load(path):
    """What webdataset finds in a file, as a whole and as a buffer."""
    ten = tenbin()
    arrays, infos = ten.load(path, infos=True)
    again, others = ten.decode_buffer(open(path, "rb").read(), infos=True)
    assert infos == others and all(a.tobytes() == b.tobytes() for a, b in zip(arrays, again))
    return [[info, described(array)] for info, array in zip(infos, arrays)]


if __name__ == "__main__":
    serve(savez, load, unzipped, untarred, has_webdataset, ten_saved, ten_load)
