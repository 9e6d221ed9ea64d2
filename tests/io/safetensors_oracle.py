#!/usr/bin/env python3
"""Compares rill's safetensors files with those of the Python package: Python writes, the test program (its path is the
first argument) reads and writes again, Python reads. Leaves with 77, which CTest counts as skipped, where the packages
are missing."""
import json
import pathlib
import sys
import tempfile
import zlib

try:
    import numpy as np
    import safetensors
    from safetensors.numpy import load_file, save_file
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

from oracle import run

COPY = "safetensors.copies_a_file_for_the_python_package_that_compares_it"
WRITE = "safetensors.writes_a_file_of_its_own_for_the_python_package_that_reads_it"


def copy(source, target):
    assert run(COPY, RILL_SAFETENSORS_FROM=source, RILL_SAFETENSORS_TO=target), "there is no such test"


def parts(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8:8 + length]), data[8 + length:]


def check_checksums(path):
    header, data = parts(path)
    words = header.pop("__metadata__")
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        start = zlib.crc32(f"{entry['dtype']}{entry['shape']}".encode())
        assert words["rill.crc32/" + name] == f"{zlib.crc32(data[begin:end], start):08x}", name


def arrays():
    rng = np.random.default_rng(1)
    kinds = "?bhilBHILefdF" if np.dtype("l").itemsize == 8 else "?bhiqBHIQefdF"
    for kind in kinds:
        for shape in ((), (0,), (3,), (2, 0, 3), (2, 3), (1, 2, 3, 4)):
            values = rng.integers(0, 2 if kind == "?" else 100, shape)
            yield f"{kind}/{'x'.join(map(str, shape))}", np.asarray(values).astype(kind)
    yield 'ünï "c\\ode\n', np.arange(5.0)


with tempfile.TemporaryDirectory() as folder:
    ours, theirs = pathlib.Path(folder) / "ours", pathlib.Path(folder) / "theirs"
    want = dict(arrays())
    for words in (None, {"format": "np", "ключ": "зна\nчение"}):
        save_file(want, theirs, metadata=words)
        copy(theirs, ours)
        got = load_file(ours)
        assert set(got) == set(want)
        for name, array in want.items():
            assert got[name].dtype == array.dtype and got[name].shape == array.shape, name
            assert got[name].tobytes() == array.tobytes(), name
        with safetensors.safe_open(ours, framework="np") as f:
            kept = {k: v for k, v in f.metadata().items() if not k.startswith("rill.crc32/")}
        assert kept == (words or {}), kept
        check_checksums(ours)
        copy(ours, theirs)
        assert ours.read_bytes() == theirs.read_bytes()

    # NumPy has no bfloat16, so its bytes are compared through the package's own parser.
    header = b'{"b":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
    theirs.write_bytes(len(header).to_bytes(8, "little") + header + b"\x80\x3f\x00\xc0")
    copy(theirs, ours)
    (name, entry), = safetensors.deserialize(ours.read_bytes())
    assert (name, entry["dtype"], entry["shape"], bytes(entry["data"])) == ("b", "BF16", [2], b"\x80\x3f\x00\xc0")

    # What rill writes of its own accord: a tensor of every type, filled with bytes of 1.
    assert run(WRITE, RILL_SAFETENSORS_TO=ours), "there is no such test"
    entries = {name: entry for name, entry in safetensors.deserialize(ours.read_bytes())}
    types = {name[5:]: entry for name, entry in entries.items() if name.startswith("type/")}
    assert set(types) == set("BOOL I8 I16 I32 I64 U8 U16 U32 U64 F16 BF16 F32 F64 C64".split()), set(types)
    for dtype, entry in types.items():
        assert entry["dtype"] == dtype and entry["shape"] == [2, 3] and set(bytes(entry["data"])) == {1}, dtype
    assert np.frombuffer(entries["scalar"]["data"], "<f4") == [2.5] and entries["scalar"]["shape"] == []
    assert entries["empty"]["shape"] == [0, 3] and len(entries) == len(types) + 3
    check_checksums(ours)

    save_file({}, theirs)
    copy(theirs, ours)
    assert load_file(ours) == {}
print("safetensors", safetensors.__version__, "agrees on", len(want), "tensors")
