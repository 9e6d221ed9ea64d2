#!/usr/bin/env python3
"""Writes the .npy and .npz files of tests/data with NumPy: python3 tests/io/make_npy.py"""
import io
import pathlib
import zipfile

import numpy as np
from numpy.lib import format

to = pathlib.Path(__file__).parent.parent / "data"
to.mkdir(exist_ok=True)


def values(dtype):
    return np.arange(6).reshape(2, 3).astype(dtype)


for order in "<>":
    for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"):
        name = {"<": "little", ">": "big"}[order]
        np.save(to / f"{name}_{kind}.npy", (values(order + kind) * (1.5 + 2j if "c" in kind else 1)).astype(order + kind))
for kind in ("i1", "u1", "?"):
    np.save(to / f"little_{kind.replace('?', 'b1')}.npy", values(kind))
np.save(to / "fortran_f4.npy", np.asfortranarray(np.arange(24, dtype="<f4").reshape(2, 3, 4)))
np.save(to / "fortran_string.npy", np.asfortranarray(np.array([["a", "bc"], ["d", "déjà"]])))
np.save(to / "unicode.npy", np.array(["word", "déjà", "", "\U0001f600", "in\0side"]))
np.save(to / "unicode_big.npy", np.array(["word", "é"], dtype=">U6"))
np.save(to / "bytes.npy", np.array([b"ab", b"\xff", b""]))
np.save(to / "scalar.npy", np.float64(2.5))
np.save(to / "empty.npy", np.zeros((3, 0, 2), "<f4"))
np.save(to / "object.npy", np.array([1, "a"], dtype=object), allow_pickle=True)
np.save(to / "record.npy", np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f4")]))
np.save(to / "date.npy", np.array(["2020-01-01"], dtype="M8[D]"))
for version in (2, 3):
    with open(to / f"version{version}.npy", "wb") as f:
        format.write_array(f, values("<f4"), version=(version, 0))

arrays = {"weights": values("<f4"), "a/b": np.arange(200, dtype="<i8"), "word": np.array("x")}
np.savez(to / "stored.npz", **arrays)
np.savez_compressed(to / "deflated.npz", **arrays)
np.savez(to / "nothing.npz")


def member(array):
    f = io.BytesIO()
    np.save(f, array)
    return f.getvalue()


class Unseekable(io.RawIOBase):
    """Makes zipfile write data descriptors behind the members."""

    def __init__(self, f):
        self.f = f

    def writable(self):
        return True

    def write(self, data):
        return self.f.write(data)


with open(to / "streamed.npz", "wb") as f, zipfile.ZipFile(Unseekable(f), "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("weights.npy", member(values("<f4")))
with zipfile.ZipFile(to / "commented.npz", "w") as z:
    z.writestr("weights.npy", member(values("<f4")))
    z.comment = b"a comment behind everything"
with zipfile.ZipFile(to / "text.npz", "w") as z:
    z.writestr("readme.txt", "no array")
for label, name in (("up", "../up"), ("root", "/root"), ("backslash", "a\\b")):
    with zipfile.ZipFile(to / f"name_{label}.npz", "w") as z:
        z.writestr(name + ".npy", member(values("<f4")))
with zipfile.ZipFile(to / "bzip2.npz", "w", zipfile.ZIP_BZIP2) as z:
    z.writestr("weights.npy", member(values("<f4")))
