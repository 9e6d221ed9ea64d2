#include "rill/ops/table/segment_max.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

TEST(segment_max, takes_the_largest_or_the_least_of_each_segment) {
  graph g;
  auto x = placeholder<float, "n">(g, "x");
  auto ids = placeholder<std::int64_t, "n">(g, "ids");
  auto most = segment_max<3>(x, ids), least = unsorted_segment_min<3>(x, ids);
  static_assert(decltype(most)::static_type == of<float, 3>);
  session s{g};
  auto const [a, b] =
      s.run({{x, rill::vector<float>({1, 7, 3, NAN})}, {ids, rill::vector<std::int64_t>({0, 0, 0, 2})}}, most, least);
  auto const got = test::to_doubles(a), other = test::to_doubles(b);
  EXPECT_TRUE(got[0] == 7 && got[1] == -INFINITY && std::isnan(got[2]));
  EXPECT_TRUE(other[0] == 1 && other[1] == INFINITY && std::isnan(other[2]));
}

TEST(segment_max, of_no_integers_is_the_end_of_their_type) {
  auto const x = test::from_doubles(dtype::int8, {1}, {5}), ids = test::from_doubles(dtype::int32, {1}, {-1});
  EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return unsorted_segment_max(in[0], in[1], 1); }, {x, ids})),
            list{-128});
  EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return unsorted_segment_min(in[0], in[1], 1); }, {x, ids})),
            list{127});
}

TEST(segment_max, shares_the_derivative_among_equal_elements_and_gives_none_to_rows_left_out) {
  auto const x = test::from_doubles(dtype::float64, {5}, {4, 4, 1, 0, 9});
  auto const ids = test::from_doubles(dtype::int32, {5}, {0, 0, 0, -1, 2});
  auto const slope = test::run(
      [](auto const& in) { return gradients(sum(unsorted_segment_max(in[0], in[1], 3), extents{}), {in[0]}, true)[0]; },
      {x, ids});
  EXPECT_EQ(test::to_doubles(slope), (list{0.5, 0.5, 0, 0, 1}));
}

TEST(segment_max, refuses_complex_rows) {
  graph g;
  auto const z = placeholder(g, of<std::complex<float>, 4>), ids = placeholder(g, of<int, 4>);
  test::expect_error(code::invalid_argument, "not of real numbers", [&] { segment_max(z, ids, 3); });
}

}  // namespace
}  // namespace rill
