#!/usr/bin/env python3
"""Records what PyTorch makes of random images and sequences, for convolutions by channel, transposed, of groups and of
sequences, and for pooling and upsampling: writes convolutions.npz beside this file (recording.py says how), which
tests/ops/values.cpp reads. PyTorch computes in float64, channels first; here they are last.

usage: record_convolutions.py      (torch 2)"""
import numpy as np
import torch
import torch.nn.functional as F

from recording import *  # noqa: F403

ELEMENTS = ["float32", "float64"]


def first(x):
    """An image or sequence [n, ..., channels], channels first."""
    return torch.movedim(torch.as_tensor(x), -1, 1)


def last(x):
    return torch.movedim(x, 1, -1).numpy()


def filters(f):
    """A filter [height, width, in, out] as PyTorch has it, [out, in, height, width]; or one of a sequence."""
    return torch.moveaxis(torch.as_tensor(f), (-1, -2), (0, 1))


def same(extent, window, stride, dilation):
    """TensorFlow's padding before and after."""
    total = max(0, (-(-extent // stride) - 1) * stride + (window - 1) * dilation + 1 - extent)
    return total // 2, total - total // 2


WAYS = {"": ((1, 1), (1, 1), "same"), " valid": ((2, 1), (1, 1), (0, 0, 0, 0)), " dilated": ((2, 2), (2, 2), "same"),
        " given": ((1, 3), (1, 1), (1, 0, 2, 1))}


def convolved(x, f, way, groups):
    """x channels first, f as PyTorch has it."""
    stride, dilation, pads = way
    if pads == "same":
        pads = [p for i in (0, 1) for p in same(x.shape[2 + i], f.shape[2 + i], stride[i], dilation[i])]
    top, bottom, left, right = pads
    return F.conv2d(F.pad(x, (left, right, top, bottom)), f, stride=stride, dilation=dilation, groups=groups)


def by_channel(d):
    """[height, width, channels, multiplier] as PyTorch's [channels * multiplier, 1, height, width]."""
    for words, way in WAYS.items():
        x, f = draw((2, 5, 4, 3), d), draw((3, 2, 3, 2), d)
        merged = torch.tensor(wide(f)).reshape(3, 2, 6)[:, :, None, :]
        record("depthwise_conv2d with a multiplier" + words, d, [(x, d), (f, d)],
               last(convolved(first(wide(x)), filters(merged), way, 3)))
        x, f = draw((2, 5, 4, 5), d), draw((3, 2, 5), d)
        image = torch.tensor(wide(x), requires_grad=True)
        taps = torch.tensor(wide(f), requires_grad=True)
        y = convolved(first(image), filters(taps[:, :, None, :]), way, 5)
        dy = draw(last(y.detach()).shape, d)
        y.backward(first(wide(dy)))
        record("depthwise_conv2d" + words, d, [(x, d), (f, d)], last(y.detach()))
        record("depthwise_conv2d_input_gradient" + words, d, [(x, d), (f, d), (dy, d)], image.grad.numpy())
        record("depthwise_conv2d_filter_gradient" + words, d, [(x, d), (f, d), (dy, d)], taps.grad.numpy())
        x, f = draw((2, 5, 4, 4), d), draw((3, 2, 2, 6), d)
        record("grouped_conv2d" + words, d, [(x, d), (f, d)], last(convolved(first(wide(x)), filters(wide(f)), way, 2)))


def transposed(d):
    # A filter [height, width, out, in] is PyTorch's [in, out, height, width].
    for words, how in {"": dict(padding=1), " valid": dict(stride=(2, 3)),
                       " given": dict(stride=2, dilation=(2, 1), padding=1),
                       " larger": dict(stride=2, output_padding=(1, 0))}.items():
        x, f = draw((2, 3, 4, 3), d), draw((3, 3, 2, 3), d)
        record("conv2d_transpose" + words, d, [(x, d), (f, d)],
               last(F.conv_transpose2d(first(wide(x)), filters(wide(f)), **how)))


def others(d):
    x, f, p = draw((2, 5, 4, 3), d), draw((3, 3, 3, 2), d), draw((1, 1, 6, 2), d)
    taps = filters(torch.tensor(wide(f)).reshape(3, 3, 6)[:, :, None, :])
    record("separable_conv2d", d, [(x, d), (f, d), (p, d)],
           last(F.conv2d(F.conv2d(first(wide(x)), taps, padding=1, groups=3), filters(wide(p)))))
    x, f = draw((2, 7, 3), d), draw((3, 3, 2), d)
    record("conv1d", d, [(x, d), (f, d)], last(F.conv1d(first(wide(x)), filters(wide(f)), stride=2)))
    record("conv1d causal", d, [(x, d), (f, d)],
           last(F.conv1d(F.pad(first(wide(x)), (4, 0)), filters(wide(f)), dilation=2)))
    record("max_pool1d", d, [(x, d)], last(F.max_pool1d(first(wide(x)), 3, 2)))
    record("avg_pool1d", d, [(x, d)], last(F.avg_pool1d(first(wide(x)), 2, padding=1)))
    x = draw((2, 6, 5, 3), d)
    for height, width in ((2, 3), (3, 2), (7, 1)):
        words = f" to {height} x {width}"
        record("adaptive_avg_pool" + words, d, [(x, d)], last(F.adaptive_avg_pool2d(first(wide(x)), (height, width))))
        record("adaptive_max_pool" + words, d, [(x, d)], last(F.adaptive_max_pool2d(first(wide(x)), (height, width))))
    record("upsample_nearest", d, [(x, d)], last(F.interpolate(first(wide(x)), scale_factor=3)))
    record("upsample_bilinear", d, [(x, d)], last(F.interpolate(first(wide(x)), scale_factor=2, mode="bilinear")))


for d in FLOATS:
    by_channel(d)
    transposed(d)
for d in ELEMENTS:
    others(d)
write("convolutions")
