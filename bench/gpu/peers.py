#!/usr/bin/env python3
"""peers.py PEER [--device cuda|cpu] [CASE…]: times PyTorch or JAX on the networks, chains and products of bench/cases.cpp.

PEER: `torch` is PyTorch as it stands, `compile` is torch.compile, `jax` is JAX. Prints lines as bench/cases does:
{"case", "peer", "ns", "unit"}. `peers.py PEER --check` only says, by its exit code and a sentence, whether PEER can run.

The protocol is that of bench/measure.hpp: three calls to warm up, then seven rounds of calls for two seconds in all; the
median of the rounds counts. A step takes its batch from the host, updates all parameters by gradient descent, and ends when
the host knows the loss. Training loops seldom look at each loss, so there is a second line for the peer "PEER ahead":
there the host queues the steps of a round and waits for the last. All is float32; TF32 is off, because rill has none.
"""
import argparse
import json
import math
import os
import statistics
import sys
import time

BUDGET, ROUNDS, WARM = 2.0, 7, 3
RATE = 0.01

# The extents of bench/models.hpp, bench/networks.hpp and bench/kernels.hpp.
MLP = {"mlp_small": (32, [64, 128, 10]), "mlp_large": (128, [784, 1024, 1024, 10])}
CHAIN = {"chain_1k": 1 << 10, "chain_64k": 1 << 16, "chain_1m": 1 << 20, "chain_16m": 1 << 24}
MATMUL = {f"matmul_{n}": n for n in (64, 256, 1024)}
NETWORKS = [*MLP, "conv", "lstm", "resnet", "attention", "vae"]
CASES = [*NETWORKS, *CHAIN, *MATMUL]


def seconds(step, wait, calls, each):
    """Returns the seconds of so many calls. `each`: the host waits for each, not only for the last."""
    begin = time.perf_counter()
    for _ in range(calls):
        result = step()
        if each:
            wait(result)
    wait(result)
    return (time.perf_counter() - begin) / calls


def measure(peer, case, step, wait, units=1, unit="step"):
    for name, each in ((peer, True), (f"{peer} ahead", False)):
        seconds(step, wait, WARM, each)
        calls = max(1, int(BUDGET / ROUNDS / max(seconds(step, wait, 1, each), 1e-7)))
        ns = statistics.median(seconds(step, wait, calls, each) for _ in range(ROUNDS)) / units * 1e9
        print(json.dumps({"case": case, "peer": name, "ns": round(ns, 4), "unit": unit}), flush=True)


class Data:
    """Batches and first values as NumPy arrays: the same for all peers."""

    def __init__(self):
        import numpy
        self.numpy, self.random = numpy, numpy.random.default_rng(7)

    def normal(self, *extents, deviation=0.05):
        return (self.random.standard_normal(extents) * deviation).astype("float32")

    def zeros(self, *extents):
        return self.numpy.zeros(extents, "float32")

    def ones(self, *extents):
        return self.numpy.ones(extents, "float32")

    def labels(self, end, *extents):
        return self.random.integers(0, end, extents).astype("int32")

    def dense(self, rows, columns):
        return [self.normal(rows, columns), self.zeros(columns)]

    # Each network: what a step is fed, and its parameters in the order in which they are used.
    def of(self, case):
        if case in MLP:
            batch, sizes = MLP[case]
            layers = [self.dense(a, b) for a, b in zip(sizes, sizes[1:])]
            return [self.normal(batch, sizes[0], deviation=1), self.labels(sizes[-1], batch)], sum(layers, [])
        return getattr(self, case)()

    def conv(self):
        filters = [self.normal(5, 5, 1, 32), self.zeros(32), self.normal(5, 5, 32, 64), self.zeros(64)]
        fed = [self.normal(64, 28, 28, 1, deviation=1), self.labels(10, 64)]
        return fed, filters + self.dense(7 * 7 * 64, 1024) + self.dense(1024, 10)

    def lstm(self):
        units, words = 256, 2000
        return [self.labels(words, 21, 32)], [self.normal(words, units), *self.dense(2 * units, 4 * units),
                                              *self.dense(units, words)]

    def resnet(self):
        def layer(side, a, b):
            return [self.normal(side, side, a, b), self.ones(b), self.zeros(b)]

        parameters, before = layer(3, 3, 16), 16
        for channels in (16, 32, 64):
            for _ in range(2):
                parameters += layer(3, before, channels) + layer(3, channels, channels)
                if before != channels:
                    parameters += layer(1, before, channels)
                before = channels
        return [self.normal(32, 32, 32, 3, deviation=1), self.labels(10, 32)], parameters + self.dense(64, 10)

    def attention(self):
        width, hidden, words = 128, 512, 256
        parameters = [self.normal(words, width), self.normal(64, width)]
        for _ in range(2):
            parameters += [self.ones(width), self.zeros(width), *self.dense(width, 3 * width), *self.dense(width, width)]
            parameters += [self.ones(width), self.zeros(width), *self.dense(width, hidden), *self.dense(hidden, width)]
        parameters += [self.ones(width), self.zeros(width), *self.dense(width, words)]
        return [self.labels(words, 16, 65)], parameters

    def vae(self):
        sizes = [(784, 256), (256, 32), (16, 256), (256, 784)]
        return [self.random.random((64, 784)).astype("float32")], sum((self.dense(*each) for each in sizes), [])


