#!/usr/bin/env python3
"""Records what NumPy and SciPy make of decompositions of matrices: writes eigen.npz beside this file (recording.py says
how). The signs of vectors are rill's: the largest element of an eigenvector, and of a left singular vector, is positive,
and so is R's diagonal."""
import numpy as np
import scipy.linalg

from recording import *  # noqa: F403

REAL, ALL = ("float32", "float64"), ("float32", "float64", "complex64", "complex128")


def matrices(shape, d, part=0.3):
    """Small numbers, and 2, 3, 4, … on the diagonal."""
    x = rng.uniform(-1, 1, shape) * part
    if d in COMPLEXES:
        x = x + 1j * rng.uniform(-1, 1, shape) * part
    k = np.arange(min(shape[-2:]))
    x[..., k, k] += k + 2
    return x.astype(d)


def hermitian(x):
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


def turned(vectors):
    """The signs by which the largest element of each column becomes positive."""
    at = np.argmax(np.abs(vectors), -2, keepdims=True)
    return np.sign(np.take_along_axis(vectors, at, -2))


def record_each(name, d, inputs, f, *results):
    """f of each matrix of the batch."""
    batch = inputs[0].shape[:-2]
    each = [f(*(wide(x[i]) for x in inputs)) for i in np.ndindex(*batch)]
    parts = zip(*each) if isinstance(each[0], tuple) else [each]
    record(name, d, [(x, d) for x in inputs], *(np.stack(p).reshape(batch + np.shape(p[0])) for p in parts))


for d in ALL:
    x = matrices((2, 3, 5, 5), d)
    b = draw((2, 3, 5, 2), d)
    vector = draw((5,), d)
    record("inverse", d, [(x, d)], np.linalg.inv(wide(x)))
    record("determinant", d, [(x, d)], np.linalg.det(wide(x)))
    flipped = x.copy()
    flipped[:, 1, [0, 1]] = flipped[:, 1, [1, 0]]  # negative determinants
    record("log_determinant", d, [(flipped, d)], *map(np.asarray, np.linalg.slogdet(wide(flipped))))
    positive = hermitian(matrices((2, 3, 5, 5), d, 0.1)).astype(d)
    record("cholesky", d, [(positive, d)], np.linalg.cholesky(wide(positive)))
    record_each("solve", d, [x, b], np.linalg.solve)
    record_each("solve adjoint", d, [x, b], lambda m, y: np.linalg.solve(np.conj(m.T), y))
    record("solve with a vector", d, [(x, d), (vector, d)], np.linalg.solve(wide(x), wide(vector)[:, None])[..., 0])
    for words, options in (("", {"lower": True}), (" upper", {}), (" transposed", {"lower": True, "trans": 1})):
        record_each("triangular_solve" + words, d, [x, b],
                    lambda m, y, o=options: scipy.linalg.solve_triangular(m, y, **o))

    def positive_qr(m):
        q, r = np.linalg.qr(m)
        phase = np.diagonal(r) / np.abs(np.diagonal(r))
        return q * phase, np.conj(phase)[:, None] * r

    record_each("qr", d, [matrices((2, 5, 3), d)], positive_qr)
    record_each("qr of square matrices", d, [matrices((2, 4, 4), d)], positive_qr)
    for words, shape in (("", (2, 6, 3)), (" of wide matrices", (2, 3, 6))):
        a, y = matrices(shape, d), draw((2, shape[1], 2), d)
        record_each("lstsq" + words, d, [a, y], lambda m, z: np.linalg.lstsq(m, z, None)[0])

for d in REAL:
    symmetric = hermitian(matrices((2, 3, 5, 5), d)).astype(d)
    w, v = np.linalg.eigh(wide(symmetric))
    record("eigh", d, [(symmetric, d)], w, v * turned(v))
    for words, shape in (("", (2, 5, 3)), (" of wide matrices", (2, 3, 5)), (" of a large matrix", (24, 20))):
        x = matrices(shape, d)
        u, s, vt = np.linalg.svd(wide(x), full_matrices=False)
        sign = turned(u)
        record("svd" + words, d, [(x, d)], u * sign, s, vt * np.swapaxes(sign, -1, -2))

write("eigen")
