#!/usr/bin/env python3
"""Records what NumPy makes of random inputs, for every operation that has a result, whatever it takes it from, and every
element type: writes values.npz beside this file (recording.py says how), which tests/ops/values.cpp reads. Run it again
after a change here."""
import math

import numpy as np

from recording import *  # noqa: F403


# ---------------------------------------------------------------------------------------------------------------------
# Elementwise operations

def quotient(a, b):
    """Toward zero; of anything by zero it is zero."""
    a, b = int(a), int(b)
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b}


def arithmetic():
    for name, f in BINARY.items():
        for d in NUMBERS:
            for case, left, right in (("", (2, 19), (19,)), (" of columns", (3, 1, 5), (2, 1))):
                a, b = draw(left, d, True), draw(right, d)
                if d in INTEGERS:
                    if case == "":
                        b.flat[:3] = [0, wrapped([-1], d)[0], np.iinfo(d).max]
                    g = quotient if name == "div" else f
                    y = wrapped(np.vectorize(lambda p, q: g(int(p), int(q)), otypes=[object])(a, b), d)
                    record(name + case, d, [(a, d), (b, d)], (y, d))
                elif d in COMPLEXES and name in ("mul", "div"):
                    record(name + case, d, [(a, d), (b, d)], f(wide(a), wide(b)))
                else:
                    with np.errstate(all="ignore"):
                        record(name + case, d, [(a, d), (b, d)], (rounded(f(wide(a), wide(b)), d), d))
    for d in SIGNED:
        x = draw((2, 19), d, True)
        record("neg", d, [(x, d)], (wrapped(-x.astype(object), d), d))
    for d in FLOATS + COMPLEXES:
        x = draw((2, 19), d, True)
        record("neg", d, [(x, d)], (-x, d))
    for d in NUMBERS:
        x = draw((2, 19), d, True)
        if d in INTEGERS:
            record("square", d, [(x, d)], (wrapped(x.astype(object)**2, d), d))
        elif d in COMPLEXES:
            record("square", d, [(x, d)], wide(x)**2)
        else:
            with np.errstate(all="ignore"):
                record("square", d, [(x, d)], (rounded(wide(x)**2, d), d))
    for d in COMPLEXES:
        x = draw((2, 19), d)
        record("conj", d, [(x, d)], (np.conj(x), d))
    for d in REALS:
        a, b = draw((2, 19), d, True), draw((19,), d, True)
        record("maximum", d, [(a, d), (b[::-1], d)], (np.maximum(a, b[::-1]), d))
        record("less", d, [(a, d), (b, d)], (a < b, "bool"))
        x = draw((2, 19), d, True)
        record("relu", d, [(x, d)], (np.maximum(x, 0).astype(x.dtype), d))
        if d in FLOATS:
            record("relu_gradient", d, [(x, d), (b, d)], (np.where(x > 0, b, 0).astype(b.dtype), d))
        low, high = draw((2, 19), d, True), draw((19,), d, True)[::-1]
        low[1, ::3] = high[::3]
        both = [(low, d), (high, d)]
        record("minimum", d, both, (np.minimum(low, high), d))
        record("less_equal", d, both, (low <= high, "bool"))
        record("less_equal swapped", d, both, (low >= high, "bool"))
        record("less swapped", d, both, (low > high, "bool"))
    for d in ANY:
        a, b = draw((2, 19), d, True), draw((19,), d, True)
        a[1, ::3] = b[::3]
        record("equal", d, [(a, d), (b, d)], (a == b, "bool"))
        record("equal not", d, [(a, d), (b, d)], (a != b, "bool"))
    a, b = draw((2, 19), "bool"), draw((19,), "bool")
    record("logical_and", "bool", [(a, "bool"), (b, "bool")], (a & b, "bool"))
    record("logical_or", "bool", [(a, "bool"), (b, "bool")], (a | b, "bool"))
    record("where", "bool", [(b, "bool")], (np.flatnonzero(b), "int64"))
    record("logical_not", "bool", [(a, "bool")], (~a, "bool"))
    for d in NUMERIC_OR_BOOL:
        c, a, b = draw((2, 1, 5), "bool"), draw((3, 5), d, True), draw((5,), d)
        record("select", d, [(c, "bool"), (a, d), (b, d)], (np.where(c, a, b), d))
        operands = [draw((3, 5), d) for _ in range(3)]
        if d != "bool":
            y = sum(x.astype(object) for x in operands) if d in INTEGERS else sum(map(wide, operands))
            record("add_n", d, [(x, d) for x in operands], (wrapped(y, d), d) if d in INTEGERS else y)
            x, b = draw((2, 3, 7), d), draw((7,), d)
            y = x.astype(object) + b.astype(object) if d in INTEGERS else wide(x) + wide(b)
            record("bias_add", d, [(x, d), (b, d)], (wrapped(y, d) if d in INTEGERS else rounded(y, d), d))


