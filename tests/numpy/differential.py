"""Reports how NumPy reads a file, and which paragraph of COMPATIBILITY.md
covers a difference. For `tests/differential`. See `oracle.py` for the protocol.
"""

import ast
import io
import re
import tokenize
import unicodedata

from oracle import format, impl, np, serve

MAX_VALUES = 4096


# How NumPy reads a file.


read_header = impl._read_array_header
found = {}


def read_and_remember(file, version, **limit):
    """Reads a header for NumPy, and remembers it."""
    found["header"] = read_header(file, version, **limit)
    found["offset"] = file.tell()
    return found["header"]


impl._read_array_header = read_and_remember


filter_header = impl._filter_header


def filter_plain(text):
    """As NumPy's function, which removes `L` after numbers, except for text with a
    NUL: Python parses it neither before nor after, and to split it into tokens
    takes half a minute if it has 10,000 blanks."""
    return text if "\0" in text else filter_header(text)


impl._filter_header = filter_plain


def opened(path):
    """Opens an array with `open_memmap`, or with `load` if its elements have no
    bytes and so cannot be mapped."""
    found.clear()
    try:
        return format.open_memmap(path, "r")
    except Exception:
        if "header" not in found:
            raise
        shape, _, dtype = found["header"]
        if dtype.itemsize or dtype.hasobject or is_endless(shape):
            raise
        return np.load(path)


def is_endless(shape):
    """Whether the number of elements overflows to -1, which NumPy reads as all
    that follow. For zero-size elements that never ends."""
    return bool(shape) and np.multiply.reduce(shape, dtype=np.int64) == -1


def judge_one(path):
    try:
        array = opened(path)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    shape, fortran, dtype = found["header"]
    values = []
    try:
        leaves(values, np.asarray(array))
    except Exception as error:
        values = [f"{type(error).__name__}: {error}"]
    return {
        "descr": repr(format.dtype_to_descr(dtype)),
        "shape": [int(dim) for dim in shape],
        "fortran_order": fortran,
        "data_offset": found["offset"],
        "values": values,
    }


def judge(directory, count):
    return [judge_one(f"{directory}/{i}.npy") for i in range(count)]


def leaves(values, array):
    if array.dtype.names is None:
        values.append(text(array))
        return
    for name in array.dtype.names:
        try:
            part = array[name]
        except ValueError:
            values.append("refused")
        else:
            leaves(values, part)


def text(array):
    """All values, exactly. All NaNs are equal, and invalid Unicode is U+FFFD."""
    if array.size > MAX_VALUES:
        return "many"
    return "".join(f"{value} " for value in printable_values(array))


def printable_values(array):
    kind, size = array.dtype.kind, array.itemsize
    order = "<" if array.dtype.isnative else ">"
    if kind == "b":
        return (int(x) for x in array.ravel().tolist())
    if kind in "iu":
        return array.ravel().tolist()
    if kind in "Mm":
        return array.view(order + "i8").ravel().tolist()
    if kind == "f" and size < 16:
        return floats(array.ravel())
    if kind == "c" and size < 32:
        flat = array.ravel()
        return (x for pair in zip(floats(flat.real), floats(flat.imag)) for x in pair)
    raw = array.tobytes()
    parts = (raw[i * size : (i + 1) * size] for i in range(array.size))
    if kind == "S":
        parts = (part.rstrip(b"\0") for part in parts)
    if kind == "U":
        parts = (characters(part, order) for part in parts)
    return (part.hex() for part in parts)


def floats(flat):
    bits = flat.astype("<f8").view("<u8").tolist()
    return ("nan" if nan else f"{x:x}" for x, nan in zip(bits, np.isnan(flat).tolist()))


def characters(part, order):
    codes = np.frombuffer(part, order + "u4").tolist()
    while codes and codes[-1] == 0:
        codes.pop()
    return "".join(chr(code) if is_scalar_value(code) else "\ufffd" for code in codes).encode()


def is_scalar_value(code):
    """Whether a code point is a Unicode scalar value."""
    return code < 0xD800 or 0xE000 <= code < 0x110000


# The paragraph of COMPATIBILITY.md that covers a file.


def explain(path):
    """The paragraph that covers a file, and the file rewritten without that
    difference, if that is possible."""
    with open(path, "rb") as file:
        head = Head(file.read())
    for rule in RULES:
        try:
            found = rule(head)
        except Exception:
            # The rule needs a header that can be read further.
            continue
        if found:
            name, rewritten = found
            return {"rule": name, "rewritten": rewritten and rewritten.hex()}
    return {"rule": None}


