#!/usr/bin/env python3
"""Trains a small PyTorch network on the digits 0 to 4 and writes its parameters to examples/data/digits_0_to_4.safetensors,
which fine_tuning.cpp begins with: linear layers as PyTorch has them, weights [out, in]. Needs torch and safetensors."""
import pathlib

import torch
from safetensors.torch import save_file

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
rows = torch.tensor([[int(n) for n in line.split(",")] for line in (DATA / "digits.csv").read_text().split()])
few = rows[rows[:, 64] < 5]
x, y = few[:, :64].float() / 16, few[:, 64]
torch.manual_seed(1)
model = torch.nn.Sequential()
model.add_module("hidden", torch.nn.Linear(64, 32))
model.add_module("relu", torch.nn.ReLU())
model.add_module("out", torch.nn.Linear(32, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(600):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
save_file(model.state_dict(), str(DATA / "digits_0_to_4.safetensors"), {"made by": "examples/models/pretrained.py"})
