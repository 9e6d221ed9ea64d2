#!/usr/bin/env python3
"""Writes reference.inc: the losses of the first 20 steps of PyTorch's optimizers, and the weights after them.

usage: reference.py > reference.inc      (torch 2)
"""
import torch

X = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [-1.0, 1.0, 0.5], [0.0, -0.5, 1.0], [2.0, 1.0, -1.0]]
T = [[0.5, -0.5], [0.25, 1.0], [-1.0, 0.75], [0.0, 0.5], [1.0, -1.0]]
W = [[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]]
STEPS = 20


def run(make, clip=None):
    x, t = torch.tensor(X), torch.tensor(T)
    w, b = torch.tensor(W, requires_grad=True), torch.zeros(2, requires_grad=True)
    optimizer, losses = make([w, b]), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = ((torch.tanh(x @ w + b) - t) ** 2).mean()
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_([w, b], clip)
        optimizer.step()
        losses.append(loss.item())
    return losses, torch.cat([w.flatten(), b]).tolist()


def line(name, result):
    numbers = lambda all: ", ".join(f"{v:.9g}" for v in all)
    print(f'{{"{name}", {{{numbers(result[0])}}}, {{{numbers(result[1])}}}}},')


print(f"// Written by reference.py with torch {torch.__version__.split('+')[0]}. clang-format off")
line("gradient_descent", run(lambda p: torch.optim.SGD(p, 0.5)))
line("clipped", run(lambda p: torch.optim.SGD(p, 0.5), clip=0.25))
line("momentum", run(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)))
line("nesterov", run(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True)))
line("adam", run(lambda p: torch.optim.Adam(p, 0.05)))
line("adam_other_decays", run(lambda p: torch.optim.Adam(p, 0.05, betas=(0.5, 0.9), eps=1e-4)))
