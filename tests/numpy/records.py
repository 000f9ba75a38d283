"""Reports what NumPy does with records, casts, dates and statistics.

For `tests/live_records.rs`, `live_casts.rs` and `live_dates.rs`. See
`oracle.py` for the protocol.
"""

import random

from oracle import UNITS, format, np, random_dtype, serve
from views import contents, leaves, random_array, random_file, random_shape, raw, raw_file, sized_dtype

NUMBERS = "?,i1,i2,i4,i8,u1,u2,u4,u8,f2,f4,f8,c8,c16".split(",")
CASTINGS = ["no", "equiv", "safe", "same_kind", "unsafe"]

# Each form of descr that numpy.lib.format writes for structs.
STRUCTS = [
    [("a", "<i4"), ("b", "<f8")],
    [("a", "|i1"), ("", "|V3"), ("b", "<i4"), ("c", "|i1"), ("", "|V3")],
    [("", "|V1"), ("a", "<i4"), ("", "|V1"), ("b", "<i4")],
    [("a", "<i4"), ("", "|V12")],
    [(("title", "name"), "<i4"), ("b", "<M8[ns]")],
    [("y", "<i2", (2, 3)), ("z", "|S3")],
    [("a", [("x", "<i2"), ("y", ">f4")], (2, 2)), ("t", "<m8[25s]")],
    [("c", ("<f8", (5,)), (2,)), ("u", "<U3")],
    [("h", "<f2"), ("n", [("z", "<c8"), ("in", [("b", "|b1"), ("v", "|V3"), ("w", "<u8")])])],
    [("l", "<f16"), ("q", "<c16"), ("s", "|S0"), ("i", "|u1")],
]


def descr_of(dtype):
    return repr(format.dtype_to_descr(dtype))


def structs(directory, seed):
    """A file of each struct in each byte order and memory order, with the
    contents of each field. `is_expected` compares the file with the array whose
    fields were reversed."""
    rng = random.Random(seed)
    files = []
    for descr in STRUCTS:
        for order in "<>":
            dtype = format.descr_to_dtype(descr).newbyteorder(order)
            for fortran in (False, True):
                for align in (False, True):
                    if align:
                        dtype = np.dtype([(n, dtype[n]) for n in dtype.names], align=True)
                    files.append(struct(rng, f"{directory}/{len(files)}.npy", dtype, fortran))
    return files


def struct(rng, path, dtype, fortran):
    shape = rng.choice([(7,), (2, 3), (2, 1, 4), ()])
    flat = random_array(rng, dtype, int(np.prod(shape)))
    raw_file(rng, path, flat, shape, fortran)
    array = np.load(path)
    fields = []
    for keys, leaf in leaves(array):
        fields.append({"path": keys, "descr": leaf.dtype.str, **contents(leaf)})
        if leaf.itemsize:
            raw(leaf)[...] = raw(leaf).ravel()[::-1].reshape(leaf.shape).copy()
    EXPECTED[path] = array
    return {"path": path, "fields": fields}


# The contents that files are expected to have after an edit, by path.
EXPECTED = {}


def is_expected(path):
    found, expected = np.load(path), EXPECTED.pop(path)
    return found.dtype == expected.dtype and contents(found) == contents(expected)


def recasts(directory, seed, count):
    """Views of the same bytes as another dtype."""
    rng = random.Random(seed)
    files = []
    while len(files) < count:
        path = f"{directory}/r{len(files)}.npy"
        dtype = np.dtype(rng.choice("<>") + rng.choice(NUMBERS)) if rng.random() < 0.6 else sized_dtype(rng)
        array = random_file(rng, path, dtype)
        cases = [recast(rng, array) for _ in range(6)]
        files.append({"path": path, "cases": cases})
    return files


