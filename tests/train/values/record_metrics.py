#!/usr/bin/env python3
"""Writes metrics.npz: labels and predictions, and what each metric makes of them. tests/train/metrics.cpp reads it.

usage: record_metrics.py [--check]      (numpy; --check compares with scikit-learn as well)

The definitions are scikit-learn's, stated in NumPy: macro averages are over the classes that occur, a fraction with a
zero divisor is 0. Of equal scores, the first class is the higher one."""
import pathlib
import sys

import numpy as np

rng = np.random.default_rng(27)
N, CLASSES = 200, 6
members = {}


def roc_auc(labels, scores):
    ones, zeros = scores[labels == 1][:, None], scores[labels == 0][None, :]
    return ((ones > zeros) + 0.5 * (ones == zeros)).mean()


def tallies(labels, predicted):
    """labels, predictions and agreements of each class that occurs."""
    return np.array([[(labels == c).sum(), (predicted == c).sum(), ((labels == c) & (predicted == c)).sum()]
                     for c in np.union1d(labels, predicted)], float)


def fraction(a, b):
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def precision_recall_f1(t):
    return np.array([fraction(t[..., 2], t[..., 1]), fraction(t[..., 2], t[..., 0]),
                     fraction(2 * t[..., 2], t[..., 0] + t[..., 1])])


# Class 4 is never a label, class 5 neither label nor prediction.
labels = rng.integers(0, 4, N).astype(np.int32)
scores = rng.normal(size=(N, CLASSES)).astype(np.float32)
scores[np.arange(N), labels] += 1
scores[:, 5] = -9
predicted = scores.argmax(1)
each = tallies(labels, predicted)
order = np.argsort(-scores, 1, kind="stable")
members.update({
    "labels": labels, "scores": scores, "accuracy": (labels == predicted).mean(),
    "top_2": (order[:, :2] == labels[:, None]).any(1).mean(),
    "top_3": (order[:, :3] == labels[:, None]).any(1).mean(),
    "confusion": np.array([[((labels == i) & (predicted == j)).sum() for j in range(CLASSES)] for i in range(CLASSES)]),
    "macro": precision_recall_f1(each).mean(1),
    "micro": precision_recall_f1(each.sum(0)),
    "weighted": precision_recall_f1(each) @ (each[:, 0] / each[:, 0].sum()),
})
z = scores.astype(float)
log_softmax = z - z.max(1, keepdims=True) - np.log(np.exp(z - z.max(1, keepdims=True)).sum(1, keepdims=True))
members["perplexity"] = np.exp(-log_softmax[np.arange(N), labels].mean())

# Two classes, and probabilities with many ties.
two = rng.integers(0, 2, N).astype(np.int64)
probabilities = np.clip(np.round(rng.normal(0.35 + 0.3 * two, 0.25), 1), 0, 1).astype(np.float32)
chosen = (probabilities > 0.5).astype(int)
members.update({"two": two, "probabilities": probabilities, "auc": roc_auc(two, probabilities),
                "binary": precision_recall_f1(tallies(two, chosen)[1]), "two_accuracy": (two == chosen).mean()})

y = rng.normal(3, 2, N)
p = (y + rng.normal(0, 0.7, N)).astype(np.float32).astype(float)
members.update({"y": y, "p": p, "mse": ((y - p) ** 2).mean(), "mae": np.abs(y - p).mean(),
                "r_squared": 1 - ((y - p) ** 2).sum() / ((y - y.mean()) ** 2).sum()})

x = (rng.normal(size=(50, 3)) * [1, 100, 0] + [5, -3, 7]).astype(np.float32)
deviation = np.where(np.ptp(x, 0) == 0, 1, x.astype(float).std(0))
members.update({"x": x, "standard": ((x - x.astype(float).mean(0)) / deviation).astype(np.float32)})

if "--check" in sys.argv:
    from sklearn import metrics as m
    from sklearn.preprocessing import StandardScaler

    def same(a, b):
        np.testing.assert_allclose(a, b, 1e-6)

    same(members["accuracy"], m.accuracy_score(labels, predicted))
    for k in (2, 3):
        same(members[f"top_{k}"], m.top_k_accuracy_score(labels, scores, k=k, labels=range(CLASSES)))
    same(members["confusion"], m.confusion_matrix(labels, predicted, labels=range(CLASSES)))
    for by in ("macro", "micro", "weighted"):
        same(members[by], m.precision_recall_fscore_support(labels, predicted, average=by, zero_division=0)[:3])
    same(members["binary"], m.precision_recall_fscore_support(two, chosen, average="binary")[:3])
    same(members["auc"], m.roc_auc_score(two, probabilities))
    same(members["mse"], m.mean_squared_error(y, p))
    same(members["mae"], m.mean_absolute_error(y, p))
    same(members["r_squared"], m.r2_score(y, p))
    same(members["perplexity"], np.exp(m.log_loss(labels, np.exp(log_softmax), labels=range(CLASSES))))
    np.testing.assert_allclose(members["standard"], StandardScaler().fit_transform(x.astype(float)), 1e-5, 1e-6)
    print("scikit-learn agrees")

path = pathlib.Path(__file__).with_name("metrics.npz")
np.savez_compressed(path, **{name: np.asarray(v) for name, v in members.items()})
print(len(members), "arrays,", path.stat().st_size, "bytes")
