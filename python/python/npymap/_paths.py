"""Paths and numbers as callers give them."""

import operator
import os

from ._core import is_url, shown


def to_path(path):
    """Return the path of a file as text."""
    path = os.fsdecode(path)
    if is_url(path):
        raise ValueError(f"{shown(path)}: a URL, which load, ArrayFile, Npz, Tar, Ten and header read, "
                         "without a mode; other functions need a file")
    return path


def to_source(path):
    """Return the path of a file, or a URL, as text."""
    return os.fsdecode(path)


def to_absolute(path):
    """Return the absolute path of a file, or a URL, as text."""
    path = os.fsdecode(path)
    if not path or is_url(path):
        return path
    # `abspath` would take `link/..` for the directory of the link, not of its target.
    if ".." in path.split(os.sep):
        return os.path.join(os.getcwd(), path)
    return os.path.abspath(path)


def is_fortran(order):
    """Return whether a memory order is Fortran's."""
    if order not in ("C", "c", "F", "f"):
        raise ValueError(f"order {order!r}, expected 'C' or 'F'")
    return order in ("F", "f")


def to_shape(shape):
    """Return a shape as a tuple of integers."""
    try:
        shape = (operator.index(shape),)
    except TypeError:
        shape = tuple(operator.index(length) for length in shape)
    if any(length < 0 for length in shape):
        raise ValueError(f"negative dimensions are not allowed: {shape}")
    return shape
