"""Paths and numbers as callers give them."""

import operator
import os


def to_path(path):
    """Return a path as text."""
    return os.fsdecode(path)


def to_shape(shape):
    """Return a shape as a tuple of integers."""
    try:
        shape = (operator.index(shape),)
    except TypeError:
        shape = tuple(operator.index(length) for length in shape)
    if any(length < 0 for length in shape):
        raise ValueError(f"negative dimensions are not allowed: {shape}")
    return shape
