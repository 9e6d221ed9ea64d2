// What is composed of operations computes 16-bit floats as float32 and rounds once (docs/guide/precision.md): values
// and two derivatives of each function, at small, ordinary, large and equal inputs and at zeros, beside float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "../ops/tensors.hpp"
#include "base/limit.hpp"
#include "rill/ops/list/use_elements.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using values = std::vector<value>;
using test::from_doubles;
using test::to_doubles;

// A function of x, y and z [4, 6], with respect to which it is differentiated, and of labels [4]. z is positive.
struct composed {
  std::string name;
  std::function<value(values const&)> record;
  bool positive = false;        // whether its inputs are, but for zeros
  std::size_t derivatives = 2;  // how many are rounded once
  std::string undefined = {};   // why it, or a derivative, is NaN in every type for some of the inputs; else no NaN is
};

// The functions of the library that are composed of operations, or whose derivatives are.
std::vector<composed> all_composed() {
  std::vector<composed> all;
  auto const add = [&](std::string name, std::function<value(values const&)> f, bool positive = false) {
    all.push_back({.name = std::move(name), .record = std::move(f), .positive = positive});
  };
  auto const unary = [&](std::string name, auto f, bool positive = false) {
    add(std::move(name), [f](values const& x) { return value(f(x[0])); }, positive);
  };
  auto const binary = [&](std::string name, auto f, bool positive = false) {
    add(std::move(name), [f](values const& x) { return value(f(x[0], x[1])); }, positive);
  };
  // ops/math
  unary("reciprocal", [](value x) { return reciprocal(x); });
  unary("rsqrt", [](value x) { return rsqrt(x); }, true);
  unary("silu", [](value x) { return silu(x); });
  unary("gelu", [](value x) { return gelu(x); });
  unary("gelu_tanh", [](value x) { return gelu_tanh(x); });
  unary("leaky_relu", [](value x) { return leaky_relu(x); });
  unary("elu", [](value x) { return elu(x, 1.3); });
  unary("selu", [](value x) { return selu(x); });
  unary("celu", [](value x) { return celu(x, 1.3); });
  unary("hardsigmoid", [](value x) { return hardsigmoid(x); });
  unary("hardswish", [](value x) { return hardswish(x); });
  unary("mish", [](value x) { return mish(x); });
  unary("softsign", [](value x) { return softsign(x); });
  unary("normal_cdf", [](value x) { return normal_cdf(x); });
  unary("softplus", [](value x) { return softplus(x); });
  binary("prelu", [](value x, value y) { return prelu(x, y); });
  unary("log_sigmoid", [](value x) { return log_sigmoid(x); });
  unary("tanh", [](value x) { return tanh(x); });
  unary("sigmoid", [](value x) { return sigmoid(x); });
  unary("asinh", [](value x) { return asinh(x); });
  unary("atan", [](value x) { return atan(x); });
  unary("exp", [](value x) { return exp(x); });
  unary("sqrt", [](value x) { return sqrt(x); }, true);
  unary("log1p", [](value x) { return log1p(x); }, true);
  binary("div", [](value x, value y) { return x / y; });
  all.back().undefined = "0 / 0";
  binary("atan2", [](value x, value y) { return atan2(x, y); });
  all.back().undefined = "the derivatives at (0, 0)";
  binary("pow", [](value x, value) { return pow(x, 1.5); }, true);
  add("mul of one row", [](values const& x) { return value(x[0] * slice(x[1], {0, 0}, {1, -1})); });
  // ops/reduction
  unary("logsumexp", [](value x) { return logsumexp<1>(x); });
  unary("variance", [](value x) { return variance<1>(x); });
  unary("standard_deviation", [](value x) { return standard_deviation(x); });
  unary("norm", [](value x) { return norm<1>(x); });
  unary("norm of order 3", [](value x) { return norm<1>(x, 3); });
  unary("max", [](value x) { return max<1>(x); });
  unary("min", [](value x) { return min<1>(x); });
  binary("average", [](value x, value y) { return average(x, y, extents{1}); }, true);
  all.back().undefined = "weights that add up to 0";
  unary("prod", [](value x) { return prod<1>(x); }, true);
  unary("cumprod", [](value x) { return cumprod<1>(x); }, true);
  binary("linear_recurrence", [](value x, value y) { return linear_recurrence(x, y, 1); });
  unary("linear_recurrence of one factor", [](value x) { return linear_recurrence(0.9, x, 1); });
  binary("linspace", [](value x, value y) {
    auto const first = [](value v) { return reshape(slice(v, {0, 0}, {1, 1}), extents{}); };
    return linspace(first(x), first(y), 7);
  });
  // ops/network
  unary("softmax", [](value x) { return softmax(x); });
  unary("log_softmax", [](value x) { return log_softmax(x); });
  unary("layer_norm", [](value x) { return layer_norm(x); });
  unary("rms_norm", [](value x) { return rms_norm(x); });
  unary("group_norm", [](value x) { return group_norm(x, 2); });
  unary("instance_norm", [](value x) { return instance_norm(reshape(x, {4, 3, 2})); });
  unary("adaptive_avg_pool", [](value x) { return adaptive_avg_pool(reshape(x, {1, 4, 6, 1}), 3, 4); });
  unary("max_pool of windows that overlap",
        [](value x) { return max_pool(reshape(x, {1, 4, 6, 1}), pooling{.window = {3, 3}, .stride = {1, 1}}); });
  unary("glu", [](value x) { return glu(x); });
  binary("squared_error", [](value x, value y) { return squared_error(x, y); });
  binary("mse", [](value x, value y) { return mse(x, y); });
  binary("mae", [](value x, value y) { return mae(x, y); });
  binary("huber", [](value x, value y) { return huber(x, y, 0.7); });
  binary("hinge", [](value x, value y) { return hinge(x, y); });
  binary("squared_hinge", [](value x, value y) { return squared_hinge(x, y); });
  binary("soft_margin", [](value x, value y) { return soft_margin(x, y); });
  binary("margin_ranking", [](value x, value y) { return margin_ranking(x, y, sign(y), 0.3); });
  binary("hinge_embedding", [](value x, value y) { return hinge_embedding(x, sign(y), 1.1); });
  binary("cosine_similarity", [](value x, value y) { return cosine_similarity(x, y); });
  binary("cosine_embedding", [](value x, value y) {
    return cosine_embedding(x, y, sum(slice(sign(y), {0, 0}, {-1, 1}), extents{1}), 0.1);
  });
  add("triplet_margin", [](values const& x) { return value(triplet_margin(x[0], x[1], x[2], 0.3)); });
  binary("poisson_nll", [](value x, value y) { return poisson_nll(x, y); });
  add("gaussian_nll", [](values const& x) { return value(gaussian_nll(x[0], x[1], x[2])); });
  binary("binary_cross_entropy", [](value x, value y) { return binary_cross_entropy(x, y); }, true);
  binary("kl_divergence", [](value x, value y) { return kl_divergence(x, y); }, true);
  binary("sigmoid_cross_entropy, weighted", [](value x, value y) { return sigmoid_cross_entropy(x, y, 1.3); });
  add("sigmoid_cross_entropy, with weights",
      [](values const& x) { return value(sigmoid_cross_entropy(x[0], x[1], x[2])); });
  binary("sigmoid_cross_entropy", [](value x, value y) { return sigmoid_cross_entropy(x, y); });
  add("softmax_cross_entropy", [](values const& x) { return value(softmax_cross_entropy(x[0], x[3])); });
  add("softmax_cross_entropy, smoothed",
      [](values const& x) { return value(softmax_cross_entropy(x[0], x[3], label_smoothing{0.1})); });
  add("softmax_cross_entropy of distributions",
      [](values const& x) { return value(softmax_cross_entropy(x[0], x[2])); });
  add("softmax_cross_entropy, with weights of classes", [](values const& x) {
    value const weights = reshape(slice(x[2], {0, 0}, {1, -1}), {6});
    return value(softmax_cross_entropy(x[0], x[3], weights, label_smoothing{0.1}));
  });
  add("multi_margin", [](values const& x) { return value(multi_margin(x[0], x[3], 0.3)); });
  // ops/table, ops/matrix, ops/image
  add("gather", [](values const& x) { return value(gather(x[0], mod(x[3], like(x[3], 3)))); });
  add("unsorted_segment_max", [](values const& x) { return value(unsorted_segment_max(x[0], x[3], 6)); });
  add("unsorted_segment_mean", [](values const& x) { return value(unsorted_segment_mean(x[0], x[3], 6)); });
  binary("einsum of three", [](value x, value y) { return einsum("ij,kj,kl->il", {x, y, x}); });
  unary("per_image_standardization", [](value x) { return per_image_standardization(reshape(x, {4, 6, 1})); });
  // train
  add("attention", [](values const& x) {
    auto const rows = [](value v) { return reshape(v, {1, 4, 6}); };
    return value(attention(rows(x[0]), rows(x[1]), rows(x[2]), {.causal = true}));
  });
  add("attention with a bias", [](values const& x) {
    auto const rows = [](value v) { return reshape(v, {1, 4, 6}); };
    auto const memory = rows(x[1]);
    return value(attention(rows(x[0]), memory, memory, {.bias = slice(rows(x[2]), {0, 0, 0}, {1, 4, 4})}));
  });
  unary("adjust_contrast", [](value x) { return adjust_contrast(reshape(x, {4, 6, 1}), 1.3); });
  for (std::int64_t const top : {1, 2})
    binary("mix_experts, the best " + std::to_string(top), [top](value x, value y) {
      std::vector<expert> const experts{[](value rows) { return rows; }, [](value rows) { return neg(rows); },
                                        [](value rows) { return relu(rows); }};
      return mix_experts(x, slice(y, {0, 0}, {-1, 3}), experts, top).result;
    });
  all.back().derivatives = 0;  // a row's derivatives come from two experts, whose results are values of their own
  unary("clip_by_norm", [](value x) { return clip_by_norm(x, 1); });
  binary("clip_by_global_norm", [](value x, value y) {
    auto const of = [](value v, std::string const& name) {
      return variable_gradient{v, variable(detail::graph_of(v), v.type(), name, zeros())};
    };
    return clip_by_global_norm({of(x, "v"), of(y, "w")}, 1)[0].gradient.dense;
  });
  auto const layer = [&](std::string name, auto make) {
    unary(std::move(name), [make](value x) { return make(detail::graph_of(x), type(x.type().element, {6}))(x); });
  };
  layer("layer_norm_layer", [](graph& g, type const& row) { return layer_norm_layer(g, row, "norm"); });
  layer("rms_norm_layer", [](graph& g, type const& row) { return rms_norm_layer(g, row, "norm"); });
  layer("group_norm_layer", [](graph& g, type const& row) {
    return
        [norm = group_norm_layer(g, row, 2, "norm")](value x) { return reshape(norm(reshape(x, {2, 2, 6})), {4, 6}); };
  });
  for (bool const training : {false, true})
    layer(training ? "batch_norm_layer, in training" : "batch_norm_layer", [training](graph& g, type const& row) {
      return [norm = batch_norm_layer(g, row, "norm"), training](value x) { return norm(x, training); };
    });
  return all;
}

