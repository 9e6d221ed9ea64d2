// Three networks of today as training cases, in the same sizes as in the peers' program: residual, attention,
// variational.
#pragma once
#include <rill/ops/array/expand_dims.hpp>
#include <rill/ops/array/split.hpp>
#include <rill/ops/array/transpose.hpp>
#include <rill/ops/math/activations.hpp>
#include <rill/ops/network/sigmoid_cross_entropy.hpp>
#include <rill/ops/random/normal.hpp>
#include <rill/ops/reduction/variance.hpp>
#include <rill/train/attention.hpp>

#include <cmath>

#include "models.hpp"

namespace bench {

namespace detail {

/// Returns x minus its mean, divided by its deviation, over all axes but the last, or over the last; scaled and
/// shifted.
inline rill::value normalised(model& m, rill::value x, rill::extents const& axes) {
  auto const n = x.type()[x.type().rank - std::size_t{1}].extent;
  rill::tensor ones(rill::dtype::float32, {n});
  std::fill_n(ones.mutable_data<float>(), n, 1.f);
  rill::value const scale = variable(m, ones, "scale"), offset = variable(m, zeros({n}), "offset");
  rill::value const centred = x - rill::mean(x, axes, true);
  return centred * rill::rsqrt(rill::mean(rill::square(centred), axes, true) + 1e-5) * scale + offset;
}

/// A normalised convolution of `side` x `side` pixels without a bias.
inline rill::value convolved(model& m, rill::value x, std::int64_t side, std::int64_t in, std::int64_t out,
                             std::int64_t stride) {
  rill::value const filter = variable(m, normal({side, side, in, out}), "filter");
  return normalised(m, rill::conv2d(x, filter, {.stride = {stride, stride}}), {0, 1, 2});
}

/// x W + b over the last axis.
inline rill::value affine(model& m, rill::value x, std::int64_t in, std::int64_t out) {
  rill::value const w = variable(m, normal({in, out}), "w"), b = variable(m, zeros({out}), "b");
  return rill::matmul(x, w) + b;
}

}  // namespace detail

/// Trains a residual network with normalisation over the batch: three groups of blocks, at 32, 16 and 8 pixels.
inline training resnet() {
  return recorded([](std::shared_ptr<model> const& m) -> training {
    constexpr std::int64_t batch = 32, side = 32, blocks = 2;
    constexpr std::int64_t channels[] = {16, 32, 64};
    auto const x = rill::placeholder(m->graph, {rill::dtype::float32, {batch, side, side, 3}}, "x");
    auto const label = rill::placeholder(m->graph, {rill::dtype::int32, {batch}}, "label");
    auto h = rill::relu(detail::convolved(*m, x, 3, 3, channels[0], 1));
    for (auto in = channels[0]; auto const out : channels)
      for (std::int64_t k = 0; k < blocks; ++k, in = out) {
        auto const stride = in == out ? 1 : 2;
        auto const y = detail::convolved(*m, rill::relu(detail::convolved(*m, h, 3, in, out, stride)), 3, out, out, 1);
        h = rill::relu(y + (in == out ? h : detail::convolved(*m, h, 1, in, out, 2)));
      }
    auto const logits = detail::affine(*m, rill::mean(h, rill::extents{1, 2}), channels[2], 10);
    auto const loss = rill::mean(rill::softmax_cross_entropy(logits, label), rill::extents{});
    return {m, loss, {x, label}, {normal({batch, side, side, 3}, 1), integers({batch}, 10)}};
  });
}

/// Trains a language model of blocks with causal attention, normalised before each part.
inline training attention() {
  return recorded([](std::shared_ptr<model> const& m) -> training {
    constexpr std::int64_t batch = 16, time = 64, width = 128, heads = 4, hidden = 512, layers = 2, vocabulary = 256;
    auto const ids = rill::placeholder(m->graph, {rill::dtype::int32, {batch, time + 1}}, "ids");
    auto const seen = rill::slice(ids, {0, 0}, {batch, time}), next = rill::slice(ids, {0, 1}, {batch, time});
    auto const words = variable(*m, normal({vocabulary, width}), "words");
    rill::value const places = variable(*m, normal({time, width}), "places");
    rill::value h = rill::gather(words, seen) + places;
    auto const norm = [&](rill::value x) { return detail::normalised(*m, x, {-1}); };
    auto const to_heads = [&](rill::value x) {
      return rill::transpose(rill::reshape(x, {batch, time, heads, width / heads}), rill::extents{0, 2, 1, 3});
    };
    for (std::int64_t k = 0; k < layers; ++k) {
      auto const all = rill::split(detail::affine(*m, norm(h), width, 3 * width), 3, -1);
      auto const seen_by = rill::attention(to_heads(all[0]), to_heads(all[1]), to_heads(all[2]), {.causal = true});
      auto const joined = rill::reshape(rill::transpose(seen_by, rill::extents{0, 2, 1, 3}), {batch, time, width});
      h = h + detail::affine(*m, joined, width, width);
      h = h + detail::affine(*m, rill::gelu_tanh(detail::affine(*m, norm(h), width, hidden)), hidden, width);
    }
    auto const scores = detail::affine(*m, norm(h), width, vocabulary);
    auto const loss = rill::mean(rill::softmax_cross_entropy(scores, next), rill::extents{});
    return {m, loss, {ids}, {integers({batch, time + 1}, vocabulary)}};
  });
}

/// Trains a variational autoencoder of dense layers on pixels from 0 to 1.
inline training vae() {
  return recorded([](std::shared_ptr<model> const& m) -> training {
    constexpr std::int64_t batch = 64, pixels = 784, hidden = 256, code = 16;
    auto const x = rill::placeholder(m->graph, {rill::dtype::float32, {batch, pixels}}, "x");
    auto const both =
        rill::split(detail::affine(*m, rill::relu(detail::affine(*m, x, pixels, hidden)), hidden, 2 * code), 2, 1);
    auto const mean = both[0], log_variance = both[1];
    auto const z = mean + rill::exp(log_variance * 0.5) * rill::normal_like(mean);
    auto const y = detail::affine(*m, rill::relu(detail::affine(*m, z, code, hidden)), hidden, pixels);
    auto const drawing = rill::sum(rill::sigmoid_cross_entropy(y, x), rill::extents{1});
    auto const distance =
        rill::sum(1 + log_variance - rill::square(mean) - rill::exp(log_variance), rill::extents{1}) * -0.5;
    rill::tensor fed(rill::dtype::float32, {batch, pixels});
    auto const drawn = integers({batch * pixels}, 1000);
    for (std::int64_t i = 0; i < batch * pixels; ++i)
      fed.mutable_data<float>()[i] = static_cast<float>(drawn.data<std::int32_t>()[i]) / 1000.f;
    return {m, rill::mean(drawing + distance, rill::extents{}), {x}, {fed}};
  });
}

}  // namespace bench
