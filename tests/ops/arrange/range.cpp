#include "rill/ops/arrange/range.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

tensor ranged(std::function<value(graph&)> const& record) {
  graph g;
  value const y = record(g);
  session s{g};
  return s.run(y);
}

TEST(range, goes_from_the_start_to_before_the_limit) {
  graph g;
  static_assert(decltype(range<10>(g))::static_type == of<int, 10>);
  static_assert(decltype(range<2, 10, 3, float>(g))::static_type == of<float, 3>);
  static_assert(decltype(range<5, 0, -2>(g))::static_type == of<int, 3>);
  static_assert(decltype(range<5, 0>(g))::static_type == of<int, 0>);
  EXPECT_TRUE(same_bits(ranged([](graph& h) { return range<5, 0, -2>(h); }), vector<int>({5, 3, 1})));
  EXPECT_TRUE(same_bits(ranged([](graph& h) { return range<3, float>(h); }), vector<float>({0, 1, 2})));
  EXPECT_TRUE(same_bits(ranged([](graph& h) { return range(h, 3); }), vector<int>({0, 1, 2})));
  EXPECT_TRUE(same_bits(ranged([](graph& h) { return range(h, 0, 1, 0.25); }), vector<double>({0, 0.25, 0.5, 0.75})));
  EXPECT_EQ(ranged([](graph& h) { return range(h, 3, 3); }).elements(), 0);
  EXPECT_TRUE(same_bits(ranged([](graph& h) { return range(h, INT64_MIN, INT64_MAX, INT64_MAX); }),
                        vector<std::int64_t>({INT64_MIN, -1, INT64_MAX - 1})));
  EXPECT_TRUE(same_bits(ranged([](graph& h) { return range<120, 130, 5, std::int16_t>(h); }),
                        vector<std::int16_t>({120, 125})));
}

TEST(range, takes_scalars_of_the_graph) {
  graph g;
  auto const start = placeholder<int>(g), limit = placeholder<int>(g);
  auto const y = range(start, limit, 2);
  static_assert(decltype(y)::static_type == of<int, unknown>);
  auto const below = range(limit), between = range(1, limit);
  session s{g};
  EXPECT_TRUE(same_bits(s.run({{start, tensor(1)}, {limit, tensor(6)}}, y), vector<int>({1, 3, 5})));
  EXPECT_TRUE(same_bits(s.run({{start, tensor(6)}, {limit, tensor(6)}}, y), tensor(dtype::int32, {0})));
  EXPECT_TRUE(same_bits(s.run({{limit, tensor(2)}}, below), vector<int>({0, 1})));
  EXPECT_TRUE(same_bits(s.run({{limit, tensor(3)}}, between), vector<int>({1, 2})));
}

TEST(range, has_derivatives_with_respect_to_start_and_step) {
  graph g;
  auto const start = placeholder<double>(g), step = placeholder<double>(g), limit = placeholder<double>(g);
  auto const y = range(start, limit, step);
  auto const all = gradients(sum(square(y)), {start, limit, step}, true);
  session s{g};
  auto const [da, db, dc] =
      s.run({{start, tensor(1.0)}, {limit, tensor(2.8)}, {step, tensor(0.5)}}, all[0], all[1], all[2]);
  EXPECT_DOUBLE_EQ(da.item<double>(), 2 * (1 + 1.5 + 2 + 2.5));
  EXPECT_DOUBLE_EQ(db.item<double>(), 0);
  EXPECT_DOUBLE_EQ(dc.item<double>(), 2 * (1.5 + 2 * 2 + 2.5 * 3));
}

TEST(range, refuses_what_has_no_end) {
  graph g;
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  refuses("the step is 0", [&] { range(g, 0, 3, 0); });
  refuses("no finite number of steps", [&] { range(g, 0.0, INFINITY, 1.0); });
  refuses("no finite number of steps", [&] { range(g, 0.0, NAN, 1.0); });
  refuses("more numbers than 64 bits can count", [&] { range(g, INT64_MIN, INT64_MAX, std::int64_t{1}); });
  refuses("different element types", [&] { range(constant(g, 1), value(constant(g, 2.f)), constant(g, 1)); });
  refuses("must be scalars", [&] { range(value(constant<int, 1>(g, {1}))); });
  refuses("the numbers are not real", [&] { range(value(constant(g, true)), constant(g, true), constant(g, true)); });
  auto const x = placeholder<float>(g);
  auto const y = range(x, value(constant(g, 4.f)), x);
  auto const fixed = record_erased<ops::range_op>(g, {2}, {x, constant(g, 4.f), x});
  session s{g};
  refuses("the step is 0", [&] { s.run({{x, tensor(0.f)}}, y); });
  refuses("no finite number of steps", [&] { s.run({{x, tensor(NAN)}}, y); });
  refuses("expected 2 numbers from start, limit and step, got 3", [&] { s.run({{x, tensor(1.f)}}, fixed); });
  EXPECT_TRUE(same_bits(s.run({{x, tensor(1.5f)}}, fixed), vector<float>({1.5f, 3})));
  auto const far = range(value(placeholder<std::int64_t>(g, "limit")));
  EXPECT_THROW(s.run({{"limit", tensor(std::int64_t{1} << 60)}}, far), error);
}

}  // namespace
}  // namespace rill
