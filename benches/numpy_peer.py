"""NumPy's side of the benchmarks: times batches on request.

Takes the directory of the files. Prints a line with NumPy's version, then
answers each line `work iterations` with the nanoseconds that took. `timeit`
turns the garbage collector off meanwhile.
"""

import io
import sys
from timeit import Timer

try:
    import numpy
    from numpy.lib.format import open_memmap, read_array_header_1_0
except ImportError as error:
    sys.exit(f"python3 cannot import NumPy: {error}")

directory = sys.argv[1]


def opening(name, index):
    path = f"{directory}/{name}.npy"
    statement = "array = open_memmap(path, mode='r'); array[index]; del array"
    names = {"open_memmap": open_memmap, "path": path, "index": index}
    return Timer(statement, globals=names)


def parsing(name):
    with open(f"{directory}/{name}.npy", "rb") as file:
        header = file.read()[8:]  # behind magic and version
    names = {"BytesIO": io.BytesIO, "read": read_array_header_1_0, "header": header}
    return Timer("read(BytesIO(header))", globals=names)


works = {
    "open-small": opening("small", (0, 0)),
    "open-large": opening("large", 2**28),
    "open-fields": opening("fields", 0),
    "parse-small": parsing("small"),
    "parse-fields": parsing("fields"),
}

print(f"NumPy {numpy.__version__}", flush=True)
for line in sys.stdin:
    work, iterations = line.split()
    print(round(works[work].timeit(int(iterations)) * 1e9), flush=True)