// The inputs: elements of x, y and z.
struct inputs {
  std::string name;
  std::array<std::vector<double>, 3> x;
};
std::vector<inputs> all_inputs(bool positive) {
  auto const scattered = [](double scale, unsigned salt, bool above_0) {
    std::vector<double> v(24);
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] = scale * (static_cast<double>((i * 7919 + salt * 104729) % 2003) / 1001.5 - 1);
      if (above_0) v[i] = std::abs(v[i]) + scale / 8;
    }
    return v;
  };
  auto const of_size = [&](std::string called, double scale, unsigned salt) {
    return inputs{
        std::move(called),
        {scattered(scale, salt, positive), scattered(scale, salt + 1, positive), scattered(scale, salt + 2, true)}};
  };
  std::vector<double> const equal(24, 3), zeros(24, 0);
  return {of_size("small", 1e-3, 1),
          of_size("ordinary", 2, 4),
          of_size("large", 300, 7),
          {"equal", {equal, equal, equal}},
          {"zeros", {zeros, zeros, zeros}}};
}

// A function's value, its first and its second derivatives, for inputs that are rounded to `exact_in` before.
std::vector<std::vector<double>> run(composed const& f, inputs const& in, dtype element, dtype exact_in) {
  graph g;
  values x;
  std::vector<feed> feeds;
  for (auto const& elements : in.x) {
    x.push_back(placeholder(g, type(element, {4, 6})));
    feeds.emplace_back(x.back(), from_doubles(element, {4, 6}, to_doubles(from_doubles(exact_in, {24}, elements))));
  }
  auto given = x;
  given.push_back(constant(g, vector<std::int64_t>({1, 5, 1, 0})));
  // Factors whose products with 16-bit floats are exact, so that the sum that is differentiated adds no rounding.
  auto const factors = [&](value like_it, double even, double odd) {
    auto const n = positions(reshape(like_it, {-1}), 0, dtype::int64);
    auto const odds = equal(mod(n, like(n, 2)), like(n, 1));
    return reshape_like(select(odds, like(like_it, odd), like(like_it, even)), like_it);
  };
  auto const v = f.record(given);
  auto const one = vjp(v, x, factors(v, 1, 0.5));
  value weighted = sum(one[0] * factors(x[0], 1, -0.5));
  for (std::size_t i = 1; i < x.size(); ++i) weighted = weighted + sum(one[i] * factors(x[i], 0.5, 1));
  auto const two = gradients(weighted, x, true);
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  std::vector<std::vector<double>> results(3);
  auto const append = [&](std::size_t order, value of) {
    auto const t = to_doubles(s.run(std::span<feed const>(feeds), of));
    results[order].insert(results[order].end(), t.begin(), t.end());
  };
  append(0, v);
  for (auto const& d : one) append(1, d);
  for (auto const& d : two) append(2, d);
  return results;
}

