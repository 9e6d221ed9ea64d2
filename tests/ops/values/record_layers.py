#!/usr/bin/env python3
"""Records what PyTorch makes of random inputs, for activations, normalisations, losses and attention that rill composes of
operations: writes layers.npz beside this file (recording.py says how), which tests/ops/values.cpp reads. PyTorch computes in
float64, channels first; here they are last.

usage: record_layers.py      (torch 2)"""
import numpy as np
import torch
import torch.nn.functional as F

from recording import *  # noqa: F403

ELEMENTS = ["float32", "float64"]


def tensors(*arrays):
    return [torch.tensor(wide(x)) for x in arrays]


def channels_first(x):
    return torch.movedim(x, -1, 1)


def channels_last(x):
    return torch.movedim(x, 1, -1).numpy()


def keep(case, d, inputs, f):
    """inputs: arrays of floats of type d, or pairs of an array and its element type."""
    pairs = [x if isinstance(x, tuple) else (x, d) for x in inputs]
    record(case, d, pairs, np.asarray(f(*tensors(*(x for x, _ in pairs)))))


def activations(d):
    functions = {"hardtanh": F.hardtanh, "hardtanh of 0.5": lambda x: F.hardtanh(x, -0.5, 0.5), "hardswish": F.hardswish,
                 "hardsigmoid": F.hardsigmoid, "mish": F.mish, "softsign": F.softsign, "log_sigmoid": F.logsigmoid,
                 "celu": F.celu, "celu of 2": lambda x: F.celu(x, 2.0)}
    for name, f in functions.items():
        x = draw((3, 11), d)
        x.flat[:9] = [-1000, -3, -1, -0.5, 0, 0.5, 1, 3, 1000]
        keep(name, d, [x], f)
    keep("prelu", d, [draw((5, 4), d), draw((4,), d)], F.prelu)
    keep("glu", d, [draw((3, 8), d)], F.glu)
    keep("glu of rows", d, [draw((4, 3), d)], lambda x: F.glu(x, 0))


def losses(d):
    labels = (rng.integers(0, 5, 7), "int64")
    scores = draw((7, 5), d)
    keep("nll", d, [scores, labels], lambda x, z: F.nll_loss(x, z, reduction="none"))
    keep("multi_margin", d, [scores, labels], lambda x, z: F.multi_margin_loss(x, z, reduction="none"))
    p, z = rng.uniform(0.01, 0.99, (3, 5)).astype(d), rng.uniform(0, 1, (3, 5)).astype(d)
    keep("binary_cross_entropy", d, [p, z], lambda p, z: F.binary_cross_entropy(p, z, reduction="none"))
    counts = rng.integers(0, 9, (3, 5)).astype(d)
    keep("poisson_nll", d, [rng.normal(size=(3, 5)).astype(d), counts],
         lambda x, z: F.poisson_nll_loss(x, z, reduction="none"))
    keep("gaussian_nll", d, [draw((3, 5), d), draw((3, 5), d), draw((3, 5), d, positive=True)],
         lambda x, mean, v: F.gaussian_nll_loss(mean, x, v, reduction="none"))
    signs = rng.choice([-1, 1], (3, 5)).astype(d)
    x, y = draw((3, 5), d), draw((3, 5), d)
    keep("squared_hinge", d, [x, signs], lambda x, z: torch.clamp(1 - x * z, min=0) ** 2)
    keep("soft_margin", d, [x, signs], lambda x, z: F.soft_margin_loss(x, z, reduction="none"))
    keep("hinge_embedding", d, [x, signs], lambda x, z: F.hinge_embedding_loss(x, z, 0.5, reduction="none"))
    keep("margin_ranking", d, [x, y, signs], lambda x, y, z: F.margin_ranking_loss(x, y, z, 0.5, reduction="none"))
    keep("cosine_similarity", d, [x, y], lambda x, y: F.cosine_similarity(x, y, -1))
    # Without the 1e-12 that PyTorch's cosine_embedding_loss adds to squares.
    keep("cosine_embedding", d, [x, y, signs[:, 0]],
         lambda x, y, z: torch.where(z > 0, 1 - F.cosine_similarity(x, y, -1),
                                     torch.clamp(F.cosine_similarity(x, y, -1) - 0.1, min=0)))
    keep("triplet_margin", d, [x, y, draw((3, 5), d)],
         lambda a, p, n: F.triplet_margin_loss(a, p, n, 0.5, eps=0, reduction="none"))


def normalisations(d):
    x = draw((2, 3, 5), d)
    keep("layer_norm", d, [x], lambda x: F.layer_norm(x, x.shape[-1:]))
    keep("rms_norm", d, [x], lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-6))
    keep("group_norm of rows", d, [draw((4, 12), d)], lambda x: F.group_norm(x, 3))
    keep("group_norm", d, [draw((2, 3, 4, 6), d)], lambda x: channels_last(F.group_norm(channels_first(x), 3)))
    keep("instance_norm", d, [draw((2, 3, 4, 3), d)], lambda x: channels_last(F.instance_norm(channels_first(x))))


def attention(d):
    def parts():
        return [rng.normal(size=s).astype(d) for s in ((2, 3, 4, 3), (2, 3, 5, 3), (2, 3, 5, 2))]

    look = F.scaled_dot_product_attention
    seen = rng.integers(0, 2, (2, 1, 4, 5)).astype(bool)
    seen[..., 0] = True
    keep("attention seen", d, [*parts(), (seen, "bool")], lambda q, k, v, m: look(q, k, v, attn_mask=m))
    keep("attention biased", d, [*parts(), rng.normal(size=(3, 4, 5)).astype(d)],
         lambda q, k, v, m: look(q, k, v, attn_mask=m))
    keep("attention causal and seen", d, [*parts(), (seen[0, 0], "bool")],
         lambda q, k, v, m: look(q, k, v, attn_mask=m & torch.ones(4, 5, dtype=torch.bool).tril()))


for d in ELEMENTS:
    activations(d)
    losses(d)
    normalisations(d)
    attention(d)
write("layers")
