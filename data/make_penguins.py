#!/usr/bin/env python3
"""Make penguins.npy from the Palmer Penguins data (CC0).

    python3 make_penguins.py

Needs NumPy 2.4.6 and, for pip download, the network.
"""

import csv
import io
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

COLUMNS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]

if np.__version__ != "2.4.6":
    sys.exit("NumPy 2.4.6 is needed, for the same bytes")
with tempfile.TemporaryDirectory() as d:
    subprocess.run([sys.executable, "-m", "pip", "-q", "download", "--no-deps", "--only-binary", ":all:", "-d", d,
                    "palmerpenguins==0.1.6"], check=True)
    with zipfile.ZipFile(os.path.join(d, os.listdir(d)[0])) as z:
        text = z.read("palmerpenguins/data/penguins.csv").decode("utf8")

rows = []
for bird in csv.DictReader(io.StringIO(text)):
    values = [bird[c] for c in COLUMNS]
    if all(v not in ("", "NA") for v in values):
        rows.append([float(v) for v in values])
a = np.array(rows, "<f8")
assert a.shape == (342, 4), a.shape
np.save(os.path.join(os.path.dirname(os.path.abspath(__file__)), "penguins.npy"), a)