// The distance of the numbers next to x.
double ulp_of(double x, dtype element) {
  int const digits = element == dtype::float16 ? 11 : 8, least = element == dtype::float16 ? -24 : -133;
  if (x == 0 || !std::isfinite(x)) return std::ldexp(1, least);
  return std::ldexp(1, std::max(std::ilogb(x) + 1 - digits, least));
}

// The largest error in units of the last place, beyond twice the error of float32; 0 where an element is the exact one
// rounded. It is infinite if an element is NaN in any type, unless `undefined` says why it is in float64.
double error_of(std::vector<double> const& got, std::vector<double> const& exact, std::vector<double> const& single,
                dtype element, std::string const& undefined) {
  double error = 0;
  auto const rounded = to_doubles(from_doubles(element, {static_cast<std::int64_t>(exact.size())}, exact));
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (std::isnan(exact[i]) && !undefined.empty()) continue;
    if (std::isnan(got[i]) || std::isnan(exact[i]) || std::isnan(single[i])) return INFINITY;
    if (got[i] == rounded[i]) continue;
    double const beyond = std::abs(got[i] - exact[i]) - 2 * std::abs(single[i] - exact[i]);
    error = std::max(error, std::isnan(beyond) ? INFINITY : beyond / ulp_of(exact[i], element));
  }
  return error;
}

