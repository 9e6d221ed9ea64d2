#!/usr/bin/env python3
"""Writes layers.npz: what PyTorch and TensorFlow make of the same small inputs and weights by attention and recurrent
layers, and the derivatives of the sum of the results, each times a number of its own. tests/train/recorded.hpp reads it.

usage: layers.py      (torch 2, tensorflow 2 with Keras 3)

A member is called framework.case.what. Weights lie as rill has them: [in, gates · units], gates in rill's order, one bias
where the framework adds two that do the same. Sequences are time first, [time, batch, features]."""
import pathlib

import numpy as np
import tensorflow as tf
import torch

rng = np.random.default_rng(7)
members = {}
TIME, BATCH, FEATURES, UNITS = 5, 3, 2, 4
LENGTHS = np.array([5, 2, 3], np.int32)


def draw(*shape):
    return rng.normal(size=shape).astype(np.float32)


def put(case, **what):
    for name, x in what.items():
        x = x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
        members[f"{case}.{name}"] = np.ascontiguousarray(x, x.dtype if x.dtype == np.int32 else np.float32)


# ---------------------------------------------------------------------------------------------------------------------
# Attention

def attention():
    for case, mask in (("plain", None), ("causal", "causal"), ("lengths", "lengths"), ("both", "both")):
        q, k, v, by = draw(3, 2, 4, 3), draw(3, 2, 5, 3), draw(3, 2, 5, 6), draw(3, 2, 4, 6)
        tensors = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
        seen = torch.ones(3, 1, 4, 5, dtype=torch.bool)
        if mask in ("causal", "both"):
            seen = seen & torch.ones(4, 5, dtype=torch.bool).tril()
        if mask in ("lengths", "both"):
            seen = seen & (torch.arange(5) < torch.tensor(LENGTHS)[:, None, None, None])
        y = torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=seen)
        (y * torch.tensor(by)).sum().backward()
        put(f"torch.attention_{case}", q=q, k=k, v=v, by=by, y=y, dq=tensors[0].grad, dk=tensors[1].grad,
            dv=tensors[2].grad)
    layer = torch.nn.MultiheadAttention(6, 2, batch_first=True)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(torch.tensor(draw(*p.shape)) / 2)
    x, by = torch.tensor(draw(3, 5, 6), requires_grad=True), draw(3, 5, 6)
    unseen = torch.arange(5) >= torch.tensor(LENGTHS)[:, None]
    y, _ = layer(x, x, x, key_padding_mask=unseen, attn_mask=torch.ones(5, 5, dtype=torch.bool).triu(1))
    (y * torch.tensor(by)).sum().backward()
    put("torch.multi_head", x=x, by=by, y=y, dx=x.grad)
    for i, name in enumerate(("query", "key", "value")):
        at = slice(6 * i, 6 * i + 6)
        put("torch.multi_head", **{f"{name}/weights": layer.in_proj_weight[at].T, f"{name}/bias": layer.in_proj_bias[at],
                                   f"d{name}/weights": layer.in_proj_weight.grad[at].T,
                                   f"d{name}/bias": layer.in_proj_bias.grad[at]})
    out = layer.out_proj
    put("torch.multi_head", **{"output/weights": out.weight.T, "output/bias": out.bias,
                               "doutput/weights": out.weight.grad.T, "doutput/bias": out.bias.grad})


# ---------------------------------------------------------------------------------------------------------------------
# Recurrent layers. rill's gates: lstm i, j, f, o; gru r, z, n.

TORCH_ORDER = {"lstm": [0, 2, 1, 3], "gru": [0, 1, 2]}  # torch: i, f, j, o; r, z, n
KERAS_ORDER = {"lstm": [0, 2, 1, 3], "gru": [1, 0, 2]}  # Keras: i, f, j, o; z, r, n


def reordered(columns, order):
    """The gates, side by side along the last axis, in another order."""
    parts = np.split(np.asarray(columns), len(order), -1)
    return np.concatenate([parts[i] for i in order], -1)


