#include "rill/ops/sort/sort.hpp"

#include <algorithm>
#include <cmath>

#include "../run.hpp"

namespace rill {
namespace {

TEST(sort, keeps_the_order_of_equal_elements_and_takes_nan_for_the_largest) {
  graph g;
  auto const x = placeholder<float, "n">(g);
  auto const up = sort(x), down = sort(x, descending);
  static_assert(decltype(up)::static_type == of<float, "n">);
  auto const by = argsort(x);
  auto const by_down = argsort<0, std::int64_t>(x, descending);
  static_assert(decltype(by_down)::static_type == of<std::int64_t, "n">);
  session s{g};
  auto const in = vector<float>({0.f, NAN, -1, -0.f, 3, -INFINITY, INFINITY, NAN, 0.f});
  auto const [a, b, c, d] = s.run({{x, in}}, up, down, by, by_down);
  EXPECT_TRUE(same_bits(c, vector<int>({5, 2, 0, 3, 8, 4, 6, 1, 7})));
  EXPECT_TRUE(same_bits(d, vector<std::int64_t>({1, 7, 6, 4, 0, 3, 8, 2, 5})));
  EXPECT_TRUE(std::signbit(a.at<float>(3)) && !std::signbit(a.at<float>(2)));  // zeros keep their signs
  EXPECT_TRUE(std::isnan(a.at<float>(8)) && std::isnan(b.at<float>(0)));
}

TEST(top_k, gives_the_largest_elements_the_first_of_equal_ones_first) {
  graph g;
  auto const x = placeholder<int, "n", 5>(g);
  auto const [values, indices] = top_k<3>(x);
  static_assert(decltype(values)::static_type == of<int, "n", 3>);
  session s{g};
  auto const [v, i] = s.run({{x, matrix<int>({{1, 7, 7, 3, 7}, {-1, -2, -3, -1, -5}})}}, values, indices);
  EXPECT_TRUE(same_bits(v, matrix<int>({{7, 7, 7}, {-1, -1, -2}})));
  EXPECT_TRUE(same_bits(i, matrix<int>({{1, 2, 4}, {0, 3, 1}})));
}

TEST(sort, of_long_lines_is_that_of_a_stable_sort_on_any_number_of_threads) {
  for (auto d : {dtype::float32, dtype::float64, dtype::int8, dtype::uint16, dtype::int64, dtype::bfloat16})
    for (auto const& extents : {shape{3, 2000}, shape{40, 70}, shape{1, 65}, shape{1, 64}}) {
      auto v = test::to_doubles(test::scattered(dtype::float64, extents));
      if (d == dtype::int8 || d == dtype::uint16 || d == dtype::int64)
        for (auto& each : v) each = std::floor(50 * (each + 1));
      auto const x = test::from_doubles(d, extents, v);
      v = test::to_doubles(x);
      for (bool down : {false, true})
        for (std::int64_t count : {extents[1], std::int64_t{10}}) {
          auto const f = [=](auto const& in) {
            return record_erased<ops::sort_op>(*in[0].graph, {1, down, count, dtype::int32}, {in[0]});
          };
          auto const y = test::run(f, {x}, 1);
          EXPECT_TRUE(same_bits(y, test::run(f, {x}, 4)));
          for (std::int64_t r = 0; r < extents[0]; ++r) {
            auto const at = v.begin() + r * extents[1];
            std::vector<double> line(at, at + extents[1]);
            std::sort(line.begin(), line.end());
            if (down) std::reverse(line.begin(), line.end());
            line.resize(static_cast<std::size_t>(count));
            EXPECT_EQ(test::to_doubles(y.rows(r, r + 1)), line);
          }
        }
    }
}

TEST(sort, refuses_what_has_no_order_and_more_elements_than_there_are) {
  graph g;
  value const x = placeholder(g, of<float, 2, 3>);
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  refuses("not of real numbers", [&] { sort(placeholder(g, of<std::complex<float>, 3>), 0); });
  refuses("not of real numbers", [&] { sort(placeholder(g, of<std::string, 3>), 0); });
  refuses("out of range for the operand's rank", [&] { sort(x, 2); });
  refuses("out of range for the operand's rank", [&] { sort(placeholder(g, of<float>), 0); });
  refuses("fewer elements than are asked for: 3 against 4", [&] { top_k(x, 4); });
  refuses("the number of elements is negative", [&] { top_k(x, -1); });
  refuses("the indices must be int32 or int64", [&] { argsort(x, 0, false, dtype::float32); });
  auto const open = placeholder(g, of<float, "n">);
  auto const three = top_k(open, 3)[0];
  session s{g};
  refuses("fewer elements than are asked for: 2 against 3", [&] { s.run({{open, vector<float>({1, 2})}}, three); });
}

}  // namespace
}  // namespace rill