struct row {
  std::string function;
  std::map<std::string, double> errors;  // by element type and order
};

// Prints the rows of the table in docs/measurements/2026-11-27-sixteen-bits.md.
void print_table(std::vector<row> const& rows) {
  for (auto const& r : rows) {
    std::printf("| %s", r.function.c_str());
    for (auto const* key : {"float16 0", "float16 1", "float16 2", "bfloat16 0", "bfloat16 1", "bfloat16 2"})
      if (auto const at = r.errors.find(key); at != r.errors.end()) std::printf(" | %.2g", at->second);
      else std::printf(" |");
    std::printf(" |\n");
  }
}

TEST(functions_of_16_bits, are_rounded_once_by_what_is_composed_of_operations) {
  test::allow(300);
  use_elements<dtype::float16, dtype::bfloat16, dtype::int64>();
  constexpr double one_rounding = 0.501;
  std::vector<row> rows;
  for (auto const& f : all_composed()) {
    row r{f.name, {}};
    for (auto const element : {dtype::float16, dtype::bfloat16})
      for (auto const& in : all_inputs(f.positive)) {
        auto const got = run(f, in, element, element), single = run(f, in, dtype::float32, element),
                   exact = run(f, in, dtype::float64, element);
        for (std::size_t order = 0; order <= f.derivatives; ++order) {
          auto const error = error_of(got[order], exact[order], single[order], element, f.undefined);
          auto& largest = r.errors[std::string(name(element)) + " " + std::to_string(order)];
          largest = std::max(largest, error);
          EXPECT_LE(error, one_rounding) << f.name << ", " << name(element) << ", " << in.name << ", derivative "
                                         << order;
        }
      }
    rows.push_back(r);
  }
  if (std::getenv("RILL_WRITE_DOCS")) print_table(rows);
}

