#!/usr/bin/env python3
"""Records smooth units and the normal distribution function, computed by mpmath with 60 digits, also far out where they
are small: writes units.npz beside this file (recording.py says how), which tests/ops/values.cpp reads."""
import mpmath
import numpy as np

from recording import *  # noqa: F403

mpmath.mp.dps = 60


def logistic(x):
    return 1 / (1 + mpmath.exp(-x))


FUNCTIONS = {
    "silu": (lambda x: x * logistic(x), 0),
    "gelu": (lambda x: x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2, 0),
    "gelu_tanh": (lambda x: x * logistic(2 * mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)), 0),
    "mish": (lambda x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x))), 0),
    "normal_cdf": (lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, 1),
}


def value(name, x):
    f, step = FUNCTIONS[name]
    if np.isnan(x):
        return x
    if np.isinf(x):
        return float(step if step == 1 and x > 0 else 0 if x < 0 else x)
    return float(f(mpmath.mpf(float(x))))


if __name__ == "__main__":
    for d in FLOATS:
        for name in FUNCTIONS:
            x = draw((3, 19), d, True)
            x.flat[7:15] = rounded([-3, -5, -8, -9.5, -13, -16.5, -37, -95], d)
            record(name, d, [(x, d)], np.vectorize(lambda v: value(name, v), otypes=[float])(wide(x)))
    write("units")
