#!/usr/bin/env python3
"""Compares rill's TFRecord files with TensorFlow's: TensorFlow writes, the test program (its path is the first argument)
reads and writes again, TensorFlow reads. Leaves with 77, which CTest counts as skipped, where TensorFlow is missing."""
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import tensorflow as tf
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

COPY = "tfrecord.copies_a_file_for_tensorflow_which_compares_it"


def copy(source, target):
    environment = dict(os.environ, RILL_TFRECORD_FROM=str(source), RILL_TFRECORD_TO=str(target))
    done = subprocess.run([sys.argv[1], "--gtest_filter=" + COPY, "--gtest_brief=1"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0 or "1 test from" not in done.stdout:
        sys.exit(done.stdout)


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
print("TensorFlow", tf.__version__, "agrees on", len(records), "records")
