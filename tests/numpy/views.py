"""Reports what NumPy does with views, values and complete arrays.

For `tests/live_views.rs`, `live_edits.rs`, `live_values.rs` and
`live_whole.rs`. See `oracle.py` for the protocol.
"""

import random

from oracle import SCALARS, UNITS, format, np, random_dtype, serve, test_format

FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 1 / 3, 1e-4, 9.9999e-5, 1e16, 123456789.0, 1e8, 99999999.5]
FLOATS += [1e-45, 5e-324, 65504.0, 3.4028235e38, 1.7976931348623157e308, 2.5e-7, 0.123456785]
FLOATS += [float("inf"), -float("inf"), float("nan"), 1234567.891, 1e15, 9007199254740993.0]
TEXT = "ab'\"\\\n\t\x7f\xa0\xad\xe9\u0100\u6574\U0001f600\u2028 ,)]"


def leaves(array, path=()):
    """All fields of an array that are not structs, each with the path of its names."""
    if array.dtype.names is None:
        yield path, array
    else:
        for name in array.dtype.names:
            yield from leaves(array[name], path + (name,))


def random_array(rng, dtype, count, padding=True):
    """An array of random values. Padding is random bytes, or zeros."""
    size = count * dtype.itemsize
    data = rng.randbytes(size) if padding else bytes(size)
    array = np.ndarray(count, dtype, bytearray(data))
    for _, leaf in leaves(array):
        if not padding and leaf.itemsize:
            other = random_array(rng, leaf.dtype, leaf.size)
            leaf[...] = other.reshape(leaf.shape)
        elif leaf.itemsize:
            for index in np.ndindex(leaf.shape):
                put_special_value(rng, leaf, index)
    return array


def put_special_value(rng, leaf, index):
    """Replaces random bytes that are not valid values, and some others by put_special_value values."""
    kind = leaf.dtype.kind
    if kind == "U":
        length = rng.randrange(leaf.itemsize // 4 + 1)
        leaf[index] = "".join(rng.choice(TEXT) for _ in range(length))
    elif kind == "b":
        leaf[index] = rng.random() < 0.5
    elif kind == "f" and rng.random() < 0.7:
        leaf[index] = rng.choice(FLOATS)
    elif kind == "c" and rng.random() < 0.7:
        leaf[index] = complex(rng.choice(FLOATS), rng.choice(FLOATS))
    elif kind in "iu" and rng.random() < 0.6:
        limits = np.iinfo(leaf.dtype)
        leaf[index] = rng.choice([0, 1, limits.max, limits.min, rng.randrange(100)])
    elif kind in "mM":
        # NumPy's own arithmetic overflows beyond this.
        end = (2**63 - 10**6) // np.datetime_data(leaf.dtype)[1] // 7
        choices = [0, 1, -1, end - 1, 1 - end, rng.randrange(10**4), rng.randrange(1 - end, end)]
        leaf.view(leaf.dtype.str[0] + "i8")[index] = rng.choice([-(2**63)] + choices)
    elif kind == "S" and rng.random() < 0.5:
        leaf[index] = bytes(rng.choice(b"ab'\"\\\n\r\t\0\x7f\xff") for _ in range(leaf.itemsize))


def sized_dtype(rng):
    while True:
        dtype = random_dtype(rng)
        if dtype.itemsize and dtype.subdtype is None:
            return dtype


def random_shape(rng):
    most = rng.choice([5, 5, 5, 3, 2])
    dims = [0 if rng.random() < 0.06 else rng.randrange(1, most) for _ in range(rng.randrange(5))]
    return tuple(dims)


def random_file(rng, path, dtype):
    """Writes a file whose elements may start at any offset, and loads it."""
    shape, fortran = random_shape(rng), rng.random() < 0.5
    flat = random_array(rng, dtype, int(np.prod(shape)))
    raw_file(rng, path, flat, shape, fortran)
    return np.load(path)


def raw_file(rng, path, flat, shape, fortran):
    descr = format.dtype_to_descr(flat.dtype)
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape!r}, }}"
    utf8 = any(ord(c) > 0xFF for c in text)
    text, start = text.encode("utf-8" if utf8 else "latin1"), 12 if utf8 else 10
    padding = -(start + len(text) + 1) % 64
    text += b" " * rng.choice([padding, rng.randrange(64)]) + b"\n"
    with open(path, "wb") as to:
        to.write(b"\x93NUMPY" + (b"\3\0" if utf8 else b"\1\0"))
        to.write(len(text).to_bytes(start - 8, "little") + text + flat.tobytes())