class Taken:
    """Hands parameters out in their order."""

    def __init__(self, parameters):
        self.left = iter(parameters)

    def __call__(self, n):
        return [next(self.left) for _ in range(n)]


class Networks:
    """The networks, in terms of what a library has: `lib` is Torch or Jax."""

    def __init__(self, lib):
        self.lib = lib

    def of(self, case):
        return self.mlp if case in MLP else getattr(self, case)

    def mlp(self, parameters, x, label):
        lib, last = self.lib, len(parameters) - 2
        for i in range(0, len(parameters), 2):
            x = x @ parameters[i] + parameters[i + 1]
            if i < last:
                x = lib.relu(x)
        return lib.cross_entropy(x, label)

    def conv(self, parameters, x, label):
        lib, take = self.lib, Taken(parameters)
        for _ in range(2):
            f, b = take(2)
            x = lib.max_pool(lib.relu(lib.conv(x, f, 1) + lib.channels(b)))
        w, b, w2, b2 = take(4)
        return lib.cross_entropy(lib.relu(x.reshape(64, -1) @ w + b) @ w2 + b2, label)

    def lstm(self, parameters, ids):
        lib = self.lib
        words, w, b, wo, bo = parameters
        c = h = lib.zeros(32, 256)
        losses = []
        for t in range(20):
            i, j, f, o = lib.split(lib.concat([words[ids[t]], h], 1) @ w + b, 4)
            c = c * lib.sigmoid(f) + lib.sigmoid(i) * lib.tanh(j)
            h = lib.tanh(c) * lib.sigmoid(o)
            losses.append(lib.cross_entropy(h @ wo + bo, ids[t + 1]))
        return sum(losses) / len(losses)

    def resnet(self, parameters, x, label):
        lib, take = self.lib, Taken(parameters)

        def layer(x, stride=1):
            f, scale, offset = take(3)
            return lib.batch_norm(lib.conv(x, f, stride), scale, offset)

        x, before = lib.relu(layer(x)), 16
        for channels in (16, 32, 64):
            for _ in range(2):
                stride = 1 if before == channels else 2
                y = layer(lib.relu(layer(x, stride)))
                x = lib.relu(y + (x if stride == 1 else layer(x, 2)))
                before = channels
        w, b = take(2)
        return lib.cross_entropy(lib.mean_of_pixels(x) @ w + b, label)

    def attention(self, parameters, ids):
        lib, take = self.lib, Taken(parameters)
        batch, heads, width = 16, 4, 128

        def affine(x):
            w, b = take(2)
            return x @ w + b

        words, places = take(2)
        h = words[ids[:, :-1]] + places
        for _ in range(2):
            parts = lib.split(affine(lib.layer_norm(h, *take(2))), 3)
            q, k, v = [lib.swap(x.reshape(batch, 64, heads, width // heads)) for x in parts]
            h = h + affine(lib.swap(lib.causal_attention(q, k, v)).reshape(batch, 64, width))
            h = h + affine(lib.gelu_tanh(affine(lib.layer_norm(h, *take(2)))))
        scores = affine(lib.layer_norm(h, *take(2)))
        return lib.cross_entropy(scores.reshape(-1, 256), ids[:, 1:].reshape(-1))

    def vae(self, parameters, x):
        lib, (w1, b1, w2, b2, w3, b3, w4, b4) = self.lib, parameters
        both = lib.relu(x @ w1 + b1) @ w2 + b2
        mean, log_variance = both[:, :16], both[:, 16:]
        z = mean + lib.exp(log_variance * 0.5) * lib.noise(64, 16)
        drawing = lib.bernoulli_loss(lib.relu(z @ w3 + b3) @ w4 + b4, x).sum(1)
        distance = (1 + log_variance - mean * mean - lib.exp(log_variance)).sum(1) * -0.5
        return (drawing + distance).mean()


class Torch:
    """PyTorch. Images have their channels first, as its convolutions take them."""

    def __init__(self, device, compiled):
        import torch
        self.torch, self.f, self.compiled = torch, torch.nn.functional, compiled
        if device == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("this PyTorch finds no GPU")
        self.device = torch.device(device)
        if threads := int(os.environ.get("RILL_THREADS", 0)):
            torch.set_num_threads(threads)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True  # the fastest of its convolutions
        self.relu, self.tanh, self.sigmoid, self.exp, self.concat = (torch.relu, torch.tanh, torch.sigmoid, torch.exp,
                                                                     torch.cat)

    def wait(self, result):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def held(self, array):
        """A tensor in the memory of the host from which copies are fastest."""
        made = self.torch.from_numpy(array)
        return made.pin_memory() if self.device.type == "cuda" else made

    def there(self, tensor):
        return tensor.to(self.device, non_blocking=True)

    def function(self, f):
        return self.torch.compile(f) if self.compiled else f

    def training(self, forward, fed, parameters):
        images = fed[0].ndim == 4
        if images:
            fed = [fed[0].transpose(0, 3, 1, 2).copy(), *fed[1:]]
            parameters = [p.transpose(3, 2, 0, 1).copy() if p.ndim == 4 else p for p in parameters]
        given = [self.held(array if array.dtype.kind == "f" else array.astype("int64")) for array in fed]
        learnt = [self.there(self.torch.from_numpy(p)).requires_grad_() for p in parameters]
        optimizer, loss_of = self.torch.optim.SGD(learnt, RATE), self.function(forward)

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(learnt, *[self.there(x) for x in given])
            loss.backward()
            optimizer.step()
            return loss

        def wait(loss):
            loss.item()
            self.wait(loss)

        return step, wait

    def call(self, f, arrays):
        made, given = self.function(f), [self.there(self.torch.from_numpy(x)) for x in arrays]

        def step():
            with self.torch.no_grad():
                return made(*given)

        return step, self.wait

    def cross_entropy(self, scores, label):
        return self.f.cross_entropy(scores, label)

    def conv(self, x, f, stride):
        # At a stride of 2 an even side is padded at its end alone, as rill and TensorFlow do.
        side = f.shape[2]
        if stride == 2 and side == 3:
            return self.f.conv2d(self.f.pad(x, (0, 1, 0, 1)), f, stride=2)
        return self.f.conv2d(x, f, stride=stride, padding=side // 2)

    def channels(self, b):
        return b[:, None, None]

    def max_pool(self, x):
        return self.f.max_pool2d(x, 2)

    def batch_norm(self, x, scale, offset):
        return self.f.batch_norm(x, None, None, scale, offset, training=True)

    def mean_of_pixels(self, x):
        return x.mean((2, 3))

    def layer_norm(self, x, scale, offset):
        return self.f.layer_norm(x, x.shape[-1:], scale, offset)

    def causal_attention(self, q, k, v):
        return self.f.scaled_dot_product_attention(q, k, v, is_causal=True)

    def gelu_tanh(self, x):
        return self.f.gelu(x, approximate="tanh")

    def bernoulli_loss(self, y, x):
        return self.f.binary_cross_entropy_with_logits(y, x, reduction="none")

    def noise(self, *extents):
        return self.torch.randn(extents, device=self.device)

    def zeros(self, *extents):
        return self.torch.zeros(extents, device=self.device)

    def split(self, x, n):
        return self.torch.chunk(x, n, -1)

    def swap(self, x):
        return x.transpose(1, 2)


class Jax:
    """JAX. A step is one jitted function that takes the parameters over."""

    def __init__(self, device):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax
        self.jax, self.np, self.nn = jax, jax.numpy, jax.nn
        jax.config.update("jax_default_matmul_precision", "highest")
        self.device = jax.devices("gpu" if device == "cuda" else "cpu")[0]
        jax.config.update("jax_default_device", self.device)
        self.relu, self.sigmoid, self.tanh, self.exp, self.concat = (jax.nn.relu, jax.nn.sigmoid, jax.numpy.tanh,
                                                                     jax.numpy.exp, jax.numpy.concatenate)
        self.key = None

    def wait(self, result):
        self.jax.block_until_ready(result)

    def there(self, array):
        return self.jax.device_put(array, self.device)

    def training(self, forward, fed, parameters):
        jax = self.jax

        def update(learnt, key, *batch):
            key, self.key = jax.random.split(key)
            loss, slopes = jax.value_and_grad(forward)(learnt, *batch)
            return [p - RATE * d for p, d in zip(learnt, slopes)], key, loss

        updated = jax.jit(update, donate_argnums=(0,))
        now = [[self.there(p) for p in parameters], self.there(jax.random.key(0))]

        def step():
            now[0], now[1], loss = updated(now[0], now[1], *[self.there(x) for x in fed])
            return loss

        def wait(loss):
            float(loss)
            self.wait(now[0])

        return step, wait

    def call(self, f, arrays):
        made, given = self.jax.jit(f), [self.there(x) for x in arrays]
        return (lambda: made(*given)), self.wait

    def cross_entropy(self, scores, label):
        chances = self.nn.log_softmax(scores)
        return -self.np.take_along_axis(chances, label[:, None], 1).mean()

    def conv(self, x, f, stride):
        return self.jax.lax.conv_general_dilated(x, f, (stride, stride), "SAME",
                                                 dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def channels(self, b):
        return b

    def max_pool(self, x):
        return self.jax.lax.reduce_window(x, -math.inf, self.jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def normalised(self, x, axes, scale, offset):
        centred = x - x.mean(axes, keepdims=True)
        return centred * self.jax.lax.rsqrt((centred * centred).mean(axes, keepdims=True) + 1e-5) * scale + offset

    def batch_norm(self, x, scale, offset):
        return self.normalised(x, (0, 1, 2), scale, offset)

    def layer_norm(self, x, scale, offset):
        return self.normalised(x, -1, scale, offset)

    def mean_of_pixels(self, x):
        return x.mean((1, 2))

    def causal_attention(self, q, k, v):
        n = q.shape[2]
        scores = q @ self.np.swapaxes(k, -1, -2) / math.sqrt(q.shape[3])
        seen = self.np.tril(self.np.ones((n, n), bool))
        return self.nn.softmax(self.np.where(seen, scores, -math.inf)) @ v

    def gelu_tanh(self, x):
        return self.nn.gelu(x, approximate=True)

    def bernoulli_loss(self, y, x):
        return self.np.maximum(y, 0) - y * x + self.np.log1p(self.np.exp(-self.np.abs(y)))

    def noise(self, *extents):
        return self.jax.random.normal(self.key, extents)

    def zeros(self, *extents):
        return self.np.zeros(extents, "float32")

    def split(self, x, n):
        return self.np.split(x, n, -1)

    def swap(self, x):
        return self.np.swapaxes(x, 1, 2)


def run(peer, lib, case):
    data = Data()
    if case in NETWORKS:
        fed, parameters = data.of(case)
        step, wait = lib.training(Networks(lib).of(case), fed, parameters)
        return measure(peer, case, step, wait)
    if case in CHAIN:
        n = CHAIN[case]
        step, wait = lib.call(lambda x, w, b, s: lib.tanh(x * w + b) * s, [data.normal(n) for _ in range(4)])
        return measure(peer, case, step, wait, n, "element")
    n = MATMUL[case]
    step, wait = lib.call(lambda a, b: a @ b, [data.normal(n, n) for _ in range(2)])
    return measure(peer, case, step, wait)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("peer", choices=["torch", "compile", "jax"])
    arguments.add_argument("cases", nargs="*", metavar="CASE")
    arguments.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    arguments.add_argument("--check", action="store_true")
    given = arguments.parse_intermixed_args()
    try:
        import numpy  # noqa: F401
        lib = Jax(given.device) if given.peer == "jax" else Torch(given.device, given.peer == "compile")
    except (ImportError, RuntimeError) as why:
        print(f"peers.py: {given.peer} can't run on {given.device}: {str(why).splitlines()[0]}", file=sys.stderr)
        return 1
    if given.check:
        return 0
    for case in given.cases or CASES:
        if case not in CASES:
            continue
        try:
            run(given.peer, lib, case)
        except Exception as why:  # a library may refuse a case in any way; the others go on
            said = f"{given.peer}: {type(why).__name__}: {why}".splitlines()[0][:300]
            print(json.dumps({"case": case, "error": said}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