class Head:
    """A file, the text of its header and the literal that Python parses."""

    def __init__(self, data):
        self.data = data
        self.text = self.literal = None
        size = 2 if data[6:7] == b"\x01" else 4
        length = int.from_bytes(data[8 : 8 + size], "little")
        self.end = 8 + size + length
        self.version = data[6]
        try:
            self.text = data[8 + size : self.end].decode("utf8" if self.version == 3 else "latin1")
        except UnicodeError:
            return
        for text in [self.text, self.filtered()]:
            try:
                self.literal = ast.literal_eval(text.lstrip())
                break
            except Exception:
                pass
        is_header = isinstance(self.literal, dict) and set(self.literal) == impl.EXPECTED_KEYS
        self.descr = self.literal["descr"] if is_header else None
        self.is_header = is_header

    def filtered(self):
        try:
            return impl._filter_header(self.text)
        except Exception:
            return ""

    def dtype(self):
        return format.descr_to_dtype(self.descr)

    def with_text(self, text):
        """The file with another header text, in a version that can encode it."""
        version = self.version
        try:
            encoded = text.encode("utf8" if version == 3 else "latin1")
        except UnicodeError:
            version, encoded = 3, text.encode("utf8")
        size = 2 if version == 1 else 4
        return b"\x93NUMPY" + bytes([version, 0]) + len(encoded).to_bytes(size, "little") + encoded + self.data[self.end :]

    def with_descr(self, descr):
        return self.with_text(repr({**self.literal, "descr": descr}))

    def with_dtype(self):
        return self.with_descr(format.dtype_to_descr(self.dtype()))


def type_strings(descr):
    """All type strings of a descr."""
    if isinstance(descr, str):
        yield descr
    elif isinstance(descr, tuple) and descr:
        yield from type_strings(descr[0])
    elif isinstance(descr, list):
        for item in descr:
            if isinstance(item, (tuple, list)) and len(item) > 1:
                yield from type_strings(item[1])


def fields(descr):
    """All items of all lists of fields of a descr."""
    if isinstance(descr, tuple) and descr:
        yield from fields(descr[0])
    elif isinstance(descr, (list, set, dict)):
        for item in descr:
            yield item
            if isinstance(item, (tuple, list)) and len(item) > 1:
                yield from fields(item[1])


def spellings(head):
    if head.is_header and is_not_plain(head.text):
        return "Python's other spellings", head.with_text(repr(head.literal))


def is_not_plain(text):
    """Whether the text has syntax that Python accepts but is not a plain literal."""
    previous, brackets = None, []
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\\\n" in text:
        return True
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text.strip()).readline))
    except (tokenize.TokenError, SyntaxError):
        return True
    for token in tokens:
        kind, string = token.type, token.string
        if kind in (tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER):
            continue
        if kind == tokenize.COMMENT:
            return True
        if kind == tokenize.NUMBER and not re.fullmatch("0+|[1-9][0-9]*", string):
            return True
        if kind == tokenize.STRING:
            if not re.match("[uU]?('(?!'')|\"(?!\"\"))", string) or "\\N" in string:
                return True
            if previous and previous.type == tokenize.STRING:
                return True
        if kind == tokenize.NAME:
            is_long = string == "L" and previous.type == tokenize.NUMBER
            if is_long and previous.end != token.start:
                return True
            if not is_long and string not in ("True", "False", "None"):
                return True
        if kind == tokenize.OP:
            if string not in "()[]{},:+-":
                return True
            if string in "([{":
                brackets.append([string, set()])
            elif string in ",:" and brackets:
                brackets[-1][1].add(string)
            elif string in ")]}" and brackets:
                open, signs = brackets.pop()
                # Parenthesized values, and sets.
                needed = {"(": ",", "{": ":"}.get(open)
                if needed and needed not in signs and previous.string != open:
                    return True
        previous = token
    return False


def divided_units(head):
    if any(re.search(r"\[.*/.*\]$", one) for one in type_strings(head.descr)):
        return "Divided units", head.with_dtype()


def comma_strings(head):
    """A list of types, a repeat count, or a shape before the letter."""
    if any(re.search(r",|^[<>=|]?\s*[\d(]", one) for one in type_strings(head.descr)):
        return "Comma strings", head.with_dtype()


def loose_type_strings(head):
    loose = r"[\s+]|-0|^[<>=|]?[\0-\x1f]$"
    if any(re.search(loose, one) and "," not in one for one in type_strings(head.descr)):
        return "Loose type strings", head.with_dtype()


def string_items(head):
    def is_odd(descr):
        if isinstance(descr, tuple) and descr:
            return is_odd(descr[0])
        if isinstance(descr, (set, dict)):
            return True
        return isinstance(descr, list) and not all(
            isinstance(item, (tuple, list)) and not is_odd(item[1]) for item in descr
        )

    if is_odd(head.descr):
        return "Items that are strings", head.with_dtype()


def renamed(descr, rename):
    """A descr whose names and titles are replaced by a function."""
    if isinstance(descr, tuple) and descr:
        return (renamed(descr[0], rename), *descr[1:])
    if not isinstance(descr, list):
        return descr
    return [type(item)([rename(item[0]), renamed(item[1], rename), *item[2:]]) for item in descr]


def surrogates(head):
    def text(name):
        if isinstance(name, tuple):
            return tuple(map(text, name))
        return re.sub("[\ud800-\udfff]", "surrogate", name) if isinstance(name, str) else name

    descr = renamed(head.descr, text)
    if descr != head.descr:
        return "Lone surrogates", head.with_descr(descr)