// The element types of 16 bits.
template <class T> class sixteen_bits : public testing::Test {};
using sixteen_bit_types = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(sixteen_bits, sixteen_bit_types);

// What a graph of x, which is fed, gives.
template <class T> std::vector<double> of_fed(std::vector<double> const& x, std::function<value(value)> const& f) {
  use_elements<dtype::float16, dtype::bfloat16>();
  graph g;
  auto const fed = placeholder(g, type(dtype_of<T>, {dim(static_cast<std::int64_t>(x.size()))}));
  session s{g, {.threads = 1}};
  return to_doubles(s.run({{fed, from_doubles(dtype_of<T>, {static_cast<std::int64_t>(x.size())}, x)}}, f(fed)));
}
template <class T> double next_to(double x) { return ulp_of(x, dtype_of<T>); }

TYPED_TEST(sixteen_bits, of_a_large_row_have_a_layer_norm) {
  auto const y = of_fed<TypeParam>({300, -300}, [](value x) { return layer_norm(x); });
  EXPECT_EQ(y, (std::vector<double>{1, -1}));
}

TYPED_TEST(sixteen_bits, that_are_taken_or_used_often_have_the_sum_of_all_addends_as_derivative) {
  constexpr std::int64_t n = 10000;
  auto const near = [](std::vector<double> const& got) { EXPECT_NEAR(got[1], n, next_to<TypeParam>(n) / 2); };
  auto const ones = [](value like_it) {
    auto const which = positions(like_it, 0, dtype::int64);
    return value(which * like(which, 0) + 1);
  };
  std::vector<double> const table{1, 2, 3};
  auto const many = [&](value x) { return ones(fill(zero(x), shape{n})); };
  near(of_fed<TypeParam>(table, [&](value x) { return gradients(sum(gather(x, many(x))), values{x})[0]; }));
  near(of_fed<TypeParam>(
      table, [&](value x) { return gradients(sum(gather(reshape(x, {1, 3}), many(x), 1)), values{x})[0]; }));
  near(of_fed<TypeParam>(table, [&](value x) { return gradients(sum(take_along_axis(x, many(x), 0)), values{x})[0]; }));
  near(of_fed<TypeParam>(table, [&](value x) { return scatter_like(many(x), fill(like(x, 1), shape{n}), x); }));
  near(of_fed<TypeParam>(table, [&](value x) {
    std::vector<value> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(x * 0 + 1);
    return add_n(all);
  }));
  // A value from outside of a loop, which each iteration uses.
  near(of_fed<TypeParam>(table, [&](value x) {
    auto const rows = fill(like(x, 1), shape{n});
    auto const all = map([&](value row) { return x * row; }, rows);
    return gradients(sum(all), values{x})[0];
  }));
}

TYPED_TEST(sixteen_bits, are_used_in_a_loop_that_hands_them_on_and_have_the_sum_as_derivative) {
  constexpr int n = 10000;
  auto const slope = [](value x) {
    auto const last =
        for_loop(0, n, 1, [](auto, auto sum, auto same) { return std::tuple(sum + same, same); }, x * 0, x);
    return gradients(std::get<0>(last) + 2 * std::get<1>(last), values{x})[0];
  };
  EXPECT_NEAR(of_fed<TypeParam>({0.5}, slope)[0], n + 2, next_to<TypeParam>(n) / 2);
}

TYPED_TEST(sixteen_bits, are_rounded_once_where_they_are_reduced_over_axes_that_are_not_neighbours) {
  constexpr std::size_t n = 40000;
  std::vector<double> x(4 * n, 2);
  std::fill(x.begin() + 2 * n, x.end(), -2);
  auto const of = [&](auto const& f) {
    return of_fed<TypeParam>(x, [&](value v) { return f(reshape(v, {2, 2, static_cast<std::int64_t>(n)})); });
  };
  std::vector<double> const none{0, 0};
  EXPECT_EQ(of([](value v) { return value(sum<0, 2>(v)); }), none);  // each half is 80000
  EXPECT_EQ(of([](value v) { return value(mean<0, 2>(v)); }), none);
  EXPECT_EQ(of([](value v) {
              value const bias = reshape(slice(reshape(v, {-1}), {0}, {2}), {1, 2, 1});
              return gradients(sum(v * bias), values{bias})[0];
            }),
            none);
}

