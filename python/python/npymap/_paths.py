"""Paths and numbers as callers give them."""

import operator
import os


def to_path(path):
    """Return a path as text."""
    return os.fsdecode(path)


def to_shape(shape):
    """Return a shape as a tuple of integers."""
    try:
        return (operator.index(shape),)
    except TypeError:
        return tuple(operator.index(length) for length in shape)