def elementary():
    functions = {"exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh,
                 "sigmoid": lambda x: 1 / (1 + np.exp(-x))}
    for name, f in functions.items():
        for d in FLOATS + COMPLEXES:
            x = draw((2, 19), d, True, positive=name in ("log", "sqrt"))
            if name in ("log", "sqrt") and d in FLOATS:
                x.flat[20] = -1
            with np.errstate(all="ignore"):
                if d in FLOATS and name == "sqrt":
                    record(name, d, [(x, d)], (rounded(np.sqrt(wide(x)), d), d))
                else:
                    record(name, d, [(x, d)], f(wide(x)))


def whole_power(x, y, dtype):
    """Wrapped; of negative powers what 1 / x^-y rounds to, toward zero."""
    x, y = int(x), int(y)
    if y >= 0:
        return pow(x, y, 1 << np.iinfo(dtype).bits)
    return x if x == -1 and y % 2 else abs(x) if abs(x) == 1 else 0


def everyday():
    """What everybody looks for: rounding, whole division, powers, angles, and what a number is."""
    steps = {"floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc}
    questions = {"is_nan": np.isnan, "is_inf": np.isinf, "is_finite": np.isfinite}
    near = {"expm1": np.expm1, "log1p": np.log1p, "softplus": lambda x: np.logaddexp(0, x),
            "erf": np.vectorize(math.erf, otypes=[float]), "sin": np.sin, "cos": np.cos, "tan": np.tan}
    with np.errstate(all="ignore"):
        for d in FLOATS:
            for name, f in steps.items():
                x = draw((2, 19), d, True)
                x.flat[9:13] = rounded([0.5, -1.5, 2.5, -0.2], d)
                record(name, d, [(x, d)], (rounded(f(wide(x)), d), d))
            for name, f in questions.items():
                x = draw((2, 19), d, True)
                record(name, d, [(x, d)], (f(x), "bool"))
            for name, f in near.items():
                x = draw((2, 19), d, True)
                record(name, d, [(x, d)], f(wide(x)))
            a, b = draw((2, 19), d, True), draw((19,), d, True)[::-1]
            record("atan2", d, [(a, d), (b, d)], np.arctan2(wide(a), wide(b)))
            a, b = draw((3, 1, 5), d), draw((2, 1), d)
            record("atan2 of columns", d, [(a, d), (b, d)], np.arctan2(wide(a), wide(b)))
        for d in REALS:
            x = draw((2, 19), d, True)
            y = np.abs(x.astype(object)) if d in INTEGERS else np.abs(x)
            record("abs", d, [(x, d)], (wrapped(y, d) if d in INTEGERS else y, d))
            record("sign", d, [(x, d)], (np.sign(x), d))
            for words, left, right in (("", (2, 19), (19,)), (" of columns", (3, 1, 5), (2, 1))):
                a, b = draw(left, d, True), draw(right, d, True)
                if words == "":
                    b = b[::-1]
                    a[1, ::3] = b[::3]
                if d in INTEGERS:
                    if words == "":
                        b.flat[:3] = [0, wrapped([-1], d)[0], np.iinfo(d).max]
                    for name, f in (("mod", lambda p, q: p % q if q else 0), ("floor_div", lambda p, q: p // q if q else 0),
                                    ("pow", lambda p, q: whole_power(p, q, d))):
                        y = np.vectorize(lambda p, q: f(int(p), int(q)), otypes=[object])(a, b)
                        record(name + words, d, [(a, d), (b, d)], (wrapped(y, d), d))
                    continue
                record("mod" + words, d, [(a, d), (b, d)], (rounded(np.mod(wide(a), wide(b)), d), d))
                record("floor_div" + words, d, [(a, d), (b, d)], np.floor_divide(a, b))
                a = np.where(rng.integers(0, 4, a.shape) == 0, a, np.abs(a)).astype(a.dtype)
                record("pow" + words, d, [(a, d), (b, d)], np.power(wide(a), wide(b)))
    a, b = draw((2, 19), "bool"), draw((19,), "bool")
    record("logical_xor", "bool", [(a, "bool"), (b, "bool")], (a ^ b, "bool"))


def saturated(x, dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.array([0 if v != v else low if v < low else high if v > high else int(v) for v in np.ravel(x).tolist()],
                    dtype).reshape(np.shape(x))


def casts():
    for to in NUMERIC_OR_BOOL:
        for d in NUMERIC_OR_BOOL:
            if d == to:
                continue
            x = draw((2, 6), d, True)
            if d in INTEGERS and to in ("float16", "bfloat16"):
                x //= x.dtype.type(16)  # rounded once: large ones pass through float32
            if d in FLOATS and to in INTEGERS:
                with np.errstate(all="ignore"):
                    x.flat[9:] = rounded([-1.9, 127.9, 1e30 if d != "float16" else 6e4], d)
            real = x if to in COMPLEXES or d not in COMPLEXES else x.real
            if to == "bool":
                y = x != 0
            elif to in INTEGERS and d not in INTEGERS + ["bool"]:
                y = saturated(real, to)
            elif to in INTEGERS:
                y = wrapped(real.astype(object), to)
            else:
                y = rounded(real, to)
            record(f"cast to {to}", d, [(x, d)], (y, to))


# ---------------------------------------------------------------------------------------------------------------------
# Reductions

def reduced(x, d, axes, keep, f):
    """The elements along some axes, each list of them through f."""
    axes = tuple(range(x.ndim)) if axes is None else axes
    return f(x.astype(object) if d in INTEGERS else wide(x) if d != "bool" else x, axis=axes, keepdims=keep)


def reductions():
    ways = {"of all": (None, False), "of rows": ((0,), False), "of the middle": ((1,), True), "of two": ((0, 2), False)}
    for way, (axes, keep) in ways.items():
        for d in NUMBERS:
            x = draw((3, 4, 5), d)
            y = reduced(x, d, axes, keep, np.sum)
            record(f"sum {way}", d, [(x, d)], (wrapped(y, d), d) if d in INTEGERS else y)
            if d not in INTEGERS:
                record(f"mean {way}", d, [(x, d)], reduced(x, d, axes, keep, np.mean))
        for d in REALS + ["bool"]:
            x = draw((3, 4, 5), d)
            if d in FLOATS:
                x[1, 2, 3] = np.nan
                x[0, 0, 0], x[0, 0, 1] = -np.inf, np.inf
            axis = tuple(range(3)) if axes is None else axes
            record(f"max {way}", d, [(x, d)], (np.max(x, axis=axis, keepdims=keep), d))
    for axis in (0, 1, 2):
        for d in REALS:
            x = draw((3, 4, 5), d)
            x[1, 3, 2] = x[1, 2, 2] = x[1, 3, 4] = np.nan if d in FLOATS else np.iinfo(d).max
            record(f"argmax along {axis}", d, [(x, d)], (np.argmax(x, axis), "int64" if axis else "int32"))


# ---------------------------------------------------------------------------------------------------------------------
# Elements that move

def arrays():
    for d in ANY:
        x, big = draw((3, 4), d), draw((3, 2, 4), d)
        record("identity", d, [(x, d)], (x, d))
        record("stop_gradient", d, [(x, d)], (x, d))
        record("placeholder", d, [(x, d)], (x, d))
        record("placeholder_with_default", d, [(x, d)], (x, d))
        record("as", d, [(x, d)], (x, d))
        record("constant", d, [(x, d)], (x, d))
        record("variable", d, [(x, d)], (x, d))
        record("read", d, [(x, d)], (x, d))
        record("assign", d, [(x, d), (big[:, 0], d)], (big[:, 0], d))
        record("is_initialized", d, [(x, d)], (True, "bool"))
        record("custom_gradient", d, [(x, d), (big, d)], (x, d))
        record("print", d, [(x, d)], (x, d))
        record("reshape", d, [(big, d)], (big.reshape(4, 6), d))
        record("reshape_like", d, [(big, d), (draw((4, 6), d), d)], (big.reshape(4, 6), d))
        record("expand_dims", d, [(x, d)], (x[:, None], d))
        record("squeeze", d, [(x[:, None], d)], (x, d))
        record("flatten_rows", d, [(big, d)], (big.reshape(6, 4), d))
        record("positions", d, [(big, d)], (np.arange(2), "int64"))
        record("positions by int32", d, [(big, d)], (np.arange(4), "int32"))
        third = draw((3, 6, 9), d)
        for axis in (0, 1, 2):
            record(f"split along {axis}", d, [(third, d)], *((y, d) for y in np.split(third, 3, axis)))
        record("concat along 0", d, [(big, d), (big[:1], d)], (np.concatenate([big, big[:1]], 0), d))
        record("concat along 1", d, [(big, d), (big[:, :1], d), (big[:, :0], d)],
               (np.concatenate([big, big[:, :1]], 1), d))
        record("concat along 2", d, [(big, d), (big[:, :, 1:], d)], (np.concatenate([big, big[:, :, 1:]], 2), d))
        record("concat_piece", d, [(big, d), (big[:, :, :1], d), (big[:, :, 1:], d)], (big[:, :, 1:], d))
        record("slice", d, [(big, d)], (big[1:3, :, 1:3], d))
        for index in ("int32", "int64"):
            which = rng.integers(0, 3, (2, 3)).astype(index)
            record(f"gather by {index}", d, [(big, d), (which, index)], (big[which], d))
            record(f"gather_variable by {index}", d, [(big, d), (which, index)], (big[which], d))
        rows = draw((2, 2, 2, 4), d)
        record("rows_like", d, [(rows, d), (big, d), (which[:, :2], "int64")], (rows.reshape(4, 2, 4), d))
        record("transpose", d, [(big, d)], (big.transpose(2, 0, 1), d))
        record("transpose reversed", d, [(big, d)], (big.T, d))
        if d == "string":
            continue
        record("fill", d, [(x[0, 0], d)], (np.full((2, 3), x[0, 0]), d))
        record("broadcast_like", d, [(x, d), (draw((3, 2, 4), d), d)], (np.broadcast_to(x[:, None], (3, 2, 4)), d))
        y = np.zeros((4, 5), x.dtype)
        y[1:, 1:] = x
        record("pad_like", d, [(x, d), (draw((4, 5), d), d)], (y, d))
        which = rng.integers(-1, 5, (2, 4)).astype("int32")
        record(f"one_hot", d, [(which, "int32")], (which[..., None] == np.arange(4), d))
    for d in FLOATS + COMPLEXES:
        x = draw((3, 4), d)
        record("check_numerics", d, [(x, d)], (x, d))
        record("broadcast_like shared out", d, [(x, d), (draw((3, 2, 4), d), d)],
               np.broadcast_to(wide(x)[:, None] / 2, (3, 2, 4)))
        x = draw((2, 3, 4), d)
        record("sum_like with means", d, [(x, d), (draw((3, 1), d), d)], wide(x).mean((0, 2)).reshape(3, 1))
    for d in NUMBERS:
        x, table = draw((2, 3, 4), d), draw((5, 4), d)
        which = rng.integers(0, 5, (2, 3)).astype("int64")
        y = reduced(x, d, (0, 2), False, np.sum).reshape(3, 1)
        record("sum_like", d, [(x, d), (draw((3, 1), d), d)], (wrapped(y, d), d) if d in INTEGERS else y)
        whole = lambda v: v.astype(object) if d in INTEGERS else wide(v)
        kept = lambda v: (wrapped(v, d), d) if d in INTEGERS else v
        added = np.zeros_like(whole(table))
        np.add.at(added, which, whole(x))
        record("scatter_like", d, [(which, "int64"), (x, d), (table, d)], kept(added))
        record("scatter_add", d, [(table, d), (which, "int64"), (x, d)], kept(whole(table) + added))
        record("scatter_sub", d, [(table, d), (which, "int64"), (x, d)], kept(whole(table) - added))
        other = draw((5, 4), d)
        record("assign_add", d, [(table, d), (other, d)], kept(whole(table) + whole(other)))
        record("assign_sub", d, [(table, d), (other, d)], kept(whole(table) - whole(other)))
    for d in FLOATS:
        x, b = draw((2, 19), d), draw((19,), d)
        record("fused", d, [(x, d), (b, d)], wide(x) / (1 + np.exp(-wide(b) * wide(x))))
        record("fused_update", d, [(x, d), (b, d)], wide(x) - wide(b) * wide(b))


# ---------------------------------------------------------------------------------------------------------------------
# Networks

def windows(x, window, stride, dilation, pads, beyond):
    """(where in the window, the pixels that lie there for each window), images being [n, height, width, channels]."""
    (top, bottom), (left, right) = pads
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=beyond)
    count = [(x.shape[a + 1] - (window[a] - 1) * dilation[a] - 1) // stride[a] + 1 for a in (0, 1)]
    for i in range(window[0]):
        for j in range(window[1]):
            at = [slice(k * dilation[a], k * dilation[a] + (count[a] - 1) * stride[a] + 1, stride[a])
                  for a, k in ((0, i), (1, j))]
            yield i, j, at, x[:, at[0], at[1]]


def same(extent, window, stride, dilation):
    total = max((-(-extent // stride) - 1) * stride + (window - 1) * dilation + 1 - extent, 0)
    return total // 2, total - total // 2


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# A suffix, strides, dilations and paddings; None: as much as keeps the extents.
CONVOLUTIONS = (("", (1, 1), (1, 1), None), (" valid", (2, 1), (1, 1), ((0, 0), (0, 0))),
                (" dilated", (2, 2), (2, 2), None), (" given", (1, 3), (1, 1), ((1, 0), (2, 1))))
POOLINGS = (("", (2, 2), (2, 2), ((0, 0), (0, 0))), (" same", (3, 2), (1, 2), None),
            (" given", (3, 3), (2, 2), ((2, 1), (0, 2))))


def subscripts():
    for d in ANY:
        x = draw((5, 3, 4), d)
        record("subscript", d, [(x, d)], (x[::-2, 1, 1:3], d))
        record("subscript of the end", d, [(x, d)], (x[-1, :, -3:], d))
        if d != "string":
            y, z = draw((3, 4), d), draw((5, 2, 4), d)
            part = np.zeros(z.shape, z.dtype)
            part[::-2, 1] = y
            record("subscript_gradient", d, [(y, d), (z, d)], (part, d))


def networks():
    for d in NUMBERS:
        for left in (False, True):
            for right in (False, True):
                a, b = draw((3, 7), d), draw((7, 5), d)
                y = wrapped(a.astype(object) @ b.astype(object), d) if d in INTEGERS else wide(a) @ wide(b)
                case = "matmul" + " transposed left" * left + " transposed right" * right
                record(case, d, [(a.T if left else a, d), (b.T if right else b, d)], (y, d) if d in INTEGERS else y)
        for case, left, right in (("", (3, 2, 7), (3, 5, 7)), (" by one", (3, 2, 7), (5, 7)),
                                  (" that broadcast", (2, 1, 2, 7), (3, 5, 7))):
            a, b = draw(left, d), draw(right, d)
            turned = b.swapaxes(-1, -2)
            y = wrapped(a.astype(object) @ turned.astype(object), d) if d in INTEGERS else wide(a) @ wide(turned)
            record("matmul of batches" + case, d, [(a, d), (b, d)], (y, d) if d in INTEGERS else y)
    for d in FLOATS:
        x = draw((4, 6), d)
        record("softmax", d, [(x, d)], softmax(wide(x)))
        record("log_softmax", d, [(x, d)], np.log(softmax(wide(x))))
        label = rng.integers(0, 6, 4).astype("int32")
        p = softmax(wide(x))
        record("softmax_cross_entropy", d, [(x, d), (label, "int32")], -np.log(p[np.arange(4), label]),
               p - np.eye(6)[label])
        target = rounded(softmax(rng.normal(size=(4, 6))), d)
        record("softmax_cross_entropy_dense", d, [(x, d), (target, d)], -(wide(target) * np.log(p)).sum(-1),
               p * wide(target).sum(-1, keepdims=True) - wide(target))
        for way, stride, dilation, pads in CONVOLUTIONS:
            x, f = draw((2, 5, 4, 3), d), draw((3, 2, 3, 4), d)
            pads = pads or tuple(same(x.shape[a + 1], f.shape[a], stride[a], dilation[a]) for a in (0, 1))
            y = sum(pixels @ wide(f)[i, j] for i, j, _, pixels in windows(wide(x), f.shape, stride, dilation, pads, 0))
            record("conv2d" + way, d, [(x, d), (f, d)], y)
            dy = draw(y.shape, d)
            dx = np.zeros((2, 5 + sum(pads[0]), 4 + sum(pads[1]), 3))
            df = np.zeros(f.shape)
            for i, j, at, pixels in windows(wide(x), f.shape, stride, dilation, pads, 0):
                dx[:, at[0], at[1]] += wide(dy) @ wide(f)[i, j].T
                df[i, j] = np.einsum("nhwc,nhwo->co", pixels, wide(dy))
            dx = dx[:, pads[0][0]:pads[0][0] + 5, pads[1][0]:pads[1][0] + 4]
            record("conv2d_input_gradient" + way, d, [(x, d), (f, d), (dy, d)], dx)
            record("conv2d_filter_gradient" + way, d, [(x, d), (f, d), (dy, d)], df)
    for way, window, stride, pads in POOLINGS:
        pads = pads or tuple(same(e, window[a], stride[a], 1) for a, e in ((0, 5), (1, 4)))
        for d in REALS:
            x = draw((2, 5, 4, 3), d)
            least = -np.inf if d in FLOATS else np.iinfo(d).min
            every = np.stack([p for *_, p in windows(x, window, stride, (1, 1), pads, least)])
            record("max_pool" + way, d, [(x, d)], (every.max(0), d))
            if d not in FLOATS:
                continue
            place = np.arange(x.size, dtype=float).reshape(x.shape)
            places = np.stack([p for *_, p in windows(place, window, stride, (1, 1), pads, -1)])
            first = np.take_along_axis(places, every.argmax(0)[None], 0)[0].astype(int)
            dy, other = draw(first.shape, d), draw(x.shape, d)
            dx = np.zeros(x.size)
            np.add.at(dx, first, wide(dy))
            record("max_pool_gradient" + way, d, [(x, d), (dy, d)], dx.reshape(x.shape))
            record("max_pool_pick" + way, d, [(x, d), (other, d)], (other.ravel()[first], d))


# ---------------------------------------------------------------------------------------------------------------------
# Images, and text that becomes numbers

def pixels_between(height, to):
    """How much of each pixel of an axis is in each pixel of the result, by linear interpolation between centres."""
    share = np.zeros((to, height))
    for i in range(to):
        at = np.clip((i + 0.5) * height / to - 0.5, 0, height - 1)
        low = int(at)
        share[i, low] += 1 - (at - low)
        share[i, min(low + 1, height - 1)] += at - low
    return share


def nearest_pixels(height, to):
    return np.eye(height)[[(2 * i + 1) * height // (2 * to) for i in range(to)]]


def images():
    for way, (height, width) in {"larger": (5, 6), "smaller": (2, 3)}.items():
        near, smooth = ((f(3, height), f(4, width)) for f in (nearest_pixels, pixels_between))
        for d in REALS + ["bool"]:
            x = draw((2, 3, 4, 2), d, True)
            record(f"resize_nearest {way}", d, [(x, d)], (x[:, near[0].argmax(1)][:, :, near[1].argmax(1)], d))
        for d in FLOATS:
            x, dy = draw((2, 3, 4, 2), d), draw((2, height, width, 2), d)
            record(f"resize_bilinear {way}", d, [(x, d)], np.einsum("ip,jq,npqc->nijc", *smooth, wide(x)))
            for method, (rows, columns) in (("nearest", near), ("bilinear", smooth)):
                record(f"resize_gradient {way} {method}", d, [(x, d), (dy, d)],
                       np.einsum("ip,jq,nijc->npqc", rows, columns, wide(dy)))
    for d in NUMERIC_OR_BOOL:
        for index in ("int32", "int64"):
            x, begin = draw((2, 3, 4, 2), d, True), np.array([[1, -1], [2, 0]], index)
            parts = np.stack([x[0, 1:3, 2:4], x[1, 0:2, 0:2]])
            record(f"crop by {index}", d, [(x, d), (begin, index)], (parts, d))
            whole = np.zeros_like(x)
            whole[0, 1:3, 2:4], whole[1, 0:2, 0:2] = parts
            record(f"crop_gradient by {index}", d, [(x, d), (begin, index), (parts, d)], (whole, d))
    for d in ANY:
        x = draw((3, 4, 5), d, True)
        record("reverse", d, [(x, d)], (x[::-1, :, ::-1], d))


def texts():
    raw = np.array([[b"abcdef", b"\x01\xff\x80\x7f\xfe "]], "S6")
    record("decode_raw", "string", [(raw, "string")], (raw.view("<i2").reshape(1, 2, 3), "int16"))
    record("decode_raw turned", "string", [(raw, "string")], (raw.view(">u2").reshape(1, 2, 3).astype("<u2"), "uint16"))
    lines_of = np.array([b"1,-2.5", b' 3,"4"'], "S6")
    record("decode_csv", "string", [(lines_of, "string")], (np.array([[1, -2.5], [3, 4]]), "float64"))


def sums_of_products():
    for d in NUMBERS:
        for case, axes in (("", (0, 1)), (" of rows", (1,)), (" of columns", (0,))):
            a, b = draw((3, 2, 4, 7), d), draw((3, 2, 4, 5), d)
            turned = a.swapaxes(-1, -2)
            y = turned.astype(object) @ b.astype(object) if d in INTEGERS else wide(turned) @ wide(b)
            y = y.sum(axes, keepdims=case != "")
            y = wrapped(y, d) if d in INTEGERS else y
            record("matmul_like" + case, d, [(a, d), (b, d), (np.zeros(y.shape, d if d != "bfloat16" else "f4"), d)],
                   (y, d) if d in INTEGERS else y)


def strings():
    a, b, c = draw((2, 1, 19), "string"), draw((3, 19), "string"), draw((19,), "bool")
    both = [(a, "string"), (b, "string")]
    for case, y in (("less", a < b), ("less swapped", a > b), ("less_equal", a <= b), ("less_equal swapped", a >= b)):
        record(case, "string", both, (y, "bool"))
    record("select", "string", [(c, "bool"), *both], (np.where(c, a, b), "string"))


def others(x, axes):
    """For each element the product of the others over some axes."""
    y = np.empty_like(x)
    for at in np.ndindex(x.shape):
        rest = x.copy()
        rest[at] = 1
        y[at] = rest[tuple(slice(None) if a in axes else slice(i, i + 1) for a, i in enumerate(at))].prod()
    return y


def further_reductions():
    ways = {"of all": (None, False), "of rows": ((0,), False), "of the middle": ((1,), True), "of two": ((0, 2), False)}
    for way, (axes, keep) in ways.items():
        axis = tuple(range(3)) if axes is None else axes
        for d in NUMBERS:
            x = draw((3, 4, 5), d)
            y = reduced(x, d, axes, keep, np.prod)
            record(f"prod {way}", d, [(x, d)], (wrapped(y, d), d) if d in INTEGERS else rounded_wide(y, d))
            if d in INTEGERS:
                continue
            record(f"prod_of_others {way}", d, [(x, d)], rounded_wide(others(wide(x), axis), d))
            if d in COMPLEXES:
                continue
            record(f"variance {way}", d, [(x, d)], wide(x).var(axis, keepdims=keep))
            record(f"variance of samples {way}", d, [(x, d)], wide(x).var(axis, keepdims=keep, ddof=1))
            x = x * 3
            with np.errstate(all="ignore"):
                x[0, :, 0], x[1, 2, 3] = -np.inf, np.inf
                x = rounded(x, d)
                top = np.max(wide(x), axis=axis, keepdims=True)
                y = np.log(np.exp(wide(x) - np.where(np.isinf(top), 0, top)).sum(axis, keepdims=True))
                y = np.where(np.isinf(top), top, y + top)
                record(f"logsumexp {way}", d, [(x, d)], y if keep else np.squeeze(y, axis))
        for d in REALS + ["bool"]:
            x = draw((3, 4, 5), d)
            if d in FLOATS:
                x[1, 2, 3] = np.nan
                x[0, 0, 0], x[0, 0, 1] = -np.inf, np.inf
            record(f"min {way}", d, [(x, d)], (np.min(x, axis=axis, keepdims=keep), d))
        x = rng.random((3, 4, 5)) < 0.9
        record(f"all {way}", "bool", [(x, "bool")], (x.all(axis=axis, keepdims=keep), "bool"))
        record(f"any {way}", "bool", [(~x, "bool")], ((~x).any(axis=axis, keepdims=keep), "bool"))
    for axis in (0, 1, 2):
        for d in REALS:
            x = draw((3, 4, 5), d)
            x[1, 3, 2] = x[1, 2, 2] = x[1, 3, 4] = np.nan if d in FLOATS else np.iinfo(d).min
            record(f"argmin along {axis}", d, [(x, d)], (np.argmin(x, axis), "int64" if axis else "int32"))


def rounded_wide(y, d):
    """y, infinite where the element type is."""
    if d not in FLOATS:
        return y
    with np.errstate(all="ignore"):
        return np.where(np.isinf(wide(rounded(y, d))), np.sign(y) * np.inf, y)


def losses():
    for d in FLOATS:
        x = draw((4, 19), d)
        x[0, :3] = rounded([50, -50, 0], d)
        z = rounded(rng.random((4, 19)), d)
        z[:, :4] = rounded([0, 1, 1, 0], d)
        w = rounded(np.exp(rng.normal(size=19)), d)
        missed, wrong = np.logaddexp(0, -wide(x)), np.logaddexp(0, wide(x))
        record("sigmoid_cross_entropy", d, [(x, d), (z, d)], wide(z) * missed + (1 - wide(z)) * wrong)
        record("weighted_sigmoid_cross_entropy", d, [(x, d), (z, d), (w, d)],
               wide(w) * wide(z) * missed + (1 - wide(z)) * wrong)
        y = draw((19,), d)
        y[:3] = x[1, :3]
        apart = np.abs(wide(x) - wide(y))
        record("absolute_error", d, [(x, d), (y, d)], (rounded(apart, d), d))
        record("huber", d, [(x, d), (y, d)], np.where(apart <= 0.5, apart**2 / 2, 0.5 * (apart - 0.25)))
        p = rounded(softmax(draw((4, 19), d).astype(float)), d)
        p[0, :3] = 0
        q = rounded(np.log(softmax(wide(x))), d)
        with np.errstate(all="ignore"):
            record("relative_entropy", d, [(p, d), (q, d)], np.where(wide(p) == 0, 0, wide(p) * (np.log(wide(p)) - wide(q))))


def average_pooling():
    for way, window, stride, pads in POOLINGS:
        pads = pads or tuple(same(e, window[a], stride[a], 1) for a, e in ((0, 5), (1, 4)))
        for counted in (False, True):
            for d in FLOATS:
                x = draw((2, 5, 4, 3), d)
                parts = list(windows(wide(x), window, stride, (1, 1), pads, 0))
                inside = list(windows(np.ones_like(wide(x)), window, stride, (1, 1), pads, 0))
                count = window[0] * window[1] if counted else sum(p for *_, p in inside)
                y = sum(p for *_, p in parts) / count
                record("avg_pool" + way + " counted" * counted, d, [(x, d)], y)
                dy = draw(y.shape, d)
                dx = np.zeros((2, 5 + sum(pads[0]), 4 + sum(pads[1]), 3))
                for _, _, at, _ in parts:
                    dx[:, at[0], at[1]] += wide(dy) / count
                dx = dx[:, pads[0][0]:pads[0][0] + 5, pads[1][0]:pads[1][0] + 4]
                record("avg_pool_gradient" + way + " counted" * counted, d, [(x, d), (dy, d)], dx)


for part in (arithmetic, elementary, casts, reductions, arrays, networks, images, texts, sums_of_products, strings,
             further_reductions, losses, average_pooling, everyday, subscripts):
    part()
write("values")
