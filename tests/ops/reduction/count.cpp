#include "rill/ops/reduction/count.hpp"

#include "../run.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

TEST(count_nonzero, counts_numbers_and_bools) {
  graph g;
  auto x = placeholder<float, 2, 3>(g, "x");
  auto p = placeholder<bool, 3>(g, "p");
  auto rows = count_nonzero<1>(x);
  auto all = count_nonzero(x, keep);
  auto truths = count_nonzero(p);
  static_assert(decltype(rows)::static_type == of<std::int64_t, 2>);
  static_assert(decltype(all)::static_type == of<std::int64_t, 1, 1>);
  session s{g};
  auto const [a, b, c] =
      s.run({{x, matrix<float>({{0, -0.f, 3}, {NAN, 1e-40f, -1}})}, {p, rill::vector<bool>({true, false, true})}}, rows,
            all, truths);
  EXPECT_EQ(test::to_doubles(a), (list{1, 3}));
  EXPECT_EQ(test::to_doubles(b), (list{4}));
  EXPECT_EQ(c.item<std::int64_t>(), 2);
}

TEST(any_nan, finds_nan_along_an_axis) {
  graph g;
  auto x = placeholder<double, 2, 2>(g, "x");
  session s{g};
  auto const [a, b] = s.run({{x, matrix<double>({{INFINITY, 2}, {NAN, 1}})}}, any_nan<1>(x), any_nan(x));
  EXPECT_EQ(test::to_doubles(a), (list{0, 1}));
  EXPECT_TRUE(b.item<bool>());
}

}  // namespace
}  // namespace rill
