#include "rill/ops/table/gather_nd.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

TEST(gather_nd, takes_elements_or_rows) {
  graph g;
  auto const x = placeholder<float, "n", 3>(g);
  auto const elements = gather_nd(x, constant<int, 2, 2>(g, {1, 2, 0, 0}));
  static_assert(decltype(elements)::static_type == of<float, 2>);
  auto const rows = gather_nd(x, constant<int, 2, 1>(g, {1, 1}));
  static_assert(decltype(rows)::static_type == of<float, 2, 3>);
  auto const [dx] = gradients(sum(rows) + sum(elements), x);
  session s{g};
  auto const in = matrix<float>({{1, 2, 3}, {4, 5, 6}});
  auto const [a, b, d] = s.run({{x, in}}, elements, rows, dx);
  EXPECT_TRUE(same_bits(a, vector<float>({6, 1})));
  EXPECT_TRUE(same_bits(b, matrix<float>({{4, 5, 6}, {4, 5, 6}})));
  EXPECT_TRUE(same_bits(d, matrix<float>({{1, 0, 0}, {2, 2, 3}})));
}

TEST(scatter_nd, adds_what_comes_twice) {
  graph g;
  auto const which = constant<std::int64_t, 3, 2>(g, {1, 2, 0, 0, 1, 2});
  auto const y = scatter_nd<2, 3>(which, constant<float, 3>(g, {1, 2, 4}));
  static_assert(decltype(y)::static_type == of<float, 2, 3>);
  auto const rows = scatter_nd(constant<int, 1, 1>(g, {1}), constant<int, 1, 2>(g, {7, 8}), {2, 2});
  session s{g};
  auto const [a, b] = s.run(y, rows);
  EXPECT_TRUE(same_bits(a, matrix<float>({{2, 0, 0}, {0, 0, 5}})));
  EXPECT_TRUE(same_bits(b, matrix<int>({{0, 0}, {7, 8}})));
}

TEST(gather_nd, names_an_index_that_is_outside_and_refuses_what_does_not_fit) {
  auto const refuses = [](std::string const& why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  for (double bad : {-1., 3., 9e18})
    refuses("index 1 of element 1 is " + std::to_string(static_cast<std::int64_t>(bad)) + ", and axis 1 has 3 elements",
            [&] {
              test::run(
                  [](auto const& in) { return gather_nd(in[0], in[1]); },
                  {test::counting(dtype::float32, {2, 3}), test::from_doubles(dtype::int64, {2, 2}, {0, 1, 1, bad})});
            });
  graph g;
  auto const x = placeholder(g, of<float, 2, 3>);
  refuses("more indices for each element than the table has axes",
          [&] { gather_nd(x, placeholder(g, of<int, 4, 3>)); });
  refuses("at least one index", [&] { gather_nd(x, placeholder(g, of<int, 4, 0>)); });
  refuses("the last extent of the indices must be known", [&] { gather_nd(x, placeholder(g, of<int, 4, "k">)); });
  refuses("the last extent of the indices must be known", [&] { gather_nd(x, placeholder(g, of<int>)); });
  refuses("neither int32 nor int64", [&] { gather_nd(x, placeholder(g, of<float, 4, 2>)); });
  refuses("not a row of the table's extents",
          [&] { scatter_nd(placeholder(g, of<int, 4, 1>), placeholder(g, of<float, 4, 3>), {5, 2}); });
}

}  // namespace
}  // namespace rill
