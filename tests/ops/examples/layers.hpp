// Examples of activations, normalisations and losses that are composed of operations.
#pragma once
#include "example.hpp"
#include "rill/ops/network/glu.hpp"
#include "rill/ops/network/margin_losses.hpp"
#include "rill/ops/network/normalization.hpp"

namespace rill::test {

inline std::vector<example> activation_examples() {
  std::vector<example> all;
  auto const add = [&](std::string_view name, value (*f)(value), dtypes elements = dtypes::floats) {
    for (auto e : unary(name, f)) {
      e.elements = elements;
      e.composed = true;
      all.push_back(e);
    }
  };
  add("hardtanh", [](value x) { return hardtanh(x); }, dtypes::floats | dtypes::signed_integers);
  add("hardtanh", [](value x) { return hardtanh(x, -0.5, 1.5); });
  add("hardsigmoid", [](value x) { return hardsigmoid(x * 2); });
  add("hardswish", [](value x) { return hardswish(x * 2); });
  add("log_sigmoid", [](value x) { return log_sigmoid(x); });
  add("softsign", [](value x) { return softsign(x); });
  add("celu", [](value x) { return celu(x); });
  add("celu", [](value x) { return celu(x, 2); });
  for (auto const& slope : {d({}), d({3})})
    all.push_back({.operation = "prelu",
                   .inputs = [=](auto n) { return std::vector{d({n, 3}), slope}; },
                   .record = [](in x) { return prelu(x[0], x[1]); },
                   .elements = dtypes::reals,
                   .composed = true});
  for (auto axis : {1, -1})
    all.push_back({.operation = "glu",
                   .inputs = [](auto n) { return std::vector{d({n, 2, 4})}; },
                   .record = [=](in x) { return glu(x[0], axis); },
                   .elements = dtypes::floats | dtypes::complexes,
                   .composed = true});
  return all;
}

inline std::vector<example> normalization_examples() {
  std::vector<example> all;
  auto const add = [&](std::string_view name, type const& t, value (*f)(value), bool needs_extents = false) {
    all.push_back({.operation = name,
                   .inputs =
                       [t](auto n) {
                         auto x = t;
                         std::replace(x.dims.begin(), x.dims.begin() + x.rank, dim(0), dim(n));  // 0 stands for n
                         return std::vector{x};
                       },
                   .record = [f](in x) { return f(x[0]); },
                   .elements = dtypes::floats,
                   .needs_extents = needs_extents,
                   .composed = true});
  };
  for (auto const& t : {d({0, 4}), d({2, 0, 3}), d({5})}) {
    add("layer_norm", t, [](value x) { return layer_norm(x); });
    add("rms_norm", t, [](value x) { return rms_norm(x); });
  }
  for (auto const& t : {d({0, 6}), d({0, 2, 4}), d({2, 2, 0, 4})})
    add("group_norm", t, [](value x) { return group_norm(x, 2); }, true);
  add("group_norm", d({0, 3, 2}), [](value x) { return group_norm(x, 1); }, true);
  for (auto const& t : {d({0, 5, 2}), d({2, 3, 2, 0})})
    add("instance_norm", t, [](value x) { return instance_norm(x); });
  return all;
}

inline std::vector<example> composed_loss_examples() {
  std::vector<example> all;
  using inputs = std::function<std::vector<type>(std::int64_t)>;
  auto const add = [&](std::string_view name, inputs in_types, value (*f)(in), bool positive = false) {
    all.push_back({.operation = name,
                   .inputs = std::move(in_types),
                   .record = f,
                   .positive = positive,
                   .elements = dtypes::floats,
                   .composed = true});
  };
  auto const rows = [](auto n) { return std::vector{d({n, 3}), d({n, 3}), d({n, 3})}; };
  auto const two = [](auto n) { return std::vector{d({n, 3}), d({3})}; };
  for (inputs const& labelled : {inputs([](auto n) { return std::vector{d({n, 3}), i32({n})}; }),
                                 inputs([](auto n) { return std::vector{d({2, n, 3}), i64({2, n})}; })}) {
    add("nll", labelled, [](in x) { return nll(x[0], x[1]); });
    add("multi_margin", labelled, [](in x) { return multi_margin(x[0], x[1], 0.8); });
  }
  add("binary_cross_entropy", two, [](in x) { return binary_cross_entropy(x[0] * 0.4, x[1]); });
  add("poisson_nll", two, [](in x) { return poisson_nll(x[0], x[1]); });
  add("gaussian_nll", rows, [](in x) { return gaussian_nll(x[0], x[1], x[2]); }, true);
  add("squared_hinge", two, [](in x) { return squared_hinge(x[0], x[1]); });
  add("soft_margin", two, [](in x) { return soft_margin(x[0], x[1]); });
  add("hinge_embedding", two, [](in x) { return hinge_embedding(x[0], x[1]); });
  add("margin_ranking", rows, [](in x) { return margin_ranking(x[0], x[1], x[2], 0.5); });
  add("cosine_similarity", two, [](in x) { return cosine_similarity(x[0], x[1]); });
  add(
      "cosine_embedding", [](auto n) { return std::vector{d({n, 3}), d({3}), d({n})}; },
      [](in x) { return cosine_embedding(x[0], x[1], x[2], 0.1); });
  add("triplet_margin", rows, [](in x) { return triplet_margin(x[0], x[1], x[2]); });
  return all;
}

inline std::vector<example> layer_examples() {
  auto all = activation_examples();
  for (auto const& more : {normalization_examples(), composed_loss_examples()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace rill::test