def recast(rng, array):
    transposed = rng.random() < 0.2
    source = array.T if transposed else array
    kind = rng.choice("view view view getfield newbyteorder real imag".split())
    other = np.dtype(rng.choice("<>") + rng.choice(NUMBERS + ["V6", "S3", "U1"]))
    if rng.random() < 0.2:
        other = np.dtype((other, (rng.randrange(1, 4),)))
    offset = rng.randrange(array.itemsize + 1)
    case = {"do": kind, "transposed": transposed, "descr": descr_text(other), "offset": offset}
    try:
        if kind == "view":
            result = source.view(other)
        elif kind == "getfield":
            result = source.getfield(other, offset)
        elif kind == "newbyteorder":
            result = source.view(source.dtype.newbyteorder(">"))
        else:
            if source.dtype.kind != "c" and kind == "imag":
                raise ValueError("NumPy returns zeros")
            result = getattr(source, kind)
        case.update(contents(result))
        case["dtype"] = descr_text(result.dtype)
    except (ValueError, TypeError) as error:
        case["error"] = str(error)
    return case


def descr_text(dtype):
    if dtype.subdtype is not None:
        return f"({descr_text(dtype.base)}, {dtype.shape!r})"
    return descr_of(dtype)


def can_casts(seed, count):
    """Pairs of dtypes, and whether each casting rule allows a cast."""
    rng = random.Random(seed)
    plain = [np.dtype(o + n) for n in NUMBERS + ["f16", "c32", "S0", "S3", "S40", "U0", "U3", "U70", "V0", "V4", "V16"] for o in "<>"]
    plain += [np.dtype(f"<{k}8[{m}{u}]") for k in "mM" for m in ("", "2", "25") for u in UNITS]
    plain += [np.dtype("<M8"), np.dtype(">m8")]
    pairs = [(rng.choice(plain), rng.choice(plain)) for _ in range(count)]
    for _ in range(count):
        dtype = random_dtype(rng)
        pairs.append((dtype, related(rng, dtype)))
        pairs.append((dtype, rng.choice([random_dtype(rng), rng.choice(plain)])))
    return [
        {"from": descr_text(a), "to": descr_text(b), "can": [bool(np.can_cast(a, b, c)) for c in CASTINGS]}
        for a, b in pairs
    ]


def related(rng, dtype):
    """A dtype with the same structure and other scalars."""
    if dtype.subdtype is not None:
        return np.dtype((related(rng, dtype.base), dtype.shape))
    if dtype.names is not None:
        other = [related(rng, dtype[n]) for n in dtype.names]
        names = [n if rng.random() < 0.8 else f"other{i}" for i, n in enumerate(dtype.names)]
        return np.dtype(list(zip(names, other)), align=rng.random() < 0.5)
    if rng.random() < 0.4:
        return dtype.newbyteorder()
    if dtype.kind in "biufc":
        return np.dtype(rng.choice("<>") + rng.choice(NUMBERS))
    if dtype.kind in "SUV":
        return np.dtype(f"{rng.choice('SUV')}{rng.randrange(1, 60)}")
    return np.dtype(f"<{dtype.kind}8[{rng.choice(UNITS)}]")


def casts(directory, seed, count):
    """Files, dtypes to cast them to, and the results of `astype`."""
    rng = random.Random(seed)
    files = []
    while len(files) < count:
        path = f"{directory}/c{len(files)}.npy"
        dtype = rng.choice([random_number, random_number, random_date, random_text, random_struct_dtype])(rng)
        shape, fortran = random_shape(rng), rng.random() < 0.5
        flat = replace_undefined(rng, random_array(rng, dtype, int(np.prod(shape)), padding=False))
        raw_file(rng, path, flat, shape, fortran)
        array = np.load(path)
        to = random_target(rng, dtype)
        for casting in ["same_kind", "unsafe", "same_value"]:
            if casting == "same_value" and "|V" in descr_text(to):
                # Bytes are not compared with numbers.
                continue
            case = {"path": path, "to": descr_text(to), "casting": casting}
            try:
                result = np.zeros(array.shape, to)
                # NumPy's own same_value does not support dates, and accepts some numbers
                # that change.
                how = "unsafe" if casting == "same_value" else casting
                result[...] = array.astype(to, casting=how)
                if casting == "same_value" and not is_same(array, result):
                    raise ValueError("changed")
                case.update(contents(result))
            except (ValueError, TypeError, UnicodeError, OverflowError) as error:
                case["error"] = str(error)
            files.append(case)
    return files


