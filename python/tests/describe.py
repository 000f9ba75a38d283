"""Describes files for the `check.py` of a corpus: one JSON job per line of input.

The answers are those of `npymap.open` and the archives: shape, dtype, order, offset and
the SHA-256 of all elements, or the error.
"""

import ast
import hashlib
import json
import struct
import sys
import zipfile

import numpy as np

import npymap
from npymap._memmap import owner


def canonical(array):
    """Return the elements little-endian, with zeros as padding."""
    array = np.asarray(array)
    if array.dtype.names is None:
        return array.astype(array.dtype.newbyteorder("<"))
    result = np.zeros(array.shape, array.dtype.newbyteorder("<"))
    for name in array.dtype.names:
        result[name] = canonical(array[name])
    return result


def mapping_of(array):
    """Return the mapping of an array of a file, or the memory of an inflated member."""
    mapping = owner(array)
    while mapping is None:
        array = array.base
        mapping = array if hasattr(array, "facts") else None
    return mapping


def describe(array):
    mapping = mapping_of(array)
    shape, descr, is_fortran = mapping.facts
    return {
        "ok": True,
        "descr": descr,
        "shape": shape,
        "fortran_order": is_fortran,
        "data_offset": mapping.offset,
        "version": mapping.version,
        "itemsize": array.dtype.itemsize,
        "sha256": hashlib.sha256(canonical(array).tobytes("C")).hexdigest(),
    }


def members(names, get):
    for name in names:
        try:
            array = get(name)
            if not isinstance(array, bytes):
                answer = describe(array)
            else:
                answer = {"ok": False, "error": "not an array"}
        except (ValueError, KeyError, OSError, MemoryError) as error:
            answer = {"ok": False, "error": str(error)}
        yield answer


def describe_npz(path):
    with npymap.Npz(path, "r") as archive:
        names = archive._core.full_names()
        answers = list(members(names, archive.__getitem__))
    for position, (name, answer) in enumerate(zip(names, answers)):
        answer["zip_name"] = name
        if name in names[position + 1 :]:
            # By name, only the last of several members can be opened.
            answers[position] = describe_stored(path, position)
    return {"ok": True, "members": answers}


def describe_stored(path, position):
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        entry = archive.infolist()[position]
        file.seek(entry.header_offset)
        lengths = struct.unpack("<26x2H", file.read(30))
    start = entry.header_offset + 30 + sum(lengths)
    return describe(npymap.open(path, at=start)) | {"zip_name": entry.filename}


def describe_ten(path):
    ten = npymap.Ten(path, "r")
    answers = list(members(range(len(ten)), ten.__getitem__))
    for info, answer in zip(ten.infos, answers):
        answer["info"] = info
        # Files of this format have neither.
        answer.pop("version", None)
        answer.pop("fortran_order", None)
    return {"ok": True, "members": answers}


def describe_raw(path, params):
    dtype = params.get("dtype_literal")
    dtype = npymap._dtypes.from_descr(dtype) if dtype else np.dtype(params.get("dtype", "u1"))
    shape = params.get("shape")
    shape = ast.literal_eval(shape) if isinstance(shape, str) else shape
    order = params.get("order", "C")
    array = npymap.memmap(path, dtype, "r", params.get("offset", 0), shape, order)
    answer = describe(array)
    del answer["version"]
    return answer


def answer(job):
    path = job["path"]
    try:
        if job["kind"] == "npy":
            return describe(npymap.open(path))
        if job["kind"] == "npz":
            return describe_npz(path)
        if job["kind"] == "ten":
            return describe_ten(path)
        return describe_raw(path, job["params"])
    except (ValueError, KeyError, OSError, MemoryError, TypeError) as error:
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