def raw(array):
    """The same elements as plain bytes."""
    return np.asarray(array).view(f"V{array.itemsize}") if array.itemsize else np.asarray(array)


def contents(array):
    """The shape of an array, and its bytes in C order."""
    elements = raw(array).tobytes("C").hex() if array.itemsize else ""
    return {"shape": array.shape, "bytes": elements}


def random_index(rng, shape, wrong=0.04):
    items = []
    for dim in shape:
        kind = rng.random()
        if kind < 0.1:
            break
        if kind < 0.3 and dim or kind < 0.1 + wrong:
            reach = 2 * dim + 3 if rng.random() < wrong else dim
            items.append(str(rng.randrange(-reach, max(reach, 1))))
        else:
            start, stop = (random_bound(rng, dim) for _ in range(2))
            step = rng.choice(["", ":", ":1", ":-1", ":-1", ":2", ":-2", f":{rng.randrange(1, 9)}"])
            items.append(f"{start}:{stop}{step}")
    if rng.random() < 0.4:
        at = rng.randrange(len(items) + 1)
        items[at : at + rng.randrange(3)] = ["..."]
    while rng.random() < 0.15:
        items.insert(rng.randrange(len(items) + 1), rng.choice(["None", "newaxis"]))
    if rng.random() < wrong:
        items += rng.choice([["0"], ["..."], ["::0"], [":", ":"], [str(10**30)]])
    text = rng.choice([", ", ",", " , "]).join(items) + (", " if rng.random() < 0.1 and items else "")
    if rng.random() < 0.1:
        return f"({text})" if items else "[]"
    return text


def random_bound(rng, dim):
    if rng.random() < 0.3:
        return ""
    return rng.choice(["", " "]) + str(
        rng.choice([10**30, -(10**30), 2**63 - 1, -(2**63)])
        if rng.random() < 0.03
        else rng.randrange(-2 * dim - 2, 2 * dim + 3)
    )


def selected(array, text):
    """The view that the text of an index selects."""
    if text.replace(" ", "") == "[]":
        return array[[]]
    inner = text.removeprefix("(").removesuffix(")").strip()
    index = eval(f"np.s_[{inner}]", {"np": np, "newaxis": None}) if inner else ()
    index = index if isinstance(index, tuple) else (index,)
    return array[index if Ellipsis in index else index + (Ellipsis,)]


def indexed(directory, seed, count):
    rng = random.Random(seed)
    files = []
    for i in range(count):
        path = f"{directory}/{i}.npy"
        array = raw(random_file(rng, path, sized_dtype(rng)))
        cases = []
        for _ in range(4):
            text = random_index(rng, array.shape)
            try:
                case = contents(selected(array, text))
            except (IndexError, ValueError) as error:
                case = {"error": str(error)}
            cases.append({"index": text, **case})
        files.append({"path": path, "cases": cases})
    return files


def factors(rng, size):
    """A random shape of `size` elements."""
    shape = []
    while size > 1:
        dim = rng.choice([d for d in range(1, size + 1) if size % d == 0])
        shape.append(dim)
        size //= dim
    return shape + [0] * (size == 0) + [1] * (rng.random() < 0.2)


def random_path(rng, dtype):
    """A path to a field, as names or titles."""
    keys = []
    while dtype.names is not None and (not keys or rng.random() < 0.6):
        keys.append(rng.choice(list(dtype.fields)))
        dtype = dtype.fields[keys[-1]][0].base
    return keys


def random_step(rng, array):
    kind = rng.choice("slice transpose t reshape reshape broadcast index field field fields".split())
    if kind == "slice":
        return [kind, random_index(rng, array.shape)]
    if kind == "transpose":
        axes = list(range(array.ndim))
        rng.shuffle(axes)
        return [kind, axes + [0] * (rng.random() < 0.05)]
    if kind == "reshape" and array.itemsize:
        shape = factors(rng, array.size)
        return [kind, shape + [2] * (rng.random() < 0.05)]
    if kind == "broadcast" and array.size < 500:
        shape = [rng.randrange(3) if d == 1 and rng.random() < 0.5 else d for d in array.shape]
        if rng.random() < 0.1:
            shape[:1] = [2]
        return [kind, [rng.randrange(1, 3) for _ in range(rng.randrange(2))] + shape]
    if kind == "index" and array.ndim:
        axis = rng.randrange(array.ndim)
        return [kind, axis, rng.randrange(array.shape[axis] + 1)]
    if kind == "field" and array.dtype.names is not None:
        keys = random_path(rng, array.dtype)
        return [kind, keys + ["no such"] * (rng.random() < 0.05)]
    if kind == "fields" and array.dtype.names is not None:
        names = rng.sample(array.dtype.names, rng.randrange(1, len(array.dtype.names) + 1))
        return [kind, names + names[:1] * (rng.random() < 0.05)]
    return ["t"]