TYPED_TEST(sixteen_bits, have_the_derivatives_of_atan2_and_of_max_among_many_equal_values) {
  auto const slope = [](double y, double x) {
    return of_fed<TypeParam>(
        {y, x}, [](value v) { return gradients(atan2(slice(v, {0}, {1}), slice(v, {1}, {1})), values{v})[0]; });
  };
  auto const at = slope(300, 400);
  EXPECT_NEAR(at[0], 1.6e-3, next_to<TypeParam>(1.6e-3));
  EXPECT_NEAR(at[1], -1.2e-3, next_to<TypeParam>(1.2e-3));
  std::vector<double> const equal(65536, 2);
  auto const parts = of_fed<TypeParam>(equal, [](value x) { return gradients(max(x) * 512, values{x})[0]; });
  EXPECT_EQ(parts, std::vector<double>(65536, std::ldexp(1, -7)));
}

TYPED_TEST(sixteen_bits, have_derivatives_of_activations_where_these_are_flat) {
  double const infinite = std::numeric_limits<double>::infinity();
  std::vector<double> const x{-infinite, -60000, -1000, -256, 256, 1000, 60000, infinite};
  std::vector<double> const steps{0, 0, 0, 0, 1, 1, 1, 1}, none(8, 0);
  auto const expect_flat = [&](std::string const& name, auto f) {
    SCOPED_TRACE(name);
    auto const first = [f](value v) { return gradients(value(f(v)), values{v})[0]; };
    EXPECT_EQ(of_fed<TypeParam>(x, first), steps);
    EXPECT_EQ(of_fed<TypeParam>(x, [&](value v) { return gradients(first(v), values{v}, true)[0]; }), none);
  };
  expect_flat("silu", [](value v) { return silu(v); });
  expect_flat("gelu", [](value v) { return gelu(v); });
  expect_flat("gelu_tanh", [](value v) { return gelu_tanh(v); });
  expect_flat("mish", [](value v) { return mish(v); });
  expect_flat("hardswish", [](value v) { return hardswish(v); });
  EXPECT_EQ(of_fed<TypeParam>(x, [](value v) { return gradients(normal_cdf(v), values{v})[0]; }), none);
  EXPECT_EQ(of_fed<TypeParam>(x, [](value v) { return gradients(softsign(v), values{v})[0]; })[0], 0);
  // 1 - tanh(5)² from the rounded tanh would be 0, or far off.
  EXPECT_NEAR(of_fed<TypeParam>({5}, [](value v) { return gradients(tanh(v), values{v})[0]; })[0], 1.8158e-4, 1e-6);
}

TYPED_TEST(sixteen_bits, are_clipped_by_a_norm_that_they_do_not_have) {
  use_elements<dtype::float16, dtype::bfloat16>();
  graph g;
  auto const w = variable(constant(g, from_doubles(dtype_of<TypeParam>, {4}, {0, 0, 0, 0})), "w");
  auto const large = constant(g, from_doubles(dtype_of<TypeParam>, {4}, {40000, 40000, 40000, 40000}));
  auto const clipped = clip_by_global_norm(variable_gradients(sum(w * large), {w}), 1);
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  for (auto const x : to_doubles(s.run(clipped[0].gradient.dense))) EXPECT_NEAR(x, 0.5, next_to<TypeParam>(0.5));
}

