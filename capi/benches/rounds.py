#!/usr/bin/env python3
"""Compares the time of two programs that do something COUNT times, in rounds.

    python3 rounds.py COUNT ROUNDS OURS THEIRS [ARGUMENT...]

A program gets COUNT and the other arguments. Each round runs both, in an order that
alternates, and both with the count 0, which is subtracted. Prints the quotient of the
times of ours and theirs: the median of the rounds, the least and the greatest.
"""

import os
import statistics
import subprocess
import sys
import time


def used(program, count, arguments):
    """Returns the seconds of the processor (user and system) and of the clock."""
    start = time.perf_counter()
    process = subprocess.Popen([program, str(count), *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{program} failed: {process.returncode}")
    return usage.ru_utime + usage.ru_stime, wall


def per_call(program, count, arguments):
    """Returns the time of one call in microseconds, without starting the program."""
    whole, start = used(program, count, arguments), used(program, 0, arguments)
    return [(a - b) * 1e6 / count for a, b in zip(whole, start)]


def main():
    count, rounds, programs, arguments = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:5], sys.argv[5:]
    pairs = []
    for number in range(rounds):
        order = programs if number % 2 == 0 else programs[::-1]
        times = {program: per_call(program, count, arguments) for program in order}
        pairs.append([times[program] for program in programs])
    for position, clock in enumerate(["CPU", "wall"]):
        ours, theirs = ([pair[which][position] for pair in pairs] for which in (0, 1))
        ratios = [a / b for a, b in zip(ours, theirs)]
        print(
            f"{clock}: {statistics.median(ours):.2f} us and {statistics.median(theirs):.2f} us, "
            f"quotient {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
        )


if __name__ == "__main__":
    main()
