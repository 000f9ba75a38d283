"""Paths and numbers as callers give them."""

import operator
import os
import re
from urllib.request import url2pathname

from ._core import is_url, shown


# A letter of a drive is no scheme.
_SCHEME = re.compile("([A-Za-z][A-Za-z0-9+.-]+)://")


def _decode(path):
    """Return a path or a URL as text: that of `file://` as a path."""
    path = os.fsdecode(path)
    found = _SCHEME.match(path)
    if found is None or is_url(path):
        return path
    if found[1].lower() == "file":
        host, slash, name = path[len("file://"):].partition("/")
        if host not in ("", "localhost"):
            raise ValueError(f"{path}: a file of the host {host!r}, expected file:///path")
        return url2pathname(slash + name)
    if os.path.lexists(path):
        return path
    # The query can be a signature, as in "HTTPS://…".
    path = path.partition("?")[0]
    raise ValueError(f"{path}: a URL of the scheme {found[1]!r}, expected file, http, https, s3, gs or az. "
                     f"A file of that name is './{path}'")


def to_path(path):
    """Return the path of a file as text."""
    path = _decode(path)
    if is_url(path):
        raise ValueError(f"{shown(path)}: a URL, which load, ArrayFile, Npz, Tar, Ten and header read, "
                         "without a mode; other functions need a file")
    return path


def to_source(path):
    """Return the path of a file, or a URL, as text."""
    return _decode(path)


def to_location(path, headers=None, storage_options=None):
    """Return what the native functions open: a path or URL as text, with what its store is told."""
    options = dict(storage_options or {})
    headers = {**(options.pop("headers", None) or {}), **(headers or {})}
    if not headers and not options:
        return path
    if not is_url(path):
        raise ValueError(f"{path}: a file, for which there are no headers and storage_options")
    return path, _texts(headers), _texts(options)


def _texts(options):
    return [(str(name), str(value).lower() if isinstance(value, bool) else str(value))
            for name, value in options.items()]


def to_absolute(path):
    """Return the absolute path of a file, or a URL, as text."""
    path = _decode(path)
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
