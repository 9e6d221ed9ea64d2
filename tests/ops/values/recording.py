"""What the scripts here record with: random inputs, and how results are kept.

An archive has two members: `tensors`, a line for each tensor (the case, the element type that is tried, what the tensor
is, its element type, its extents and where its bytes begin), and `bytes`. A tensor is the first input, the next one, a
result that must come out exactly, or one that may be off by a rounding and is kept as float64 or complex128. A case is
called as its operation is, perhaps with a word or two more. tests/ops/values.cpp reads all archives of this folder."""
import pathlib

import numpy as np

SIGNED, UNSIGNED = "int8 int16 int32 int64".split(), "uint8 uint16 uint32 uint64".split()
INTEGERS = SIGNED + UNSIGNED
FLOATS, COMPLEXES = "float16 bfloat16 float32 float64".split(), "complex64 complex128".split()
REALS = INTEGERS + FLOATS
NUMBERS = REALS + COMPLEXES
NUMERIC_OR_BOOL = NUMBERS + ["bool"]
ANY = NUMERIC_OR_BOOL + ["string"]

rng = np.random.default_rng(20240607)
lines, blob = [], bytearray()


# ---------------------------------------------------------------------------------------------------------------------
# Element types. A bfloat16 array is one of float32 whose numbers are bfloat16's.

def rounded(x, dtype):
    """x in the element type, rounded to nearest, ties to even."""
    with np.errstate(all="ignore"):
        if dtype == "string":
            return np.asarray(x, "S6")
        if dtype != "bfloat16":
            return np.asarray(x).astype(dtype)
        x = np.asarray(x, np.float32)
        bits = x.view(np.uint32).astype(np.uint64)
        up = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
        return np.where(np.isnan(x), x, up.astype(np.uint32).view(np.float32)).astype(np.float32)


def wide(x):
    """Floats and complex numbers as float64 and complex128, in which results are computed."""
    x = np.asarray(x)
    return x.astype({"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype))


def wrapped(values, dtype):
    """Whole numbers of any size, wrapped round to an integer type."""
    bits = np.iinfo(dtype).bits
    flat = [int(v) & (1 << bits) - 1 for v in np.ravel(values)]
    return np.array(flat, f"uint{bits}").astype(f"uint{bits}").view(dtype).reshape(np.shape(values))


def stored(x, dtype):
    if dtype == "bfloat16":
        return (np.ascontiguousarray(x, np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
    return np.ascontiguousarray(x, {"string": "S6"}.get(dtype, dtype)).tobytes()


def put(case, tried, which, x, dtype):
    extents = ",".join(map(str, np.shape(x))) or "-"
    lines.append(f"{case}|{tried}|{which}|{dtype}|{extents}|{len(blob)}")
    blob.extend(stored(x, dtype))


def draw(shape, dtype, special=False, positive=False):
    """Random elements: integers of every size, floats of many; with zeros, infinities and NaN where asked for."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype == "string":
        return np.array(["", "a", "b", "ab", "ünï".encode()], "S6")[rng.integers(0, 5, shape)]
    if dtype in INTEGERS:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if positive:
            low = 0
        x = rng.integers(low, high, shape, dtype, endpoint=True)
        x = x >> rng.integers(0, np.iinfo(dtype).bits - 1, shape).astype(dtype)
        if special and x.size > 8:
            x.flat[:5] = [low, high, 0, 1, wrapped([-1], dtype)[0]]
        return x
    x = rng.normal(size=shape) * np.exp(rng.normal(size=shape))
    if positive:
        x = np.abs(x)
    if dtype in COMPLEXES:
        return (x + 1j * rng.normal(size=shape)).astype(dtype)
    x = np.asarray(rounded(x, dtype))
    if special and x.size > 8:
        with np.errstate(all="ignore"):
            x.flat[:7] = rounded([0, -0.0, np.inf, -np.inf, np.nan, 1, 3e4], dtype)
            if positive:
                x.flat[:2] = rounded([1e-5, 0.0], dtype)
    return x


def record(case, tried, inputs, *results):
    """inputs: (array, element type); results: the same, or an array alone that is kept wide."""
    for i, (x, dtype) in enumerate(inputs):
        put(case, tried, "first" if i == 0 else "next", x, dtype)
    for y in results:
        if isinstance(y, tuple):
            put(case, tried, "exact", *y)
        else:
            put(case, tried, "near", wide(y), str(wide(y).dtype))


def write(name):
    """Writes what was recorded."""
    np.savez_compressed(pathlib.Path(__file__).with_name(name + ".npz"), tensors=np.array("\n".join(lines).encode()),
                        bytes=np.frombuffer(bytes(blob), np.uint8))
    print(len(lines), "tensors,", len(blob), "bytes")
