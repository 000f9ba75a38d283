"""Files, the page cache and rounds, for the benchmarks beside this file."""

import contextlib
import ctypes
import gc
import mmap
import os
import statistics
import time
from pathlib import Path

import numpy as np

PIECE = 16 << 20
PART = 1 << 30


def number_rows(path, count, width, write_header):
    """Write rows of `f4`: row `i` has the number `i` in each element."""
    with open(path, "wb") as file:
        write_header(file)
        step = max(PIECE // (4 * width), 1)
        for start in range(0, count, step):
            numbers = np.arange(start, min(start + step, count), dtype="f4")
            np.repeat(numbers, width).tofile(file)


def create_npy(path, count, width):
    header = {"descr": "<f4", "fortran_order": False, "shape": (count, width)}
    number_rows(path, count, width,
                lambda file: np.lib.format.write_array_header_1_0(file, header))


def evict(*paths):
    """Drop files, or all files of directories, from the page cache, and check that."""
    gc.collect()
    for path in files(paths):
        for attempt in range(20):
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            left = resident(path)
            if left == 0:
                break
            time.sleep(0.01 * attempt)
        else:
            raise RuntimeError(f"{path}: {left} bytes stay in the page cache")


def read_in(*paths):
    """Read files into the page cache."""
    for path in files(paths):
        with open(path, "rb", buffering=0) as file:
            while file.read(PIECE):
                pass


def settle(path):
    """Read a file into the page cache again, in huge pages if the kernel has them."""
    evict(path)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        with contextlib.suppress(OSError):
            data.madvise(mmap.MADV_HUGEPAGE)
        np.frombuffer(data, "u1")[::64].sum()


def files(paths):
    for path in map(Path, paths):
        yield from (p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def resident(path):
    """Return how many bytes of a file are in the page cache."""
    libc = ctypes.CDLL(None, use_errno=True)
    size, found = os.path.getsize(path), 0
    with open(path, "rb") as file:
        # In parts, because private maps count as memory that may be needed.
        for start in range(0, size, PART):
            length = min(PART, size - start)
            pages = ctypes.create_string_buffer(-(-length // mmap.PAGESIZE))
            with mmap.mmap(file.fileno(), length, access=mmap.ACCESS_COPY, offset=start) as part:
                first = ctypes.c_char.from_buffer(part)
                address = ctypes.c_void_p(ctypes.addressof(first))
                failed = libc.mincore(address, ctypes.c_size_t(length), pages)
                del first
            if failed:
                raise OSError(ctypes.get_errno(), "mincore")
            found += pages.raw.count(1)
    return found * mmap.PAGESIZE


def seconds(call):
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start
    finally:
        gc.enable()


def rounds(count, calls, warm_up=True):
    """Time each call once in each round, in another order each time.

    A call returns its own seconds, or None if it is to be timed as a whole.
    """
    times = {name: [] for name in calls}
    names = list(calls)
    for number in range(-1 if warm_up else 0, count):
        for name in names:
            found = []
            elapsed = seconds(lambda: found.append(calls[name]()))
            if number >= 0:
                times[name].append(elapsed if found[0] is None else found[0])
        names = names[1:] + names[:1]
    return times


def show(seconds_):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds_ * factor >= 1:
            break
    value = seconds_ * factor
    return f"{value:.{1 if value < 100 else 0}f} {unit}"


def report(case, times, ours="npymap"):
    """Print a row for each peer: the medians, and the ratios of the rounds."""
    mine = times[ours]
    for name, theirs in times.items():
        if name == ours:
            continue
        ratios = sorted(a / b for a, b in zip(mine, theirs))
        print(f"| {case} | {name} | {show(statistics.median(mine))} | "
              f"{show(statistics.median(theirs))} | {ratios[0]:.3g} / "
              f"**{statistics.median(ratios):.3g}** / {ratios[-1]:.3g} |", flush=True)
