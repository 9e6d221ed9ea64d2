#!/usr/bin/env python3
"""Writes optimizers.npz: of each optimizer the losses of its first 20 steps on a small model, and the weights after each
step, in float64. tests/train/optimizers.cpp reads it.

usage: record_optimizers.py      (torch 2, numpy)

The members are case.losses [20] and case.weights [20, 8]. The optimizers are PyTorch's where it has them. Lion, FTRL and
decoupled decay of gradient descent are NumPy statements of the published updates, below."""
import math
import pathlib

import numpy as np
import torch

X = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [-1.0, 1.0, 0.5], [0.0, -0.5, 1.0], [2.0, 1.0, -1.0]]
T = [[0.5, -0.5], [0.25, 1.0], [-1.0, 0.75], [0.0, 0.5], [1.0, -1.0]]
W = [[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]]
STEPS = 20
torch.set_default_dtype(torch.float64)  # of the numbers that optimizers count by, too
members = {}


class Lion:
    """X. Chen et al., Symbolic Discovery of Optimization Algorithms, NeurIPS 2023, algorithm 2."""

    def __init__(self, rate, b1=0.9, b2=0.99, decay=0.0):
        self.rate, self.b1, self.b2, self.decay, self.m = rate, b1, b2, decay, {}

    def update(self, key, w, g):
        m = self.m.get(key, np.zeros_like(w))
        c = self.b1 * m + (1 - self.b1) * g
        self.m[key] = self.b2 * m + (1 - self.b2) * g
        return w - self.rate * (np.sign(c) + self.decay * w)


class Ftrl:
    """H. B. McMahan et al., Ad Click Prediction: a View from the Trenches, KDD 2013, algorithm 1, with n beginning at
    `start`, as in TensorFlow, rather than at 0. TensorFlow's l2_regularization_strength is l2 / 2."""

    def __init__(self, alpha, l1=0.0, l2=0.0, beta=0.0, start=0.1):
        self.alpha, self.l1, self.l2, self.beta, self.start = alpha, l1, l2, beta, start
        self.z, self.n = {}, {}

    def update(self, key, w, g):
        z, n = self.z.get(key, np.zeros_like(w)), self.n.get(key, np.full_like(w, self.start))
        sigma = (np.sqrt(n + g * g) - np.sqrt(n)) / self.alpha
        z, n = z + g - sigma * w, n + g * g
        self.z[key], self.n[key] = z, n
        free = -(z - np.sign(z) * self.l1) / ((self.beta + np.sqrt(n)) / self.alpha + self.l2)
        return np.where(np.abs(z) <= self.l1, 0.0, free)


class Descent:
    """Gradient descent with decoupled weight decay: I. Loshchilov and F. Hutter, ICLR 2019, algorithm 1 without
    momentum."""

    def __init__(self, rate, decay):
        self.rate, self.decay = rate, decay

    def update(self, key, w, g):
        return w - self.rate * g - self.rate * self.decay * w


def record(case, make, schedule=None):
    x, t = torch.tensor(X, dtype=torch.float64), torch.tensor(T, dtype=torch.float64)
    w = torch.tensor(W, dtype=torch.float64, requires_grad=True)
    b = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimizer = make([w, b])
    scheduler = schedule(optimizer) if schedule else None
    losses, weights = [], []
    for _ in range(STEPS):
        w.grad = b.grad = None
        loss = ((torch.tanh(x @ w + b) - t) ** 2).mean()
        loss.backward()
        if isinstance(optimizer, torch.optim.Optimizer):
            optimizer.step()
        else:
            for i, p in enumerate((w, b)):
                with torch.no_grad():
                    p.copy_(torch.tensor(optimizer.update(i, p.detach().numpy().copy(), p.grad.numpy())))
        if scheduler:
            scheduler.step()
        losses.append(loss.item())
        weights.append(torch.cat([w.detach().flatten(), b.detach()]).tolist())
    members[case + ".losses"], members[case + ".weights"] = np.array(losses), np.array(weights)


