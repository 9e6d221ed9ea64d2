#!/usr/bin/env python3
"""Records what NumPy makes of arrays: padded, tiled, sorted, indexed. Writes arrays.npz; needs NumPy alone."""
from recording import *


def moved():
    for d in NUMERIC_OR_BOOL:
        x = draw((3, 1), d, True)
        record("broadcast_to", d, [(x, d)], (np.broadcast_to(x, (2, 3, 4)), d))
        v = draw((2, 3), d)
        matrices = np.zeros((2, 3, 3), v.dtype)
        matrices[:, range(3), range(3)] = v
        record("diag", d, [(v, d)], (matrices, d))
        m = draw((2, 3, 4), d, True)
        record("lower_triangle", d, [(m, d)], (np.tril(m, 1), d))
        record("upper_triangle", d, [(m, d)], (np.triu(m, -1), d))
    for d in ANY:
        x = draw((2, 3, 4), d, True)
        record("merge_axes", d, [(x, d)], (x.reshape(2, 12), d))
        record("roll", d, [(x, d)], (np.roll(x, (-1, 5), (0, 2)), d))
        record("unpad", d, [(x, d)], (x[1:, :-1, :-2], d))
        n = draw((), d)
        padded = np.full((3, 4, 7), n, x.dtype)
        padded[1:, :3, 2:6] = x
        record("pad", d, [(x, d), (np.asarray(n), d)], (padded, d))
        for how in ("edge", "reflect", "symmetric", "wrap"):
            record("pad with " + how, d, [(x, d)], (np.pad(x, ((1, 0), (0, 2), (5, 7)), how), d))
            record("source_positions with " + how, d, [(x[0], d)], (np.pad(np.arange(4), (5, 7), how), "int64"))
        record("source_positions of copies", d, [(x[0], d)], (np.repeat(np.tile(np.arange(3), 2), 3), "int64"))
        record("split_lengths", d, [(x, d)], (x[..., :1], d), (x[..., 1:2], d), (x[..., 2:], d))
        record("tile", d, [(x, d)], (np.tile(x, (2, 1, 3)), d))
        record("repeat", d, [(x, d)], (np.repeat(x, 3, 1), d))
        record("diag_part", d, [(x, d)], (np.diagonal(x, 0, 1, 2), d))
    for d in FLOATS + COMPLEXES:
        x = draw((2, 4, 3), d)
        record("trace", d, [(x, d)], np.trace(wide(x), 0, 1, 2))


def total(indices, x, like, d):
    """Zeros like an array with each element of x added at its index, in the element type of x."""
    y = np.zeros(like.shape, object if d in INTEGERS else wide(x).dtype)
    np.add.at(y, indices, x.astype(object) if d in INTEGERS else wide(x))
    return (wrapped(y, d), d) if d in INTEGERS else y


def indexed():
    for d in ANY:
        x = draw((3, 4, 2), d, True)
        for axis in range(3):
            which = rng.integers(0, x.shape[axis], (2, 3)).astype("int32")
            record(f"gather_axis along {axis}", d, [(x, d), (which, "int32")], (np.take(x, which, axis), d))
            extents = list(x.shape)
            extents[axis] = 5
            along = rng.integers(0, x.shape[axis], extents)
            record(f"take_along_axis along {axis}", d, [(x, d), (along, "int64")],
                   (np.take_along_axis(x, along, axis), d))
            if d in NUMBERS:
                y = draw(np.take(x, which, axis).shape, d)
                at = (slice(None),) * axis + (which,)
                record(f"scatter_axis along {axis}", d, [(which, "int32"), (y, d), (x, d)], total(at, y, x, d))
                y = draw(extents, d)
                at = list(np.indices(extents))
                at[axis] = along
                record(f"scatter_along_axis along {axis}", d, [(along, "int64"), (y, d), (x, d)],
                       total(tuple(at), y, x, d))
        pairs = np.stack([rng.integers(0, 3, (5,)), rng.integers(0, 4, (5,))], -1)
        record("row_numbers", d, [(x, d), (pairs, "int64")], (pairs[:, 0] * 4 + pairs[:, 1], "int64"))
        record("gather_nd", d, [(x, d), (pairs, "int64")], (x[pairs[:, 0], pairs[:, 1]], d))
        if d in NUMBERS:
            y = draw((5, 2), d)
            record("scatter_nd", d, [(y, d), (pairs, "int64")], total((pairs[:, 0], pairs[:, 1]), y, x, d))
        mask = rng.integers(0, 2, (3, 4)).astype(bool)
        record("boolean_mask", d, [(x, d), (mask, "bool")], (x[mask], d))
        table, rows = draw((4, 3), d), draw((3, 3), d)
        after = table.copy()
        for i, row in zip((2, 0, 2), rows):
            after[i] = row
        record("scatter_update", d, [(table, d), (np.array([2, 0, 2]), "int64"), (rows, d)], (after, d))


def order(line, down):
    """The indices of a line in order: equal elements keep theirs, and NaN is larger than any number."""
    key = [(1, 0) if v != v else (0, int(v) if line.dtype.kind in "iu" else float(v)) for v in line]
    return sorted(range(len(line)), key=lambda i: tuple(-k for k in key[i]) if down else key[i])


def ordered():
    for d in REALS:
        x = draw((4, 3, 5), d, True)
        x[1:3, :, 2:] = x[:2, :, 2:]
        for axis in range(3):
            for words, down in (("", False), (" descending", True)):
                which = np.apply_along_axis(order, axis, x, down)
                values = np.take_along_axis(x, which, axis)
                record(f"sort along {axis}{words}", d, [(x, d)], (values, d), (which, "int32"))
                record(f"sort by index along {axis}{words}", d, [(x, d)], (values, d), (which, "int64"))
                if down:
                    top = np.take(which, range(2), axis)
                    record(f"sort top along {axis}", d, [(x, d)], (np.take_along_axis(x, top, axis), d), (top, "int32"))
        sorted_ones, asked = np.sort(x.ravel()), draw((3, 7), d, True)
        asked[1] = sorted_ones[::9]
        record("search_sorted", d, [(sorted_ones, d), (asked, d)], (np.searchsorted(sorted_ones, asked), "int64"))
        record("search_sorted right", d, [(sorted_ones, d), (asked, d)],
               (np.searchsorted(sorted_ones, asked, "right"), "int32"))
    for d in REALS + ["string"]:
        x = draw((4, 3, 5), d, True)
        x[1:3, :, 2:] = x[:2, :, 2:]
        _, first, inverse, counts = np.unique(x.ravel(), True, True, True)
        record("unique", d, [(x.ravel(), d)], (first, "int64"), (inverse.ravel(), "int64"), (counts, "int64"))


def made():
    for d in REALS:
        for start, limit, step in ((1, 20, 3), (0, 5, 1), (7, 7, 2), (9, 3, 2)):
            record("range", d, [(np.asarray(v), d) for v in (start, limit, step)], (np.arange(start, limit, step), d))
        if d not in UNSIGNED:
            record("range", d, [(np.asarray(v), d) for v in (9, -4, -3)], (np.arange(9, -4, -3), d))
    for d in FLOATS:
        ends = [rounded(v, d) for v in (0.1, 2.3, 0.3)]
        record("range", d, [(v, d) for v in ends], np.arange(*map(float, ends)))
    for d in FLOATS + COMPLEXES:
        start, stop = draw((), d), draw((), d)
        record("linspace", d, [(np.asarray(start), d), (np.asarray(stop), d)], np.linspace(wide(start), wide(stop), 7))


moved()
indexed()
ordered()
made()
write("arrays")