def newer_characters(head):
    """Names and titles with characters that Python's Unicode does not define."""

    def defined(name):
        if isinstance(name, tuple):
            return tuple(map(defined, name))
        is_text = isinstance(name, str)
        return "".join("_" if unicodedata.category(c) == "Cn" else c for c in name) if is_text else name

    descr = renamed(head.descr, defined)
    if descr != head.descr:
        return "Newer characters", head.with_descr(descr)


def titles(head):
    def without(name):
        is_title = isinstance(name, tuple) and not isinstance(name[0], str) and name[0] is not None
        return (None, name[1]) if is_title else name

    descr = renamed(head.descr, without)
    if descr != head.descr:
        return "Titles that are not text", head.with_descr(descr)


def whole_type(head):
    def pair(descr):
        return (pair(descr[0]), descr[1]) if isinstance(descr, tuple) else descr

    if isinstance(head.descr, tuple):
        return "Subarrays as the whole type", head.with_descr([("a", pair(head.descr))])


def pairs(head):
    def is_axes(shape):
        # An empty list is a struct without fields.
        is_sequence = isinstance(shape, (tuple, list)) and shape != []
        return isinstance(shape, int) or is_sequence and all(isinstance(n, int) for n in shape)

    def is_pair(descr):
        if isinstance(descr, tuple):
            return len(descr) > 2 or not is_axes(descr[1]) or is_pair(descr[0])
        return isinstance(descr, list) and any(
            is_pair(item[1]) or not all(map(is_axes, item[2:])) for item in descr
        )

    if is_pair(head.descr):
        return "Pairs of types", head.with_dtype()


def zero_size_subarrays(head):
    def is_sized(descr):
        if isinstance(descr, tuple):
            base = format.descr_to_dtype(descr[0])
            return base.itemsize == 0 and base.subdtype is not None or is_sized(descr[0])
        return isinstance(descr, list) and any(map(is_sized, map(pair, descr)))

    def pair(item):
        return tuple(item[1:]) if len(item) > 2 else item[1]

    if is_sized(head.descr):
        return "Sizes of zero-size subarrays", None


def unnamed_objects(head):
    def is_unnamed(item):
        return item[0] == "" and np.dtype(format.descr_to_dtype(item[1])).hasobject

    if any(is_unnamed(item) for item in fields(head.descr)):
        return "Unnamed objects", head.with_dtype()


def count(shape):
    number = 1
    for dim in shape:
        number *= max(dim, 1)
    return number


def zero_size_elements(head):
    shape = head.literal["shape"]
    if head.dtype().itemsize == 0 and (count(shape) >= 2**63 or any(dim < 0 for dim in shape)):
        return "Zero-size elements", head.with_text(repr({**head.literal, "shape": ()}))


def too_many_elements(head):
    def is_beyond(dtype, shape):
        if dtype.subdtype:
            return is_beyond(dtype.base, shape + dtype.shape)
        if len(shape) > 64 or count(shape) * max(dtype.itemsize, 1) >= 2**63:
            return True
        return any(is_beyond(dtype[name], shape) for name in dtype.names or ())

    if head.is_header and is_beyond(head.dtype(), head.literal["shape"]):
        return "Fields with too many elements", None


class Inexpressible(Exception):
    """A list of fields cannot express a dtype."""


def dictionary_descr(head):
    def old(descr):
        """The dtype that NumPy 1.14 would read."""
        if isinstance(descr, dict):
            return np.dtype({**descr, "formats": [old(one) for one in descr["formats"]]})
        if isinstance(descr, list):
            return format.descr_to_dtype([with_old(item) for item in descr])
        return format.descr_to_dtype(descr)

    def with_old(item):
        return (item[0], as_list(old(item[1])), *item[2:])

    def as_list(dtype):
        """The descr of a dtype, unless its fields overlap or are out of order."""
        try:
            return format.dtype_to_descr(dtype)
        except ValueError as error:
            raise Inexpressible from error

    def has_dict(descr):
        return isinstance(descr, dict) or any(
            isinstance(item, (tuple, list)) and len(item) > 1 and has_dict(item[1]) for item in fields(descr)
        )

    if head.is_header and has_dict(head.descr):
        try:
            return "Dictionary descr", head.with_descr(as_list(old(head.descr)))
        except Inexpressible:
            return "Dictionary descr", None


def indented_header(head):
    if head.text and head.text != head.text.strip():
        return "Indented headers", head.with_text(head.text.strip())


RULES = [
    string_items,
    surrogates,
    newer_characters,
    titles,
    spellings,
    divided_units,
    loose_type_strings,
    comma_strings,
    pairs,
    zero_size_subarrays,
    whole_type,
    unnamed_objects,
    zero_size_elements,
    too_many_elements,
    dictionary_descr,
    indented_header,
]


if __name__ == "__main__":
    serve(judge, judge_one, explain)