def is_same(array, result):
    """Whether all values are equal, as Python compares them."""
    if array.dtype.names is not None:
        names = zip(array.dtype.names, result.dtype.names)
        return all(is_same(array[a], result[b]) for a, b in names)
    if array.dtype.kind in "mM":
        back = result.astype(array.dtype)
        return bool(np.all((back == array) | np.isnat(array)))
    if array.dtype.kind in "SU":
        text = [[str(x, "latin1") if isinstance(x, bytes) else x for x in a.ravel().tolist()] for a in (array, result)]
        return text[0] == text[1]
    pairs = zip(array.ravel().tolist(), result.ravel().tolist())
    return all(a == b or (a != a and b != b) for a, b in pairs)


def random_number(rng):
    return np.dtype(rng.choice("<>") + rng.choice(NUMBERS))


def random_date(rng):
    return np.dtype(f"{rng.choice('<>')}{rng.choice('mM')}8[{rng.choice(['', '7'])}{rng.choice(UNITS[:10])}]")


def random_text(rng):
    return np.dtype(f"{rng.choice('<>')}{rng.choice('SU')}{rng.randrange(1, 9)}")


def random_struct_dtype(rng):
    fields = [(f"f{i}", rng.choice([random_number, random_date, random_text])(rng)) for i in range(rng.randrange(1, 4))]
    return np.dtype(fields + [("n", [("x", random_number(rng), (2,))])], align=rng.random() < 0.5)


def random_target(rng, dtype):
    if dtype.subdtype is not None:
        return np.dtype((random_target(rng, dtype.base), dtype.shape))
    if dtype.names is not None:
        return np.dtype([(f"g{i}", random_target(rng, dtype[n])) for i, n in enumerate(dtype.names)])
    if rng.random() < 0.1:
        return np.dtype(f"V{rng.randrange(1, 20)}")
    if dtype.kind in "mM":
        # NumPy casts months to units of fixed length by an average.
        units = UNITS[:2] if dtype.kind == "m" and np.datetime_data(dtype)[0] in "YM" else UNITS[2:10]
        return np.dtype(f"{rng.choice('<>')}{dtype.kind}8[{rng.choice(units)}]")
    return random_text(rng) if dtype.kind in "SU" else random_number(rng)


def replace_undefined(rng, array):
    """Replaces values whose casts are undefined: floats outside the range of
    integers, dates outside 64 bits."""
    for _, leaf in leaves(array):
        if leaf.dtype.kind in "fc":
            values = [0.0, -0.0, 1.0, 1.5, 100.25, 2.0, 7.0, 0.1, 64.0]
            for index in np.ndindex(leaf.shape):
                leaf[index] = rng.choice(values) + (1j * rng.choice([0, 0, 2]) if leaf.dtype.kind == "c" else 0)
        elif leaf.dtype.kind in "mM":
            ticks = leaf.view(leaf.dtype.str[0] + "i8")
            for index in np.ndindex(leaf.shape):
                ticks[index] = rng.choice([0, 1, -1, 7, 100, -50, -(2**63)])
        elif leaf.dtype.kind == "U":
            for index in np.ndindex(leaf.shape):
                leaf[index] = rng.choice(["", "a", "abc", "ab cd", "\xe9", "\u6574ab"])
    return array


