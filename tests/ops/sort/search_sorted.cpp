#include "rill/ops/sort/search_sorted.hpp"

#include <cmath>

#include "../run.hpp"
#include "rill/ops/array/constant.hpp"

namespace rill {
namespace {

TEST(search_sorted, finds_where_values_belong) {
  graph g;
  auto const sorted = constant<float, 5>(g, {1, 2, 2, 4, NAN});
  auto const x = placeholder<float, "n">(g);
  auto const left = search_sorted(sorted, x);
  static_assert(decltype(left)::static_type == of<int, "n">);
  auto const right = search_sorted_right<std::int64_t>(sorted, x);
  session s{g};
  auto const [l, r] = s.run({{x, vector<float>({0, 2, 3, INFINITY, NAN})}}, left, right);
  EXPECT_TRUE(same_bits(l, vector<int>({0, 1, 3, 4, 4})));
  EXPECT_TRUE(same_bits(r, vector<std::int64_t>({0, 3, 3, 4, 5})));
}

TEST(search_sorted, refuses_what_does_not_fit) {
  graph g;
  value const v = placeholder(g, of<float, 3>);
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  refuses("not a vector", [&] { search_sorted(value(placeholder(g, of<float, 3, 3>)), v); });
  refuses("different element types", [&] { search_sorted(v, value(placeholder(g, of<int, 3>))); });
  value const truths = placeholder(g, of<bool, 3>);
  refuses("not of real numbers", [&] { search_sorted(truths, truths); });
}

}  // namespace
}  // namespace rill