def stepped(array, kind, *arguments):
    """The view after a step. Raises NumPy's error, or ValueError if NumPy makes a copy."""
    if kind == "slice":
        return selected(array, *arguments)
    if kind == "transpose":
        return array.transpose(*arguments)
    if kind == "t":
        return array.T
    if kind == "broadcast":
        return np.broadcast_to(array, *arguments)
    if kind == "index":
        axis, index = arguments
        return array[(slice(None),) * axis + (index, Ellipsis)]
    if kind == "fields":
        return array[arguments[0]]
    if kind == "field":
        for key in arguments[0]:
            array = array[key]
        return array
    shaped = array.reshape(*arguments)
    if array.size and not np.may_share_memory(array, shaped):
        raise ValueError("a copy")
    return shaped


def chained(directory, seed, count):
    """Views after each of several steps; steps that fail are skipped."""
    rng = random.Random(seed)
    files = []
    for i in range(count):
        path = f"{directory}/{i}.npy"
        array = random_file(rng, path, sized_dtype(rng))
        steps = []
        for _ in range(6):
            step = random_step(rng, array)
            try:
                array = stepped(array, *step)
                steps.append({"step": step, **contents(array)})
            except (IndexError, ValueError, KeyError) as error:
                steps.append({"step": step, "error": str(error)})
        files.append({"path": path, "steps": steps})
    return files


# The contents that files are expected to have after an edit, by path.
EXPECTED = {}


def edits(directory, seed, count):
    """Files and edits to make in them; `edited` compares the files afterwards."""
    rng = random.Random(seed)
    files = []
    for i in range(count):
        path = f"{directory}/{i}.npy"
        array = random_file(rng, path, sized_dtype(rng))
        EXPECTED[path] = array
        changes = [random_edit(rng, array, f"{directory}/{i}.{n}.npy") for n in range(3)]
        files.append({"path": path, "edits": changes})
    return files


def random_edit(rng, array, path):
    """Changes part of an array, with elements in the other byte order."""
    keys, leaf = rng.choice(list(leaves(array)))
    index = random_index(rng, leaf.shape, 0)
    try:
        part = selected(leaf, index)
    except IndexError:
        index, part = "...", leaf
    kind, code = part.dtype.kind, part.dtype.char
    change = rng.choice(["map", "fill", "assign", "set"])
    if change == "map" and kind in "biufc" and code not in "gG":
        function = {"b": np.logical_not, "i": np.invert, "u": np.invert}.get(kind, np.negative)
        # Not in place, which NumPy 2.4 gets wrong for some strides.
        part[...] = function(part)
        return {"do": "map", "path": keys, "index": index}
    at = [rng.randrange(dim) for dim in part.shape] if part.size else None
    do = "fill" if change in ("map", "fill") or at is None else change
    shape = [1 if rng.random() < 0.3 else dim for dim in part.shape] if do == "assign" else []
    dtype = part.dtype if code in "gG" else part.dtype.newbyteorder()
    source = random_array(rng, dtype, int(np.prod(shape))) if part.itemsize else None
    if source is None:
        return {"do": "nothing", "path": keys, "index": index}
    raw_file(rng, path, source, tuple(shape), False)
    to = part[tuple(at) + (Ellipsis,)] if do == "set" else part
    to[...] = source.reshape(shape)
    return {"do": do, "path": keys, "index": index, "from": path, "at": at}


def edited(path):
    """The contents of an edited file, and the expected ones."""
    found, expected = np.load(path), EXPECTED.pop(path)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    return {"found": contents(found), "expected": contents(expected)}


def sets(directory, seed, count):
    """Files, values as text to set in them, and the bytes of the files afterwards."""
    rng = random.Random(seed)
    files = []
    for i in range(count):
        path = f"{directory}/{i}.npy"
        random_file(rng, path, sized_dtype(rng))
        with open(path, "rb") as file:
            before = file.read()
        array = np.load(path, mmap_mode="r+") if np.load(path).size else np.load(path)
        changes = [random_set(rng, array) for _ in range(4)]
        if isinstance(array, np.memmap):
            array.flush()
        with open(path, "rb") as file:
            after = file.read().hex()
        with open(path, "wb") as file:
            file.write(before)
        files.append({"path": path, "sets": changes, "after": after})
    return files


