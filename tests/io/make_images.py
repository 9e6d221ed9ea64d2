#!/usr/bin/env python3
"""Writes the images among tests/data, and prints what TensorFlow decodes them to: the numbers in png.cpp and jpeg.cpp. (Where
samples of fewer than 8 bits are to get an opacity TensorFlow gives their largest, 1 or 3, and not 255.)"""
import os
import pathlib
import struct
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


def write(name, data, decode, channels):
    (DATA / name).write_bytes(data)
    for c in channels:
        pixels = decode(data, channels=c).numpy()
        print(name, c, pixels.shape, pixels.reshape(-1).tolist())


def count(dtype, step, *shape):
    return (np.arange(np.prod(shape)) * step).astype(dtype).reshape(shape)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, bits, colour, rows, *more, interlaced=0):
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunk(*m) for m in more)
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


PNG, ALL = tf.io.decode_png, (0, 1, 3, 4)
write("rgb.png", tf.io.encode_png(count("u1", 13, 2, 3, 3)).numpy(), PNG, ALL)
write("grey.png", tf.io.encode_png(count("u1", 40, 2, 3, 1)).numpy(), PNG, ALL)
write("grey_opacity.png", tf.io.encode_png(count("u1", 30, 2, 2, 2)).numpy(), PNG, ALL)
write("grey_16.png", tf.io.encode_png(count("u2", 20011, 2, 2, 1)).numpy(), PNG, ALL)
write("rgb_opacity.png", tf.io.encode_png(count("u1", 31, 1, 2, 4)).numpy(), PNG, ALL)
palette = (b"PLTE", bytes([255, 0, 0, 0, 255, 0, 10, 20, 30]))
write("palette.png", png(3, 2, 2, 3, b"\0\x18\0\x90", palette), PNG, ALL)
write("palette_opacity.png", png(3, 2, 2, 3, b"\0\x18\0\x90", palette, (b"tRNS", b"\x80\x40")), PNG, (0, 3, 4))
# One bit a pixel in the seven passes of Adam7: of 3 x 3 pixels the passes 1, 4, 5, 6 and 7 have some.
adam7 = b"\0\x80" + b"\0\x80" + b"\0\x40" + b"\0\x80\0\x40" + b"\0\xa0"
write("interlaced.png", png(3, 3, 1, 0, adam7, interlaced=1), PNG, ALL)
write("gamma.png", png(3, 1, 8, 0, b"\0\x10\x80\xf0", (b"gAMA", struct.pack(">I", 100000))), PNG, (0,))

y, x = np.mgrid[0:5, 0:7]
image = np.stack([y * 40, x * 30, (y + x) * 20], -1).astype(np.uint8)


def decode_jpeg(data, channels):
    return tf.io.decode_jpeg(data, channels=channels, dct_method="INTEGER_ACCURATE")


write("rgb.jpg", tf.io.encode_jpeg(image, quality=50, optimize_size=True).numpy(), decode_jpeg, (0, 1, 3))
write("grey.jpg", tf.io.encode_jpeg(image[:, :, :1], quality=50, optimize_size=True, progressive=True).numpy(),
      decode_jpeg, (0, 1, 3))
