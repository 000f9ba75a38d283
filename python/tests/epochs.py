"""Checks how much memory epochs of a mapped file take.

    python epochs.py a.npy

The pages of the file are the kernel's, which takes them back when it needs memory. Prints the
most that the process had of its own beside the arrays that it imports, and fails if this is
more than its batches and 64 MiB.
"""

import sys

import npymap

MIB = 1 << 20


def status(*names):
    """Return numbers of bytes from the status of this process."""
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return [int(lines[name].split()[0]) << 10 for name in names]


def epoch(array, sampler, size, threads):
    """Return the number of rows of an epoch, and the most private memory and page tables."""
    rows, most = 0, (0, 0)
    for number, (_, batch) in enumerate(npymap.Batches(array, sampler, size, threads=threads)):
        rows += len(batch)
        if number % 8 == 0:
            most = max(most, tuple(status("RssAnon", "VmPTE")))
    return rows, sum(most)


def main(path):
    before = sum(status("RssAnon", "VmPTE"))
    array = npymap.open(path)
    size = max(4 * MIB * len(array) // array.nbytes, 1)
    for threads in (None, 2):
        for sampler in (None, npymap.Sampler(len(array), seed=1)):
            rows, most = epoch(array, sampler, size, threads)
            order = "in order" if sampler is None else "shuffled"
            print(f"{threads} threads, {order}: {(most - before) // MIB} MiB", flush=True)
            assert rows == len(array)
            # Up to two batches per thread, those that are read, and the one that is used.
            assert most - before < (7 * 4 + 64) * MIB


if __name__ == "__main__":
    main(*sys.argv[1:])
