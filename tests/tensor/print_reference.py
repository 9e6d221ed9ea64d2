#!/usr/bin/env python3
"""Writes print_reference.inc: tensors as C++ and what NumPy (2.4) prints for them. Run it with NumPy installed:
python3 tests/tensor/print_reference.py > tests/tensor/print_reference.inc"""
import numpy as np

TYPES = {"bool": "bool", "int8": "std::int8_t", "uint8": "std::uint8_t", "int32": "std::int32_t",
         "int64": "std::int64_t", "uint64": "std::uint64_t", "float16": "half", "float32": "float",
         "float64": "double", "complex64": "std::complex<float>", "complex128": "std::complex<double>"}


def number(x):
    if np.isnan(x):
        return "nan"
    if np.isinf(x):
        return "inf" if x > 0 else "-inf"
    return float(x).hex()


def literal(x, dtype):
    if dtype.kind == "b":
        return "true" if x else "false"
    if dtype.kind in "iu":
        return f"std::{dtype.name}_t({x}{'u' if dtype.kind == 'u' else ''}{'ll' if dtype.itemsize == 8 else ''})"
    if dtype.kind == "U":
        return '"' + "".join(f"\\{b:03o}" for b in str(x).encode()) + '"'
    if dtype.kind == "c":
        return f"{{{TYPES[dtype.name][13:-1]}({number(x.real)}), {TYPES[dtype.name][13:-1]}({number(x.imag)})}}"
    return f"{TYPES[dtype.name]}({number(x)}{'f' if dtype.itemsize < 8 and np.isfinite(x) else ''})"


def explicit(a):
    values = ", ".join(literal(x, a.dtype) for x in a.ravel())
    return f"make<{'std::string' if a.dtype.kind == 'U' else TYPES[a.dtype.name]}>({extents(a)}, {{{values}}})"


def extents(a):
    return "{" + ", ".join(map(str, a.shape)) + "}"


def ramp(dtype, shape, scale):
    a = (np.arange(np.prod(shape)).astype(dtype) * np.dtype(dtype).type(scale)).reshape(shape)
    return f"ramp<{TYPES[a.dtype.name]}>({extents(a)}, {float(scale).hex()})", a


f4, f8, f2, c8 = np.float32, np.float64, np.float16, np.complex64
inf, nan = np.inf, np.nan
LISTS = [
    np.array([1, 2, 3], f4), np.array([1.5, -2, 3.25], f4), np.array([0.1, 0.2, 1 / 3], f4),
    np.array([0.1, 0.2, 1 / 3], f8), np.array([[1, 2.5], [-3, 4e-4]], f8), np.array([1e-5, 1], f4),
    np.array([1e8, 1], f8), np.array([99999999.0, 1e5], f8), np.array([999999, 999998], f4),
    np.array([1e6, 5e5], f4), np.array([1, 1001], f4), np.array([1, 1000], f4), np.array([1e300, -1e-300, 0], f8),
    np.array([nan, 1, inf, -inf], f4), np.array([nan, nan], f4), np.array([inf, 1e10], f8), np.array([-inf], f8),
    np.array([0, -0.0], f4), np.array([-0.0001, 0.0001], f4), np.array([123.456789012345], f8),
    np.array([0.123456785], f8), np.array([0.00012345678949], f8), np.array([1.23456789e-7], f8),
    np.array([0.9999999999], f8), np.array([9.9999999999e9], f8), np.array([1, 2, 999], f2),
    np.array([1000, 1, 0.1], f2), np.array([1e-5, 1.2345678], f4), np.array([1e-9, 0.1, 1e22]), np.array([0.1, 6e-8, 65504], f2), np.array([[True, False], [False, True]]),
    np.array([True]), np.array([1, -20, 300], np.int32), np.array([-128, 127], np.int8), np.array([255, 0], np.uint8),
    np.array([-2**63 + 1, 2**63 - 1], np.int64), np.array([2**64 - 1], np.uint64),
    np.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], np.int32), np.array([1 + 2j, -3.5 - 0.25j], c8),
    np.array([1e-5 + 1j, 2], np.complex128), np.array([complex(nan, inf), complex(-inf, nan), 1 + 1j], c8),
    np.array([complex(0, -0.0), complex(-0.0, 0)], c8), np.array(["a", "bcd", ""]),
    np.array([["it's", 'say "no"'], ["both ' and \"", "line\nfeed\ttab\\"]]), np.array(["déjà", "\x7f\x01"]),
    np.array(["word" * 6] * 7),
    np.zeros((0,), f4), np.zeros((3, 0, 2), f4), np.zeros((2, 1, 1, 1), f4),
    np.array(0.1, f4), np.array(1000, f2), np.array(1e6, f4), np.array(999999, f4), np.array(1e16), np.array(1e15),
    np.array(1e-5), np.array(1e-4), np.array(1e-4, f4), np.array(nan), np.array(-inf, f4), np.array(3, np.int64),
    np.array(True), np.array("it's"), np.array(1 + 2j, c8), np.array(2j, c8), np.array(complex(-0.0, 2)),
    np.array(complex(nan, inf), c8), np.array(complex(inf, -inf), c8), np.array(1e20 + 1e-7j), np.array(0j),
    np.array(complex(0, nan)), np.array(-1.5e300),
]
RAMPS = [
    ramp(f4, (3, 4), 0.5), ramp(f8, (40,), 0.1), ramp(f8, (2, 30), 1 / 3), ramp(f4, (1000,), 1), ramp(f4, (1001,), 1),
    ramp(f4, (100, 20), 0.25), ramp(np.int32, (3, 1000), 1), ramp(np.int32, (7, 7, 30), 1),
    ramp(np.int64, (2, 2, 2, 2), 1), ramp(f8, (1, 1, 2000), 1e-3), ramp(np.uint8, (2, 600), 1),
    ramp(np.complex128, (2, 501), 0.5), ramp(np.int32, (1, 1, 1, 1, 1, 1, 1, 26), 1),
]

print("// Written by print_reference.py with NumPy", np.__version__)
for code, array in [(explicit(a), a) for a in LISTS] + RAMPS:
    print(f'{{{code},\n R"--({array!s})--"}},')
