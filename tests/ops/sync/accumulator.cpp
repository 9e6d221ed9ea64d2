#include "rill/ops/sync/accumulator.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "../run.hpp"
#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using test::expect_error, test::scattered;
using namespace std::chrono_literals;

value step_of(graph& g, std::int64_t n) { return constant(g, tensor(n)); }

TEST(accumulator, averages_all_that_came_drops_what_is_stale_and_raises_its_step) {
  graph g;
  accumulator<of<float, 2>> const a(g, "a");
  auto const x = placeholder<float, 2>(g, "x");
  auto const step = placeholder<std::int64_t>(g, "step");
  auto const add = a.apply(x, step);
  auto const mean = a.average(2);
  session s(g);
  auto const put = [&](float v, std::int64_t at) { s.run({{x, vector<float>({v, 1})}, {step, tensor(at)}}, add); };
  put(1, 0);
  put(3, 0);
  put(8, 5);
  EXPECT_EQ(std::int64_t(s.run(a.count())), 3);
  EXPECT_TRUE(same_bits(s.run(mean), vector<float>({4, 1})));
  put(100, 0);  // stale: the step is 1 now
  EXPECT_EQ(std::int64_t(s.run(a.count())), 0);
  put(2, 1);
  expect_error(code::deadline_exceeded, "deadline", [&] { s.run(mean, timeout{1ms}); });
  put(4, 1);
  EXPECT_TRUE(same_bits(s.run(mean), vector<float>({3, 1})));
  s.run(a.set_step(step_of(g, 10)));
  put(4, 9);
  EXPECT_EQ(std::int64_t(s.run(a.count())), 0);
}

TEST(accumulator, an_update_waits_for_gradients_of_other_steps) {
  graph g;
  accumulator<of<double>> const a(g, "a");
  auto const add = a.apply(constant(g, 2.0), step_of(g, 0));
  session s(g);
  std::thread others([&] {
    for (int i = 0; i < 4; ++i) s.run(add);
  });
  EXPECT_EQ(double(s.run(a.average(4))), 2.0);
  others.join();
}

TEST(accumulator, a_sparse_one_divides_each_row_by_its_own_count) {
  graph g;
  sparse_accumulator<of<float, 5, 2>> const a(g, "a");
  auto const which = placeholder<std::int64_t, "n">(g, "which");
  auto const rows = placeholder<float, "n", 2>(g, "rows");
  auto const add = a.apply(which, rows, step_of(g, 0));
  auto const [indices, mean] = a.average(2);
  session s(g);
  s.run({{which, vector<std::int64_t>({3, 1})}, {rows, matrix<float>({{2, 4}, {1, 1}})}}, add);
  s.run({{which, vector<std::int64_t>({3})}, {rows, matrix<float>({{4, 8}})}}, add);
  auto const [i, m, doubled] = s.run(indices, mean, mean * 2.f);
  EXPECT_TRUE(same_bits(i, vector<std::int64_t>({1, 3})));
  EXPECT_TRUE(same_bits(m, matrix<float>({{1, 1}, {3, 6}})));
  EXPECT_TRUE(same_bits(doubled, matrix<float>({{2, 2}, {6, 12}})));
}

TEST(accumulator, of_ten_batches_of_100_gives_the_gradient_of_one_of_1000) {
  graph g(1);
  auto const x = placeholder<double, "batch", 8>(g, "x");
  auto const wanted = placeholder<double, "batch", 1>(g, "wanted");
  auto const w = variable<double, 8, 1>(g, "w", glorot());
  auto const loss = mean(square(tanh(matmul(x, w)) - wanted));
  auto const [dw] = gradients(loss, w);
  accumulator<of<double, 8, 1>> const a(g, "a");
  auto const add = a.apply(dw, step_of(g, 0));
  session s(g);
  s.run(initializer(g));
  auto const all = scattered(dtype::float64, {1000, 8}), goals = scattered(dtype::float64, {1000, 1}, 5);
  auto const whole = s.run({{x, all}, {wanted, goals}}, dw);
  for (int i = 0; i < 10; ++i)
    s.run({{value(x), all.rows(i * 100, i * 100 + 100)}, {value(wanted), goals.rows(i * 100, i * 100 + 100)}}, add);
  auto const mean_of_ten = s.run(a.average(10));
  for (int i = 0; i < 8; ++i) EXPECT_NEAR((mean_of_ten.at<double>(i, 0)), (whole.at<double>(i, 0)), 1e-15);
}

TEST(accumulator, refuses_what_does_not_fit) {
  graph g;
  accumulator<of<float, 2>> const a(g, "a");
  sparse_accumulator<of<float, 5, 2>> const b(g, "b");
  value const x = constant(g, 1.f), three = constant<float, 3, 2>(g, {1, 2, 3, 4, 5, 6});
  value const two = constant<std::int64_t, 2>(g, {0, 1});
  expect_error(code::invalid_argument, "not of the accumulator's type", [&] { a.apply(x, step_of(g, 0)); });
  expect_error(code::invalid_argument, "a scalar of int64", [&] { a.apply(value(constant<float, 2>(g, {1, 2})), x); });
  expect_error(code::invalid_argument, "one index for each row", [&] { b.apply(two, three, step_of(g, 0)); });
  expect_error(code::invalid_argument, "must be positive", [&] { a.average(0); });
  sparse_accumulator<of<float, 5, unknown>> const open(g, "open");
  expect_error(code::invalid_argument, "rows of known extents", [&] { open.count(); });
  session s(g);
  s.run(a.count());
  graph other;
  session t(other, {.state = std::shared_ptr<container>(&s.state(), [](container*) {})});
  accumulator<of<double, 2>> const c(other, "a");
  expect_error(code::failed_precondition, "of this name that differs", [&] { t.run(c.count()); });
}

}  // namespace
}  // namespace rill
