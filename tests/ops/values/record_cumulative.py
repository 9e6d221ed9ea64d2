#!/usr/bin/env python3
"""Records what NumPy makes of sums and products along an axis, of sums by segment, of norms, and of parts of complex
numbers: writes cumulative.npz beside this file (recording.py says how), which tests/ops/values.cpp reads."""
import numpy as np

from recording import *  # noqa: F403


def kept(y, d):
    """Integers exactly, wrapped; others as near as their type allows."""
    return (wrapped(y, d), d) if d in INTEGERS else y


def computed(x, d):
    return x.astype(object) if d in INTEGERS else wide(x)


def walked(f, x, axis, exclusive, reverse, first):
    if reverse:
        x = np.flip(x, axis)
    y = f(x, axis=axis)
    if exclusive:
        y = np.concatenate([np.full_like(np.take(y, [0], axis), first), np.delete(y, -1, axis)], axis)
    return np.flip(y, axis) if reverse else y


def cumulative():
    for d in NUMBERS:
        for axis in 0, 1, 2:
            for exclusive in False, True:
                for reverse in False, True:
                    if (exclusive or reverse) and axis != 1:
                        continue
                    words = f" along {axis}" + " exclusive" * exclusive + " reverse" * reverse
                    x = draw((3, 5, 2), d)
                    x.flat[4] = 0
                    y = walked(np.cumsum, computed(x, d), axis, exclusive, reverse, 0)
                    record("cumsum" + words, d, [(x, d)], kept(y, d))
                    y = walked(np.cumprod, computed(x, d), axis, exclusive, reverse, 1)
                    record("cumprod" + words, d, [(x, d)], kept(y, d))
        for reverse in False, True:
            words = " reverse" * reverse
            x, a = draw((2, 4, 3), d), draw((2, 4, 3), d)
            moved = np.zeros_like(x)
            if reverse:
                moved[:, :-1] = x[:, 1:]
            else:
                moved[:, 1:] = x[:, :-1]
            record("delayed" + words, d, [(x, d)], (moved, d))
            if d in INTEGERS:
                continue
            y, before = wide(np.zeros_like(x)), 0
            for i in range(4)[::-1] if reverse else range(4):
                before = y[:, i] = wide(a)[:, i] * before + wide(x)[:, i]
            record("linear_recurrence" + words, d, [(a, d), (x, d)], y)


def segments():
    ascending, mixed = np.array([0, 0, 1, 3, 3, 3, 4], np.int32), np.array([3, -1, 0, 3, 4, 0, -7], np.int64)
    for d in NUMBERS:
        for ids, which, words in (ascending, "int32", ""), (mixed, "int64", " of any order"):
            x = draw((7, 3), d)
            total = np.zeros((5, 3), object if d in INTEGERS else wide(x).dtype)
            for i, row in zip(ids, computed(x, d)):
                if i >= 0:
                    total[i] += row
            record("segment_sum" + words, d, [(x, d), (ids, which)], kept(total, d))
            if d not in INTEGERS:
                counts = np.maximum(np.bincount(ids[ids >= 0], minlength=5), 1)[:, None]
                record("segment_sum of means" + words, d, [(x, d), (ids, which)], total / counts)
            if d in COMPLEXES:
                continue
            x = draw((7, 3), d, special=True)
            ends = (np.iinfo(d).min, np.iinfo(d).max) if d in INTEGERS else (-np.inf, np.inf)
            for name, f, start in ("", np.maximum, ends[0]), (" least", np.minimum, ends[1]):
                best = np.full((5, 3), start, x.dtype)
                for i, row in zip(ids, x):
                    if i >= 0:
                        best[i] = f(best[i], row)
                record("segment_max" + name + words, d, [(x, d), (ids, which)], (best, d))
        x = draw((5, 2), d)
        taken = np.where((mixed < 0)[:, None], np.zeros((), x.dtype), x[np.maximum(mixed, 0)])
        record("segment_take", d, [(x, d), (mixed, "int64")], (taken.astype(x.dtype), d))


def moments():
    for d in FLOATS + COMPLEXES:
        x, w = draw((3, 5, 2), d), draw((5, 2), d, positive=True)
        for p in 1, 2, 3:
            record(f"norm {p}", d, [(x, d)], (np.abs(wide(x))**p).sum(1)**(1 / p))
        record("norm 9", d, [(x, d)], np.abs(wide(x)).max(1))
        record("average", d, [(x, d), (w, d)], np.average(wide(x), 1, np.broadcast_to(wide(w), x.shape)))
        if d in FLOATS:
            record("standard_deviation", d, [(x, d)], wide(x).std((0, 2), ddof=1, keepdims=True))
            x = draw((3, 5, 2), d, special=True)
            record("any_nan", d, [(x, d)], (np.isnan(x).any(1), "bool"))
    for d in NUMERIC_OR_BOOL:
        x = draw((3, 5, 2), d, special=True)
        record("count_nonzero", d, [(x, d)], (np.count_nonzero(x, 1).astype(np.int64), "int64"))


def complexes():
    for d, part in ("complex64", "float32"), ("complex128", "float64"):
        z, x, y = draw((2, 19), d), draw((2, 19), part, special=True), draw((19,), part)
        z.flat[:4] = [0, 3 + 4j, 1e-30j, 2e30 - 2e30j]
        record("real", d, [(z, d)], (z.real, part))
        record("imag", d, [(z, d)], (z.imag, part))
        record("abs of complex", d, [(z, d)], np.abs(wide(z)))
        record("angle", d, [(z, d)], np.angle(wide(z)))
        both = np.empty((2, 19), d)
        both.real, both.imag = x, y
        record("complex", part, [(x, part), (y, part)], (both, d))
        r = draw((2, 19), part, positive=True)
        record("polar", part, [(r, part), (y, part)], wide(r) * np.exp(1j * wide(y)))


if __name__ == "__main__":
    cumulative()
    segments()
    moments()
    complexes()
    write("cumulative")
