#include "rill/train/optimizer.hpp"

#include <gtest/gtest.h>

#include "io/scratch.hpp"
#include "ops/run.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/function.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/ops/list/use_elements.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/table/gather.hpp"
#include "rill/run/session.hpp"
#include "rill/state/container.hpp"
#include "rill/train/adam.hpp"
#include "rill/train/clip.hpp"
#include "rill/train/gradient_descent.hpp"
#include "rill/train/initializers.hpp"
#include "rill/train/momentum.hpp"

namespace rill {
namespace {

struct recorded {
  std::string name;
  std::vector<double> losses, weights;
};
recorded const reference[] = {
#include "reference.inc"
};

// The model of reference.py.
struct small_model {
  graph g;
  variable_expr<of<float, 3, 2>> w = variable(constant<float, 3, 2>(g, {0.1f, -0.2f, 0.3f, 0.4f, -0.5f, 0.6f}), "w");
  variable_expr<of<float, 2>> b = variable(constant<float, 2>(g, {0, 0}), "b");
  expr<of<float>> loss = [&] {
    auto x = constant<float, 5, 3>(g, {0.5f, -1, 2, 1.5f, 0.25f, -0.75f, -1, 1, 0.5f, 0, -0.5f, 1, 2, 1, -1});
    auto t = constant<float, 5, 2>(g, {0.5f, -0.5f, 0.25f, 1, -1, 0.75f, 0, 0.5f, 1, -1});
    return mean(square(tanh(matmul(x, expr(w)) + b) - t));
  }();
};

void expect_as_recorded(std::string_view name, auto make) {
  auto const& expected =
      *std::find_if(std::begin(reference), std::end(reference), [&](auto& r) { return r.name == name; });
  small_model m;
  operation const train = make(m);
  session s{m.g, {.threads = 1}};
  s.run(initializer(m.g));
  for (std::size_t i = 0; i < 20; ++i) {
    float const loss = s.run(m.loss, train);
    EXPECT_NEAR(loss, expected.losses[i], 2e-6 * std::max(1.0, expected.losses[i])) << name << ", step " << i;
  }
  tensor const w = s.run(m.w), b = s.run(m.b);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(i < 6 ? w.span<float>()[i] : b.span<float>()[i - 6], expected.weights[i], 5e-6)
        << name << ", weight " << i;
}

TEST(optimizers, step_as_torch_steps) {
  expect_as_recorded("gradient_descent", [](auto& m) { return gradient_descent{.rate = 0.5}.minimize(m.loss); });
  expect_as_recorded("momentum", [](auto& m) { return momentum{.rate = 0.1}.minimize(m.loss); });
  expect_as_recorded("nesterov", [](auto& m) { return momentum{.rate = 0.1, .nesterov = true}.minimize(m.loss); });
  expect_as_recorded("adam", [](auto& m) { return adam{.rate = 0.05f}.minimize(m.loss); });
  expect_as_recorded("adam_other_decays", [](auto& m) {
    return adam{.rate = 0.05, .first_decay = 0.5, .second_decay = 0.9, .epsilon = 1e-4}.minimize(m.loss);
  });
  expect_as_recorded("clipped", [](auto& m) {
    return gradient_descent{.rate = 0.5}.apply(clip_by_global_norm(variable_gradients(m.loss), 0.25));
  });
}

TEST(optimizers, train_the_variables_that_the_loss_depends_on) {
  small_model m;
  auto unused = variable(constant(m.g, 1.f), "unused");
  auto count = variable(constant(m.g, 1), "count");
  auto stopped = variable(constant(m.g, 2.f), "stopped");
  value const loss = m.loss + cast<float>(count) + stop_gradient(expr(stopped));
  std::vector<std::string> names;
  for (auto const& v : variable_gradients(loss)) names.push_back(v.variable.name());
  EXPECT_EQ(names, (std::vector<std::string>{"w", "b"}));
  EXPECT_EQ(refusal([&] { momentum{}.minimize(loss, {unused}); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { momentum{}.minimize(loss, {m.w, stopped}); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { momentum{}.minimize(constant(m.g, 1.f)); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { momentum{}.apply({}); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { momentum{}.apply({{gradient(), m.w}}); }), code::invalid_argument);
  auto const only = gradient_descent{.rate = 1}.minimize(loss, {m.b});
  session s{m.g, {.threads = 1}};
  s.run(initializer(m.g));
  auto const before = tensor(s.run(m.w)).clone();
  s.run(only);
  EXPECT_TRUE(same_bits(before, s.run(m.w)));
  EXPECT_NE(s.run(m.b).values()[0], 0);
}

TEST(optimizers, train_no_variable_declared_as_not_trainable) {
  graph g;
  auto w = variable(constant(g, 1.f), "w");
  auto scale = variable(constant(g, 3.f), "scale", {.trainable = false});
  value average = variable(g, of<float>, "average", zeros(), {.trainable = false});
  auto typed = variable<float>(g, "typed", constant(2), {.trainable = false});
  auto restored = variable<float>(g, "restored");  // trainable without a first value
  auto frozen = variable<float>(g, "frozen", {.trainable = false});
  value const loss = expr(w) * expr(scale) * expr(typed) + average + expr(restored) * expr(frozen);
  auto const names = [](std::vector<variable_value> const& all) {
    std::string text;
    for (auto const& v : all) text += v.name() + " ";
    return text;
  };
  EXPECT_EQ(names(trainable_variables(loss)), "w restored ");
  EXPECT_FALSE(is_trainable(scale));
  EXPECT_TRUE(is_trainable(w));
  auto const train = gradient_descent{.rate = 1}.minimize(loss);
  auto const by_name = gradient_descent{.rate = 1}.minimize(loss, {scale});  // a listed variable is trained
  test::expect_error(code::invalid_argument, "depends on no trainable variable",
                     [&] { gradient_descent{}.minimize(value(expr(scale) * 2.f)); });
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  s.run(assign(restored, constant(g, 1.f)), assign(frozen, constant(g, 4.f)));
  s.run(train);
  EXPECT_EQ(float(s.run(w)), 1 - 3 * 2);
  EXPECT_EQ(float(s.run(scale)), 3);
  EXPECT_EQ(float(s.run(restored)), -3);
  EXPECT_EQ(float(s.run(frozen)), 4);
  s.run(by_name);
  EXPECT_EQ(float(s.run(scale)), 3 + 5 * 2);
  // The bytes contain the flag.
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  EXPECT_EQ(names(trainable_variables(*again)), "w restored ");
  EXPECT_EQ(names(trainable_variables(again->find(loss.name()))), "w restored ");
}

TEST(optimizers, train_the_variables_that_a_body_reads) {
  graph g;
  auto w = variable(constant(g, 1.f), "w"), v = variable(constant(g, 1.f), "v");
  auto scale = variable(constant(g, 3.f), "scale", {.trainable = false});
  auto const losses = map(
      [&](auto x) {
        auto const loss = x * expr(w) * expr(scale);
        EXPECT_EQ(trainable_variables(loss).size(), 1u);
        gradient_descent{.rate = 1}.minimize(loss);
        return loss + expr(v);
      },
      constant<float, 2>(g, {1, 2}));
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  s.run(losses);
  EXPECT_EQ(float(s.run(w)), 1 - 3 - 6);
  EXPECT_EQ(float(s.run(scale)), 3);
  EXPECT_EQ(float(s.run(v)), 1);
}

TEST(optimizers, have_slots_that_no_optimizer_trains) {
  small_model m;
  auto unused = variable(constant(m.g, 1.f), "generator/w");
  auto const first = adam{.rate = 0.1}.minimize(m.loss, {m.w}), second = adam{.rate = 0.1}.minimize(m.loss);
  momentum{}.minimize(m.loss);
  m.g.scope("tuning", [&] { momentum{}.minimize(m.loss, {m.b}); });
  for (auto name : {"adam/step", "w/adam/m", "adam_1/step", "w/adam_1/m", "w/adam_1/v", "b/adam/m", "w/momentum",
                    "b/momentum", "b/momentum_1"})
    EXPECT_TRUE(m.g.contains(name)) << name;
  EXPECT_EQ(trainable_variables(m.g).size(), 3u);
  EXPECT_EQ(trainable_variables(m.g, "generator/").at(0).node, unused.node);
  EXPECT_EQ(trainable_variables(value(m.loss + sum(expr<of<float, 3, 2>>{m.g.find("w/adam/m")}))).size(), 2u);
  session s{m.g, {.threads = 1}};
  s.run(initializer(m.g));
  s.run(first);
  EXPECT_EQ(s.run("adam_1/step").at<std::int64_t>(), 0);
  EXPECT_EQ(s.run("adam/step").at<std::int64_t>(), 1);
  s.run(second);
  EXPECT_EQ(s.run("adam_1/step").at<std::int64_t>(), 1);
  EXPECT_EQ(s.run("adam/step").at<std::int64_t>(), 1);
}

TEST(optimizers, name_their_slots_after_the_variable) {
  small_model m;
  adam{}.minimize(m.loss);
  momentum{}.minimize(m.loss);
  for (auto name : {"w/adam/m", "w/adam/v", "b/adam/m", "b/adam/v", "adam/step", "w/momentum"})
    EXPECT_NO_THROW(m.g.find(name)) << name;
  EXPECT_EQ(m.g.find("w/adam/m").type(), (of<float, 3, 2>));
}

TEST(optimizers, have_slots_that_bodies_read) {
  small_model m;
  auto const train = momentum{}.minimize(m.loss);
  value const slot = m.g.find("w/momentum");
  auto const times = placeholder<int>(m.g, "times");
  auto const sums = while_loop(
      [&](auto const& all) { return less(all[0], times); },
      [&](auto const& all) { return std::vector<value>{add(all[0], like(all[0], 1)), add(all[1], sum(slot))}; },
      std::vector<value>{constant(m.g, 0), constant(m.g, 0.f)});
  auto const f = function<"slot_of_w">(m.g, [&] { return expr<of<float, 3, 2>>{slot}; });
  auto const again = graph_from_bytes(to_bytes(m.g), all_operations());
  for (auto* g : {&m.g, &*again}) {
    session s{*g, {.threads = 1}};
    s.run(initializer(*g));
    s.run(operation(g->find(train.origin().name)));
    auto const v = s.run(slot.name());
    EXPECT_NE(v.at<float>(0, 0), 0);
    float expected = 0;
    for (auto e : v.span<float>()) expected += e;
    EXPECT_NEAR(s.run({{"times", tensor(3)}}, sums[1].name()).at<float>(), 3 * expected, 1e-6);
    if (g == &m.g) {
      EXPECT_TRUE(same_bits(s.run(f()), v));
    }
  }
}

TEST(optimizers, take_a_rate_that_the_graph_computes) {
  small_model m;
  auto rate = placeholder<double>(m.g, "rate");
  auto train = gradient_descent{.rate = rate}.minimize(m.loss);
  session s{m.g, {.threads = 1}};
  s.run(initializer(m.g));
  s.run({{rate, tensor(0.0)}}, train);
  EXPECT_EQ(s.run(m.w).values()[0], 0.1f);
  s.run({{rate, tensor(1.0)}}, train);
  EXPECT_NE(s.run(m.w).values()[0], 0.1f);
}

// A table; a step gathers its rows 1, 3, 1.
struct table_model {
  graph g;
  variable_expr<of<double, 4, 2>> table = variable(constant<double, 4, 2>(g, {1, 2, 3, 4, 5, 6, 7, 8}), "table");
  expr<of<std::int64_t, 3>> which = constant<std::int64_t, 3>(g, {1, 3, 1});
  expr<of<double>> loss(bool sparse) {
    if (sparse) return mean(square(gather(table, which)));
    return mean(square(gather(expr(table) * 1.0, which)));  // the product's gradient is dense
  }
};

TEST(optimizers, step_on_sparse_gradients_as_on_dense_ones) {
  auto const run = [](bool sparse, auto optimizer) {
    table_model m;
    auto const gradients = variable_gradients(m.loss(sparse));
    EXPECT_EQ(gradients.at(0).gradient.sparse(), sparse);
    auto const train = optimizer.apply(gradients);
    session s{m.g, {.threads = 1}};
    s.run(initializer(m.g));
    for (int i = 0; i < 5; ++i) s.run(train);
    auto const t = s.run(m.table);
    return std::vector(t.values().begin(), t.values().end());
  };
  auto const same = [&](auto optimizer) {
    auto const sparse = run(true, optimizer), dense = run(false, optimizer);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(sparse[i], dense[i], 1e-12) << i;
  };
  same(gradient_descent{.rate = 0.3});
  same(momentum{.rate = 0.3});
  same(adam{.rate = 0.3});
}

TEST(optimizers, do_not_copy_a_table_for_a_sparse_step) {
  table_model m;
  auto const train = gradient_descent{.rate = 0.3}.minimize(m.loss(true));
  session s{m.g, {.threads = 1}};
  s.run(initializer(m.g));
  auto const address = [&] {
    return m.g.find("table").graph ? s.state().variable("table", of<double, 4, 2>)->read().raw() : nullptr;
  };
  auto const before = address();
  s.run(train);
  EXPECT_EQ(address(), before);
}

TEST(clip, scales_down_gradients_of_too_large_a_norm) {
  graph g;
  auto x = constant<double, 2>(g, {3, 4});
  session s{g, {.threads = 1}};
  EXPECT_EQ(s.run(clip_by_norm(x, 10)).values()[1], 4);
  EXPECT_DOUBLE_EQ(s.run(clip_by_norm(x, 1)).values()[1], 0.8);
  EXPECT_EQ(s.run(clip_by_norm(x * 0.0, 1)).values()[1], 0) << "no division by zero";
  EXPECT_EQ(refusal([&] { clip_by_norm(x, 0); }), code::invalid_argument);
}

TEST(clip, computes_norms_of_elements_whose_squares_overflow) {
  graph g;
  auto const x = placeholder<float, unknown>(g), other = placeholder<float, unknown>(g);
  auto const y = placeholder<double, 2>(g);
  auto const one = clip_by_norm(x, 5), far = clip_by_norm(x, 1e35);
  auto const wide = clip_by_norm(y, 5);
  auto const slope = gradients(value(sum(one * one)), {x})[0];
  session s(g);
  std::vector<feed> const fed{{x, vector<float>({3e30f, -4e30f, 0.f})}};
  auto const clipped = s.run(fed, one);
  EXPECT_FLOAT_EQ(clipped.at<float>(0), 3);
  EXPECT_FLOAT_EQ(clipped.at<float>(1), -4);
  EXPECT_EQ(clipped.at<float>(2), 0);
  EXPECT_TRUE(same_bits(s.run(fed, far), fed[0].with)) << "its norm is below the limit";
  EXPECT_TRUE(same_bits(s.run({{x, tensor(dtype::float32, {0})}}, one), tensor(dtype::float32, {0})));
  auto const slopes = s.run(fed, slope);
  for (float each : slopes.span<float>()) EXPECT_NEAR(each, 0, 1e-20) << "the norm is always 5";
  EXPECT_DOUBLE_EQ(s.run({{y, vector<double>({3e200, 4e200})}}, wide).at<double>(1), 4);

  // The norm of gradients of two types.
  auto const of = [](value v) { return variable_gradient{gradient(v), {}}; };
  auto const norm = global_norm({of(x), of(other)});
  EXPECT_FLOAT_EQ(s.run({fed[0], {other, vector<float>({12e30f})}}, norm).item<float>(), 13e30f);
  auto const mixed = global_norm({of(x), of(y)});
  EXPECT_NEAR(s.run({fed[0], {y, vector<double>({0, 12e30})}}, mixed).item<double>(), 13e30, 1e24);
  auto const doubles = global_norm({of(y)});
  EXPECT_DOUBLE_EQ(s.run({{y, vector<double>({3e200, 4e200})}}, doubles).item<double>(), 5e200);
}

TEST(clip, by_an_infinite_norm_changes_nothing) {
  graph g;
  auto const x = placeholder<float, 4>(g);
  auto const of = [](value v) { return variable_gradient{gradient(v), {}}; };
  session s(g);
  float const largest = std::numeric_limits<float>::max();
  std::vector<feed> const fed{{x, vector<float>({largest, -largest, largest, 1e-30f})}};
  for (double const most : {std::numeric_limits<double>::infinity(), 1e39}) {
    EXPECT_TRUE(same_bits(s.run(fed, clip_by_norm(x, most)), fed[0].with));
    EXPECT_TRUE(same_bits(s.run(fed, clip_by_global_norm({of(x)}, most)[0].gradient.dense), fed[0].with));
  }
  // The norm, √3 times the largest number, has no float32.
  auto const half = std::sqrt(1 / 3.f);
  EXPECT_FLOAT_EQ(s.run(fed, clip_by_global_norm({of(x)}, 1)[0].gradient.dense).at<float>(1), -half);
  EXPECT_FLOAT_EQ(s.run(fed, clip_by_norm(x, 1)).values()[1], -half);
  EXPECT_EQ(s.run({{x, vector<float>({0, 0, 0, 0})}}, clip_by_norm(x, 1e-60)).values()[0], 0);
}

TEST(clip, scales_gradients_of_several_types_by_their_common_norm) {
  use_elements<dtype::float16>();
  graph g;
  auto const x = placeholder<float, 2>(g);
  auto const y = placeholder<double, 1>(g);
  auto const h = placeholder<half, 1>(g);
  auto const of = [](value v) { return variable_gradient{gradient(v), {}}; };
  session s(g);
  auto const both = clip_by_global_norm({of(x), of(y)}, 1e10);
  std::vector<feed> const fed{{x, vector<float>({3e30f, 4e30f})}, {y, vector<double>({1e50})}};
  EXPECT_FLOAT_EQ(s.run(fed, both[0].gradient.dense).at<float>(0), 3e-10f) << "1e50 has no float32";
  EXPECT_DOUBLE_EQ(s.run(fed, both[1].gradient.dense).at<double>(0), 1e10);
  std::vector<feed> const larger{fed[0], {y, vector<double>({1e200})}};
  EXPECT_DOUBLE_EQ(s.run(larger, both[1].gradient.dense).at<double>(0), 1e10);
  EXPECT_DOUBLE_EQ(s.run(larger, global_norm({of(x), of(y)})).item<double>(), 1e200);
  auto const halves = clip_by_global_norm({of(h), of(x)}, 1e30);
  std::vector<feed> const with_half{fed[0], {h, vector<half>({half(5)})}};
  EXPECT_EQ(float(s.run(with_half, halves[0].gradient.dense).at<half>(0)), 1);
  EXPECT_FLOAT_EQ(s.run(with_half, halves[1].gradient.dense).at<float>(1), 0.8e30f);
}

TEST(clip, takes_complex_numbers_and_refuses_integers) {
  graph g;
  session s(g);
  auto const z = constant<std::complex<float>, 2>(g, {{0, 3}, {4, 0}});
  EXPECT_TRUE(same_bits(s.run(clip_by_norm(z, 10)), vector<std::complex<float>>({{0, 3}, {4, 0}})));
  auto const clipped = s.run(clip_by_global_norm({{gradient(value(z)), {}}}, 1)[0].gradient.dense);
  EXPECT_FLOAT_EQ(clipped.at<std::complex<float>>(0).imag(), 0.6f);
  EXPECT_FLOAT_EQ(clipped.at<std::complex<float>>(1).real(), 0.8f);
  EXPECT_EQ(refusal([&] { clip_by_norm(constant<int, 2>(g, {3, 4}), 1); }), code::invalid_argument);
}

TEST(clip, computes_one_norm_of_all_gradients) {
  table_model m;
  auto u = variable(constant<float, 2>(m.g, {6, 8}), "u");
  auto const all = variable_gradients(m.loss(true) + cast<double>(sum(square(u))));
  session s{m.g, {.threads = 1}};
  s.run(initializer(m.g));
  // rows: mean of 6 squares: 2 / 6 x at rows 1, 3, 1; u: 2 u
  double const squares = (2 * (9 + 16) + 49 + 64) / 9.0 + 4 * (36 + 64);
  EXPECT_NEAR(s.run(global_norm(all)).item<double>(), std::sqrt(squares), 1e-6);
  auto const clipped = clip_by_global_norm(all, 2);
  EXPECT_TRUE(clipped[0].gradient.sparse());
  EXPECT_NEAR(s.run(global_norm(clipped)).item<double>(), 2, 1e-6);
}

TEST(clip, of_16_bits_computes_in_32_and_has_a_derivative_at_0) {
  use_elements<dtype::float16, dtype::bfloat16>();
  graph g;
  session s{g, {.threads = 1}};
  auto const x = constant<half, 2>(g, {half(300), half(400)});
  EXPECT_TRUE(same_bits(s.run(clip_by_norm(x, 1)), vector<half>({half(0.6f), half(0.8f)})));
  auto const v = variable(x, "v");
  auto const w = variable(constant<half, 2>(g, {half(0), half(0)}), "w");
  s.run(initializer(g));
  auto const clipped = clip_by_global_norm(variable_gradients(sum(v * x) + sum(w * w)), 1);
  EXPECT_NEAR(s.run(global_norm(clipped)).item<float>(), 1, 1e-3);
  auto const zero = placeholder<float, 2>(g, "zero");
  auto const slope = gradients(value(sum(clip_by_norm(zero, 2))), {zero})[0];
  EXPECT_TRUE(same_bits(s.run({{zero, vector<float>({0, 0})}}, slope), vector<float>({1, 1})));
}

TEST(clip, by_one_norm_of_all_gradients_has_a_derivative_where_they_are_0) {
  graph g;
  session s{g, {.threads = 1}};
  auto const x = placeholder<float, 2>(g, "x");
  auto const y = placeholder<double, 1>(g, "y");
  std::vector<variable_gradient> const all{{gradient(value(x)), {}}, {gradient(value(y)), {}}};
  auto const norm = global_norm(all);
  auto const clipped = clip_by_global_norm(all, 2);
  auto const total = sum(cast(clipped[0].gradient.dense, dtype::float64)) + sum(clipped[1].gradient.dense);
  auto const slopes = gradients(total, {x, y}), of_norm = gradients(norm, {x, y});
  std::vector<feed> const zeros{{x, vector<float>({0, 0})}, {y, vector<double>({0})}};
  EXPECT_EQ(s.run(zeros, norm).item<double>(), 0);
  EXPECT_TRUE(same_bits(s.run(zeros, slopes[0]), vector<float>({1, 1})));
  EXPECT_TRUE(same_bits(s.run(zeros, slopes[1]), vector<double>({1})));
  EXPECT_TRUE(same_bits(s.run(zeros, of_norm[0]), vector<float>({0, 0})));
}

TEST(optimizers, compute_16_bit_variables_updates_in_32_bits) {
  use_elements<dtype::float16, dtype::bfloat16>();
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  std::vector<variable_value> const all{
      variable(constant<half, 3>(g, {half(1), half(2), half(3)}), "half"),
      variable(constant<bfloat16, 3>(g, {bfloat16(1), bfloat16(2), bfloat16(3)}), "bfloat16")};
  for (auto const& v : all) {
    value const loss = sum(cast(v, dtype::float32) * x);
    auto const train = adam{.rate = 0.25}.minimize(loss, {v});
    auto const roll = momentum{.rate = 0.01, .decay = 0.5}.minimize(loss, {v});
    session s{g, {.threads = 1}};
    s.run(initializer(g));
    for (int i = 0; i < 2; ++i) s.run({{x, vector<float>({0, 1e-4f, 100})}}, train);
    auto const now = s.run(cast(v, dtype::float32));
    EXPECT_EQ(now.at<float>(0), 1) << v.name() << ": a gradient of 0 changes nothing";
    EXPECT_NEAR(now.at<float>(1), 1.5, 0.01) << v.name();
    EXPECT_NEAR(now.at<float>(2), 2.5, 0.01) << v.name();
    for (auto const* slot : {"/adam/m", "/adam/v", "/momentum"})
      EXPECT_EQ(g.find(std::string(v.name()) + slot).type().element, dtype::float32);
    s.run({{x, vector<float>({0, 0, 100})}}, roll);
    EXPECT_NEAR(s.run(cast(v, dtype::float32)).at<float>(2), now.at<float>(2) - 1, 0.02) << v.name();
  }
}

}  // namespace
}  // namespace rill