TYPED_TEST(sixteen_bits, of_weights_take_steps_that_they_could_not_store) {
  use_elements<dtype::float16, dtype::bfloat16>();
  graph g;
  std::vector<variable_value> w;
  std::vector<operation> train;
  auto const first = constant(g, from_doubles(dtype_of<TypeParam>, {2}, {1, 0}));
  auto const one = constant(g, from_doubles(dtype_of<TypeParam>, {2}, {1, 1}));
  auto const by = [&](auto const& optimizer, bool sparse = false) {
    w.push_back(variable(first, "w" + std::to_string(w.size())));
    value const which = constant(g, vector<std::int64_t>({0, 1}));
    value const rows = sparse ? value(gather(w.back(), which)) : value(w.back());
    train.push_back(optimizer.minimize(sum(rows * one), {w.back()}));
  };
  by(gradient_descent{1e-4}), by(gradient_descent{1e-4}, true);
  by(gradient_descent{.rate = 1e-4, .weight_decay = {.l2 = 1e-9}});
  by(adam{.rate = 1e-4}), by(lion{.rate = 1e-4}), by(momentum{.rate = 1e-4, .decay = 0.0});
  by(adamax{.rate = 1e-4}), by(nadam{.rate = 1e-4, .first_decay = 0}), by(rmsprop{.rate = 1e-4, .decay = 0});
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  for (int i = 0; i < 1000; ++i)
    for (auto const& each : train) s.run(each);
  for (auto const& each : w) {
    auto const now = to_doubles(s.run(each));
    EXPECT_NEAR(now[0], 0.9, next_to<TypeParam>(0.9)) << each.name();
    EXPECT_NEAR(now[1], -0.1, 1e-3) << each.name();
  }
  // What something else assigns is not undone.
  auto const reset = assign(w[0], first * 3);
  s.run(reset), s.run(train[0]);
  EXPECT_EQ(to_doubles(s.run(w[0]))[0], 3);
}

TYPED_TEST(sixteen_bits, move_by_rates_that_they_could_not_store) {
  use_elements<dtype::float16, dtype::bfloat16>();
  graph g;
  auto const w = variable(constant(g, from_doubles(dtype_of<TypeParam>, {1}, {0})), "w");
  auto const loss = sum(w * constant(g, from_doubles(dtype_of<TypeParam>, {1}, {60000})));
  auto const train = gradient_descent{1e-8}.minimize(loss, {w});
  session s{g, {.threads = 1}};
  s.run(initializer(g)), s.run(train);
  EXPECT_NEAR(to_doubles(s.run(w))[0], -6e-4, 6e-6);
}

TYPED_TEST(sixteen_bits, of_a_batch_norm_have_moving_averages_that_arrive) {
  use_elements<dtype::float16, dtype::bfloat16>();
  graph g;
  batch_norm_layer const norm(g, type(dtype_of<TypeParam>, {2}), "norm", {.decay = 0.99});
  auto const x = constant(g, from_doubles(dtype_of<TypeParam>, {2, 2}, {5, 300, 5, -300}));
  auto const y = norm(value(x), true);
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  for (int i = 0; i < 2000; ++i) s.run(y);
  EXPECT_NEAR(to_doubles(s.run(norm.mean()))[0], 5, 1e-3);
  EXPECT_NEAR(to_doubles(s.run(norm.variance()))[1], 90000, 1);
  EXPECT_EQ(y.type().element, dtype_of<TypeParam>);
  EXPECT_EQ(to_doubles(s.run(y)), (std::vector<double>{0, 1, 0, -1}));
}

TYPED_TEST(sixteen_bits, of_variables_have_averages_that_arrive) {
  use_elements<dtype::float16, dtype::bfloat16>();
  graph g;
  auto const w = variable(constant(g, from_doubles(dtype_of<TypeParam>, {1}, {0})), "w");
  moving_averages const averages({w}, {.decay = 0.99});
  auto const update = averages.update({});
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  s.run(assign(w, constant(g, from_doubles(dtype_of<TypeParam>, {1}, {5}))));
  for (int i = 0; i < 2000; ++i) s.run(update);
  EXPECT_NEAR(to_doubles(s.run(averages.average(w)))[0], 5, 1e-3);
}

TYPED_TEST(sixteen_bits, of_a_window_that_overlaps_many_are_added_up) {
  std::vector<double> image(600, 0);
  image[300] = 7;
  auto const got = of_fed<TypeParam>(image, [](value x) {
    auto const y = max_pool(reshape(x, {1, 600, 1, 1}), pooling{.window = {301, 1}, .stride = {1, 1}});
    return gradients(sum(y), values{x})[0];
  });
  EXPECT_EQ(got[300], 300);
}

