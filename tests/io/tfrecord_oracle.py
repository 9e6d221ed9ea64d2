#!/usr/bin/env python3
"""Compares rill's TFRecord files, and the Examples in them, with TensorFlow's: TensorFlow writes, the test program (its
path is the first argument) reads and writes again, TensorFlow reads. Leaves with 77, which CTest counts as skipped, where TensorFlow is missing."""
import os
import pathlib
import random
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import tensorflow as tf
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

from oracle import run

COPY = "tfrecord.copies_a_file_for_tensorflow_which_compares_it"
COPY_EXAMPLES = "example.copies_those_of_a_file_for_tensorflow_which_compares_them"


def copy(source, target):
    assert run(COPY, RILL_TFRECORD_FROM=source, RILL_TFRECORD_TO=target), "there is no such test"


def read(path, compression):
    return [record.numpy() for record in tf.data.TFRecordDataset(str(path), compression_type=compression)]


records = [bytes([i % 256]) * (i * i * 7 % 5000) for i in range(300)] + [b"", os.urandom(1 << 20)]
with tempfile.TemporaryDirectory() as folder:
    for theirs in ("theirs", "theirs.gz"):
        for ours in ("ours", "ours.gz"):
            source, target = pathlib.Path(folder) / theirs, pathlib.Path(folder) / ours
            with tf.io.TFRecordWriter(str(source), "GZIP" if theirs.endswith(".gz") else "") as writer:
                for record in records:
                    writer.write(record)
            copy(source, target)
            assert read(target, "GZIP" if ours.endswith(".gz") else "") == records, (theirs, ours)
            if "." not in theirs + ours:
                assert source.read_bytes() == target.read_bytes()

# Examples, which are written deterministically by both; a program without protozero has no such test.
rng = random.Random(1)
lists = {"bytes_list": (tf.train.BytesList, lambda: rng.randbytes(rng.randrange(20))),
         "float_list": (tf.train.FloatList, lambda: rng.uniform(-1e9, 1e9)),
         "int64_list": (tf.train.Int64List, lambda: rng.randrange(-2**63, 2**63))}


def feature():
    kind = rng.choice([*lists, None])
    if kind is None:
        return tf.train.Feature()
    make, draw = lists[kind]
    return tf.train.Feature(**{kind: make(value=[draw() for _ in range(rng.randrange(6))])})


def example(i):
    named = {f"{rng.choice('abc')}/ä{k}": feature() for k in range(i % 7)}
    return tf.train.Example(features=tf.train.Features(feature=named)).SerializeToString(deterministic=True)


examples = [example(i) for i in range(200)]
with tempfile.TemporaryDirectory() as folder:
    source, target = pathlib.Path(folder) / "theirs", pathlib.Path(folder) / "ours"
    with tf.io.TFRecordWriter(str(source)) as writer:
        for each in examples:
            writer.write(each)
    compared = run(COPY_EXAMPLES, RILL_EXAMPLES_FROM=source, RILL_EXAMPLES_TO=target)
    assert not compared or read(target, "") == examples
print("TensorFlow", tf.__version__, "agrees on", len(records), "records and", len(examples) if compared else "no",
      "Examples")
