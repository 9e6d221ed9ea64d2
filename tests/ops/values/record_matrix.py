#!/usr/bin/env python3
"""Records what NumPy makes of products of tensors: writes matrix.npz beside this file (recording.py says how)."""
import numpy as np

from recording import *  # noqa: F403

# The extents of each letter, and of an ellipsis's axes.
EXTENTS = dict(zip("abcdeijklmnhqs", (2, 3, 4, 5, 2, 3, 4, 5, 2, 3, 4, 2, 3, 4)))
EQUATIONS = ("ij,jk", "ij,kj->ki", "ji,jk->ik", "bij,bjk->bik", "bqhd,bkhd->bhqk", "bsd,dhe->bshe", "aij,jib->ab",
             "i,j->ji", "ijk->kj", "ijk->", "ii->i", "ii", "iji,j", "i,ij,j->", "ab,bc,cd->ad", "ab,ab->ab", "a,ab,abc",
             "abc,abd->cd", ",ij->j", "ij,j->i", "ij,ij->", "abij,abjk->ik", "ba", "ijj,kj->ik", "...ij,...jk->...ik",
             "...i,...i", "i...,j...->ij...")
ELLIPSES = {"...ij,...jk->...ik": ((2, 3), (3,)), "...i,...i": ((3,), (2, 1)), "i...,j...->ij...": ((2,), (2,))}


def operands(equation, d):
    terms = equation.replace(" ", "").split("->")[0].split(",")
    for number, term in enumerate(terms):
        before, dots, behind = term.partition("...")
        middle = ELLIPSES[equation][number] if dots else ()
        shape = [EXTENTS[c] for c in before] + list(middle) + [EXTENTS[c] for c in behind]
        yield rng.integers(-9, 10, shape).astype(d) if d in INTEGERS else draw(shape, d)


def einsums():
    for equation in EQUATIONS:
        for d in ("int32", "float32", "float64", "complex64"):
            x = list(operands(equation, d))
            y = np.einsum(equation, *map(wide, x))
            record("einsum " + equation, d, [(a, d) for a in x], (y.astype(d), d) if d in INTEGERS else y)


def products():
    for d in ("int64", "float32", "complex128"):
        def both(name, f, *shapes):
            x = [rng.integers(-9, 10, s).astype(d) if d in INTEGERS else draw(s, d) for s in shapes]
            y = np.asarray(f(*map(wide, x)))
            record(name, d, [(a, d) for a in x], (y.astype(d), d) if d in INTEGERS else y)

        both("tensordot", lambda a, b: np.tensordot(a, b, ((0, -1), (2, 0))), (2, 3, 4), (4, 5, 2))
        both("tensordot of two", lambda a, b: np.tensordot(a, b, 2), (2, 3, 4), (3, 4, 5))
        both("tensordot of zero", lambda a, b: np.tensordot(a, b, 0), (2, 3), (2,))
        both("outer", np.outer, (4,), (3,))
        both("dot", np.dot, (7,), (7,))
        both("vdot", np.vdot, (7,), (7,))
        both("inner", np.inner, (2, 4), (3, 2, 4))
        both("kron", np.kron, (2, 3), (3, 2))


einsums()
products()
write("matrix")