def random_set(rng, array):
    """Sets part of an array, or of a field of it, to a value, and returns the value's text."""
    keys, leaf = rng.choice(list(leaves(array)))
    index = random_index(rng, array.shape)
    change = {"index": index, "field": ".".join(keys) or None, "text": "0"}
    if any("." in key for key in keys) or leaf.dtype.char in "gG" or not leaf.itemsize:
        return {**change, "skip": True}
    value, change["text"] = random_text_value(rng, leaf.dtype)
    try:
        part = selected(array, index)
        for key in keys:
            part = part[key]
        part[...] = value
    except (IndexError, ValueError, OverflowError) as error:
        change["error"] = str(error)
    return change


def random_text_value(rng, dtype):
    """A value for elements of a dtype, and its text. Some are out of range."""
    kind = dtype.kind
    array = random_array(rng, dtype, 1)
    element = array[0]
    if kind in "iu":
        number = int(element) if rng.random() < 0.8 else rng.choice([-1, 2**7, 2**31, -(2**63), 2**63, 2**64])
        return number, str(number)
    if kind == "b":
        return bool(element), str(bool(element))
    if kind in "fc":
        text = str(element).strip("()")
        return dtype.type(complex(text) if kind == "c" else float(text)), text
    if kind == "U":
        return str(element), repr(str(element))
    if kind in "SV":
        return element, repr(array.tobytes())
    if kind in "mM" and np.datetime_data(dtype)[0] == "generic":
        return np.array("NaT", dtype), "NaT"
    if kind == "M":
        return element, str(element)
    ticks = element.astype("i8")
    return element, "NaT" if np.isnat(element) else str(ticks)


def is_printed(dtype, in_array=False):
    """Whether npymap prints values of a dtype as NumPy does: not long doubles,
    subarrays without elements, and `>m8`, whose NaT NumPy's isnat misses."""
    if dtype.subdtype is not None:
        return 0 not in dtype.shape and is_printed(dtype.base, True)
    if dtype.names is not None:
        return all(is_printed(dtype[name], in_array) for name in dtype.names)
    return dtype.char not in "gG" and dtype.str != ">m8"


def values(seed, count):
    """Elements, and the results of `str`."""
    rng = random.Random(seed)
    dtypes = [np.dtype(o + s) for o in "<>" for s in SCALARS if s[1:] not in ("0", "16", "32")]
    dtypes += [np.dtype(f"{o}c16") for o in "<>"]
    dtypes += [np.dtype(f"<{k}8[{n}{u}]") for k in "mM" for n in ("", "25") for u in UNITS]
    large = [((1001,), "<i2"), ((1000,), "<i2"), ((2, 600), ">f4"), ((7, 13, 12), "|b1"), ((40, 30), "<c8")]
    dtypes += [np.dtype([("a", "<i4"), ("b", code, shape)]) for shape, code in large]
    printed = []
    for i in range(count):
        dtype = dtypes[i] if i < len(dtypes) else sized_dtype(rng)
        array = random_array(rng, dtype, 40 if i < len(dtypes) else 3)
        if not is_printed(dtype):
            continue
        for element, data in zip(array, raw(array)):
            try:
                text = str(element)
            except (ValueError, OverflowError):
                continue
            descr = repr(format.dtype_to_descr(dtype))
            printed.append({"descr": descr, "bytes": data.tobytes().hex(), "text": text})
    return printed


def saved(directory, seed, count):
    """Files of `np.save` and `open_memmap`: of the arrays in NumPy's own tests, and of random ones."""
    rng = random.Random(seed)
    arrays = [a for a in test_format.basic_arrays + test_format.record_arrays if not a.dtype.hasobject]
    for _ in range(count):
        shape = random_shape(rng)
        array = random_array(rng, sized_dtype(rng), int(np.prod(shape)), padding=False)
        arrays.append(array.reshape(shape, order=rng.choice("CF")))
    files = []
    for i, array in enumerate(arrays):
        save, memmap = f"{directory}/{i}.save.npy", f"{directory}/{i}.memmap.npy"
        np.save(save, array)
        if array.size:
            to = format.open_memmap(memmap, "w+", array.dtype, array.shape, rng.random() < 0.5)
            raw(to)[...] = raw(array)
            to.flush()
        paths = [save, memmap] if array.size else [save]
        files.append({"paths": paths, **contents(np.load(save))})
    return files


if __name__ == "__main__":
    serve(indexed, chained, edits, edited, sets, values, saved)
