"""Reports how NumPy, zipfile, tarfile, unzip and webdataset read and write archives.

For `tests/live_archives.rs`, `tests/live_ten.rs` and
`tests/differential_*.rs`. See `oracle.py` for the protocol.
"""

import importlib.util
import os
import random
import shutil
import subprocess
import tarfile
import zipfile

from oracle import format, np, serve
from views import contents, random_array, random_shape, sized_dtype

CODES = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u8".split()


def unpadded_dtype(rng):
    """A dtype without padding: loading an archive does not keep padding."""
    while True:
        dtype = sized_dtype(rng)
        if "('', '|V" not in repr(format.dtype_to_descr(dtype)):
            return dtype


def random_members(rng, count):
    members = {}
    for i in range(count):
        flat = random_array(rng, unpadded_dtype(rng), int(np.prod(shape := random_shape(rng))))
        name = rng.choice(["a", "layer/w", "größe", "with space", "x.npy", "deep/er/y"])
        members[f"{name}{i}"] = flat.reshape(shape, order=rng.choice("CF"))
    return members


def describe(array):
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    return {"descr": repr(format.dtype_to_descr(array.dtype)), "fortran_order": fortran, **contents(array)}


def savez(directory, seed, count):
    """Writes archives with `np.savez` and `np.savez_compressed`, and describes their contents."""
    rng = random.Random(seed)
    files = []
    for i in range(count):
        path, save = f"{directory}/{i}.npz", rng.choice([np.savez, np.savez_compressed])
        save(path, **random_members(rng, rng.randrange(5)))
        with np.load(path) as archive:
            members = [[key, describe(archive[key])] for key in archive.files]
        files.append({"path": path, "stored": save is np.savez, "members": members})
    return files


def load(path):
    """The contents of an archive as NumPy loads it, after zipfile and unzip have verified it."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    # unzip warns about archives without members, and fails.
    if shutil.which("unzip") and os.path.getsize(path) > 22:
        subprocess.run(["unzip", "-tqq", path], check=True, stdout=subprocess.DEVNULL)
    with np.load(path) as archive:
        return [[key, describe(archive[key])] for key in archive.files]


def unzipped(paths):
    """The bytes of each member of archives as zipfile reads them, or its errors."""
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
    """The regular files of archives as tarfile lists them, or its errors."""
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
    """webdataset's module `tenbin` alone, which depends only on NumPy."""
    package = importlib.util.find_spec("webdataset").submodule_search_locations[0]
    spec = importlib.util.spec_from_file_location("tenbin", os.path.join(package, "tenbin.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def has_webdataset():
    return importlib.util.find_spec("webdataset") is not None


def ten_saved(directory, seed, count):
    """Writes files with webdataset's `save`, and describes their contents."""
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
        files.append({"path": path, "arrays": [[info, describe(a)] for info, a in zip(infos, arrays)]})
    return files


def ten_load(path):
    """The arrays that webdataset loads from a file, which equal those it decodes from a buffer."""
    ten = tenbin()
    arrays, infos = ten.load(path, infos=True)
    again, others = ten.decode_buffer(open(path, "rb").read(), infos=True)
    assert infos == others and all(a.tobytes() == b.tobytes() for a, b in zip(arrays, again))
    return [[info, describe(array)] for info, array in zip(infos, arrays)]


def ten_judged(paths):
    """The arrays that webdataset loads from files, and decodes from their bytes, or its errors."""
    ten = tenbin()
    return [{"load": judged(ten.load, path), "decode": judged(decode, ten, path)} for path in paths]


def decode(ten, path, infos):
    with open(path, "rb") as file:
        return ten.decode_buffer(file.read(), infos=infos)


def judged(function, *arguments):
    try:
        arrays, infos = function(*arguments, infos=True)
        return {"arrays": [[info, describe(array)] for info, array in zip(infos, arrays)]}
    except Exception as error:
        return {"error": repr(error)}


if __name__ == "__main__":
    serve(savez, load, unzipped, untarred, has_webdataset, ten_saved, ten_load, ten_judged)
