#include "rill/train/moving_averages.hpp"

#include <gtest/gtest.h>

#include "io/scratch.hpp"
#include "ops/run.hpp"
#include "rill/ops/list/use_elements.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/table/gather.hpp"
#include "rill/run/session.hpp"
#include "rill/train/adam.hpp"
#include "rill/train/clip.hpp"
#include "rill/train/gradient_descent.hpp"
#include "rill/train/gradient_sums.hpp"
#include "rill/train/momentum.hpp"
#include "rill/train/saver.hpp"

namespace rill {
namespace {

// w falls by x in each step.
struct falling {
  graph g;
  expr<of<double>> x = placeholder<double>(g, "x");
  variable_expr<of<double>> w = variable(constant(g, 10.0), "w");
  value loss = w * x;
  operation train = gradient_descent{.rate = 1}.minimize(loss);
};

TEST(moving_averages, follow_the_variables_after_each_step) {
  falling m;
  moving_averages const averages({m.w}, {.decay = 0.75});
  auto const train = averages.update({m.train});
  session s{m.g, {.threads = 1}};
  s.run(initializer(m.g));
  EXPECT_EQ(s.run("w/average").item<double>(), 10) << "the first value";
  double w = 10, average = 10;
  for (double const x : {1.0, 3.0, -2.0}) {
    s.run({{m.x, tensor(x)}}, train);
    w -= x;
    average += (w - average) * 0.25;
    EXPECT_EQ(s.run(averages.average(m.w)).item<double>(), average);
    EXPECT_EQ(double(s.run(m.w)), w);
  }
  EXPECT_EQ(trainable_variables(m.g).size(), 1u);
}

TEST(moving_averages, with_bias_correction_are_means_of_the_steps_alone) {
  falling m;
  moving_averages const averages({m.w}, {.decay = 0.9, .bias_correction = true});
  auto const train = averages.update({m.train});
  session s{m.g, {.threads = 1}};
  s.run(initializer(m.g));
  double w = 10, sum = 0, weights = 0;
  for (double const x : {1.0, 3.0, -2.0, 5.0}) {
    s.run({{m.x, tensor(x)}}, train);
    w -= x;
    sum = 0.9 * sum + 0.1 * w, weights = 0.9 * weights + 0.1;
    EXPECT_NEAR(s.run("w/average").item<double>(), sum / weights, 1e-14);
  }
}

TEST(moving_averages, are_swapped_with_the_variables_and_back) {
  for (int const threads : {1, 2}) {
    graph g;
    auto const a = variable(constant<float, 3>(g, {1, 2, 3}), "a");
    auto const b = variable(constant<double, 2>(g, {4, 5}), "b");
    moving_averages const averages({a, b}, {.decay = 0.5});
    auto const move = averages.update({assign(a, a * 3.f), assign(b, b * 3.0)});
    auto const swap = averages.swap();
    session s{g, {.threads = threads}};
    s.run(initializer(g));
    s.run(move);
    s.run(swap);
    EXPECT_TRUE(same_bits(s.run(a), vector<float>({2, 4, 6})));
    EXPECT_TRUE(same_bits(s.run(averages.average(a)), vector<float>({3, 6, 9})));
    EXPECT_TRUE(same_bits(s.run(b), vector<double>({8, 10})));
    s.run(swap);
    EXPECT_TRUE(same_bits(s.run(a), vector<float>({3, 6, 9})));
    EXPECT_TRUE(same_bits(s.run(averages.average(b)), vector<double>({8, 10})));
  }
}

TEST(moving_averages, of_16_bits_are_kept_in_32) {
  use_elements<dtype::float16>();
  graph g;
  auto const w = variable(constant(g, half(1)), "w");
  moving_averages const averages({w}, {.decay = 0.999});
  auto const move = averages.update({assign(w, constant(g, half(2)))});
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  s.run(move);
  EXPECT_FLOAT_EQ(s.run("w/average").item<float>(), 1.001f);
  s.run(averages.swap());
  EXPECT_EQ(s.run("w/average").item<float>(), 2);
}

// Swaps averages of T and back, in a session that restores the first swap's variables from another one.
template <class T> void expect_exact_averages() {
  use_elements<dtype::float16, dtype::bfloat16>();
  graph g;
  auto const w = variable(constant<T, 2>(g, {T(0), T(0)}), "w");
  moving_averages const averages({w}, {.decay = 0.99});
  auto const update = averages.update(), swap = averages.swap();
  auto const of = [](tensor const& t) { return std::pair{t.at<float>(0), t.at<float>(1)}; };
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  s.run(assign(w, constant<T, 2>(g, {T(5), T(5)})));
  for (int i = 0; i < 2000; ++i) {
    s.run(update);
    if (i % 3 == 0) s.run(swap), s.run(swap);
  }
  auto const before = of(s.run(averages.average(w)));
  EXPECT_NEAR(before.first, 5, 1e-3) << "steps that T could not store are not lost";
  s.run(swap);
  EXPECT_EQ(of(s.run(averages.average(w))), (std::pair{5.f, 5.f}));
  s.run(assign(w, constant<T, 2>(g, {T(7), T(before.second)})));
  s.run(swap);
  EXPECT_EQ(of(s.run(averages.average(w))), (std::pair{7.f, before.second})) << "what something else assigns stays";
  EXPECT_EQ(of(s.run(cast(w, dtype::float32))), (std::pair{5.f, 5.f}));
}

TEST(moving_averages, of_16_bits_survive_two_swaps_unrounded) {
  expect_exact_averages<half>();
  expect_exact_averages<bfloat16>();
}

TEST(moving_averages, of_16_bits_survive_a_checkpoint_between_two_swaps) {
  use_elements<dtype::float16, dtype::bfloat16>();
  scratch const folder;
  graph g;
  auto const w = variable(constant(g, half(1)), "w");
  moving_averages const averages({w});
  auto const move = averages.update({assign(w, constant(g, half(2)))}), swap = averages.swap();
  saver saves(g, folder / "w");
  session first{g, {.threads = 1}}, second{g, {.threads = 1}};
  first.run(initializer(g));
  first.run(move), first.run(swap);
  saves.save(first);
  EXPECT_TRUE(saves.restore(second));
  second.run(swap);
  EXPECT_FLOAT_EQ(second.run("w/average").item<float>(), 1.001f);
  EXPECT_EQ(second.run("w/average/exact").item<float>(), 2);
}

TEST(moving_averages, of_32_bits_have_no_further_slot) {
  falling m;
  moving_averages const averages({m.w});
  EXPECT_EQ(m.g.find_node("w/average/exact"), nullptr);
}

TEST(moving_averages, refuse_what_has_no_average) {
  falling m;
  auto const other = variable(constant(m.g, 1.0), "other");
  auto const count = variable(constant(m.g, 1), "count");
  auto const unknown_first = variable<double>(m.g, "unknown_first");
  test::expect_error(code::invalid_argument, "expected a decay from 0 to below 1, got 1",
                     [&] { moving_averages({m.w}, {.decay = 1}); });
  test::expect_error(code::invalid_argument, "expected a variable of floats or complex numbers, got int32",
                     [&] { moving_averages({m.w, count}); });
  test::expect_error(code::failed_precondition, "has no first value", [&] { moving_averages({unknown_first}); });
  EXPECT_NO_THROW(moving_averages({unknown_first}, {.bias_correction = true}));
  EXPECT_THROW(moving_averages({}), error);
  moving_averages const averages({m.w});
  test::expect_error(code::not_found, "the variable has no average here", [&] { averages.average(other); });
}

// A regression on eight examples, whole or by a batch that is fed.
struct regression {
  graph g;
  expr<of<double, unknown, 2>> x = placeholder<double, unknown, 2>(g, "x");
  expr<of<double, unknown, 1>> y = placeholder<double, unknown, 1>(g, "y");
  variable_expr<of<double, 2, 1>> w = variable(constant<double, 2, 1>(g, {0.5, -0.25}), "w");
  value loss = mean(square(matmul(x, expr(w)) - y));
};

TEST(gradient_sums, update_as_one_large_batch) {
  auto const x = test::scattered(dtype::float64, {8, 2}), y = test::scattered(dtype::float64, {8, 1}, 3);
  for (bool const with_momentum : {false, true}) {
    regression whole, parts;
    auto const optimize = [&](auto const& record) {
      return with_momentum ? record(momentum{.rate = 0.1}) : record(gradient_descent{.rate = 0.1});
    };
    auto const at_once = optimize([&](auto const& o) { return o.minimize(whole.loss); });
    gradient_sums const sums(variable_gradients(parts.loss));
    auto const add = sums.add(), train = optimize([&](auto const& o) { return sums.apply(o); });
    session a{whole.g, {.threads = 1}}, b{parts.g, {.threads = 1}};
    a.run(initializer(whole.g));
    b.run(initializer(parts.g));
    for (int step = 0; step < 4; ++step) {
      a.run({{whole.x, x}, {whole.y, y}}, at_once);
      for (std::int64_t i = 0; i < 8; i += 2) b.run({{parts.x, x.rows(i, i + 2)}, {parts.y, y.rows(i, i + 2)}}, add);
      b.run(train);
      for (std::size_t k = 0; k < 2; ++k)
        EXPECT_NEAR(tensor(a.run(whole.w)).span<double>()[k], tensor(b.run(parts.w)).span<double>()[k], 1e-15) << step;
    }
    EXPECT_EQ(b.run("gradient_sum/count").item<std::int64_t>(), 0);
  }
}

TEST(gradient_sums, start_again_after_gradients_that_are_not_finite) {
  regression m;
  gradient_sums const sums(variable_gradients(m.loss));
  auto const add = sums.add(), train = sums.apply(gradient_descent{.rate = 0});
  session s{m.g, {.threads = 1}};
  s.run(initializer(m.g));
  double const infinite = std::numeric_limits<double>::infinity();
  s.run({{m.x, matrix<double>({{infinite, 1}})}, {m.y, matrix<double>({{1}})}}, add);
  s.run(train);
  EXPECT_TRUE(same_bits(s.run("w/gradient_sum"), matrix<double>({{0}, {0}})));
  s.run(train);  // of nothing
  EXPECT_THROW(gradient_sums({}), error);
  test::expect_error(code::invalid_argument, "expected a gradient for this variable, got an empty one",
                     [&] { gradient_sums({{gradient(), m.w}}); });
}

TEST(gradient_sums, of_16_bits_give_means_that_these_could_not_store) {
  use_elements<dtype::float16>();
  graph g;
  auto const x = placeholder<half>(g, "x");
  auto const w = variable(constant(g, half(0)), "w");
  gradient_sums const sums(variable_gradients(w * x));
  auto const add = sums.add(), train = sums.apply(gradient_descent{.rate = 1e7});
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  for (float const each : {0x1p-24f, 0.f, 0.f, 0.f}) s.run({{x, tensor(half(each))}}, add);
  s.run(train);
  EXPECT_NEAR(float(s.run(w).item<half>()), -1e7 * 0x1p-26, 1e-4);
}

TEST(clip, brings_elements_between_limits) {
  graph g;
  auto const table = variable(constant<double, 3, 2>(g, {1, 2, 3, 4, 5, 6}), "table");
  auto const which = constant<std::int64_t, 2>(g, {2, 0});
  auto const w = variable(constant<float, 3>(g, {-3, 0.25f, 8}), "w");
  auto const z = variable(constant(g, std::complex<float>(1, 2)), "z");
  auto const all = variable_gradients(sum(square(gather(table, which))) + cast<double>(sum(square(w))), {table, w});
  auto const clipped = clip_by_value(all, 5);
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  ASSERT_TRUE(clipped[0].gradient.sparse());
  EXPECT_TRUE(same_bits(s.run(clipped[0].gradient.rows), matrix<double>({{5, 5}, {2, 4}})));
  EXPECT_TRUE(same_bits(s.run(clipped[1].gradient.dense), vector<float>({-5, 0.5f, 5})));
  test::expect_error(code::invalid_argument, "expected a limit above 0, got 0", [&] { clip_by_value(all, 0); });
  test::expect_error(code::invalid_argument, "got an empty one", [&] { clip_by_value({{gradient(), w}}, 1); });
  test::expect_error(code::invalid_argument, "got complex numbers",
                     [&] { clip_by_value({{gradient(value(z)), z}}, 1); });
}

}  // namespace
}  // namespace rill