TYPED_TEST(sixteen_bits, of_a_range_have_the_derivative_of_the_step) {
  auto const got = of_fed<TypeParam>({0, 40960, 1}, [](value x) {
    auto const part = [&](std::int64_t i) { return reshape(slice(x, {i}, {1}), extents{}); };
    auto const all = range(part(0), part(1), part(2));
    auto const n = positions(all, 0, dtype::int64);
    auto const weights = select(equal(mod(n, like(n, 2)), like(n, 0)), like(all, 2), like(all, -2));
    return vjp(all, values{x}, weights)[0];
  });
  EXPECT_EQ(got[2], -40960);  // 0 - 2 + 4 - 6 …; numbers from 32,752 on, twice, are no float16
}

TYPED_TEST(sixteen_bits, of_scores_that_do_not_fit_hide_what_a_query_does_not_see) {
  auto const got = of_fed<TypeParam>({300, 300, -300, -300, 1, 2}, [](value x) {
    auto const rows = [&](std::int64_t i) { return reshape(slice(x, {i}, {2}), {1, 2, 1}); };
    return attention(rows(0), rows(2), rows(4), {.causal = true});
  });
  EXPECT_EQ(got, (std::vector<double>{1, 1.5}));
}

TYPED_TEST(sixteen_bits, of_many_steps_are_averaged_by_an_accumulator) {
  use_elements<dtype::float16, dtype::bfloat16>();
  graph g;
  accumulator<of<TypeParam, 2>> const all(g, "all");
  auto const add =
      all.apply(constant(g, from_doubles(dtype_of<TypeParam>, {2}, {1, 60000})), constant(g, std::int64_t{0}));
  auto const mean = all.average(5000);
  session s{g, {.threads = 1}};
  for (int i = 0; i < 5000; ++i) s.run(add);
  auto const got = to_doubles(s.run(mean));
  EXPECT_EQ(got, to_doubles(from_doubles(dtype_of<TypeParam>, {2}, {1, 60000})));
}

TYPED_TEST(sixteen_bits, of_a_loss_have_one_rounding_within_a_lambda_of_fuse) {
  use_elements<dtype::float16, dtype::bfloat16>();
  graph g;
  auto const x = placeholder<TypeParam, 3>(g, "x");
  auto const y = fuse([](auto v) { return gelu_tanh(v) + softsign(v) * 0; }, x);
  auto const apart = gelu_tanh(x);
  session s{g, {.threads = 1}};
  auto const in = from_doubles(dtype_of<TypeParam>, {3}, {0.7, -1.3, 2.1});
  EXPECT_EQ(to_doubles(s.run({{x, in}}, y)), to_doubles(s.run({{x, in}}, apart)));
}

// The last c of an LSTM over 400 steps whose gates add a little to it in each, for weights that are exact in T.
template <class T, class In> double state_of_lstm() {
  graph g;
  auto const x = placeholder<T, 400, 1, 2>(g, "x");
  recurrent_layer<lstm_cell<2>, of<T, 2>> const layer(g, "lstm", {.forget_bias = 30});
  auto const outputs = layer(x);
  session s{g, {.threads = 1}};
  for (auto const& v : layer.variables()) {
    std::vector<double> all(static_cast<std::size_t>(elements(v.type().shape())));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<double>(i % 5) / 16;
    s.run(assign(v, constant(g, from_doubles(dtype_of<T>, v.type().shape(), all))));
  }
  std::vector<double> const few(800, 0.01);
  auto const in = from_doubles(dtype_of<T>, {400, 1, 2}, to_doubles(from_doubles(dtype_of<In>, {800}, few)));
  return to_doubles(s.run({{x, in}}, std::get<1>(outputs.state)))[0];
}

TYPED_TEST(sixteen_bits, of_a_recurrent_layer_add_up_over_many_steps) {
  use_elements<dtype::float16, dtype::bfloat16>();
  double const exact = state_of_lstm<double, TypeParam>();
  EXPECT_GT(exact, 1);
  EXPECT_NEAR((state_of_lstm<TypeParam, TypeParam>()), exact, next_to<TypeParam>(exact) * 0.51);
}

TYPED_TEST(sixteen_bits, beside_another_float_are_refused) {
  graph g;
  value const x = placeholder(g, type(dtype_of<TypeParam>, {2})), y = placeholder(g, type(dtype::float32, {2}));
  EXPECT_THROW(mse(x, y), error);
  EXPECT_THROW(mse(y, x), error);
  EXPECT_THROW(average(x, y, extents{0}), error);
}

}  // namespace
}  // namespace rill
