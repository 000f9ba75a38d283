"""Reports what NumPy does, for `tests/live_numpy.rs`.

Each request is a line of JSON, and so is each answer. Before the first request,
NumPy's version is printed, or an `error` if NumPy is not available.
"""

import ast
import io
import json
import random
import sys
import unicodedata
import warnings

try:
    import numpy as np
    import numpy.lib.format as format

    try:
        import numpy.lib._format_impl as impl
    except ImportError:
        impl = format
    import numpy.lib.tests.test_format as test_format
except Exception as error:
    print(json.dumps({"error": repr(error)}), flush=True)
    sys.exit()

SCALARS = (
    "?,i1,u1,i2,u2,i4,u4,i8,u8,f2,f4,f8,f16,c8,c16,c32,S0,S1,S13,U0,U1,U9,V0,V1,V2,V40,M8,m8"
).split(",")
UNITS = "Y,M,W,D,h,m,s,ms,us,ns,ps,fs,as".split(",")
VERSIONS = [None, (1, 0), (2, 0), (3, 0)]
SPECIAL_CHARACTERS = "'\"\\\n\r\t\0\x1b\x7f\x80\xa0\xad\xe9\xff\u0100\u6574\U0001f600\u2028\ue000"


def character(rng):
    """A character that every version of Unicode since 3.2 defines."""
    if rng.random() < 0.5:
        return rng.choice(SPECIAL_CHARACTERS)
    end = rng.choice([0x80, 0x100, 0x3000, 0x110000])
    while True:
        c = chr(rng.randrange(end))
        if unicodedata.ucd_3_2_0.category(c) not in ("Cn", "Cs"):
            return c


def random_dtype(rng, depth=3):
    kind = rng.random()
    if depth and kind < 0.35:
        return random_struct(rng, depth)
    if depth < 3 and kind < 0.5:
        base = random_dtype(rng, depth - 1) if depth else np.dtype("<f8")
        shape = tuple(rng.randrange(4) for _ in range(rng.randrange(1, 4)))
        return np.dtype((base if base.itemsize else np.dtype(">i2"), shape))
    if kind < 0.6:
        multiple = rng.choice(["", "", "1", "25", "1000"])
        return np.dtype(f"{rng.choice('<>')}{rng.choice('Mm')}8[{multiple}{rng.choice(UNITS)}]")
    return np.dtype(rng.choice("<>=|") + rng.choice(SCALARS))


def random_struct(rng, depth):
    fields = {}
    for i in range(rng.randrange(1, 6)):
        name = "".join(character(rng) for _ in range(rng.randrange(1, 5)))
        key = (f"title {i}", name) if rng.random() < 0.1 else name
        fields[name] = (key, random_dtype(rng, depth - 1))
    return np.dtype(list(fields.values()), align=rng.random() < 0.5)


def cases(seed, count):
    """Header dictionaries: of NumPy's own test arrays, long ones, and random ones."""
    for array in test_format.basic_arrays + test_format.record_arrays:
        yield format.header_data_from_array_1_0(array)
    for fields, name in [(2000, "f"), (4000, "f"), (4000, "\xe9"), (20, "\u6574")]:
        dtype = np.dtype([(f"{name}{i}", "<f8") for i in range(fields)])
        yield header(dtype, (3,), False)
    rng = random.Random(seed)
    for _ in range(count):
        shape = tuple(rng.randrange(10 ** rng.randrange(4)) for _ in range(rng.randrange(5)))
        dtype = random_dtype(rng)
        if dtype.subdtype is None:
            yield header(dtype, shape, rng.random() < 0.5)


def header(dtype, shape, fortran_order):
    descr = format.dtype_to_descr(dtype)
    return {"descr": descr, "fortran_order": fortran_order, "shape": shape}


def written(dictionary, version):
    """The header that NumPy writes in a version, or None if it refuses."""
    to = io.BytesIO()
    try:
        impl._write_array_header(to, dictionary, version)
    except (ValueError, UnicodeError):
        return None
    return to.getvalue().hex()


def headers(seed, count):
    return [
        {
            "descr": repr(d["descr"]),
            "shape": d["shape"],
            "fortran_order": d["fortran_order"],
            "written": [written(d, version) for version in VERSIONS],
        }
        for d in cases(seed, count)
    ]


def refuses(read, data):
    try:
        read(io.BytesIO(data))
    except ValueError:
        return True
    return False


def version(data):
    impl._check_version(format.read_magic(data))


def magic():
    return [
        {
            "bytes": data.hex(),
            "array": refuses(format.read_array, data),
        }
        for data in test_format.malformed_magic + test_format.bad_version_magic
    ]


def array_of(descr, shape, order, elements):
    """An array of elements whose bytes are given in C order."""
    dtype = format.descr_to_dtype(eval(descr, {}))
    array = np.ndarray(shape, dtype, bytes.fromhex(elements))
    # Copying elements would lose the padding of structs, so copy bytes.
    raw = array.view(f"V{dtype.itemsize}") if dtype.itemsize else array
    return np.array(raw, order=order).view(dtype)


def save(path, how, descr, shape, order, elements):
    """Writes a file with one of NumPy's functions."""
    array = array_of(descr, shape, order, elements)
    if how == "save":
        np.save(path, array)
    elif how == "open_memmap":
        to = format.open_memmap(path, "w+", array.dtype, array.shape, order == "F")
        to.view(f"V{array.itemsize}")[...] = array.view(f"V{array.itemsize}")
        to.flush()
    else:
        with open(path, "wb") as to:
            format.write_array(to, array, version=tuple(how))
    return True


def load(path):
    array = np.load(path, mmap_mode="r")
    return {
        "descr": repr(format.dtype_to_descr(array.dtype)),
        "shape": array.shape,
        "fortran_order": array.flags.f_contiguous and not array.flags.c_contiguous,
        "elements": array.view(f"V{array.itemsize}").tobytes("C").hex(),
    }


def save_numbers(path, descr, order):
    """Saves the numbers from 1 to 24 as a dtype, and returns them."""
    array = np.arange(1, 25).reshape(2, 3, 4)
    np.save(path, np.array(array, dtype=descr, order=order))
    return array.ravel().tolist()


def total(path):
    """The sum of a file's elements, which is exact in a float."""
    return float(np.load(path).astype("f8").sum())


def dtypes(texts):
    """What `np.dtype` returns for type strings and for literals."""
    answers = []
    for text in texts:
        dtype = np.dtype(ast.literal_eval(text) if text[0] in "[({" else text)
        try:
            # The descr of a subarray that is not in a struct has only its size.
            descr = None if dtype.subdtype else repr(format.dtype_to_descr(dtype))
        except ValueError:  # overlapping fields or fields out of order
            descr = None
        fields = [[name, dtype.fields[name][1]] for name in dtype.names or ()]
        answers.append(
            {"itemsize": dtype.itemsize, "shape": dtype.shape, "fields": fields, "descr": descr}
        )
    return answers


def serve(*functions):
    """Answers requests for these functions until the input ends."""
    warnings.simplefilter("ignore")
    print(json.dumps({"numpy": np.__version__}), flush=True)
    requests = {function.__name__: function for function in functions}
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(requests[name](*arguments)), flush=True)


if __name__ == "__main__":
    serve(headers, magic, save, load, save_numbers, total, dtypes)