def put_weights(case, kind, order, weights, prefix=""):
    """weights: input [in, gates], state [units, gates], bias, state_bias."""
    w, u, b, c = (reordered(x, order) for x in weights)
    if kind == "lstm":
        put(case, **{prefix + "input": w, prefix + "state": u, prefix + "bias": b if prefix else b + c})
    else:
        put(case, **{prefix + "input": w, prefix + "state": u, prefix + "bias": b, prefix + "state_bias": c})


def by_torch(kind, padded, x, by, last_by):
    layer = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[kind](FEATURES, UNITS)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(torch.tensor(draw(*p.shape)) / 2)
    case, x = f"torch.{kind}_{padded}", torch.tensor(x, requires_grad=True)
    given = torch.nn.utils.rnn.pack_padded_sequence(x, LENGTHS.tolist(), enforce_sorted=False) if padded == "padded" else x
    y, last = layer(given)
    if padded == "padded":
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=TIME)
    last = (last if kind == "lstm" else (last,))
    loss = (y * torch.tensor(by)).sum() + sum((s[0] * torch.tensor(b)).sum() for s, b in zip(last, last_by))
    loss.backward()
    put(case, x=x, by=by, y=y, dx=x.grad)
    for i, s in enumerate(last):
        put(case, **{f"last{i}": s[0], f"by{i}": last_by[i]})
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    order = TORCH_ORDER[kind]
    put_weights(case, kind, order, [getattr(layer, n).detach().T for n in names])
    put_weights(case, kind, order, [getattr(layer, n).grad.T for n in names], "d")


def by_tensorflow(kind, padded, x, by, last_by):
    cell = tf.keras.layers.LSTMCell(UNITS) if kind == "lstm" else tf.keras.layers.GRUCell(UNITS, reset_after=True)
    layer = tf.keras.layers.RNN(cell, return_sequences=True, return_state=True, zero_output_for_mask=True)
    batch_first = tf.Variable(x.transpose(1, 0, 2))
    mask = tf.constant(np.arange(TIME) < LENGTHS[:, None]) if padded == "padded" else None
    layer.build(batch_first.shape)
    layer.set_weights([draw(*w.shape) / 2 for w in layer.get_weights()])
    with tf.GradientTape() as tape:
        y, *last = layer(batch_first, mask=mask)
        y = tf.transpose(y, [1, 0, 2])
        loss = tf.reduce_sum(y * by) + sum(tf.reduce_sum(s * b) for s, b in zip(last, last_by))
    variables = [w.value for w in layer.trainable_variables]
    dx, *dw = tape.gradient(loss, [batch_first, *variables])
    case = f"tensorflow.{kind}_{padded}"
    put(case, x=x, by=by, y=y, dx=tf.transpose(dx, [1, 0, 2]))
    for i, s in enumerate(last):
        put(case, **{f"last{i}": s, f"by{i}": last_by[i]})

    def four(all):  # an LSTM has one bias, a GRU two, stacked
        w, u, b = (np.asarray(v) for v in all)
        return [w, u, b, np.zeros_like(b)] if kind == "lstm" else [w, u, b[0], b[1]]

    put_weights(case, kind, KERAS_ORDER[kind], four(variables))
    put_weights(case, kind, KERAS_ORDER[kind], four(dw), "d")


def recurrent():
    members["lengths"] = LENGTHS
    for kind in ("lstm", "gru"):
        for padded in ("whole", "padded"):
            for framework in (by_torch, by_tensorflow):
                x, by = draw(TIME, BATCH, FEATURES), draw(TIME, BATCH, UNITS)
                framework(kind, padded, x, by, [draw(BATCH, UNITS) for _ in range(2)])


attention()
recurrent()
np.savez_compressed(pathlib.Path(__file__).with_name("layers.npz"), **members)
print(len(members), "tensors by torch", torch.__version__, "and tensorflow", tf.__version__)
