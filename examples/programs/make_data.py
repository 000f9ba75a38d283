#!/usr/bin/env python3
"""Writes the files that the programs read into the current directory."""

import io
import tarfile

import numpy as np


def numbers(*shape):
    """Returns pseudo-random numbers from -0.5 to 0.5, the same on all machines."""
    k = np.arange(np.prod(shape)) + 12345
    return ((k * k % 65521 * 31 + k * 17) % 65521 / 65521 - 0.5).reshape(shape)


def integers(below, *shape):
    return np.floor((numbers(*shape) + 0.5) * below).astype("i8")


def events(n):
    dtype = [("time", "<M8[s]"), ("station", "S4"), ("position", "<f4", (3,)), ("energy", "<f8"), ("valid", "?")]
    events = np.zeros(n, dtype)
    events["time"] = np.datetime64("2020-02-20") + np.arange(n) * np.timedelta64(3600, "s")
    events["station"] = np.array([b"EGLL", b"LFPG", b"EDDF"])[integers(3, n)]
    events["position"] = numbers(n, 3)
    events["energy"] = numbers(n) + 0.5
    events["valid"] = np.arange(n) % 5 != 0
    return events


def write_tar(path, arrays):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, array in arrays.items():
            data = io.BytesIO()
            np.save(data, array)
            info = tarfile.TarInfo(name)
            info.size = data.tell()
            data.seek(0)
            tar.addfile(info, data)


def main():
    table = numbers(1000, 8)
    np.save("table.npy", table)
    np.save("mask.npy", np.arange(1000) % 3 == 0)
    np.save("signal.npy", numbers(5000).astype("f4"))
    np.save("embeddings.npy", numbers(2000, 64).astype("f4"))
    np.save("half.npy", numbers(100, 32).astype("f2"))
    np.save("spectrum.npy", (numbers(300) + 1j * numbers(600)[300:]).astype("c8"))
    np.save("events.npy", events(1000))
    np.save("stations.npy", np.array(["Heathrow", "Orly", "Le Bourget"])[integers(3, 500)])
    np.save("ids.npy", np.cumsum(integers(9, 3000) + 1))

    frames = integers(4096, 20, 32, 32)
    np.save("frames.npy", frames.astype(">u2"))
    with open("frames.raw", "wb") as raw:
        raw.write(b"DETECTOR".ljust(64, b"\0") + frames.astype("<i2").tobytes())

    np.save("images.npy", integers(256, 600, 8, 8, 3).astype("u1"))
    np.save("labels.npy", integers(10, 600))
    offsets = np.append(0, np.cumsum(integers(30, 100) + 1))
    np.save("offsets.npy", offsets)
    np.save("tokens.npy", integers(50257, offsets[-1]).astype("u2"))

    for part in range(4):
        np.save(f"part-{part}.npy", table[part * 250 : (part + 1) * 250].astype("f4"))
    np.savez("weights.npz", **{f"layer{i}/bias" if i % 2 else f"layer{i}/weight": numbers(3 + i % 5, 4) for i in range(1000)})
    write_tar("shard.tar", {f"{i:04}.npy": numbers(16) * i for i in range(50)})


if __name__ == "__main__":
    main()
