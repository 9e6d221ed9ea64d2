#!/usr/bin/env python3
"""Records what NumPy makes of inverse, hyperbolic and other elementary functions, and of bits of integers, in every
element type: writes functions.npz beside this file (recording.py says how), which tests/ops/values.cpp reads."""
import numpy as np

from recording import *  # noqa: F403


def elementary():
    near = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
            "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "exp2": np.exp2, "log2": np.log2,
            "log10": np.log10}
    inside = ("asin", "acos", "atanh")  # functions of numbers between -1 and 1
    with np.errstate(all="ignore"):
        for d in FLOATS:
            for name, f in near.items():
                x = draw((2, 19), d, True, positive=name.startswith("log"))
                if name in inside:
                    x.flat[7:] = rounded(rng.uniform(-1, 1, 31), d)
                    x.flat[7:9] = rounded([-1, 1.5], d)
                if name == "acosh":
                    x.flat[7:] = np.abs(x.flat[7:]) + 1
                    x = rounded(x, d)
                record(name, d, [(x, d)], f(wide(x)))


def shifted(a, by, dtype, left):
    """Beyond the width all bits leave."""
    width, a, by = np.iinfo(dtype).bits, int(a), int(by)
    if not 0 <= by < width:
        return 0 if left or a >= 0 else -1
    return a << by if left else a >> by


def bits():
    for d in INTEGERS:
        a, b = draw((2, 19), d, True), draw((19,), d, True)[::-1].copy()
        both = [(a, d), (b, d)]
        record("bit_and", d, both, (a & b, d))
        record("bit_or", d, both, (a | b, d))
        record("bit_xor", d, both, (a ^ b, d))
        record("bit_not", d, [(a, d)], (~a, d))
        width = np.iinfo(d).bits
        by = np.array([0, 1, 2, 3, width - 1, width, width + 1, 100, *range(11)], d)
        if d in SIGNED:
            by[8:10] = [-1, np.iinfo(d).min]
        for name, left in (("shift_left", True), ("shift_right", False)):
            y = np.vectorize(lambda p, q: shifted(p, q, d, left), otypes=[object])(a, by)  # noqa: B023
            record(name, d, [(a, d), (by, d)], (wrapped(y, d), d))


if __name__ == "__main__":
    elementary()
    bits()
    write("functions")