def dates(seed, count):
    """Dates, compared and converted to other units."""
    rng = random.Random(seed)
    cases = []
    while len(cases) < count:
        units = [f"{rng.choice(['', '', '3', '25'])}{rng.choice(UNITS[:11])}" for _ in range(3)]
        reach = 10 ** rng.randrange(1, 6)
        ticks = [rng.randrange(-reach, reach) if rng.random() < 0.95 else None for _ in range(2)]
        a, b = (np.datetime64("NaT" if t is None else t, u) for t, u in zip(ticks, units))
        d = np.timedelta64("NaT" if ticks[0] is None else ticks[0], units[0])
        case = {"ticks": ticks, "units": units, "text": str(a), "wraps": wraps(ticks, units)}
        for name, function in {
            "less": lambda: bool(a < b),
            "to": lambda: a.astype(f"M8[{units[2]}]"),
            "delta_to": lambda: delta_to(d, units[2]),
        }.items():
            case[name] = answer(function)
        try:
            parsed = np.datetime64(str(a))
            case["parsed"] = answer(lambda: parsed)
        except ValueError:
            case["parsed"] = None
        cases.append(case)
    return cases


def date_texts(seed, count):
    """Texts that are nearly dates, and their milliseconds if NumPy reads them."""
    rng = random.Random(seed)
    cases = []
    for _ in range(count):
        text = rng.choice(["2020", "1969", "02020", "5", "-0044", "12020"])
        for separator in "--T::.":
            if rng.random() < 0.15:
                break
            text += separator if rng.random() < 0.95 else rng.choice("T :.")
            text += rng.choice(["01", "12", "09"] * 4 + ["1", "012", "30", "60", ""])
        # NumPy ignores spaces at the end.
        text = text.rstrip() + rng.choice(["", "", "", "Z", "'"])
        try:
            date = str(int(np.datetime64(text).astype("M8[ms]").astype("i8")))
        except ValueError:
            date = None
        cases.append([text, date])
    return cases


SECONDS = dict(zip(UNITS, [31556952, 2629746, 604800, 86400, 3600, 60, 1, 1e-3, 1e-6, 1e-9, 1e-12]))


def wraps(ticks, units):
    """Whether a result may exceed 64 bits, in which case NumPy wraps around."""
    parts = [(int(u.rstrip("YMWDhmsunp") or 1), SECONDS[u.lstrip("0123456789")]) for u in units]
    longest = max(abs(t or 0) * n * s for t, (n, s) in zip(ticks, parts))
    return 8 * longest / min(s for _, s in parts) > 2**62


def delta_to(delta, unit):
    if not np.can_cast(delta.dtype, np.dtype(f"m8[{unit}]"), "same_kind"):
        raise TypeError("NumPy uses an average")
    return delta.astype(f"m8[{unit}]")


def answer(function):
    try:
        value = function()
    except (TypeError, ValueError, OverflowError) as error:
        return {"error": str(error)}
    if isinstance(value, bool):
        return value
    base, multiple = np.datetime_data(value.dtype)
    big = abs(int(value.view("i8"))) > 2**62 and not np.isnat(value)
    unit = None if base == "generic" else f"{multiple if multiple != 1 else ''}{base}"
    return {"ticks": str(int(value.view("i8"))), "unit": unit, "text": str(value), "big": big}


def statistics(directory, seed, count):
    """Files of real numbers, and their statistics."""
    rng = random.Random(seed)
    files = []
    while len(files) < count:
        dtype = np.dtype(rng.choice("<>") + rng.choice(NUMBERS[:12]))
        path = f"{directory}/s{len(files)}.npy"
        array = random_file(rng, path, dtype)
        wide = array.astype("f8") if dtype.kind != "f" else array.astype("f16")
        numbers = wide[~np.isnan(wide)]
        case = {"path": path, "count": array.size, "nan": int(np.isnan(wide).sum())}
        case["infinite"] = int(np.isinf(wide).sum())
        case["sum"] = repr(float(numbers.astype("f16").sum())) if array.size else "0.0"
        case["scale"] = float(np.abs(numbers[np.isfinite(numbers)]).sum())
        kept = array[~np.isnan(wide)]
        case["min"] = repr(float(kept.min())) if kept.size else None
        case["max"] = repr(float(kept.max())) if kept.size else None
        files.append(case)
    return files


if __name__ == "__main__":
    serve(structs, is_expected, recasts, can_casts, casts, dates, date_texts, statistics)
