#!/usr/bin/env python3
"""Times tf.data on the case shuffle_batch of bench/cases and prints a line of the same form. It reads, decodes, shuffles
and batches the digits of examples/data/digits.csv for ten epochs, on RILL_THREADS threads."""
import json, os, pathlib, statistics, time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

THREADS = int(os.environ.get("RILL_THREADS", os.cpu_count()))
FILE = str(pathlib.Path(__file__).resolve().parent.parent / "examples/data/digits.csv")
EPOCHS, IMAGES = 10, 17970


def decode(lines):
    fields = tf.io.decode_csv(lines, [0.0] * 64 + [0])
    return tf.stack(fields[:64], axis=1) / 16, fields[64]


def epochs():
    data = tf.data.TextLineDataset(FILE).repeat(EPOCHS).shuffle(2000, seed=1).batch(32)  # shuffles lines, which are small
    data = data.map(decode, num_parallel_calls=THREADS).prefetch(2)                      # decodes whole batches, which is faster
    options = tf.data.Options()
    options.threading.private_threadpool_size = THREADS
    return data.with_options(options)


def run(data):
    begin = time.perf_counter()
    seen = sum(int(labels.shape[0]) for _, labels in data)
    assert seen == IMAGES
    return (time.perf_counter() - begin) * 1e9 / IMAGES


data = epochs()
run(data)
print(json.dumps({"case": "shuffle_batch", "peer": "tf.data", "ns": round(statistics.median(run(data) for _ in range(5)), 2), "unit": "image"}))