o, lr = torch.optim, torch.optim.lr_scheduler
record("descent", lambda p: o.SGD(p, 0.5))
record("descent_l2", lambda p: o.SGD(p, 0.5, weight_decay=0.1))
record("descent_decoupled", lambda p: Descent(0.5, 0.1))
record("momentum_l2", lambda p: o.SGD(p, 0.1, momentum=0.9, weight_decay=0.05))
record("nesterov_l2", lambda p: o.SGD(p, 0.1, momentum=0.8, nesterov=True, weight_decay=0.05))
record("adam", lambda p: o.Adam(p, 0.05))
record("adam_l2", lambda p: o.Adam(p, 0.05, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1))
record("adamw", lambda p: o.AdamW(p, 0.05))
record("adamw_more", lambda p: o.AdamW(p, 0.05, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.3))
record("adagrad", lambda p: o.Adagrad(p, 0.2))
record("adagrad_more", lambda p: o.Adagrad(p, 0.2, lr_decay=0.1, weight_decay=0.05, initial_accumulator_value=0.2, eps=1e-3))
record("adadelta", lambda p: o.Adadelta(p))
record("adadelta_more", lambda p: o.Adadelta(p, 0.7, rho=0.8, eps=1e-3, weight_decay=0.1))
record("rmsprop", lambda p: o.RMSprop(p, 0.02))
record("rmsprop_eps", lambda p: o.RMSprop(p, 0.02, alpha=0.9, eps=1e-2, weight_decay=0.1))
record("rmsprop_momentum", lambda p: o.RMSprop(p, 0.01, momentum=0.8))
record("rmsprop_centered", lambda p: o.RMSprop(p, 0.01, alpha=0.9, centered=True))
record("rmsprop_all", lambda p: o.RMSprop(p, 0.01, alpha=0.9, eps=1e-4, momentum=0.5, centered=True, weight_decay=0.1))
record("adamax", lambda p: o.Adamax(p, 0.05))
record("adamax_more", lambda p: o.Adamax(p, 0.05, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1))
record("nadam", lambda p: o.NAdam(p, 0.05))
record("nadam_more", lambda p: o.NAdam(p, 0.05, betas=(0.8, 0.95), eps=1e-3, momentum_decay=0.1, weight_decay=0.1,
                                      decoupled_weight_decay=True))
record("lion", lambda p: Lion(0.03))
record("lion_more", lambda p: Lion(0.03, 0.8, 0.95, 0.2))
record("ftrl", lambda p: Ftrl(0.5))
record("ftrl_more", lambda p: Ftrl(0.5, l1=0.05, l2=0.3, beta=0.2, start=0.01))
record("descent_one_cycle", lambda p: o.SGD(p, 0.5), lambda s: lr.OneCycleLR(s, 1.0, STEPS, cycle_momentum=False))
record("adamw_cosine", lambda p: o.AdamW(p, 0.1, weight_decay=0.1), lambda s: lr.CosineAnnealingLR(s, 20, eta_min=0.01))
record("momentum_warm_up", lambda p: o.SGD(p, 0.1, momentum=0.9), lambda s: lr.SequentialLR(
    s, [lr.LinearLR(s, 0.1, 1.0, 5), lr.ExponentialLR(s, 0.9)], [5]))


def schedule(case, rate, make, steps):
    """The rates of the first steps by one of PyTorch's schedulers."""
    optimizer = o.SGD([torch.zeros(1, requires_grad=True)], rate)
    scheduler, rates = make(optimizer), []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    members["schedule." + case] = np.array(rates)


schedule("exponential", 0.1, lambda s: lr.ExponentialLR(s, 0.96), 30)
schedule("staircase", 0.1, lambda s: lr.StepLR(s, 7, 0.5), 30)
schedule("cosine", 0.1, lambda s: lr.LambdaLR(
    s, lambda step: 0.1 + 0.9 * (1 + math.cos(math.pi * min(step / 20, 1))) / 2), 30)
schedule("restarts", 0.1, lambda s: lr.CosineAnnealingWarmRestarts(s, 10, 1, 0.01), 45)
schedule("growing_restarts", 0.1, lambda s: lr.CosineAnnealingWarmRestarts(s, 10, 2, 0.01), 320)
schedule("piecewise", 0.1, lambda s: lr.MultiStepLR(s, [5, 9, 20], 0.5), 30)
schedule("polynomial", 0.1, lambda s: lr.PolynomialLR(s, 20, 1.0), 30)
schedule("square", 0.1, lambda s: lr.PolynomialLR(s, 20, 2.0), 30)
schedule("warm_up", 0.1, lambda s: lr.SequentialLR(
    s, [lr.LinearLR(s, 0.25, 1.0, 8), lr.CosineAnnealingLR(s, 20)], [8]), 28)
schedule("one_cycle", 0.1, lambda s: lr.OneCycleLR(s, 0.1, 40), 40)
schedule("one_cycle_linear", 0.1, lambda s: lr.OneCycleLR(
    s, 0.2, 50, pct_start=0.2, anneal_strategy="linear", div_factor=10, final_div_factor=100), 50)

path = pathlib.Path(__file__).with_name("optimizers.npz")
np.savez_compressed(path, **members)
print(len(members), "arrays,", path.stat().st_size, "bytes, by torch", torch.__version__)
